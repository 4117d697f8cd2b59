# Asked: on the GPU each step of `fit` takes seconds and the memory grows, on the CPU it is fast; what happens there?
# expected: TFG220 | composer.fit(
from pathlib import Path

import tensorflow as tf
from tensorflow import keras


def melodies():
    for file in sorted(Path("melodies").glob("*.txt")):
        notes = [int(note) for note in file.read_text().split()]
        yield notes[:-1], notes[1:]


signature = (tf.TensorSpec([None], tf.int32), tf.TensorSpec([None], tf.int32))
songs = tf.data.Dataset.from_generator(melodies, output_signature=signature)
songs = songs.shuffle(512).padded_batch(batch_size=48).prefetch(tf.data.AUTOTUNE)

composer = keras.Sequential()
composer.add(keras.layers.Embedding(128, 32))
composer.add(keras.layers.Conv1D(64, 5, padding="causal", activation="relu"))
composer.add(keras.layers.Dense(128))
composer.compile(optimizer="adam", loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True))
composer.fit(songs, epochs=30)
