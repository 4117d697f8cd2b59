"""What a value is: each case is a piece of Python whose `reveal(...)` must have exactly these origins."""

from __future__ import annotations

from pathlib import Path

import pytest
from checks import model_of

from tflint_gpu.bounds import MADE_WITHIN
from tflint_gpu.model import Model
from tflint_gpu.model.python.syntax.syntax import method_name
from tflint_gpu.model.python.value_flow.origins import Origin
from tflint_gpu.model.tensorflow.tracing.traced_code import TracedCode
from tflint_gpu.model.tensorflow.types.kinds import Kinds

LOCAL = {
    "kept in a file where there is none yet": (
        "import pickle\nif there:\n    x = pickle.load(f)\nelse:\n    x = a()\n    pickle.dump(x, f)\nreveal(x)",
        "a()",
    ),
    "kept in a file by another function": (
        "import pickle\ndef keep(x):\n    pickle.dump(x, f)\nx = pickle.load(f)\nreveal(x)",
        "pickle.load(f)",
    ),
    "binding that reaches": ("x = a()\nx = b()\nreveal(x)", "b()"),
    "both branches": ("if c:\n    x = a()\nelse:\n    x = b()\nreveal(x)", "a() | b()"),
    "bound twice in a branch": ("if c:\n    x = a()\n    x = b()\nelse:\n    x = d()\nreveal(x)", "b() | d()"),
    "bound twice in the only branch": ("x = a()\nif c:\n    x = b()\n    x = d()\nreveal(x)", "a() | d()"),
    "bound twice, once inside of more": (
        "if c:\n    if e:\n        x = a()\n    x = b()\nelse:\n    x = d()\nreveal(x)",
        "b() | d()",
    ),
    "bound twice in a try": ("try:\n    x = a()\n    x = b()\nexcept E:\n    pass\nreveal(x)", "a() | b()"),
    "bound twice in a loop": (
        "for i in r:\n    x = a()\n    if c:\n        break\n    x = b()\nreveal(x)",
        "a() | b()",
    ),
    "bound again before the iteration ends": (
        "x = a()\nfor i in r:\n    reveal(x)\n    x, y = b()\n    x = d(x)",
        "a() | d(x)",
    ),
    "bound again, if the iteration gets there": (
        "x = a()\nfor i in r:\n    reveal(x)\n    x = b()\n    if c:\n        continue\n    x = d()",
        "a() | b() | d()",
    ),
    "bound again, if nothing is raised": (
        "x = a()\nfor i in r:\n    try:\n        reveal(x)\n        x = b()\n        x = d()\n    except E:\n        pass",
        "a() | b() | d()",
    ),
    "bound again in one branch": (
        "x = a()\nwhile c:\n    reveal(x)\n    x = b()\n    if e:\n        x = d()",
        "a() | b() | d()",
    ),
    "read between two bindings": ("x = a()\nwhile c:\n    x = b()\n    reveal(x)\n    x = d()", "b()"),
    "ternary": ("reveal(a() if c else b())", "a() | b()"),
    "or default": ("def f(x=None):\n    reveal(x or make())\nf()", "make()"),
    "walrus": ("if (x := a()):\n    reveal(x)", "a()"),
    "with": ("with open_it() as x:\n    reveal(x)", "open_it()"),
    "unpacking": ("x, (y, z) = a(), (b(), c())\nreveal(z)", "c()"),
    "unpacked call": ("x, y = load()\nreveal(y)", "load()[1]"),
    "starred": ("x, *y = a(), b(), c()\nreveal(y)", "a() | b() | c()"),
    "loop over a display": ("for x in [a(), b()]:\n    reveal(x)", "a() | b()"),
    "comprehension variable": ("ys = [reveal(x) for x in (a(), b())]", "a() | b()"),
    "alternative imports": (
        "try:\n    import tensorflow as tf\nexcept ImportError:\n    tf = None\nreveal(tf.keras)",
        "tf.keras",
    ),
    "loop that goes on with its own value": ("x = a()\nfor i in r:\n    x = x\nreveal(x)", "a()"),
    "nothing defines it": ("reveal(model)", "model?"),
    "to be filled in": ("model = ...\nreveal(model)", "...?"),
}
CALL = {
    "argument": ("def f(x):\n    reveal(x)\nf(a())", "a()"),
    "keyword": ("def f(x, y):\n    reveal(y)\nf(1, y=a())", "a()"),
    "called as an item of a dictionary": ("def f(x):\n    reveal(x)\nF = {'f': f, 'g': other}\nF['f'](a())", "a()"),
    "called by the name of an item": (
        "def f(x):\n    reveal(x)\ndef g(x):\n    pass\nF = {'f': f, 'g': g}\nrun = F[args.name]\nrun(a())",
        "a()",
    ),
    "called by get": ("def f(x):\n    reveal(x)\nF = {'f': f}\nF.get('f')(a())", "a()"),
    "called in a loop over a list": ("def f(x):\n    reveal(x)\nfor one in [f]:\n    one(a())", "a()"),
    "all call sites": ("def f(x):\n    reveal(x)\nf(a())\nf(b())", "a() | b()"),
    "default of a call that leaves it out": ("def f(x=a()):\n    reveal(x)\nf()", "a()"),
    "nobody calls it": ("def f(x=a()):\n    reveal(x)", "x?"),
    "unpacked mapping": ("CFG = {'x': a()}\ndef f(x):\n    reveal(x)\nf(**CFG)", "a()"),
    "keywords that are handed on": ("def g(y, x):\n    reveal(x)\ndef f(y, **kw):\n    g(y, **kw)\nf(1, x=a())", "a()"),
    "keywords that are handed on twice": (
        "class A:\n    def __init__(self, x=d()):\n        self.x = x\nclass B(A):\n    def __init__(self, **kw):\n"
        "        super().__init__(**kw)\ndef make(**more):\n    return B(**more)\nreveal(make(x=a()).x)",
        "a()",
    ),
    "keywords that a constructor of the class hands on": (
        "class A:\n    def __init__(self, y, x=d()):\n        self.x = x\n    @classmethod\n    def read(cls, y, **kw):\n"
        "        return cls(y, **kw)\nclass B(A):\n    def get(self):\n        return self.x\nreveal(B.read(1, x=a()).get())",
        "a()",
    ),
    "default of keywords that lack it": (
        "def g(x=a()):\n    return x\ndef f(**kw):\n    return g(**kw)\nreveal(f(y=1))",
        "a()",
    ),
    "keywords that a function changes": (
        "def g(x=d()):\n    return x\ndef f(**kw):\n    kw['x'] = b()\n    return g(**kw)\nreveal(f(x=a()))",
        "**kw?[x]",
    ),
    "keywords that are given before": (
        "import functools\ndef g(x=d()):\n    return x\ndef f(**kw):\n    return g(**kw)\nrun = functools.partial(f, x=a())\n"
        "reveal(run())",
        "**kw?[x]",
    ),
    "unpacked pair": ("def f(p, x):\n    reveal(x)\npair = a(), b()\nf(*pair)", "b()"),
    "unpacked rest": ("def f(o, x, *, q):\n    reveal(x)\nrest = [a()]\nf(1, *rest, q=2)", "a()"),
    "unpacked for a base": (
        "class B:\n    def f(self, x):\n        reveal(x)\nclass C(B):\n    def f(self, *xs):\n        pass\n"
        "rest = (a(), b())\nB.f(C(), *rest)",
        "a()",
    ),
    "no default for what may be unpacked": ("def f(p, x=a()):\n    reveal(x)\nf(*read())", "read()[1]"),
    "default of what a mapping lacks": ("CFG = {'y': 1}\ndef f(y, x=a()):\n    reveal(x)\nf(**CFG)", "a()"),
    "default of what dict() lacks": ("def f(y, x=a()):\n    reveal(x)\nf(**dict(y=1))", "a()"),
    "mapping of unknown keys": ("CFG = {k: 1}\ndef f(x=a()):\n    reveal(x)\nf(**CFG)", "1"),
    "mapping that is updated": (
        "CFG = {'y': 1}\nCFG.update(read())\ndef f(y, x=a()):\n    reveal(x)\nf(**CFG)",
        "{'y': 1}[x]",
    ),
    "mapping that a key is stored in": (
        "CFG = dict(y=1)\nCFG[name] = b()\ndef f(y, x=a()):\n    reveal(x)\nf(**CFG)",
        "b()",
    ),
    "partial": ("import functools\ndef f(m, x):\n    reveal(m)\ng = functools.partial(f, a())\ng(b())", "a()"),
    "after a partial": ("import functools\ndef f(m, x):\n    reveal(x)\ng = functools.partial(f, a())\ng(b())", "b()"),
    "handed on by a strategy, with a name": (
        "def f(x, y):\n    reveal(y)\npair = (a(), b())\nstrategy.run(f, args=pair)",
        "b()",
    ),
    "handed on by a strategy": ("def f(x, y):\n    reveal(y)\nstrategy.run(f, args=(a(), b()))", "b()"),
    "function given to a function": ("def each(g):\n    g(a())\ndef f(x):\n    pass\neach(reveal)", None),
    "closure": ("def outer(m):\n    def f():\n        reveal(m)\n    f()\nouter(a())", "a()"),
    "method": ("class T:\n    def f(self, x):\n        reveal(x)\nT().f(a())", "a()"),
    "self that is called": (
        "class T:\n    def __call__(self):\n        return a()\n    def f(self):\n        reveal(self())",
        "a()",
    ),
    "static method": ("class T:\n    @staticmethod\n    def f(x):\n        reveal(x)\nT.f(a())", "a()"),
    "method of a base class": (
        "class B:\n    def f(self, x):\n        reveal(x)\nclass T(B):\n    pass\nT().f(a())",
        "a()",
    ),
}
RETURN = {
    "returned": ("def f():\n    return a()\nreveal(f())", "a()"),
    "what this call passes": ("def f(x):\n    return x\ny = f(a())\nreveal(f(b()))", "b()"),
    "through two functions": ("def f(x):\n    return g(x)\ndef g(y):\n    return y\nf(a())\nreveal(f(b()))", "b()"),
    "each way out": ("def f(c):\n    if c:\n        return a()\n    return b()\nreveal(f(z()))", "a() | b()"),
    "the one way out": ("def f(c):\n    if c:\n        return a()\n    return b()\nreveal(f(1))", "a()"),
    "after the ways out": (
        "def f(c):\n    if c == 1:\n        return a()\n    elif c == 2:\n        return b()\n    return c()\nreveal(f(3))",
        "c()",
    ),
    "the one branch": (
        "def f(c=False):\n    if c:\n        x = a()\n    else:\n        x = b()\n    return x\nreveal(f())",
        "b()",
    ),
    "a branch that covers": (
        "def f(c):\n    x = a()\n    if c:\n        x = b()\n    return x\nreveal(f(c=True))",
        "b()",
    ),
    "a branch that a loop changes": (
        "def f(c):\n    x = a()\n    for _ in n():\n        if c:\n            x = b()\n        c = True\n    return x\n"
        "reveal(f(False))",
        "a() | b()",
    ),
    "one side": ("def f(c):\n    return a() if not c else b()\nreveal(f(1))", "b()"),
    "the side without None": ("def f(c=None):\n    return a() if c is None else b()\nreveal(f())", "a()"),
    "a list that is filled": (
        "def f(c):\n    c.append(1)\n    if c:\n        return a()\n    return b()\nreveal(f([]))",
        "a() | b()",
    ),
    "an attribute's branch": (
        "class T:\n    def __init__(self, c):\n        self.c = c\n"
        "    def f(self):\n        return a() if self.c else b()\nreveal(T(True).f())",
        "a()",
    ),
    "an attribute set from outside": (
        "class T:\n    def __init__(self, c):\n        self.c = c\n"
        "    def f(self):\n        return a() if self.c else b()\nt = T(True)\nt.c = False\nreveal(t.f())",
        "a() | b()",
    ),
    "applied to an object": ("def f(x):\n    reveal(x)\na().batch(3).apply(f)", "a().batch(3)"),
    "applied to the rows of a table": (
        "import pandas as pd\ndef f(x):\n    reveal(x)\npd.read_csv(path)['text'].apply(f)",
        "x?",
    ),
    "applied in a pool": ("def f(x):\n    reveal(x)\na().apply(f, (b(),))", "x?"),
    "lambda": ("f = lambda x: x\nreveal(f(a()))", "a()"),
    "nested return": ("def f():\n    return a(), (b(), c())\nreveal(f()[1][0])", "b()"),
    "decorator that keeps it": ("import functools\n@functools.lru_cache\ndef f():\n    return a()\nreveal(f())", "a()"),
    "decorator that may not": ("from elsewhere import deco\n@deco\ndef f():\n    return a()\nreveal(f())", "f()"),
    "property": ("class T:\n    @property\n    def p(self):\n        return a()\nreveal(T().p)", "a()"),
    "property with a setter": (
        "class T:\n    def __init__(self):\n        self._m = a()\n    @property\n    def m(self):\n        return self._m\n"
        "    @m.setter\n    def m(self, m):\n        self._m = m\nreveal(T().m)",
        "a() | m?",
    ),
    "callable instance": ("class T:\n    def __call__(self):\n        return a()\nt = T()\nreveal(t())", "a()"),
    "itself": ("def f(n):\n    return f(n - 1) if n else a()\nreveal(f(3))", "a()"),
}
CONTENT = {
    "attribute": ("class T:\n    def __init__(self):\n        self.m = a()\nreveal(T().m)", "a()"),
    "constructor's argument": ("class T:\n    def __init__(self, m):\n        self.m = m\nreveal(T(a()).m)", "a()"),
    "of this object": ("class T:\n    def __init__(self, m):\n        self.m = m\nx = T(a())\nreveal(T(b()).m)", "b()"),
    "inside the class": (
        "class T:\n    def __init__(self, m):\n        self.m = m\n    def f(self):\n        reveal(self.m)\nT(a()).f()",
        "a()",
    ),
    "base class": (
        "class B:\n    def __init__(self):\n        self.m = a()\nclass T(B):\n    pass\nreveal(T().m)",
        "a()",
    ),
    "class attribute": ("class C:\n    M = a()\nreveal(C.M)", "a()"),
    "set from outside": ("class T:\n    pass\nt = T()\nt.m = a()\nreveal(t.m)", "a()"),
    "built later": (
        "class T:\n    def __init__(self):\n        self.m = None\n    def f(self):\n        self.m = a()\nreveal(T().m)",
        "a()",
    ),
    "dataclass": (
        "from dataclasses import dataclass\n@dataclass\nclass C:\n    x: int\n    y: int\nreveal(C(1, a()).y)",
        "a()",
    ),
    "named tuple": (
        "from typing import NamedTuple\nclass C(NamedTuple):\n    x: int\n    y: int\nx, y = C(1, a())\nreveal(y)",
        "a()",
    ),
    "named tuple of names": (
        "from collections import namedtuple\nclass C(namedtuple('C', 'x, y')):\n    pass\nreveal(C(1, y=a()).y)",
        "a()",
    ),
    "key": ("d = {'x': a(), 'y': b()}\nreveal(d['y'])", "b()"),
    "get": ("d = {'x': a()}\nreveal(d.get('x'))", "a()"),
    "dict(...)": ("d = dict(x=a())\nreveal(d['x'])", "a()"),
    "any key": ("d = {'x': a(), 'y': b()}\nreveal(d[k])", "a() | b()"),
    "stored item": ("d = {}\nd['x'] = a()\nreveal(d['x'])", "a()"),
    "items": ("for k, v in {'x': a()}.items():\n    reveal(v)", "a()"),
    "values": ("for v in {'x': a(), 'y': b()}.values():\n    reveal(v)", "a() | b()"),
    "appended": ("l = []\nl.append(a())\nfor x in l:\n    reveal(x)", "a()"),
    "put into the list of a comprehension": (
        "l = [a() for i in r]\nl[0] = b()\nl.append(c())\nfor x in l:\n    reveal(x)",
        "a() | b() | c()",
    ),
    "put into the dict of a comprehension": (
        "d = {k: a() for k in r}\nd['k'] = b()\nd['l'] = c()\nreveal(d['k'])",
        "a() | b()",
    ),
    "appended through an instance": (
        "class T:\n    def __init__(self):\n        self.l = []\n    def show(self):\n        for x in self.l:\n"
        "            reveal(x)\nt = T()\nt.l.append(a())\nclass U:\n    def __init__(self):\n        self.l = []\n"
        "u = U()\nu.l.append(b())\nt.show()",
        "a()",
    ),
    "appended by a function that gets the list": (
        "def keep(value, where):\n    where.append(value)\nl = []\nm = []\nkeep(a(), l)\nkeep(b(), where=m)\n"
        "for x in l:\n    reveal(x)",
        "a()",
    ),
    "appended by a method that gets an attribute": (
        "class T:\n    def __init__(self):\n        self.l = []\n    def run(self):\n        self.keep(self.l)\n"
        "        reveal(self.l[0])\n    def keep(self, rows):\n        rows.append(a())\nT().run()",
        "a()",
    ),
    "zip": ("for x, y in zip([a()], [b()]):\n    reveal(y)", "b()"),
    "enumerate": ("for i, x in enumerate([a()]):\n    reveal(x)", "a()"),
    "index of a list": ("l = [a(), b()]\nreveal(l[-1])", "b()"),
    "getattr": ("class T:\n    def __init__(self):\n        self.m = a()\nreveal(getattr(T(), 'm'))", "a()"),
    "checkpoint": ("import tensorflow as tf\nc = tf.train.Checkpoint(model=a())\nreveal(c.model)", "a()"),
    "what nothing leads into": ("reveal(load().train[0])", "load().train[0]"),
}
KINDS = "class A:\n    def __init__(self):\n        self.x = a()\nclass B:\n    def __init__(self, x=b()):\n        self.x = x\n"
CONTENT |= {
    "instance of any class of a table": (KINDS + "KINDS = {'a': A, 'b': B}\nreveal(KINDS[name]().x)", "a() | b()"),
    "instance of the class of either branch": (
        KINDS + "if flag:\n    kind = A\nelse:\n    kind = B\nreveal(kind().x)",
        "a() | b()",
    ),
    "class or function": (KINDS + "def f():\n    return A()\nreveal({'b': B, 'f': f}[name]().x)", "a() | b()"),
    "class or something unknown": (
        KINDS + "reveal({'b': B, 'f': load()}[name]().x)",
        "{'b': B, 'f': load()}[name]().x",
    ),
}
FORWARDING = "class W:\n    def __init__(self, x):\n        self.x = x\n    def __getattr__(self, n):\n"
CONTENT |= {
    "forwarded": (
        f"class I:\n    def __init__(self):\n        self.y = a()\n{FORWARDING}        return getattr(self.x, n)\n"
        "reveal(W(I()).y)",
        "a()",
    ),
    "forwarded to a library's object": (f"{FORWARDING}        return getattr(self.x, n)\nreveal(W(a()).y)", "a().y"),
    "forwarded under a name of its own": (
        f"{FORWARDING}        return getattr(self.x, '_' + n)\nreveal(W(a()).y)",
        "W(a()).y",
    ),
}
ITERATION = {
    "element": ("for x in load():\n    reveal(x)", "load()[*]"),
    "next": ("it = iter(load())\nreveal(next(it))", "load()[*]"),
    "get_next": ("it = iter(load())\nreveal(it.get_next())", "load()[*]"),
    "progress bar": ("from tqdm import tqdm\nfor x in tqdm(load(), total=3):\n    reveal(x)", "load()[*]"),
    "generator": ("def g():\n    yield a()\n    yield b()\nfor x in g():\n    reveal(x)", "a() | b()"),
    "yield from": ("def g():\n    yield from [a()]\nfor x in g():\n    reveal(x)", "a()"),
    "__iter__ and __next__": (
        "class I:\n    def __iter__(self):\n        return self\n    def __next__(self):\n        return a()\nfor x in I():\n    reveal(x)",
        "a()",
    ),
    "__iter__ that yields": (
        "class I:\n    def __iter__(self):\n        yield a()\nfor x in I():\n    reveal(x)",
        "a()",
    ),
    "__getitem__": (
        "class S:\n    def __getitem__(self, i):\n        return a()\n    def __len__(self):\n        return 3\nreveal(S()[0])",
        "a()",
    ),
    "own next method": ("class L:\n    def next(self):\n        return a()\nreveal(L().next())", "a()"),
}
BOUNDS = {
    "makes itself": (
        "class A:\n    def __init__(self):\n        self.x = {'a': A, 'b': B}[n]()\nclass B(A):\n    pass\nreveal(A().x.x)",
        None,
    ),
    "forwarded in a circle": (f"{FORWARDING}        return getattr(self.x, n)\nw = W(w)\nw.x = w\nreveal(w.y)", None),
    "list in itself": ("l = []\nl.append(l)\nfor x in l:\n    reveal(x)", None),
    "dict in itself": ("d = {}\nd['x'] = d\nreveal(d['x']['x'])", None),
    "functions in a ring": ("def f(x):\n    return g(x)\ndef g(x):\n    return f(x)\nreveal(f(1))", None),
    "an iterator of itself": ("x = enumerate(x)\nfor i, y in x:\n    reveal(y)", None),
}


