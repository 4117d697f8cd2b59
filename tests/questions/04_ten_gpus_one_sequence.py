# A Sequence over rows in memory: an epoch takes seconds on one GPU and minutes on eight, why?
# expected: TFG510 | net.fit(windows, epochs=30)
import numpy as np
import tensorflow as tf


class Windows(tf.keras.utils.Sequence):
    def __init__(self, series, batch_size=64):
        super().__init__()
        self.series = series
        self.batch_size = batch_size

    def __len__(self):
        return (len(self.series) - 25) // self.batch_size

    def __getitem__(self, number):
        starts = np.arange(number * self.batch_size, (number + 1) * self.batch_size)
        rows = self.series[starts[:, None] + np.arange(25)]
        return rows[:, :24], rows[:, 24, :1]


windows = Windows(np.random.rand(200_000, 6).astype("float32"))
everywhere = tf.distribute.MirroredStrategy()
with everywhere.scope():
    net = tf.keras.Sequential([tf.keras.Input((24, 6)), tf.keras.layers.GRU(40), tf.keras.layers.Dense(1)])
    net.compile("adam", "mse")
net.fit(windows, epochs=30)
