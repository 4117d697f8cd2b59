# It trains on my laptop, and on the server with a GPU the first step stops with "Detected unsupported operations". Why?
# expected: TFG605 | tf.strings.as_string(products)
import numpy as np
import tensorflow as tf


class ProductGroups(tf.keras.layers.Layer):
    def call(self, products):
        spelled = tf.strings.as_string(products)
        return tf.strings.to_number(tf.strings.substr(spelled, 0, 2), tf.int32)


inputs = tf.keras.Input((6,), dtype="int32")
groups = ProductGroups()(inputs)
hidden = tf.keras.layers.Flatten()(tf.keras.layers.Embedding(100, 16)(groups))
network = tf.keras.Model(inputs, tf.keras.layers.Dense(1)(hidden))
network.compile(optimizer="rmsprop", loss="mae")
baskets = np.random.randint(1000, 9999, (512, 6)).astype("int32")
network.fit(baskets, np.random.rand(512, 1), epochs=2, batch_size=64)
