"""Objects that a `tf.function` keeps as keys: no fix where they have no hash, or take no weak references."""

from __future__ import annotations

from pathlib import Path

import pytest
from checks import findings, fixed
from fixed_programs import assert_same, results

HEAD = """\
import abc
import collections
import dataclasses
from dataclasses import dataclass
from typing import NamedTuple

import tensorflow as tf

CLASS

rows = tf.reshape(tf.range(12.0), [4, 3]) / 12
learner = Learner()
"""
METHOD = """
    def step(self, x):
        with tf.GradientTape() as tape:
            miss = tf.reduce_mean(tf.square(x @ weight - x[:, :1]))
        weight.assign_sub(0.05 * tape.gradient(miss, weight))
        return miss
"""
RUN = """
for turn in range(50):
    learner.step(rows)
result = [weight.numpy()]
"""
FUNCTION = """
def step(learner, x):
    with tf.GradientTape() as tape:
        miss = tf.reduce_mean(tf.square(x @ weight - x[:, :1]))
    weight.assign_sub(0.05 * tape.gradient(miss, weight))
    return miss


for turn in range(50):
    step(learner, rows)
result = [weight.numpy()]
"""
EQUAL = "    def __eq__(self, other):\n        return self is other\n"
HASH = "    def __hash__(self):\n        return 3\n"
BASE = "class Above:\n    BODY\n\n\nclass Learner(Above):\n    size = 1\n"
UNHASHABLE = {
    "equality": "class Learner:\n" + EQUAL,
    "no hash": "class Learner:\n    __hash__ = None\n",
    "equality above": BASE.replace("    BODY\n", EQUAL),
    "a set": "class Learner(set):\n    size = 1\n",
    "a deque": "class Learner(collections.deque):\n    size = 1\n",
    "a dataclass": "@dataclass\nclass Learner:\n    size: int = 1\n",
    "a dataclass above": "@dataclasses.dataclass\n" + BASE.replace("BODY", "width: int = 1"),
    "a frozen dataclass of a list": "@dataclass(frozen=True)\nclass Learner:\n"
    "    sizes: list = dataclasses.field(default_factory=list)\n",
}
STRUCTURES = {
    "a dictionary": "class Learner(dict):\n    size = 1\n",
    "a list": "class Learner(list):\n    size = 1\n",
    "an ordered dictionary": "class Learner(collections.OrderedDict):\n    size = 1\n",
}
SLOTTED = {
    "slots": "class Learner:\n    __slots__ = ('size',)\n",
    "slots and a dictionary": "class Learner:\n    __slots__ = ['size', '__dict__']\n",
    "slots all the way": BASE.replace("BODY", "__slots__ = ()").replace("size = 1", "__slots__ = ('size',)"),
    "slots of an abstract class": "class Learner(abc.ABC):\n    __slots__ = ('size',)\n",
    "slots of a dataclass": "@dataclass(slots=True, frozen=True)\nclass Learner:\n    size: int = 1\n",
    "a named tuple": "class Learner(NamedTuple):\n    size: int = 1\n",
    "a tuple": "class Learner(tuple):\n    size = 1\n",
}
KEYS = {
    "plain": "class Learner:\n    size = 1\n",
    "equality and hash": "class Learner:\n" + EQUAL + HASH,
    "hash below": BASE.replace("    BODY\n", EQUAL) + HASH,
    "a hash that is assigned": "class Learner:\n" + EQUAL + "    __hash__ = object.__hash__\n",
    "slots with a place": "class Learner:\n    __slots__ = ('size', '__weakref__')\n",
    "slots below a class without": BASE.replace("BODY", "width = 1").replace("size = 1", "__slots__ = ('size',)"),
    "slots above": BASE.replace("BODY", "__slots__ = ()"),
    "a frozen dataclass": "@dataclass(frozen=True)\nclass Learner:\n    size: int = 1\n",
    "a dataclass by identity": "@dataclass(eq=False)\nclass Learner:\n    size: int = 1\n",
    "a dataclass with a hash": "@dataclass(unsafe_hash=True)\nclass Learner:\n    size: int = 1\n",
    "a dataclass with its own hash": "@dataclass\nclass Learner:\n    size: int = 1\n" + HASH,
}
WEIGHT = "\nweight = tf.Variable(tf.ones([3, 1]))\n"


