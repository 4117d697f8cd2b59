# Two GPUs take longer for an epoch of digits than one: is MirroredStrategy of no use?
# expected: TFG510 | net.fit(digits, epochs=15)
import tensorflow as tf

(pictures, kinds), _ = tf.keras.datasets.mnist.load_data()
digits = tf.data.Dataset.from_tensor_slices((pictures[..., None] / 255.0, kinds)).cache().shuffle(60_000)
digits = digits.batch(100).prefetch(tf.data.AUTOTUNE)

mirrored = tf.distribute.MirroredStrategy()


def network():
    layers = [tf.keras.Input((28, 28, 1)), tf.keras.layers.Conv2D(24, 5, activation="relu")]
    layers += [tf.keras.layers.GlobalMaxPooling2D(), tf.keras.layers.Dense(10)]
    return tf.keras.Sequential(layers)


with mirrored.scope():
    net = network()
    net.compile("sgd", tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True))
net.fit(digits, epochs=15)
