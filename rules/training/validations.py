"""How `fit` cuts validation data into batches."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

import libcst as cst

from tflint_gpu.lazy_dataclasses import dataclass
from tflint_gpu.model import Analysis, Expression, File, Kinds, Node, Once, Origin, Pipelines, argument

_OWN_SIZE = ("validation_batch_size", "validation_steps")
_SIZE_POSITION = 2


@dataclass(frozen=True, slots=True)
class Validation:
    """A `fit` whose validation arrays get the batch size of the training.

    Arguments:
        call: of `fit`. argument: that brings the size.
        data: the validation arrays, or the share of the training arrays that is set aside for it.
    """

    call: cst.Call
    argument: Node
    size: int
    data: Expression
    is_share: bool = False


class Validations(Analysis):
    """The calls of `fit` in a file that validate.

    Attributes:
        file: the one that is checked.
    """

    kinds = Once(Kinds)
    pipelines = Once(Pipelines)

    @cached_property
    def with_training_size(self) -> list[Validation]:
        """Those that have no size for validation, of arrays of more than one batch."""
        return list(self._found())

    def _found(self) -> Iterator[Validation]:
        file = self.file
        for call in file.method_calls("fit"):
            data, share = argument(call, -1, "validation_data"), argument(call, -1, "validation_split")
            size = self._size(call)
            if size is None or not self._is_whole(call):
                continue
            if not (self._are_arrays(data, size[1]) if data is not None else self._sets_aside(share)):
                continue
            receiver = self.kinds.receiver(file, call, "fit")
            if receiver is None or self.kinds.is_stateful(file, receiver) or self.inference.callees(file, call):
                continue
            trained = argument(call, 0, "x")
            if trained is not None and not self.pipelines.is_dataset(file, trained):
                validated = data or share
                assert validated is not None
                yield Validation(call, *size, validated, is_share=data is None)

    def _size(self, call: cst.Call) -> tuple[Node, int] | None:
        """The argument that brings the batch size, and the size."""
        named = self.constants.keyword_source(self.file, call, "batch_size")
        if named is not None:
            size = self.constants.keyword(self.file, call, "batch_size")
            return (named, size) if type(size) is int else None
        given = argument(call, _SIZE_POSITION, "batch_size")
        size = self.constants.of(self.file, given)
        return (given, size) if given is not None and type(size) is int else None

    def _is_whole(self, call: cst.Call) -> bool:
        """Whether all arguments are known, and none of them sets the size for validation."""
        for arg in call.args:
            if arg.star and not isinstance(self.constants.of(self.file, arg.value), dict):
                return False
        return not any(self.constants.keyword_source(self.file, call, name) is not None for name in _OWN_SIZE)

    def _sets_aside(self, share: Expression | None) -> bool:
        """Whether `validation_split` is a share of the training arrays: Keras validates on them as it trains."""
        value = self.constants.of(self.file, share)
        return type(value) is float and 0 < value < 1

    def _are_arrays(self, data: Expression, size: int) -> bool:
        """Whether a value is always features with labels, of more rows than one batch has."""

        def is_display(origin: Origin) -> bool:
            node = origin.node
            if origin.access_path or not isinstance(node, cst.Tuple | cst.List) or len(node.elements) not in (2, 3):
                return False
            features = node.elements[0].value
            return not self.pipelines.is_dataset(origin.file, features) and not self._is_short(
                origin.file, features, size
            )

        return self.inference.must_be(self.file, data, is_display)

    def _is_short(self, file: File, features: Expression, size: int) -> bool:
        """`x[:20]`."""
        index = features.slice[0].slice if isinstance(features, cst.Subscript) else None
        if not isinstance(index, cst.Slice) or index.upper is None:
            return False
        upper = self.constants.of(file, index.upper)
        return type(upper) is int and 0 <= upper <= size
