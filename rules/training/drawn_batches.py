"""Batches that a training step draws for itself: a sample of what an agent remembers, for `predict` and `fit`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import libcst as cst

from tflint_gpu.model import Kinds, Repetitions, argument, method_name, walk
from tflint_gpu.model.library.keras_methods import OF_ONE_BATCH
from tflint_gpu.model.library.nondeterminism import ROW_DRAWS
from tflint_gpu.model.library.shape_facts import size_of

if TYPE_CHECKING:
    from tflint_gpu.model import Context, Expression, File, Invocation, Model, Node

_LARGE = 512
# So many rows Keras's `predict`, `evaluate` and `fit` run at once where they get no `batch_size`.
_BATCH_SIZE = 32


def is_drawn(file: File, call: cst.Call) -> bool:
    """Whether the function that holds a call draws the data that it gets."""
    return _rows_drawn(file, call) is not None


def _rows_drawn(file: File, call: cst.Call) -> Expression | None:
    """How many rows the function that holds a call draws for the data that it gets; None where it draws none."""
    data, function = argument(call, 0, "x"), file.tree.function(call)
    waiting, seen = [(data, False)] if data is not None else [], set()
    for expression, is_gathered in waiting:  # grows meanwhile
        for node in walk(expression):
            size = _size_drawn(file, node) if isinstance(node, cst.Call) else None
            if size is not None:
                return size
            if not isinstance(node, cst.Name):
                continue
            put: list[tuple[Node, Expression, bool]] = [
                (binding.node, binding.value, is_gathered)
                for binding in file.flow.lookup(node.value, node)
                if binding.value is not None and (is_gathered or binding.kind != "for")  # else one element of it
            ]
            put += [(append, append.args[0].value, True) for append in file.appends.get(node.value, ())]
            put += [(place, value, True) for place, value in file.stores.get(node.value, ())]
            for place, value, is_many in put:
                if value not in seen and file.tree.function(place) is function:
                    seen.add(value)
                    waiting.append((value, is_many))
    return None


def _size_drawn(file: File, call: cst.Call) -> Expression | None:
    """How many elements a call draws at random."""
    if method_name(call) == "sample" and file.name(call.func) is None:  # of the buffer that an agent fills
        return argument(call, 0, "batch_size")
    name = file.name(call.func)
    size = size_of(name) if name in ROW_DRAWS else None
    return argument(call, size.position, size.keyword) if size is not None else None


def _is_step(model: Model, call: Invocation) -> bool:
    func = call.call.func
    if not isinstance(func, cst.Attribute) or not is_drawn(call.file, call.call):
        return False
    epochs = argument(call.call, 3, "epochs")
    is_one = epochs is None or model.constants.of(call.file, epochs, call.context) == 1
    return is_one and model.once(Kinds).has_method(call.file, func, call.context)


def _fits_one_batch(model: Model, call: Invocation) -> bool:
    """Whether a `fit` gets no more rows than it runs at once, and nothing that `train_on_batch` does not take."""
    size = _rows_drawn(call.file, call.call)
    named = {arg.keyword.value if arg.keyword is not None else "x" for arg in call.call.args}
    if size is None or any(arg.star for arg in call.call.args) or not named <= OF_ONE_BATCH:
        return False
    return is_one_batch(model, call, size, argument(call.call, 2, "batch_size"), is_beside=True)


def is_one_batch(
    model: Model, call: Invocation, size: Expression, at_once: Expression | None, *, is_beside: bool, batches: int = 1
) -> bool:
    """Whether a method of Keras takes no more rows than it runs at once, or in so many batches.

    Arguments:
        size: how many it takes; in the call's own function if `is_beside`, else in the loop's.
        at_once: its `batch_size`.
    """
    if at_once is not None and is_beside and call.file.code(at_once) == call.file.code(size):
        return True
    place = (call.file, size, call.context) if is_beside else (call.root_file, size)
    rows = _most(model, *place)
    most = _BATCH_SIZE if at_once is None else model.constants.of(call.file, at_once, call.context)
    return isinstance(rows, int) and isinstance(most, int) and rows <= most * batches


def _most(model: Model, file: File, size: Expression, context: Context | None = None) -> Any:
    """A number, or what it is at most: `min(len(memory), 32)`."""
    if isinstance(size, cst.Call) and file.names.is_builtin(size.func, "min"):
        known = [model.constants.of(file, arg.value, context) for arg in size.args]
        return min((number for number in known if isinstance(number, int)), default=None)
    return model.constants.of(file, size, context)


def _is_large(model: Model, call: Invocation) -> bool:
    """Whether so many rows are drawn that a call of `predict` is mostly work."""
    rows = model.constants.of(call.file, _rows_drawn(call.file, call.call), call.context)
    return isinstance(rows, int) and rows > _LARGE


def in_steps_by_fit(model: Model, predictions: Sequence[Invocation]) -> Iterator[Invocation]:
    """The calls in steps that `fit` makes, each an update of what its function draws, and the `fit` of one batch.

    Arguments:
        predictions: the calls of `predict` and `evaluate` that loops repeat.
    """
    steps = [call for call in model.once(Repetitions).all_of_methods("fit") if _is_step(model, call)]
    functions = {step.file.tree.function(step.call) for step in steps}
    drawn = (c for c in predictions if c.file.tree.function(c.call) in functions and is_drawn(c.file, c.call))
    yield from (call for call in drawn if not _is_large(model, call))
    yield from (step for step in steps if _fits_one_batch(model, step))
