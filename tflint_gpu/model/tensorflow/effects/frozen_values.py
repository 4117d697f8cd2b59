"""Values that Python draws once where TensorFlow traces: random numbers, the time, unique names."""

from __future__ import annotations

import libcst as cst

from tflint_gpu.model.library.nondeterminism import (
    CLOCKS,
    DRAWS,
    NUMPY_DRAWS,
    PYTHON_DRAWS,
    PYTHON_GENERATORS,
    UNIQUE,
    in_graph,
)
from tflint_gpu.model.model import Analysis
from tflint_gpu.model.python.project.file import File
from tflint_gpu.model.python.syntax.syntax import Node
from tflint_gpu.model.tensorflow.tracing.traced_code import Traced

_SEEDING = ("numpy.random.seed", "random.seed")


class FrozenValues(Analysis):
    """Analysis of calls in traced code whose value every later step sees again."""

    def name_of(self, traced: Traced, call: cst.Call) -> str | None:
        """The name of the draw or clock that a call is, where each step is meant to have its own value."""
        file = traced.file
        name = file.name(call.func)
        if name in CLOCKS or name in UNIQUE:
            return name
        if name not in DRAWS:
            name = self._drawn_from_generator(traced, call)
        elif any(file.name(c.func) in _SEEDING and self._is_given(file, c) for c in traced.function.calls):
            return None
        if name is None or _gets_tensor(traced, call) or _is_seed(file, call) or self._gives_seed(traced, call):
            return None
        return name

    def _gives_seed(self, traced: Traced, call: cst.Call) -> bool:
        """Whether the function only hands the value back, to be a seed: `seed=draw()`."""
        is_handed_back = isinstance(traced.file.tree.parents[call], cst.Return | cst.Lambda)
        return is_handed_back and bool(traced.frames) and _is_seed(traced.frames[-1].file, traced.frames[-1].node)

    def _is_given(self, file: File, call: cst.Call) -> bool:
        """Whether a call gets a seed: `seed(None)` draws one."""
        return bool(call.args) and self.constants.of(file, call.args[0].value) is not None

    def _drawn_from_generator(self, traced: Traced, call: cst.Call) -> str | None:
        """`rng.normal()` of a generator that was made outside of the traced function, or in it without a seed."""
        func, file = call.func, traced.file
        if not isinstance(func, cst.Attribute) or func.attr.value not in NUMPY_DRAWS | PYTHON_DRAWS:
            return None
        origins = self.inference.of(file, func.value, traced.context)
        made = [origin for origin in origins if origin.made_by in PYTHON_GENERATORS]
        if not origins or len(made) < len(origins):
            return None
        own = [o for o in made if o.file.tree.function(o.node) is traced.function.node]
        if any(origin.call is not None and self._is_given(origin.file, origin.call) for origin in own):
            return None
        return f"{file.code(func.value)}.{func.attr.value}"


def _gets_tensor(traced: Traced, call: cst.Call) -> bool:
    """Whether it is given a tensor, and so raises while tracing."""
    return traced.trace is not None and traced.trace.holds_tensor(*(arg.value for arg in call.args))


def _is_seed(file: File, node: Node) -> bool:
    """Whether the value seeds an operation that goes on drawing by itself: `tf.random.normal(..., seed=...)`."""
    for parent in file.tree.ancestors(node):
        if isinstance(parent, cst.Arg) and parent.keyword is not None and parent.keyword.value == "seed":
            taker = file.tree.parents[parent]
            name = file.name(taker.func) if isinstance(taker, cst.Call) else None
            return name is None or "stateless" not in name
        if isinstance(parent, cst.Assign):  # `seed = draw()`, which is handed on from there
            names = [target.target for target in parent.targets]
            named = all(isinstance(name, cst.Name) and "seed" in name.value.lower() for name in names)
            calls = file.calls_in.get(file.tree.function(node), ())
            return named and not any("stateless" in (file.name(call.func) or "") for call in calls)
        if isinstance(parent, cst.BaseStatement | cst.BaseSmallStatement):
            return False
    return False


def drawn_in_graph(name: str) -> str:
    """What to write instead of a call of this name."""
    if name in CLOCKS:
        return "measure outside of the traced function, or use `tf.timestamp()`"
    if name in UNIQUE:
        return "make it outside of the traced function and pass it as a tensor"
    return f"draw in the graph: `{in_graph(name)}`"
