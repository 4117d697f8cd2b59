"""Programs for TensorFlow 1, seen before they are parsed: never one that the model takes for another."""

from __future__ import annotations

from pathlib import Path

import pytest
from checks import model_of

from tflint_gpu.model.python.parsing import python_tree
from tflint_gpu.model.python.sketches import Sketch
from tflint_gpu.model.tensorflow.graph_programs import perhaps_runs_in_graphs, surely_runs_in_graphs

HEAD = "import tensorflow as tf\n"
GRAPHS = {
    "session": HEAD + "with tf.Session() as session:\n    session.run(y)\n",
    "placeholder": HEAD + "def build():\n    return tf.placeholder(tf.float32)\n",
    "contrib": HEAD + "y = tf.contrib.layers.fully_connected(x, 3)\n",
    "imported in a function": "def build():\n    import tensorflow as tf\n    return tf.get_variable('w', [1])\n",
}
UNSURE = {
    "eager": HEAD + "y = tf.ones(3)\n",
    "prose": HEAD + "# with tf.Session() as session:\n'''\ntf.Session()\n'''\ny = tf.ones(3)\n",
    "a tape as well": HEAD + "s = tf.Session()\nwith tf.GradientTape() as tape:\n    pass\n",
    "a traced function as well": HEAD + "s = tf.Session()\n@tf.function\ndef f(x):\n    return x\n",
    "function under its own name": HEAD + "from tensorflow import function\ns = tf.Session()\nf = function(g)\n",
    "another tf": "from mine import tf\ns = tf.Session()\n",
    "tf as parameter": HEAD + "def run(tf):\n    return tf.Session()\n",
    "tf assigned": HEAD + "tf = tf.compat.v1\ns = tf.Session()\n",
    "below compat.v1": HEAD + "s = tf.compat.v1.Session()\n",
    "compat.v1 as tf": "import tensorflow.compat.v1 as tf\ns = tf.Session()\n",
    "no TensorFlow": "s = tf.Session()\n",
    "does not parse": HEAD + "s = tf.Session()\nprint 1\n",
}


@pytest.mark.parametrize("code", GRAPHS.values(), ids=GRAPHS)
def test_programs_for_graphs_are_known_from_their_text(code: str, tmp_path: Path) -> None:
    assert _surely(code)
    model = model_of(code, tmp_path)
    assert model.runtime.is_graph_program(model.file)


@pytest.mark.parametrize("code", UNSURE.values(), ids=UNSURE)
def test_others_are_parsed(code: str) -> None:
    assert not _surely(code)


def _surely(code: str) -> bool:
    tree = python_tree(code)
    return tree is not None and perhaps_runs_in_graphs(code) and surely_runs_in_graphs(Sketch(tree))
