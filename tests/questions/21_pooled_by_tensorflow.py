# Why does building my model stop with "A KerasTensor cannot be used as input to a TensorFlow function"?
# expected: TFG720 | strongest = tf.reduce_max(steps, axis=1)
import numpy as np
import tensorflow as tf
from tensorflow.keras.layers import GRU, Dense, Embedding, Input

WORDS = 8000
reviews, stars = np.load("reviews.npy"), np.load("stars.npy")

numbers = Input(shape=(None,), dtype="int32")
steps = GRU(64, return_sequences=True)(Embedding(WORDS, 32)(numbers))
strongest = tf.reduce_max(steps, axis=1)
rating = Dense(1)(strongest)

judge = tf.keras.Model(numbers, rating)
judge.compile("adam", "mse")
judge.fit(reviews, stars, batch_size=64, epochs=4)
