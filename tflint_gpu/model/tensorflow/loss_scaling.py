"""Training steps under mixed_float16 that do not scale their loss."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

import libcst as cst

from tflint_gpu.model.python.file import File
from tflint_gpu.model.python.inference import Inference
from tflint_gpu.model.python.origins import Origin
from tflint_gpu.model.python.syntax import Expression, Node, argument, method_name
from tflint_gpu.model.tensorflow.compilations import Compilations
from tflint_gpu.model.tensorflow.kinds import Kinds
from tflint_gpu.model.tensorflow.mixed_precision import MixedPrecision
from tflint_gpu.model.tensorflow.training import TAPES

# Any of these in a program's files means that somebody has thought of it.
_SCALING = (b"scale_loss", b"scaled_loss", b"LossScale", b"loss_scale", b"unscale", b"Scaler", b"scaling")
_SCALES = re.compile(r"scal(?:e|ing)(?!ar)", re.IGNORECASE)
_WEIGHTS = frozenset(["trainable_variables", "trainable_weights"])


@dataclass(frozen=True, slots=True)
class UnscaledStep:
    """A training step whose loss is not scaled, for a model that surely computes in float16.

    Arguments:
        tape: of the step. update: the call that applies its gradients.
        model: what makes the model, in `model_file`.
        is_divided: the optimizer is wrapped by `compile`, and divides the gradients by a scale nobody multiplied with.
    """

    file: File
    tape: cst.Call
    update: cst.Call
    model_file: File
    model: Node
    is_divided: bool = False


class LossScaling:
    """The training steps that are seen from one file, as far as they run under mixed_float16."""

    def __init__(self, inference: Inference, kinds: Kinds, mixed: MixedPrecision, compilations: Compilations) -> None:
        self.inference = inference
        self.kinds = kinds
        self.mixed = mixed
        self.compilations = compilations

    def unscaled(self) -> Iterator[UnscaledStep]:
        """The steps whose gradients are those of a loss that is not scaled."""
        if self.inference.project.program_mentions(self.inference.entry.source, _SCALING) or self.mixed.policy is None:
            return
        for file in self.inference.files_with("GradientTape"):
            for tape in file.calls(*sorted(TAPES)):
                function = file.tree.function(tape)
                if function is not None and _SCALES.search(file.code(function)):
                    continue
                beside = file.calls_in.get(function, ())
                updates = [call for call in beside if method_name(call) == "apply_gradients"]
                taken = [call for call in beside if method_name(call) == "gradient"]
                if len(updates) == 1 and len(taken) == 1:
                    yield from self._step(file, tape, taken[0], updates[0])

    def _step(self, file: File, tape: cst.Call, taken: cst.Call, update: cst.Call) -> Iterator[UnscaledStep]:
        holder = self._holder(file, argument(taken, 1, "sources"))
        if holder is None or not isinstance(update.func, cst.Attribute):
            return
        if self._is_own_step(file, tape, holder):
            yield from self._own_step(file, tape, update)
            return
        models = self.inference.of(file, holder)
        is_plain = self.inference.surely(file, update.func.value, self._is_plain)
        if is_plain and models and all(self._is_half(one) for one in models):
            yield UnscaledStep(file, tape, update, models[0].file, models[0].node)

    def _holder(self, file: File, sources: Expression | None) -> Expression | None:
        """The model of whose weights gradients are taken: of `model.trainable_variables`, also by a name."""
        if isinstance(sources, cst.Name):
            bindings = file.flow.lookup(sources.value, sources)
            sources = bindings[0].value if len(bindings) == 1 and not bindings[0].path else None
        if isinstance(sources, cst.Attribute) and sources.attr.value in _WEIGHTS:
            return sources.value
        return None

    def _is_plain(self, origin: Origin) -> bool:
        """Whether an optimizer is one of Keras's that scales nothing."""
        name = origin.made_by or ""
        return name.startswith("keras.optimizers.") and self.kinds.of(origin) == "optimizer"

    def _is_half(self, origin: Origin) -> bool:
        """Whether a model is certainly made under the policy."""
        made = origin.call
        return made is not None and self.kinds.of(origin) == "model" and self.mixed.is_in_force(origin.file, made)

    # The `train_step` of a model class.

    def _is_own_step(self, file: File, tape: cst.Call, holder: Expression) -> bool:
        function = file.tree.function(tape)
        cls = self.inference.definitions.self_class(file, holder)
        named = isinstance(function, cst.FunctionDef) and function.name.value == "train_step"
        return named and cls is not None and "model" in self.kinds.of_class(cls)

    def _own_step(self, file: File, tape: cst.Call, update: cst.Call) -> Iterator[UnscaledStep]:
        """The step that `fit` runs, where `compile` makes and wraps the optimizer."""
        receiver = update.func.value if isinstance(update.func, cst.Attribute) else None
        if not isinstance(receiver, cst.Attribute) or receiver.attr.value != "optimizer":
            return
        if self.inference.definitions.self_class(file, receiver.value) is None:
            return
        step = file.tree.function(tape)
        for _, _, made in self.compilations.trained():
            cls = self.inference.instance_class(made)
            used = self.inference.definitions.method(cls, "train_step") if cls is not None else None
            if cls is None or used is None or used.node is not step:
                continue
            if self.inference.definitions.method(cls, "compile") is None and self._is_half(made):
                yield UnscaledStep(file, tape, update, made.file, made.node, is_divided=True)
                return
