"""Fixes as users apply them: exact to the byte elsewhere, stable, and safe where they say so."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest
from checks import findings, fixed
from warm import Warm, as_text

_ELEMENT_WISE = ["sin", "cos", "tanh", "exp", "sqrt", "abs", "square", "log1p", "sign", "floor"]
_LAYER = """
import numpy as np
import tensorflow as tf


class Act(tf.keras.layers.Layer):
    def call(self, x):
        return np.{name}(x) * 2.0
"""
_MESSY = (
    "# -*- coding: utf-8 -*-\r\n"
    "import numpy as np\r\n"
    "import tensorflow as tf # ünïcode \r\n"
    "\r\n"
    "class Act( tf.keras.layers.Layer ) :\r\n"
    "\tdef call(self , x):\r\n"
    "\t\ty = np . sin( x )   # keep   this\r\n"
    "\t\treturn ( np.maximum(y,\r\n"
    "\t\t\t0.5) )\r\n"
    "ds = tf.data.Dataset.range( 9 ) ; ds.batch( 2 )\r\n"
    "gpus = tf.config.list_physical_devices( 'GPU' )\r\n"
    "if gpus : tf.config.experimental.set_memory_growth( gpus [ 0 ] , True )"
)
_MENDED = (
    _MESSY.replace("np . sin( x )", "tf.sin( x )")
    .replace("np.maximum(y,", "tf.maximum(y,")
    .replace("; ds.batch( 2 )", "; ds = ds.batch( 2 )")
)


def _run(commands: Warm, folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return as_text(commands.run("tflint_gpu", "check", "--isolated", "--no-cache", *arguments, cwd=folder))


def test_only_the_tokens_of_the_fix_change(tmp_path: Path, commands: Warm) -> None:
    """Protects line endings, tabs, odd spacing, comments and a missing last newline."""
    path = tmp_path / "model.py"
    path.write_bytes(_MESSY.encode())
    _run(commands, tmp_path, "--fix", "--unsafe-fixes", "--select", "TFG101,TFG308", "model.py")
    assert path.read_bytes().decode() == _MENDED


@pytest.mark.parametrize("every", [pytest.param(1, marks=pytest.mark.slow), 12])
def test_fixed_programs_parse_have_fewer_findings_and_stay(every: int, tmp_path: Path, commands: Warm) -> None:
    """Protects every fix on every fixture: the result is Python, has fewer findings, and fixing it changes nothing more."""
    fixtures = Path(__file__).parents[2] / "fixtures"
    for index, program in enumerate(sorted(fixtures.rglob("*.py"))[::every]):
        (tmp_path / f"p{index}_{program.name}").write_bytes(program.read_bytes())
    before = _run(commands, tmp_path, "--output-format", "concise", ".").stdout.count(": TFG")
    _run(commands, tmp_path, "--fix", "--unsafe-fixes", ".")
    once = {path.name: path.read_bytes() for path in tmp_path.glob("*.py")}
    for name, data in once.items():
        compile(data, name, "exec")
    left = _run(commands, tmp_path, "--fix", "--unsafe-fixes", "--output-format", "concise", ".").stdout.count(": TFG")
    assert {path.name: path.read_bytes() for path in tmp_path.glob("*.py")} == once
    assert left < before


def _layer(text: str) -> Any:
    scope: dict[str, Any] = {}
    exec(compile(text, "layer.py", "exec"), scope)
    return scope["Act"]()


OF_INTEGERS = {
    "a root of unknown numbers": ("np.sqrt(x)", "unsafe"),
    "a root of floats": ("np.sqrt(tf.cast(x, tf.float32))", "safe"),
    "a maximum with a float": ("np.maximum(x, 0.5)", "unsafe"),
    "a maximum with an integer": ("np.maximum(x, 1)", "safe"),
    "a square": ("np.square(x)", "safe"),
}


@pytest.mark.parametrize("given", ["np.mean(x > 1)", "np.sum(tf.cast(x, tf.bool))", "np.mean(tf.cast(x, tf.int32))"])
def test_integers_and_truth_values_have_no_such_counterpart(given: str, tmp_path: Path) -> None:
    """Protects counts and means: `tf.reduce_mean` of integers is an integer, `tf.reduce_sum` of a bool raises."""
    code = _LAYER.format(name="negative").replace("np.negative(x) * 2.0", given)
    ((_, finding),) = [pair for pair in findings(code, tmp_path) if pair[0].code == "TFG101"]
    assert finding.fix is None
    floats = code.replace(given, "np.mean(tf.cast(x, tf.float32))")
    ((_, finding),) = [pair for pair in findings(floats, tmp_path) if pair[0].code == "TFG101"]
    assert finding.fix is not None


@pytest.mark.parametrize(("given", "applicability"), OF_INTEGERS.values(), ids=OF_INTEGERS)
def test_a_fix_that_integers_would_not_survive_is_unsafe(given: str, applicability: str, tmp_path: Path) -> None:
    """Protects layers that Keras calls eagerly with integers: NumPy makes floats of them, and `tf.sqrt` raises."""
    tf, np = pytest.importorskip("tensorflow"), pytest.importorskip("numpy")
    before = _LAYER.format(name="negative").replace("np.negative(x) * 2.0", given)
    ((_, finding),) = [pair for pair in findings(before, tmp_path) if pair[0].code == "TFG101"]
    assert finding.fix is not None
    assert finding.fix.applicability == applicability
    after, rows = fixed(before, tmp_path, "TFG101"), tf.constant([[1, 4]])
    if applicability == "safe":
        np.testing.assert_allclose(np.asarray(_layer(after)(rows)), np.asarray(_layer(before)(rows)), rtol=1e-6)
    else:
        with pytest.raises((TypeError, tf.errors.InvalidArgumentError)):
            _layer(after)(rows)


@pytest.mark.parametrize("name", _ELEMENT_WISE)
def test_fix_of_floats_gives_the_same_results_and_a_gradient(name: str, tmp_path: Path, commands: Warm) -> None:
    """TFG101's fix, of floating point numbers: eager results before and after, and the gradient that NumPy cut off."""
    tf = pytest.importorskip("tensorflow")
    np = pytest.importorskip("numpy")
    before = _LAYER.format(name=name)
    path = tmp_path / "layer.py"
    path.write_text(before)
    assert _run(commands, tmp_path, "--fix", "--unsafe-fixes", "layer.py").returncode == 0
    inputs = tf.constant(np.random.default_rng(0).uniform(0.1, 3.0, (64, 5)).astype("float32"))
    old, new = _layer(before), _layer(path.read_text())
    np.testing.assert_allclose(np.asarray(old(inputs)), np.asarray(new(inputs)), rtol=1e-6)
    assert old(inputs).dtype == new(inputs).dtype
    with tf.GradientTape() as tape:
        tape.watch(inputs)
        outputs = new(inputs)
    step = 1e-2
    slope = (np.asarray(old(inputs + step)) - np.asarray(old(inputs - step))) / (2 * step)
    if name not in ("sign", "floor"):
        np.testing.assert_allclose(np.asarray(tape.gradient(outputs, inputs)), slope, rtol=0.05, atol=0.05)
    traced = tf.function(new)
    np.testing.assert_allclose(np.asarray(traced(inputs)), np.asarray(old(inputs)), rtol=1e-5)
    with pytest.raises(NotImplementedError):
        tf.function(old)(inputs)


