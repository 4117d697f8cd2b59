"""TFG314: large NumPy arrays that become constants of a graph, and arrays that do not, or are small."""

from __future__ import annotations

from pathlib import Path

import pytest
from checks import findings, found, notebook

HEAD = """\
import numpy as np
import tensorflow as tf
table = np.random.rand(100000, 64).astype("float32")
ids = tf.data.Dataset.range(1000)
"""
EMBEDDED = {  # the row below HEAD
    "gathered": ("@tf.function\ndef look_up(i):\n    return tf.gather(table, i)\n", 3),
    "by keyword": ("@tf.function\ndef look_up(i):\n    return tf.gather(params=table, indices=i)\n", 3),
    "made a constant": ("@tf.function\ndef step(x):\n    weights = tf.constant(table)\n    return x @ weights\n", 3),
    "multiplied": ("@tf.function(input_signature=[spec])\ndef step(x):\n    return x @ table\n", 3),
    "NumPy on the left": ("@tf.function(input_signature=[spec])\ndef step(x):\n    return 1.0 - table * x\n", 3),
    "in a list": ("@tf.function\ndef step(x):\n    return tf.concat([x, table], 0)\n", 3),
    "a dataset in a graph": (
        "@tf.function\ndef total():\n    for row in tf.data.Dataset.from_tensor_slices(table):\n        tf.print(row)\n",
        3,
    ),
    "a model's input": (
        "model = tf.keras.Sequential([tf.keras.layers.Dense(1)])\n@tf.function\ndef scores():\n    return model(table)\n",
        4,
    ),
    "mapped": ("ds = ids.map(lambda i: tf.gather(table, i))\n", 1),
    "a mapped function's helper": (
        "def look_up(i):\n    return tf.gather(table, i)\ndef both(i):\n    return look_up(i), i\nds = ids.map(both)\n",
        2,
    ),
    "through a parameter": (
        "def look_up(rows, i):\n    return tf.gather(rows, i)\n@tf.function\ndef step(i):\n    return look_up(table, i)\n",
        2,
    ),
    "a closure": (
        "def make(rows):\n    @tf.function\n    def look_up(i):\n        return tf.gather(rows, i)\n    return look_up\n"
        "step = make(table)\n",
        4,
    ),
    "of a class": (
        "class Bank:\n    def __init__(self):\n        self.rows = np.zeros((5000, 5000))\n    @tf.function\n"
        "    def look_up(self, i):\n        return tf.gather(self.rows, i)\n",
        6,
    ),
    "of a layer": (
        "class Bank(tf.keras.layers.Layer):\n    def __init__(self, rows):\n        super().__init__()\n        self.rows = rows\n"
        "    def call(self, inputs):\n        return tf.matmul(inputs, self.rows)\nBank(table)\n",
        6,
    ),
    "Keras's data": (
        "(x, y), _ = tf.keras.datasets.cifar10.load_data()\nx = x / 255.0\n"
        "@tf.function\ndef step(i):\n    return tf.gather(x, i)\n",
        5,
    ),
    "reshaped": (
        "flat = table.reshape(-1, 32)\n@tf.function\ndef step(i):\n    return tf.gather(flat, i)\n",
        4,
    ),
    "drawn by a generator": (
        "rng = np.random.default_rng(1)\nnoise = rng.normal(size=(2048, 2048))\n"
        "@tf.function\ndef step(i):\n    return tf.gather(noise, i)\n",
        5,
    ),
    "computed": (
        "angles = np.arange(50000)[:, np.newaxis] / np.ones((1, 512))\nwaves = np.sin(angles)\n"
        "@tf.function\ndef step(i):\n    return tf.gather(waves, i)\n",
        5,
    ),
    "made while tracing": ("@tf.function\ndef step(i):\n    return tf.gather(np.zeros((5000, 5000)), i)\n", 3),
}
OTHERS = {
    "small": "small = np.random.rand(1000, 64)\n@tf.function\ndef step(i):\n    return tf.gather(small, i)\n",
    "a tensor before": "rows = tf.constant(table)\n@tf.function\ndef step(i):\n    return tf.gather(rows, i)\n",
    "a variable before": "rows = tf.Variable(table)\n@tf.function\ndef step(i):\n    return tf.gather(rows, i)\n",
    "an argument": "@tf.function\ndef step(rows, i):\n    return tf.gather(rows, i)\nstep(table, 3)\n",
    "an argument that is handed on": "def look_up(rows, i):\n    return tf.gather(rows, i)\n@tf.function\ndef step(rows, i):\n"
    "    return look_up(rows, i)\nstep(table, 3)\nlook_up(table, 3)\n",
    "of unknown size": "loaded = np.load('a.npy')\n@tf.function\ndef step(i):\n    return tf.gather(loaded, i)\n",
    "of unknown shape": "made = np.zeros((rows, 64))\n@tf.function\ndef step(i):\n    return tf.gather(made, i)\n",
    "perhaps small": "few = np.zeros((2, 2)) if quick else table\n@tf.function\ndef step(i):\n    return tf.gather(few, i)\n",
    "on the host": "@tf.function\ndef step(i):\n    return tf.numpy_function(lambda i: tf.gather(table, i).numpy(), [i], tf.float32)\n",
    "on the host, by name": "def look_up(i):\n    return tf.gather(table, i)\nds = ids.map(lambda i: tf.py_function(look_up, [i], tf.float32))\n",
    "its shape": "@tf.function\ndef step(i):\n    return i + table.shape[0] + len(table) + tf.shape(table)[0]\n",
    "one row": "@tf.function\ndef step(x):\n    return x + tf.constant(table[0])\n",
    "some rows": "@tf.function\ndef step(x):\n    return x + tf.constant(table[:100])\n",
    "eager": "def look_up(i):\n    return tf.gather(table, i)\nlook_up(3)\n",
    "lifted out": "@tf.function\ndef step(i):\n    with tf.init_scope():\n        rows = tf.constant(table)\n    return tf.gather(rows, i)\n",
    "functions run eagerly": "tf.config.run_functions_eagerly(True)\n@tf.function\ndef step(i):\n    return tf.gather(table, i)\n",
    "sliced by a dataset": "ds = tf.data.Dataset.from_tensor_slices(table).map(lambda row: row * 2.0)\n",
    "TensorFlow's zeros": "@tf.function\ndef step(x):\n    return x + tf.zeros((5000, 5000))\n",
    "a tensor of the layer": "class Bank(tf.keras.layers.Layer):\n    def build(self, shape):\n        self.rows = tf.constant(table)\n"
    "    def call(self, inputs):\n        return tf.matmul(inputs, self.rows)\n",
    "shrinking": "rest = table\nfor i in range(20):\n    rest = rest[1000:]\n@tf.function\ndef step(i):\n    return tf.gather(rest, i)\n",
    "a mean": "mean = table.mean(axis=0)\nds = ids.map(lambda i: tf.cast(i, tf.float32) - mean)\n",
    "of bytes": "mask = np.ones((1200, 1200), np.uint8)\n@tf.function\ndef step(i):\n    return tf.gather(mask, i)\n",
    "clipped bytes": "mask = np.clip(np.zeros((1200, 1200), 'uint8'), 0, 9)\n@tf.function\ndef step(i):\n    return tf.gather(mask, i)\n",
    "NumPy alone": "@tf.function\ndef step(x):\n    scale = (table * 2.0).max()\n    return x * scale\n",
}  # fmt: skip


