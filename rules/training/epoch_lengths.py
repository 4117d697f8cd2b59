"""How many steps an epoch of `fit` has, and how many epochs there are, where the code says it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import libcst as cst

from tflint_gpu.lazy_dataclasses import dataclass
from tflint_gpu.model import (
    Analysis,
    Chain,
    Content,
    CountedIterations,
    Expression,
    File,
    Kinds,
    Node,
    Once,
    Origin,
    Pipelines,
    argument,
    counted_by,
)

_MANY = 50
_ROWS = (Content("attribute", "shape"), Content("item", 0))
_TOY = 64
"""Fewer rows are an example's."""


@dataclass(frozen=True, slots=True)
class ShortEpochs:
    """A `fit` whose epochs have one step each.

    Arguments:
        reason: the argument, or the batch of the dataset, that says so. validation: what each epoch validates on.
    """

    call: cst.Call
    epochs: int
    reason: Node
    validation: Node | None


class EpochLengths(Analysis):
    """The calls of `fit` in the file that is checked."""

    kinds = Once(Kinds)
    pipelines = Once(Pipelines)
    iterations = Once(CountedIterations)

    def of_one_step(self) -> Iterator[ShortEpochs]:
        """Those with many epochs of one step."""
        file = self.file
        for call in file.method_calls("fit"):
            epochs = self._number(call, "epochs", 3)
            data = argument(call, 0, "x")
            if epochs is None or epochs < _MANY or data is None or any(arg.star for arg in call.args):
                continue
            if self.kinds.receiver(file, call, "fit") is None or self.inference.callees(file, call):
                continue
            reason = self._reason(call, data)
            if reason is not None:
                yield ShortEpochs(call, epochs, reason, self._validation(call))

    def _reason(self, call: cst.Call, data: Expression) -> Node | None:
        """What says that an epoch is one step."""
        steps = argument(call, -1, "steps_per_epoch")
        if steps is not None:
            return steps if self._number(call, "steps_per_epoch", -1) == 1 else None
        if self.pipelines.is_dataset(self.file, data):
            return self._reason_of_chain(self.pipelines.iterated(self.file, data))
        size = argument(call, 2, "batch_size")
        return size if size is not None and self._has_all(self.file, size, data) else None

    def _reason_of_chain(self, chains: Sequence[Chain]) -> Node | None:
        """The batch of all rows, of `from_tensor_slices((x, y)).batch(len(x))`."""
        if len(chains) != 1 or chains[0].made is None or chains[0].made.name != "from_tensor_slices":
            return None
        made, batching = chains[0].made, chains[0].batching
        if batching is None or not made.call.args or any(o.name == "repeat" for o in chains[0].operations):
            return None
        size = batching.given_batch_size
        is_here = made.file is self.file and batching.file is self.file
        has_all = is_here and size is not None and self._has_all(made.file, size, made.call.args[0].value)
        return size if has_all else None

    def _has_all(self, file: File, size: Expression, data: Expression) -> bool:
        """Whether a batch has all rows: `len(x)`, `x.shape[0]`, or a number that is not smaller than that of the rows.

        Arrays that a program makes up count: it names the same number twice.
        """
        rows = self.iterations.rows(file, data, None)
        if rows is not None and rows < _TOY:
            return False
        given = self.constants.of(file, size)
        if type(given) is int:
            return rows is not None and given >= rows
        parts = [element.value for element in data.elements] if isinstance(data, cst.Tuple | cst.List) else [data]
        counted = {what for origin in self.inference.of(file, size) for what in self._counted(origin)}
        return bool(counted) and any(set(self.inference.of(file, part)) == counted for part in parts)

    def _counted(self, number: Origin) -> tuple[Origin, ...]:
        """What `len(x)` or `x.shape[0]` counts."""
        node, file = number.node, number.file
        if number.access_path[-2:] == _ROWS:
            return (replace(number, access_path=number.access_path[:-2]),)
        counted = counted_by(file, node) if isinstance(node, cst.BaseExpression) and not number.access_path else None
        return self.inference.of(file, counted, number.context) if counted is not None else ()

    def _validation(self, call: cst.Call) -> Node | None:
        """The data that each epoch validates on."""
        if argument(call, -1, "validation_freq") is not None:
            return None
        return argument(call, -1, "validation_data") or argument(call, -1, "validation_split")

    def _number(self, call: cst.Call, keyword: str, position: int) -> int | None:
        given = argument(call, position, keyword)
        value = self.constants.of(self.file, given) if given is not None else None
        return value if type(value) is int else None
