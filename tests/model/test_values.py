"""Abstract values against TensorFlow: what is known of an expression is what the program has when it runs."""

from __future__ import annotations

import random
import sys
import textwrap
from collections import Counter
from pathlib import Path
from typing import Any

import libcst as cst
import pytest
from checks import model_of

from tflint_gpu.model.values.shown import types_in
from tflint_gpu.model.values.value import TEXT, TensorValue, Value, text
from tflint_gpu.model.values.values import Values

sys.path.insert(0, str(Path(__file__).parents[1] / "benchmarks"))

from values_fuzz import differences

np = pytest.importorskip("numpy")
tf = pytest.importorskip("tensorflow")

HEAD = "import numpy as np\nimport tensorflow as tf\n"
WHOLE = """
tf.constant([[1, 2], [3, 4]])
tf.constant([1.0, 2])
tf.constant(3, tf.int64)
tf.constant(0.5, shape=(2, 3))
tf.constant("text")
tf.convert_to_tensor(np.arange(6).reshape(2, 3))
tf.ones((2, 3)) + tf.ones(3)
tf.ones((2, 3)) / 2
tf.ones((2, 1), tf.int32) / tf.ones((1, 3), dtype="int32")
tf.ones((2, 3), tf.int32) // 2
2.0 * tf.Variable([1.0, 2.0])
tf.Variable(tf.zeros([3, 4])).assign_add(tf.ones([3, 4]))
tf.ones((4, 3)) @ tf.ones((3, 5))
tf.matmul(tf.ones((2, 4, 3)), tf.ones((2, 4, 5)), transpose_a=True)
tf.ones((4, 3))[0]
tf.ones((4, 3))[1:, -1]
tf.ones((4, 3, 2))[..., tf.newaxis, 0]
tf.ones((4, 3))[None]
tf.ones((10, 3))[2:8:3]
-tf.ones((4, 3))
tf.ones((4, 3)) > 0
tf.reshape(tf.ones((4, 6)), (2, -1, 3))
tf.reshape(tf.range(6), [-1])
tf.transpose(tf.ones((2, 3, 4)), [2, 0, 1])
tf.transpose(tf.ones((2, 3)))
tf.expand_dims(tf.ones((2, 3)), 1)
tf.squeeze(tf.ones((2, 1, 3)), axis=1)
tf.reduce_sum(tf.ones((2, 3)))
tf.reduce_mean(tf.ones((2, 3)), axis=1)
tf.reduce_max(tf.ones((2, 3)), axis=[0, 1], keepdims=True)
tf.reduce_any(tf.ones((2, 3)) > 0, 0)
tf.argmax(tf.ones((2, 3)), axis=1)
tf.argmax(tf.ones((2, 3)), 1, output_type=tf.int32)
tf.concat([tf.ones((2, 3)), tf.ones((4, 3))], 0)
tf.stack([tf.ones(3), tf.zeros(3)], axis=1)
tf.tile(tf.ones((2, 3)), [2, 1])
tf.pad(tf.ones((2, 3)), [[1, 1], [0, 2]])
tf.gather(tf.ones((5, 3)), [0, 2])
tf.gather_nd(tf.ones((5, 3)), [[0, 2]])
tf.repeat(tf.ones((2, 3)), 2, axis=1)
tf.einsum("bij,bjk->bik", tf.ones((2, 3, 4)), tf.ones((2, 4, 5)))
tf.tensordot(tf.ones((2, 3)), tf.ones((3, 4)), 1)
tf.slice(tf.ones((4, 5)), [1, 0], [2, -1])
tf.split(tf.ones((4, 6)), 3, axis=1)[0]
tf.unstack(tf.ones((2, 3)))[1]
tf.math.top_k(tf.ones((2, 5)), k=3).values
tf.math.top_k(tf.ones((2, 5)), k=3)[1]
tf.one_hot([0, 1, 2], 5)
tf.one_hot([0, 1], depth=3, dtype=tf.int32)
tf.cast(tf.ones((2, 3)), tf.uint8)
tf.cast([1, 2], "float64")
tf.range(5)
tf.range(1, 10, 3)
tf.range(0.0, 1.0, 0.25)
tf.eye(3)
tf.eye(2, 3, batch_shape=[4])
tf.fill([2, 3], 7)
tf.zeros_like(tf.ones((2, 3), tf.int32))
tf.ones_like(tf.ones((2, 3)), dtype=tf.int64)
tf.random.normal((2, 3))
tf.random.uniform([4], maxval=5, dtype=tf.int32)
tf.random.gamma([3], [0.5, 1.5])
tf.linspace(0.0, 1.0, 5)
tf.sequence_mask([1, 3], 4)
tf.shape(tf.ones((2, 3)))
tf.size(tf.ones((2, 3)))
tf.clip_by_value(tf.ones((2, 3)), 0.0, 1.0)
tf.nn.relu(tf.ones((2, 3)))
tf.nn.softmax(tf.ones((2, 3)))
tf.where(tf.ones((2, 3)) > 0, tf.ones((2, 3)), 0.0)
tf.maximum(tf.ones((2, 1)), tf.ones(3))
tf.linalg.inv(tf.eye(3))
tf.linalg.solve(tf.eye(3), tf.ones((3, 2)))
tf.strings.lower(["A", "B"])
tf.strings.to_number(["1", "2"])
tf.io.parse_single_example(b"", {"x": tf.io.FixedLenFeature([3], tf.float32, [0.0] * 3)})["x"]
np.zeros((2, 3))
np.ones(4, dtype=np.float32) * 2
np.ones(4, dtype=np.float32) + np.ones(4)
np.ones(4, dtype=np.uint8) + np.ones(4, dtype=np.int8)
np.arange(10)
np.arange(0, 1, 0.25)
np.arange(6).reshape(2, 3).astype("float32").T
np.array([[1, 2], [3, 4]]).sum(axis=0)
np.array([[1, 2], [3, 4]], dtype="int32").mean()
np.array([1.5, 2]) > 1
np.sqrt(np.arange(4))
np.concatenate([np.zeros((2, 3)), np.ones((1, 3))])
np.stack([np.zeros(3), np.ones(3)])
np.full((2, 2), 7)
np.random.rand(3, 2)
np.random.randint(0, 5, (3, 2))
np.random.default_rng(0).normal(size=(3, 2))
np.eye(3)
np.zeros((5, 4, 3))[2]
tf.zeros((5, 4, 3))[tf.constant(2)]
np.linspace(0, 1, 5)
np.expand_dims(np.zeros(3), 0)
np.float32(2.0) * np.ones(3, np.float32)
tf.ones((2, 3)).numpy()
tf.keras.layers.Dense(5)(tf.ones((2, 3)))
tf.keras.layers.Conv2D(4, 3)(tf.ones((2, 8, 8, 3)))
tf.keras.layers.Embedding(10, 4)(tf.constant([[1, 2, 3]]))
tf.keras.layers.LSTM(4, return_sequences=True)(tf.ones((2, 5, 3)))
tf.keras.layers.Concatenate()([tf.ones((2, 3)), tf.ones((2, 4))])
tf.keras.Sequential([tf.keras.layers.Flatten(), tf.keras.layers.Dense(4)])(tf.ones((2, 3, 3)))
tf.keras.losses.MeanSquaredError()(tf.ones((2, 3)), tf.zeros((2, 3)))
next(iter(tf.data.Dataset.range(8).batch(4)))
next(iter(tf.data.Dataset.from_tensor_slices(np.zeros((8, 3), "float32")).batch(4)))
next(iter(tf.data.Dataset.from_tensor_slices((np.zeros((8, 3)), [1] * 8)).batch(3, drop_remainder=True)))[1]
next(iter(tf.data.Dataset.from_tensors([1, 2])))
next(iter(tf.data.Dataset.range(10).map(lambda n: tf.fill([2, 3], n))))
next(iter(tf.data.Dataset.zip((tf.data.Dataset.range(3), tf.data.Dataset.from_tensors(0.5).repeat(3)))))[1]
next(iter(tf.data.Dataset.from_tensor_slices({"a": [1.0, 2.0], "b": [1, 2]})))["b"]
tf.data.Dataset.range(9).reduce(tf.constant(0, tf.int64), lambda total, n: total + n)
""".strip().splitlines()
"""Expressions of which kind, dtype and shape are known."""


