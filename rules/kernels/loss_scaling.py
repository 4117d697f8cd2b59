"""Training steps under mixed_float16 that do not scale their loss."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice

import libcst as cst

from tflint_gpu.lazy_dataclasses import dataclass
from tflint_gpu.lazy_patterns import regex
from tflint_gpu.model import (
    TAPES,
    Analysis,
    Callee,
    Compilations,
    Expression,
    File,
    Kinds,
    MixedPrecision,
    Node,
    Once,
    Origin,
    argument,
    children,
    method_name,
    taken,
)
from tflint_gpu.model.library.keras_methods import TRAINED_ATTRIBUTES

# Any of these in a program's files means that somebody has thought of it.
_SCALING = regex(
    rb"(?i:loss.?scal|scal\w*.?loss|grad\w*.?scal|unscale)|(?<![a-z])scaling"
    rb"|(?<!Standard)(?<!MinMax)(?<!MaxAbs)(?<!Robust)Scaler"
)
_SCALES = regex(r"(?<!re)scal(?:e|ing)", re.IGNORECASE)
_SCALING_OPTIMIZER = "LossScaleOptimizer"


@dataclass(frozen=True, slots=True)
class UnscaledStep:
    """A training step whose loss is not scaled, for a model that always computes in float16.

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


class LossScaling(Analysis):
    """The training steps that are seen from one file, as far as they run under mixed_float16."""

    kinds = Once(Kinds)
    mixed = Once(MixedPrecision)
    compilations = Once(Compilations)

    def unscaled(self) -> Iterator[UnscaledStep]:
        """The steps whose gradients are those of a loss that is not scaled, one for each tape."""
        if self.mixed.policy is None:
            return
        source, project = self.inference.entry.source, self.inference.project
        scales = _SCALING.search(source.text.encode("utf-8", "replace")) is not None
        scales = scales or project.reached_mention(source, _SCALING)
        for file in self.inference.seen.using("GradientTape"):
            for tape in file.calls(*sorted(TAPES)):
                pairs = list(self._pairs(file, tape))
                if scales or _SCALES.search(file.code(file.tree.function(tape) or tape)):
                    pairs = [pair for pair in pairs if self._is_left_out(file, *pair)]
                steps = (step for tape_call, update in pairs for step in self._step(file, tape, tape_call, update))
                yield from islice(steps, 1)

    def _pairs(self, file: File, tape: cst.Call) -> Iterator[tuple[cst.Call, cst.Call]]:
        """The calls that take gradients from a tape, each with the one that applies them."""
        neighbours = file.calls_in.get(file.tree.function(tape), ())
        updates = [call for call in neighbours if method_name(call) == "apply_gradients"]
        takes = [call for call in neighbours if method_name(call) == "gradient"]
        own = [call for call in taken(self.inference, file, tape) if method_name(call) == "gradient"]
        if len(updates) == 1 and len(takes) == 1:
            is_only = sum(file.name(call.func) in TAPES for call in neighbours) == 1
            if own or is_only:
                yield takes[0], updates[0]
            return
        for update in updates:
            sources = {node for arg in update.args for node in self._sources(file, arg.value)}
            applied = [call for call in takes if call in sources]
            if len(applied) == 1 and applied[0] in own:
                yield applied[0], update

    def _sources(self, file: File, expr: Expression) -> Iterator[Node]:
        """What a value is computed from in its function, as far as names lead; not what is in a call of `gradient`."""
        stack: list[Node] = [expr]
        seen: set[Node] = set()
        function = file.tree.function(expr)
        while stack:
            node = stack.pop()
            yield node
            if not (isinstance(node, cst.Call) and method_name(node) == "gradient"):
                stack += children(node)
            for binding in file.flow.lookup(node.value, node) if isinstance(node, cst.Name) else ():
                value = binding.value
                if value is not None and value not in seen and file.tree.function(value) is function:
                    seen.add(value)
                    stack.append(value)

    def _is_left_out(self, file: File, tape_call: cst.Call, update: cst.Call) -> bool:
        """Whether a step scales the loss of another optimizer, and never of this one."""
        neighbours = file.calls_in.get(file.tree.function(update), ())
        others = [call for call in neighbours if method_name(call) == "apply_gradients" and call is not update]
        if not any(self._scales(file, call) for call in others):
            return False
        used = [argument(tape_call, 0, "target"), *(arg.value for arg in update.args)]
        return not any(
            _SCALES.search(file.code(node))
            or any(_SCALES.search(c.function.file.code(c.function.node)) for c in self._callees(file, node))
            for expr in used
            if expr is not None
            for node in self._sources(file, expr)
            if isinstance(node, cst.Name | cst.Attribute | cst.Call)
        )

    def _callees(self, file: File, node: Node) -> tuple[Callee, ...]:
        return tuple(self.inference.callees(file, node)) if isinstance(node, cst.Call) else ()

    def _scales(self, file: File, update: cst.Call) -> bool:
        """Whether a call is one of an optimizer of Keras's that scales."""
        return isinstance(update.func, cst.Attribute) and self.inference.must_be(
            file, update.func.value, lambda origin: (origin.made_by or "").rpartition(".")[2] == _SCALING_OPTIMIZER
        )

    def _step(self, file: File, tape: cst.Call, call: cst.Call, update: cst.Call) -> Iterator[UnscaledStep]:
        holder = self._holder(file, argument(call, 1, "sources"))
        if holder is None or not isinstance(update.func, cst.Attribute):
            return
        if self._is_own_step(file, tape, holder):
            yield from self._own_step(file, tape, update)
            return
        models = self.inference.of(file, holder)
        is_plain = self.inference.must_be(file, update.func.value, self._is_plain)
        if is_plain and models and all(self._is_half(model) for model in models):
            yield UnscaledStep(file, tape, update, models[0].file, models[0].node)

    def _holder(self, file: File, sources: Expression | None) -> Expression | None:
        """The model of whose weights gradients are taken: of `model.trainable_variables`, also by a name."""
        if isinstance(sources, cst.Name):
            bindings = file.flow.lookup(sources.value, sources)
            sources = bindings[0].value if len(bindings) == 1 and not bindings[0].path else None
        if isinstance(sources, cst.Attribute) and sources.attr.value in TRAINED_ATTRIBUTES:
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
