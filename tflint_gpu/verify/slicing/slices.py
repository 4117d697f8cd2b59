"""A backward slice of one file: which statements a place in it needs, and which can go.

Works on whole statements and on names, as they are spelled. A statement is needed when it binds, or may change
(`effects`), a name that a needed statement reads. Where that is not known it stays: a program that does too much
still runs. What writes, prints, trains or evaluates on the way is left out unless its result is used.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Sequence

from tflint_gpu.lazy_dataclasses import dataclass
from tflint_gpu.model.python.refactoring.free_names import (
    Block,
    blocks,
    bound,
    free,
    free_of_block,
    free_of_head,
    roots,
)
from tflint_gpu.verify.slicing.effects import Effects

Definition = ast.FunctionDef | ast.AsyncFunctionDef

# Settings of the runtime decide what a measurement shows, whoever makes them.
_SETTING = re.compile(
    r"\btf\.config\b|set_seed|random\.seed|set_global_policy|set_policy|\benviron\b|run_functions_eagerly|enable_debug_mode"
    r"|enable_numpy_behavior|set_floatx|set_memory_growth|set_visible_devices|enable_mlir|set_image_data_format"
    r"|disable_v2_behavior|disable_eager_execution|enable_op_determinism|\bsys\.path\b|\bflags\.DEFINE_"
)


@dataclass(frozen=True, slots=True)
class Way:
    """A place that must be reached in one file.

    Arguments:
        row: from 1, of the statement.
        forward: what the statement makes is used by later statements of its block, and those are wanted too: they
            run what is to be reached.
    """

    row: int
    forward: bool = False


def slice_file(
    tree: ast.Module,
    ways: Sequence[Way],
    exported: Iterable[str] = (),
    kept: Iterable[int] = (),
    effects: Effects | None = None,
) -> frozenset[int]:
    """Find the rows (from 1) that can go.

    Arguments:
        tree: the parsed file.
        ways: the places to reach, in the order in which they are reached: in functions, and at most one in the
            module's own statements, after which nothing is run any more.
        exported: names that are wanted of the file besides.
        kept: rows (from 1) of statements that stay, where they are in the way.
        effects: of the tree, where they are known already.
    """
    cut = _Cut(tree, effects or Effects(tree))
    kept_around = [(_function_around(tree, row), Way(row)) for row in kept]
    needed = set(exported)
    around = [(_function_around(tree, way.row), way) for way in ways]
    inside = {function: way for function, way in around if function is not None}
    for function in reversed(inside):
        several = [way for owner, way in (*around, *kept_around) if owner is function]
        cut.trim(function.body, several, set())
    outside = [way for function, way in around if function is None]
    cut.trim(tree.body, [*outside[:1], *(way for function, way in kept_around if function is None)], needed)
    return cut.dropped_rows()


class _Cut:
    """The statements of one file that go, while they are being found."""

    def __init__(self, tree: ast.Module, effects: Effects) -> None:
        self._tree = tree
        self._effects = effects
        self._dropped: set[ast.stmt] = set()
        self._repeated: list[Block] = []

    def dropped_rows(self) -> frozenset[int]:
        """The rows of what goes that nothing which stays shares."""
        kept = {row for statement in self._kept(self._tree.body) for row in _head_rows(statement)}
        return frozenset(row for statement in self._dropped for row in _rows(statement) if row not in kept)

    def _kept(self, block: Block) -> Iterator[ast.stmt]:
        """All statements at every depth that are neither dropped nor within a dropped one."""
        for statement in block:
            if statement not in self._dropped:
                yield statement
                for inner in blocks(statement):
                    yield from self._kept(inner)

    def trim(self, body: Block, ways: Sequence[Way], needed: set[str]) -> None:
        """Drop from a block, and from the blocks within on the ways, what the places do not need and what comes after.

        Arguments:
            needed: the names that are wanted besides.
        """
        levels: list[Block] = [body]
        wanted: set[ast.stmt] = set()
        at_end = set(needed)
        for way in ways:
            inner = self._reach(body, way, wanted, needed)
            levels += [block for block in inner if block not in levels]
        for block in levels if wanted else ():
            if block not in self._repeated:
                last = max(i for i, inner in enumerate(block) if inner in wanted)
                self._dropped.update(inner for inner in block[last + 1 :] if _first_row(inner) > _last_row(block[last]))
        self._close(levels, wanted, needed)
        left = [inner for inner in body if inner not in self._dropped]
        self._dropped.update(_replaced(left, at_end, wanted, self._effects, self._dropped))

    def _reach(self, body: Block, way: Way, wanted: set[ast.stmt], needed: set[str]) -> list[Block]:
        """Want a place and the statements around it; the blocks on the way to it, the body not included."""
        path = list(_descent(body, way.row))
        levels = [block for _, block in path]
        target = _holding(levels[-1] if levels else body, way.row)
        if target is None:
            return []
        wanted.update((*(statement for statement, _ in path), target))
        self._repeated += _passed_before(path)
        for statement, _ in path:
            needed |= free_of_head(statement)
            for block in blocks(statement):  # the other branches may run before the one of the place
                needed |= free_of_block(block) if block not in levels else set()
        needed |= free(target, self._dropped)
        if way.forward:
            self._want_later_users([body, *levels], way.row, wanted, needed)
        return levels

    def _want_later_users(self, levels: list[Block], row: int, wanted: set[ast.stmt], needed: set[str]) -> None:
        """Want the statements after a place that use what it made, and those that use what they make."""
        made: set[str] = set()
        for block in reversed(levels):
            target = _holding(block, row)
            if target is None:
                continue
            made |= bound(target) | self._effects.changed(target, everything=True)
            for statement in block[block.index(target) + 1 :]:
                used = free(statement, self._dropped)
                if used & made and not self._effects.only_shows(statement):
                    made |= bound(statement) | self._effects.changed(statement, everything=True)
                    wanted.add(statement)
                    needed |= used

    def _close(self, levels: list[Block], wanted: set[ast.stmt], needed: set[str]) -> None:
        """Keep what binds or changes a needed name, until nothing more is needed; drop the rest."""
        candidates = [
            inner for block in levels for inner in block if inner not in wanted and inner not in self._dropped
        ]
        rows = {row for statement in wanted for row in _head_rows(statement)}
        kept: set[ast.stmt] = set()
        grew = True
        while grew:
            grew = False
            for statement in candidates:
                if statement not in kept and (rows & set(_rows(statement)) or self._matters(statement, needed)):
                    kept.add(statement)
                    rows |= set(_rows(statement))
                    needed |= free(statement, self._dropped)
                    grew = True
        self._dropped.update(candidate for candidate in candidates if candidate not in kept)

    def _matters(self, statement: ast.stmt, needed: set[str]) -> bool:
        given = bound(statement) | self._effects.changed(statement)
        return bool(given & needed) or _always_matters(statement)


def _always_matters(statement: ast.stmt) -> bool:
    """Whether a statement is needed whatever reads the names that it gives a value."""
    if isinstance(statement, ast.ImportFrom) and (
        statement.module == "__future__" or any(alias.name == "*" for alias in statement.names)
    ):
        return True
    if isinstance(statement, Definition | ast.ClassDef | ast.Import | ast.ImportFrom):
        return False
    is_declared = isinstance(statement, ast.Global | ast.Nonlocal)
    return is_declared or _prepares_base(statement) or _SETTING.search(ast.unparse(statement)) is not None


def _replaced(
    block: Sequence[ast.stmt],
    at_end: set[str],
    wanted: set[ast.stmt],
    effects: Effects,
    dropped: set[ast.stmt],
) -> set[ast.stmt]:
    """The statements of a body whose values others replace before anything reads them: a model of an earlier cell.

    Live variables, from the end: an assignment of the body itself ends what was assigned before, unless code that was
    made before, and may run at any time, reads it.

    Arguments:
        at_end: the names that are wanted of the block.
    """
    if any(isinstance(statement, ast.Global | ast.Nonlocal) for statement in block):
        return set()
    read = [free(statement, dropped) for statement in block]
    live = at_end.union(*(_read_later(statement, dropped) for statement in block))
    gone: set[ast.stmt] = set()
    for index in reversed(range(len(block))):
        statement = block[index]
        given = bound(statement) | effects.changed(statement)
        is_alone = not set(_rows(statement)) & {
            row for other in block[max(0, index - 1) : index + 2] for row in _rows(other) if other is not statement
        }
        if statement not in wanted and given and not given & live and is_alone and not _always_matters(statement):
            gone.add(statement)
            continue
        if isinstance(statement, ast.Assign):
            names = set().union(*(_names_of(target) for target in statement.targets))
            live -= names - _read_at_any_time(block[:index], read[:index], dropped) if names & live else set()
        live |= read[index]
    return gone


def _names_of(target: ast.expr) -> set[str]:
    """The names that an assignment to a target certainly binds."""
    parts = target.elts if isinstance(target, ast.Tuple | ast.List) else [target]
    return {part.id for part in parts if isinstance(part, ast.Name)}


def _read_at_any_time(block: Sequence[ast.stmt], read: Sequence[set[str]], dropped: set[ast.stmt]) -> set[str]:
    """What functions, classes, lambdas and generators read that some statements have made and mentioned."""
    names: set[str] = set()
    for index, statement in enumerate(block):
        others = (*read[:index], *read[index + 1 :])
        if not isinstance(statement, Definition | ast.ClassDef):
            names |= _read_later(statement, dropped)
        elif statement.decorator_list or any(statement.name in mentioned for mentioned in others):
            names |= read[index]
    return names


def _read_later(statement: ast.stmt, dropped: set[ast.stmt]) -> set[str]:
    """What the code reads that a statement makes and does not run."""
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda, ast.GeneratorExp)
    made = (node for node in ast.walk(statement) if isinstance(node, kinds))
    return {name for node in made for name in free(node, dropped)}


def _function_around(tree: ast.Module, row: int) -> Definition | None:
    """The innermost function whose body holds the row."""
    innermost = None
    for node in ast.walk(tree):
        if isinstance(node, Definition):
            first = node.body[0].lineno
            inside = min(first, node.lineno + 1) <= row <= _last_row(node)
            if inside and (innermost is None or node.lineno > innermost.lineno):
                innermost = node
    return innermost


def _descent(body: Block, row: int) -> Iterator[tuple[ast.stmt, Block]]:
    """The compound statements around a row, outermost first, each with the block of it that holds the row."""
    block = body
    while (statement := _holding(block, row)) is not None:
        if isinstance(statement, Definition | ast.ClassDef):
            return
        inner = next((b for b in blocks(statement) if _holding(b, row) is not None), None)
        if inner is None:
            return
        yield statement, inner
        block = inner


def _passed_before(way: Sequence[tuple[ast.stmt, Block]]) -> list[Block]:
    """The blocks on a way that may be gone through before the place is reached: in a loop, it under a condition."""
    loops = [i for i, (inner, _) in enumerate(way) if isinstance(inner, ast.For | ast.AsyncFor | ast.While)]
    conditions = [i for i, (inner, _) in enumerate(way) if isinstance(inner, ast.If | ast.Match | ast.Try)]
    return [block for _, block in way[loops[0] : conditions[-1]]] if loops and conditions else []


def _holding(block: Block, row: int) -> ast.stmt | None:
    return next((statement for statement in block if _first_row(statement) <= row <= _last_row(statement)), None)


def _prepares_base(statement: ast.stmt) -> bool:
    """`super().__init__()` and its kin, without which the object is not whole."""
    return isinstance(statement, ast.Expr) and roots(statement.value) == {"super"}


def _first_row(statement: ast.stmt) -> int:
    decorators: list[ast.expr] = getattr(statement, "decorator_list", [])
    return min([statement.lineno, *(d.lineno for d in decorators)])


def _last_row(statement: ast.stmt) -> int:
    return statement.end_lineno or statement.lineno


def _rows(statement: ast.stmt) -> range:
    return range(_first_row(statement), _last_row(statement) + 1)


def _head_rows(statement: ast.stmt) -> Iterable[int]:
    """The rows of a statement without those of the statements in its blocks."""
    starts = [_first_row(inner) for block in blocks(statement) for inner in block]
    if not starts:
        return _rows(statement)
    return range(_first_row(statement), max(min(starts), statement.lineno + 1))
