"""Programs before and after the fixes of a rule, run with the installed TensorFlow."""

from __future__ import annotations

import linecache
import re
from pathlib import Path
from typing import Any

import pytest
from checks import findings, fixed

HEAD = """\
import numpy as np
import tensorflow as tf

tf.keras.utils.set_random_seed(7)
data = np.random.default_rng(0).normal(size=(24, 4)).astype("float32")  # the same in every run
"""

_MANY_STEPS = re.compile(r"(for \w+ in range)\((?:[3-9]\d|\d{3})\):")


def stable(code: str, folder: Path, rule: str) -> str:
    """The text after a rule's fixes, when another pass changes nothing more; none of its findings may be left."""
    for _ in range(5):
        after = fixed(code, folder, rule)
        if after == code:
            break
        code = after
    compile(code, "fixed.py", "exec")
    assert rule not in {found.code for found, _ in findings(code, folder)}
    return code


def results(code: str) -> list[Any]:
    """What a program leaves in `result`."""
    tf = pytest.importorskip("tensorflow")
    scope: dict[str, Any] = {"__name__": "__main__"}
    tf.keras.backend.clear_session()  # with it goes the policy: a layer that was made before has fixed it
    try:
        exec(compile(code, _with_source(code), "exec"), scope)
    finally:
        tf.keras.backend.set_floatx("float32")
        tf.keras.backend.clear_session()
    return list(scope["result"])


def _with_source(code: str) -> str:
    """The name under which Python finds a program's source, which AutoGraph reads."""
    name = f"<program {hash(code)}>"
    linecache.cache[name] = (len(code), None, code.splitlines(keepends=True), name)
    return name


def assert_same_results(rule: str, program: str, parts: list[str], folder: Path) -> None:
    """A rule's fixes of a program after HEAD leave what it computes, its comments, and parts of its text."""
    before = HEAD + program
    after = stable(before, folder, rule)
    for part in parts:
        assert part in after, after
    assert before.count("#") == after.count("#")
    assert_same(of_few_steps(before), of_few_steps(after))


def of_few_steps(code: str) -> str:
    """The same program, to compare what it computes: rules find loops of many steps, and a few give the same answer."""
    return _MANY_STEPS.sub(r"\1(4):", code)


def assert_same(before: str, after: str) -> None:
    np = pytest.importorskip("numpy")
    old, new = results(before), results(after)
    assert len(old) == len(new)
    for expected, value in zip(old, new, strict=True):
        np.testing.assert_allclose(np.asarray(value), np.asarray(expected), rtol=1e-5, atol=1e-6)
