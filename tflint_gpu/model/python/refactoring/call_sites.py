"""What of some statements stays where they are when the others become a function: it fetches data, or tells of them."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import chain

from tflint_gpu.lazy_dataclasses import dataclass
from tflint_gpu.model.python.project.file import File
from tflint_gpu.model.python.refactoring.free_names import bound, free, free_of_block, roots, stored


@dataclass(frozen=True, slots=True)
class CallSite:
    """Statements that stay next to the call.

    Arguments:
        before: what fetches data first, and may leave the code around it.
        after: what prints, or puts values that the host reads into lists.
    """

    before: tuple[ast.stmt, ...] = ()
    after: tuple[ast.stmt, ...] = ()

    @property
    def statements(self) -> frozenset[ast.stmt]:
        """All of them."""
        return frozenset((*self.before, *self.after))

    @property
    def rows(self) -> frozenset[int]:
        """Where they are, counted from one."""
        return frozenset(chain(*map(rows_of, self.statements)))

    def around(self, file: File, call: str, indentation: str) -> str:
        """The call with what stays before and after it, but for the first row's indentation."""
        before, after = (
            [_text(file, statement, indentation) for statement in part] for part in (self.before, self.after)
        )
        return f"\n{indentation}".join((*before, call, *after))


def call_site(file: File, region: Sequence[ast.stmt]) -> CallSite:
    """What stays of some statements of which the first may begin a tape."""
    before = _fetched(file, region)
    return CallSite(before, _told(file, region, frozenset(before)))


def bound_in(block: Iterable[ast.stmt]) -> set[str]:
    """The names that some statements may give a value."""
    return {name for statement in block for name in bound(statement)}


def rows_of(statement: ast.stmt) -> range:
    """The rows of a statement, counted from one."""
    return range(statement.lineno, (statement.end_lineno or statement.lineno) + 1)


def has_long_strings(block: Iterable[ast.stmt]) -> bool:
    """Whether a string among some statements has rows of its own, which no other indentation may change."""
    nodes = (node for statement in block for node in ast.walk(statement))
    return any(node.lineno != node.end_lineno for node in nodes if isinstance(node, ast.JoinedStr | ast.Constant))


def leaving(node: ast.AST, dropped: Collection[ast.stmt] = (), in_loop: bool = False) -> Iterator[ast.stmt | ast.expr]:
    """What in some code means the function or the loop around it, and would mean another one elsewhere.

    Arguments:
        dropped: statements that count as absent.
        in_loop: the loop that `break` means is part of the code.
    """
    if isinstance(node, (*DEFINITIONS, ast.Lambda)) or node in dropped:
        return
    is_of_code = in_loop and isinstance(node, ast.Break | ast.Continue)
    if isinstance(node, ast.stmt | ast.expr) and type(node) in WORDS and not is_of_code:
        yield node
    body = node.body if isinstance(node, ast.For | ast.AsyncFor | ast.While) else []
    for child in ast.iter_child_nodes(node):
        yield from leaving(child, dropped, in_loop or child in body)


def _fetched(file: File, region: Sequence[ast.stmt]) -> tuple[ast.stmt, ...]:
    """What a tape begins with up to the last statement that may leave it, where it does no more than fetch data.

    A tape records nothing of it that weights depend on.
    """
    block = region[0].body if isinstance(region[0], ast.With) else []
    last = next((i for i in reversed(range(len(block))) if any(leaving(block[i]))), None)
    if last is None or last + 1 == len(block):
        return ()
    before, rest = block[: last + 1], [*block[last + 1 :], *region[1:]]
    if bound_in(before) & bound_in(rest) or not all(_fetches(statement) for statement in before):
        return ()
    return tuple(before) if all(_has_own_rows(file, statement) for statement in before) else ()


def _fetches(statement: ast.stmt) -> bool:
    """Whether a statement takes data with `next`, prints or leaves: it computes nothing that a gradient passes."""
    match statement:
        case ast.Assign(value=ast.Call(func=ast.Name("next" | "iter" | "len"))):
            return True
        case ast.Expr(ast.Call(func=ast.Name("print"))) | ast.Break() | ast.Continue() | ast.Pass() | ast.Raise():
            return True
        case ast.Return(value):
            return value is None or isinstance(value, ast.Constant | ast.Name)
        case ast.Try(body, handlers, orelse, finalbody):
            handled = [line for handler in handlers for line in handler.body]
            return all(map(_fetches, [*body, *handled, *orelse, *finalbody]))
        case ast.If(test, body, orelse):
            return not _is_asked(test) and all(map(_fetches, [*body, *orelse]))
    return False


def _is_asked(test: ast.expr) -> bool:
    """Whether a condition does something besides comparing."""
    return any(isinstance(node, ast.Call | ast.NamedExpr) for node in ast.walk(test))


