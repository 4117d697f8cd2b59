# Asked: TensorFlow warns of retracing in a training loop over padded batches; what is wrong with it?
# expected: TFG220 | descend(melody, mood)
from pathlib import Path

import tensorflow as tf


def songs():
    for line in Path("songs.txt").read_text().splitlines():
        notes, mood = line.split("\t")
        yield [int(note) for note in notes.split()], [float(mood)]


kinds = (tf.TensorSpec([None], tf.int32), tf.TensorSpec([1], tf.float32))
melodies = tf.data.Dataset.from_generator(songs, output_signature=kinds).padded_batch(24)
net = tf.keras.Sequential([tf.keras.layers.Embedding(128, 8), tf.keras.layers.GRU(12), tf.keras.layers.Dense(1)])
adam = tf.keras.optimizers.Adam()


@tf.function
def descend(melody, mood):
    with tf.GradientTape() as tape:
        gap = tf.reduce_mean(tf.abs(net(melody, training=True) - mood))
    adam.apply_gradients(zip(tape.gradient(gap, net.trainable_variables), net.trainable_variables, strict=True))


for _ in range(12):
    for melody, mood in melodies:
        descend(melody, mood)
