"""Gradient tapes: whether gradients are taken from them, and of what."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from tflint_gpu.model.python.project.file import File
from tflint_gpu.model.python.syntax.children import walk
from tflint_gpu.model.python.syntax.syntax import Expression, argument, dotted_name, method_name

TAKES = frozenset(["gradient", "jacobian", "batch_jacobian"])
"""Methods of a tape that take gradients from it."""
WEIGHT_ATTRIBUTES = frozenset("trainable_variables trainable_weights variables weights".split())
"""Attributes of a model or a layer that hold all its weights, or those that are trained."""


def taken(file: File, tape: cst.Call) -> Iterator[cst.Call]:
    """The calls that take gradients from a tape, next to it."""
    dotted = _name(file, tape)
    if dotted is None:
        return
    for call in file.calls_in.get(file.tree.function(tape), ()):
        receiver = call.func.value if isinstance(call.func, cst.Attribute) else None
        if receiver is not None and method_name(call) in TAKES and _is(file, receiver, dotted, tape):
            yield call


def is_read(file: File, tape: cst.Call, *, for_weights: bool = False) -> bool:
    """Whether something takes gradients from the tape, or gets it.

    Arguments:
        for_weights: gradients of a tensor that the tape watches by `watch` do not count, unless an optimizer gets it.
    """
    dotted = _name(file, tape)
    if dotted is None:
        return True
    for call in file.calls_in.get(file.tree.function(tape), ()):
        if isinstance(call.func, cst.Attribute) and _is(file, call.func.value, dotted, tape):
            if method_name(call) in TAKES and not (for_weights and _is_watched(file, dotted, tape, call)):
                return True
        elif any(_is(file, arg.value, dotted, tape) for arg in call.args):
            return True
    return False


def _name(file: File, tape: cst.Call) -> str | None:
    item = file.tree.parents.get(tape)
    return dotted_name(item.asname.name) if isinstance(item, cst.WithItem) and item.asname is not None else None


def _is(file: File, expr: Expression, dotted: str, tape: cst.Call) -> bool:
    """Whether an expression may be the tape, and not a later one of the same name."""
    if dotted_name(expr) != dotted:
        return False
    return not isinstance(expr, cst.Name) or any(binding.value is tape for binding in file.flow.lookup(dotted, expr))


def _is_watched(file: File, dotted: str, tape: cst.Call, call: cst.Call) -> bool:
    """Whether gradients are taken of a tensor that the tape watches by `watch`, and that no optimizer changes."""
    given = argument(call, 1, "sources")
    sources = dotted_name(given)
    if given is None or sources is None or _are_weights(file, given):
        return False
    beside = file.calls_in.get(file.tree.function(call), ())
    applied = [arg.value for other in beside if method_name(other) == "apply_gradients" for arg in other.args]
    if any(dotted_name(node) == sources for value in applied for node in walk(value)):
        return False
    return any(
        isinstance(other.func, cst.Attribute)
        and _is(file, other.func.value, dotted, tape)
        and dotted_name(argument(other, 0, "tensor")) == sources
        for other in beside
        if method_name(other) == "watch"
    )


def _are_weights(file: File, expr: Expression) -> bool:
    """`model.trainable_variables`, also by a name."""
    if isinstance(expr, cst.Name):
        bound = file.flow.lookup(expr.value, expr)
        return bool(bound) and all(
            isinstance(binding.value, cst.Attribute)
            and not binding.path
            and binding.value.attr.value in WEIGHT_ATTRIBUTES
            for binding in bound
        )
    return isinstance(expr, cst.Attribute) and expr.attr.value in WEIGHT_ATTRIBUTES
