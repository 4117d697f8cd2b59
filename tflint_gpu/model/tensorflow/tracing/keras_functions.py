"""Which functions of the project Keras is given to trace: losses, metrics, and those of `Lambda` layers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cached_property

import libcst as cst

from tflint_gpu.bounds import LISTED_FUNCTIONS
from tflint_gpu.lazy_dataclasses import dataclass
from tflint_gpu.model.library.keras_methods import LABELLED_METHODS, TRAINING_HOOKS
from tflint_gpu.model.model import Analysis, Once
from tflint_gpu.model.python.project.functions import Class
from tflint_gpu.model.python.syntax.syntax import Expression, Node, argument, dotted_name
from tflint_gpu.model.python.value_flow.calls import Callee
from tflint_gpu.model.python.value_flow.origins import Origin
from tflint_gpu.model.tensorflow.tracing.tracing import Tracing
from tflint_gpu.model.tensorflow.types.kinds import Kinds

_COMPILING = frozenset(["optimizer", "loss", "metrics", "jit_compile", "run_eagerly"])
# Keras 2 has the metrics where Keras 3 has the weights of the losses.
_METRICS = (("metrics", 2), ("metrics", 3), ("weighted_metrics", 4))

_OWN_WAYS = TRAINING_HOOKS | {"compile", "fit", "compute_metrics"}


@dataclass(frozen=True, slots=True)
class GivenFunction:
    """A function that Keras is given.

    Arguments:
        what: what it is given as, in words: "the loss".
        call: where it is given.
        tensors: how many of the parameters that are left for Keras hold tensors, from the first one.
    """

    callee: Callee
    what: str
    call: cst.Call
    tensors: int

    @property
    def filled(self) -> list[cst.Param]:
        """The parameters for which Keras passes tensors."""
        given = {argument.keyword for argument in self.callee.given}
        positional = sum(1 for argument in self.callee.given if not argument.keyword)
        left = [p for p in self.callee.function.parameters[positional:] if p.name.value not in given]
        return left[: self.tensors]


class KerasFunctions(Analysis):
    """The functions that Keras is given, seen from one file."""

    tracing = Once(Tracing)
    kinds = Once(Kinds)

    @property
    def of_lambda_layers(self) -> Iterator[GivenFunction]:
        """The functions of `Lambda` layers."""
        for call in self.file.calls("keras.layers.Lambda"):
            yield from self._given(call, "function", 0, "the `Lambda` layer's function", 1)

    @property
    def losses(self) -> Iterator[GivenFunction]:
        """The functions that models are compiled with as losses."""
        for call in self._tracing_compilations():
            yield from self._given(call, "loss", 1, "the loss", 2)

    @property
    def metrics(self) -> Iterator[GivenFunction]:
        """The functions that models are compiled with as metrics."""
        for call in self._tracing_compilations():
            for keyword, position in _METRICS:
                yield from self._given(call, keyword, position, "the metric", 2)

    @cached_property
    def filled(self) -> frozenset[cst.Param]:
        """The parameters for which Keras passes one tensor: of losses and metrics, also of models that run eagerly."""
        given = (given for call in self._compilations() for given in self.given_to(call))
        return frozenset(parameter for function in given for parameter in function.filled)

    def given_to(self, compilation: cst.Call) -> Iterator[GivenFunction]:
        """The losses and metrics that a call of `compile` is given, traced or not."""
        for keyword, position in (("loss", 1), *_METRICS):
            yield from self._given(compilation, keyword, position, "", 2)

    def classes_given_to(self, compilation: cst.Call) -> Iterator[Class]:
        """The classes of the project of which a call of `compile` is given losses and metrics."""
        for keyword, position in (("loss", 1), *_METRICS):
            for origin in self._single(self._argument(compilation, keyword, position), 0):
                cls = self.inference.instance_class(origin)
                if cls is not None:
                    yield cls

    @cached_property
    def evaluated(self) -> frozenset[Node]:
        """The functions and classes of the losses and metrics of models that this file trains or evaluates."""
        models = {
            (origin.file, origin.node)
            for call in self.file.method_calls(*sorted(LABELLED_METHODS))
            if isinstance(call.func, cst.Attribute)
            for origin in self.inference.of(self.file, call.func.value)
            if origin.call is not None and not self._has_own_ways(origin)
        }
        evaluated: set[Node] = set()
        for call in self._tracing_compilations():
            receiver = call.func.value if isinstance(call.func, cst.Attribute) else call
            if not any((origin.file, origin.node) in models for origin in self.inference.of(self.file, receiver)):
                continue
            evaluated.update(given.callee.function.node for given in self.given_to(call))
            for cls in self.classes_given_to(call):
                evaluated.update(related.node for related in self.inference.definitions.lineage(cls))
        return frozenset(evaluated)

    def _has_own_ways(self, origin: Origin) -> bool:
        cls = self.inference.instance_class(origin)
        return cls is not None and any(self.inference.definitions.method(cls, name) for name in _OWN_WAYS)

    def _tracing_compilations(self) -> Iterator[cst.Call]:
        """The calls of `compile` of Keras whose functions must be traced."""
        for call in self._compilations():
            if all(self.constants.of(self.file, value) in (False, None) for value in self._eagerly(call)):
                yield call

    def _compilations(self) -> Iterator[cst.Call]:
        """The calls of `compile` of Keras."""
        for call in self.file.method_calls("compile"):
            is_one = any(arg.star == "**" or _keyword(arg) in _COMPILING for arg in call.args)
            if not is_one and (len(call.args) < 2 or self.kinds.receiver(self.file, call, "compile") is None):
                continue
            if not self.inference.callees(self.file, call):  # what a method of the project hands on is seen there
                yield call

    def _eagerly(self, call: cst.Call) -> Iterator[Expression]:
        """What the `run_eagerly` of a compiled model is set to, by the call or as an attribute."""
        given = argument(call, -1, "run_eagerly")
        if given is not None:
            yield given
        model = dotted_name(call.func.value) if isinstance(call.func, cst.Attribute) else None
        for assignment in self.file.tree.attribute_assignments:
            target = assignment.target
            if target.attr.value == "run_eagerly" and model is not None and dotted_name(target.value) == model:
                yield assignment.value

    def _given(self, call: cst.Call, keyword: str, position: int, what: str, tensors: int) -> Iterator[GivenFunction]:
        for callee in self._functions(self._argument(call, keyword, position)):
            function = callee.function
            if function.is_method and callee.receiver is None:
                continue
            if self.inference.definitions.decorators.may_replace(
                function.file, function.node
            ) and function.node not in self.tracing.wrapped(function.file):
                continue
            yield GivenFunction(callee, what, call, tensors)

    def _argument(self, call: cst.Call, keyword: str, position: int) -> Iterator[Origin]:
        """What a call gets as an argument, also from a dictionary: `compile(**dict(loss=dice))`."""
        given = argument(call, position, keyword)
        if given is not None:
            yield from self.inference.of(self.file, given)
        for arg in call.args:
            if arg.star == "**":
                for mapping in self.inference.of(self.file, arg.value):
                    yield from self.inference.item(mapping, keyword)

    def _functions(self, origins: Iterable[Origin]) -> Iterator[Callee]:
        """The functions among some values; what is none is left out."""
        for origin in self._single(origins, 0):
            yield from self.inference.meant_by(origin)

    def _single(self, origins: Iterable[Origin], depth: int) -> Iterator[Origin]:
        """Some values, those that are lists or dictionaries item by item."""
        for origin in origins:
            if not isinstance(origin.node, cst.List | cst.Tuple | cst.Dict) or origin.access_path:
                yield origin
            elif depth < LISTED_FUNCTIONS.limit:
                yield from self._single(self.inference.item(origin, None), depth + 1)
            elif origin.node.elements:
                self.inference.meet(LISTED_FUNCTIONS)


def _keyword(arg: cst.Arg) -> str:
    return arg.keyword.value if arg.keyword is not None else ""