def _table(cases: dict[str, object]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("case", cases.values(), ids=cases)


def rows(code: str, folder: Path, name: str = "train.py") -> list[int]:
    """The rows below HEAD that TFG314 names."""
    return [row - HEAD.count("\n") for one, row in found(HEAD + code, folder, name) if one == "TFG314"]


@_table(EMBEDDED)  # type: ignore[arg-type]
def test_large_arrays_in_graphs_are_found(case: tuple[str, int], tmp_path: Path) -> None:
    code, row = case
    assert rows(code, tmp_path) == [row]


@_table(OTHERS)  # type: ignore[arg-type]
def test_other_arrays_are_not_found(case: str, tmp_path: Path) -> None:
    assert rows(case, tmp_path) == []


def test_an_array_of_another_file(tmp_path: Path) -> None:
    (tmp_path / "data.py").write_text("import numpy as np\nrows = np.ones((4096, 4096))\n")
    assert rows("from data import rows\nds = ids.map(lambda i: tf.gather(rows, i))\n", tmp_path) == [2]


def test_a_function_of_another_file(tmp_path: Path) -> None:
    text = "import tensorflow as tf\n\ndef look_up(rows, i):\n    return tf.gather(rows, i)\n"
    (tmp_path / "lookup.py").write_text(text)
    code = "from lookup import look_up\nds = ids.map(lambda i: look_up(table, i))\n"
    assert ("TFG314 lookup.py", 4) in found(HEAD + code, tmp_path)


def test_a_notebook(tmp_path: Path) -> None:
    cells = notebook(HEAD, EMBEDDED["gathered"][0])
    assert ("TFG314", 3) in found(cells, tmp_path, "a.ipynb")


def test_the_size_and_the_place_of_the_array_are_reported(tmp_path: Path) -> None:
    told = [f for rule, f in findings(HEAD + EMBEDDED["gathered"][0], tmp_path) if rule.code == "TFG314"]
    assert [f.message.partition(":")[0] for f in told] == [
        "`table`, an array of 24.4 MiB, becomes a constant of the `tf.function` `look_up`"
    ]
    assert [(f.severity, f.prediction.kind) for f in told] == [(None, "slowdown")]
    assert [f.notes[0].file.code(f.notes[0].node) for f in told] == [HEAD.splitlines()[2].removeprefix("table = ")]


def test_a_type_at_its_place_halves_the_size(tmp_path: Path) -> None:
    code = "bank = np.zeros((10000, 2000), np.float32)\n@tf.function\ndef step(i):\n    return tf.gather(bank, i)\n"
    told = [f for rule, f in findings(HEAD + code, tmp_path) if rule.code == "TFG314"]
    assert [f.message.partition(",")[2].partition(",")[0] for f in told] == [" an array of 76.3 MiB"]


def test_more_than_two_gigabytes_are_an_error(tmp_path: Path) -> None:
    code = "huge = np.zeros((30000, 20000))\n@tf.function\ndef step(i):\n    return tf.gather(huge, i)\n"
    told = [f for rule, f in findings(HEAD + code, tmp_path) if rule.code == "TFG314"]
    assert [(f.severity, f.prediction.kind) for f in told] == [("error", "crash")]


def test_the_truth_arrays_are_copied_into_the_graph_and_tensors_are_not() -> None:
    """With the installed TensorFlow: the graph holds the array's bytes, those of a captured tensor it does not."""
    import numpy as np
    import tensorflow as tf

    array = np.random.rand(1000, 64).astype("float32")
    tensor = tf.constant(array)

    def size(of: object) -> int:
        function = tf.function(lambda i: tf.gather(of, i))
        graph = function.get_concrete_function(tf.constant(1)).graph.as_graph_def()
        return int(graph.ByteSize())

    assert size(array) > array.nbytes > 10 * size(tensor)
    mapped = tf.data.Dataset.range(3).map(lambda i: tf.gather(array, i))
    function = mapped._map_func.function
    assert function.graph.as_graph_def().ByteSize() > array.nbytes
    multiplied = tf.function(lambda x: x @ array).get_concrete_function(tf.TensorSpec((2, 1000)))
    assert multiplied.graph.as_graph_def().ByteSize() > array.nbytes
