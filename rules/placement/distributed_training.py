"""Training under a `tf.distribute` strategy whose parts are not all made in its scope."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Literal, TypeAlias

import libcst as cst

from tflint_gpu.lazy_dataclasses import dataclass
from tflint_gpu.model import (
    UNKNOWN,
    Analysis,
    Compilations,
    Expression,
    File,
    Kinds,
    Node,
    Once,
    Origin,
    ScopeSide,
    Strategies,
    argument,
)
from tflint_gpu.model.library.classes import BUILT_COPIES, FUNCTIONAL, INPUT_LAYERS, INPUT_SHAPES, SEQUENTIAL
from tflint_gpu.model.library.keras_methods import OWN_TRAINING

Part: TypeAlias = Literal["model", "optimizer", "metric"]


@dataclass(frozen=True, slots=True)
class Misplaced:
    """A part of a training under a strategy that is certainly made outside of its scope, where that fails.

    Arguments:
        file, node: what makes the part, or calls the function that does.
        made: the model.
        raises: the exceptions, one of which the training ends with.
        by: the method that raises.
        fit_file, fit: the training.
    """

    part: Part
    file: File
    node: Node
    made: Origin
    raises: tuple[str, ...]
    by: str
    fit_file: File
    fit: cst.Call


@dataclass(frozen=True, slots=True)
class _Optimizer:
    """What `compile` gets, or makes, as an optimizer; `has_slots` is None where it is not known."""

    file: File
    node: Node
    side: ScopeSide
    has_slots: bool | None


class DistributedTraining(Analysis):
    """The Keras training under strategies, seen from one file."""

    kinds = Once(Kinds)
    strategies = Once(Strategies)
    compilations = Once(Compilations)

    def misplaced(self) -> Iterator[Misplaced]:
        """The parts made outside of the scope that their training needs, each once."""
        seen: set[Node] = set()
        for file, fit, made in self.compilations.trained():
            for misplaced in self._misplaced_for(file, fit, made) if not self._trains_itself(made) else ():
                if misplaced.node not in seen:
                    seen.add(misplaced.node)
                    yield misplaced

    def _misplaced_for(self, file: File, fit: cst.Call, made: Origin) -> Iterator[Misplaced]:
        assert made.call is not None
        side = self.strategies.side(made.file, made.call, made.context)
        if side == "unknown":
            return
        compiles = list(self.compilations.of(file, made))
        if side == "outside":
            misplaced = self._of_model(file, fit, made, compiles)
            if misplaced is not None:
                yield misplaced
        elif self.inference.project.target.keras >= 3:
            yield from self._of_optimizers(file, fit, made, compiles)
        else:
            yield from self._of_metrics(file, fit, made, compiles)

    def _trains_itself(self, made: Origin) -> bool:
        cls = self.inference.instance_class(made)
        return cls is not None and any(self.inference.definitions.method(cls, name) for name in OWN_TRAINING)

    # A model outside.

    def _of_model(
        self, file: File, fit: cst.Call, made: Origin, compiles: list[tuple[File, cst.Call]]
    ) -> Misplaced | None:
        assert made.call is not None
        fitted = self.strategies.side(file, fit)
        if self.inference.project.target.keras >= 3:
            optimizers = [self._optimizer(compile_file, call, made) for compile_file, call in compiles]
            sides = {optimizer.side if optimizer is not None else "unknown" for optimizer in optimizers} or {"unknown"}
            slots = {optimizer.has_slots if optimizer is not None else None for optimizer in optimizers} or {None}
            ways = [
                _raised_by_keras_3(built, optimizer, slot, where)
                for built, optimizer, slot, where in product(
                    _ways(self._is_built(made)), _sides(sides), _slot_ways(slots), _sides({fitted})
                )
            ]
            by = "fit"
        else:
            compiled = {self.strategies.side(optimizer, call, made.context) for optimizer, call in compiles} or {
                "unknown"
            }
            ways = [
                _raised_by_keras_2(built, optimizer, where)
                for built, optimizer, where in product(_ways(self._is_built(made)), _sides(compiled), _sides({fitted}))
            ]
            by = "compile" if compiled == {"inside"} else "fit"
        if not all(ways):
            return None
        raises = tuple(dict.fromkeys(name for way in ways for name in way))
        return Misplaced(
            "model", *_to_be_moved(made, [fit, *(call for _, call in compiles)]), made, raises, by, file, fit
        )

    def _is_built(self, made: Origin) -> bool | None:
        """Whether a model certainly has its variables as soon as it is made; None where it may have."""
        call, name = made.call, made.made_by or ""
        assert call is not None
        if name in SEQUENTIAL:
            layers = argument(call, 0, "layers")
            first = layers.elements[0].value if isinstance(layers, cst.List | cst.Tuple) and layers.elements else None
            return True if isinstance(first, cst.Call) and _has_input(made.file, first) else None
        if name in FUNCTIONAL:
            return True if argument(call, 0, "inputs") is not None else None
        return True if name in BUILT_COPIES or name.startswith("keras.applications.") else None

    # An optimizer or a metric outside.

    def _of_optimizers(
        self, file: File, fit: cst.Call, made: Origin, compiles: list[tuple[File, cst.Call]]
    ) -> Iterator[Misplaced]:
        optimizers = [self._optimizer(compile_file, call, made) for compile_file, call in compiles]
        if all(
            optimizer is not None and optimizer.side == "outside" and optimizer.has_slots for optimizer in optimizers
        ):
            for optimizer in optimizers:
                assert optimizer is not None
                yield Misplaced("optimizer", optimizer.file, optimizer.node, made, ("RuntimeError",), "fit", file, fit)

    def _of_metrics(
        self, file: File, fit: cst.Call, made: Origin, compiles: list[tuple[File, cst.Call]]
    ) -> Iterator[Misplaced]:
        for compile_file, call in compiles:
            metrics = argument(call, 2, "metrics")
            for held in self.inference.of(compile_file, metrics, made.context) if metrics is not None else ():
                for metric in (held, *self.inference.elements(held)):
                    if metric.call is not None and self.kinds.of(metric) == "metric" and self._is_outside(metric):
                        yield Misplaced("metric", metric.file, metric.call, made, ("ValueError",), "compile", file, fit)

    def _is_outside(self, made: Origin) -> bool:
        return self.strategies.side(made.file, made.node, made.context) == "outside"

    # The optimizer.

    def _optimizer(self, file: File, call: cst.Call, made: Origin) -> _Optimizer | None:
        """The optimizer that a call of `compile` gives a model; None where it is not certain."""
        given = argument(call, 0, "optimizer")
        here = self.strategies.side(file, call, made.context)
        if given is None:
            starred = any(arg.star for arg in call.args)
            return None if starred else _Optimizer(file, call, here, has_slots=True)  # "rmsprop"
        origins = self.inference.of(file, given, made.context)
        origin = origins[0] if len(origins) == 1 else None
        if origin is None:
            return None
        text = self.constants.of(file, given, made.context)
        if isinstance(text, str):
            return _Optimizer(file, given, here, text.lower() != "sgd")
        name = origin.made_by or ""
        if origin.call is None or self.kinds.of(origin) != "optimizer" or name.count(".") != 2:
            return None
        side = self.strategies.side(origin.file, origin.call, origin.context)
        return _Optimizer(origin.file, origin.call, side, self._has_slots(origin, name.rpartition(".")[2]))

    def _has_slots(self, origin: Origin, name: str) -> bool | None:
        """Whether an optimizer of Keras has variables for each weight: all but the plain SGD."""
        if name != "SGD":
            return True
        assert origin.call is not None
        momentum: Expression | None = argument(origin.call, 1, "momentum")
        if momentum is None:
            return None if any(arg.star for arg in origin.call.args) else False
        value = self.constants.of(origin.file, momentum, origin.context)
        return None if value is UNKNOWN else bool(value)


def _to_be_moved(made: Origin, training: list[cst.Call]) -> tuple[File, Node]:
    """The call that must move into the scope: of the function that makes a model, if it does no more with it."""
    file, node, context = made.file, made.node, made.context
    trained_in = [made.file.tree.function(call) for call in training if call in made.file.tree.parents]
    while context is not None and context.call is not None and context.file is not None:
        if context.receiver is not None or context.function in trained_in:
            break
        file, node, context = context.file, context.call, context.caller
    return file, node


def _has_input(file: File, layer: cst.Call) -> bool:
    return file.name(layer.func) in INPUT_LAYERS or any(
        arg.keyword is not None and arg.keyword.value in INPUT_SHAPES for arg in layer.args
    )


def _ways(known: bool | None) -> tuple[bool, ...]:
    return (True, False) if known is None else (known,)


def _slot_ways(known: set[bool | None]) -> tuple[bool, ...]:
    return (True, False) if None in known or len(known) > 1 else _ways(next(iter(known)))


def _sides(known: set[ScopeSide]) -> tuple[ScopeSide, ...]:
    return ("inside", "outside") if "unknown" in known or len(known) > 1 else tuple(known)


def _raised_by_keras_3(built: bool, optimizer: ScopeSide, slots: bool, fit: ScopeSide) -> tuple[str, ...]:
    """What `fit` raises for a model that was made outside; nothing where it trains.

    Seen with Keras 3.15 under MirroredStrategy and OneDeviceStrategy, with Adam and with plain SGD.
    """
    if optimizer == "inside":
        if fit == "inside" and not built:
            return ()  # `fit` itself makes the variables, in the scope
        if not slots:
            return ("AssertionError",)
        return ("ValueError",) if fit == "inside" else ("RuntimeError",)
    if fit == "inside":
        return ("RuntimeError",) if slots else ("AssertionError",) if built else ()
    return ()  # no strategy at all


def _raised_by_keras_2(built: bool, compiled: ScopeSide, fit: ScopeSide) -> tuple[str, ...]:
    """The same of Keras 2.15, where `compile` asks for the scope of each variable."""
    if not built or (compiled, fit) == ("outside", "outside"):
        return ()
    return ("ValueError",) if compiled == "inside" else ("ValueError", "AttributeError")
