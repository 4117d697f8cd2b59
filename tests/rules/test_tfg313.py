"""TFG313: generators that hand on rows of arrays in memory, and those that do something or have no arrays."""

from __future__ import annotations

from pathlib import Path

import pytest
from checks import findings, found, notebook

HEAD = """\
import numpy as np
import tensorflow as tf
from sklearn.model_selection import train_test_split
x, y = np.random.rand(9999, 20).astype("float32"), np.zeros(9999)
(a, b), (c, d) = tf.keras.datasets.mnist.load_data()
make = tf.data.Dataset.from_generator
spec = (tf.float32, tf.float32)
"""
ZIPPED = "def rows():\n    for v, w in zip(x, y):\n        yield v, w\n"
HANDED_ON = {  # the row below HEAD
    "zipped": (ZIPPED + "ds = tf.data.Dataset.from_generator(rows, spec).batch(32)\n", 4),
    "by index": (
        "def rows():\n    for i in range(len(x)):\n        yield x[i], y[i]\nds = tf.data.Dataset.from_generator(rows, spec)\n",
        4,
    ),
    "one array": (
        "def rows():\n    '''All rows.'''\n    for v in x:\n        yield v\nds = tf.data.Dataset.from_generator(rows, tf.float32)\n",
        5,
    ),
    "a lambda": ("ds = tf.data.Dataset.from_generator(lambda: zip(x, y), spec)\n", 1),
    "an iterator": ("ds = tf.data.Dataset.from_generator(lambda: iter(x), tf.float32)\n", 1),
    "loaded": (
        "m, n = np.load('x.npy'), np.load('y.npy')\ndef rows():\n    for i in range(len(m)):\n        yield m[i], n[i]\n"
        "ds = tf.data.Dataset.from_generator(rows, spec)\n",
        5,
    ),
    "for ever": (
        "def rows():\n    while True:\n        for v, w in zip(x, y):\n            yield v, w\n"
        "ds = tf.data.Dataset.from_generator(rows, spec).batch(32)\n",
        5,
    ),
    "names of files": (
        "import glob\nnames = sorted(glob.glob('*.npy'))\ndef rows():\n    for name in names:\n        yield name\n"
        "ds = tf.data.Dataset.from_generator(rows, tf.string)\n",
        6,
    ),
    "numbers that it makes itself": (
        "def rows():\n    halves = [n / 2 for n in range(9999)]\n    for half in halves:\n        yield half\n"
        "ds = tf.data.Dataset.from_generator(rows, tf.float32)\n",
        5,
    ),
    "numbers beside names": (
        "import glob\nnames, marks = sorted(glob.glob('*.npy')), [1, 0] * 500\n"
        "def rows():\n    for name, mark in zip(names, marks):\n        yield name, mark\n"
        "ds = tf.data.Dataset.from_generator(rows, (tf.string, tf.int32))\n",
        6,
    ),
    "names of files, collected": (
        "import os\ndef find(folder):\n    found = []\n    for root, _, names in os.walk(folder):\n        for name in names:\n"
        "            found.append(os.path.join(root, name))\n    return found\nclass Data:\n    def __init__(self, folder):\n"
        "        files = sorted(find(folder))\n        self.ids = [os.path.basename(f).replace('.npy', '') for f in files]\n"
        "        self.files = files\n    def arguments(self):\n        return [self.ids]\n    def rows(self, ids):\n"
        "        for i, name in enumerate(ids):\n            path = self.files[i]\n            row = {'id': name, 'path': path}\n"
        "            yield row\n    def build(self):\n"
        "        return tf.data.Dataset.from_generator(self.rows, output_types=types, args=(self.arguments()))\n",
        21,
    ),
    "a constant where there are no files": (
        "import glob\nclass Data:\n    def __init__(self, query):\n        self.paths = glob.glob('*.npy')\n        self.marks = []\n"
        "        if query:\n            self.marks = sorted(glob.glob(query))\n    def rows(self):\n"
        "        for i, path in enumerate(self.paths):\n            mark = self.marks[i] if len(self.marks) > 1 else ''\n"
        "            yield {'path': path, 'mark': mark}\n    def build(self):\n"
        "        return tf.data.Dataset.from_generator(self.rows, output_types=types)\n",
        13,
    ),
    "as a dictionary": (
        "def rows():\n    for v, w in zip(x, y):\n        yield {'x': v, 'y': w}\nds = tf.data.Dataset.from_generator(rows, spec)\n",
        4,
    ),
    "Keras's data": (
        "def rows():\n    for v, w in zip(a / 255.0, b):\n        yield v, w\nds = tf.data.Dataset.from_generator(rows, spec)\n",
        4,
    ),
    "split": (
        "p, q, r, s = train_test_split(a, b)\ndef rows():\n    for v, w in zip(p, r):\n        yield v, w\n"
        "ds = tf.data.Dataset.from_generator(rows, spec)\n",
        5,
    ),
    "through a parameter": (
        "def dataset(values):\n    def rows():\n        for v in values:\n            yield v\n"
        "    return tf.data.Dataset.from_generator(rows, tf.float32)\ndataset(x)\n",
        5,
    ),
    "a factory": (
        "def generator(p, q):\n    def rows():\n        for i in range(len(p)):\n            yield p[i], q[i]\n    return rows\n"
        "ds = tf.data.Dataset.from_generator(generator(x, y), spec)\n",
        6,
    ),
    "of a class": (
        "class Data:\n    def __init__(self):\n        self.x = np.zeros((9999, 4))\n    def rows(self):\n"
        "        for row in self.x:\n            yield row\n    def build(self):\n"
        "        return tf.data.Dataset.from_generator(self.rows, tf.float32)\n",
        8,
    ),
    "some of the rows": (
        "def rows():\n    for v in x[:5000]:\n        yield v\nds = tf.data.Dataset.from_generator(rows, tf.float32)\n",
        4,
    ),
}
BEFORE = "def rows(folder):\n    {before}\n    for name in names:\n        yield name\n"
GIVEN = "ds = tf.data.Dataset.from_generator({given}, tf.string).batch(8)\n"
NAMED = "names = [folder + line.strip() for line in open('names.txt')]"
HANDED_ON |= {
    "arrays that it loads": (
        "def rows():\n    m, n = np.load('m.npy'), np.load('n.npy')\n    for i in range(len(m)):\n        yield n[i], m[i]\n"
        "ds = tf.data.Dataset.from_generator(rows, spec)\n",
        5,
    ),
    "names that it makes, for each of two parts": (
        "from functools import partial\n" + BEFORE.format(before=NAMED) + "def data(rows):\n    return "
        "tf.data.Dataset.from_generator(rows, tf.string).batch(8)\nboth = data(partial(rows, 'a')), data(partial(rows, 'b'))\n",
        7,
    ),
    "names in an order that a seed gives": (
        "import functools, random\n"
        + BEFORE.format(before="random.seed(99)\n    " + NAMED + "\n    random.shuffle(names)")
        + GIVEN.format(given="functools.partial(rows, folder='a')"),
        8,
    ),
}
OTHERS = {
    "numbers and texts in one list": "marks = [1, 'none'] * 500\ndef rows():\n    for mark in marks:\n        yield mark\n"
    "ds = make(rows, tf.string)\n",
    "lists of numbers, each of another length": "marks = [[1], [1, 2]] * 500\ndef rows():\n    for mark in marks:\n"
    "        yield mark\nds = make(rows, tf.int32)\n",
    "numbers that a range counts": "def rows():\n    for n in range(9999):\n        yield n\nds = make(rows, tf.int32)\n",
    "names in another order each time": "import functools, random\n"
    + BEFORE.format(before=NAMED + "\n    random.shuffle(names)")
    + GIVEN.format(given="functools.partial(rows, folder='a')"),
    "what the program has put together so far": "seen = []\nseen.append(3)\ndef rows():\n    m = np.array(seen)\n"
    "    for v in m:\n        yield v\nds = tf.data.Dataset.from_generator(rows, tf.float32)\n",
    "what an object has put together so far": "class Seen:\n    def rows(self):\n        m = np.array(self.seen)\n"
    "        for v in m:\n            yield v\n    def data(self):\n"
    "        return tf.data.Dataset.from_generator(self.rows, tf.float32)\n",
    "an array that a function draws": "def drawn():\n    return np.random.rand(9999)\ndef rows():\n    m = np.array(drawn())\n"
    "    for v in m:\n        yield v\nds = tf.data.Dataset.from_generator(rows, tf.float32)\n",
    "two generators": "def other():\n    for v in y:\n        yield v\ndef rows():\n    for v in x:\n        yield v\n"
    "def data(which):\n    return tf.data.Dataset.from_generator(which, tf.float32)\ndata(rows), data(other)\n",
    "changed": "def rows():\n    for v, w in zip(x, y):\n        yield v / 2, w\nds = tf.data.Dataset.from_generator(rows, spec)\n",
    "drawn": "def rows():\n    for i in range(len(x)):\n        j = np.random.randint(len(x))\n        yield x[j], y[j]\n"
    "ds = tf.data.Dataset.from_generator(rows, spec)\n",
    "chosen": "def rows():\n    for v, w in zip(x, y):\n        if w > 0:\n            yield v, w\nds = tf.data.Dataset.from_generator(rows, spec)\n",
    "batches": "def rows():\n    for i in range(0, len(x), 32):\n        yield x[i:i + 32], y[i:i + 32]\nds = tf.data.Dataset.from_generator(rows, spec)\n",
    "files": "def rows():\n    for p in paths:\n        yield np.load(p)\nds = tf.data.Dataset.from_generator(rows, tf.float32)\n",
    "mapped from a file": "m = np.memmap('x.bin', shape=(9, 9))\ndef rows():\n    for v in m:\n        yield v\nds = tf.data.Dataset.from_generator(rows, tf.float32)\n",
    "loaded, perhaps from a file": "m = np.load('x.npy', mmap_mode='r')\ndef rows():\n    for v in m:\n        yield v\nds = tf.data.Dataset.from_generator(rows, tf.float32)\n",
    "an archive": "m = np.load('x.npz')\ndef rows():\n    for v in m:\n        yield v\nds = tf.data.Dataset.from_generator(rows, tf.float32)\n",
    "loaded from an unknown file": "m = np.load(path)\ndef rows():\n    for v in m:\n        yield v\nds = tf.data.Dataset.from_generator(rows, tf.float32)\n",
    "loaded objects": "m = np.load('x.npy', allow_pickle=True)\ndef rows():\n    for v in m:\n        yield v\nds = tf.data.Dataset.from_generator(rows, tf.float32)\n",
    "mapped by place": "m = np.load('x.npy', 'r')\ndef rows():\n    for v in m:\n        yield v\nds = tf.data.Dataset.from_generator(rows, tf.float32)\n",
    "an h5py file": "import h5py\nm = h5py.File('x.h5')['x']\ndef rows():\n    for v in m:\n        yield v\nds = tf.data.Dataset.from_generator(rows, tf.float32)\n",
    "rows of several lengths": "m = np.array(texts, dtype=object)\ndef rows():\n    for v in m:\n        yield v\nds = tf.data.Dataset.from_generator(rows, tf.int64)\n",
    "reviews, which have several lengths": "(p, q), _ = tf.keras.datasets.imdb.load_data()\ndef rows():\n    for v, w in zip(p, q):\n        yield v, w\n"
    "ds = tf.data.Dataset.from_generator(rows, spec)\n",
    "not known": "from elsewhere import values\ndef rows():\n    for v in values:\n        yield v\nds = tf.data.Dataset.from_generator(rows, tf.float32)\n",
    "an unknown generator": "from elsewhere import rows\nds = tf.data.Dataset.from_generator(rows, spec)\n",
    "texts of words": "texts = [line.split() for line in open('a.txt')]\nds = tf.data.Dataset.from_generator(lambda: iter(texts), tf.string)\n",
    "a constant in some iterations": "def rows():\n    for i, v in enumerate(x):\n        yield v, y[i] if i % 2 else 0.0\n"
    "ds = tf.data.Dataset.from_generator(rows, spec)\n",
    "empty, and nothing in its place": "none = []\ndef rows():\n    for i, v in enumerate(x):\n        yield v, none[i]\n"
    "ds = tf.data.Dataset.from_generator(rows, spec)\n",
    "changed before": "def rows():\n    for v in x:\n        w = v / 2\n        yield w\nds = tf.data.Dataset.from_generator(rows, tf.float32)\n",
    "another index": "def rows():\n    for i, v in enumerate(x):\n        yield v, y[i + 1]\nds = tf.data.Dataset.from_generator(rows, spec)\n",
    "a list of texts": "texts = read()\nds = tf.data.Dataset.from_generator(lambda: iter(texts), tf.string)\n",
    "a few rows": "small = np.array([[1, 2], [3, 4]])\ndef rows():\n    for v in small:\n        yield v\nds = tf.data.Dataset.from_generator(rows, tf.float32)\n",
    "a glance": ZIPPED + "ds = tf.data.Dataset.from_generator(rows, spec)\nfor v in ds.take(3):\n    print(v)\n",
    "with arguments": "def rows(n):\n    for v in x:\n        yield v\nds = tf.data.Dataset.from_generator(rows, tf.float32, args=[3])\n",
    "one of the two is not yielded": "def rows():\n    for v, w in zip(x, y):\n        yield v\nds = tf.data.Dataset.from_generator(rows, tf.float32)\n",
    "another's from_generator": ZIPPED + "from elsewhere import Dataset\nds = Dataset.from_generator(rows)\n",
    "counted": "def rows():\n    n = 0\n    for v in x:\n        n += 1\n        yield v\nds = tf.data.Dataset.from_generator(rows, tf.float32)\n",
    "numbers without an array": "def rows():\n    for i in range(9999):\n        yield i\nds = tf.data.Dataset.from_generator(rows, tf.int32)\n",
}  # fmt: skip