@pytest.mark.parametrize(
    "code",
    [
        "gpus = tf.config.list_physical_devices('GPU')\ntf.config.experimental.set_memory_growth(gpus[0], True)\n",
        "gpus = tf.config.list_physical_devices('GPU')\ntf.config.set_visible_devices(gpus[0], 'GPU')\n",
        "tf.config.experimental.set_memory_growth(tf.config.list_physical_devices('GPU')[0], True)\n",
    ],
)
def test_gpu_setup_runs_without_a_gpu_after_the_fix(code: str, tmp_path: Path, commands: Warm) -> None:
    """The safety of TFG403's and TFG506's fixes: what raised IndexError without a GPU does nothing there."""
    pytest.importorskip("tensorflow")
    path = tmp_path / "setup.py"
    path.write_text("import tensorflow as tf\n" + code)
    with pytest.raises(IndexError):
        exec(path.read_text(), {})
    assert _run(commands, tmp_path, "--fix", "setup.py").returncode == 0
    exec(path.read_text(), {})


def test_unsafe_fixes_wait_for_the_user(tmp_path: Path, commands: Warm) -> None:
    """Protects programs from a change of policy that nobody asked for."""
    path = tmp_path / "train.py"
    text = "import tensorflow as tf\n\nmodel = tf.keras.Sequential()\nmodel.fit(x)\n"
    path.write_text(text)
    result = _run(commands, tmp_path, "--fix", "train.py")
    assert path.read_text() == text
    assert "--unsafe-fixes" in result.stdout
    _run(commands, tmp_path, "--fix", "--unsafe-fixes", "train.py")
    assert "set_memory_growth" in path.read_text()


