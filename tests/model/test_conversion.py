"""Python's tree as libcst's nodes: the tree that libcst's parser gives, whitespace and brackets apart."""

from __future__ import annotations

import ast
import sys
from pathlib import Path

import libcst as cst
import pytest
from trees import difference

from tflint_gpu.model.python.parsing.conversion import Unlike, converted
from tflint_gpu.model.python.parsing.parsing import parse_module
from tflint_gpu.model.python.parsing.python_trees import python_tree

_ROOT = Path(__file__).parents[2]
PROGRAMS = {
    "small statements on a line": "a = 1; b += 2; del c, d\nif x: y(); z\nelse: pass\nclass A: b = 1; c\n",
    "branches": "if a:\n    b\nelif c:\n    d\nelif e: f\nelse:\n    if g:\n        h\nif i:\n    j\nelse:\n  if k: l\n  m\n",
    "loops": "for a, *b in c:\n    break\nelse:\n    d\nwhile (e):\n    continue\nelse: f\nfor i in (1): i\n",
    "asynchronous": "async def f():\n    async for a in b: await c\n    async with d as e, g: return [x async for x in y]\n",
    "with": "with a: b\nwith a as b, c() as (d, e), f:\n    g\nwith (a as b, c):\n    pass\nwith (a): b\n",
    "try": "try: a\nexcept: b\ntry:\n    a\nexcept (B, C) as d:\n    e\nexcept F: g\nelse:\n    h\nfinally:\n    i\n",
    "parameters": "def f(a, b: int = 1, /, c=(2), *d: str, e, g=3, **h: x) -> y: pass\ndef g(*, a): pass\nlambda *a, b=1: a\n"
    "def h(a=1, /): pass\nlambda: 0\nlambda x, /, y: x\n",
    "decorators": "@a\n@b.c(1)\n# between\n\n@(d)\ndef f(): return\n@e\nclass G(h, *i, k=l, **m):\n    @n\n    def o(self): ...\n",
    "arguments": "f(*a, b, c=d, *e, **g)\nf(x for x in y)\nf(a)(b)[c](d).e(g)\nf((a), (b, c), *(d))\n",
    "numbers": "a = 1_000, 0x1F, 1e5, 1., .5, 3j, -1, ~2, +3, not 4, 0o17, 0b1, 1E-3\n",
    "strings": "a = 'b', \"c\", '''d\ne''', r'\\f', b'g', u'h', '', \"\"\"i\"j\"\"\", 'k\\\nl', rb'\\m', '\\''\n",
    "strings in parts": "a = ('b' 'c'\n     \"d\")\nb = f'{x!r:>{w}} {y=}' 'z'\nc = f\"\"\"\n{d\n}\"\"\"\ng(f'{h}', i)\nj = 'k' f'{l}'\n",
    "strings with names": "a = f'{b}', f\"x {c.d} y\", F'', f'{e}{f}', f'\\n{h}\\'', f'{{i}}', f'{j!r}', f'{k }'\n"
    "l = rf'{m}\\d'\nn = ('o' f'{p.q.r} '\n    \"s\" r'' if t else '' f'u' \\\n  'v')\nw = ('x'  # y\n  'z')\n"
    "def a():\n    b = f'{(yield)}', f'{not c}', f'{d[0]}', f\"\"\"{e}\"\"\", \"\" 'f', ''\"g\"'', f'{None}', f'\\N{DIGIT ONE}'\n",
    "strings beyond ASCII": "é = 'ü', \"\"\"ß\n€\"\"\"; ñ(f'{ö}', 'a' 'ä')\n",
    "operators": "a + b * c - (d - e) ** -f @ g // h % i << j >> k & l | m ^ n / o\na and b and (c or d) or not e\n",
    "comparisons": "a < b <= c == d != e > f >= g is h is not i in j not in k\n(a < b) < c\n",
    "subscripts": "a[b]\na[b, c]\na[(b, c)]\na[b:c]\na[:]\na[::d]\na[b:c:d, e]\na[...]\na[()]\na[b,]\na[b][c]\na[b[1, 2], c]\n",
    "brackets in brackets": "a[(b), (c)]\na[((b), c)]\na[(b, c), (d)]\na[((b, c), (d))]\na[(b,)]\na[(b),]\na[((b),)]\n"
    "a[((b)), (c)]\na[(f(b, c), d)]\na[(b) , (c)]\na[\n(b, c)\n]\na[(\n(b), c)]\n",
    "displays": "[a, *b]\n{a, *b}\n{a: b, **c}\n(a,)\n()\n{}\n[]\na, b\n*a, b = c\n[x, y] = (z, w) = v\n",
    "comprehensions": "[a for b in c if d if e for f, g in h]\n{a for b in c}\n{a: b for c in d}\n((a) for b in (c))\n",
    "imports": "import a, b.c.d as e\nfrom . import f\nfrom ...g.h import i as j, k\nfrom l import *\nfrom .m import (n,\n  o)\n",
    "names": "global a, b\ndef f():\n    nonlocal c\n    global d\n",
    "conditions": "a if b else c if d else e\n(f := g)\nyield_ = lambda: (yield)\ndef h():\n    x = yield a, b\n    yield from c\n",
    "annotations": "a: int\nb: List[int] = c\nself.d: 'e' = f\n",
    "raising": "raise\nraise A\nraise B(1) from c\nassert d\nassert e, f\n",
    "continued lines": "a = \\\n    b + \\\n    c\nif (d and\n        e): f\nif (g\n    ): h\n",
    "line ends": "a = 1\r\nif b:\r\n\tc = '''d\r\ne'''\r\nelse:\r\n\tf\r\n",
    "a form feed": "a\n\x0c\nb\n\x0cif c:\n    d\n",
    "comments": "# a\nif b:  # c\n    # d\n    e\n    # f\n# g\nelse:\n    # h\n    i\n",
    "no end of the last line": "def f():\n    return 'a'",
    "True and the like": "True, False, None, ...\n",
}
if sys.version_info >= (3, 11):
    PROGRAMS["exception groups"] = "try:\n    a\nexcept* B as c:\n    d\n"