def value_of(code: str, folder: Path, name: str = "x") -> Value:
    """The abstract value of the last assignment to a name."""
    model = model_of(HEAD + textwrap.dedent(code), folder)
    [*_, use] = model.file.tree.uses[name]
    statement = model.file.tree.parents[model.file.tree.parents[use]]
    expr = statement.value if isinstance(statement, cst.Assign) else use
    return model.once(Values).of(model.file, expr)


def ran(code: str, name: str = "x") -> Any:
    """What the name is when the program has run."""
    names: dict[str, Any] = {}
    exec(compile(HEAD + textwrap.dedent(code), "program", "exec"), names)
    return names[name]


def dtype_of(value: Any) -> str:
    dtype = value.dtype
    return dtype if isinstance(dtype, str) else getattr(dtype, "name", str(dtype))


@pytest.mark.parametrize("expression", WHOLE)
def test_an_expression_is_what_it_is_when_it_runs(expression: str, tmp_path: Path) -> None:
    """Protects from a claim that TensorFlow, NumPy or Keras does not keep, and from a row that says too little."""
    value, real = value_of(f"x = {expression}", tmp_path), ran(f"x = {expression}")
    assert isinstance(value, TensorValue)
    assert (value.dtype, value.shape) == (dtype_of(real), tuple(real.shape))
    assert (value.kind == "array") == isinstance(real, np.ndarray | np.generic)


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("x = np.zeros((4, 1))\nfor _ in range(3):\n    x = np.concatenate([x, x])", "Array float64 (?, 1)"),
        ("x = np.concatenate([np.zeros((4, 3)), eval('np.ones((2, 3))')], axis=0)", "Array ? (?, 3)"),
        ("x = tf.stack([tf.zeros((4, 3)), eval('tf.ones((4, 3))')], axis=1)", "Tensor ? (4, 2, 3)"),
        ("x = tf.concat([eval('tf.ones((4, 3))'), eval('tf.ones((4, 3))')], axis=1)", "Tensor ? (...)"),
        (
            "x = np.zeros((1, 9, 2))\nfor n in range(9):\n    x = np.concatenate([x, eval('np.ones((1, 1, 2))')], axis=1)",
            "Array ? (1, ?, 2)",
        ),
        ("x = tf.ones((4, 2))\nfor _ in range(3):\n    x = x * 2 + 1", "Tensor float32 (4, 2)"),
        ("a = b = tf.ones(3)\nfor _ in range(9):\n    a, b = b, a\nx = a", "Tensor float32 (3,)"),
        ("a = b = tf.ones(3)\nfor _ in range(9):\n    a, b = b, tf.concat([b, b], 0)\nx = a", "Tensor float32 (?,)"),
        ("a = tf.ones(8)\nwhile tf.size(a) > 1:\n    a = a[1:]\nx = a", "Tensor float32 (?,)"),
        ("a = np.ones(2, 'float32')\nfor _ in range(2):\n    a = a + np.arange(2.0)\nx = a", "Array ? (2,)"),
        (
            "parts = []\nfor n in range(3):\n    parts.append(tf.ones((n, 2)))\nx = tf.concat(parts, 0)",
            "Tensor ? (...)",
        ),
    ],
)
def test_a_value_that_a_loop_makes_of_itself(code: str, expected: str, tmp_path: Path) -> None:
    """Protects from the first turn's shape being taken for all; each program runs, and what is said holds at its end."""
    value, real = value_of(code, tmp_path), ran(code)
    assert text(value) == expected and isinstance(value, TensorValue)
    assert value.dtype in ("", dtype_of(real))
    assert value.shape is None or len(value.shape) == len(real.shape)
    for known, length in zip(value.shape or (), real.shape, strict=False):
        assert known in (None, length)


