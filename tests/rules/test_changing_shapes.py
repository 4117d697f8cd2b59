"""Fixes that trace, where shapes change: with the installed TensorFlow they trace a few times, and compute the same."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from checks import findings, fixed, model_of

HEAD = """\
import numpy as np
import tensorflow as tf

tf.keras.utils.set_random_seed(7)
rng = np.random.default_rng(0)
"""
SEQUENCES = """\
reader = tf.keras.Sequential([tf.keras.Input((None, 4)), tf.keras.layers.LSTM(6), tf.keras.layers.Dense(1)])
"""
IMAGES = """\
picture = tf.keras.Input((None, None, 3))
features = tf.keras.layers.Conv2D(4, 3, padding="same", strides=2)(picture)
features = tf.keras.layers.BatchNormalization()(features)
features = tf.keras.layers.Conv2DTranspose(2, 3, padding="same", strides=2)(features)
features = tf.keras.layers.UpSampling2D()(features)
mapper = tf.keras.Model(picture, features)
"""
LEARN = """\
sgd = tf.keras.optimizers.SGD(0.05)
"""
STEP = """\
    with tf.GradientTape() as tape:
        error = tf.reduce_mean((reader({0}, training=True) - {1}) ** 2)
    slopes = tape.gradient(error, reader.trainable_variables)
    sgd.apply_gradients(zip(slopes, reader.trainable_variables))
"""
LENGTHS = """\
def lengths():
    for k in rng.permutation(14)[:12] + 2:
        yield rng.normal(size=(3, k, 4)).astype("float32"), rng.normal(size=(3, 1)).astype("float32")
"""
SHOWN = "result.append(float(tf.reduce_sum(weigh({}))))\n"
ROWS = {
    "a deque": "kept = collections.deque()\nfor k in range(40):\n    kept.append(grid[k])\n    "
    + SHOWN.format("np.stack(kept)"),
    "a list with a new beginning": "kept = []\nfor row in grid:\n    kept.insert(0, row)\n    "
    + SHOWN.format("np.array(kept)"),
    "a list that is added to": (
        "kept = [grid[1]]\nfor row in grid:\n    kept += [row]\n    " + SHOWN.format("tf.stack(kept)")
    ),
    "a list that is used up": (
        "kept = list(grid)\nwhile len(kept) > 20:\n    kept.pop()\n    " + SHOWN.format("tf.constant(kept)")
    ),
    "a list that a function is given": (
        "def show(given):\n    "
        + SHOWN.format("np.asarray(given)")
        + "kept = []\nfor row in grid:\n    kept.append(row)\n    show(kept)\n"
    ),
    "a list of what is large": (
        "for k in range(40):\n    " + SHOWN.format("np.array([row for row in grid if row[1] < 2 - k / 30])")
    ),
    "a filter": (
        "for k in range(40):\n    " + SHOWN.format("np.array(list(filter(lambda row: row[3] < 2 - k / 30, grid)))")
    ),
    "parts of an array": "for part in np.split(grid, np.cumsum(range(1, 10))):\n    " + SHOWN.format("part"),
    "where something holds": (
        "for k in range(40):\n    [places] = np.where(grid[:, 2] < 2 - k / 30)\n    " + SHOWN.format("grid[places]")
    ),
    "parts": "for part in tf.split(grid, [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 5]):\n    " + SHOWN.format("part"),
    "a ragged tensor": (
        "for part in tf.RaggedTensor.from_row_lengths(grid, [4, 7, 2, 9, 1, 8, 6, 3, 5, 10, 5]):\n    "
        + SHOWN.format("part")
    ),
}
# A rule, the name of what its fix puts under `tf.function`, and a program that leaves `result`.
KEYS = """\
class Attention(tf.keras.layers.Layer):
    def __init__(self):
        super().__init__()
        self.key = tf.keras.layers.Dense(4)

    def call(self, x, earlier=None):
        keys = self.key(x)
        if earlier is not None:
            keys = tf.concat([earlier, keys], 1)
        return tf.matmul(tf.nn.softmax(tf.matmul(x, keys, transpose_b=True)), keys), keys


class Speller(tf.keras.Model):
    def __init__(self):
        super().__init__()
        self.embedding, self.attention = tf.keras.layers.Embedding(9, 4), Attention()
        self.scores = tf.keras.layers.Dense(9)

    def call(self, letters, keys=None):
        x, keys = self.attention(self.embedding(letters), keys)
        return self.scores(x), keys