def test_helper_that_others_may_call_is_not_mended_safely(tmp_path: Path, commands: Warm) -> None:
    """Protects callers of a shared helper that pass NumPy arrays and expect one back."""
    path = tmp_path / "layer.py"
    text = (
        "import numpy as np\nimport tensorflow as tf\n\n\ndef act(v):\n    return np.tanh(v)\n\n\n"
        "class Act(tf.keras.layers.Layer):\n    def call(self, x):\n        return act(x)\n"
    )
    path.write_text(text)
    _run(commands, tmp_path, "--fix", "layer.py")
    assert path.read_text() == text
    _run(commands, tmp_path, "--fix", "--unsafe-fixes", "layer.py")
    assert path.read_text() == text.replace("np.tanh", "tf.tanh")


def test_mixed_indentation_is_mended(tmp_path: Path, commands: Warm) -> None:
    """Protects files that Python reads and libcst refuses: tabs after spaces."""
    path = tmp_path / "train.py"
    text = (
        "import tensorflow as tf\n\n\ndef one(x):\n\treturn x\n\n\ndef two(x):\n \tif x:\n         x = one(x)\n \treturn x\n\n\n"
        "model = tf.keras.Sequential()\nmodel.fit(two(x))\n"
    )
    path.write_text(text)
    compile(text, "train.py", "exec")
    done = _run(commands, tmp_path, "--fix", "--unsafe-fixes", "train.py")
    assert "not fixed" not in done.stdout + done.stderr
    assert path.read_text() == text.replace(
        "tf\n",
        'tf\n\nfor gpu in tf.config.list_physical_devices("GPU"):\n'
        "    tf.config.experimental.set_memory_growth(gpu, True)\n",
        1,
    )


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ('f"GPU: {tf.test.is_gpu_available()}"', "f\"GPU: {bool(tf.config.list_physical_devices('GPU'))}\""),
        ("f'GPU: {tf.test.is_gpu_available()}'", "f'GPU: {bool(tf.config.list_physical_devices(\"GPU\"))}'"),
        ('f"""GPU: {tf.test.is_gpu_available()}"""', 'f"""GPU: {bool(tf.config.list_physical_devices("GPU"))}"""'),
    ],
)
def test_a_fix_in_an_f_string_has_quotes_that_may_stand_there(before: str, after: str, tmp_path: Path) -> None:
    """Protects files from code that Python before 3.12 does not parse."""
    assert (
        fixed(f"import tensorflow as tf\nprint({before})\n", tmp_path, "TFG701")
        == f"import tensorflow as tf\nprint({after})\n"
    )


def test_where_no_quotes_will_do_nothing_is_mended(tmp_path: Path) -> None:
    code = "import tensorflow as tf\nprint(f\"{'a' if f'{tf.test.is_gpu_available()}' else 'b'}\")\n"
    assert fixed(code, tmp_path, "TFG701") == code


