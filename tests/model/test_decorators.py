"""Protects what is known of functions that are decorated or put into a class: what runs, with which `self`."""

from __future__ import annotations

from pathlib import Path

import pytest
from checks import found, model_of

LEAVES = {
    "hands its function back": "def mark(f):\n    f.marked = True\n    return f\n@mark\ndef g(): pass",
    "a registry": "NAMES = {}\ndef known(name):\n    def keep(f):\n        NAMES[name] = f\n        return f\n    return keep\n"
    "@known('a')\ndef g(): pass",
    "calls it with its arguments": "import functools, time\ndef timed(f):\n    @functools.wraps(f)\n    def inner(*a, **k):\n"
    "        start = time.time()\n        result = f(*a, **k)\n        print(f.__name__, time.time() - start)\n"
    "        return result\n    return inner\n@timed\ndef g(): pass",
    "a method of a class": "class Net:\n    @classmethod\n    def adds(cls, f):\n        setattr(cls, f.__name__, f)\n"
    "        return f\n@Net.adds\ndef g(self): pass",
}
REPLACES = {
    "traces it": "import tensorflow as tf\ndef fast(f):\n    return tf.function(f)\n@fast\ndef g(): pass",
    "traces what calls it": "import functools\nimport tensorflow as tf\ndef fast(f):\n    @tf.function\n"
    "    @functools.wraps(f)\n    def inner(*a):\n        return f(*a)\n    return inner\n@fast\ndef g(): pass",
    "binds the name again": "import tensorflow as tf\ndef fast(f):\n    f = tf.function(f)\n    return f\n@fast\ndef g(): pass",
    "calls it on a condition": "def once(f):\n    def inner(*a):\n        if a:\n            return f(*a)\n    return inner\n"
    "@once\ndef g(): pass",
    "returns something else": "def count(f):\n    def inner(*a):\n        f(*a)\n        return 1\n    return inner\n@count\ndef g(): pass",
    "of nobody knows whom": "from elsewhere import d\n@d\ndef g(): pass",
    "hands it to somebody": "def on(f):\n    def inner(*a):\n        return run(f, a)\n    return inner\n@on\ndef g(): pass",
}
KEEPS = {
    "functools": "from functools import lru_cache\n@lru_cache()\ndef g(): pass",
    "a dictionary": "def kept(f):\n    known = {}\n    def inner(*key):\n        if key in known:\n            return known[key]\n"
    "        value = f(*key)\n        known[key] = value\n        return value\n    return inner\n@kept\ndef g(): pass",
    "a dictionary that is asked first": "def kept(f):\n    known = {}\n    def inner(key):\n        if key not in known:\n"
    "            known[key] = f(key)\n        return known[key]\n    return inner\n@kept\ndef g(): pass",
}


def decorated(code: str, folder: Path) -> tuple[bool, bool]:
    """Whether `g` may be replaced, and whether its results are kept."""
    model = model_of(code, folder)
    (function,) = (f for f in model.file.tree.functions if getattr(getattr(f, "name", None), "value", "") == "g")
    decorators = model.inference.definitions.decorators
    return decorators.may_replace(model.file, function), decorators.keep_results(model.file, function)


@pytest.mark.parametrize("code", LEAVES.values(), ids=LEAVES)
def test_a_decorator_that_changes_nothing_is_seen_through(code: str, tmp_path: Path) -> None:
    assert decorated(code, tmp_path) == (False, False)


@pytest.mark.parametrize("code", REPLACES.values(), ids=REPLACES)
def test_a_decorator_that_may_run_something_else_is_not(code: str, tmp_path: Path) -> None:
    assert decorated(code, tmp_path) == (True, False)


@pytest.mark.parametrize("code", KEEPS.values(), ids=KEEPS)
def test_a_decorator_that_keeps_results(code: str, tmp_path: Path) -> None:
    assert decorated(code, tmp_path)[1]


def test_a_decorator_of_another_file_is_read_there(tmp_path: Path) -> None:
    (tmp_path / "registry.py").write_text("def known(f):\n    return f\n")
    assert decorated("from registry import known\n@known\ndef g(): pass", tmp_path) == (False, False)


ADDED = {
    "assigned": "def reply(self, text):\n{body}\nTalker.reply = reply\n",
    "by a decorator": "@Talker.learns\ndef reply(self, text):\n{body}\n",
}
TALKER = """import tensorflow as tf
class Talker(tf.keras.Model):
    @classmethod
    def learns(cls, skill):
        setattr(cls, skill.__name__, skill)
        return skill
    def __init__(self):
        super().__init__()
        self.out = tf.keras.layers.Dense(8)
    def call(self, ids):
        return self.out(ids)
"""
BODY = """    for _ in range(40):
        text = tf.concat([text, tf.argmax(self(text).numpy(), -1)[:, None]], 1)
    return text"""


@pytest.mark.parametrize("code", ADDED.values(), ids=ADDED)
def test_a_function_that_is_put_into_a_class_is_its_method(code: str, tmp_path: Path) -> None:
    program = TALKER + code.format(body=BODY) + "print(Talker().reply(tf.zeros((1, 4))))\n"
    row = 1 + program[: program.index("self(text)")].count("\n")
    assert found(program, tmp_path) == {("TFG214", row)}
