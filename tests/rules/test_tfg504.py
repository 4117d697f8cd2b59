"""TFG504: the variable set after the GPUs were initialised is found; set in time, or for others, it is not."""

from __future__ import annotations

from pathlib import Path

import pytest
from checks import codes, found, notebook
from forked import ForkedPrograms

TF = "import os\nimport tensorflow as tf\n"
SET = "os.environ['CUDA_VISIBLE_DEVICES'] = '1'\n"

LATE = {  # the row of the assignment
    "after a constant": (TF + "x = tf.constant(1.0)\n" + SET, 4),
    "after a variable": (TF + "x = tf.Variable(1.0)\n" + SET, 4),
    "after a dataset": (TF + "ds = tf.data.Dataset.range(9)\n" + SET, 4),
    "after an optimizer": (TF + "optimizer = tf.keras.optimizers.Adam()\n" + SET, 4),
    "after a strategy": (TF + "strategy = tf.distribute.MirroredStrategy()\n" + SET, 4),
    "a number of the user's": (TF + "x = tf.zeros(3)\nos.environ['CUDA_VISIBLE_DEVICES'] = str(args.gpu)\n", 4),
    "under a condition": (TF + "x = tf.zeros(3)\nif args.gpu:\n    " + SET, 5),
    "by a function": (TF + "def table():\n    return tf.constant([1, 2])\nweights = table()\n" + SET, 6),
    "in a function": (TF + "def main():\n    x = tf.zeros(3)\n    " + SET + "main()\n", 5),
    "in the caller": (TF + "def choose():\n    " + SET + "def main():\n    x = tf.zeros(3)\n    choose()\nmain()\n", 4),
    "the name in a constant": (TF + "NAME = 'CUDA_VISIBLE_DEVICES'\nx = tf.zeros(3)\nos.environ[NAME] = '0'\n", 5),
    "another value in time": (SET.replace("os", "import os\nos", 1) + TF + "tf.zeros(3)\n" + SET.replace("1", "0"), 6),
}
FINE = {
    "before the import": "import os\n" + SET + "import tensorflow as tf\ntf.zeros(3)\n",
    "after the import": TF + SET + "tf.zeros(3)\n",
    "after the list of devices": TF + "gpus = tf.config.list_physical_devices('GPU')\n" + SET,
    "after a layer": TF + "layer = tf.keras.layers.Dense(3)\n" + SET,
    "after a function": TF + "@tf.function\ndef f(x):\n    return tf.zeros(3)\n" + SET,
    "on another branch": TF + "if a:\n    tf.zeros(3)\nelse:\n    " + SET,
    "perhaps": TF + "if a:\n    tf.zeros(3)\n" + SET,
    "for another process": TF + "import subprocess\ntf.zeros(3)\n" + SET + "subprocess.run(['train'])\n",
    "for a pool": TF + "from multiprocessing import Pool\ntf.zeros(3)\n" + SET,
    "for PyTorch": TF + "import torch\ntf.zeros(3)\n" + SET,
    "put back": TF
    + "old = os.environ.get('CUDA_VISIBLE_DEVICES')\ntf.zeros(3)\nos.environ['CUDA_VISIBLE_DEVICES'] = old\n",
    "the same again": "import os\n" + SET + "import tensorflow as tf\ntf.zeros(3)\n" + SET,
    "another mapping": TF + "tf.zeros(3)\nenv = {}\nenv['CUDA_VISIBLE_DEVICES'] = '1'\n",
    "another variable": TF + "tf.zeros(3)\nos.environ['TF_CPP_MIN_LOG_LEVEL'] = '2'  # CUDA_VISIBLE_DEVICES\n",
    "in one of two callers": TF
    + "def choose():\n    "
    + SET
    + "def a():\n    tf.zeros(3)\n    choose()\ndef b():\n    choose()\nb()\na()\n",
    "nobody calls it": TF + "x = tf.constant\ndef choose():\n    " + SET,
    "in another function": TF + "def a():\n    tf.zeros(3)\ndef b():\n    " + SET,
    "NumPy": "import os\nimport numpy as np\nx = np.zeros(3)\n" + SET + "import tensorflow as tf\n",
    "a graph": "import os\nimport tensorflow.compat.v1 as tf\ntf.disable_v2_behavior()\nx = tf.constant(1)\n" + SET,
}


