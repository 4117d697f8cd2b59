"""TFG509: `TF_CONFIG` that is set when the strategy has read it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from checks import codes

HEAD = "import json\nimport os\nimport tensorflow as tf\n"
PLAN = "plan = tf.distribute.MultiWorkerMirroredStrategy()\n"
SET = "os.environ['TF_CONFIG'] = json.dumps(cluster)\n"
FOUND = {
    "below": PLAN + SET,
    "in a function": "def main(cluster):\n    plan = tf.distribute.MultiWorkerMirroredStrategy()\n"
    "    os.environ['TF_CONFIG'] = json.dumps(cluster)\n    with plan.scope():\n        build()\nmain(read())\n",
    "the name in a constant": "NAME = 'TF_CONFIG'\n" + PLAN + "os.environ[NAME] = json.dumps(cluster)\n",
}
SILENT = {
    "above": SET + PLAN,
    "above, too": SET + PLAN + SET,
    "for the next strategy": PLAN + SET + PLAN,
    "another variable": PLAN + "os.environ['TF_LOG'] = '1'\n",
    "another strategy": "plan = tf.distribute.MirroredStrategy()\n" + SET,
    "perhaps": "if ready:\n    plan = tf.distribute.MultiWorkerMirroredStrategy()\n" + SET,
    "in another function": "def one():\n    return tf.distribute.MultiWorkerMirroredStrategy()\ndef two():\n    "
    + SET
    + "two()\none()\n",
}


@pytest.mark.parametrize("code", FOUND.values(), ids=FOUND)
def test_a_late_variable_is_found(code: str, tmp_path: Path) -> None:
    assert codes(HEAD + code, tmp_path).count("TFG509") == 1


@pytest.mark.parametrize("code", SILENT.values(), ids=SILENT)
def test_one_in_time_is_not(code: str, tmp_path: Path) -> None:
    assert "TFG509" not in codes(HEAD + code, tmp_path)


@pytest.mark.slow
def test_the_strategy_does_not_see_the_cluster() -> None:
    """Protects the claim, by TensorFlow: one worker of two, and no error."""
    cluster = {"cluster": {"worker": ["localhost:1", "localhost:2"]}, "task": {"type": "worker", "index": 0}}
    program = f"{HEAD}cluster = {cluster}\n{PLAN}{SET}"
    program += "print(plan.num_replicas_in_sync, plan.extended._in_multi_worker_mode())\n"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["1", "False"]
