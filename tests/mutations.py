"""Changes programs at random, at the level of syntax: what people write by mistake, and what nobody writes."""

from __future__ import annotations

import ast
import copy
import json
import random
import re
from collections.abc import Callable, Sequence

Statements = list[ast.stmt]
_CHAIN_LENGTHS = (3, 30, 120, 400)


def mutated(text: str, donor: str, rng: random.Random, count: int) -> str:
    """A program after some changes; expressions come from itself and from the donor. Some results do not parse.

    Raises:
        SyntaxError: the text does not parse.
    """
    if rng.random() < 0.12:
        for _ in range(count):
            text = rng.choice(TEXTUAL)(text, rng)
        return text
    program = _Program(ast.parse(text), ast.parse(donor), rng)
    try:
        for _ in range(count):
            rng.choice(SYNTACTIC)(program)
        return ast.unparse(ast.fix_missing_locations(program.tree)) + "\n"
    except (ValueError, RecursionError, AttributeError):  # what `ast` cannot write, such as an f-string in an f-string
        return text


def as_notebook(text: str, rng: random.Random) -> str:
    """A program as a notebook, cut between statements, with a magic here and there."""
    lines = text.splitlines(keepends=True)
    starts = [0]
    try:
        starts += [node.lineno - 1 for node in ast.parse(text).body if rng.random() < 0.3]
    except (SyntaxError, ValueError, RecursionError):
        starts.append(len(lines) // 2)
    starts = sorted(set(starts))
    cells = ["".join(lines[a:b]) for a, b in zip(starts, [*starts[1:], len(lines)], strict=True)]
    if rng.random() < 0.5:
        cells.insert(
            rng.randrange(len(cells) + 1), rng.choice(("%%time\n", "!pip install keras", "%load_ext x\nx?", ""))
        )
    code = [{"cell_type": "code", "metadata": {}, "outputs": [], "source": cell.splitlines(True)} for cell in cells]
    return json.dumps({"cells": code, "metadata": {}, "nbformat": 4, "nbformat_minor": 5})


def linked(program: dict[str, str], rng: random.Random) -> dict[str, str]:
    """Files that import each other, in circles too, and use what the others define."""
    modules = {name: name.removesuffix(".py").replace("/", ".") for name in program}
    result = {}
    for name, text in program.items():
        lines = []
        for other, module in modules.items():
            if (other == name and rng.random() < 0.9) or rng.random() < 0.2:
                continue
            names = re.findall(r"^(?:def|class) (\w+)|^(\w+) = ", program[other], re.MULTILINE)
            defined = [a or b for a, b in names] or ["x"]
            one, two = rng.choice(defined), rng.choice(defined)
            stem = module.rpartition(".")[2]
            lines.append(
                rng.choice(
                    (
                        f"from {module} import *\n",
                        f"from {module} import {one}, {two}\n",
                        f"from {module} import {one} as {two}\n",
                        f"import {module} as {stem}\n{two} = {stem}.{one}\n",
                        f"import {module}\n",
                        f"from . import {stem}\n",
                        f"from .{stem} import {one}\n",
                        f"from {module} import {one}\n{two} = {one}({one})\n",
                        f"from {module} import {one}\nclass {two}({one}):\n    pass\n",
                    )
                )
            )
        result[name] = "".join(lines) + text if rng.random() < 0.8 else text + "\n" + "".join(lines)
    return result


class _Program:
    """A syntax tree in work, with the expressions that may be put anywhere."""

    def __init__(self, tree: ast.Module, donor: ast.Module, rng: random.Random) -> None:
        self.tree = tree
        self.rng = rng
        self.given = [
            node
            for node in ast.walk(donor)
            if isinstance(node, ast.expr)
            and isinstance(getattr(node, "ctx", ast.Load()), ast.Load)
            and not isinstance(node, (ast.Starred, ast.JoinedStr, ast.FormattedValue))
        ]

    def blocks(self) -> list[Statements]:
        """All lists of statements."""
        return [
            block
            for node in ast.walk(self.tree)
            for name in ("body", "orelse", "finalbody")
            if isinstance(block := getattr(node, name, None), list) and block
        ]

    def place(self) -> tuple[Statements, int]:
        """A statement, by its list and index."""
        blocks = self.blocks() or [self.tree.body]
        block = self.rng.choice(blocks)
        if not block:
            block.append(ast.Pass())
        return block, self.rng.randrange(len(block))

    def stretch(self) -> tuple[Statements, int, int]:
        """Some statements that follow each other."""
        block, start = self.place()
        return block, start, self.rng.randint(start + 1, min(len(block), start + 6))

    def expression(self) -> ast.expr:
        """A copy of some expression of the program or of the donor."""
        if self.given and self.rng.random() < 0.4:
            return copy.deepcopy(self.rng.choice(self.given))
        own = [node for _, _, node in self.slots()]
        return copy.deepcopy(self.rng.choice(own)) if own else ast.Constant(None)

    def slots(self) -> list[tuple[ast.AST, Callable[[ast.expr], None], ast.expr]]:
        """All expressions that may be replaced: what they stand in, how to replace them, and what they are."""
        found: list[tuple[ast.AST, Callable[[ast.expr], None], ast.expr]] = []
        for node in ast.walk(self.tree):
            if isinstance(node, (ast.JoinedStr, ast.FormattedValue)) or "pattern" in type(node).__name__:
                continue
            for name, value in ast.iter_fields(node):
                if isinstance(value, ast.expr) and _is_read(value):
                    found.append((node, _setter(node, name), value))
                elif isinstance(value, list):
                    found += [
                        (node, _item_setter(value, i), item)
                        for i, item in enumerate(value)
                        if isinstance(item, ast.expr) and _is_read(item)
                    ]
        return found

    def names(self) -> list[str]:
        """The names that the program reads, binds or defines."""
        found = {node.id for node in ast.walk(self.tree) if isinstance(node, ast.Name)}
        found |= {n.name for n in ast.walk(self.tree) if isinstance(n, (ast.FunctionDef, ast.ClassDef))}
        return sorted(found) or ["tf"]

    def name(self) -> ast.Name:
        """One of these, read."""
        return ast.Name(self.rng.choice(self.names()), ast.Load())

    def nodes(self, *kinds: type[ast.AST]) -> list[ast.AST]:
        """All nodes of some kinds."""
        return [node for node in ast.walk(self.tree) if isinstance(node, kinds)]

    def any(self, *kinds: type[ast.AST]) -> ast.AST | None:
        """One of them, if there is any."""
        nodes = self.nodes(*kinds)
        return self.rng.choice(nodes) if nodes else None

    def parsed(self, code: str) -> Statements:
        """Statements of our own."""
        return ast.parse(code).body


def _is_read(node: ast.expr) -> bool:
    kept = (ast.Starred, ast.Slice, ast.JoinedStr, ast.FormattedValue)
    return isinstance(getattr(node, "ctx", ast.Load()), ast.Load) and not isinstance(node, kept)


def _setter(node: ast.AST, name: str) -> Callable[[ast.expr], None]:
    return lambda value: setattr(node, name, value)


def _item_setter(items: list[ast.expr], index: int) -> Callable[[ast.expr], None]:
    def put(value: ast.expr) -> None:
        if index < len(items):
            items[index] = value

    return put


# Statements


def _delete(program: _Program) -> None:
    block, start, end = program.stretch()
    del block[start:end]
    if not block:
        block.append(ast.Pass())


def _duplicate(program: _Program) -> None:
    block, start, end = program.stretch()
    other, at = program.place()
    other[at:at] = copy.deepcopy(block[start:end])


def _swap(program: _Program) -> None:
    block, start = program.place()
    other, at = program.place()
    if not _within(block[start], other[at]) and not _within(other[at], block[start]):
        block[start], other[at] = other[at], block[start]


def _within(inner: ast.AST, outer: ast.AST) -> bool:
    return any(node is inner for node in ast.walk(outer))


_FRAMES = (
    "if X:\n    B",
    "if X:\n    pass\nelse:\n    B",
    "for N in X:\n    B",
    "for i in range(3):\n    B",
    "for N, M in enumerate(X):\n    B\nelse:\n    N = M",
    "while X:\n    B",
    "while True:\n    B\n    break",
    "with X as N:\n    B",
    "with tf.GradientTape(persistent=True) as N, X:\n    B",
    "with tf.device(X):\n    B",
    "try:\n    B\nexcept X as N:\n    raise\nfinally:\n    N = M",
    "try:\n    pass\nexcept:\n    B",
    "def N(M):\n    B",
    "def N(*M, **kw):\n    B\n    return M",
    "def N(M=X, /, *, k=X):\n    global M2\n    B\nN(X)",
    "def N(M):\n    nonlocal M2\n    B\n    return N(M)\nN = N(N)",
    "@tf.function\ndef N(M):\n    B\n    return N(M)\nfor M in range(9):\n    N(M)",
    "@X\ndef N(self, M):\n    B\n    yield M\n    return (yield from N(M))",
    "async def N(M):\n    B\n    async for M in X:\n        await N(M)\n    return [await y async for y in X]",
    "class N:\n    B",
    "class N(M, X, metaclass=X):\n    def __init__(self):\n        B\n    def call(self, M):\n        B\n        return self.call(M)\nN()(X)",
    "class N(tf.keras.Model):\n    @property\n    def M(self):\n        B\n        return self.M\n    def train_step(self, M):\n        B\nN().fit(X)",
    "class N(N):\n    B\nN.N = N",
    "match X:\n    case [N, *M] if X:\n        B\n    case {'a': M, **N} | M():\n        pass\n    case _:\n        B",
    "with tf.distribute.MirroredStrategy().scope():\n    B",
)  # fmt: skip


class _Filled(ast.NodeTransformer):
    """Puts names and expressions where a frame has single letters."""

    def __init__(self, program: _Program, body: Statements) -> None:
        self.program = program
        self.body = body
        self.renamed = {letter: program.name().id for letter in ("N", "M", "M2")}

    def visit_Name(self, node: ast.Name) -> ast.expr:
        if node.id == "X":
            return self.program.expression()
        return ast.Name(self.renamed.get(node.id, node.id), node.ctx)

    def visit_Expr(self, node: ast.Expr) -> ast.stmt | Statements:
        if isinstance(node.value, ast.Name) and node.value.id == "B":
            return copy.deepcopy(self.body) or [ast.Pass()]
        return self.generic_visit(node)  # type: ignore[return-value]

    def generic_visit(self, node: ast.AST) -> ast.AST:
        for field in ("name", "arg", "attr", "rest"):
            value = getattr(node, field, None)
            if isinstance(value, str) and value in self.renamed:
                setattr(node, field, self.renamed[value])
        if isinstance(node, (ast.Global, ast.Nonlocal)):
            node.names = [self.renamed.get(name, name) for name in node.names]
        return super().generic_visit(node)


def _frame(program: _Program) -> None:
    block, start, end = program.stretch()
    tree = ast.parse(program.rng.choice(_FRAMES))
    block[start:end] = _Filled(program, block[start:end]).visit(tree).body


def _empty(program: _Program) -> None:
    block = program.rng.choice(program.blocks() or [program.tree.body])
    block[:] = [program.rng.choice((ast.Pass(), ast.Expr(ast.Constant(...)), ast.Return(None), ast.Break()))]


_LINES = (
    "N = X", "N = M = X", "N, M = X", "(N, [M, *N]) = M, N", "N = M\nM = N", "N.a = N", "N.a = X\nM = N.a", "N[X] = X", "N += X", "N: X = X",
    "del N", "global N", "nonlocal N", "return X", "return N", "yield X", "raise X from X", "assert X, X", "import N", "import tensorflow as N",
    "from N import *", "from . import N", "from .. import N as M", "from N import N", "import tensorflow.keras.N as M", "from tensorflow import keras as N",
    "N(X)", "N(*X, **X)", "N()()()()", "N = lambda M: N(M)", "N = lambda *a: X", "N = [N for N in N]", "N = {M: N for N, M in X.items() if X}",
    "N = (yield)", "(N := X)", "N = N.map(N)", "for N in N:\n    N = N.map(lambda x: N)", "N = N if X else M", "while N:\n    N = M\n    M = N",
    "N.fit(X, X, epochs=X)", "N.compile(X)", "N = tf.function(N)", "N = tf.function(X)", "N.call = X", "N = type('N', (M,), {})", "setattr(N, 'a', X)",
    "N = tf.data.Dataset.from_tensor_slices(X).map(X).batch(X).prefetch(X)", "N = tf.data.Dataset.from_generator(X, X)", "N = N.map(X, X, X)", "N = N.batch()", "N.shuffle(*X)",
    "N = tf.keras.Sequential([X, N, X])", "N = tf.keras.Model(N, X)", "N = tf.keras.Sequential()\nN.add(N)", "N = tf.keras.layers.Dense(X)(X)", "N = tf.keras.layers.Conv2D(X, X)(N)",
    "@N\n@M\ndef N(): return N", "@tf.function(X)\ndef N(self=N): return N()", "tf.config.N(X)", "N = N + N", "N = N[N]", "N = N[::X]", "N = -N", "print(f'{N!r:{M}}')", "N = X @ X",
    "for N in range(X):\n    M = M(N)", "def N(M): return M(N)\nN(N)", "def N(): return M()\ndef M(): return N()\nN()", "class N:\n    M = M", "exec(X)", "import sys; sys.exit(X)", "N = {}\nN[N] = N\n[N for N in N[N]]",
    "import numpy as N", "N = np.array(X)", "N = range(X, X, X)", "N = 10 ** 400", "N = 1e999 * X", "N = range(10 ** 30)", "N = 'x' * 10 ** 12", "N = [0] * 10 ** 11", "N = 1 / 0", "N = 2 ** 2 ** 99", "N = 'a' + 1", "N = -X % 0", "N = 1 << 10 ** 9",
    "N = [][0]", "N = {}['a']", "N = ()[X]", "N = float('nan')", "N = int(float('inf'))", "N = tf.zeros([10 ** 20, -1, None, X])", "N = N.batch(0)", "N = N.batch(-1)", "N = N.repeat(-5).take(1e400)", "N = '{}'.format(X)", "N = '%s' % X",
    "N = [*N, *M]", "N = {**N, **M}", "N = dict(N, **M)", "N = zip(*N)", "N, = X", "*N, = X", "[N] = [M]", "N = sorted(N, key=N)", "N = functools.partial(N, X)", "N = super().N(X)", "N = super(N, N)", "N = self", "N = __class__",
)  # fmt: skip


def _line(program: _Program) -> None:
    block, at = program.place()
    block[at:at] = _Filled(program, []).visit(ast.parse(program.rng.choice(_LINES))).body


# Expressions


def _replace(program: _Program) -> None:
    slots = program.slots()
    if slots:
        _, put, _ = program.rng.choice(slots)
        put(program.expression())


_WRAPPINGS = (
    "(lambda: E)()", "(lambda x: E)(X)", "lambda *a, N=X: E", "[E for N in X]", "[E for N in X for M in N if X]", "{E: E for N in X}", "(E for N in N)", "{*E}", "[*E, X]", "E if X else X",
    "X if E else N", "(N := E)", "E[X]", "E[X:X, ..., None]", "E.N", "E.shape[0]", "E.numpy()", "E(X)", "N(E)", "X(*E, **X)", "tf.function(E)", "tf.cast(E, X)", "E + X", "X < E < X", "not E", "-E",
    "await E", "(yield E)", "f'{E}'", "(E, E)", "{'a': E}['a']", "[E][0]", "[E, X][-1]", "dict(a=E)['a']", "getattr(E, 'N')", "functools.partial(E, X)", "tf.py_function(E, X, X)", "next(iter(E))",
    "float(E)", "int(E)", "len(E)", "range(E)", "zip(E, X)", "enumerate(E)", "E.map(X)", "E.map(lambda N: E)", "E.batch(X)", "type(E)(X)", "super().N(E)", "np.array(E)", "tf.convert_to_tensor(E)", "E or X", "E ** 10 ** 9", "E * 10 ** 10",
)  # fmt: skip


class _Wrapped(_Filled):
    """Puts an expression where a wrapping has `E`."""

    def __init__(self, program: _Program, inner: ast.expr) -> None:
        super().__init__(program, [])
        self.inner = inner

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return copy.deepcopy(self.inner) if node.id == "E" else super().visit_Name(node)


def _wrap(program: _Program) -> None:
    slots = program.slots()
    if slots:
        _, put, inner = program.rng.choice(slots)
        put(_Wrapped(program, inner).visit(ast.parse(program.rng.choice(_WRAPPINGS), mode="eval").body))


def _call(program: _Program) -> None:
    """Change the arguments of a call."""
    call, rng = program.any(ast.Call), program.rng
    if not isinstance(call, ast.Call):
        return
    way = rng.randrange(8)
    if way == 0:
        call.args = call.args[:-1]
    elif way == 1:
        call.args.insert(rng.randint(0, len(call.args)), program.expression())
    elif way == 2:
        rng.shuffle(call.args)
    elif way == 3:
        call.args += [keyword.value for keyword in call.keywords]
        call.keywords = []
    elif way == 4:
        call.args.append(ast.Starred(program.expression(), ast.Load()))
    elif way == 5:
        call.keywords.append(ast.keyword(None, program.expression()))
    elif way == 6:
        call.args, call.keywords = [], []
    else:
        names = [node.arg for node in program.nodes(ast.keyword) if isinstance(node, ast.keyword) and node.arg]
        call.keywords.append(ast.keyword(rng.choice(names or ["name"]), program.expression()))


def _rename(program: _Program) -> None:
    names = program.names()
    old, new = program.rng.choice(names), program.rng.choice(names)
    everywhere = program.rng.random() < 0.3
    nodes = [node for node in program.nodes(ast.Name) if isinstance(node, ast.Name) and node.id == old]
    for node in nodes if everywhere else nodes[:1]:
        node.id = new  # type: ignore[attr-defined]
    definition = program.any(ast.FunctionDef, ast.ClassDef)
    if definition is not None and program.rng.random() < 0.3:
        definition.name = new  # type: ignore[attr-defined]


def _attribute(program: _Program) -> None:
    one, other = program.any(ast.Attribute), program.any(ast.Attribute)
    if isinstance(one, ast.Attribute) and isinstance(other, ast.Attribute):
        one.attr = other.attr


# Definitions


def _decorate(program: _Program) -> None:
    definition = program.any(ast.FunctionDef, ast.ClassDef)
    if isinstance(definition, (ast.FunctionDef, ast.ClassDef)):
        ways = (
            "tf.function",
            "staticmethod",
            "classmethod",
            "property",
            "functools.wraps(X)",
            "tf.custom_gradient",
            "X",
            "N",
            "N(X)",
            "tf.function(jit_compile=X)",
        )
        way = ast.parse(program.rng.choice((*ways, definition.name)), mode="eval").body
        definition.decorator_list.insert(0, _Filled(program, []).visit(way))


def _parameter(program: _Program) -> None:
    function = program.any(ast.FunctionDef, ast.Lambda)
    if not isinstance(function, (ast.FunctionDef, ast.Lambda)):
        return
    arguments = function.args
    way = program.rng.randrange(6)
    if way == 0 and arguments.args:
        del arguments.args[program.rng.randrange(len(arguments.args))]
        arguments.defaults = arguments.defaults[: len(arguments.args)]
    elif way == 1:
        arguments.args.insert(0, ast.arg(program.name().id))
    elif way == 2:
        arguments.vararg = ast.arg(program.name().id)
    elif way == 3:
        arguments.kwarg = ast.arg(program.name().id)
    elif way == 4:
        arguments.kwonlyargs.append(ast.arg(program.name().id, program.expression()))
        arguments.kw_defaults.append(program.expression())
    else:
        arguments.defaults = [program.expression() for _ in (*arguments.posonlyargs, *arguments.args)]


def _recurse(program: _Program) -> None:
    """Let functions call themselves and each other, and classes inherit from themselves."""
    one, other = program.any(ast.FunctionDef, ast.ClassDef), program.any(ast.FunctionDef, ast.ClassDef)
    if isinstance(one, ast.FunctionDef) and isinstance(other, (ast.FunctionDef, ast.ClassDef)):
        given = [ast.Name(argument.arg, ast.Load()) for argument in one.args.args]
        call = ast.Call(ast.Name(other.name, ast.Load()), given, [])
        kind = program.rng.choice((ast.Return, ast.Expr))
        one.body.insert(program.rng.randint(0, len(one.body)), kind(call))
    elif isinstance(one, ast.ClassDef) and other is not None:
        one.bases.insert(0, ast.Name(other.name, ast.Load()))  # type: ignore[attr-defined]


CHAINS: tuple[Callable[[int, str, str], str], ...] = (
    lambda n, a, b: f"{a} = {b}\n" + f"{a} = {a}.map({b})\n" * n,
    lambda n, a, b: f"{a} = {b}\n" + f"{a} = tf.keras.layers.Dense(4)({a})\n" * n + f"m = tf.keras.Model({b}, {a})\nm.fit({b})\n",
    lambda n, a, b: f"{a} = {b}" + ".map(f)" * n + "\n",
    lambda n, a, b: f"{a} = " + "f(" * min(n, 80) + b + ")" * min(n, 80) + "\n",
    lambda n, a, b: f"{a} = {b}" + f" + {b}" * n + "\n",
    lambda n, a, b: f"{a} = {b}" + f".{a}" * n + "\n",
    lambda n, a, b: f"{a} = {b}" + "[0]" * n + "\n",
    lambda n, a, b: "".join(f"def f{i}(x):\n    return f{i + 1}(x)\n" for i in range(n)) + f"def f{n}(x):\n    return {a}(x)\n{b} = f0({b})\n",
    lambda n, a, b: "".join(f"def f{i}(x):\n    y = f{(i + 1) % n}(x)\n    return f{(i + 2) % n}(y)\n" for i in range(n)) + f"{b} = f0({b})\n{a} = tf.function(f1)\n{a}({b})\n",
    lambda n, a, b: f"class C0({a}):\n    pass\n" + "".join(f"class C{i + 1}(C{i}):\n    def __init__(self, x): super().__init__(x)\n    def call(self, x): return super().call(x)\n" for i in range(n)) + f"C{n}({b}).fit({b})\n",
    lambda n, a, b: f"v0 = {b}\n" + "".join(f"v{i + 1} = v{i}\n" for i in range(n)) + f"{a} = v{n}\n",
    lambda n, a, b: f"if {a}:\n    {b} = 0\n" + "".join(f"elif {a} == {i}:\n    {b} = {b}({i})\n" for i in range(n)),
    lambda n, a, b: "".join("    " * i + f"def g{i}({a}):\n" for i in range(min(n, 60))) + "    " * min(n, 60) + f"return {b}\n",
    lambda n, a, b: "".join("    " * i + f"for i{i} in {a}:\n" for i in range(min(n, 19))) + "    " * min(n, 19) + f"{b} = {b}({a})\n",
    lambda n, a, b: f"def h(x, n):\n    x = {a}(x)\n    return h(x, n)\n" + f"{b} = h({b}, {a})\n" * n,
    lambda n, a, b: "".join(f"{a} = tf.data.Dataset.zip(({a}, {a}))\n" for _ in range(n)) + f"for x in {a}:\n    {b}(x)\n",
    lambda n, a, b: "".join(f"if x{i}:\n    {a} = {b}.map(f{i})\nelse:\n    {b} = {a}\n" for i in range(n)),
    lambda n, a, b: f"{a} = [" + f"{b}, " * n + "]\n",
    lambda n, a, b: f"{a} = lambda x: " + "(lambda x: " * min(n, 60) + f"{b}(x)" + ")(x)" * min(n, 60) + f"\n{a}({b})\n",
    lambda n, a, b: f"{a} = {{}}\n" + "".join(f"{a}[{i}] = {a}[{i + 1}]\n" for i in range(n)) + f"{b} = {a}[0]\n",
    lambda n, a, b: f"with tf.GradientTape() as tape:\n    {a} = {b}\n" + f"    {a} = {a} * {b} + {a}\n" * n + f"tape.gradient({a}, {b})\n",
    lambda n, a, b: "class S:\n    def __init__(self):\n" + "".join(f"        self.a{i} = self.a{i + 1}\n" for i in range(n)) + f"        self.a{n} = {b}\n{a} = S().a0\n",
    lambda n, a, b: f"{a} = " + "(" * min(n, 90) + f"{b} if {b} else {a}" + f") or {a}" * min(n, 90) + "\n",
    lambda n, a, b: f"{a} = " + f"not {a} or " * n + f"{b}\n",
    lambda n, a, b: f"{a} = x, = y, = " * min(n, 90) + f"{b}\n",
    lambda n, a, b: f"@{a}\n" * n + f"def {b}(x): return x\n",
)  # fmt: skip


def _chain(program: _Program) -> None:
    """Something long: calls behind calls, functions that call the next, classes that inherit from the one before."""
    rng = program.rng
    block, at = program.place()
    if rng.random() < 0.6:  # at the end of the file, where all names are known
        block, at = program.tree.body, len(program.tree.body)
    length = rng.choices(_CHAIN_LENGTHS, (6, 3, 2, 1))[0]
    block[at:at] = ast.parse(rng.choice(CHAINS)(length, program.name().id, program.name().id)).body


def _futures_last(program: _Program) -> None:
    """Move a definition to another block: methods become functions and functions methods."""
    block, at = program.place()
    moved = block.pop(at)
    if not block:
        block.append(ast.Pass())
    other, there = program.place()
    other.insert(there, moved)


SYNTACTIC: Sequence[Callable[[_Program], None]] = (
    _delete, _duplicate, _swap, _frame, _frame, _empty, _line, _line, _line, _replace, _replace, _replace, _wrap, _wrap, _wrap, _call, _call, _rename, _rename,
    _attribute, _decorate, _parameter, _recurse, _chain, _futures_last,
)  # fmt: skip


# Text


def _cut(text: str, rng: random.Random) -> str:
    at = rng.randrange(len(text) + 1)
    return text[:at] + text[at + rng.randint(1, 40) :]


def _paste(text: str, rng: random.Random) -> str:
    at, start = rng.randrange(len(text) + 1), rng.randrange(len(text) + 1)
    return text[:at] + text[start : start + rng.randint(1, 200)] + text[at:]


def _odd(text: str, rng: random.Random) -> str:
    odd = (
        "\t",
        "\f",
        "\r",
        "\r\n",
        "\\\n",
        "\x00",
        "\ufeff",
        "ä",
        "\u2028",
        "\U0001d518",
        "'''",
        '"""',
        "(",
        ")",
        ":",
        ";",
        "#",
        "# noqa: TFG101",
        "# tflint-gpu: noqa",
        "\\",
        "%",
        "!",
        "@",
        "*",
        "**",
        "...",
        ":=",
        "->",
        "lambda",
        "async ",
        "\x1a",
        "\x85",
    )
    at = rng.randrange(len(text) + 1)
    return text[:at] + rng.choice(odd) + text[at:]


def _line_endings(text: str, rng: random.Random) -> str:
    ending = rng.choice(("\r\n", "\r", "\n\f", "\n\n"))
    return ending.join(text.split("\n"))


def _spaces(text: str, rng: random.Random) -> str:
    return text.replace("    ", rng.choice(("\t", " ", "        ")))


def _lines_moved(text: str, rng: random.Random) -> str:
    lines = text.splitlines(keepends=True)
    if lines:
        line = lines.pop(rng.randrange(len(lines)))
        lines.insert(rng.randint(0, len(lines)), line)
    return "".join(lines)


def _joined(text: str, rng: random.Random) -> str:
    """Some statements on one line."""
    lines = text.split("\n")
    for _ in range(5):
        at = rng.randrange(len(lines))
        if at + 1 < len(lines) and lines[at].strip() and not lines[at + 1].startswith((" ", "@")):
            lines[at : at + 2] = [f"{lines[at]}; {lines[at + 1]}"]
    return "\n".join(lines)


TEXTUAL: Sequence[Callable[[str, random.Random], str]] = (
    _cut, _paste, _odd, _line_endings, _spaces, _lines_moved, _joined,
)  # fmt: skip
