"""What `fit` of Keras 2 is told about reading a `Sequence`, told to the `Sequence` itself, as Keras 3 wants it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import libcst as cst

from tflint_gpu.lazy_dataclasses import dataclass
from tflint_gpu.model import Kinds, Pipelines, argument, dotted_name, method_name
from tflint_gpu.rule import Edit

if TYPE_CHECKING:
    from tflint_gpu.model import Expression, Model, Origin

_ONE_THREAD = {"workers": (0, 1), "use_multiprocessing": (False,)}
_VALIDATION_POSITION = 7
_IN_MEMORY = (cst.List, cst.Tuple, cst.Dict, cst.GeneratorExp)


@dataclass(frozen=True, slots=True)
class Reading:
    """How a call reads its data without these arguments.

    Arguments:
        edits: the statements above it.
        replaced: what it is given instead of the expressions that these name.
    """

    edits: tuple[Edit, ...] = ()
    replaced: tuple[tuple[cst.CSTNode, str], ...] = ()


def reading(model: Model, call: cst.Call, gone: list[cst.Arg]) -> Reading | None:
    """How a call may read its data without the arguments in `gone`; None where it might then be read by fewer threads.

    Arguments:
        gone: those among `workers`, `use_multiprocessing` and `max_queue_size` that it has.
    """
    given = {arg.keyword.value: arg for arg in gone if arg.keyword is not None}
    threads = [(given[name], usual) for name, usual in _ONE_THREAD.items() if name in given]
    if all(model.value(arg.value) in usual for arg, usual in threads):
        return Reading()
    read = list(_read(call))
    if any(arg.star for arg in call.args) or any(_is_sequence(model, data) is None for data in read):
        return None
    sequences = [data for data in read if _is_sequence(model, data)]
    line = model.file.tree.statement(call)
    is_plain = isinstance(line, cst.SimpleStatementLine) and len(line.body) == 1
    if sequences and (not is_plain or model.file.tree.function(line) is not model.file.tree.function(call)):
        return None
    text, replaced = "", []
    indentation = model.file.indentation(line)
    for data in sequences:
        name = dotted_name(data)
        if name is None:
            name = model.file.names.free(*(f"{word}_data" for word in ("training", "fitted", "read")))
            if name in text:
                return None
            text += f"{indentation}{name} = {model.file.code(data)}\n"
            replaced.append((data, name))
        for keyword, arg in given.items():
            text += f"{indentation}{name}.{keyword} = {model.file.code(arg.value)}\n"
    return Reading((Edit(line, text, "above"),) if text else (), tuple(replaced))


def _read(call: cst.Call) -> Iterator[Expression]:
    """What may be a `Sequence`: the data, if no labels come with it, and `validation_data`."""
    fits, predicts = method_name(call) == "fit", method_name(call) in ("predict", "predict_generator")
    if predicts or argument(call, 1, "y") is None:
        yield from _given(argument(call, 0, "x"), argument(call, -1, "generator"))
    yield from _given(argument(call, _VALIDATION_POSITION if fits else -1, "validation_data"))


def _given(*expressions: Expression | None) -> Iterator[Expression]:
    yield from (expression for expression in expressions if expression is not None)


def _is_sequence(model: Model, data: Expression) -> bool | None:
    """Whether data is read by threads of a `Sequence`; None where that is not known."""
    answers = {_origin_is_sequence(model, origin) for origin in model.inference.of(model.file, data)}
    return answers.pop() if len(answers) == 1 else None


def _origin_is_sequence(model: Model, origin: Origin) -> bool | None:
    kind = model.once(Kinds).of(origin)
    if kind is not None:
        return kind == "sequence"
    if (
        origin.is_none
        or model.once(Pipelines).must_be(origin)
        or (isinstance(origin.node, _IN_MEMORY) and not origin.access_path)
    ):
        return False
    if isinstance(origin.node, cst.Subscript) and isinstance(origin.node.slice[0].slice, cst.Slice):
        return False  # rows of an array
    callees = model.inference.callees(origin.file, origin.call, origin.context) if origin.call is not None else ()
    return False if callees and all(c.function.file.yields_of.get(c.function.node) for c in callees) else None
