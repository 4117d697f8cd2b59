"""Which names a piece of code reads from outside, and which it binds: what decides whether a statement may go."""

from __future__ import annotations

import ast
import builtins
import symtable
import textwrap

import pytest

from tflint_gpu.model.python.refactoring.free_names import bound, free, free_of_block, free_of_head, roots


def block(code: str) -> list[ast.stmt]:
    return ast.parse(textwrap.dedent(code)).body


READS = {
    "x = a + b": "a b",
    "x = 1; y = x": "",
    "y = x; x = 1": "x",
    "x += 1": "x",
    "x[i].a = v": "x i v",
    "x: T = v": "T v",
    "ys = [f(x) for x in xs if x > n]": "f xs n",
    "ys = [x for x in x]": "x",
    "ys = [y for x in xs for y in x]": "xs",
    "ys = {k: v for k, v in d.items()}": "d",
    "f = lambda x, y=d: x + y + z": "d z",
    "if (n := g(a)) > 1: y = n": "g a n",
    "for i in range(k): s = i + j": "range k j",
    "for x.a in xs: pass": "x xs",
    "while t: t = step(t)": "t step",
    "with open(p) as f, g(f) as h: use(h)": "open p g use f",
    "try:\n    a = b\nexcept E as e:\n    print(e)": "b E print",
    "import a.b\na.b.c()": "",
    "from m import n as k\nk(n)": "n",
    "del x": "x",
    "def f(x: T = d, *a: A, k=e, **kw) -> R: return x + y + k": "T d A e R y",
    "@deco(arg)\ndef f(): return g": "deco arg g",
    "def f():\n    def g(): return x\n    x = 1\n    return g": "",
    "def f():\n    global n\n    n += 1": "n",
    "class A(B, metaclass=M):\n    n = c\n    def f(self): return n": "B M c n",
    "class A:\n    n = 1\n    m = n": "",
    "class A:\n    n = 1\n    def f(self, k=n): return k": "",
    "match p:\n    case [x, *rest] if x: use(x, rest)\n    case C(a=y): use(y)\n    case _: z": "p use C z",
    "match p:\n    case {'a': m, **more}: use(m, more)": "p use",
    "async def f():\n    async for x in xs:\n        await g(x)": "xs g",
}


@pytest.mark.parametrize(("code", "names"), READS.items())
def test_what_is_read_from_outside(code: str, names: str) -> None:
    """Protects each construct of the language: a name that is missed makes a program that stops with NameError."""
    assert free_of_block(block(code)) == set(names.split())


BINDS = {
    "x = y = 1": "x y",
    "(a, [b, *c]), d.e = v": "a b c",
    "x: int = 1": "x",
    "x += 1": "x",
    "import a.b, c as d": "a d",
    "from m import n as k, o": "k o",
    "def f(x): y = 1": "f",
    "class A: x = 1": "A",
    "for i, j in xs: k = 1": "i j k",
    "with a as b, c as (d, e): f = 1": "b d e f",
    "if t: a = 1\nelse: b = 1": "a b",
    "try: a = 1\nexcept E: b = 1\nfinally: c = 1": "a b c",
    "ys = [x for x in xs]": "ys",
    "ok = any((hit := x) for x in xs)": "ok hit",
    "f = lambda x: (y := x)": "f",
    "print(n := 1)": "n",
    "match p:\n    case [x, *rest]: a = 1\n    case {'k': y, **more}: b = 1\n    case C() as c: pass": "x rest a y more b c",
}


@pytest.mark.parametrize(("code", "names"), BINDS.items())
def test_what_is_bound(code: str, names: str) -> None:
    """Protects the statements that give a name its value: one that is missed would be dropped."""
    assert {name for statement in block(code) for name in bound(statement)} == set(names.split())


def test_names_bound_in_one_branch_only_are_still_read() -> None:
    """Protects code that relies on an earlier value where a branch is not taken."""
    assert free_of_block(block("if t: x = 1\nuse(x)")) == {"t", "use", "x"}
    assert free_of_block(block("if t: x = 1\nelse: x = 2\nuse(x)")) == {"t", "use"}
    assert free_of_block(block("for i in r: x = i\nuse(x)")) == {"r", "use", "x"}


def test_dropped_statements_read_nothing() -> None:
    """Protects slices within slices: what goes from a function is not needed for the function."""
    function = block("def f():\n    a = b\n    return c")[0]
    assert isinstance(function, ast.FunctionDef)
    assert free(function, {function.body[0]}) == {"c"}


def test_heads_of_compound_statements() -> None:
    """Protects the way to a place: the loop around it must still have its iterable."""
    assert free_of_head(block("for x in a(b): use(c)")[0]) == {"a", "b"}
    assert free_of_head(block("with a as b, c(b): use(d)")[0]) == {"a", "b", "c"}
    assert free_of_head(block("if a and b: use(c)\nelif d: use(e)")[0]) == {"a", "b"}


def test_roots_of_chains() -> None:
    assert roots(ast.parse("x.f(1)[0].y", mode="eval").body) == {"x"}
    assert roots(ast.parse("(a + b).c", mode="eval").body) == set()


FUNCTION = """
def outer(a, *args, b=DEFAULT, **kwargs):
    total = [inner + OFFSET for inner in args if (last := inner) and CHECK]
    def nested(c):
        nonlocal total
        total = c + a
        return lambda d: d + total + FAR
    for key, value in kwargs.items():
        with OPEN(key) as handle:
            value += handle.read()
    try:
        import json as j
    except ImportError as error:
        raise RuntimeError(str(error))
    return nested(b), last, j, TAIL
"""


def test_functions_agree_with_python() -> None:
    """Protects the rules of scopes as a whole: Python's own symbol table says the same of a function."""
    top = symtable.symtable(FUNCTION, "x.py", "exec")
    tables, globals_read = [*top.get_children()], set()
    for table in tables:
        globals_read |= {symbol.get_name() for symbol in table.get_symbols() if symbol.is_global()}
        tables.extend(table.get_children())
    assert free(block(FUNCTION)[0]) - set(dir(builtins)) == (globals_read | {"DEFAULT"}) - set(dir(builtins))