@pytest.mark.parametrize(("code", "expected"), [
    pytest.param(*case, id=name)
    for cases in (LOCAL, CALL, RETURN, CONTENT, ITERATION)
    for name, case in cases.items()
    if case[1] is not None
])  # fmt: skip
def test_origins(code: str, expected: str, tmp_path: Path) -> None:
    """Protects each kind of step, for all rules at once."""
    assert revealed(model_of(code + "\n", tmp_path)) == set(expected.split(" | "))


SET = """class T:
    def __init__(self, given):
        self.m = a()
        self.given = given
    def put(self):
        self.m = b()
    def seen(self):
        return self.m
    def used(self):
        {}
T(1).used()
"""


@pytest.mark.parametrize(
    ("body", "expected"),
    {
        "self.m = c()\n        reveal(self.m)": "c()",
        "self.m = c()\n        self.m = d()\n        reveal(self.m)": "d()",
        "self.m = c()\n        self.m = made(self.m)\n        reveal(self.m)": "made(self.m)",
        "self.m = c()\n        if now():\n            self.m = d()\n        reveal(self.m)": "c() | d()",
        "if now():\n            self.m = c()\n        else:\n            self.m = d()\n        reveal(self.m)": "c() | d()",
        "self.m, self.n = c(), d()\n        reveal(self.m)": "c()",
        "self.m = c()\n        print(self.n)\n        reveal(self.m)": "c()",
        # What another method, or another run of this one, may have set.
        "reveal(self.m)\n        self.m = c()": "a() | b() | c()",
        "if now():\n            self.m = c()\n        reveal(self.m)": "a() | b() | c()",
        "self.m = c()\n        self.put()\n        reveal(self.m)": "a() | b() | c()",
        "self.m = c()\n        super().run()\n        reveal(self.m)": "a() | b() | c()",
        "self.m = c()\n        run(self)\n        reveal(self.m)": "a() | b() | c()",
        "for _ in x():\n            reveal(self.m)\n            self.m = c()": "a() | b() | c()",
        # What a method sees that runs later: the last one, where none runs between.
        "self.m = c()\n        self.m = d()\n        reveal(self.seen())": "a() | b() | d()",
        "self.m = c()\n        self.m = made(self.m)\n        reveal(self.seen())": "a() | b() | made(self.m)",
        "self.m = c()\n        reveal(self.seen())\n        self.m = d()": "a() | b() | c() | d()",
        "self.m = c()\n        self.m = self.seen()\n        reveal(self.seen())": "a() | b() | c()",
        "self.m = c()\n        if now():\n            self.m = d()\n        reveal(self.seen())": "a() | b() | c() | d()",
        "self.m = c()\n        if now():\n            return\n        self.m = d()\nreveal(T(1).m)": "a() | b() | c() | d()",
        "try:\n            self.m = c()\n            self.m = d()\n        finally:\n            reveal(self.seen())": (
            "a() | b() | c() | d()"
        ),
    }.items(),
)
def test_an_attribute_holds_what_its_function_has_just_set(body: str, expected: str, tmp_path: Path) -> None:
    """Protects pipelines that an attribute goes through step by step, and what other methods make of it."""
    assert revealed(model_of(SET.format(body), tmp_path)) == set(expected.split(" | "))


