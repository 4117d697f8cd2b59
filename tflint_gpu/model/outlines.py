"""A training step that stands in a loop, moved into a function of its own: what a user would do by hand."""

from __future__ import annotations

import ast
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import libcst as cst

from tflint_gpu.model.free_names import bound, free_of_block, stored
from tflint_gpu.model.syntax import LoopNode, Node

if TYPE_CHECKING:
    from tflint_gpu.model.model import Model

STEP = "tflint_step"


@dataclass(frozen=True, slots=True)
class Outline:
    """A function and its call.

    Arguments:
        definition: the `def` with its body, at the indentation of the loop that it is to stand before.
        call: the statement that replaces the first of `statements`; the others go.
    """

    definition: str
    call: str
    statements: tuple[Node, ...]


def outline(model: Model, loop: LoopNode, tape: cst.Call, updates: frozenset[str]) -> Outline | None:
    """The statements from a tape to the update of the weights as a function; None where they are not in one block.

    Arguments:
        updates: the methods that update weights.
    """
    block = model.tree.block(model.tree.statement(tape))
    first = next((one for one in block.children if model.tree.within(tape, one)), None)
    if not isinstance(block, cst.IndentedBlock) or first is None or not model.tree.within(block, loop):
        return None
    behind = list(block.body)[list(block.body).index(first) :]  # type: ignore[arg-type]
    last = next((i for i in reversed(range(len(behind))) if _calls(model, behind[i], updates)), None)
    if last is None:
        return None
    region = behind[: last + 1]
    code = [textwrap.dedent(model.indentation(one) + model.code(one)) for one in region]
    return _written(model, loop, region, "\n".join(code))


def _calls(model: Model, statement: Node, methods: frozenset[str]) -> bool:
    return any(model.tree.within(call, statement) for call in model.method_calls(*methods))


def _written(model: Model, loop: LoopNode, region: Sequence[Node], code: str) -> Outline | None:
    inside = ast.parse(code).body
    around = ast.parse(textwrap.dedent(model.indentation(loop) + model.code(loop))).body[0]
    if any(
        isinstance(node, ast.Break | ast.Continue | ast.Return | ast.Yield) for one in inside for node in ast.walk(one)
    ):
        return None
    given = ", ".join(sorted(free_of_block(inside) & bound(around)))
    returned = ", ".join(sorted(_made(inside) & _read_elsewhere(model, region)))
    indentation = model.indentation(loop)
    spelled = model.names.spelled("tf.function", loop) or "tflint_measure.tf.function"
    body = textwrap.indent(f"{code}\nreturn {returned}" if returned else code, "    ")
    definition = textwrap.indent(f"@{spelled}\ndef {STEP}({given}):\n{body}\n", indentation).lstrip()
    call = f"{returned} = {STEP}({given})" if returned else f"{STEP}({given})"
    return Outline(f"{definition}\n{indentation}", call, tuple(region))


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


def _read_elsewhere(model: Model, region: Sequence[Node]) -> set[str]:
    """The names that the file reads outside of some statements."""
    first = model.source.row(model.span(region[0])[0])
    last = model.source.row(model.span(region[-1])[1])
    return {
        node.id
        for node in ast.walk(ast.parse(model.source.code))
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and not first <= node.lineno <= last
    }
