"""Trees of Python's own parser: made once, and the names that code uses read from them."""

from __future__ import annotations

import pytest

from tflint_gpu.model.python.parsing.python_trees import PythonTrees, python_tree
from tflint_gpu.model.python.project.declarations import names_used

CODE = """
import numpy as np
import tensorflow as tf
from .layers import Block as B

class Net(tf.keras.Model):
    size_of = 3

    @tf.function(jit_compile=True)
    def call(self, x, training=False):
        for _ in range(3):
            x = self.block(x, training=training)
        self.kept, *others = [np.sin(y) for y in x]

def main():
    net = Net()
    d["a"] = f(d["a"])
"""


def test_what_code_only_defines_is_not_used() -> None:
    """Protects searches: a file that only defines `call` is not opened for the calls of another `call`."""
    tree = python_tree(CODE)
    assert tree is not None
    used = names_used(tree)
    assert {"range", "block", "training", "sin", "Net", "function", "Block", "numpy", "d", "f"} <= used
    assert used.isdisjoint({"call", "main", "size_of", "kept", "others", "net", "layers", "B"})


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
