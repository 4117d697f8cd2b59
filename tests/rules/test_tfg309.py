"""TFG309: Python in functions given to datasets, which runs once or raises, and Python that is meant there."""

from __future__ import annotations

from pathlib import Path

import pytest
from checks import findings, fixed, found, notebook

from tflint_gpu.rule import Finding

HEAD = """\
import datetime, io, json, math, os, random, time
import numpy as np
import tensorflow as tf
from pathlib import Path
ds = tf.data.Dataset.from_tensor_slices((images, labels))
paths = tf.data.Dataset.list_files("*.png")
"""
MISPLACED = {  # the row below HEAD
    "a draw for all": ("def f(x, y):\n    return x * random.random(), y\nds = ds.map(f)\n", 2),
    "a generator for each trace": (
        "def f(x, y):\n    source = np.random.default_rng()\n    return x + source.normal(), y\nds = ds.map(f)\n",
        3,
    ),
    "NumPy draws in a lambda": ("ds = ds.map(lambda x, y: (x + np.random.normal(), y))\n", 1),
    "NumPy on an element": ("def f(x, y):\n    return np.log1p(x), y\nds = ds.map(f)\n", 2),
    "NumPy on what an element becomes": (
        "def f(x, y):\n    x = tf.cast(x, tf.float32)\n    return np.clip(x, 0, 1), y\nds.map(f)\n",
        3,
    ),
    "NumPy in a filter": ("ds = ds.filter(lambda x, y: np.sum(x) > 0)\n", 1),
    "on an element of a dict": (
        "def f(row):\n    return np.exp(row['x'])\nrows = tf.data.Dataset.from_tensor_slices({'x': a}).map(f)\n",
        2,
    ),
    "numpy()": ("def f(p):\n    return p.numpy()\npaths.map(f)\n", 2),
    "decoded": ("def f(p):\n    name = p.numpy().decode()\n    return name\npaths.map(f)\n", 2),
    "open": ("def f(p):\n    return open(p).read()\npaths.map(f)\n", 2),
    "np.load": ("def f(p):\n    return np.load(p)\npaths.map(f)\n", 2),
    "a joined path": ("paths = paths.map(lambda p: tf.io.read_file(os.path.join('photos', p)))\n", 1),
    "a Path": ("def f(p):\n    return str(Path(p))\npaths.map(f)\n", 2),
    "math": ("def f(x, y):\n    return math.sqrt(y), x\nds.map(f)\n", 2),
    "a sleep": ("def slow(x, y):\n    time.sleep(0.01)\n    return x, y\nds.map(slow)\n", 2),
    "the time": ("def f(x, y):\n    return x, y, time.time()\nds.map(f)\n", 2),
    "a print": ("def f(x, y):\n    print(x)\n    return x, y\nds.map(f)\n", 2),
    "a print of text": ("def f(x, y):\n    print(f'label {y}')\n    return x, y\nds.map(f)\n", 2),
    "through a helper": (
        "def noise():\n    return np.random.rand()\ndef f(x, y):\n    return x * noise(), y\nds.map(f)\n",
        2,
    ),
    "through a helper's parameter": (
        "def scaled(v):\n    return np.sqrt(v)\ndef f(x, y):\n    return scaled(x), y\nds.map(f)\n",
        2,
    ),
    "a dataset as parameter": (
        "def train(data):\n    data = data.map(lambda x, y: (np.tanh(x), y))\n    return data\ntrain(ds)\n",
        2,
    ),
    "a function as parameter": (
        "def f(x, y):\n    return np.tanh(x), y\ndef prepared(data, function):\n"
        "    return data.map(function, num_parallel_calls=tf.data.AUTOTUNE)\nprepared(ds, f)\n",
        2,
    ),
    "a method": (
        "class Data:\n    def parse(self, x, y):\n        return np.tanh(x), y\n    def build(self):\n"
        "        return ds.map(self.parse)\n",
        3,
    ),
    "a generator of the class": (
        "class Data:\n    def __init__(self):\n        self.rng = np.random.default_rng(1)\n"
        "    def parse(self, x, y):\n        return x + self.rng.normal(), y\n    def build(self):\n"
        "        return ds.map(self.parse)\n",
        5,
    ),
    "a dataset of a class": (
        "class Data:\n    def __init__(self):\n        self.ds = tf.data.Dataset.range(9)\n"
        "    def build(self):\n        return self.ds.map(lambda x: x + random.randint(0, 9))\n",
        5,
    ),
    "a closure": (
        "def make(low):\n    def f(x, y):\n        return x * random.uniform(low, 1), y\n    return f\nds.map(make(0.5))\n",
        3,
    ),
    "with arguments given already": (
        "import functools\ndef f(x, y, scale):\n    return np.log(x) * scale, y\n"
        "ds.map(functools.partial(f, scale=2))\n",
        3,
    ),
    "files in turns": ("paths.interleave(lambda p: tf.data.TFRecordDataset(os.path.join('x', p)))\n", 1),
    "a reduction": ("n = ds.reduce(0.0, lambda state, x, y: state + np.sum(x))\n", 1),
    "under tf.function": ("@tf.function\ndef f(x: tf.Tensor, y):\n    return np.sin(x), y\nds.map(f)\n", 3),
    "a draw under tf.function": ("@tf.function\ndef f(x, y):\n    return x * np.random.rand(), y\nds.map(f)\n", 3),
    "only a parallel map is seen": (
        "def prepared(data):\n    return data.map(lambda x: x + random.random(), num_parallel_calls=4)\n",
        2,
    ),
}
FINE = {
    "TensorFlow's own": "ds.map(lambda x, y: (x * tf.random.uniform([]), y))\n",
    "NumPy on the host": "def load(p):\n    print(p)\n    return np.load(p) * np.random.rand()\n"
    "paths.map(lambda p: tf.numpy_function(load, [p], tf.float32))\n",
    "a py_function inside": "def f(p):\n    def load(q):\n        return np.load(q.numpy().decode())\n"
    "    return tf.py_function(load, [p], tf.float32)\npaths.map(f)\n",
    "shapes": "def f(x, y):\n    print(x.shape, x.dtype)\n    n = np.prod(x.shape)\n    return tf.reshape(x, [n]), y\nds.map(f)\n",
    "constants": "MEAN = np.array([1.0, 2.0])\ndef f(x, y):\n    return (x - np.float32(2)) / np.sqrt(MEAN) * np.pi, y\nds.map(f)\n",
    "a dtype": "ds.map(lambda x, y: (tf.cast(x, np.float32), tf.one_hot(y, 10, dtype=np.float32)))\n",
    "a text": "def f(x, y):\n    print('tracing the parser')\n    return x, y\nds.map(f)\n",
    "a seed of an operation": "ds.map(lambda x, y: (tf.image.random_flip_left_right(x, seed=random.randint(0, 9)), y))\n",
    "seeded here, so meant to be constant": "def f(x, y):\n    np.random.seed(1)\n    return x + np.random.rand(4), y\nds.map(f)\n",
    "drawn before": "shift = np.random.rand()\nds.map(lambda x, y: (x + shift, y))\n",
    "a known path": "FOLDER = os.path.join('a', 'b')\npaths.map(lambda p: tf.strings.join([os.path.join('a', FOLDER), p]))\n",
    "a file that is known": "def f(x, y):\n    table = json.load(open('table.json'))\n    return x + table['shift'], y\nds.map(f)\n",
    "a series of pandas": "import pandas as pd\ntable = pd.read_csv('x.csv')\ntable['y'] = table['x'].map(lambda v: np.log(v))\n",
    "an array's map": "values = list(map(lambda v: np.log(v) + random.random(), [1, 2]))\n",
    "a pool": "from multiprocessing import Pool\nwith Pool() as pool:\n    pool.map(lambda p: np.load(p), names)\n",
    "a class of the project": "class Rows:\n    def map(self, f):\n        return [f(x) for x in self.rows]\n"
    "Rows().map(lambda x: np.log(x) + random.random())\n",
    "read in a loop": "for x, y in ds.map(lambda x, y: (x, y)):\n    print(np.mean(x), x.numpy(), random.random())\n",
    "elements that NumPy gets": "for x in ds.as_numpy_iterator():\n    np.log(x)\n",
    "a generator": "def rows():\n    for i in range(9):\n        time.sleep(1)\n        yield np.log(i) + random.random()\n"
    "tf.data.Dataset.from_generator(rows, tf.float32).map(lambda x: x * 2)\n",
    "eager only": "def f(x, y):\n    if tf.executing_eagerly():\n        print(x.numpy())\n    return x, y\nds.map(f)\n",
    "tried": "def f(x, y):\n    try:\n        x = np.log(x)\n    except NotImplementedError:\n        x = tf.math.log(x)\n    return x, y\nds.map(f)\n",
    "kinds of values": "def f(x, y):\n    if isinstance(x, np.ndarray):\n        return np.log(x), y\n    return tf.math.log(x), y\nds.map(f)\n",
    "a decorator that may move it": "from elsewhere import on_host\n@on_host\ndef f(x, y):\n    return np.log(x) + random.random(), y\nds.map(f)\n",
    "NumPy's own behaviour": "tf.experimental.numpy.experimental_enable_numpy_behavior()\nds.map(lambda x, y: (np.sum(x), y))\n",
    "TensorFlow's NumPy": "import tensorflow.experimental.numpy as tnp\nds.map(lambda x, y: (tnp.log1p(x), y))\n",
    "windows, which are datasets": "ds.window(5).flat_map(lambda w: w.batch(5).map(lambda x: tf.math.log(x)))\n",
    "a default that is known": "def f(x, y, n=4):\n    return x * np.sqrt(n) * math.sqrt(n), y\nds.map(f)\n",
    "a number given already": "import functools\ndef f(n, x, y):\n    return x * np.sqrt(n), y\nds.map(functools.partial(f, 4))\n",
    "a setting of the class": "class Data:\n    def __init__(self, size):\n        self.size = size\n    def parse(self, x, y):\n"
    "        return tf.image.resize(x, [int(np.sqrt(self.size)), math.ceil(self.size)]), y\n"
    "    def build(self):\n        return ds.map(self.parse)\nData(9).build()\n",
    "a dataset built from draws": "def build():\n    cut = random.random()\n    return ds.filter(lambda x, y: x[0] > cut)\n",
    "timed around": "start = time.time()\nds = ds.map(lambda x, y: (x, y))\nprint(time.time() - start)\n",
    "debug mode draws again": "tf.data.experimental.enable_debug_mode()\nds.map(lambda x, y: (x * random.random(), y))\n",
}  # fmt: skip


