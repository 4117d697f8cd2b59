"""TFG108: functions under `tf.function` that call themselves are found; loops, plain recursion and parts of trees are not."""

from __future__ import annotations

from pathlib import Path

import pytest
from checks import codes, findings, found, notebook

HEAD = "import tensorflow as tf\n"
RECURSIVE = {
    "plain": "@tf.function\ndef f(n):\n    if n <= 1:\n        return n\n    return n * f(n - 1)",
    "with arguments of tf.function": "@tf.function(reduce_retracing=True)\ndef f(n):\n    return f(n - 1)",
    "several calls": "@tf.function\ndef fib(n):\n    return fib(n - 1) + fib(n - 2)",
    "through another": "@tf.function\ndef even(n):\n    return odd(n - 1)\n@tf.function\ndef odd(n):\n    return even(n - 1)",
    "through a helper": "def half(n):\n    return f(n // 2)\n@tf.function\ndef f(n):\n    return half(n)",
    "by another name": "@tf.function\ndef f(n):\n    again = f\n    return again(n - 1)",
    "method": "class Tree(tf.Module):\n    @tf.function\n    def depth(self, n):\n        return self.depth(n - 1)",
    "inner function": "def make():\n    @tf.function\n    def f(n):\n        return f(n - 1)\n    return f",
    "decorator of another name": "from tensorflow import function as graph\n@graph\ndef f(n):\n    return f(n - 1)",
}
NOT_RECURSIVE = {
    "plain Python": "def f(n):\n    return n * f(n - 1)",
    "plain Python called from a traced function": "def f(n):\n    return n and f(n - 1)\n@tf.function\ndef g(x):\n    return f(3)",
    "a walk over nested structures under tf.function": "def walk(x):\n    return [walk(y) for y in x] if x else x\n"
    "fast = tf.function(walk)",
    "another function": "@tf.function\ndef g(n):\n    return n\n@tf.function\ndef f(n):\n    return g(n)",
    "unknown function": "from elsewhere import g\n@tf.function\ndef f(n):\n    return g(n)",
    "parts of a tree": "class Node(tf.Module):\n    def __init__(self, left):\n        self.left = left\n"
    "    @tf.function\n    def value(self, x):\n        return self.left.value(x)",
    "parts of a layer that is called": "class Net(tf.keras.Model):\n    def __init__(self, inner):\n"
    "        super().__init__()\n        self.inner = inner\n    @tf.function\n    def call(self, x):\n"
    "        return self.inner(x)",
    "base class": "class Base(tf.Module):\n    @tf.function\n    def step(self, x):\n        return x\n"
    "class Own(Base):\n    @tf.function\n    def step(self, x):\n        return super().step(x)",
    "handed on and not called": "@tf.function\ndef f(n):\n    register(f)\n    return n",
    "its maker is called again": "def solve(x, compiled):\n    if compiled:\n        @tf.function\n        def run():\n"
    "            return solve(x, False)\n        return run()\n    return x",
    "redefined": "@tf.function\ndef f(n):\n    return f(n)\n@tf.function\ndef f(n, m):\n    return m",
    "loop": "@tf.function\ndef f(n):\n    while n > 1:\n        n -= 1\n    return n",
    "call of its python_function": "@tf.function\ndef f(n):\n    return f.python_function(n)",
}


def _table(cases: dict[str, str]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("code", cases.values(), ids=cases.keys())


@_table(RECURSIVE)
def test_recursion_is_found(code: str, tmp_path: Path) -> None:
    """Protects recall: at once, through others, by names and methods."""
    assert codes(HEAD + code, tmp_path) == ["TFG108"]


@_table(NOT_RECURSIVE)
def test_others_are_not_found(code: str, tmp_path: Path) -> None:
    """Protects precision: recursion that ends while tracing costs nothing, and calls of other objects' methods."""
    assert "TFG108" not in codes(HEAD + code, tmp_path)


def test_through_another_file(tmp_path: Path) -> None:
    (tmp_path / "halves.py").write_text(
        "import tensorflow as tf\n\ndef half(n):\n    from train import f\n    return f(tf.floor(n / 2))\n"
    )
    code = HEAD + "from halves import half\n@tf.function\ndef f(n):\n    return half(n)"
    assert found(code, tmp_path) == {("TFG108", 4)}


def test_a_notebook_is_read(tmp_path: Path) -> None:
    cells = notebook("import tensorflow as tf", RECURSIVE["plain"])
    assert {code for code, _ in found(cells, tmp_path, "x.ipynb")} == {"TFG108"}


def test_the_calls_are_reported(tmp_path: Path) -> None:
    ((_, finding),) = findings(HEAD + RECURSIVE["several calls"], tmp_path)
    assert [note.message for note in finding.notes] == ["calls `fib`", "calls `fib`"]


@pytest.mark.slow
def test_tracing_never_ends_or_goes_level_by_level() -> None:
    """Protects the rule's claim, with the installed TensorFlow."""
    tf = pytest.importorskip("tensorflow")
    traces = 0

    @tf.function
    def depth(x, levels):  # type: ignore[no-untyped-def]
        nonlocal traces
        traces += 1
        return x if levels == 0 else depth(x, levels - 1)

    depth(tf.constant(1.0), 6)
    assert traces == 7

    @tf.function(autograph=False)
    def factorial(n):  # type: ignore[no-untyped-def]
        return tf.cond(n <= 1, lambda: 1, lambda: n * factorial(n - 1))

    with pytest.raises(Exception, match="recursion"):
        factorial(tf.constant(3))