@pytest.mark.parametrize("code", [case[0] for case in BOUNDS.values()], ids=BOUNDS)
def test_values_that_go_round_in_a_circle_come_to_an_end(code: str, tmp_path: Path) -> None:
    """Protects checks from code that no recursion can follow to its end."""
    revealed(model_of(code + "\n", tmp_path))


def test_values_of_other_files(tmp_path: Path) -> None:
    """Protects the way through imports, re-exports, stars and attributes of modules."""
    (tmp_path / "lib.py").write_text("import tensorflow\nVALUE = a()\ndef make(x):\n    return x\n")
    (tmp_path / "face.py").write_text("import tensorflow\nfrom lib import VALUE as AGAIN\n")
    for code in (
        "from lib import VALUE as V",
        "from face import AGAIN as V",
        "import lib\nV = lib.VALUE",
        "import lib\ndef chosen():\n    return lib\nV = chosen().VALUE",
        "import face\nV = {'a': face}[name()].AGAIN",
        "import lib\ndef of(module):\n    return module.VALUE\nV = of(lib)",
    ):
        assert revealed(model_of(f"{code}\nreveal(V)\n", tmp_path)) == {"a()"}
    assert revealed(model_of("from lib import *\nreveal(make(b()))\n", tmp_path)) == {"b()"}
    (tmp_path / "parts").mkdir()
    (tmp_path / "parts" / "__init__.py").write_text("from .older import *\nfrom face import *\nfrom .newer import *\n")
    (tmp_path / "parts" / "older.py").write_text("import tensorflow\nVALUE = c()\nKEPT = d()\n")
    (tmp_path / "parts" / "newer.py").write_text("import tensorflow\nfrom parts import *\nVALUE = e()\n")
    for name, value in {"VALUE": "e()", "AGAIN": "a()", "KEPT": "d()"}.items():
        for code in (f"from parts import {name} as V", f"from parts import *\nV = {name}"):
            assert revealed(model_of(f"{code}\nreveal(V)\n", tmp_path)) == {value}