"""
CHANGING = {
    "a step that is given batches of a generator": (
        "TFG202",
        "fit_one",
        SEQUENCES + LEARN + LENGTHS + "def fit_one(part, aim):\n" + STEP.format("part", "aim") + "    return error\n"
        "result = [float(fit_one(tf.constant(part), tf.constant(aim))) for part, aim in lengths()]\n"
        "result.append(reader.get_weights()[-1])\n",
    ),
    "a step among the statements of a loop": (
        "TFG202",
        "train_step",
        SEQUENCES + LEARN + "spec = (tf.TensorSpec((3, None, 4)), tf.TensorSpec((3, 1)))\n" + LENGTHS
        + "data = tf.data.Dataset.from_generator(lengths, output_signature=spec)\nfor part, aim in data:\n"
        + STEP.format("part", "aim") + "result = reader.get_weights()\n",
    ),
    "validation on a padded_batch": (
        "TFG207",
        "traced_reader",
        SEQUENCES + "rows = [rng.normal(size=(k, 4)).astype('float32') for k in rng.integers(2, 20, 36)]\n"
        "data = tf.data.Dataset.from_generator(lambda: iter(rows), output_signature=tf.TensorSpec((None, 4)))\n"
        "result = []\nfor part in data.padded_batch(3).repeat(2):\n    result.append(float(tf.reduce_sum(reader(part, training=False))))\n",
    ),
    "ragged batches that are padded": (
        "TFG207",
        "traced_reader",
        SEQUENCES + "words = tf.RaggedTensor.from_row_lengths(tf.random.normal((57, 4)), [10, 2, 13, 8, 5, 7, 3, 9])\n"
        "data = tf.data.Dataset.from_tensor_slices(words).ragged_batch(1).map(lambda row: row.to_tensor()).repeat(2)\n"
        "result = []\nfor part in data:\n    result.append(float(tf.reduce_sum(reader(part, training=False))))\n",
    ),
    "images of their own sizes": (
        "TFG207",
        "traced_mapper",
        IMAGES + "def photos():\n    for k in range(30):\n"
        "        yield rng.normal(size=(1, 2 * rng.integers(4, 20), 2 * rng.integers(4, 20), 3)).astype('float32')\n"
        "result = []\nfor photo in photos():\n    result.append(float(tf.reduce_sum(mapper(photo, training=False))))\n",
    ),
    "images of sizes that are drawn": (
        "TFG214",
        "traced_mapper",
        IMAGES + "def photo():\n    tall, wide = rng.integers(8, 30, 2)\n"
        "    return rng.random((1, tall, wide, 3)).astype('float32')\n"
        "result = []\nfor _ in range(40):\n    picture = photo()\n"
        "    result.append(float(tf.reduce_sum(mapper(picture, training=False))))\n",
    ),
    **{
        f"a list that grows, as {what}": (
            "TFG214",
            "traced_speller",
            "speller = tf.keras.Sequential([tf.keras.layers.Embedding(9, 3), tf.keras.layers.Dense(9)])\n"
            "letters = [4, 2]\nfor _ in range(40):\n"
            f"    scores = speller({given})\n    letters.append(int(tf.argmax(scores[0, -1])))\nresult = letters\n",
        )
        for what, given in {
            "the row of an array": "np.asarray([letters])",
            "the row of a tensor": "tf.convert_to_tensor([letters])",
            "what gets one more axis": "tf.expand_dims(letters, axis=0)",
        }.items()
    },
    **{
        f"rows of {what}": (
            "TFG207" if "part" in program else "TFG214",
            "traced_weigh",
            "import collections\nweigh = tf.keras.Sequential([tf.keras.layers.Dense(3), tf.keras.layers.Dense(1)])\n"
            "grid = rng.normal(size=(60, 4)).astype('float32')\nweigh(grid)\nresult = []\n" + program,
        )
        for what, program in ROWS.items()
    },
    "keys that a model gives and gets again": (
        "TFG214",
        "traced_speller",
        KEYS + "speller, letters, keys, result = Speller(), tf.constant([[1]]), None, []\nfor _ in range(40):\n"
        "    scores, keys = speller(letters, keys)\n    letters = tf.argmax(scores[:, -1:], -1)\n    result.append(letters)\n",
    ),
    "tokens that grow": (
        "TFG214",
        "traced_reader",
        SEQUENCES + "seen = tf.random.normal((1, 1, 4))\nfor _ in range(40):\n    last = reader(seen, training=False)\n"
        "    print(float(last[0, 0]))\n    seen = tf.concat([seen, tf.tile(last[:, None], (1, 1, 4))], 1)\nresult = [seen]\n",
    ),
}  # fmt: skip
STAYING = {
    "a last batch that is smaller": (
        "TFG207",
        "traced_reader",
        SEQUENCES + "rows = rng.normal(size=(100, 5, 4)).astype('float32')\n"
        "result = []\nfor part in tf.data.Dataset.from_tensor_slices(rows).batch(3):\n"
        "    result.append(float(tf.reduce_sum(reader(part, training=False))))\n",
    ),
    "slices of a length": (
        "TFG202",
        "fit_one",
        SEQUENCES + LEARN + "rows = tf.random.normal((100, 5, 4))\ndef fit_one(part, aim):\n" + STEP.format("part", "aim")
        + "for i in range(0, 100, 3):\n    fit_one(rows[i : i + 3], tf.zeros((3, 1)))\nresult = reader.get_weights()\n",
    ),
}  # fmt: skip


def _run(code: str) -> dict[str, Any]:
    tf = pytest.importorskip("tensorflow")
    scope: dict[str, Any] = {"__name__": "__main__"}
    tf.keras.backend.clear_session()
    exec(compile(code, "program.py", "exec"), scope)
    return scope


def _fixed_alike(rule: str, name: str, program: str, folder: Path) -> tuple[str, int]:
    """The text after a rule's fixes, and how often TensorFlow then traces a function; the results are compared."""
    np = pytest.importorskip("numpy")
    code = fixed(HEAD + program, folder, rule)
    before, after = _run(HEAD + program), _run(code)
    for old, new in zip(before["result"], after["result"], strict=True):
        np.testing.assert_allclose(np.asarray(new), np.asarray(old), rtol=1e-4, atol=1e-5)
    return code, after[name].experimental_get_tracing_count()