def _told(file: File, region: Sequence[ast.stmt], fetched: Collection[ast.stmt]) -> tuple[ast.stmt, ...]:
    """What tells of values in the block of a region or in the one of a tape, and may as well do so when it is over."""
    told: list[ast.stmt] = []
    computed = {name for statement in region for name in _computed(statement)}
    for index, outer in reversed([*enumerate(region)]):
        block = outer.body if isinstance(outer, ast.With) else [outer]
        for number, statement in reversed([*enumerate(block)]):
            if statement in fetched or not _has_own_rows(file, statement) or not _tells(statement):
                continue
            rest = [line for line in (*block[number + 1 :], *region[index + 1 :]) if line not in told]
            later = bound_in(rest) | (_asked(file, [statement]) & _asked(file, rest))
            later |= (_listed(statement) | _read(statement) - computed) & free_of_block(rest)
            if not free(statement) & later:
                told.insert(0, statement)
        if isinstance(outer, ast.With) and all(statement in told or statement in fetched for statement in block):
            return ()
    return tuple(told)


def _tells(statement: ast.stmt) -> bool:
    """Whether a statement prints, or puts what the host reads into a list, always or under a condition."""
    if isinstance(statement, ast.If):
        lines = (*statement.body, *statement.orelse)
        return not (_is_asked(statement.test) or has_long_strings([statement])) and all(_tells(line) for line in lines)
    call = statement.value if isinstance(statement, ast.Expr) else None
    if not isinstance(call, ast.Call):
        return False
    if isinstance(call.func, ast.Name):
        return call.func.id == "print"
    reads = [node for node in ast.walk(call) if isinstance(node, ast.Call) and node is not call]
    return bool(reads) and _is_append(call) and all(map(_is_read, reads))


def _is_append(call: ast.Call) -> bool:
    return isinstance(call.func, ast.Attribute) and call.func.attr == "append" and isinstance(call.func.value, ast.Name)


def _is_read(call: ast.Call) -> bool:
    """Whether a call gives the host a tensor's value."""
    if isinstance(call.func, ast.Attribute):
        return call.func.attr in ("numpy", "item") and not call.args
    return isinstance(call.func, ast.Name) and call.func.id in ("float", "int")


def _listed(statement: ast.stmt) -> set[str]:
    """The lists that a statement adds to."""
    calls = [node for node in ast.walk(statement) if isinstance(node, ast.Call) and _is_append(node)]
    return {name for call in calls for name in roots(call.func)}


def _read(statement: ast.stmt) -> set[str]:
    """The names whose values the host reads: those of a variable are others after an update."""
    calls = [node for node in ast.walk(statement) if isinstance(node, ast.Call) and _is_read(node)]
    return {name for call in calls for name in free(call)}


def _computed(statement: ast.stmt) -> set[str]:
    """The names that get what is computed, no variable under another name."""
    assigned = [node for node in ast.walk(statement) if isinstance(node, ast.Assign)]
    results = [node for node in assigned if isinstance(_whole(node.value), ast.Call | ast.BinOp)]
    return {name for node in results for target in node.targets for name in stored(target)}


def _whole(value: ast.expr) -> ast.expr:
    """What an expression is a part of: `f(x)` for `f(x)["out"][0].a`."""
    while isinstance(value, ast.Attribute | ast.Subscript):
        value = value.value
    return value


def _asked(file: File, statements: Iterable[ast.stmt]) -> set[str]:
    """The names of objects, not modules, that some statements ask or call: a model, an optimizer."""
    nodes = (node for statement in statements for node in ast.walk(statement))
    names = {name for node in nodes if isinstance(node, ast.Attribute | ast.Call) for name in roots(node)}
    return {name for name in names if all(b.kind != "import" for b in file.tree.root.bindings.get(name, ()))}


def _has_own_rows(file: File, statement: ast.stmt) -> bool:
    rows = rows_of(statement)
    before = file.source.line(rows[0]).encode()[: statement.col_offset]
    after = file.source.line(rows[-1]).encode()[statement.end_col_offset :].strip()
    return not before.strip() and (not after or after.startswith(b"#"))


def _text(file: File, statement: ast.stmt, indentation: str) -> str:
    lines = [file.source.line(row) for row in rows_of(statement)]
    if isinstance(statement, ast.If | ast.Try):
        own = lines[0][: len(lines[0]) - len(lines[0].lstrip())]
        lines = [indentation + line.removeprefix(own) if line.startswith(own) else line for line in lines]
    return "\n".join(lines).strip()


DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
WORDS: dict[type[ast.AST], str] = {
    ast.Break: "break", ast.Continue: "continue", ast.Return: "return", ast.Yield: "yield", ast.YieldFrom: "yield from",
    ast.Await: "await", ast.AsyncFor: "async for", ast.AsyncWith: "async with", ast.Global: "global",
    ast.Nonlocal: "nonlocal",
}  # fmt: skip
"""What means the function or the loop around it, and its word."""
