# My own metric gives the right number when I call it; in fit it dies after the first epoch with InaccessibleTensorError.
# expected: TFG103 | self.seen.append(tf.reduce_mean(missed))
import numpy as np
import tensorflow as tf
from tensorflow import keras


class HardestBatch(keras.metrics.Metric):
    def __init__(self, name="hardest"):
        super().__init__(name=name)
        self.seen = []

    def update_state(self, truth, guess, sample_weight=None):
        missed = tf.cast(tf.not_equal(truth, tf.round(guess)), tf.float32)
        self.seen.append(tf.reduce_mean(missed))

    def result(self):
        return tf.reduce_max(tf.stack(self.seen))

    def reset_state(self):
        self.seen = []


classifier = keras.Sequential([keras.Input((5,)), keras.layers.Dense(1, activation="sigmoid")])
classifier.compile(optimizer="sgd", loss="binary_crossentropy", metrics=[HardestBatch()])
classifier.fit(np.random.rand(300, 5), np.random.randint(0, 2, (300, 1)).astype("float32"), epochs=3)
