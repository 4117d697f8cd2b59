"""A step of training among the statements of a loop, moved into a function of its own that may be traced."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from tflint_gpu.model import UPDATES, NotMovable, loops_around, outline
from tflint_gpu.rule import Edit, Fix

if TYPE_CHECKING:
    from tflint_gpu.model import EagerStep, LoopNode, Model


def moved_step(model: Model, step: EagerStep) -> Fix | None:
    """The fix of a step that is in no function of its own; None where it may do something else when it is traced.

    What a function of these statements would do is asked of the file as it would be then.
    """
    file = model.file
    loop = outermost_loop(step)
    if step.file is not file or step.loop_file is not file or not file.tree.within(step.tape, loop):
        return None
    if file.tree.function(step.tape) is not file.tree.function(loop):
        return None
    try:
        made = outline(file, loop, step.tape, UPDATES)
    except NotMovable:
        return None
    if f"@{file.names.spelled('tf.function', loop)}\n" not in made.definition:
        return None
    text, source = file.source.code, file.source
    above, first, last = source.above(file.span(loop)[0]), file.span(made.first)[0], file.span(made.last)[1]
    decorator = made.definition.index("@")
    plain = made.definition[:decorator] + made.definition[made.definition.index("\n", decorator) + 1 :].lstrip()
    moved = f"{text[:above]}{plain}{text[above:first]}{made.call}{text[last:]}"
    if not _may_be_traced(model, moved, made.name):
        return None
    edits = (Edit(loop, made.definition, "above"), Edit(made.first, made.call, last=made.last))
    return Fix(f"Move the step into `{made.name}`, under `tf.function`", "unsafe", edits, defines=made.name)


def _may_be_traced(model: Model, text: str, name: str) -> bool:
    """Whether a function may be put under `tf.function` in a file of this text."""
    from tflint_gpu.model import Traceability  # with all that a traced function may do wrong, for few findings

    supposed = model.supposing(text)
    if supposed is None:
        return False
    functions = [
        node for node in supposed.file.tree.nodes(cst.FunctionDef) if node.name.value == name and not node.decorators
    ]
    definitions = supposed.inference.definitions
    is_traceable = len(functions) == 1 and (
        supposed.once(Traceability).blocker(definitions.function(supposed.file, functions[0])) is None
    )
    supposed.close()
    return is_traceable


def outermost_loop(step: EagerStep) -> LoopNode:
    """The outermost loop of the function: a step made inside of it would be traced again in each of its iterations."""
    return (step.loop, *loops_around(step.loop_file, step.loop))[-1]
