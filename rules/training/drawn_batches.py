"""Batches that a training step draws for itself: a sample of what an agent remembers, for `predict` and `fit`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import libcst as cst

from tflint_gpu.lazy_dataclasses import dataclass
from tflint_gpu.model import Kinds, Repetitions, argument, method_name, operation_named, walk
from tflint_gpu.model.library.keras_methods import OF_ONE_BATCH
from tflint_gpu.model.library.nondeterminism import ROW_DRAWS
from tflint_gpu.model.library.shape_facts import size_of

if TYPE_CHECKING:
    from tflint_gpu.model import Context, Expression, File, Invocation, Model, Node

_LARGE = 512
# So many rows Keras's `predict`, `evaluate` and `fit` run at once where they get no `batch_size`.
_BATCH_SIZE = 32


def is_drawn(model: Model, file: File, call: cst.Call) -> bool:
    """Whether the function that holds a call draws the data that it gets, itself or by what it calls."""
    return _rows_drawn(model, file, call) is not None


def _rows_drawn(model: Model, file: File, call: cst.Call) -> tuple[File, Expression] | None:
    """How many rows the function that holds a call draws for the data that it gets; None where it draws none."""
    data = argument(call, 0, "x")
    waiting, seen = [_Held(file, data)] if data is not None else [], set[object]()
    for held in map(_with_joined, waiting):  # grows meanwhile
        for node in walk(held.value):
            if isinstance(node, cst.Call):
                size = _size_drawn(held.file, node)
                if size is not None:
                    return held.file, size
                waiting += _returned(model, held, node, seen)
            elif isinstance(node, cst.Name):
                waiting += _in_name(held, node, seen)
    return None


@dataclass(frozen=True, slots=True)
class _Held:
    """What goes into the data of a call.

    Arguments:
        part: which element of it, where it is a tuple; None for all.
        is_gathered: whether one element of it is put together with others.
    """

    file: File
    value: Expression
    part: int | None = None
    is_gathered: bool = False


def _with_joined(held: _Held) -> _Held:
    """The same, whose elements are put together where a call joins arrays: `np.vstack((x, one))`."""
    calls = (node for node in walk(held.value) if isinstance(node, cst.Call))
    joins = any(operation_named(held.file.name(call.func)).joins for call in calls)
    return replace(held, is_gathered=True) if joins else held


def _returned(model: Model, held: _Held, call: cst.Call, seen: set[object]) -> Iterator[_Held]:
    """What the project's functions that a call runs return."""
    part = held.part if call is held.value else None
    for function in (callee.function for callee in model.inference.callees(held.file, call)):
        for value in function.file.returned(function.node) if (function.node, part) not in seen else ():
            if part is not None and isinstance(value, cst.Tuple) and part < len(value.elements):
                value = value.elements[part].value
            yield _Held(function.file, value, is_gathered=held.is_gathered)
        seen.add((function.node, part))


def _in_name(held: _Held, use: cst.Name, seen: set[object]) -> Iterator[_Held]:
    """What a name of a function holds."""
    file, function = held.file, held.file.tree.function(use)
    put: list[tuple[Node, _Held]] = []
    for binding in file.flow.lookup(use.value, use):
        if binding.value is not None and (held.is_gathered or binding.kind != "for"):  # else one element of it
            part = binding.path[0] if binding.path and binding.kind == "assign" else None
            put.append(
                (binding.node, _Held(file, binding.value, part if isinstance(part, int) else None, held.is_gathered))
            )
    gathered = [(append, append.args[0].value) for append in file.appends.get(use.value, ())]
    put += [(place, _Held(file, v, is_gathered=True)) for place, v in (*gathered, *file.stores.get(use.value, ()))]
    for place, inner in put:
        if (inner.value, inner.part) not in seen and file.tree.function(place) is function:
            seen.add((inner.value, inner.part))
            yield inner


