"""TFG329: images that one thread of Python reads for `fit`, and data that need no more."""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
import pytest
from checks import codes

HEAD = """
import cv2
import numpy as np
import tensorflow as tf
from PIL import Image
from tensorflow.keras.preprocessing.image import ImageDataGenerator
net = tf.keras.applications.MobileNetV2(weights=None, classes=4)
net.compile("adam", "sparse_categorical_crossentropy")
names, kinds = open("list.txt").read().split(), np.load("kinds.npy")
turned = ImageDataGenerator(rotation_range=20)
"""
OPENED = """class Shots(tf.keras.utils.Sequence):
    def __len__(self):
        return len(names) // 8
    def __getitem__(self, n):
        return np.stack([opened(name) for name in names[n * 8:n * 8 + 8]]), kinds[n * 8:n * 8 + 8]
def opened(name):
    return cv2.resize(cv2.imread(name), (224, 224))
"""
FOUND = {
    "a folder": "net.fit(turned.flow_from_directory('shots', class_mode='sparse'), epochs=4)\n",
    "a table, by a name": "rows = turned.flow_from_dataframe(table, 'shots')\nnet.fit(rows, epochs=4)\n",
    "by a keyword": "rows = ImageDataGenerator().flow_from_directory('shots')\nnet.fit(x=rows)\n",
    "a Sequence": OPENED + "net.fit(Shots(), epochs=4)\n",
    "by map": OPENED.replace("[opened(name) for name in names[n * 8:n * 8 + 8]]", "list(map(opened, names[n:n + 8]))")
    + "net.fit(Shots(), epochs=4)\n",
    "PIL": "class Shots(tf.keras.utils.Sequence):\n    def __len__(self):\n        return 9\n"
    "    def __getitem__(self, n):\n        return np.array(Image.open(names[n]))[None], kinds[n:n + 1]\nnet.fit(Shots())\n",
}
SILENT = {
    "arrays in memory": "net.fit(turned.flow(np.load('a.npy'), kinds), epochs=4)\n",
    "a pool of threads": OPENED.replace(
        "[opened(name) for name in names[n * 8:n * 8 + 8]]", "list(pool.map(opened, names[n:n + 8]))"
    )
    + "from concurrent.futures import ThreadPoolExecutor\npool = ThreadPoolExecutor(8)\nnet.fit(Shots(), epochs=4)\n",
    "with workers": OPENED + "net.fit(Shots(workers=4), epochs=4)\n",
    "workers that are set": OPENED + "rows = Shots()\nrows.workers = 4\nnet.fit(rows)\n",
    "a Sequence of rows": "class Rows(tf.keras.utils.Sequence):\n    def __len__(self):\n        return 9\n"
    "    def __getitem__(self, n):\n        return rows[n * 8:n * 8 + 8], kinds[n * 8:n * 8 + 8]\nnet.fit(Rows())\n",
    "tf.data": "net.fit(tf.keras.utils.image_dataset_from_directory('shots'), epochs=4)\n",
    "only looked at": "pictures, _ = next(turned.flow_from_directory('shots'))\n",
    "one or the other": OPENED + "rows = Shots() if len(names) > 9 else (np.load('a.npy'), kinds)\nnet.fit(rows)\n",
}


@pytest.mark.parametrize("code", FOUND.values(), ids=FOUND)
def test_what_one_thread_reads_is_found(code: str, tmp_path: Path) -> None:
    assert codes(HEAD + code, tmp_path).count("TFG329") == 1


@pytest.mark.parametrize("code", SILENT.values(), ids=SILENT)
def test_other_data_are_not(code: str, tmp_path: Path) -> None:
    assert "TFG329" not in codes(HEAD + code, tmp_path)


@pytest.mark.slow
def test_one_thread_is_what_keras_takes() -> None:
    """Protects the claim, by Keras: no two batches are made at the same time, and with workers some are."""
    import keras

    class Batches(keras.utils.PyDataset):
        at_once, most = 0, 0

        def __len__(self) -> int:
            return 12

        def __getitem__(self, index: int) -> tuple[np.ndarray, np.ndarray]:
            self.at_once += 1
            self.most = max(self.most, self.at_once)
            time.sleep(0.02)
            self.at_once -= 1
            return np.zeros((2, 3), "float32"), np.zeros((2, 1), "float32")

    net = keras.Sequential([keras.layers.Dense(1)])
    net.compile("sgd", "mse")
    alone, several = Batches(), Batches(workers=4)
    net.fit(alone, verbose=0)
    net.fit(several, verbose=0)
    assert alone.most == 1
    assert several.most > 1
