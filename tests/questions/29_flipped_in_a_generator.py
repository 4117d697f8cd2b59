# Asked: since I flip and turn my pictures with Keras layers in the generator, the GPU waits for it all day; why?
# expected: TFG207 | changed(
import numpy as np
from tensorflow import keras

changed = keras.Sequential([keras.layers.RandomFlip("horizontal"), keras.layers.RandomRotation(0.05)])
pictures, kinds = np.load("pictures.npy"), np.load("kinds.npy")


def batches():
    while True:
        for first in range(0, len(pictures), 32):
            some = changed(pictures[first : first + 32], training=True)
            yield np.asarray(some), kinds[first : first + 32]


finder = keras.models.load_model("finder.keras")
finder.compile("adam", "sparse_categorical_crossentropy")
finder.fit(batches(), steps_per_epoch=200, epochs=20)
