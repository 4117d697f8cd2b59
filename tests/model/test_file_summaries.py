"""Summaries of files by Python's own parser, and that no prefilter drops a file that matters."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from checks import ALL_RULES, NEWEST, codes, findings

from tflint_gpu.checking.engine.prefilter import rules_that_may_fire
from tflint_gpu.model import Model, Project
from tflint_gpu.model.python.parsing.python_trees import PythonTrees, python_tree
from tflint_gpu.model.python.prefilter.file_summaries import FileSummary
from tflint_gpu.model.python.prefilter.prefilters import PrefilterScope
from tflint_gpu.text.decoding import decode_source

CODE = """
import numpy as np
import tensorflow as tf
from .layers import Block as B

class Net(tf.keras.Model):
    size = 3

    @tf.function(jit_compile=True)
    def call(self, x, training=False):
        for _ in range(3):
            x = self.block(x, training=training)
        return [np.sin(y) for y in x]

def main():
    net = Net()
    net.block = B(8, "same", kernel=[np.ones(3), size])
    x = tf.concat([x, net(y)], 0)
    d["a"] = f(d["a"])
"""


def _summary(code: str) -> FileSummary:
    tree = python_tree(code)
    assert tree is not None
    return FileSummary(tree)


def test_calls_are_known_by_their_names_their_loops_and_what_they_are_given() -> None:
    summary = _summary(CODE)
    (call,) = (function for function in summary.functions if function.name == "call")
    assert (call.owner, call.decorators, call.is_inner) == ("Net", ("tf.function",), False)
    assert {(c.name, c.loops, c.given, c.keywords) for c in call.calls} == {
        ("range", 1, (), ()),
        ("self.block", 1, ("x", "training"), ("training",)),
        ("np.sin", 1, ("y",), ()),
    }
    (made,) = (call for call in summary.calls() if call.name == "B")
    assert (made.given, made.texts, made.size) == (("ones", "size"), ("same",), 3)


def test_what_is_assigned_to_what_it_is_made_of_is_known() -> None:
    assert {c.name for c in _summary(CODE).calls() if c.renews} == {"self.block", "tf.concat", "f"}


def test_imports_attributes_and_variables_are_known() -> None:
    summary = _summary(CODE)
    assert summary.target("np.sin") == "numpy.sin"
    assert summary.library("tf.concat") == "tensorflow"
    assert summary.imports["B"] == ".layers.Block"
    assert summary.stored == {"size", "block"}
    assert {"x", "training", "net"} <= summary.bound


def test_what_code_only_defines_is_not_used() -> None:
    """Protects searches: a file that only defines `call` is not opened for the calls of another `call`."""
    used = _summary(CODE).used
    assert {"range", "block", "training", "concat", "Net", "function", "Block"} <= used
    assert used.isdisjoint({"call", "main", "size_of"})


def test_what_an_import_means_is_open_where_two_disagree() -> None:
    summary = _summary("try:\n    import keras\nexcept ImportError:\n    from tensorflow import keras\n")
    assert summary.library("keras.Model") == "?"


def test_functions_are_reached_by_their_names_also_in_other_files() -> None:
    own = _summary(
        "from other import help_me\n\ndef start(x):\n    return middle(x)\n\ndef middle(x):\n    return help_me(x)\n"
    )
    near = _summary(
        "def help_me(x):\n    return Inner(x)\n\nclass Inner:\n    def __init__(self):\n        deep()\n\ndef deep(): pass\n"
    )
    start = own.by_name["start"]
    assert [p.region.name for p in PrefilterScope(own, [near]).reached(start)] == [
        "start",
        "middle",
        "help_me",
        "__init__",
        "deep",
    ]


def test_what_the_file_itself_answers_asks_for_no_other_file() -> None:
    own = _summary("def start():\n    middle()\n\ndef middle(): pass\n")

    def asked() -> Iterator[FileSummary]:
        raise AssertionError("other files were asked for")
        yield own

    regions = PrefilterScope(own, asked()).reached(own.by_name["start"])
    assert [next(regions).region.name, next(regions).region.name] == ["start", "middle"]


@pytest.mark.parametrize("code", ["print 1\n", "x = (\n", "x = '\x00'\n", "(" * 500])
def test_of_what_is_no_python_nothing_is_known(code: str) -> None:
    assert python_tree(code) is None


def test_texts_that_are_asked_for_again_are_parsed_once() -> None:
    """Protects a check's speed: the summary, the tree and the places of findings need the same text."""
    trees = PythonTrees()
    assert trees.of("x = 1\n") is trees.of("x = " + "1\n")
    first = trees.of("y = 2\n")
    trees.of("z = 3\n" + "#" * 400_000)
    assert trees.of("y = 2\n") is not first


