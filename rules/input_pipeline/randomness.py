"""Whether a function given to a dataset always draws new random numbers for every element."""

from __future__ import annotations

from collections.abc import Sequence

import libcst as cst

from tflint_gpu.bounds import RANDOM_CALLS
from tflint_gpu.lazy_dataclasses import dataclass
from tflint_gpu.model import (
    GENERATOR_DRAWS,
    GENERATORS,
    UNKNOWN,
    Analysis,
    Context,
    File,
    FunctionNode,
    Node,
    Operation,
    Origin,
    argument,
    method_name,
)
from tflint_gpu.model.library.classes import SEQUENTIAL
from tflint_gpu.model.library.keras_methods import RANDOM_LAYERS
from tflint_gpu.model.library.nondeterminism import GLOBAL_SEEDS, draws_in_graph


@dataclass(frozen=True, slots=True)
class Draw:
    """A call that draws random numbers."""

    file: File
    call: cst.Call


class Randomness(Analysis):
    """Questions about random functions."""

    def draw(self, operation: Operation) -> Draw | None:
        """The call in a mapped function that always draws for every element; none with a seed, which repeats itself."""
        function = argument(operation.call, 0, "map_func")
        if function is None or self._is_seeded(operation.file):
            return None
        name = operation.file.name(function)
        if (name is not None and draws_in_graph(name)) or self.inference.must_be(
            operation.file, function, self._is_random_layer, operation.context
        ):  # `map(tf.image.random_flip_left_right)`, `map(augmentation)`
            return Draw(operation.file, operation.call)
        for callee in self.inference.callables(operation.file, function, operation.context):
            caller = callee.context or operation.context
            inside = self.inference.contexts.enter(operation.file, operation.call, caller, callee, hands_on=True)
            draw = self._draw_in(callee.function.file, callee.function.node, inside, 0)
            if draw is not None:
                return draw
        return None

    def _is_seeded(self, file: File) -> bool:
        return any(True for _ in file.calls(*GLOBAL_SEEDS))

    def _draw_in(self, file: File, function: FunctionNode, context: Context | None, depth: int) -> Draw | None:
        for call in (
            file.calls_below.get(function, ()) if isinstance(function, cst.FunctionDef) else _calls(file, function)
        ):
            if not self._always_runs(file, call, function, context):
                continue
            if self._draws(file, call, context):
                return Draw(file, call)
            for callee in self.inference.callees(file, call, context):
                if depth >= RANDOM_CALLS.limit:
                    if callee.function.calls:
                        self.inference.meet(RANDOM_CALLS)
                else:
                    inside = self.inference.contexts.enter(file, call, context, callee)
                    draw = self._draw_in(callee.function.file, callee.function.node, inside, depth + 1)
                    if draw is not None:
                        return draw
        return None

    def _draws(self, file: File, call: cst.Call, context: Context | None) -> bool:
        if argument(call, -1, "seed") is not None:
            return False
        name = file.name(call.func)
        if name is not None and draws_in_graph(name):
            return True
        if method_name(call) in GENERATOR_DRAWS and isinstance(call.func, cst.Attribute):
            return self.inference.must_be(file, call.func.value, _is_generator, context)
        is_off = self.constants.of(file, argument(call, -1, "training"), context) is False
        return not is_off and self.inference.must_be(file, call.func, self._is_random_layer, context)

    def _is_random_layer(self, origin: Origin) -> bool:
        """`keras.layers.RandomFlip(...)`, or a `Sequential` that has one."""
        call = origin.call
        if call is None or argument(call, -1, "seed") is not None:
            return False
        if (origin.made_by or "").startswith(RANDOM_LAYERS):
            return True
        layers = argument(call, 0, "layers") if origin.made_by in SEQUENTIAL else None
        if not isinstance(layers, cst.List):
            return False
        return any(
            self.inference.must_be(origin.file, element.value, self._is_random_layer, origin.context)
            for element in layers.elements
        )

    def _always_runs(self, file: File, call: cst.Call, function: FunctionNode, context: Context | None) -> bool:
        """Whether no `if` around a call can switch it off: `if augment:` can, unless it is known to be true."""
        inner: Node = call
        for parent in file.tree.ancestors(call):
            if parent is function:
                return True
            if isinstance(parent, cst.If | cst.IfExp) and inner is not parent.test:
                value = self.constants.of(file, parent.test, context)
                runs_on_true = inner is parent.body
                if value is UNKNOWN or bool(value) is not runs_on_true:
                    return False
            inner = parent
        return True


def _is_generator(origin: Origin) -> bool:
    return origin.made_by in GENERATORS


def _calls(file: File, function: FunctionNode) -> Sequence[cst.Call]:
    return file.tree.inside(file.tree.calls, function)