def test_an_array_is_indexed_by_numbers_or_by_arrays(tmp_path: Path) -> None:
    """Protects one-hot rows by `np.eye(3)[labels]`: they have as many rows as there are labels."""
    assert text(value_of("x = np.eye(3)[[0, 2]]", tmp_path)) == "Array float64 (...)"
    assert text(value_of("for i in range(3):\n    x = np.zeros((3, 4))[i]", tmp_path)) == "Array float64 (4,)"
    assert text(value_of("def f(labels):\n    x = np.eye(3)[labels]", tmp_path)) == "Array float64 (...)"
    assert text(value_of("x = np.array(['a', 'b'])", tmp_path)) == "Array ? (2,)"


def test_a_padded_batch_has_the_lengths_that_it_is_told(tmp_path: Path) -> None:
    """Protects rows of unknown lengths: they are filled up; each program runs, and its shapes are what is said."""
    rows = "tf.data.Dataset.from_tensors('a b').map(lambda t: (tf.one_hot(tf.strings.length(t), 7), tf.cast(t, tf.string)))"
    for shapes, expected in {
        "([9], [])": "Dataset of (Tensor float32 (?, 9), Tensor string (?,)), 1 elements",
        "([None], ())": "Dataset of (Tensor float32 (?, ?), Tensor string (?,)), 1 elements",
        "padded_shapes=((-1,), [])": "Dataset of (Tensor float32 (?, ?), Tensor string (?,)), 1 elements",
    }.items():
        code = f"x = {rows}.padded_batch(2, {shapes})"
        assert text(value_of(code, tmp_path)) == expected
        assert [len(part.shape) for part in ran(code).element_spec] == [2, 1]
    code = "x = tf.data.Dataset.range(5).map(lambda n: tf.range(n)).padded_batch(2, [6], drop_remainder=True)"
    assert text(value_of(code, tmp_path)) == "Dataset of Tensor int64 (2, 6), 2 elements"
    assert ran(code).element_spec.shape == (2, 6)


