"""A training step that stands in a loop, moved into a function of its own: what a user would do by hand."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass

import libcst as cst

from tflint_gpu.model.python.file import File
from tflint_gpu.model.python.free_names import blocks, bound, free, free_of_block, stored
from tflint_gpu.model.python.syntax import LoopNode, Node

STEP = "tflint_step"


@dataclass(frozen=True, slots=True)
class Outline:
    """A function and its call.

    Arguments:
        definition: the `def` with its body and what leads up to the loop, before which it is to stand.
        call: the statement that replaces the first of `statements`; the others go.
    """

    definition: str
    call: str
    statements: tuple[Node, ...]


def outline(file: File, loop: LoopNode, tape: cst.Call, updates: frozenset[str]) -> Outline | None:
    """The statements from a tape to the update of the weights as a function; None where they are not in one block.

    Arguments:
        updates: the methods that update weights.
    """
    block = file.tree.block(file.tree.statement(tape))
    first = next((one for one in block.children if file.tree.within(tape, one)), None)
    if not isinstance(block, cst.IndentedBlock) or first is None or not file.tree.within(block, loop):
        return None
    behind = list(block.body)[list(block.body).index(first) :]  # type: ignore[arg-type]
    last = next((i for i in reversed(range(len(behind))) if _calls(file, behind[i], updates)), None)
    if last is None:
        return None
    return _written(file, loop, behind[: last + 1])


def _calls(file: File, statement: Node, methods: frozenset[str]) -> bool:
    return any(file.tree.within(call, statement) for call in file.method_calls(*methods))


def _written(file: File, loop: LoopNode, region: Sequence[Node]) -> Outline | None:
    first, last = _rows(file, region[0])[0], _rows(file, region[-1])[1]
    try:
        tree = ast.parse(file.source.code)
    except (SyntaxError, ValueError, RecursionError, MemoryError):  # what only libcst takes for Python
        return None
    inside = [node for node in ast.walk(tree) if isinstance(node, ast.stmt) and _is_between(node, first, last)]
    if any(isinstance(node, _UNMOVABLE) for one in inside for node in ast.walk(one)):
        return None
    around = next((n for n in ast.walk(tree) if isinstance(n, _LOOPS) and n.lineno == _rows(file, loop)[0]), None)
    if around is None:  # rows that Python counts in another way
        return None
    moved = [one for one in inside if one.lineno in {_rows(file, node)[0] for node in region}]
    given = ", ".join(sorted(free_of_block(moved) & bound(around)))
    returned = ", ".join(sorted(_made(moved) & _read_behind(tree, first, last, frozenset(inside))))
    outer, inner = file.indentation(loop), file.indentation(region[0])
    spelled = file.names.spelled("tf.function", loop) or "tflint_measure.tf.function"
    body = inner + file.source.code[file.span(region[0])[0] : file.span(region[-1])[1]]
    end = f"\n{inner}return {returned}" if returned else ""
    definition = f"@{spelled}\n{outer}def {STEP}({given}):\n{body}{end}\n\n{outer}"
    call = f"{returned} = {STEP}({given})" if returned else f"{STEP}({given})"
    return Outline(definition, call, tuple(region))


def _rows(file: File, node: Node) -> tuple[int, int]:
    start, end = file.span(node)
    return file.source.row(start), file.source.row(end)


def _is_between(node: ast.stmt, first: int, last: int) -> bool:
    return first <= node.lineno and (node.end_lineno or node.lineno) <= last


def _made(block: list[ast.stmt]) -> set[str]:
    """The names that a block binds, without those of its context managers: a tape does not leave the function."""
    managers = {
        name
        for one in block
        for node in ast.walk(one)
        if isinstance(node, ast.withitem) and node.optional_vars is not None
        for name in stored(node.optional_vars)
    }
    return {name for one in block for name in bound(one)} - managers


def _read_behind(tree: ast.Module, first: int, last: int, region: frozenset[ast.stmt]) -> set[str]:
    """The names whose values are read after some rows: further down, or in the next turn of a loop around them."""
    found = {name for one in tree.body if isinstance(one, _DEFINITIONS) for name in free(one, region)}
    block, is_repeated = tree.body, False
    while True:
        found |= free_of_block([one for one in block if one.lineno > last])
        if is_repeated:
            found |= free_of_block(block, region)
        path = next((one for one in block if one.lineno <= first and last <= (one.end_lineno or 0)), None)
        inner = next((b for b in blocks(path) if b[0].lineno <= first and last <= _end(b)), None) if path else None
        if path is None or inner is None or path in region:
            return found
        if isinstance(path, ast.While):
            found |= free(path.test)
        is_repeated = (is_repeated or isinstance(path, _LOOPS)) and not isinstance(path, _DEFINITIONS)
        block = inner


def _end(block: list[ast.stmt]) -> int:
    return block[-1].end_lineno or block[-1].lineno


_LOOPS = (ast.For, ast.AsyncFor, ast.While)
_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
_UNMOVABLE = (
    ast.Break, ast.Continue, ast.Return, ast.Yield, ast.YieldFrom, ast.Await, ast.AsyncFor, ast.AsyncWith, ast.Global,
    ast.Nonlocal,
)  # fmt: skip
