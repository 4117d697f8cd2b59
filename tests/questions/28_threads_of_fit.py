# Asked: `fit` no longer takes `workers`, and one core reads what the GPU waits for.
# expected: TFG705 | network.fit(Scans(names, marks, 16), epochs=12, workers=6, max_queue_size=12)
import cv2
import numpy as np
import tensorflow as tf


class Scans(tf.keras.utils.Sequence):
    def __init__(self, names, marks, size):
        self.names, self.marks, self.size = names, marks, size

    def __len__(self):
        return len(self.names) // self.size

    def __getitem__(self, place):
        start = place * self.size
        scans = [cv2.imread(name, cv2.IMREAD_GRAYSCALE) for name in self.names[start : start + self.size]]
        scans = [cv2.resize(scan, (128, 128))[..., None] / 255.0 for scan in scans]
        return np.stack(scans), np.asarray(self.marks[start : start + self.size])


def learn(names, marks):
    network = tf.keras.applications.MobileNetV2((128, 128, 1), weights=None, classes=2)
    network.compile("adam", "sparse_categorical_crossentropy")
    network.fit(Scans(names, marks, 16), epochs=12, workers=6, max_queue_size=12)
    return network