def test_two_ways_have_in_common_what_both_say(tmp_path: Path) -> None:
    code = "import sys\na = tf.ones((2, 3)) if sys.argv else tf.zeros((4, 3))\nx = a"
    assert text(value_of(code, tmp_path)) == "Tensor float32 (?, 3)"
    code = "import sys\na = tf.ones((2, 3)) if sys.argv else tf.zeros(3, tf.int32)\nx = a"
    assert text(value_of(code, tmp_path)) == "Tensor ? (...)"


LAYERS = "tf.keras.Sequential([tf.keras.Input((4,)), tf.keras.layers.Dense(3){last}])"
POLICIES = {
    "mixed_float16": "tf.keras.mixed_precision.set_global_policy('mixed_float16')\n{model}",
    "a policy object": (
        "half = tf.keras.mixed_precision.Policy('mixed_bfloat16')\n"
        "tf.keras.mixed_precision.set_global_policy(half)\n{model}"
    ),
    "float64": "tf.keras.backend.set_floatx('float64')\n{model}",
    "set back": (
        "tf.keras.mixed_precision.set_global_policy('mixed_float16')\n"
        "tf.keras.mixed_precision.set_global_policy('float32')\n{model}"
    ),
    "set behind": "{model}\ntf.keras.mixed_precision.set_global_policy('mixed_float16')",
    "set if asked": "if len('ab') > 2:\n    tf.keras.mixed_precision.set_global_policy('mixed_float16')\n{model}",
    "in a function": (
        "tf.keras.mixed_precision.set_global_policy('mixed_float16')\n"
        "def build():\n    {model}\n    return net\nnet = build()"
    ),
}
KNOWN = {"mixed_float16": "float16", "a policy object": "bfloat16", "in a function": "float16"}


