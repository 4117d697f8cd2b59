"""What calls hand on: from an expression at the end of a way outwards, through parameters and `self`."""

from __future__ import annotations

import libcst as cst

from tflint_gpu.model.python.execution.callers import RunSite
from tflint_gpu.model.python.execution.walks import Frame
from tflint_gpu.model.python.project.file import File
from tflint_gpu.model.python.syntax.syntax import Expression, LoopNode, Node, positional_parameters
from tflint_gpu.model.python.value_flow.calls import Callee, arguments
from tflint_gpu.model.python.value_flow.inference import Inference


def handed_down(
    inference: Inference, path: tuple[Frame, ...], file: File, expr: Expression
) -> tuple[tuple[Frame, ...], File, Expression]:
    """Where something at the end of a way comes from: outwards through parameters and `self`, as far as these lead.

    Returns:
        the calls that lead to where it comes from, and the expression there, in its file.
    """
    while path and (given := _given(inference, path[-1], file, expr)) is not None:
        path, file, expr = path[:-1], path[-1].file, given
    return path, file, expr


def _given(inference: Inference, frame: Frame, file: File, expr: Expression) -> Expression | None:
    """What a call gives for the parameter, or the `self`, with which an expression in its function begins."""
    node, call, root = file.tree.function(expr), frame.node, _root(expr)
    if not isinstance(node, cst.FunctionDef) or not isinstance(call, cst.Call) or not isinstance(root, cst.Name):
        return None
    function = inference.definitions.function(file, node)
    if function.owner is not None and isinstance(call.func, cst.Attribute):
        own = positional_parameters(node)[:1]
        if own != function.parameters[:1] and own[0].name.value == root.value:
            return call.func.value
    given = inference.passed_to(frame.file, call, function) or arguments(
        inference.definitions, frame.file, call, None, Callee(function)
    )
    values = (bound.value for p, bound in given.items() if isinstance(p, cst.Param) and p.name.value == root.value)
    return next((value for value in values if frame.file.tree.within(value, call)), None)


def is_renewed(inference: Inference, place: RunSite, loop: LoopNode, file: File, expr: Expression) -> bool:
    """Whether an object is another one in each iteration of a loop, as far as is not known otherwise.

    Arguments:
        place: in the loop; its way leads to the expression, which is in `file`.
    """
    frames, file, made = handed_down(inference, place.path, file, expr)
    root = _root(made)
    bound = file.flow.lookup(root.value, root) if isinstance(root, cst.Name) else ()
    if not bound or any(file.tree.function(b.node) if frames else file.tree.within(b.node, loop) for b in bound):
        return True
    origins = inference.of(file, made)
    return any(origin.file is place.file and place.file.tree.within(origin.node, loop) for origin in origins)


def _root(expr: Node) -> Node:
    """`x` of `x.a[0]`."""
    while isinstance(expr, cst.Attribute | cst.Subscript):
        expr = expr.value
    return expr
