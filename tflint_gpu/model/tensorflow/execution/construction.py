"""Code that builds networks: its loops go over a configuration, and what it calls gets symbols instead of data."""

from __future__ import annotations

import libcst as cst

from tflint_gpu.model.library.keras_methods import WEIGHTED
from tflint_gpu.model.model import Analysis, Model
from tflint_gpu.model.python.execution.summaries import Summaries
from tflint_gpu.model.python.execution.walks import Invocation
from tflint_gpu.model.python.project.file import File
from tflint_gpu.model.python.syntax.syntax import Expression, LoopNode, Node
from tflint_gpu.model.tensorflow.tracing.traces import TracedFunctions
from tflint_gpu.model.tensorflow.training.training import Training
from tflint_gpu.model.tensorflow.types.kinds import Kinds

_SYMBOLS = frozenset(["keras.Input", "keras.layers.Input", "keras.Model", "keras.models.Model"])


class Construction(Analysis):
    """Analysis of what builds networks."""

    def __init__(self, model: Model) -> None:
        super().__init__(model)
        self.kinds = model.once(Kinds)
        self.training = model.once(Training)
        self.execution = model.once(TracedFunctions)
        self._building = Summaries(self.inference, "layers are made", self._builds_itself, self.training.functions_run)

    def builds(self, file: File, loop: LoopNode) -> bool:
        """Whether the iterations of a loop make layers or models: it goes over blocks, depths or widths, not data."""
        return self._building.holds(file, loop)

    def is_symbolic(self, invocation: Invocation, expr: Expression) -> bool:
        """Whether an expression is a symbol of a functional model, for which a call computes nothing."""
        return self.execution.symbolic.holds_tensor(invocation.file, (expr,), invocation.context)

    def _builds_itself(self, file: File, node: Node) -> bool:
        return any(self._makes_layer(file, call) for call in file.calls_below.get(node, ()))

    def _makes_layer(self, file: File, call: cst.Call) -> bool:
        """Whether a call makes a layer with weights, a model, or a model's input."""
        name = file.name(call.func)
        if name is not None and name.startswith("keras."):
            return name in _SYMBOLS or (".layers." in name and name.rpartition(".")[2] in WEIGHTED)
        cls = self.inference.class_called(file, call)
        return cls is not None and not self.kinds.of_class(cls).isdisjoint(("layer", "model"))
