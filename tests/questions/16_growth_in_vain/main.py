# I set memory growth first thing in main: why "Physical devices cannot be modified after being initialized"?
# expected: TFG402 | tf.config.experimental.set_memory_growth(device, True)
import tensorflow as tf
from windows import HANN, LENGTH, network


def share_gpus():
    for device in tf.config.list_physical_devices("GPU"):
        tf.config.experimental.set_memory_growth(device, True)


def run():
    share_gpus()
    net = network(6)
    net.compile("adam", tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    waves = tf.random.normal((8192, LENGTH)) * HANN
    kinds = tf.random.uniform((8192,), maxval=6, dtype=tf.int32)
    net.fit(tf.data.Dataset.from_tensor_slices((waves, kinds)).batch(128), epochs=4)


run()