def _table(cases: dict[str, object]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("case", cases.values(), ids=cases)


def rows(code: str, folder: Path) -> list[tuple[str, int]]:
    """The codes of this theme and of what may speak of the same place, with their rows below HEAD."""
    told = ("TFG101", "TFG102", "TFG103", "TFG104", "TFG309")
    return [(name, row - HEAD.count("\n")) for name, row in sorted(found(HEAD + code, folder)) if name in told]


@_table(MISPLACED)  # type: ignore[arg-type]
def test_python_for_each_element_is_found_once(case: tuple[str, int], tmp_path: Path) -> None:
    code, row = case
    assert rows(code, tmp_path) == [("TFG309", row)]


@_table(FINE)  # type: ignore[arg-type]
def test_other_python_is_not_found(case: str, tmp_path: Path) -> None:
    assert rows(case, tmp_path) == []


def test_a_function_of_another_file(tmp_path: Path) -> None:
    (tmp_path / "parsing.py").write_text("import numpy as np\n\ndef parse(x, y):\n    return np.log(x), y\n")
    assert found(HEAD + "from parsing import parse\nds = ds.map(parse)\n", tmp_path) >= {("TFG309 parsing.py", 4)}


def test_a_dataset_of_another_file(tmp_path: Path) -> None:
    (tmp_path / "data.py").write_text("import tensorflow as tf\n\ndef load():\n    return tf.data.Dataset.range(9)\n")
    code = "import random\nfrom data import load\nds = load().map(lambda x: x + random.random())\n"
    assert found(code, tmp_path) == {("TFG309", 3)}


def test_a_notebook(tmp_path: Path) -> None:
    assert ("TFG309", 1) in found(notebook(HEAD, "ds = ds.map(lambda x, y: (np.log(x), y))\n"), tmp_path, "a.ipynb")


SHARED = "def act(v):\n    return np.tanh(v)\nclass Net(tf.keras.layers.Layer):\n    def call(self, x):\n        return act(x)\n"


def test_a_place_that_a_layer_reaches_too_is_told_once(tmp_path: Path) -> None:
    """One finding a mistake: in what a dataset maps, this rule speaks and those of model code are silent."""
    assert rows(SHARED, tmp_path) == [("TFG101", 2)]
    assert rows(SHARED + "ds.map(lambda x, y: (act(x), y))\n", tmp_path) == [("TFG309", 2)]
    drawn = SHARED.replace("np.tanh(v)", "v * np.random.rand()")
    assert rows(drawn, tmp_path) == [("TFG102", 2)]
    assert rows(drawn + "ds.map(lambda x, y: (act(x), y))\n", tmp_path) == [("TFG309", 2)]


def test_where_this_rule_is_silent_the_others_speak(tmp_path: Path) -> None:
    """The dataset gives the helper a constant: only the layer gives it a tensor."""
    assert rows(SHARED + "ds.map(lambda x, y: (x * act(2.0), y))\n", tmp_path) == [("TFG101", 2)]


def test_what_is_said(tmp_path: Path) -> None:
    def said(name: str) -> tuple[str, str, str | None]:
        (finding,) = own(MISPLACED[name][0], tmp_path)
        return finding.message, finding.help, finding.severity

    assert said("NumPy in a filter") == (
        "`np.sum` gets an element of the dataset in the function of `filter`: elements have no values while tf.data "
        "traces it, so it raises",
        "use `tf.reduce_sum` or `keras.ops.sum`",
        None,
    )
    assert said("a draw for all") == (
        "`random.random` in the function of `map` runs once, while tf.data traces it: every element gets the same value",
        "draw in the graph: `tf.random.uniform`",
        "error",
    )
    assert said("a print")[2] == "warning"


def own(code: str, folder: Path) -> list[Finding]:
    """What this rule alone finds."""
    return [finding for rule, finding in findings(HEAD + code, folder) if rule.code == "TFG309"]


def test_the_way_to_the_place_is_reported(tmp_path: Path) -> None:
    (finding,) = own(MISPLACED["through a helper"][0], tmp_path)
    assert [note.message for note in finding.notes] == ["`map` is given this function", "called from `f`"]


def test_the_truth_python_runs_once_and_needs_no_values() -> None:
    """With the installed TensorFlow."""
    import math
    import os
    import random

    import numpy as np
    import tensorflow as tf

    elements = tf.data.Dataset.range(20)
    names = tf.data.Dataset.from_tensor_slices(["a", "b"])
    calls = []

    def drawn(x: tf.Tensor) -> float:
        calls.append(x)
        return random.random()

    assert len({float(value) for value in elements.map(drawn)}) == 1
    assert len(calls) == 1
    for dataset, function, error in (
        (elements, np.square, NotImplementedError),
        (elements, lambda x: x.numpy(), AttributeError),
        (elements, math.sqrt, TypeError),
        (names, open, TypeError),
        (names, lambda x: os.path.join("folder", x), TypeError),  # noqa: PTH118
        (names, Path, TypeError),
    ):
        with pytest.raises(error):
            dataset.map(function)


@pytest.mark.parametrize(
    "drawn",
    [
        "    return random.choice(turns)(x), y\n",
        "    turn = random.choice(turns)\n    return turn(x), y\n",
        "    for turn in random.sample(turns, 2):\n        x = turn(x)\n    return x, y\n",
    ],
)
def test_a_function_that_is_drawn_is_chosen_in_the_graph(drawn: str, tmp_path: Path) -> None:
    """Protects the help: another number does not choose a function, `tf.switch_case` does."""
    code = f"{HEAD}turns = [tf.image.flip_left_right, tf.image.flip_up_down]\ndef f(x, y):\n{drawn}ds = ds.map(f)\n"
    [finding] = [finding for rule, finding in findings(code, tmp_path) if rule.code == "TFG309"]
    assert "tf.switch_case" in finding.help


def test_a_number_that_is_drawn_is_drawn_in_the_graph(tmp_path: Path) -> None:
    code = f"{HEAD}def f(x, y):\n    by = random.choice([1.0, 2.0])\n    return x * by, y\nds = ds.map(f)\n"
    [finding] = [finding for rule, finding in findings(code, tmp_path) if rule.code == "TFG309"]
    assert "tf.switch_case" not in finding.help


@pytest.mark.parametrize("draw", ["row + 0.5 * np.random.normal(size=4)", "lifted + row"])
def test_a_draw_fits_elements_whose_type_is_not_known(draw: str, tmp_path: Path) -> None:
    """Protects arrays out of files: NumPy writes float64."""
    tf = pytest.importorskip("tensorflow")
    import numpy as np

    np.save(tmp_path / "rows.npy", np.ones((6, 4)))
    code = (
        "import numpy as np\nimport tensorflow as tf\n\n\ndef shaken(row):\n"
        f"    lifted = np.random.uniform(2, 3)\n    return {draw}\n\n\n"
        f"rows = tf.data.Dataset.from_tensor_slices(np.load({str(tmp_path / 'rows.npy')!r})).map(shaken)\n"
    )
    after = fixed(code, tmp_path, "TFG309")
    assert ("dtype=row.dtype" in after) == ("0.5" in draw)  # a name that is assigned before has no such place
    scope: dict[str, object] = {}
    exec(compile(after, "rows.py", "exec"), scope)
    (row,) = scope["rows"].take(1)  # type: ignore[attr-defined]
    assert row.dtype == tf.float64


@pytest.mark.parametrize("dtype", ["float16", "float64", "float32"])
def test_a_draw_has_the_dtype_of_what_it_meets(dtype: str, tmp_path: Path) -> None:
    """Protects elements of another type than float32: a number of Python's fits them, a tensor of float32 raises."""
    tf = pytest.importorskip("tensorflow")
    code = (
        "import random\nimport numpy as np\nimport tensorflow as tf\n\n\ndef shaken(row):\n"
        "    return row + random.uniform(2, 3)\n\n\n"
        f"rows = tf.data.Dataset.from_tensor_slices(np.ones(50, '{dtype}')).map(shaken)\n"
    )
    after = fixed(code, tmp_path, "TFG309")
    assert "tf.random.uniform([], 2, 3" in after
    scope: dict[str, object] = {}
    exec(compile(after, "rows.py", "exec"), scope)
    (row,) = scope["rows"].take(1)  # type: ignore[attr-defined]
    assert row.dtype == tf.as_dtype(dtype)
    assert 3 <= float(row) <= 4


@pytest.mark.parametrize("text", ["'row {}'.format(row)", "'row %s' % row", "f'row {row}'"])
def test_a_text_that_python_writes_is_not_printed_in_the_graph(text: str, tmp_path: Path) -> None:
    """Protects who reads the output: `tf.print` would show the text of a symbolic tensor for each element."""
    code = f"{HEAD}def show(row, label):\n    print({text})\n    return row, label\nds.map(show)\n"
    ((_, finding),) = [pair for pair in findings(code, tmp_path) if pair[0].code == "TFG309"]
    assert finding.fix is None
    code = code.replace(text, "'row', row")
    ((_, finding),) = [pair for pair in findings(code, tmp_path) if pair[0].code == "TFG309"]
    assert finding.fix is not None
