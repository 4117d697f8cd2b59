"""TFG511: processes that are forked when TensorFlow has started, and run a Keras model."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from checks import codes

HEAD = "import multiprocessing as mp\nimport concurrent.futures\nimport numpy as np\nimport tensorflow as tf\n"
WORK = (
    "def work(i):\n    net = tf.keras.Sequential([tf.keras.layers.Dense(1)])\n"
    "    return net.predict(np.ones((9, 3)), verbose=0)\n"
)
START = "bias = tf.constant(1.0)\n"
POOL = "with mp.Pool(2) as pool:\n    done = pool.map(work, range(9))\n"
FOUND = {
    "a pool": WORK + START + POOL,
    "starmap": WORK + START + "pool = mp.Pool()\npool.starmap_async(work, [(1,), (2,)])\n",
    "a process": WORK + START + "p = mp.Process(target=work, args=(1,))\np.start()\np.join()\n",
    "an executor": WORK + START + "workers = concurrent.futures.ProcessPoolExecutor()\nworkers.submit(work, 3)\n",
    "a dataset": WORK + "data = tf.data.Dataset.range(9)\n" + POOL,
    "in functions": "def inner(net):\n    net.fit(np.ones((9, 3)), np.ones(9))\n"
    "def work(i):\n    inner(tf.keras.Sequential([tf.keras.layers.Dense(1)]))\n"
    "def main():\n    rate = tf.Variable(0.1)\n    with mp.Pool(2) as pool:\n        pool.map(work, range(9))\nmain()\n",
}
SILENT = {
    "not started": WORK + POOL,
    "started afterwards": WORK + POOL + START,
    "physical devices": WORK + "tf.config.list_physical_devices('GPU')\n" + POOL,
    "perhaps started": WORK + "if read():\n    bias = tf.constant(1.0)\n" + POOL,
    "spawned": WORK + START + "mp.set_start_method('spawn')\n" + POOL,
    "spawned by its context": WORK + START + POOL.replace("mp.Pool", "mp.get_context('spawn').Pool"),
    "threads": WORK + START + POOL.replace("mp.Pool", "mp.pool.ThreadPool"),
    "threads of an executor": WORK + START + "w = concurrent.futures.ThreadPoolExecutor()\nw.submit(work, 3)\n",
    "no TensorFlow": "def work(i):\n    return np.ones(i)\n" + START + POOL,
    "another model": "from sklearn.svm import SVC\ndef work(i):\n    return SVC().fit([[1]], [2]).predict([[i]])\n"
    + START
    + POOL,
    "perhaps a model": WORK.replace("    return", "    if i > 99:\n        return") + START + POOL,
    "perhaps a function with a model": WORK.replace("work", "inner")
    + "def work(i):\n    if i > 99:\n        return inner(i)\n"
    + START
    + POOL,
    "a function that is given": "def run(work):\n    bias = tf.constant(1.0)\n"
    "    with mp.Pool(2) as pool:\n        pool.map(work, range(9))\n",
}


@pytest.mark.parametrize("code", FOUND.values(), ids=FOUND)
def test_a_forked_runtime_is_found(code: str, tmp_path: Path) -> None:
    assert codes(HEAD + code, tmp_path).count("TFG511") == 1


@pytest.mark.parametrize("code", SILENT.values(), ids=SILENT)
def test_another_process_is_not(code: str, tmp_path: Path) -> None:
    assert "TFG511" not in codes(HEAD + code, tmp_path)


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="nothing forks by itself elsewhere")
def test_the_forked_model_waits() -> None:
    """Protects the claim, by TensorFlow: a process that does not start TensorFlow before ends first."""
    program = (
        HEAD
        + WORK
        + (
            "fork = mp.get_context('fork')\ndef started():\n    p = fork.Process(target=work, args=(1,))\n    p.start()\n"
            "    return p\nfirst = started()\nfirst.join()\nbias = tf.constant(1.0)\nsecond = started()\n"
            "second.join(15)\nprint(first.exitcode, second.exitcode)\nsecond.kill()\n"
        )
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["0", "None"]
