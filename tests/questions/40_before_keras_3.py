# Asked: a network that ran with an older TensorFlow stops at one argument after the other.
# expected: TFG717 | self.gain = self.add_weight("gain", shape=(size[-1],), initializer="ones")
import tensorflow as tf
from tensorflow.keras import layers


class Gain(layers.Layer):
    def build(self, size):
        self.gain = self.add_weight("gain", shape=(size[-1],), initializer="ones")

    def call(self, sound):
        return sound * self.gain


listens = tf.keras.Sequential(
    [
        layers.Input((400, 8)),
        layers.Conv1D(16, 5, activation="relu"),
        layers.BatchNormalization(fused=False),
        layers.AveragePooling1D(),
        Gain(),
        layers.LSTM(12, time_major=False),
        layers.Dense(4),
    ]
)
listens.compile(tf.keras.optimizers.RMSprop(lr=0.002), "mse", experimental_run_tf_function=False)
listens.fit(tf.random.normal((96, 400, 8)), tf.random.normal((96, 4)), batch_size=32, epochs=2)
total = tf.keras.metrics.Sum()
total.reset_states()
