"""Protects against a check whose work grows as the square of the program: calls of functions are counted, not seconds."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from checks import ALL_RULES, findings
from repeated import TRAINING_LOOP, repeated

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


@pytest.mark.slow
def test_objects_that_make_each_other_do_not_multiply_with_each_level(tmp_path: Path) -> None:
    """Protects generators that go over generators of their own class: 3 ways on 8 levels were 6561 objects."""
    findings(_iterations(1), tmp_path)
    two, three = (_work(lambda n=n: findings(_iterations(n), tmp_path)) for n in (2, 3))  # type: ignore[misc]
    assert three < 12 * two  # with each of eight levels it would be 26 times


def _classes(n: int) -> str:
    part = "class Net(tf.keras.Model):\n    def __init__(self):\n        self.dense = tf.keras.layers.Dense(3)\n"
    return repeated(f"import tensorflow as tf\n{part}    def call(self, x):\n        return self.dense(x)\n", n)


def _loops(n: int) -> str:
    return repeated(TRAINING_LOOP, n)


def _functions(n: int) -> str:
    lines = TRAINING_LOOP.strip().splitlines()
    body = "".join(f"    {line}\n" for line in lines[1:])
    return repeated(f"{lines[0]}\ndef train(xs, ys):\n{body}", n)


def _examples(*codes: str) -> Callable[[int], str]:
    chosen = [rule.example("Example") for rule in ALL_RULES if rule.code in codes]
    return lambda n: "".join(repeated(example, n) for example in chosen)


@pytest.mark.slow
@pytest.mark.parametrize(
    "made", [_classes, _loops, _functions, _examples("TFG204", "TFG209", "TFG405", "TFG406", "TFG505", "TFG606")]
)
def test_no_function_is_called_by_the_square(made: Callable[[int], str], tmp_path: Path) -> None:
    """Protects each function by itself: at this size the sum would not show one that looks at all for each."""
    findings(made(2), tmp_path)
    small, large = (_calls(lambda n=n: findings(made(n), tmp_path)) for n in (8, 16))  # type: ignore[misc]
    squares = {name: (small[name], calls) for name, calls in large.items() if calls > max(2.8 * small[name], 600)}
    assert {name for name in squares if not name.startswith(_OF_ALL_VARIABLES)} == set()


_OF_ALL_VARIABLES = ("values.joined:", "values.same:")
"""Of the interpreter: after each branch it compares the values of all variables, so n branches with n variables."""


def _calls(check: Callable[[], object]) -> Counter[str]:
    """How often each function of the checker is called."""
    calls: Counter[str] = Counter()

    def see(frame: Any, event: str, argument: Any) -> None:
        code = frame.f_code
        if event == "call" and ("tflint_gpu" in code.co_filename or "rules" in code.co_filename):
            calls[f"{Path(code.co_filename).stem}.{code.co_name}:{code.co_firstlineno}"] += 1

    with _seen_by(see):
        check()
    return calls


def _work(check: Callable[[], object]) -> int:
    """How many functions are called, those written in C too."""
    count = 0

    def see(frame: object, event: str, argument: Any) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    with _seen_by(see):
        check()
    return count


@contextmanager
def _seen_by(see: Callable[[Any, str, Any], None]) -> Iterator[None]:
    before = sys.getprofile()
    sys.setprofile(see)
    try:
        yield
    finally:
        sys.setprofile(before)