def _table(cases: dict[str, object]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("case", cases.values(), ids=cases)


def rows(code: str, folder: Path, name: str = "train.py") -> list[int]:
    """The rows below HEAD that TFG313 names."""
    return [row - HEAD.count("\n") for one, row in found(HEAD + code, folder, name) if one == "TFG313"]


@_table(HANDED_ON)  # type: ignore[arg-type]
def test_rows_that_are_handed_on_are_found(case: tuple[str, int], tmp_path: Path) -> None:
    code, row = case
    assert rows(code, tmp_path) == [row]


@_table(OTHERS)  # type: ignore[arg-type]
def test_other_generators_are_not_found(case: str, tmp_path: Path) -> None:
    assert rows(case, tmp_path) == []


def test_tests_are_left_alone(tmp_path: Path) -> None:
    assert rows(HANDED_ON["zipped"][0], tmp_path, "tests/data.py") == []


def test_a_generator_of_another_file(tmp_path: Path) -> None:
    (tmp_path / "data.py").write_text(
        "import numpy as np\nx = np.zeros((9999, 4))\n\ndef rows():\n    for v in x:\n        yield v\n"
    )
    assert rows("from data import rows\nds = tf.data.Dataset.from_generator(rows, tf.float32)\n", tmp_path) == [2]


def test_a_notebook(tmp_path: Path) -> None:
    assert ("TFG313", 4) in found(notebook(HEAD, HANDED_ON["zipped"][0]), tmp_path, "a.ipynb")


def test_the_help_names_the_arrays(tmp_path: Path) -> None:
    def helps(name: str) -> list[str]:
        return [f.help for rule, f in findings(HEAD + HANDED_ON[name][0], tmp_path) if rule.code == "TFG313"]

    copies = ", which keeps a copy of the arrays"
    assert helps("zipped") == [f"use `from_tensor_slices((x, y))`{copies}"]
    assert helps("for ever") == [f"use `from_tensor_slices((x, y))`{copies}, and `repeat()` after it"]
    outside = "make them outside of the generator, and use"
    assert helps("arrays that it loads") == [f"{outside} `from_tensor_slices((n, m))`{copies}"]
    assert helps("one array") == [f"use `from_tensor_slices(x)`{copies}"]


def test_the_truth_the_same_rows_without_python() -> None:
    """With the installed TensorFlow: Python runs for every row, or not at all, and the elements are the same."""
    import numpy as np
    import tensorflow as tf

    x, y = np.arange(12.0).reshape(6, 2), np.arange(6)
    called = []

    def rows():  # type: ignore[no-untyped-def]
        for features, label in zip(x, y, strict=True):
            called.append(label)
            yield features, label

    generated = list(tf.data.Dataset.from_generator(rows, (tf.float64, tf.int64)).as_numpy_iterator())
    assert len(called) == 6
    cut = list(tf.data.Dataset.from_tensor_slices((x, y)).as_numpy_iterator())
    assert all(bool((p == r).all()) and q == s for (p, q), (r, s) in zip(generated, cut, strict=True))
