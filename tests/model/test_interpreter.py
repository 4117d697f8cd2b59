"""What the interpreter computes is what Python does, and nothing where the code leaves it open."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from checks import model_of

from tflint_gpu.model.interpreter.interpreter import Interpreter
from tflint_gpu.model.interpreter.values import DictValue, ListValue
from tflint_gpu.model.networks.construction.keras import Keras
from tflint_gpu.model.python.value_flow.constants import UNKNOWN

KNOWN = {
    "arithmetic": "result = (2 + 3) * 4 - 7 // 2 ** 2 + 1.5",
    "comparisons": "result = [1 < 2 < 3, 'a' in 'abc', 3 not in (1, 2), None is None, not 0]",
    "a loop that grows": "result = []\nfor i in range(5):\n    if i == 3:\n        continue\n    result.append(i * i)",
    "break": "result = 0\nfor i in range(10):\n    if i > 4:\n        break\n    result += i",
    "while": "result = [1]\nwhile result[-1] < 100:\n    result.append(result[-1] * 2)",
    "while true": "n = 0\nwhile True:\n    n += 1\n    if n == 7:\n        break\nresult = n",
    "functions": "def f(a, b=2, *c, d, **e):\n    return a, b, c, d, e['x']\nresult = f(1, d=4, x=5), f(1, 2, 3, d=4, x=5)",
    "closures": "def outer(n):\n    def inner(x):\n        return x * n\n    return inner\nresult = outer(3)(4)",
    "recursion": "def down(n):\n    return [n] + down(n - 1) if n else []\nresult = down(4)",
    "nonlocal": "def f():\n    n = 0\n    def g():\n        nonlocal n\n        n += 1\n    g()\n    g()\n    return n\nresult = f()",
    "global": "n = 1\ndef f():\n    global n\n    n = 5\nf()\nresult = n",
    "partial": "from functools import partial\ndef f(a, b):\n    return a - b\nresult = partial(f, 7)(b=2), partial(f, b=1)(9)",
    "unpacking": "a, (b, *c), d = 1, (2, 3, 4), 5\nresult = [a, b, c, d]",
    "star arguments": "def f(*a, **k):\n    return a, sorted(k)\nresult = f(*[1, 2], **{'x': 1, 'y': 2})",
    "dicts": "d = {'a': 1, **{'b': 2}}\nd['c'] = 3\nd.update(e=4)\nresult = [(k, v) for k, v in d.items()] + [d.get('z', 9)]",
    "lists": "l = [3, 1]\nl += [2]\nl.insert(0, 9)\nl[1] = 7\nl.extend((5, 6))\nresult = l[1:-1], l.pop(), l[::-1], len(l)",
    "comprehensions": "result = [(i, j) for i in range(3) if i != 1 for j in 'ab'], {k: k * 2 for k in (1, 2)}[2]",
    "zip and enumerate": "result = [(i, a, b) for i, (a, b) in enumerate(zip([1, 2], reversed([3, 4])), 1)]",
    "classes": "class A:\n    base = 2\n    def __init__(self, n=3):\n        self.n = n\n    def times(self, k):\n"
    "        return self.n * k * self.base\nclass B(A):\n    base = 5\n    def times(self, k):\n        return super().times(k) + 1\n"
    "result = [A().times(2), B(4).times(1)]",
    "properties": "class A:\n    def __init__(self):\n        self._n = 4\n    @property\n    def n(self):\n        return self._n\n"
    "    @staticmethod\n    def two():\n        return 2\n    @classmethod\n    def make(cls):\n        return cls()\n"
    "result = [A().n, A.two(), A.make().n]",
    "dataclass": "from dataclasses import dataclass\n@dataclass\nclass C:\n    size: int\n    depth: int = 3\nc = C(8)\n"
    "result = c.size, c.depth, C(1, depth=2).depth",
    "text": "n = 3\nresult = f'block{n}_{n + 1}' + 'x'.upper() + ','.join(['a', 'b']) + '{}'.format(n)",
    "a text cut up": "result = 'abc'.split('b')[0]",
    "try": "try:\n    a = 1\nexcept ValueError:\n    raise\nelse:\n    a = 2\nfinally:\n    b = 3\nresult = a, b",
    "with": "import contextlib\nwith contextlib.suppress(ValueError):\n    result = 4",
    "walrus and ternary": "result = (n := 5) + (1 if n > 3 else 0)",
    "math": "import math\nimport numpy as np\nresult = math.ceil(5 / 2), int(math.log2(8)), max(3, 4), sum([1, 2]), math.prod((2, 3))",
    "delete": "d = [1, 2]\nx = 5\ndel x\nx = 6\nresult = x",
    "main guard": "if __name__ == '__main__':\n    result = 1\nelse:\n    result = 2",
}
OPEN = {
    "an unknown condition": "x = 1\nif flag:\n    x = 2\nresult = x",
    "two ways": "if flag:\n    x = 1\nelse:\n    x = 2\nresult = x",
    "perhaps appended": "l = [1]\nif flag:\n    l.append(2)\nresult = len(l)",
    "perhaps returned": "def f():\n    if flag:\n        return 1\n    return 2\nresult = f()",
    "an unknown loop": "l = []\nfor x in data:\n    l.append(1)\nresult = len(l)",
    "perhaps left": "n = 0\nfor i in range(5):\n    if data[i]:\n        break\n    n += 1\nresult = n",
    "given to unknown code": "l = [1]\nchange = load()\nchange(l)\nresult = len(l)",
    "shuffled": "import random\nl = [1, 2]\nrandom.shuffle(l)\nresult = l[0]",
    "an attribute perhaps set": "class A:\n    pass\na = A()\na.n = 1\nif flag:\n    a.n = 2\nresult = a.n",
    "a generator": "def f():\n    yield 1\nresult = f()",
    "an unknown decorator": "@load()\ndef f():\n    return 1\nresult = f()",
    "handled": "x = 1\ntry:\n    x = load()\nexcept ValueError:\n    x = 2\nresult = x",
    "an argument of the command line": "import argparse\nresult = argparse.ArgumentParser().parse_args().n",
    "a loop without end": "n = 0\nwhile True:\n    n += 1\nresult = n",
}
SAME = {
    "both ways give one": ("if flag:\n    x = 1\nelse:\n    x = 1\nresult = x", 1),
    "a way that raises": ("x = 1\nif flag:\n    x = 2\n    raise ValueError\nresult = x", 1),
    "what a branch makes for itself": ("x = 1\nif flag:\n    l = []\n    l.append(2)\nresult = x", 1),
    "what an unknown loop leaves alone": ("x = [1]\nfor y in data:\n    z = y\nresult = x", [1]),
}


def value(code: str, folder: Path) -> Any:
    """What the interpreter has in `result`."""
    model = model_of("import tensorflow\n" + code + "\n", folder)
    run = Interpreter(model.project, model.inference.definitions, model.file, Keras)
    assert run.run()
    return plain(run.module(model.file).variables.get("result", UNKNOWN))


def plain(value: Any) -> Any:
    """A value as Python has it."""
    if isinstance(value, ListValue):
        return UNKNOWN if value.is_lost else [plain(item) for item in value.items]
    if isinstance(value, DictValue):
        return UNKNOWN if value.is_lost else {key: plain(item) for key, item in value.items.items()}
    return tuple(plain(item) for item in value) if isinstance(value, tuple) else value


@pytest.mark.parametrize("name", KNOWN)
def test_it_computes_what_python_does(name: str, tmp_path: Path) -> None:
    variables: dict[str, Any] = {"__name__": "__main__"}
    exec(KNOWN[name], variables)
    assert value(KNOWN[name], tmp_path) == variables["result"]


@pytest.mark.parametrize("name", OPEN)
def test_it_does_not_guess(name: str, tmp_path: Path) -> None:
    assert value(OPEN[name], tmp_path) is UNKNOWN


@pytest.mark.parametrize("name", SAME)
def test_what_is_the_same_on_all_ways_is_known(name: str, tmp_path: Path) -> None:
    code, expected = SAME[name]
    assert value(code, tmp_path) == expected


@pytest.mark.parametrize(
    "code",
    [
        "def f(n):\n    return f(n + 1)\nf(0)",
        "def f():\n    return g()\ndef g():\n    return f()\nf()",
        "l = []\nl.append(l)\nlen(l)\nunknown(l)",
        "x = " + "(" * 40 + "1" + ")" * 40,
        "for a in range(300):\n    for b in range(300):\n        for c in range(300):\n            x = a",
        "class A(A):\n    pass\nA().x",
        "x = [1] * 10 ** 9\ny = 2 ** 10 ** 9\nz = 'a' * 10 ** 9",
        "a, b = 1\nc = [1, 2][5]\nd = {}['x']\ne = 1 / 0\nf = None.x\ng = 3()\n",
        "import missing\nmissing.run(x for x in missing)",
    ],
)
def test_it_ends_on_every_program(code: str, tmp_path: Path) -> None:
    """Protects the check from programs that run long, or fail: only the budget may end a run early."""
    model = model_of(f"import tensorflow\n{code}\n", tmp_path)
    run = Interpreter(model.project, model.inference.definitions, model.file, Keras)
    assert run.run() or run.steps < 0