def method_of(name: str) -> str:
    """A program that runs a method of a class in a loop."""
    kinds = {**UNHASHABLE, **STRUCTURES, **SLOTTED, **KEYS}
    return HEAD.replace("CLASS", kinds[name] + METHOD + "\n" + WEIGHT) + RUN


def function_of(name: str) -> str:
    """A program that runs a function of an object in a loop."""
    kinds = {**UNHASHABLE, **STRUCTURES, **SLOTTED, **KEYS}
    return HEAD.replace("CLASS", kinds[name] + "\n" + WEIGHT) + FUNCTION


@pytest.mark.parametrize("case", [*UNHASHABLE, *STRUCTURES, *SLOTTED])
def test_no_fix_makes_a_method_need_a_key(case: str, tmp_path: Path) -> None:
    code = method_of(case)
    (told,) = [f for rule, f in findings(code, tmp_path) if rule.code == "TFG202"]
    assert told.fix is None
    assert ("weak references" if case in SLOTTED else "is not hashable") in (told.help or "")
    once = code.replace("range(50)", "range(1)")
    results(once)
    with pytest.raises(TypeError, match="weak reference" if case in SLOTTED else "unhashable"):
        results(once.replace("    def step", "    @tf.function\n    def step"))


@pytest.mark.parametrize("case", [case for case in KEYS if "dataclass" not in case])
def test_a_method_of_what_is_a_key_is_traced(case: str, tmp_path: Path) -> None:
    code = method_of(case)
    after = fixed(code, tmp_path, "TFG202")
    assert "@tf.function\n    def step" in after
    assert_same(code.replace("range(50)", "range(2)"), after.replace("range(50)", "range(2)"))


@pytest.mark.parametrize("case", [case for case in KEYS if "dataclass" in case])
def test_a_dataclass_with_a_hash_is_no_reason(case: str, tmp_path: Path) -> None:
    code = method_of(case)
    (told,) = [f for rule, f in findings(code, tmp_path) if rule.code == "TFG202"]
    assert "is not hashable" not in (told.help or "")
    once = code.replace("range(50)", "range(2)")
    assert_same(once, once.replace("    def step", "    @tf.function\n    def step"))


@pytest.mark.parametrize("case", UNHASHABLE)
def test_no_fix_hands_over_what_is_no_key(case: str, tmp_path: Path) -> None:
    code = function_of(case)
    (told,) = [f for rule, f in findings(code, tmp_path) if rule.code == "TFG202"]
    assert told.fix is None or told.fix.message.startswith("Move the step into ")
    assert "is not hashable" in (told.help or "")
    with pytest.raises(TypeError, match="TraceType"):
        results(code.replace("\ndef step", "\n@tf.function\ndef step"))


@pytest.mark.parametrize("case", [*STRUCTURES, *SLOTTED])
def test_structures_and_slots_are_arguments(case: str, tmp_path: Path) -> None:
    code = function_of(case)
    (told,) = [f for rule, f in findings(code, tmp_path) if rule.code == "TFG202"]
    assert "is not hashable" not in (told.help or "")
    once = code.replace("range(50)", "range(2)")
    assert_same(once, once.replace("\ndef step", "\n@tf.function\ndef step"))


def test_a_class_below_that_compares_counts(tmp_path: Path) -> None:
    below = "class Above:\n    size = 1\n" + METHOD + "\n\nclass Learner(Above):\n" + EQUAL + WEIGHT
    (told,) = [f for rule, f in findings(HEAD.replace("CLASS", below) + RUN, tmp_path) if rule.code == "TFG202"]
    assert told.fix is None
    assert "`Learner` is not hashable" in (told.help or "")