@pytest.mark.slow
@pytest.mark.parametrize(("rule", "name", "program"), CHANGING.values(), ids=CHANGING)
def test_many_shapes_need_few_traces(rule: str, name: str, program: str, tmp_path: Path) -> None:
    code, traces = _fixed_alike(rule, name, program, tmp_path)
    assert f"@tf.function(reduce_retracing=True)\ndef {name}(" in code
    assert traces <= 4


@pytest.mark.slow
@pytest.mark.parametrize(("rule", "name", "program"), STAYING.values(), ids=STAYING)
def test_two_shapes_are_traced_plainly(rule: str, name: str, program: str, tmp_path: Path) -> None:
    code, traces = _fixed_alike(rule, name, program, tmp_path)
    assert f"@tf.function\ndef {name}(" in code
    assert traces == 2


OF_ONE_LENGTH = {
    "a window": "kept = [row for row in grid[:8]]\nfor row in grid:\n    kept.append(row)\n    kept.pop(0)\n    ",
    "a short deque": "kept = collections.deque(maxlen=4)\nfor row in grid:\n    kept.append(row)\n    ",
    "a list of each iteration": "for row in grid:\n    kept = []\n    kept.append(row)\n    ",
    "what is left out each time": "for _ in range(40):\n    kept = [row for row in grid if row[0] > 0]\n    ",
}


@pytest.mark.parametrize("program", OF_ONE_LENGTH.values(), ids=OF_ONE_LENGTH)
def test_what_keeps_its_length_is_traced_plainly(program: str, tmp_path: Path) -> None:
    head = (
        HEAD + "import collections\nweigh = tf.keras.Sequential([tf.keras.layers.Dense(1)])\ngrid = np.ones((60, 4))\n"
    )
    code = head + "result = []\n" + program + SHOWN.format("np.array(kept)")
    assert "@tf.function\ndef traced_weigh" in fixed(code, tmp_path, "TFG214")


OF_A_LAYER = (
    "class Net(tf.keras.Model):\n    def __init__(self):\n        super().__init__()\n        self.last = tf.keras.layers.Dense(2)\n"
    "    def call(self, x):\n        return self.last({})\n"
)
NEEDING = {
    "lengths of Python's": OF_A_LAYER.format("tf.reshape(x, (x.shape[0], -1))"),
    "the length in a loop": (
        "class Net(tf.keras.Model):\n    def call(self, x):\n        return sum(x[:, t] for t in range(x.shape[1]))\n"
    ),
    "unstack": OF_A_LAYER.format("tf.add_n(tf.unstack(x, axis=1))"),
    "in a helper": (
        "def flat(t):\n    return tf.reshape(t, [t.get_shape()[0] * t.get_shape()[1], 4])\n"
        "class Net(tf.keras.Model):\n    def call(self, x):\n        return flat(x)\n"
    ),
}


