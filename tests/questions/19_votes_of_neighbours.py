# Asked: why is the GPU idle while my layer runs? It blends two rows of its table, for each pair of a set, one by one.
# expected: TFG109 | tf.map_fn(
import tensorflow as tf
from tensorflow.keras import layers


class BlendedRows(layers.Layer):
    def __init__(self, entities, size):
        super().__init__()
        self.table = layers.Embedding(entities, size)
        self.first_share = tf.constant(0.75)

    def call(self, pairs):
        def blend(pair):
            left, right = self.table(pair[0]), self.table(pair[1])

            def both():
                return left * self.first_share + right * (1.0 - self.first_share)

            return tf.cond(pair[1] > 0, both, lambda: left)

        return tf.map_fn(blend, pairs, fn_output_signature=tf.float32)


pairs = tf.keras.Input((2,), dtype="int32")
scores = layers.Dense(1)(BlendedRows(5_000, 64)(pairs))
net = tf.keras.Model(pairs, scores)
net.compile("sgd", "mae")
drawn = tf.random.uniform((40_000, 2), maxval=5_000, dtype=tf.int32)
net.fit(drawn, tf.zeros((40_000, 1)), batch_size=512, epochs=4)