@pytest.mark.parametrize(
    ("module", "expected"),
    [
        ("x = a()\nif env():\n    x = b()\n", {"a()", "b()"}),
        ("x = a()\nx = b()\n", {"b()"}),
        ("if env():\n    x = a()\nelse:\n    x = b()\n", {"a()", "b()"}),
        ("x = a()\nif __name__ == '__main__':\n    x = b()\n", {"a()"}),
        ("x = a()\ndef change():\n    global x\n    x = b()\n", {"a()", "b()"}),
    ],
)
def test_what_another_file_binds_when_it_is_imported(module: str, expected: set[str], tmp_path: Path) -> None:
    """Protects settings that a module chooses: all that may hold after its last line, and not what it does as a program."""
    (tmp_path / "settings.py").write_text(module)
    assert revealed(model_of("from settings import x\nreveal(x)\n", tmp_path)) == expected
    assert revealed(model_of("import settings\nreveal(settings.x)\n", tmp_path)) == expected


def test_a_base_class_under_another_name(tmp_path: Path) -> None:
    """Protects `class Net(lib.Model)`, where the library's face says `Model = models.Model`."""
    (tmp_path / "models.py").write_text("import tensorflow as tf\nclass Model(tf.keras.Model):\n    pass\n")
    (tmp_path / "lib.py").write_text("import tensorflow\nimport models\nModel = models.Model\n")
    model = model_of("import lib\nclass Net(lib.Model):\n    pass\nnet = Net()\nreveal(net)\n", tmp_path)
    call = model.file.tree.calls[-1]
    assert model.once(Kinds).is_model(model.file, call.args[0].value)


