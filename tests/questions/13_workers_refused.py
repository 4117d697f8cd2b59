# Two machines, and "Collective ops must be configured at program startup": what is wrong with my strategy?
# expected: TFG508 | plan = tf.distribute.MultiWorkerMirroredStrategy()
import json
import os

import tensorflow as tf

os.environ["TF_CONFIG"] = json.dumps(
    {"cluster": {"worker": ["gpu1:9000", "gpu2:9000"]}, "task": {"type": "worker", "index": int(os.environ["RANK"])}}
)


class Readings:
    def __init__(self, batch):
        self.signals = tf.random.uniform((4096, 16, 3))
        self.levels = tf.reduce_sum(self.signals, axis=(1, 2))
        self.batch = batch

    def rows(self):
        pairs = tf.data.Dataset.from_tensor_slices((self.signals, self.levels))
        return pairs.shuffle(4096).batch(self.batch).prefetch(tf.data.AUTOTUNE)


readings = Readings(256)
plan = tf.distribute.MultiWorkerMirroredStrategy()
with plan.scope():
    net = tf.keras.Sequential([tf.keras.Input((16, 3)), tf.keras.layers.GRU(48), tf.keras.layers.Dense(1)])
    net.compile("adam", "mae")
net.fit(readings.rows(), epochs=6)