@pytest.mark.parametrize("net", NEEDING.values(), ids=NEEDING)
def test_no_fix_where_one_trace_cannot_serve_all_shapes(net: str, tmp_path: Path) -> None:
    """Protects code that needs a length while it is traced: a trace for each length, or None for it, is no help."""
    loop = "net = Net()\nfor part, _ in lengths():\n    print(net(part, training=False))\n"
    ((_, finding),) = [one for one in findings(HEAD + net + LENGTHS + loop, tmp_path) if one[0].code == "TFG207"]
    assert finding.fix is None
    one_shape = "net = Net()\nfor part in tf.data.Dataset.from_tensor_slices(load()).batch(3):\n    print(net(part, training=False))\n"
    ((_, finding),) = [one for one in findings(HEAD + net + one_shape, tmp_path) if one[0].code == "TFG207"]
    assert finding.fix is not None


HANDED_ON = """
from stored import shelf


def photos():
    for k in tf.data.Dataset.range(30):
        yield shelf[int(k)]


def mapped(photo):
    pixels = photo.pixels
    return mapper(pixels, training=False)


for photo in photos():
    print(mapped(photo).numpy())
"""


def test_what_a_function_hands_on_may_have_any_shape(tmp_path: Path) -> None:
    """Protects from a trace for each batch of a generator whose loop hands its batches to a function."""
    ((_, finding),) = [pair for pair in findings(HEAD + IMAGES + HANDED_ON, tmp_path) if pair[0].code == "TFG207"]
    assert finding.fix is not None
    assert any("reduce_retracing=True" in edit.text for edit in finding.fix.edits)


NETS = """\
import tensorflow as tf


class Reader(tf.keras.Model):
    def __init__(self):
        super().__init__()
        self.last = tf.keras.layers.Dense(1)

    def call(self, words):
        BODY
        return self.last(parts[0])
"""
READ = """\
import tensorflow as tf
from nets import Reader

lines = tf.data.TextLineDataset("lines.txt").map(lambda line: tf.strings.bytes_split(line)).map(tf.strings.to_number)
reader = Reader()
for words in lines.padded_batch(4):
    print(reader(words))
"""


@pytest.mark.parametrize(
    ("body", "has_fix"),
    [("parts = tf.unstack(words, axis=1)", False), ("parts = [tf.expand_dims(words, -1)]", True)],
    ids=["unstacked", "as it is"],
)
def test_what_a_model_of_another_file_needs_counts(body: str, has_fix: bool, tmp_path: Path) -> None:
    """Protects from a trace for all lengths of a model whose code, in another file, cannot have one."""
    (tmp_path / "nets.py").write_text(NETS.replace("BODY", body))
    (found,) = [finding for rule, finding in findings(READ, tmp_path) if rule.code == "TFG207"]
    assert (found.fix is not None) == has_fix


def test_the_help_of_a_step_says_what_needs_one_shape(tmp_path: Path) -> None:
    step = STEP.format("part", "tf.reshape(aim, (part.shape[0], 1))")
    code = HEAD + SEQUENCES + LEARN + LENGTHS + "def fit_one(part, aim):\n" + step
    code += "for part, aim in lengths():\n    fit_one(part, aim)\n"
    ((_, finding),) = [one for one in findings(code, tmp_path) if one[0].code == "TFG202"]
    assert finding.fix is None
    assert "the shape of what it is given changes, but `part.shape`" in (finding.help or "")


def test_verify_measures_what_serves_all_shapes(tmp_path: Path) -> None:
    """Protects figures: with a plain `tf.function` each length would be traced while it is measured."""
    model = "class Net(tf.keras.Model):\n    def call(self, x):\n        print(x)\n        return tf.reduce_sum(x, 1)\n"
    loop = "net = Net()\nfor part, _ in lengths():\n    print(net(part, training=False))\n"
    for lengths, relaxed in ((LENGTHS, True), (LENGTHS.replace("(3, k, 4)", "(3, 9, 4)"), False)):
        code = HEAD + model + lengths + loop
        ((rule, finding),) = [one for one in findings(code, tmp_path) if one[0].code == "TFG207"]
        assert finding.fix is None
        (experiment,) = rule.experiments(finding, model_of(code, tmp_path))
        assert any("reduce_retracing=True" in change.text for change in experiment.repair) is relaxed
