"""TFG102, TFG103 and TFG204 beside `run_functions_eagerly(True)`: whose switch reaches which files, and when."""

from __future__ import annotations

from pathlib import Path

import pytest
from checks import found

STEPS = (
    "import tensorflow as tf\nimport random\ndef show(x):\n    print(x)\n    return x + random.random()\n"
    "@tf.function\ndef step(x, i):\n    return x * i\n"
)
HEAD = "import tensorflow as tf\nfrom steps import step, show\n"
LOOP = (
    "@tf.function\ndef own(x: tf.Tensor):\n    return show(x)\nfor i, x in enumerate(range(100)):\n"
    "    step(tf.ones(3), i)\n"
)
SWITCH = "tf.config.run_functions_eagerly(True)\n"
TRACED = {"TFG102 steps.py", "TFG103 steps.py", "TFG204"}
FOR_DEBUGGING = {
    "flag": "if args.debug:\n    " + SWITCH,
    "flag of the environment": "import os\nif os.environ.get('DEBUG'):\n    " + SWITCH,
    "argument": "def setup(debug):\n    if debug:\n        " + SWITCH + "setup(args.d)\n",
    "early exit": "def setup(args):\n    if not args.debug:\n        return\n    " + SWITCH + "setup(args)\n",
    "constant that is off": "SLOW = False\nif SLOW:\n    " + SWITCH,
    "value": "tf.config.run_functions_eagerly(args.debug)\n",
    "switched off": "tf.config.run_functions_eagerly(False)\n",
}
ON = {
    "plain": SWITCH,
    "constant that is on": "DEBUG = True\nif DEBUG:\n    " + SWITCH,
    "program": "if __name__ == '__main__':\n    " + SWITCH,
    "another flag": "if args.slow:\n    " + SWITCH,
}


def _codes(code: str, folder: Path) -> set[str]:
    (folder / "steps.py").write_text(STEPS)
    return {one for one, _ in found(HEAD + code + LOOP, folder)} - {"TFG205", "TFG205 setup.py"}


@pytest.mark.parametrize("switch", FOR_DEBUGGING.values(), ids=FOR_DEBUGGING.keys())
def test_a_switch_for_debugging_silences_nothing(switch: str, tmp_path: Path) -> None:
    """Protects recall: what a program does when nobody debugs it."""
    assert _codes(switch, tmp_path) == TRACED


@pytest.mark.parametrize("switch", ON.values(), ids=ON.keys())
def test_a_switch_reaches_what_the_program_imports(switch: str, tmp_path: Path) -> None:
    """Protects precision: nothing is traced in such a program, in whichever file it stands."""
    assert _codes(switch, tmp_path) == set()


@pytest.mark.parametrize("called", [True, False])
def test_a_switch_of_an_imported_file_counts_where_it_runs(called: bool, tmp_path: Path) -> None:
    """Protects both: a module that switches when it is imported, and a function for it that nobody calls."""
    (tmp_path / "setup.py").write_text("import tensorflow as tf\ndef go():\n    " + SWITCH)
    assert _codes("import setup\n" + "setup.go()\n" * called, tmp_path) == (set() if called else TRACED)
    (tmp_path / "setup.py").write_text(f"import tensorflow as tf\n{SWITCH}")
    assert _codes("import setup\n", tmp_path) == set()
    (tmp_path / "setup.py").write_text("import tensorflow as tf\nif __name__ == '__main__':\n    " + SWITCH)
    assert _codes("import setup\n", tmp_path) == TRACED