@pytest.mark.parametrize("given", ["[0.5, 2.0]", "3.0", "tf.constant([0.5, 2.0])"])
def test_a_product_with_a_vector_is_none_of_matrices(given: str, tmp_path: Path) -> None:
    """Protects `np.dot(x, weights)`: `tf.matmul` takes matrices only."""
    code = _LAYER.format(name="negative").replace("np.negative(x) * 2.0", f"np.dot(x, {given})")
    ((_, finding),) = [pair for pair in findings(code, tmp_path) if pair[0].code == "TFG101"]
    assert finding.fix is None


def _layer_that(gives: str) -> str:
    """A layer whose `call` gives an expression, or ends in some statements."""
    statements = gives if "return" in gives else f"return {gives}"
    return _LAYER.format(name="negative").replace("return np.negative(x) * 2.0", statements)


AS_ARRAYS = {
    "its methods": "np.abs(x).sum(axis=-1)",
    "by a name": "y = np.abs(x)\n        z = y + 1\n        return z.astype('int32')",
    "in place": "y = np.abs(x)\n        y[y > 2] = 2\n        return y",
    "as a result": "np.add(np.square(x), 1, out=np.abs(x))",
    "by a mask": "np.abs(x)[x.numpy() > 2]",
    "row by row": "sum(row.min() for row in np.abs(x))",
    "its class": "x * isinstance(np.abs(x), np.ndarray)",
    "in a closure": "y = np.abs(x)\n        return (lambda: y.mean())()",
}


@pytest.mark.parametrize("given", AS_ARRAYS.values(), ids=AS_ARRAYS)
def test_a_fix_that_an_array_is_needed_for_is_unsafe(given: str, tmp_path: Path) -> None:
    """Protects layers that are called eagerly only, whose arrays a tensor cannot stand for."""
    code = _layer_that(given)
    fixes = {
        finding.file.code(finding.node): finding.fix
        for rule, finding in findings(code, tmp_path)
        if rule.code == "TFG101"
    }
    assert fixes["np.abs"] is not None and fixes["np.abs"].applicability == "unsafe"


TAKEN = {
    "computed with": "1.0 - np.abs(x) / 2.0",
    "parts": "np.abs(x)[..., :1] + np.abs(x)[:, -1]",
    "given to TensorFlow": "tf.reduce_sum(np.abs(x), axis=-1)",
    "by a name": "y = np.abs(x)\n        y += x\n        return y if np.abs(x)[0, 0] > 3 else -y",
}


@pytest.mark.parametrize("given", TAKEN.values(), ids=TAKEN)
def test_a_fix_of_what_tensors_can_do_is_safe(given: str, tmp_path: Path) -> None:
    tf, np = pytest.importorskip("tensorflow"), pytest.importorskip("numpy")
    before = _layer_that(given)
    assert {f.fix.applicability for rule, f in findings(before, tmp_path) if rule.code == "TFG101" and f.fix} == {
        "safe"
    }
    after, rows = fixed(before, tmp_path, "TFG101"), tf.constant([[1.0, -4.0], [5.0, 2.0]])
    assert "np." not in after.partition("def call")[2]
    np.testing.assert_allclose(np.asarray(_layer(after)(rows)), np.asarray(_layer(before)(rows)), rtol=1e-6)


@pytest.mark.parametrize(
    "training", ["net.compile('sgd', 'mse', run_eagerly=True)", "with tf.GradientTape() as tape:\n    pass"]
)
def test_a_fix_that_lets_gradients_pass_in_an_eager_training_is_unsafe(training: str, tmp_path: Path) -> None:
    code = (
        _LAYER.format(name="negative") + f"\nnet = tf.keras.Sequential([tf.keras.layers.Dense(2), Act()])\n{training}\n"
    )
    ((_, finding),) = [pair for pair in findings(code, tmp_path) if pair[0].code == "TFG101"]
    assert finding.fix is not None and finding.fix.applicability == "unsafe"