def test_lists_that_other_files_fill(tmp_path: Path) -> None:
    """Protects what a program puts into the list of an object whose class another file has."""
    (tmp_path / "store.py").write_text(
        "import tensorflow\nclass Store:\n    def __init__(self):\n        self.rows = []\n"
        "    def first(self):\n        return self.rows[0]\n"
    )
    (tmp_path / "tools.py").write_text("import tensorflow\ndef add(row, rows):\n    rows.append(row)\n")
    start = "from store import Store\nfrom tools import add\nstore = Store()\n"
    for code in ("store.rows.append(a())", "add(a(), store.rows)"):
        assert revealed(model_of(f"{start}{code}\nreveal(store.first())\n", tmp_path)) == {"a()"}


def test_call_sites_in_other_files(tmp_path: Path) -> None:
    """Protects parameters of functions that files between the program and the function call."""
    (tmp_path / "steps.py").write_text("import tensorflow\ndef step(x):\n    reveal(x)\n")
    (tmp_path / "loop.py").write_text("import tensorflow\nfrom steps import step\ndef run(y):\n    step(y)\n")
    model = model_of("from loop import run\nimport steps\nrun(a())\n", tmp_path)
    steps = model.project.file_at(tmp_path / "steps.py")
    assert steps is not None
    (call,) = steps.tree.calls
    assert {text(origin) for origin in model.inference.of(steps, call.args[0].value)} == {"a()"}