@pytest.mark.parametrize("code", PROGRAMS.values(), ids=PROGRAMS)
def test_a_tree_is_the_one_that_libcst_makes(code: str) -> None:
    """Protects every use of a tree: it means the same with either parser."""
    assert difference(parse_module(code).body, cst.parse_module(code).body) == ()


def test_most_programs_need_no_parser_of_libcst() -> None:
    """Protects the reason for all this, and that what was compared above was converted."""
    assert not [name for name, code in PROGRAMS.items() if _is_left_to_libcst(code)]


def _is_left_to_libcst(code: str) -> bool:
    tree = python_tree(code)
    try:
        return tree is None or not converted(tree, code)
    except Unlike:
        return True


@pytest.mark.slow
def test_real_files_have_the_trees_that_libcst_makes() -> None:
    """Protects what no list of programs thinks of: the project's own files, its fixtures and Python's library."""
    own = [*_ROOT.joinpath("tflint_gpu").rglob("*.py"), *_ROOT.joinpath("fixtures").rglob("*.py")]
    library = sorted(Path(ast.__file__).parent.glob("*.py"))[::6]
    compared = 0
    for path in (*own, *library):
        code = path.read_text(encoding="utf-8")
        try:
            theirs = cst.parse_module(code)
        except Exception:  # some fixtures are no Python, or are none to libcst
            continue
        assert difference(parse_module(code).body, theirs.body) == (), path
        compared += 1
    assert compared > 300


@pytest.mark.parametrize(
    "code",
    ["match a:\n    case [1, b]: c\n", "a[(  # (\n    b, c)]\n", "a[(b  # )\n    , c)]\n"],
    ids=["patterns", "a comment in an index", "a comment after the first item of an index"],
)
def test_what_is_left_to_libcst(code: str) -> None:
    tree = python_tree(code)
    assert tree is not None
    with pytest.raises(Unlike):
        converted(tree, code)
    assert difference(parse_module(code).body, cst.parse_module(code).body) == ()


@pytest.mark.slow
def test_long_chains_and_sums() -> None:
    """Protects against a recursion as deep as an expression is long."""
    for code in ("a = " + " + ".join("b" * 900) + "\n", "a" + ".b(c)" * 300 + "\n", "if a: b\n" + "elif c: d\n" * 200):
        assert difference(parse_module(code).body, cst.parse_module(code).body) == ()


@pytest.mark.slow
def test_what_is_nested_too_deeply_for_us_is_left_to_libcst() -> None:
    code = "a" + "[b" * 150 + "]" * 150 + "\n"
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(200)
    try:
        module = parse_module(code)
    finally:
        sys.setrecursionlimit(limit)
    assert difference(module.body, cst.parse_module(code).body) == ()


def test_identifiers_are_what_python_takes_them_for() -> None:
    """Two spellings of one letter are one name to Python, so they are one to us; libcst distinguishes them."""
    first, second = parse_module("\u00b5 = 1\nx = \u03bc\n").body
    assert isinstance(first, cst.SimpleStatementLine) and isinstance(second, cst.SimpleStatementLine)
    assigned, read = first.body[0], second.body[0]
    assert isinstance(assigned, cst.Assign) and isinstance(read, cst.Assign)
    assert isinstance(target := assigned.targets[0].target, cst.Name) and isinstance(read.value, cst.Name)
    assert target.value == read.value.value


def test_nodes_have_their_defaults_where_nothing_was_said() -> None:
    """Protects who reads a field that we leave out: it is there, and writes usual code."""
    module = parse_module("f( a ,b = 1 )   # c\n")
    assert module.code == "f(a, b = 1)\n"
    call = module.body[0].body[0].value  # type: ignore[union-attr, index]
    assert isinstance(call, cst.Call)
    assert call.lpar == () and call.with_changes(args=[]).args == []