@pytest.mark.parametrize("way", POLICIES)
@pytest.mark.parametrize("last", ["", ", tf.keras.layers.Softmax(dtype='float32')", ", tf.keras.layers.Softmax()"])
def test_a_layer_computes_in_what_the_policy_says(way: str, last: str, tmp_path: Path) -> None:
    """Protects from float32 being claimed of a model under mixed precision; the program says what it is."""
    code = POLICIES[way].format(model="net = " + LAYERS.format(last=last)) + "\nx = net(tf.ones((2, 4)))"
    value = value_of(code, tmp_path)
    try:
        real = ran(code)
    finally:
        tf.keras.backend.set_floatx("float32")
        tf.keras.mixed_precision.set_global_policy("float32")
    assert isinstance(value, TensorValue) and value.shape == (2, 3)
    assert value.dtype in ("", dtype_of(real))
    assert value.dtype == ("float32" if "float32" in last else KNOWN.get(way, ""))


PIPELINE = """
    (pictures, digits), _ = tf.keras.datasets.mnist.load_data()

    def prepare(picture, digit):
        return tf.cast(picture, tf.float32)[..., None] / 255, tf.one_hot(digit, 10)

    class Small(tf.keras.Model):
        def __init__(self):
            super().__init__()
            self.flat = tf.keras.layers.Flatten()
            self.last = tf.keras.layers.Dense(10)

        def call(self, inputs):
            return self.last(self.flat(inputs))

    rows = tf.data.Dataset.from_tensor_slices((pictures, digits)).shuffle(100).map(prepare)
    batches = rows.batch(32)
    small = Small()
    for batch, wanted in batches:
        result = small(batch)
    first = tf.keras.Input((784,))
    graph = tf.keras.Model(first, tf.keras.layers.Dense(10)(tf.keras.layers.Dense(128)(first)))
"""


def test_what_is_shown_of_names(tmp_path: Path) -> None:
    """Protects hovers: parameters by what datasets and calls give them, elements of datasets, models by their layers."""
    model = model_of(HEAD + textwrap.dedent(PIPELINE), tmp_path)
    shown = {(one.name, one.text) for one in types_in(model)}
    batch = "Tensor float32 (32, 28, 28, 1)"
    assert {
        ("pictures", "Array uint8 (60000, 28, 28)"),
        ("picture", "Tensor uint8 (28, 28)"),
        ("digit", "Tensor uint8 ()"),
        ("batches", f"Dataset of ({batch}, Tensor float32 (32, 10)), 1,875 elements"),
        ("batch", batch),
        ("inputs", batch),
        ("result", "Tensor float32 (32, 10)"),
        ("self.last", "Dense"),
        ("small", "Small"),
        ("graph", "Model (?, 784) -> (?, 10), 101,770 weights"),
    } <= shown
    graph = tf.keras.Sequential([tf.keras.Input((784,)), tf.keras.layers.Dense(128), tf.keras.layers.Dense(10)])
    assert graph.count_params() == 101_770


@pytest.mark.parametrize("seed", range(4))
def test_random_programs_give_what_is_known_of_them(seed: int) -> None:
    """Protects from a claim that no list of expressions has; `benchmarks/values_fuzz.py` tries more of them."""
    counts: Counter[str] = Counter()
    choose = random.Random(seed)
    assert [line for _ in range(3) for line in differences(choose, counts)] == []
    assert counts["known"] > 0.8 * counts["statements"]


@pytest.mark.parametrize(
    "code",
    [
        "'{} of {}'.format(1, 2).upper()",
        "', '.join(['a', 'b'])[1:]",
        "'a b'.split()[0]",
        "'%s rows' % np.arange(3)",
        "[line.strip() for line in 'first second'.split()][1]",
        "os.path.join('data', 'train') + '.csv'",
        "b'a'.upper()",
        "len('ab')",
        "[1, 2].copy()",
    ],
)
def test_texts_are_known_as_such(code: str, tmp_path: Path) -> None:
    """Protects what is said of a `str`: the same expression gives one, and others do not."""
    assert (value_of(f"import os\nx = {code}", tmp_path) == TEXT) is isinstance(ran(f"import os\nx = {code}"), str)