@pytest.mark.parametrize(("other", "runs"), [("None", ["draw"]), ("unknown", [])])
def test_a_method_of_none_is_not_called(other: str, runs: list[str], tmp_path: Path) -> None:
    """Protects calls on what may be missing: a program that gets past one has the object."""
    code = (
        "class Bag:\n    def draw(self):\n        return 1\n\n\ndef use(bag):\n    return bag.draw()\n\n\n"
        f"def find(found):\n    return Bag() if found else {other}\n\n\nuse(find(input()))\n"
    )
    model = model_of(code, tmp_path)
    (drawn,) = (call for call in model.file.tree.calls if method_name(call) == "draw")
    assert [callee.function.name for callee in model.inference.callees(model.file, drawn)] == runs


def test_a_library_that_the_project_hands_on(tmp_path: Path) -> None:
    """Protects `from package import tf, keras`, where the package only imports them."""
    (tmp_path / "pkg").mkdir()
    (tmp_path / "pkg" / "__init__.py").write_text("import tensorflow as tf\nfrom tensorflow import keras\n")
    model = model_of("from pkg import tf, keras\nkeras.Sequential()\ntf.constant(1)\n", tmp_path)
    assert [model.name(call.func) for call in model.file.tree.calls] == ["keras.Sequential", "tf.constant"]


