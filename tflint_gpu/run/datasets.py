"""Which datasets a line that waits for its next batch may wait for, read in the code.

An operation of tf.data that runs TensorFlow alone has no frame of Python: on the stacks only its consumer waits. Which
of a dataset's operations took the time is not seen, so all of them are named.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import libcst as cst

from tflint_gpu.lazy_dataclasses import dataclass
from tflint_gpu.model import MAPPING_METHODS, Model
from tflint_gpu.model.python.project.file import File
from tflint_gpu.model.python.syntax.syntax import Node
from tflint_gpu.model.tensorflow.tf_data.chains import Chain, Operation
from tflint_gpu.model.tensorflow.tf_data.consumers import Consumers, Consumption
from tflint_gpu.run.charges import Doing
from tflint_gpu.run.samples import VALIDATING
from tflint_gpu.text.source import SourceFile

NameOf = Callable[[SourceFile, int], str]
"""The name of a file as stacks have it, for a place in it: a notebook's cells are files of their own there."""

WORKING = MAPPING_METHODS | {"from_generator", "py_function"}
_FROM_WITHIN = ("fit", "evaluate", "validation", "predict")


@dataclass(frozen=True, slots=True)
class Step:
    """An operation of a dataset, and the rows on which it is written."""

    file: str
    first: int
    last: int
    name: str


@dataclass(frozen=True, slots=True)
class Dataset:
    """A dataset and who consumes it.

    Arguments:
        file, first, last: the rows of the consumer; of a loop those of its head.
        validates: whether it is the validation data of a `fit`.
        steps: first to last.
    """

    file: str
    first: int
    last: int
    validates: bool
    steps: tuple[Step, ...]

    @property
    def working(self) -> tuple[Step, ...]:
        """The steps that compute; all where none does."""
        return tuple(step for step in self.steps if step.name in WORKING) or self.steps

    def feeds(self, doing: Doing) -> bool:
        """Whether what was done waited for this dataset, or may have, inside of TensorFlow's operations."""
        if doing.waits not in ("data", "execute") or not doing.stack:
            return False
        if doing.waits == "execute" and doing.phase not in _FROM_WITHIN:
            return False
        is_here = any(place.file == self.file and self.first <= place.row <= self.last for place in doing.stack)
        return is_here and (doing.phase in VALIDATING) == self.validates


def datasets(model: Model, name_of: NameOf) -> list[Dataset]:
    """All whose consumers are seen from a file."""
    read = (_dataset(item, name_of) for item in model.once(Consumers).consumptions)
    return [dataset for dataset in read if dataset is not None]


def _dataset(item: Consumption, name_of: NameOf) -> Dataset | None:
    steps = tuple(_step(operation, name_of) for operation in _operations(item.chain))
    if item.kind == "unused" or not steps:
        return None
    # The head of a loop: its body does something else than wait.
    node: Node = item.node if isinstance(item.node, cst.Call) else item.data
    file, first, last = _rows(item.file, node, name_of)
    is_given = isinstance(item.node, cst.Call) and item.kind == "validate" and _is_keyword(item.node, item.data)
    return Dataset(file, first, last, is_given, steps)


def _is_keyword(call: cst.Call, value: cst.BaseExpression) -> bool:
    return any(arg.value is value and arg.keyword and arg.keyword.value == "validation_data" for arg in call.args)


def _operations(chain: Chain) -> Iterator[Operation]:
    for source in chain.inputs:
        yield from _operations(source)
    if chain.made is not None:
        yield chain.made
    yield from chain.operations


def _step(operation: Operation, name_of: NameOf) -> Step:
    file, first, _ = _rows(operation.file, operation.place, name_of)
    _, _, last = _rows(operation.file, operation.call, name_of)
    return Step(file, first, last, operation.name)


def _rows(file: File, node: Node, name_of: NameOf) -> tuple[str, int, int]:
    start, end = file.span(node)
    return name_of(file.source, start), file.source.locate(start).row, file.source.locate(end).row