def test_what_python_cannot_parse_is_left_to_who_says_so(tmp_path: Path) -> None:
    data = b"import tensorflow as tf\nfor x in y:\n    print model(x)\n"
    source = decode_source(data, tmp_path / "x.py", "x.py")
    assert rules_that_may_fire(ALL_RULES, source, data, Project(tmp_path, NEWEST))


HEAD = "import numpy as np\nimport tensorflow as tf\n"
LAYER = HEAD + "class Scale(tf.keras.layers.Layer):\n    def call(self, x):\n        return {}\n"
NOTHING = {
    "TFG101": LAYER.format("x * 2") + "def table():\n    return np.sin(values)\n",
    "TFG102": LAYER.format("x * 2") + "def table():\n    return np.random.normal(3)\n",
    "TFG103": LAYER.format("x * 2") + "def show(x):\n    print(x)\n",
    "TFG106": LAYER.format("x * 2") + "def make(x):\n    return tf.keras.layers.Dense(3)\n",
    "TFG107": LAYER.format("x * 2") + "@tf.function\ndef f(x):\n    return x\nfor i in y:\n    z.append(f(i))\n",
    "TFG207": HEAD + "model = tf.keras.Sequential()\nfor name in names:\n    print(name.upper())\n",
    "TFG212": HEAD + "for x in y:\n    z = tf.concat([a, b], 0)\nb = tf.concat([b, b], 0)\n",
    "TFG305": HEAD + "# py_function\nfor x in tf.data.Dataset.range(9).map(f):\n    model.fit(x)\n",
    "TFG315": HEAD + "for x in tf.data.Dataset.range(9):\n    model.fit(dataset, epochs=3)\n",
    "TFG502": HEAD + "with tf.device('/GPU:0'):\n    pass\n",
    "TFG602": HEAD + "layer = tf.keras.layers.Dense(3)\nx = tf.cast(np.zeros(3, np.float64), tf.float32)\n",
}


@pytest.mark.parametrize("code", NOTHING)
def test_files_in_which_nothing_can_be_are_not_parsed_for_a_rule(code: str, tmp_path: Path) -> None:
    data = NOTHING[code].encode()
    source = decode_source(data, tmp_path / "x.py", "x.py")
    (rule,) = (rule for rule in ALL_RULES if rule.code == code)
    project = Project(tmp_path, NEWEST)
    assert not rules_that_may_fire([rule], source, data, project)
    assert not list(rule.check(Model.open(source, project)))


HELPERS = {
    "TFG101": ("from helpers import wave\n" + LAYER.format("wave(x)"), HEAD + "def wave(x):\n    return np.sin(x)\n"),
    "TFG102": (
        "from helpers import noise\n" + LAYER.format("x + noise()"),
        HEAD + "def noise():\n    return np.random.normal()\n",
    ),
    "TFG103": (
        "from helpers import show\n" + LAYER.format("show(x)"),
        HEAD + "def show(x):\n    print('here')\n    return x\n",
    ),
}


@pytest.mark.parametrize("code", HELPERS)
def test_what_a_traced_function_calls_in_another_file_is_seen(code: str, tmp_path: Path) -> None:
    own, other = HELPERS[code]
    (tmp_path / "helpers.py").write_text(other)
    assert code in codes(own, tmp_path)


def test_a_function_that_a_variable_holds_is_seen(tmp_path: Path) -> None:
    code = HEAD + "def distance(y, p):\n    return np.sin(p)\n\nloss = distance\nmodel.compile(loss=loss)\n"
    assert [rule.code for rule, _ in findings(code, tmp_path) if rule.code == "TFG101"] == ["TFG101"]
