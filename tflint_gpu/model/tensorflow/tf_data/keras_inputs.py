"""Which Keras calls are fed by a tf.data dataset, and what such a call does with its `batch_size`."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

import libcst as cst

from tflint_gpu.lazy_dataclasses import dataclass
from tflint_gpu.model.library.keras_methods import BATCH_SIZE_POSITIONS
from tflint_gpu.model.model import Analysis, Once
from tflint_gpu.model.python.project.file import File
from tflint_gpu.model.python.syntax.syntax import Expression, argument, method_name
from tflint_gpu.model.python.value_flow.constants import UNKNOWN
from tflint_gpu.model.tensorflow.tf_data.chains import Chain
from tflint_gpu.model.tensorflow.tf_data.consumers import Consumers
from tflint_gpu.model.tensorflow.tf_data.pipelines import Pipelines
from tflint_gpu.model.tensorflow.types.kinds import Kinds

_VALIDATION_POSITION = 7


@dataclass(frozen=True, slots=True)
class KerasInput:
    """A call of a Keras model's `fit`, `evaluate` or `predict`, and the datasets that its data may be.

    Arguments:
        has_own_step: whether the model's class says what `fit` does with an element of the dataset.
    """

    file: File
    call: cst.Call
    method: str
    data: Expression
    chains: tuple[Chain, ...]
    has_own_step: bool = False


class KerasInputs(Analysis):
    """The Keras calls, seen from the file that is checked, whose data is tf.data on every way that leads there."""

    kinds = Once(Kinds)
    pipelines = Once(Pipelines)
    consumers = Once(Consumers)

    @cached_property
    def all(self) -> list[KerasInput]:
        """Each call once, in the order in which the consumers are found."""
        calls = {item.node: item for item in self.consumers.consumptions if isinstance(item.node, cst.Call)}
        return [inputs for call, item in calls.items() for inputs in self._inputs(item.file, call)]

    def _inputs(self, file: File, call: cst.CSTNode) -> Iterator[KerasInput]:
        assert isinstance(call, cst.Call)
        method, data = method_name(call), argument(call, 0, "x")
        if method not in BATCH_SIZE_POSITIONS or data is None:
            return
        receiver = self.kinds.receiver(file, call, method)
        feeding = ("fit", "make_train_function") if method == "fit" else (method,)
        if receiver is None or self.kinds.has_own_method(file, receiver, *feeding) or not self._is_dataset(file, data):
            return
        has_own_step = method == "fit" and self.kinds.has_own_method(file, receiver, "train_step")
        yield KerasInput(file, call, method, data, tuple(self.pipelines.chains(file, data)), has_own_step)

    def _is_dataset(self, file: File, expr: Expression) -> bool:
        """Whether a value is a tf.data dataset on every way; `tfds.load(batch_size=-1)` gives tensors."""
        chains = self.pipelines.chains(file, expr)
        return bool(chains) and all(chain.certain and not self._is_loaded_whole(chain) for chain in chains)

    def _is_loaded_whole(self, chain: Chain) -> bool:
        made = chain.made
        if made is None or chain.source != "tensorflow_datasets.load" or made.given_batch_size is None:
            return False
        return not isinstance(made.batch_size, int) or made.batch_size < 1

    def ignored_size(self, inputs: KerasInput) -> cst.Arg | None:
        """The argument by which a call gets a batch size that Keras ignores; None where it may be used."""
        arg = self._size(inputs)
        if arg is None or (inputs.method == "fit" and self._validates_arrays(inputs)):
            return None
        if arg.star:
            return None if self.constants.keyword(inputs.file, inputs.call, "batch_size") is None else arg
        return None if any(o.is_none for o in self.inference.of(inputs.file, arg.value)) else arg

    def _size(self, inputs: KerasInput) -> cst.Arg | None:
        named = self.constants.keyword_source(inputs.file, inputs.call, "batch_size")
        if named is not None:
            return named
        position = BATCH_SIZE_POSITIONS[inputs.method]
        before = inputs.call.args[: position + 1]
        if len(before) <= position or any(arg.keyword is not None or arg.star for arg in before):
            return None
        return before[position]

    def _validates_arrays(self, inputs: KerasInput) -> bool:
        """Whether there may be validation arrays, which `fit` cuts into batches of this size."""
        file, call = inputs.file, inputs.call
        if argument(call, -1, "validation_batch_size") is not None:
            return False
        data = argument(call, _VALIDATION_POSITION, "validation_data")
        if data is None:
            return any(arg.star and self._may_validate(file, arg) for arg in call.args)
        return self.constants.of(file, data) is not None and not self._is_dataset(file, data)

    def _may_validate(self, file: File, arg: cst.Arg) -> bool:
        given = self.constants.of(file, arg.value) if arg.star == "**" else UNKNOWN
        return not isinstance(given, dict) or "validation_data" in given
