"""Which functions XLA compiles: because it is asked to, or because Keras 3 does so where there is a GPU."""

from __future__ import annotations

from collections.abc import Container, Iterator
from functools import cached_property
from typing import Literal

import libcst as cst

from tflint_gpu.lazy_dataclasses import dataclass
from tflint_gpu.model.library.devices import STRATEGIES
from tflint_gpu.model.library.higher_order import TF_FUNCTIONS
from tflint_gpu.model.library.xla import DETERMINISM, WITHOUT_JIT
from tflint_gpu.model.model import Analysis, Once
from tflint_gpu.model.python.project.file import File
from tflint_gpu.model.python.syntax.syntax import Node, argument
from tflint_gpu.model.tensorflow.tracing.keras_functions import KerasFunctions
from tflint_gpu.model.tensorflow.tracing.traced_code import TracedCode, entry
from tflint_gpu.model.tensorflow.tracing.traces import Reached
from tflint_gpu.model.tensorflow.tracing.tracing import Tracing
from tflint_gpu.model.tensorflow.types.model_classes import ModelClasses

_COMPILING = ("jit_compile", "experimental_compile")


@dataclass(frozen=True, slots=True)
class XlaRoots:
    """Functions that XLA compiles, with all that they call.

    Arguments:
        place: what has them compiled: a `tf.function`, a call of `compile`.
        by_itself: whether Keras 3 decides that, where there is a GPU.
    """

    place: Node
    functions: frozenset[Node]
    by_itself: bool = False


class XlaCompilations(Analysis):
    """What XLA compiles, seen from one file."""

    tracing = Once(Tracing)
    traced_code = Once(TracedCode)
    keras_functions = Once(KerasFunctions)
    model_classes = Once(ModelClasses)

    @cached_property
    def roots(self) -> tuple[XlaRoots, ...]:
        """All that this file has compiled."""
        return (*self._of_functions(), *self._of_models())

    def may_be_compiled(self, traced: Reached) -> bool:
        """Whether XLA may compile what is traced: it is asked to, or Keras 3 does so by itself where there is a GPU."""
        root = entry(traced)[1]
        if any(root in roots.functions for roots in self.roots):
            return True
        is_off = bool(self._compilations) and all(
            self.constants.keyword(self.file, call, "jit_compile") is False for call in self._compilations
        )
        return traced.keras and self.target.keras >= 3 and not is_off

    def _of_functions(self) -> Iterator[XlaRoots]:
        for function, wrapper in self.tracing.wrapped(self.file).items():
            maker = wrapper.decorator if isinstance(wrapper, cst.Decorator) else None
            if isinstance(maker, cst.Call) and self._asks_for_xla(maker):
                yield XlaRoots(maker.func, frozenset([function]))
        for call in self.file.calls(*TF_FUNCTIONS):
            target = argument(call, 0, "func")
            if target is not None and self._asks_for_xla(call):
                callees = self.inference.callables(self.file, target)
                yield XlaRoots(call.func, frozenset(callee.function.node for callee in callees))

    def _of_models(self) -> Iterator[XlaRoots]:
        calls = self._compilations
        if self.compiles_models:
            made = set(self.model_classes.of_receivers(calls))
            for call in calls:
                for cls in self.keras_functions.classes_given_to(call):
                    made.update(related.node for related in self.inference.definitions.lineage(cls))
            yield XlaRoots(
                calls[0].func, frozenset(self._keras_roots(made)), by_itself=self.compiles_models == "by itself"
            )

    @cached_property
    def compiles_models(self) -> Literal["asked", "by itself"] | None:
        """Why XLA compiles all models for which this file calls `compile`."""
        if not self._compilations:
            return None
        if all(self._asks_for_xla(call) for call in self._compilations):
            return "asked"
        return "by itself" if self._is_by_itself else None

    @cached_property
    def _compilations(self) -> list[cst.Call]:
        return [
            call
            for call in self.file.method_calls("compile")
            if isinstance(call.func, cst.Attribute) and self.file.name(call.func) is None and call.args
        ]

    def _asks_for_xla(self, call: cst.Call) -> bool:
        return any(self.constants.keyword(self.file, call, name) is True for name in _COMPILING)

    @cached_property
    def _is_by_itself(self) -> bool:
        """Whether all that is compiled here leaves it to Keras 3, which finds nothing that keeps XLA off."""
        if self.target.keras < 3 or not all(self._leaves_it_to_keras(call) for call in self._compilations):
            return False
        return not any(self._keeps_xla_off(file) for file in self.inference.seen.with_text("keras", self.file))

    def _keeps_xla_off(self, file: File) -> bool:
        if file.tree.attributes_set("supports_jit"):
            return True
        return any(file.calls(*STRATEGIES, *WITHOUT_JIT, *DETERMINISM)) or "CUDA_VISIBLE_DEVICES" in file.source.text

    def _leaves_it_to_keras(self, call: cst.Call) -> bool:
        if any(arg.star for arg in call.args) and not _is_of_super(call):
            return False
        eagerly, asked = argument(call, -1, "run_eagerly"), argument(call, -1, "jit_compile")
        if eagerly is not None and self.constants.of(self.file, eagerly) is not False:
            return False
        return asked is None or self.constants.of(self.file, asked) in (True, "auto")

    def _keras_roots(self, made: Container[Node]) -> Iterator[Node]:
        """The methods of some layers and models, and the functions that this file gives to Keras."""
        for traced in self.traced_code.functions:
            if traced.keras and not traced.path:
                owner = traced.function.owner
                if owner is None or owner.node in made:
                    yield traced.function.node


def _is_of_super(call: cst.Call) -> bool:
    """`super().compile(**settings)` hands on what a call of `compile` has been given."""
    receiver = call.func.value if isinstance(call.func, cst.Attribute) else None
    return isinstance(receiver, cst.Call) and isinstance(receiver.func, cst.Name) and receiver.func.value == "super"
