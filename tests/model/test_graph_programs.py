"""Programs for TensorFlow 1."""

from __future__ import annotations

from pathlib import Path

import pytest
from checks import model_of

from tflint_gpu.model.tensorflow.runtime.runtime import Runtime
from tflint_gpu.model.tensorflow.runtime.tensorflow_1 import is_for_tensorflow_1

HEAD = "import tensorflow as tf\n"
GRAPHS = {
    "session": HEAD + "with tf.Session() as session:\n    session.run(y)\n",
    "placeholder": HEAD + "def build():\n    return tf.placeholder(tf.float32)\n",
    "a fragment that imports nothing": "s = tf.Session()\n",
    "contrib": HEAD + "y = tf.contrib.layers.fully_connected(x, 3)\n",
    "imported in a function": "def build():\n    import tensorflow as tf\n    return tf.get_variable('w', [1])\n",
}
EAGER = {
    "eager": HEAD + "y = tf.ones(3)\n",
    "prose": HEAD + "# with tf.Session() as session:\n'''\ntf.Session()\n'''\ny = tf.ones(3)\n",
    "a tape as well": HEAD + "s = tf.Session()\nwith tf.GradientTape() as tape:\n    pass\n",
    "a traced function as well": HEAD + "s = tf.Session()\n@tf.function\ndef f(x):\n    return x\n",
    "a graph that is taken over": HEAD + "f = tf.compat.v1.wrap_function(lambda: tf.import_graph_def(g), [])\n",
    "the same by its own name": HEAD
    + "from tensorflow.compat.v1 import wrap_function\nf = wrap_function(lambda: tf.import_graph_def(g), [])\n",
    "function under its own name": HEAD + "from tensorflow import function\ns = tf.Session()\nf = function(g)\n",
    "another tf": "from mine import tf\ns = tf.Session()\n",
    "tf as parameter": HEAD + "def run(tf):\n    return tf.Session()\n",
    "no TensorFlow": "s = db.Session()\n",
    "tried": HEAD + "try:\n    tf.enable_eager_execution()\nexcept AttributeError:\n    pass\n",
}


@pytest.mark.parametrize("code", GRAPHS.values(), ids=GRAPHS)
def test_programs_for_graphs_are_known(code: str, tmp_path: Path) -> None:
    model = model_of(code, tmp_path)
    assert model.once(Runtime).is_graph_program(model.file)


@pytest.mark.parametrize("code", EAGER.values(), ids=EAGER)
def test_others_run_eagerly(code: str, tmp_path: Path) -> None:
    model = model_of(code, tmp_path)
    assert not model.once(Runtime).is_graph_program(model.file)


LEFT_OUT = {
    "not executing_eagerly()": HEAD + "def f(x):\n    if not tf.executing_eagerly():\n        s = tf.Session()\n",
    "else": HEAD + "if tf.executing_eagerly():\n    pass\nelse:\n    with tf.Session() as s:\n        s.run(y)\n",
    "leaves before": HEAD
    + "def f(x):\n    if tf.executing_eagerly():\n        return x\n    return tf.Session().run(x)\n",
    "text": HEAD + "if tf.__version__ < '2.0.0':\n    tf.enable_eager_execution()\n",
    "starts with": HEAD + "if tf.__version__.startswith('1.'):\n    tf.enable_eager_execution()\n",
    "first character": HEAD + "if tf.__version__[0] == '1':\n    s = tf.Session()\n",
    "first part": HEAD + "if int(tf.__version__.split('.')[0]) < 2:\n    s = tf.Session()\n",
    "parsed": HEAD + "from packaging import version\nif version.parse(tf.__version__) < version.parse('2.0'):\n"
    "    s = tf.Session()\n",
    "and": HEAD + "if use_it and tf.version.VERSION < '2':\n    s = tf.Session()\n",
    "a name": HEAD + "IS_NEW = tf.__version__ >= '2'\ndef f():\n    if not IS_NEW:\n        s = tf.Session()\n",
    "tried": HEAD + "try:\n    tf.enable_eager_execution()\nexcept AttributeError:\n    pass\n",
    "a constant": HEAD + "mode = 'eager'\nif mode == 'graph':\n    tf.compat.v1.disable_eager_execution()\n",
}
KEPT = {
    "a version that is enough": HEAD + "assert tf.__version__ >= '1.4'\ns = tf.Session()\n",
    "too old a version": HEAD + "if tf.__version__ < '1.4':\n    raise ImportError\ns = tf.Session()\n",
    "the second part": HEAD + "if int(tf.__version__.split('.')[1]) < 9:\n    s = tf.Session()\n",
    "executing_eagerly()": HEAD + "if tf.executing_eagerly():\n    s = tf.Session()\n",
    "not that": HEAD + "if not tf.__version__.startswith('1'):\n    tf.compat.v1.disable_eager_execution()\n",
    "or": HEAD + "if use_it or tf.version.VERSION < '2':\n    s = tf.Session()\n",
    "a flag": HEAD + "def f(graph):\n    if graph:\n        tf.compat.v1.disable_eager_execution()\n",
    "a whole program that is tried": HEAD
    + "try:\n    y = tf.placeholder(tf.float32)\n    s = tf.Session()\nexcept KeyboardInterrupt:\n    pass\n",
}


@pytest.mark.parametrize("code", LEFT_OUT.values(), ids=LEFT_OUT)
def test_what_a_test_keeps_from_tensorflow_2_says_nothing_of_the_file(code: str, tmp_path: Path) -> None:
    model = model_of(code, tmp_path)
    assert not model.once(Runtime).is_graph_program(model.file)
    assert not model.once(is_for_tensorflow_1)


@pytest.mark.parametrize("code", KEPT.values(), ids=KEPT)
def test_other_tests_leave_a_program_for_graphs_one(code: str, tmp_path: Path) -> None:
    model = model_of(code, tmp_path)
    assert model.once(Runtime).is_graph_program(model.file)
