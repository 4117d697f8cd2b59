"""TFG508: a strategy for several machines that is made after the runtime has started."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from checks import codes, fixed

FOUND = {
    "a tensor": "import tensorflow as tf\nbias = tf.zeros((3,))\nplan = tf.distribute.MultiWorkerMirroredStrategy()\n",
    "a dataset of a function": "import tensorflow as tf\ndef rows():\n"
    "    return tf.data.Dataset.range(9).batch(3)\ndata = rows()\n"
    "plan = tf.distribute.MultiWorkerMirroredStrategy()\n",
    "the old name": "import tensorflow as tf\nfrom tensorflow import distribute\nrate = tf.Variable(0.1)\n"
    "plan = distribute.experimental.MultiWorkerMirroredStrategy()\n",
    "in main": "import tensorflow as tf\ndef main():\n    adam = tf.keras.optimizers.Adam()\n"
    "    plan = tf.distribute.MultiWorkerMirroredStrategy()\n    with plan.scope():\n        build(adam)\nmain()\n",
    "a ready dataset": "import tensorflow as tf\nimport tensorflow_datasets as tfds\n"
    "kinds, about = tfds.load('beans', with_info=True)\nplan = tf.distribute.MultiWorkerMirroredStrategy()\n",
    "devices": "import tensorflow as tf\nprint(tf.config.list_logical_devices('GPU'))\n"
    "plan = tf.distribute.MultiWorkerMirroredStrategy()\n",
}
SILENT = {
    "first": "import tensorflow as tf\nplan = tf.distribute.MultiWorkerMirroredStrategy()\nbias = tf.zeros((3,))\n",
    "physical devices": "import tensorflow as tf\ntf.config.list_physical_devices('GPU')\n"
    "plan = tf.distribute.MultiWorkerMirroredStrategy()\n",
    "what builds a dataset": "import tensorflow as tf\nimport tensorflow_datasets as tfds\n"
    "made = tfds.builder('beans')\nplan = tf.distribute.MultiWorkerMirroredStrategy()\n",
    "a seed": "import tensorflow as tf\ntf.random.set_seed(1)\nplan = tf.distribute.MultiWorkerMirroredStrategy()\n",
    "perhaps": "import sys\nimport tensorflow as tf\nif len(sys.argv) > 2:\n    tf.zeros((3,))\n"
    "plan = tf.distribute.MultiWorkerMirroredStrategy()\n",
    "another of its kind": "import tensorflow as tf\none = tf.distribute.MultiWorkerMirroredStrategy()\n"
    "two = tf.distribute.MultiWorkerMirroredStrategy()\n",
    "one machine": "import tensorflow as tf\nbias = tf.zeros((3,))\nplan = tf.distribute.MirroredStrategy()\n",
    "a function that nothing calls": "import tensorflow as tf\ndef rows():\n    return tf.zeros((3,))\n"
    "plan = tf.distribute.MultiWorkerMirroredStrategy()\n",
}


@pytest.mark.parametrize("code", FOUND.values(), ids=FOUND)
def test_a_late_strategy_is_found(code: str, tmp_path: Path) -> None:
    assert codes(code, tmp_path).count("TFG508") == 1


@pytest.mark.parametrize("code", SILENT.values(), ids=SILENT)
def test_one_in_time_is_not(code: str, tmp_path: Path) -> None:
    assert "TFG508" not in codes(code, tmp_path)


def _run(program: str) -> str:
    with socket.socket() as free:
        free.bind(("localhost", 0))
        worker = f"localhost:{free.getsockname()[1]}"
    cluster = json.dumps({"cluster": {"worker": [worker]}, "task": {"type": "worker", "index": 0}})
    environment = {**os.environ, "TF_CONFIG": cluster, "CUDA_VISIBLE_DEVICES": "-1"}
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env=environment, check=False)
    return done.stderr if done.returncode else ""


@pytest.mark.slow
def test_the_fixed_program_runs(tmp_path: Path) -> None:
    """Protects the claim and the fix, by TensorFlow with a cluster of one worker."""
    program = FOUND["a tensor"]
    after = fixed(program, tmp_path, "TFG508")
    assert "Collective ops must be configured at program startup" in _run(program)
    assert _run(after) == ""
