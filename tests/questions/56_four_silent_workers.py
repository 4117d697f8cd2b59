# Four processes are to label my recordings, none of them ever answers and nothing is computed: what do they wait for?
# expected: TFG511 | with ProcessPoolExecutor(max_workers=4) as workers:
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import numpy as np
import tensorflow as tf

NAMES = ["rain", "wind", "birds", "cars"]


def labelled(path):
    net = tf.keras.models.load_model("sounds.keras")
    sounds = np.load(path).astype("float32")
    return [NAMES[k] for k in net.predict(sounds, batch_size=64, verbose=0).argmax(axis=1)]


def main():
    weights = tf.constant([0.5, 0.2, 0.2, 0.1])
    print("chances before hearing anything:", weights.numpy())
    paths = sorted(Path("recordings").glob("*.npy"))
    with ProcessPoolExecutor(max_workers=4) as workers:
        for path, found in zip(paths, workers.map(labelled, paths), strict=True):
            print(path.stem, *found)


if __name__ == "__main__":
    main()
