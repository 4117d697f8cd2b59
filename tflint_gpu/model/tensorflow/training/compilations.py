"""Where Keras models are compiled and trained."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from tflint_gpu.model.library.keras_methods import FITTING_METHODS
from tflint_gpu.model.model import Analysis, Model, Once
from tflint_gpu.model.python.project.file import File
from tflint_gpu.model.python.syntax.syntax import Node
from tflint_gpu.model.python.value_flow.origins import Origin
from tflint_gpu.model.tensorflow.types.kinds import Kinds


class Compilations(Analysis):
    """The calls of `compile` and `fit` on models, seen from one file."""

    kinds = Once(Kinds)

    def __init__(self, model: Model) -> None:
        super().__init__(model)
        self._compiled: dict[File, dict[Node, dict[cst.Call, list[Origin]]]] = {}

    def trained(self) -> Iterator[tuple[File, cst.Call, Origin]]:
        """The calls that train a Keras model, each with one of the places where that model may be made."""
        for file in self.inference.seen.using("fit"):
            for call in file.method_calls(*FITTING_METHODS):
                receiver = self.kinds.receiver(file, call, *FITTING_METHODS)
                for made in self.inference.of(file, receiver) if receiver is not None else ():
                    if made.call is not None and self.kinds.of(made) == "model":
                        yield file, call, made

    def of(self, file: File, made: Origin) -> Iterator[tuple[File, cst.Call]]:
        """The calls of `compile` on a model.

        Arguments:
            file: in which the model is trained.
        """
        for user in self.inference.seen.using("compile", file, made.file):
            if user not in self._compiled:
                self._compiled[user] = self._compiled_in(user)
            for call, origins in self._compiled[user].get(made.node, {}).items():
                if any(_is_same(origin, made) for origin in origins):
                    yield user, call

    def _compiled_in(self, file: File) -> dict[Node, dict[cst.Call, list[Origin]]]:
        """By where it may be made, the calls of `compile` on a model, each with the values that are made there."""
        compiled: dict[Node, dict[cst.Call, list[Origin]]] = {}
        for call in file.method_calls("compile"):
            assert isinstance(call.func, cst.Attribute)
            for origin in self.inference.of(file, call.func.value):
                compiled.setdefault(origin.node, {}).setdefault(call, []).append(origin)
        return compiled


def _is_same(origin: Origin, made: Origin) -> bool:
    """Whether a value is what is made at a place, by the same call of the function around it as far as is known."""
    if origin.node is not made.node or origin.access_path:
        return False
    contexts = (origin.context, made.context)
    return contexts[0] is contexts[1] or any(context is None or context.call is None for context in contexts)
