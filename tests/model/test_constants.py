"""Constants that flow, and everything that must stay unknown."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest
from checks import model_of

from tflint_gpu.model.python.value_flow.constants import UNKNOWN

KNOWN = [
    ("1", 1),
    ("-2.5", -2.5),
    ("'a' 'b'", "ab"),
    ("f'/GPU:{N}'", "/GPU:3"),
    ("'/'.join(['a', 'b'])", "a/b"),
    ("'a/' + 'b'", "a/b"),
    ("'/GPU:%d' % N", "/GPU:3"),
    ("'/GPU:{}'.format(N)", "/GPU:3"),
    ("(1, 'x', None)", (1, "x", None)),
    ("{'a': 1, **{'b': N}}", {"a": 1, "b": 3}),
    ("dict(a=1)['a']", 1),
    ("N * 2 // 4", 1),
    ("int('7')", 7),
    ("1 if q else 1", 1),
    ("(1, 2)[1]", 2),
    ("not 0", True),
    ("2 * math.pi", 2 * math.pi),
    ("[numpy.e][0]", math.e),
]
UNKNOWN_VALUES = [
    "q",
    "f()",
    "1 if q else 2",
    "N / 0",
    "'\0'",  # in a file that Python refuses and libcst reads
    "open('x').read()",
    "[1, *q]",
    "{q: 1}",
    "x.y",
    "f'{q}'",
    "[1][5]",
]


@pytest.mark.parametrize(("text", "value"), KNOWN)
def test_known(text: str, value: Any, tmp_path: Path) -> None:
    """Protects recall of all rules that need a number or a string."""
    model = model_of(f"import math, numpy\nN = 3\nresult({text})\n", tmp_path)
    call = next(c for c in model.file.tree.calls if getattr(c.func, "value", "") == "result")
    assert model.value(call.args[0].value) == value


@pytest.mark.parametrize("text", UNKNOWN_VALUES)
def test_unknown(text: str, tmp_path: Path) -> None:
    """Protects precision: nothing is guessed."""
    model = model_of(f"N = 3\nresult({text})\n", tmp_path)
    call = next(c for c in model.file.tree.calls if getattr(c.func, "value", "") == "result")
    assert model.value(call.args[0].value) is UNKNOWN


@pytest.mark.parametrize(
    ("code", "value"),
    [
        ("x = 1\nresult(x)\nx = 2", 1),
        ("x = 1\nx = 2\nresult(x)", 2),
        ("if a:\n    x = 1\nelse:\n    x = 2\nresult(x)", UNKNOWN),
        ("if a:\n    x = 1\nelse:\n    x = 1\nresult(x)", 1),
        ("x = 1\nif a:\n    x = 2\nresult(x)", UNKNOWN),
        ("x = 1\nif a:\n    x = 2\n    raise SystemExit\nresult(x)", 1),
        ("if a:\n    x = 1\nelif b:\n    raise ValueError\nelse:\n    x = 1\nresult(x)", 1),
        ("if a:\n    x = 1\nelse:\n    result(x)\n    x = 2", UNKNOWN),
        ("x = 1\nfor i in y:\n    result(x)\n    x = 2", UNKNOWN),
        ("for i in y:\n    x = 1\n    result(x)\n    x = 2", 1),
        ("x = 1\nwhile a:\n    x = x + 1\nresult(x)", UNKNOWN),
        ("with a:\n    x = 1\nresult(x)", 1),
        ("x, (y, z) = 1, (2, 3)\nresult(z)", 3),
        ("x = y = 4\nresult(x)", 4),
        ("x = 1\nx += 1\nresult(x)", UNKNOWN),
        ("x = 1\ndef f():\n    result(x)", 1),
        ("x = 1\ndef f():\n    result(x)\nx = 2", UNKNOWN),
        ("x = 1\ndef g():\n    global x\n    x = 2\ndef f():\n    result(x)", UNKNOWN),
        ("def f(x=1):\n    result(x)", UNKNOWN),
        ("for x in (1, 1):\n    result(x)", 1),
        ("for x in (1, 2):\n    result(x)", UNKNOWN),
        ("x = 1\ndel x\nresult(x)", UNKNOWN),
        ("try:\n    x = 1\nexcept E:\n    x = 2\nresult(x)", UNKNOWN),
        ("class A:\n    x = 5\n    def f(self):\n        result(self.x)", 5),
        ("class A:\n    def __init__(self):\n        self.x = 5\n    def f(self):\n        result(self.x)", 5),
        ("class A:\n    def __init__(self, x):\n        self.x = x\n    def f(self):\n        result(self.x)", UNKNOWN),
        ("class B:\n    x = 5\nclass A(B):\n    def f(self):\n        result(self.x)", 5),
        (
            "class A:\n    def __init__(self):\n        self.x = 5\n    def f(self):\n        self.x += 1\n        result(self.x)",
            UNKNOWN,
        ),
        ("x = {'a': 1}\nx['a'] = 2\nresult(x['a'])", UNKNOWN),
        ("x = {'a': 1}\nx.update(a=2)\nresult(x['a'])", UNKNOWN),
    ],
)
def test_order_of_the_code(code: str, value: Any, tmp_path: Path) -> None:
    """Protects flow: a value is what the code must have made it, or unknown."""
    model = model_of(code + "\n", tmp_path)
    call = next(c for c in model.file.tree.calls if getattr(c.func, "value", "") == "result")
    constant = model.value(call.args[0].value)
    assert constant is UNKNOWN if value is UNKNOWN else constant == value


@pytest.mark.parametrize(
    "code",
    [
        "".join(f"a{i + 1} = a{i} + a{i}\n" for i in range(60)) + "a60\n",
        "a1 = 1\nwhile q:\n" + "".join(f"    a{i} = a{i + 1} + a{i + 2}\n" for i in range(1, 90)) + "a1\n",
        "a = b = c" + "\nwhile a or (not b):\n    a = b = " + "b and (not a) or " * 40 + "c\na\n",
        "x = 1\n" + "x = x + 1\n" * 3000 + "x\n",
        "'{:>2000000000}'.format(1)\n",
        "'{:>{}}'.format(1, 2000000000)\n",
        "'%2000000000d' % 1\n",
        "20000000000 * 'ab'\n",
        "f'{" + "9" * 4000 + " * " + "9" * 4000 + "}'\n",
    ],
)
def test_what_would_be_too_large_is_unknown(code: str, tmp_path: Path) -> None:
    """Protects from endless work: doublings of doublings, names in circles, text as long as a disk."""
    file = (model := model_of(code, tmp_path)).file
    last = file.tree.module.body[-1].body[0].value
    assert model.constants.of(file, last) is UNKNOWN