INHERITED = {
    "a base's constructor": (
        "class A:\n    def __init__(self, x):\n        self.x = x\nclass B(A):\n    pass\nreveal(B(make()).x)",
        {"make()"},
    ),
    "a constructor that hands on": (
        "class A:\n    def __init__(self, x):\n        self.x = x\nclass B(A):\n    def __init__(self, y, z):\n"
        "        super().__init__(z)\nreveal(B(1, make()).x)",
        {"make()"},
    ),
    "over two classes": (
        "class A:\n    def __init__(self, x):\n        self.x = x\nclass B(A):\n    def __init__(self, y):\n"
        "        super().__init__(y)\nclass C(B):\n    def __init__(self):\n        super().__init__(make())\nreveal(C().x)",
        {"make()"},
    ),
    "a constructor that does not hand on": (
        "class A:\n    def __init__(self, x):\n        self.x = x\nclass B(A):\n    def __init__(self, y):\n        pass\n"
        "reveal(B(make()).x)",
        {"x?"},
    ),
    "a constructor that sets another": (
        "class A:\n    def __init__(self):\n        self.x = other()\nclass B(A):\n    def __init__(self):\n"
        "        self.x = make()\nclass C(B):\n    pass\nreveal(C().x)",
        {"make()"},
    ),
    "a constructor that sets another after the base's": (
        "class A:\n    def __init__(self):\n        self.x = other()\nclass B(A):\n    def __init__(self):\n"
        "        A.__init__(self)\n        if flag:\n            self.x = make()\nreveal(B().x)",
        {"make()", "other()"},
    ),
    "within a method": (
        "class A:\n    def __init__(self, x):\n        self.x = x\n    def show(self):\n        reveal(self.x)\n"
        "class B(A):\n    pass\nB(make())",
        {"make()"},
    ),
    "a method that is left open": (
        "class A:\n    def show(self):\n        reveal(self.pick())\n    def pick(self):\n        raise NotImplementedError\n"
        "class B(A):\n    def pick(self):\n        return make()\nclass C(A):\n    def pick(self):\n        return other()\n",
        {"make()", "other()"},
    ),
    "a method that the base does not have": (
        "class A:\n    def show(self):\n        reveal(self.pick())\nclass B(A):\n    def pick(self):\n        return self.made\n"
        "    def __init__(self):\n        self.made = make()\n",
        {"make()"},
    ),
    "a method that has a body": (
        "class A:\n    def show(self):\n        reveal(self.pick())\n    def pick(self):\n        return make()\n"
        "class B(A):\n    def pick(self):\n        return other()\n",
        {"make()", "other()"},
    ),
    "a method that has a body, of a class of which only others are made": (
        "class A:\n    def show(self):\n        reveal(self.pick())\n    def pick(self):\n        return make()\n"
        "class B(A):\n    def pick(self):\n        return other()\nB().show()\n",
        {"other()"},
    ),
    "a method that has a body, of a class of which one is made": (
        "class A:\n    def show(self):\n        reveal(self.pick())\n    def pick(self):\n        return make()\n"
        "class B(A):\n    def pick(self):\n        return other()\nKINDS = [A, B]\n",
        {"make()", "other()"},
    ),
    "a method that returns None": (
        "class A:\n    def show(self):\n        reveal(self.pick())\n    def pick(self):\n        return None\n"
        "class B(A):\n    def pick(self):\n        return other()\n",
        {"other()"},
    ),
    "an attribute of that name": (
        "class A:\n    def __init__(self):\n        self.pick = make\n    def show(self):\n        reveal(self.pick)\n"
        "class B(A):\n    def pick(self):\n        return other()\n",
        {"make?"},
    ),
}


