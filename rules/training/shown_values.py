"""What a training loop shows of its steps: shown every hundred steps, it is read as seldom."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import libcst as cst

from tflint_gpu.model import Blocker, File, Iterations, StepReads, counter_of, method_name, names_in
from tflint_gpu.rule import Edit, Fix

if TYPE_CHECKING:
    from tflint_gpu.model import Model

_SHOWING = frozenset("print set_postfix set_postfix_str set_description set_description_str info debug".split())
_EVERY = 100


def shown_at_times(model: Model, reads: StepReads) -> Fix | Blocker:
    """Show what is read every hundred steps, or why it cannot be: something else needs it, nothing counts the steps, or
    the loop makes no more of them."""
    file, loop = reads.file, reads.loop
    if not isinstance(loop, cst.For | cst.While):
        return Blocker(file, loop, "this loop has no statement that could run in only some iterations")
    steps = model.once(Iterations).most(file, loop)
    if steps is not None and steps <= _EVERY:
        return Blocker(file, loop, f"only the first of {steps} steps would be shown")
    lines: set[cst.SimpleStatementLine] = set()
    for read in reads.reads:
        line = read.file.tree.statement(read.value)
        if not isinstance(line, cst.SimpleStatementLine) or not file.tree.within(line, loop):
            return Blocker(read.file, read.value, "a function that the loop calls reads it, and may need it")
        needed = _shown_with(file, line)
        if needed is None:
            return Blocker(file, line, "this does more than display the value")
        lines |= needed
    if any(file.tree.function(line) is not file.tree.function(loop) for line in lines):
        return Blocker(file, loop, "it is shown in another function")
    counter = _counter(file, loop)
    if counter is None:
        return Blocker(file, loop, "nothing counts the steps of this loop")
    name, counting = counter
    edits = [edit for line in lines for edit in _guarded(file, line, lines, f"if {name} % {_EVERY} == 0:")]
    return Fix(f"Read it every {_EVERY} steps", "unsafe", (*counting, *edits))


def _shown_with(file: File, line: cst.SimpleStatementLine) -> set[cst.SimpleStatementLine] | None:
    """A statement that shows something; or that binds it, with those of its block that show it, and no other use."""
    if len(line.body) != 1:
        return None
    (small,) = line.body
    if isinstance(small, cst.Expr):
        return {line} if _shows(small.value) else None
    if not isinstance(small, cst.Assign) or not all(isinstance(t.target, cst.Name) for t in small.targets):
        return None
    lines = {line}
    for target in small.targets:
        assert isinstance(target.target, cst.Name)
        for use in file.tree.uses.get(target.target.value, ()):
            other = file.tree.statement(use)
            if other is line:
                continue
            if not isinstance(other, cst.SimpleStatementLine) or file.tree.block(other) is not file.tree.block(line):
                return None
            if len(other.body) != 1 or not isinstance(other.body[0], cst.Expr) or not _shows(other.body[0].value):
                return None
            lines.add(other)
    return lines if len(lines) > 1 else None


def _shows(value: cst.BaseExpression) -> bool:
    if not isinstance(value, cst.Call):
        return False
    name = value.func.value if isinstance(value.func, cst.Name) else method_name(value)
    return name in _SHOWING


def _counter(file: File, loop: cst.For | cst.While) -> tuple[str, tuple[Edit, ...]] | None:
    """The name that counts the iterations of a loop, and what makes it."""
    if not isinstance(loop, cst.For):
        return None
    counter = counter_of(file, loop)
    if counter is not None:
        return counter, ()
    target = loop.target
    name = next((name for name in ("step", "batch_number", "iteration") if name not in file.tree.uses), None)
    if name is None or "enumerate" in names_in(loop):
        return None
    code = file.code(target)
    is_bare = isinstance(target, cst.Tuple) and file.span(target.elements[0].value)[0] == file.span(target)[0]
    edits = (
        Edit(target, f"{name}, ({code})" if is_bare else f"{name}, {code}"),
        Edit(loop.iter, "enumerate(", "before"),
        Edit(loop.iter, ")", "after"),
    )
    return name, edits


def _guarded(
    file: File, line: cst.SimpleStatementLine, lines: set[cst.SimpleStatementLine], guard: str
) -> Iterator[Edit]:
    """A statement under a test, together with those of the others that are right before it."""
    block = file.tree.siblings(line)
    position = block.index(line)
    follows = position > 0 and block[position - 1] in lines
    yield Edit(line.body[0], "    " if follows else f"{guard}\n{file.indentation(line)}    ", "before")
