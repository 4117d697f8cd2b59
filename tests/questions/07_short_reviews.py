# Asked: my text model trains on the laptop, and on the server with a GPU it stops in the first epoch; why?
# expected: TFG608 | keras.utils.pad_sequences(
import numpy as np
from tensorflow import keras

reviews = [[7, 3, 12], [5], [9, 9, 2, 41, 8]] * 300
stars = np.array([3, 1, 5] * 300)
tokens = keras.utils.pad_sequences(reviews, dtype="int32")

entered = keras.Input((None,), dtype="int32")
found = keras.layers.Embedding(input_dim=60, output_dim=24, mask_zero=True)(entered)
found = keras.layers.GaussianNoise(0.05)(found)
read = keras.layers.GRU(48)(found)
judge = keras.Model(inputs=entered, outputs=keras.layers.Dense(6)(read))
judge.compile(loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True), optimizer="rmsprop")
judge.fit(tokens, stars, epochs=4, batch_size=90)
