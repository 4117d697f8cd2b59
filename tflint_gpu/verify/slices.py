"""A backward slice of one file: which statements a place in it needs, and which can go.

Works on whole statements and on names, as they are spelled. A statement is needed when it binds, or may change, a
name that a needed statement reads. Where that cannot be told it stays: a program that does too much still runs. What
writes, prints, trains or evaluates on the way is left out unless its result is used.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from tflint_gpu.model.free_names import Block, blocks, bound, free, free_of_head, roots

# Settings of the runtime decide what a measurement shows, whoever makes them.
_SETTING = re.compile(
    r"\btf\.config\b|set_seed|set_global_policy|set_policy|\benviron\b|run_functions_eagerly|enable_debug_mode"
    r"|enable_numpy_behavior|set_floatx|set_memory_growth|set_visible_devices|enable_mlir|set_image_data_format"
    r"|disable_v2_behavior|disable_eager_execution|enable_op_determinism|append\(.*path|sys\.path"
)
# Called for what they show, write or learn: weights do not change how long a step takes.
_EFFECTS = frozenset(
    (
        "fit evaluate predict fit_generator summary save save_weights load_weights restore print info debug warning "
        "warn error log write writerow writelines dump savefig show plot imshow close flush export to_csv scalar image "
        "histogram makedirs mkdir rmtree remove display set_description set_postfix plot_model check_call "
        "train test basicConfig set_verbosity simplefilter filterwarnings download_and_prepare"
    ).split()
)


@dataclass(frozen=True, slots=True)
class Way:
    """A place that must be reached in one file.

    Arguments:
        row: from 1, of the statement.
        forward: what the statement makes is used by later statements of its block, and those are wanted too: they
            run what is to be reached.
        whole: the statement's own body is part of what is wanted (a loop that is measured), not only the way to it.
    """

    row: int
    forward: bool = False


@dataclass(slots=True)
class Slice:
    """What is left of a file: the rows that go, and the names that it reads from other files or builtins."""

    dropped: set[int] = field(default_factory=set)
    needed: set[str] = field(default_factory=set)


def slice_file(tree: ast.Module, ways: Sequence[Way], exported: Iterable[str] = ()) -> Slice:
    """Find what can go.

    Arguments:
        tree: the parsed file.
        ways: the places to reach: in functions, and at most one in the module's own statements, behind
            which nothing is run any more.
        exported: names that other files of the program take from this one.
    """
    result = Slice(needed=set(exported))
    dropped: set[ast.stmt] = set()
    module_way: Way | None = None
    for way in ways:
        function = _function_around(tree, way.row)
        if function is None:
            module_way = way
        else:
            _trim(function.body, way, set(), dropped)
    needed = result.needed
    if module_way is not None:
        _trim(tree.body, module_way, needed, dropped)
    else:
        _close([tree.body], set(), needed, dropped)
    kept_rows = {row for one in _kept(tree.body, dropped) for row in _head_rows(one)}
    for one in dropped:
        result.dropped |= set(_rows(one)) - kept_rows
    return result


def _kept(block: Block, dropped: set[ast.stmt]) -> Iterator[ast.stmt]:
    """All statements at every depth that are neither dropped nor within a dropped one."""
    for statement in block:
        if statement not in dropped:
            yield statement
            for inner in blocks(statement):
                yield from _kept(inner, dropped)


def _function_around(tree: ast.Module, row: int) -> ast.FunctionDef | ast.AsyncFunctionDef | None:
    """The innermost function whose body holds the row."""
    found = None
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            first = node.body[0].lineno if node.body else node.lineno
            inside = min(first, node.lineno + 1) <= row <= (node.end_lineno or row)
            if inside and (found is None or node.lineno > found.lineno):
                found = node
    return found


def _trim(body: Block, way: Way, needed: set[str], dropped: set[ast.stmt]) -> None:
    """Drop from a block, and from the blocks within on the way, what the place does not need and what comes after."""
    levels: list[Block] = [body]
    wanted: set[ast.stmt] = set()
    for statement, inner in _descent(body, way.row):
        levels.append(inner)
        wanted.add(statement)
        needed |= free_of_head(statement)
    target = _holding(levels[-1], way.row)
    if target is None:
        return
    wanted.add(target)
    needed |= free(target, dropped)
    if way.forward:
        _want_later_users(levels, way.row, wanted, needed, dropped)
    for block in levels:
        last = max((i for i, one in enumerate(block) if one in wanted), default=len(block))
        dropped.update(block[last + 1 :])
    _close(levels, wanted, needed, dropped)


def _descent(body: Block, row: int) -> Iterator[tuple[ast.stmt, Block]]:
    """The compound statements around a row, outermost first, each with the block of it that holds the row."""
    block = body
    while (statement := _holding(block, row)) is not None:
        if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            return
        inner = next((b for b in blocks(statement) if _holding(b, row) is not None), None)
        if inner is None:
            return
        yield statement, inner
        block = inner


def _holding(block: Block, row: int) -> ast.stmt | None:
    return next((one for one in block if _first_row(one) <= row <= (one.end_lineno or one.lineno)), None)


def _want_later_users(
    levels: list[Block], row: int, wanted: set[ast.stmt], needed: set[str], dropped: set[ast.stmt]
) -> None:
    """Want the statements behind a place that use what it made, and those that use what they make."""
    made: set[str] = set()
    for block in reversed(levels):
        target = _holding(block, row)
        if target is None:
            continue
        made |= bound(target) | changes(target, everything=True)
        for statement in block[block.index(target) + 1 :]:
            used = free(statement, dropped)
            if used & made:
                made |= bound(statement) | changes(statement, everything=True)
                wanted.add(statement)
                needed |= used


def _close(levels: list[Block], wanted: set[ast.stmt], needed: set[str], dropped: set[ast.stmt]) -> None:
    """Keep what binds or changes a needed name, until nothing more is needed; drop the rest."""
    candidates = [one for block in levels for one in block if one not in wanted and one not in dropped]
    kept: set[ast.stmt] = set()
    grew = True
    while grew:
        grew = False
        for statement in candidates:
            if statement not in kept and _matters(statement, needed):
                kept.add(statement)
                needed |= free(statement, dropped)
                grew = True
    dropped.update(one for one in candidates if one not in kept)


def _matters(statement: ast.stmt, needed: set[str]) -> bool:
    if isinstance(statement, ast.ImportFrom):
        if statement.module == "__future__" or any(alias.name == "*" for alias in statement.names):
            return True
    elif isinstance(statement, ast.Global | ast.Nonlocal | ast.Return):
        return not isinstance(statement, ast.Return)
    if bound(statement) & needed or changes(statement) & needed or _prepares_base(statement):
        return True
    if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Import | ast.ImportFrom):
        return False
    return _SETTING.search(ast.unparse(statement)) is not None


def _prepares_base(statement: ast.stmt) -> bool:
    """`super().__init__()` and its kin, without which the object is not whole."""
    return isinstance(statement, ast.Expr) and roots(statement.value) == {"super"}


def changes(statement: ast.stmt, everything: bool = False) -> set[str]:
    """The names whose objects a statement may change: `x.a = 1`, `x[0] = 1`, `x.add(y)`, `prepare(x)`.

    Arguments:
        everything: count calls, too, that are made for what they show, write or learn.
    """
    found: set[str] = set()
    for node in ast.walk(statement):
        if isinstance(node, ast.Attribute | ast.Subscript) and isinstance(node.ctx, ast.Store):
            found |= roots(node)
        elif isinstance(node, ast.AugAssign):
            found |= roots(node.target)
        elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
            call = node.value
            if everything or _called(call) not in _EFFECTS:
                found |= roots(call.func) if isinstance(call.func, ast.Attribute) else set()
                found |= {arg.id for arg in call.args if isinstance(arg, ast.Name)}
                found |= {k.value.id for k in call.keywords if isinstance(k.value, ast.Name)}
    return found


def _called(call: ast.Call) -> str:
    if isinstance(call.func, ast.Attribute):
        return call.func.attr
    return call.func.id if isinstance(call.func, ast.Name) else ""


def _first_row(statement: ast.stmt) -> int:
    decorators: list[ast.expr] = getattr(statement, "decorator_list", [])
    return min([statement.lineno, *(d.lineno for d in decorators)])


def _rows(statement: ast.stmt) -> range:
    return range(_first_row(statement), (statement.end_lineno or statement.lineno) + 1)


def _head_rows(statement: ast.stmt) -> Iterable[int]:
    """The rows of a statement without those of the statements in its blocks."""
    starts = [_first_row(one) for block in blocks(statement) for one in block]
    if not starts:
        return _rows(statement)
    return range(_first_row(statement), max(min(starts), statement.lineno + 1))
