# "Dst tensor is not initialized" with a batch of two scans on a GPU of 16 GB: what is so large?
# expected: TFG406 | net.fit(scans, grades, batch_size=2, epochs=5)
import numpy as np
import tensorflow as tf

PATIENTS, SIDE, SLICES = 700, 192, 160
scans = np.zeros((PATIENTS, SIDE, SIDE, SLICES), np.float32)
grades = np.random.randint(0, 4, PATIENTS)
for place in range(PATIENTS):
    scans[place] = np.fromfile(f"scans/{place}.raw", np.float32).reshape(SIDE, SIDE, SLICES)

net = tf.keras.Sequential(
    [
        tf.keras.Input((SIDE, SIDE, SLICES)),
        tf.keras.layers.Conv2D(32, 5, strides=4, activation="relu"),
        tf.keras.layers.GlobalMaxPooling2D(),
        tf.keras.layers.Dense(4),
    ]
)
net.compile("adam", tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True))
net.fit(scans, grades, batch_size=2, epochs=5)