def _table(cases: dict[str, object]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("case", cases.values(), ids=cases)


@_table(LATE)  # type: ignore[arg-type]
def test_late_assignments_are_found(case: tuple[str, int], tmp_path: Path) -> None:
    code, row = case
    assert [place for name, place in found(code, tmp_path) if name == "TFG504"] == [row]


def test_a_value_that_came_too_late_before_does_not_count(tmp_path: Path) -> None:
    code = TF + "tf.zeros(3)\n" + SET + "def f():\n    tf.zeros(3)\n    " + SET
    assert found(code, tmp_path) == {("TFG504", 4), ("TFG504", 7)}


@_table(FINE)  # type: ignore[arg-type]
def test_others_are_not_found(case: str, tmp_path: Path) -> None:
    assert "TFG504" not in codes(case, tmp_path)


def test_an_initialiser_of_another_file(tmp_path: Path) -> None:
    (tmp_path / "tables.py").write_text("import tensorflow as tf\n\ndef table():\n    return tf.constant(3)\n")
    assert ("TFG504", 4) in found("import os\nfrom tables import table\nx = table()\n" + SET, tmp_path)


SCORES = "import os\nimport tensorflow as tf\n\ndef main(gpu):\n    os.environ['CUDA_VISIBLE_DEVICES'] = gpu\n"
EVALUATION = "import tensorflow as tf\nimport scores\n\ndef main():\n    levels = tf.linspace(0.0, 1.0, 9)\n    scores.main('1')\n"


def test_an_initialiser_in_a_caller_of_another_file(tmp_path: Path) -> None:
    """What a file does as a program by itself is another program."""
    (tmp_path / "scores.py").write_text(SCORES + "\nif __name__ == '__main__':\n    main('0')\n")
    assert found(EVALUATION, tmp_path, "evaluation.py") == {("TFG504 scores.py", 5)}


@pytest.mark.parametrize(
    "other",
    [
        EVALUATION.replace("    levels = tf.linspace(0.0, 1.0, 9)\n", ""),
        EVALUATION.replace("    levels", "    if wanted:\n        levels"),
        EVALUATION + "\ndef again():\n    scores.main('2')\nagain()\n",
    ],
    ids=["nothing before", "perhaps", "one caller in time"],
)
def test_callers_of_another_file_that_are_in_time(other: str, tmp_path: Path) -> None:
    (tmp_path / "scores.py").write_text(SCORES)
    assert found(other, tmp_path, "evaluation.py") == set()


def test_a_notebook(tmp_path: Path) -> None:
    assert "TFG504" in {name for name, _ in found(notebook(TF, "x = tf.zeros(3)", SET), tmp_path, "a.ipynb")}


def test_tests_are_left_alone(tmp_path: Path) -> None:
    assert found(LATE["after a constant"][0], tmp_path, "tests/x.py") == set()


@pytest.mark.parametrize("name", ["after a constant", "after a variable", "after a dataset", "after an optimizer"])
def test_the_truth_these_initialise_the_runtime(name: str, tmp_path: Path, forks: ForkedPrograms) -> None:
    """With the installed TensorFlow: the devices of the process are fixed then. What CUDA does needs a GPU."""
    code = LATE[name][0] + "from tensorflow.python.eager import context\nprint(context.context()._initialized)\n"
    (tmp_path / "program.py").write_text(code)
    outcome = forks.outcome(tmp_path / "program.py")
    assert (outcome.stdout.strip(), outcome.exit_code) == ("True", 0), outcome.stderr
