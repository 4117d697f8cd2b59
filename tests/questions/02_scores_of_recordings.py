# Asked: scoring many recordings freezes, and the GPU does next to nothing. Each is cut into windows, a few at a time.
# expected: TFG215 | network.predict(
import pathlib

import numpy as np
from tensorflow import keras

WINDOWS = 512


def detector(length=128):
    inputs = keras.Input((length,))
    hidden = keras.layers.Dense(200, activation="relu")(inputs)
    hidden = keras.layers.Dense(100, activation="relu")(hidden)
    return keras.Model(inputs, keras.layers.Dense(1, activation="sigmoid")(hidden))


def score(network, recording):
    answers = np.zeros(len(recording))
    for first in range(0, len(recording), WINDOWS):
        last = first + WINDOWS
        answers[first:last] = network.predict(recording[first:last], verbose=0)[:, 0]
    return answers


network = detector()
network.load_weights("detector.weights.h5")
for path in sorted(pathlib.Path("recordings").glob("*.npy")):
    np.save(path.with_suffix(".scores.npy"), score(network, np.load(path)))
