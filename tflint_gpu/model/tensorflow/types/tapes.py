"""Gradient tapes: whether gradients are taken from them, and of what."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain

import libcst as cst

from tflint_gpu.model.library.keras_methods import GRADIENT_METHODS, WEIGHT_ATTRIBUTES
from tflint_gpu.model.python.project.file import File
from tflint_gpu.model.python.syntax.children import walk
from tflint_gpu.model.python.syntax.syntax import Expression, Node, argument, dotted_name, method_name
from tflint_gpu.model.python.value_flow.inference import Inference

TAPES = frozenset(["tf.GradientTape"])


def taken(inference: Inference, file: File, tape: cst.Call) -> Iterator[cst.Call]:
    """The calls that take gradients from a tape, next to it."""
    function = file.tree.function(tape)
    if _name(file, tape) is not None:
        yield from (call for call in _readers(inference, file, tape) if file.tree.function(call) is function)


def is_read(inference: Inference, file: File, tape: cst.Call, *, for_weights: bool = False) -> bool:
    """Whether something takes gradients from the tape, or gets it.

    Arguments:
        for_weights: gradients of a tensor that the tape watches by `watch` do not count, unless an optimizer gets it.
    """
    dotted = _name(file, tape)
    if dotted is None:
        return True
    reads = chain(taken(inference, file, tape), _taken_elsewhere(inference, file, tape))
    if any(not (for_weights and _is_watched(inference, file, tape, call)) for call in reads):
        return True
    calls = file.calls_in.get(file.tree.function(tape), ())
    given = (arg.value for call in calls for arg in call.args)
    return any(dotted_name(value) == dotted and _is(inference, file, value, tape) for value in given)


def _taken_elsewhere(inference: Inference, file: File, tape: cst.Call) -> Iterator[cst.Call]:
    """The calls of other functions of the file that take gradients from a tape, which is returned or an attribute."""
    function = file.tree.function(tape)
    return (call for call in _readers(inference, file, tape) if file.tree.function(call) is not function)


def _readers(inference: Inference, file: File, tape: cst.Call) -> list[cst.Call]:
    """The calls of a file that take gradients from a tape, in the order of the code."""
    by_name, others = file.once(_gradient_calls)
    calls = [*by_name.get(tape, ()), *(call for call in others if _is_of(inference, file, call, tape))]
    return sorted(calls, key=file.tree.order.__getitem__)


def _gradient_calls(file: File) -> tuple[dict[Node, list[cst.Call]], list[cst.Call]]:
    """The calls that take gradients: by the tape where its block binds the name, and all others."""
    by_name: dict[Node, list[cst.Call]] = {}
    others: list[cst.Call] = []
    for call in file.method_calls(*GRADIENT_METHODS):
        tape = call.func.value if isinstance(call.func, cst.Attribute) else None
        bound = file.flow.lookup(tape.value, tape) if isinstance(tape, cst.Name) else ()
        tapes = [b.value for b in bound if b.kind == "with" and isinstance(b.value, cst.Call) and not b.path]
        if tapes and len(tapes) == len(bound) and all(file.name(made.func) in TAPES for made in tapes):
            for made in tapes:
                by_name.setdefault(made, []).append(call)
        else:
            others.append(call)
    return by_name, others


def _name(file: File, tape: cst.Call) -> str | None:
    item = file.tree.parents.get(tape)
    return dotted_name(item.asname.name) if isinstance(item, cst.WithItem) and item.asname is not None else None


def _is_of(inference: Inference, file: File, call: cst.Call, tape: cst.Call) -> bool:
    """Whether a call is of a method of the tape."""
    return isinstance(call.func, cst.Attribute) and _is(inference, file, call.func.value, tape)


def _is(inference: Inference, file: File, expr: Expression, tape: cst.Call) -> bool:
    """Whether an expression may be the tape, also by another name: `for net, tape in ((actor, tape_of_actor), ...)`."""
    if isinstance(expr, cst.Attribute) and dotted_name(expr) == _name(file, tape):
        return True
    return any(origin.node is tape and not origin.access_path for origin in inference.of(file, expr))


def _is_watched(inference: Inference, file: File, tape: cst.Call, call: cst.Call) -> bool:
    """Whether gradients are taken of a tensor that the tape watches by `watch`, and that no optimizer changes."""
    given = argument(call, 1, "sources")
    sources = dotted_name(given)
    if given is None or sources is None or _are_weights(file, given):
        return False
    neighbours = file.calls_in.get(file.tree.function(call), ())
    applying = (other for other in file.method_calls("apply_gradients") if _share(file, given, other, call))
    if any(dotted_name(node) == sources for other in applying for arg in other.args for node in walk(arg.value)):
        return False
    return any(
        dotted_name(argument(other, 0, "tensor")) == sources and _is_of(inference, file, other, tape)
        for other in neighbours
        if method_name(other) == "watch"
    )


def _share(file: File, expr: Expression, call: cst.Call, other: cst.Call) -> bool:
    """Whether an expression is the same in two places: in one function, or in two methods of a class what it keeps."""
    functions = file.tree.function(call), file.tree.function(other)
    if not isinstance(expr, cst.Attribute) or None in functions:
        return functions[0] is functions[1]
    first, second = (file.tree.class_of(function) for function in functions if function is not None)
    return functions[0] is functions[1] or (first is second and first is not None)


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
