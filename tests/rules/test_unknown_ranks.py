"""No fix puts tensors of an unknown rank, which Python gives back in a map, before what cannot take them in a graph."""

from __future__ import annotations

from pathlib import Path

import pytest
from checks import findings
from fixed_programs import HEAD, results, stable

NET = (
    "net = tf.keras.Sequential([tf.keras.Input((4,)), tf.keras.layers.Dense(1)])\nnet.compile('sgd', 'mse'SWITCH)\n"
    "pairs = tf.data.Dataset.from_tensor_slices((data, data[:, :1]))\n"
)
PYTHON = "tf.numpy_function(np.sin, [row], tf.float32)"
READ = "result = net.fit(pairs.batch(6), verbose=0).history['loss']\n"
GIVEN = {  # a function that a map gets, which returns rows of an unknown rank
    "as it is": f"def prepare(row, goal):\n    return {PYTHON}, goal\n",
    "goals": "def prepare(row, goal):\n    return row, tf.py_function(lambda g: g * 2, inp=[goal], Tout=tf.float32)\n",
    "computed": f"def prepare(row, goal):\n    turned = {PYTHON}\n    return tf.cast(turned, tf.float32) * 0.5 + row, goal\n",
    "of several": (
        "def prepare(row, goal):\n    row, goal = tf.numpy_function(lambda a, b: (a, b), [row, goal], (tf.float32, tf.float32))\n"
        "    return row, goal\n"
    ),
    "by a helper": f"def turned(row):\n    return {PYTHON}\ndef prepare(row, goal):\n    return turned(row), goal\n",
    "rows of it": f"def prepare(row, goal):\n    return tf.expand_dims({PYTHON}, 0)[0], goal\n",
}
KNOWN = {
    "set": f"def prepare(row, goal):\n    turned = {PYTHON}\n    turned.set_shape([4])\n    return turned, goal\n",
    "ensured": f"def prepare(row, goal):\n    return tf.ensure_shape({PYTHON}, [4]), goal\n",
    "reshaped": f"def prepare(row, goal):\n    return tf.reshape({PYTHON}, (4,)) * 2.0, goal\n",
    "beside a known one": f"def prepare(row, goal):\n    return tf.stack([{PYTHON}, row])[0], goal\n",
    "a mean": f"def prepare(row, goal):\n    return row - tf.reduce_mean({PYTHON}), goal\n",
    "not returned": f"def prepare(row, goal):\n    {PYTHON}\n    return row, goal\n",
}


def _discarding(function: str) -> str:
    return HEAD + function + NET.replace("SWITCH", "") + "pairs.map(prepare)\n" + READ


def _eager(function: str, more: str = "") -> str:
    net = NET.replace("SWITCH", ", run_eagerly=True")
    return HEAD + function + net + f"pairs = pairs.map(prepare){more}\n" + READ


def _withheld(rule: str, code: str, folder: Path) -> str:
    [finding] = [finding for found, finding in findings(code, folder) if found.code == rule]
    assert finding.fix is None
    return " ".join([finding.help or "", *(note.message for note in finding.notes)])


@pytest.mark.parametrize("function", GIVEN.values(), ids=GIVEN)
def test_a_discarded_map_stays_discarded(function: str, tmp_path: Path) -> None:
    """Protects `fit`, which asks what it reads for its shape: the program runs, and would raise with the map."""
    code = _discarding(function)
    assert "returns tensors of unknown rank" in _withheld("TFG308", code, tmp_path)
    results(code)
    with pytest.raises(ValueError, match=r"unknown|rank"):
        results(code.replace("pairs.map", "pairs = pairs.map"))


@pytest.mark.parametrize("function", GIVEN.values(), ids=GIVEN)
def test_a_switch_that_such_data_need_stays(function: str, tmp_path: Path) -> None:
    """Protects eager trainings: layers and losses find the shapes of values, and none in a graph."""
    code = _eager(function)
    assert "returns tensors of unknown rank" in _withheld("TFG205", code, tmp_path)
    results(code)
    with pytest.raises(ValueError, match=r"unknown|rank"):
        results(code.replace(", run_eagerly=True", ""))


@pytest.mark.slow
@pytest.mark.parametrize("function", KNOWN.values(), ids=KNOWN)
def test_known_ranks_prevent_nothing(function: str, tmp_path: Path) -> None:
    """Protects fixes of maps that say the shape of what Python gives, or need none."""
    results(stable(_discarding(function), tmp_path, "TFG308"))
    results(stable(_eager(function), tmp_path, "TFG205"))


@pytest.mark.slow
def test_a_later_map_may_set_the_shape(tmp_path: Path) -> None:
    """Protects fixes of pipelines that say shapes in a map of its own."""
    more = ".map(lambda row, goal: (tf.ensure_shape(row, [4]), goal))"
    results(stable(_eager(GIVEN["as it is"], more), tmp_path, "TFG205"))
    assert "unknown rank" in _withheld(
        "TFG205", _eager(GIVEN["as it is"], more.replace("ensure_shape(row, [4])", "abs(row)")), tmp_path
    )


def test_another_model_keeps_its_fix(tmp_path: Path) -> None:
    """Protects the fix of a model that reads other data than the one whose data have no rank."""
    other = "twin = tf.keras.Sequential([tf.keras.layers.Dense(1)])\ntwin.compile('sgd', 'mse', run_eagerly=True)\ntwin.fit(data, data[:, :1])\n"
    code = _eager(GIVEN["as it is"]) + other
    fixes = [finding.fix is not None for rule, finding in findings(code, tmp_path) if rule.code == "TFG205"]
    assert fixes == [False, True]
