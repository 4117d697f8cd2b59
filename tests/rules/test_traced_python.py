"""What Python does with tensors in a step, and with its results, decides whether TFG202 puts it under `tf.function`."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest
from checks import findings, fixed
from fixed_programs import assert_same, results

from tflint_gpu.targets import Target

HEAD = """\
import math
import numpy as np
import tensorflow as tf
from tensorflow import keras

tf.keras.utils.set_random_seed(3)
draws = np.random.default_rng(0)
points = draws.normal(size=(12, 4)).astype("float32")
heights = draws.normal(size=(12, 1)).astype("float32")
net = keras.Sequential([keras.Input((4,)), keras.layers.Dense(3, activation="tanh"), keras.layers.Dense(1)])
coder = keras.Sequential([keras.Input((4,)), keras.layers.Dense(4)])
descent = keras.optimizers.SGD(0.05)
distance = keras.losses.MeanSquaredError()
pairs = tf.data.Dataset.from_tensor_slices((points, heights)).batch(6)
p, h = tf.constant(points), tf.constant(heights)
history = []
"""
END = "result = [np.array(history, dtype='float64'), *net.get_weights()]\n"


def step(loss: str, *, takes: str = "p, h", after: str = "", gives: str = "error") -> str:
    """A step of training with a loss, what comes after the update, and a result."""
    *before, last = loss.splitlines()
    inside = "".join(f"        {line}\n" for line in (*before, f"error = {last}"))
    later = "".join(f"    {line}\n" for line in after.splitlines())
    return (
        f"\ndef fit_one({takes}):\n    with tf.GradientTape() as tape:\n{inside}"
        "    slopes = tape.gradient(error, net.trainable_variables)\n"
        f"    descent.apply_gradients(zip(slopes, net.trainable_variables))\n{later}    return {gives}\n"
    )


def over(use: str = "history.append(float(out))", call: str = "fit_one(p, h)") -> str:
    """A loop over the dataset, in epochs."""
    uses = "".join(f"        {line}\n" for line in use.splitlines())
    return f"for epoch in range(12):\n    for p, h in pairs:\n        out = {call}\n{uses}" + END


def again(call: str, before: str = "") -> str:
    """A loop that does not take its values from a dataset."""
    return f"{before}for turn in range(150):\n    out = {call}\n    history.append(float(out))\n" + END


def _of_few_steps(code: str) -> str:
    """The same program, to compare what it computes; rules find loops of many steps."""
    return code.replace("in range(12):", "in range(3):").replace("in range(150):", "in range(9):")


LEFT_TO_PYTHON = {
    "branches with a float and an int": (
        "error = distance(h, net(p))\nerror * tf.cast(tf.cond(error > 0.5, lambda: 0.5, lambda: 1), tf.float32)",
        "the functions that `tf.cond` gets in the code return values of several kinds, which raises",
    ),
    "branches of several dtypes": (
        "error = distance(h, net(p))\nhalf, full = lambda: tf.constant(0.5, tf.float64), lambda: tf.constant(1.0)\n"
        "error * tf.cast(tf.switch_case(tf.cast(error, tf.int32), [half, full]), tf.float32)",
        "the functions that `tf.switch_case` gets in the code return values of several kinds",
    ),
    "a branch that gives nothing": (
        "error = distance(h, net(p))\ntf.case([(error > 9.0, lambda: None)], default=lambda: error)",
        "the functions that `tf.case` gets in the code return values of several kinds",
    ),
    "a text with a format": (
        "away = tf.reduce_mean(tf.abs(net(p) - h))\naway * len(f'{away:.3f}')",
        "the code formats `away`, a tensor, which raises",
    ),
    "a text of several": (
        "near, far = tf.reduce_min(net(p) - h), tf.reduce_max(net(p) - h)\n(far - near) * len('%s: %.2f' % (1, near))",
        "the code formats `near`, a tensor, which raises",
    ),
    "comprehension": (
        "guess = net(p)\ntf.reduce_mean([tf.reduce_sum(row**2) for row in guess])",
        "a comprehension in the code iterates over `guess`",
    ),
    "comprehension over an argument": (
        "tf.add_n([tf.reduce_sum(net(row[None])) for row in p])",
        "a comprehension in the code iterates over `p`",
    ),
    "dictionary": (
        "tf.add_n(list({k: r for k, r in enumerate(net(p) - h)}.values()))[0]",
        "`enumerate` in the code iterates over `net(p) - h`",
    ),
    "unpacked": (
        "(mean,) = tf.reduce_mean(tf.square(net(p) - h), axis=0)\nmean",
        "the code unpacks `tf.reduce_mean(tf.square(net(p) - h), axis=0)`",
    ),
    "shape unpacked": (
        "rows, columns = tf.shape(p)\ndistance(h, net(p)) / tf.cast(rows, tf.float32)",
        "the code unpacks `tf.shape(p)`",
    ),
    "rows unpacked": (
        "total = 0.0\nfor (value,) in net(p):\n    total += value**2\ntotal",
        "`for` in the code iterates over `net(p)`",
    ),
    "stars": ("tf.add_n([*tf.square(net(p) - h)])[0]", "`*` in the code iterates over `tf.square(net(p) - h)`"),
    "star of a call": ("tf.add_n(list(zip(*(net(p) - h)))[0])", "`*` in the code iterates over"),
    "enumerate": (
        "total = 0.0\nfor k, row in enumerate(net(p)):\n    total += tf.reduce_sum(row * row)\ntotal",
        "`enumerate` in the code iterates over `net(p)`",
    ),
    "zip": (
        "total = 0.0\nfor row, truth in zip(net(p), h):\n    total += tf.reduce_sum((row - truth) ** 2)\ntotal",
        "`zip` in the code iterates over `net(p)`",
    ),
    "sum": ("tf.reduce_sum(sum(tf.square(net(p) - h)))", "`sum` in the code iterates over"),
    "max": ("tf.reduce_sum(max(tf.reshape(tf.square(net(p) - h), [-1])))", "`max` in the code iterates over"),
    "max of two": ("max(distance(h, net(p)), 0.01)", "`max` in the code compares tensors"),
    "max of parts": ("max(tf.split(tf.reduce_sum(tf.square(net(p) - h), 0), 1))", "`max` in the code compares tensors"),
    "map": ("tf.add_n(list(map(tf.reduce_sum, tf.square(net(p) - h))))", "`map` in the code iterates over"),
    "reversed": ("tf.add_n(list(reversed(tf.square(net(p) - h))))[0]", "in the code iterates over `reversed("),
    "in": (
        "error = distance(h, net(p))\nerror * (2.0 if error in [1.0, 2.0] else 1.0)",
        "`in` in the code compares tensors",
    ),
    "index": ("distance(h, net(p)) * [1.0, 2.0, 3.0, 4.0][tf.argmax(p[0])]", "uses a tensor as an index"),
    "length of a mask": (
        "kept = tf.boolean_mask(net(p), h[:, 0] > 0)\ntf.reduce_sum(kept**2) / max(1, len(kept))",
        "`len(kept)` in the code is not a number during tracing",
    ),
    "shape of a mask": (
        "kept = tf.boolean_mask(net(p), h[:, 0] > 0)\ntf.reduce_sum(kept**2) / kept.shape[0]",
        "`kept.shape` in the code has None for the number of rows",
    ),
    "test of a mask": (
        "none = tf.boolean_mask(net(p), h[:, 0] > 9).shape[0] == 0\ndistance(h, net(p)) * (0.5 if none else 1.0)",
        "has None for the number of rows",
    ),
    "shape of where": ("distance(h, net(p)) / tf.where(h[:, 0] > 0).shape[0]", "has None for the number of rows"),
    "shape of unique": (
        "kinds, _ = tf.unique(tf.cast(h[:, 0] > 0, tf.int32))\ndistance(h, net(p)) / kinds.shape[0]",
        "`kinds.shape` in the code has None for the number of rows",
    ),
    "index by a mask": (
        "wrong = tf.square(net(p) - h)\nsmall = wrong[wrong < 2.0]\ntf.reduce_sum(small) / small.shape[0]",
        "`small.shape` in the code has None for the number of rows",
    ),
    "name": ("tf.sqrt(distance(h, net(p)), tf.float32)", "the second argument of `tf.sqrt` in the code is a name"),
    "NumPy of a tensor": ("tf.reduce_mean(net(p) * np.ones_like(h))", "`np.ones_like` in the code would run only"),
    "math of a tensor": ("distance(h, net(p)) * math.exp(h[0, 0])", "`math.exp` in the code would run only"),
}
HELPERS = {
    "comprehension": "def spread(rows):\n    return tf.add_n([tf.reduce_sum(row * row) for row in rows])\n",
    "unpacked": "def spread(rows):\n    first, *others = rows\n    return tf.reduce_sum(first * first)\n",
}


def assert_left_with_a_reason(code: str, reason: str, folder: Path) -> None:
    [finding] = [f for rule, f in findings(HEAD + code, folder) if rule.code == "TFG202"]
    assert finding.fix is None
    assert reason in finding.help, finding.help


@pytest.mark.parametrize(("loss", "reason"), LEFT_TO_PYTHON.values(), ids=LEFT_TO_PYTHON)
def test_what_autograph_does_not_convert_prevents_the_fix(loss: str, reason: str, tmp_path: Path) -> None:
    """Protects programs that run from steps that raise: AutoGraph leaves this to Python, which needs values."""
    assert_left_with_a_reason(step(loss) + over(), reason, tmp_path)


DRAWN = {
    "parts": ("for start in (0, 6):\n    fit_one(points[start : start + 6], heights[start : start + 6])", "p"),
    "a list of parts": (
        "parts = [(points[at : at + 4], heights[at : at + 4]) for at in range(0, 12, 4)]\nfor a, b in parts:\n    fit_one(a, b)",
        "p",
    ),
    "drawn in the loop": (
        "for turn in range(99):\n    fit_one(draws.uniform(size=(6, 4)).astype('float32'), heights[:6].reshape(6, 1))",
        "h",
    ),
}


@pytest.mark.parametrize(("loop", "given"), DRAWN.values(), ids=DRAWN)
def test_it_prevents_the_fix_of_what_gets_drawn_arrays(loop: str, given: str, tmp_path: Path) -> None:
    """Protects programs whose arrays a generator of NumPy draws: traced, they are tensors like all others."""
    loss = f"kept = [tf.reduce_sum(row) for row in {given}]\ndistance(h, net(p)) + 0.1 * tf.add_n(kept)"
    code = f"{step(loss)}\nfor epoch in range(40):\n{textwrap.indent(loop, '    ')}\n"
    assert_left_with_a_reason(code, f"a comprehension in the code iterates over `{given}`", tmp_path)


RAGGED = (
    "lots = [draws.normal(size=n).astype('float32') for n in (3, 5, 4, 2)]\n"
    "bags = tf.data.Dataset.from_tensor_slices(tf.ragged.stack(lots)).batch(2)\n"
    + step("weight = 0.0\nfor item in TAKEN:\n    weight += 1.0\nweight * tf.reduce_mean(net(points[:6]))", takes="bag")
    + "for epoch in range(20):\n    for rows in bags:\n        history.append(float(fit_one(MADE)))\n"
    + END
)
DENSE = {  # of ragged rows, and what takes it in the step
    "the padded rows": ("rows.to_tensor()", "enumerate(bag)"),
    "the lengths of rows": ("rows.row_lengths()", "zip(bag, range(2))"),
    "all values": ("rows.flat_values", "enumerate(bag, 1)"),
    "values of one level": ("rows.values", "enumerate(bag)"),
    "a product of the padded rows": ("rows.to_tensor() * 2.0", "list(bag)"),
    "the dense tensor of a sparse one": ("tf.sparse.to_dense(rows.to_sparse())", "enumerate(bag)"),
}


@pytest.mark.slow
@pytest.mark.parametrize(("made", "taken"), DENSE.values(), ids=DENSE)
def test_it_prevents_the_fix_of_what_gets_dense_tensors_of_ragged_ones(made: str, taken: str, tmp_path: Path) -> None:
    """Protects programs that pad their batches: what ragged and sparse tensors give is a tensor like all others."""
    code = RAGGED.replace("MADE", made).replace("TAKEN", taken)
    assert_left_with_a_reason(code, "in the code iterates over `bag`, a tensor", tmp_path)
    results(HEAD + code)
    with pytest.raises(Exception, match="Iterating over a symbolic"):
        results(HEAD + code.replace("def fit_one", "@tf.function\ndef fit_one"))


@pytest.mark.parametrize("helper", HELPERS.values(), ids=HELPERS)
def test_it_prevents_the_fix_in_helpers(helper: str, tmp_path: Path) -> None:
    code = helper + step("spread(net(p) - h)") + over()
    assert_left_with_a_reason(code, "`rows`, a tensor, which raises during tracing", tmp_path)


LAYERS = {
    "loop": (
        "total = tf.zeros([1])\n        for row in z:\n            total += row\n        return self.out(z) + total",
        True,
    ),
    "length": ("return self.out(tf.cast(z, tf.float32)) / len(tf.square(z))", True),
    "comprehension": ("return self.out(tf.stack([row * 2.0 for row in tf.square(z)]))", False),
}


@pytest.mark.parametrize(("body", "is_converted"), LAYERS.values(), ids=LAYERS)
@pytest.mark.parametrize("keras", [2, 3])
def test_keras_3_converts_nothing_in_a_model(body: str, is_converted: bool, keras: int, tmp_path: Path) -> None:
    """Protects models whose `call` uses `for` and `len` on tensors: with Keras 3 these raise in a `tf.function`."""
    model = (
        "class Scorer(keras.Model):\n    def __init__(self):\n        super().__init__()\n"
        f"        self.out = keras.layers.Dense(1)\n    def call(self, z):\n        z = tf.abs(z)\n        {body}\nnet = Scorer()\n"
    )
    head = HEAD.replace("net = keras.Sequential", "other = keras.Sequential")
    code = head + model + step("distance(h, net(p))") + over()
    target = Target(tensorflow=(2, 21) if keras == 3 else (2, 15), keras=keras, source="the test")
    [finding] = [f for rule, f in findings(code, tmp_path, target=target) if rule.code == "TFG202"]
    assert (finding.fix is not None) is (is_converted and keras == 2), finding.help


KEPT_RESULTS = {
    "length": ("error, len(slopes)", "error, n = out\nhistory.extend([float(error)] * n)"),
    "text": ('{"model": net.name, "error": error}', 'history.append(len("of " + out["model"]))'),
    "formatted": ('error, f"{net.name}!"', "history.append(len(out[1]))"),
    "nested": ('error, {"meta": [6, "six"]}', "import json\nhistory.append(len(json.dumps(out[1])))"),
    "key": ("error, 1", "history.append({0: 1.0, 1: 2.0}[out[1]])"),
    "truth": ("error, True", "history.append(1.0 if out[1] is True else 0.0)"),
    "array": ("error, np.zeros(3)", "out[1][0] = 4.0\nhistory.append(out[1][0])"),
    "function": ("lambda: error", "history.append(float(out()))"),
    "dtype": ("error, error.dtype", "history.append(out[1].size)"),
    "variables": ("net.trainable_variables", "out[0].assign(out[0] * 0.9)"),
}


@pytest.mark.slow
@pytest.mark.parametrize(("gives", "use"), KEPT_RESULTS.values(), ids=KEPT_RESULTS)
def test_results_that_are_no_tensors_stay_what_they_are(gives: str, use: str, tmp_path: Path) -> None:
    """Protects callers: a traced function gives a tensor for each number and text, and no other objects at all."""
    before = HEAD + step("distance(h, net(p))", gives=gives) + over(use)
    after = fixed(before, tmp_path, "TFG202")
    assert "@tf.function\ndef fit_one" not in after
    assert after != before, "only the update is traced"
    assert_same(_of_few_steps(before), _of_few_steps(after))


def test_results_are_followed_through_names(tmp_path: Path) -> None:
    told = 'told = {"count": 3, "error": error}'
    code = HEAD + step("distance(h, net(p))", after=told, gives="told") + over("history.extend([1.0] * out['count'])")
    assert "@tf.function\ndef fit_one" not in fixed(code, tmp_path, "TFG202")


UNUSED = {
    "nothing of it": "pass",
    "another part": "history.append(float(out[0]))",
    "unpacked": "error, _ = out\nhistory.append(float(error))",
}


@pytest.mark.parametrize("use", UNUSED.values(), ids=UNUSED)
def test_a_result_that_nobody_reads_prevents_nothing(use: str, tmp_path: Path) -> None:
    code = HEAD + step("distance(h, net(p))", gives="error, len(slopes)") + over(use)
    assert "@tf.function\ndef fit_one" in fixed(code, tmp_path, "TFG202")


def test_a_distribution_stays_one(tmp_path: Path) -> None:
    """Protects `.sample()` on the result of a model of TensorFlow Probability: a `tf.function` gives a tensor for it."""
    lines = (
        "import tensorflow as tf\nimport tensorflow_probability as tfp\nfrom tensorflow import keras\n"
        "rows = tf.data.Dataset.from_tensor_slices(tf.zeros((900, 4))).batch(3)\n"
        "net = keras.Sequential([keras.Input((4,)), keras.layers.Dense(1), LAYER])\n"
        "for batch in rows:\n    print(net(batch).sample())\n"
    )
    spread = "tfp.layers.DistributionLambda(lambda t: tfp.distributions.Normal(t, 1.0))"
    assert "tf.function" not in fixed(lines.replace("LAYER", spread), tmp_path, "TFG207")
    assert "tf.function" in fixed(lines.replace("LAYER", "tfp.layers.DenseFlipout(1)"), tmp_path, "TFG207")


NAMED = (
    "import tensorflow as tf\nfrom tensorflow import keras\n"
    "class Named(keras.Model):\n    def __init__(self):\n        super().__init__()\n"
    "        self.out = keras.layers.Dense(1)\n"
    '    def call(self, x):\n        return {"value": self.out(x), "kind": "linear"}\n'
    "rows = tf.data.Dataset.from_tensor_slices(tf.zeros((900, 4))).batch(3)\nnet = Named()\n"
    "for batch in rows:\n    found = net(batch)\n    print(found[ASKED])\n"
)


def test_a_text_that_a_model_gives_stays_one(tmp_path: Path) -> None:
    """Protects callers of a model whose `call` returns more than tensors."""
    assert "tf.function" not in fixed(NAMED.replace("ASKED", '"kind"'), tmp_path, "TFG207")
    assert "tf.function" in fixed(NAMED.replace("ASKED", '"value"'), tmp_path, "TFG207")


RIGHT = {
    "branches of floats": step("distance(h, net(p)) * tf.cond(tf.reduce_sum(p) > 0, lambda: 0.5, lambda: 1.0)")
    + over(),
    "branches of tensors": step("e = distance(h, net(p))\ntf.cond(e > 0.5, lambda: e * 0.5, lambda: e)") + over(),
    "NumPy of a static shape": step("distance(h, net(p)) / np.prod(p.shape)") + over(),
    "NumPy of constants": step("distance(h, net(p)) * np.sqrt(2.0) + 0.5 * np.log(2 * np.pi)") + over(),
    "NumPy of a constant of the module": "WIDTH = 3.0\n" + step("distance(h, net(p)) * np.sqrt(WIDTH)") + over(),
    "an array of constants": step("tf.reduce_mean(tf.square(net(p) - h) * np.full(1, 0.5))") + over(),
    "math": step("distance(h, net(p)) * math.sqrt(2) / math.prod(p.shape)") + over(),
    "numbers of a range": step("tf.add_n([distance(h, net(p * float(k))) for k in range(1, 3)])") + over(),
    "lists of tensors": step(
        "parts = [distance(h, net(p)), tf.reduce_mean(net(p) ** 2)]\n"
        "sum(parts) + tf.add_n([w * part for w, part in zip([0.3, 0.7], parts)])"
    )
    + over(),
    "what TensorFlow gives as lists": step(
        "left, right = tf.split(net(p), 2)\nmean, spread = tf.nn.moments(net(p), [0])\n"
        "tf.reduce_sum((left - right) ** 2) + mean[0] + tf.add_n([tf.reduce_sum(r) for r in tf.unstack(net(p))])"
    ).replace("    descent", "    slopes, _ = tf.clip_by_global_norm(slopes, 1.0)\n    descent")
    + over(),
    "a batch that is a pair": step("p, h = batch\ndistance(h, net(p))", takes="batch")
    + over().replace("for p, h in", "for pair in").replace("fit_one(p, h)", "fit_one(pair)"),
    "a loop over rows": step("total = tf.constant(0.0)\nfor row in net(p):\n    total += tf.reduce_sum(row**2)\ntotal")
    + over(),
    "static lengths": step("distance(h, net(p)) / max(1, p.shape[0] - 1) / len(p.shape) * len(h)") + over(),
    "a list": step("distance(pair[1], net(pair[0]))", takes="pair") + again("fit_one([p, h])"),
    "a dictionary": step('distance(given["h"][0], net(given["p"]))', takes="given")
    + again('fit_one({"p": p, "h": [h]})'),
    "a slice": step("distance(h, net(p))") + again("fit_one(p[:, :4], h[2:])").replace("p[:, :4]", "p[2:, :4]"),
    "a negative": step("distance(h, net(p))") + again("fit_one(-p, h)"),
    "a model's result": step("distance(h, net(p))") + again("fit_one(coder(p, training=False), h)"),
    "a part": step("distance(h, net(p))") + again("fit_one(left, h[:6])", "left, right = tf.split(p, 2)\n"),
    "a choice": step("distance(h, net(p))") + again("fit_one(p if turn % 2 else -p, h)"),
    "rows of an array": step("tf.reduce_mean(tf.square(net(p) - h))")
    + again("fit_one(points[turn % 2 : turn % 2 + 6], heights[:6])"),
    "a drawn array": step("distance(h, net(p))") + again("fit_one(draws.normal(size=(6, 4)), heights[:6])"),
}


@pytest.mark.slow
@pytest.mark.parametrize("code", RIGHT.values(), ids=RIGHT)
def test_what_is_right_when_it_is_traced_has_the_fix(code: str, tmp_path: Path) -> None:
    """Protects fixes from blockers that are none: the program computes the same with `@tf.function`."""
    before = HEAD + code
    after = fixed(before, tmp_path, "TFG202")
    assert "@tf.function\ndef fit_one" in after
    assert_same(_of_few_steps(before), _of_few_steps(after))


def test_a_number_in_a_list_that_changes_prevents_the_fix(tmp_path: Path) -> None:
    """Protects the gain: each list with a new Python number would be traced again."""
    code = step("given[2] * distance(given[1], net(given[0]))", takes="given")
    assert "@tf.function" in fixed(HEAD + code + again("fit_one([p, h, 2.0])"), tmp_path, "TFG202")
    for call in ("fit_one([p, h, float(turn)])", "fit_one(pack)"):
        loop = again(call).replace("    out", "    pack = [p, h, float(turn)]\n    out", 1)
        assert_left_with_a_reason(code + loop, "is a Python number that a loop changes", tmp_path)