@pytest.mark.parametrize(("code", "expected"), INHERITED.values(), ids=INHERITED.keys())
def test_what_classes_hand_down(code: str, expected: set[str], tmp_path: Path) -> None:
    """Protects values that pass through the constructor of a base class, and methods that it leaves to others."""
    assert revealed(model_of(code, tmp_path)) == expected


def test_more_bindings_than_are_distinguished(tmp_path: Path) -> None:
    """Protects long chains of `elif`: the value is not known, and no binding takes part in another's place."""
    branches = "".join(f"elif key == {n}:\n    x = make_{n}()\n" for n in range(1, 90))
    model = model_of(f"if key == 0:\n    x = make_0()\n{branches}reveal(x)\n", tmp_path)
    call = next(c for c in model.file.tree.calls if getattr(c.func, "value", "") == "reveal")
    assert not model.inference.must_be(model.file, call.args[0].value, lambda origin: origin.call is not None)


def test_texts_that_python_refuses(tmp_path: Path) -> None:
    """Protects strings with null bytes, which libcst reads and Python does not, as keys and as arguments."""
    model = model_of('d = {"\0": make()}\nreveal(d["\0"])\nmodel.compile(**{"run_eagerly\0": True})\n', tmp_path)
    assert revealed(model) == {"make()"}
    assert model.once(TracedCode).runs_eagerly, "what the mapping holds is not known"


def revealed(model: Model) -> set[str]:
    """What the argument of `reveal(...)` may be, as text."""
    call = next(c for c in model.file.tree.calls if getattr(c.func, "value", "") == "reveal")
    return {text(origin) for origin in model.inference.of(model.file, call.args[0].value)}


def text(origin: Origin) -> str:
    """The code of an origin, `?` where nothing is known of it, and the way into its contents."""
    code = origin.file.tree.module.code_for_node(origin.node).partition("=")[0].strip()
    parts = {
        "attribute": lambda key: f".{key}",
        "element": lambda key: "[*]",
        "item": lambda key: "[?]" if key is None else f"[{key}]",
    }
    return code + "?" * origin.is_open + "".join(parts[content.kind](content.key) for content in origin.access_path)


def test_an_object_that_iterates_over_itself_ends(tmp_path: Path) -> None:
    """Protects from contexts without end: each `self` of an iteration inside of another is an instance of its own."""
    code = (
        "class Rows:\n    def __init__(self, data):\n        self.data = data\n    def shuffled(self):\n"
        "        return Rows(self)\n    def __iter__(self):\n        for row in self.shuffled():\n            yield row\n"
        "for x in Rows(load()):\n    reveal(x)\n"
    )
    model = model_of(code, tmp_path)
    (call,) = (call for call in model.file.tree.calls if model.file.code(call.func) == "reveal")
    assert model.inference.of(model.file, call.args[0].value)
    assert model.inference.bounds_met == {MADE_WITHIN}