def _size_drawn(file: File, call: cst.Call) -> Expression | None:
    """How many elements a call draws at random."""
    if method_name(call) == "sample" and file.name(call.func) is None:  # of the buffer that an agent fills
        return argument(call, 0, "batch_size")
    name = file.name(call.func)
    size = size_of(name) if name in ROW_DRAWS else None
    return argument(call, size.position, size.keyword) if size is not None else None


def _is_step(model: Model, call: Invocation) -> bool:
    """Whether a `fit` is one of Keras, and of one epoch."""
    func, epochs = call.call.func, argument(call.call, 3, "epochs")
    is_one = epochs is None or model.constants.of(call.file, epochs, call.context) == 1
    return is_one and isinstance(func, cst.Attribute) and model.once(Kinds).has_method(call.file, func, call.context)


def _fits_one_batch(model: Model, call: Invocation, drawn: tuple[File, Expression]) -> bool:
    """Whether a `fit` gets no more rows than it runs at once, and nothing that `train_on_batch` does not take."""
    named = {arg.keyword.value if arg.keyword is not None else "x" for arg in call.call.args}
    if any(arg.star for arg in call.call.args) or not named <= OF_ONE_BATCH:
        return False
    data, at_once = argument(call.call, 0, "x"), argument(call.call, 2, "batch_size")
    text = call.file.code(data) if data is not None else ""
    if at_once is not None and call.file.code(at_once) in (f"{text}.shape[0]", f"len({text})"):
        return True
    return is_one_batch(model, call, drawn, at_once)


def is_one_batch(
    model: Model, call: Invocation, size: tuple[File, Expression], at_once: Expression | None, *, batches: int = 1
) -> bool:
    """Whether a method of Keras takes no more rows than it runs at once, or in so many batches.

    Arguments:
        size: how many it takes.
        at_once: its `batch_size`.
    """
    file, number = size
    is_beside = file.tree.function(number) is call.file.tree.function(call.call)
    if at_once is not None and is_beside and call.file.code(at_once) == file.code(number):
        return True
    rows = _most(model, file, number, call.context)
    most = _BATCH_SIZE if at_once is None else model.constants.of(call.file, at_once, call.context)
    return isinstance(rows, int) and isinstance(most, int) and rows <= most * batches


def _most(model: Model, file: File, size: Expression, context: Context | None) -> Any:
    """A number, or what it is at most: `min(len(memory), 32)`."""
    if isinstance(size, cst.Call) and file.names.is_builtin(size.func, "min"):
        known = [model.constants.of(file, arg.value, context) for arg in size.args]
        return min((number for number in known if isinstance(number, int)), default=None)
    return model.constants.of(file, size, context)


def _is_large(model: Model, call: Invocation, drawn: tuple[File, Expression]) -> bool:
    """Whether so many rows are drawn that a call of `predict` is mostly work."""
    rows = model.constants.of(*drawn, call.context)
    return isinstance(rows, int) and rows > _LARGE


def in_steps_by_fit(model: Model, predictions: Sequence[Invocation]) -> Iterator[Invocation]:
    """The calls in steps that `fit` makes, each an update of what its function draws, and the `fit` of one batch.

    Arguments:
        predictions: the calls of `predict` and `evaluate` that loops repeat.
    """

    def drawing(calls: Iterable[Invocation]) -> list[tuple[Invocation, tuple[File, Expression]]]:
        return [(call, drawn) for call in calls if (drawn := _rows_drawn(model, call.file, call.call)) is not None]

    fits = drawing(model.once(Repetitions).all_of_methods("fit"))
    steps = [(call, drawn) for call, drawn in fits if _is_step(model, call)]
    functions = {call.file.tree.function(call.call) for call, _ in steps}
    beside = drawing(call for call in predictions if call.file.tree.function(call.call) in functions)
    yield from (call for call, drawn in beside if not _is_large(model, call, drawn))
    yield from (call for call, drawn in steps if _fits_one_batch(model, call, drawn))
