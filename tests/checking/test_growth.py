"""Protects against a check whose work grows as the square of the program: calls of functions are counted, not seconds."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from checks import findings

HEAD = "import tensorflow as tf\nmodel = tf.keras.Sequential([tf.keras.layers.Dense(1)])\n"


def _statements(n: int) -> str:
    lines = "".join(f"    x = tf.sin(x) + {i}\n" if i % 5 else f"    if c{i}:\n        x = x * {i}\n" for i in range(n))
    return f"{HEAD}@tf.function\ndef f(x):\n{lines}    return x\nfor x in tf.data.Dataset.range(9):\n    f(x)\n"


def _sites(n: int) -> str:
    calls = "".join(
        f"d{i} = make(tf.data.Dataset.range({i + 9}), {i % 7 + 1})\nmodel.fit(d{i})\n" for i in range(n // 2)
    )
    return f"{HEAD}def make(ds, size):\n    return ds.batch(size)\n{calls}"


def _graph(n: int) -> str:
    functions = "".join(f"def f{i}(x):\n    return f{i + 1}(x) + f{min(i + 2, n)}(x)\n" for i in range(n))
    return (
        f"{HEAD}{functions}def f{n}(x):\n    return model(x)\nfor x in tf.data.Dataset.range(99).batch(4):\n    f0(x)\n"
    )


def _layers(n: int) -> str:
    parts = "".join(
        f"m{i} = tf.keras.Sequential([tf.keras.layers.LSTM({i + 1})])\nm{i}.fit(xs, ys)\n" for i in range(n // 2)
    )
    return f"{HEAD}{parts}"


@pytest.mark.parametrize("made", [_statements, _sites, _graph, _layers])
def test_twice_the_program_is_about_twice_the_work(made: Callable[[int], str], tmp_path: Path) -> None:
    findings(made(10), tmp_path)  # what is imported and built once is not counted
    small, large = (_work(lambda n=n: findings(made(n), tmp_path)) for n in (100, 200))  # type: ignore[misc]
    assert large < 2.6 * small


def _iterations(n: int) -> str:
    ways = "".join(f"    def way{i}(self):\n        return Rows(self)\n" for i in range(n))
    loops = "".join(f"        for row in self.way{i}():\n            yield row\n" for i in range(n))
    return (
        f"{HEAD}class Rows:\n    def __init__(self, rows):\n        self.rows = rows\n{ways}    def __iter__(self):\n"
        f"{loops}for row in Rows(load()):\n    model.predict(row)\n"
    )


def test_objects_that_make_each_other_do_not_multiply_with_each_level(tmp_path: Path) -> None:
    """Protects generators that go over generators of their own class: 3 ways on 8 levels were 6561 objects."""
    findings(_iterations(1), tmp_path)
    two, three = (_work(lambda n=n: findings(_iterations(n), tmp_path)) for n in (2, 3))  # type: ignore[misc]
    assert three < 12 * two  # with each of eight levels it would be 26 times


def _work(check: Callable[[], object]) -> int:
    """How many functions are called, those written in C too."""
    count = 0

    def see(frame: object, event: str, argument: Any) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(see)
    try:
        check()
    finally:
        sys.setprofile(before)
    return count
