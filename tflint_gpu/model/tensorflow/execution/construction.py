"""Code that builds networks: its loops go over a configuration, and what it calls gets symbols instead of data."""

from __future__ import annotations

import libcst as cst

from tflint_gpu.model.library.classes import FUNCTIONAL, INPUTS
from tflint_gpu.model.library.keras_methods import WEIGHTED
from tflint_gpu.model.model import Analysis, Model
from tflint_gpu.model.python.execution.summaries import Summaries
from tflint_gpu.model.python.execution.walks import Invocation
from tflint_gpu.model.python.project.file import File
from tflint_gpu.model.python.syntax.children import names_in
from tflint_gpu.model.python.syntax.containers import CHANGES
from tflint_gpu.model.python.syntax.syntax import Expression, LoopNode, Node, iterable, method_name
from tflint_gpu.model.tensorflow.tracing.traces import TracedFunctions
from tflint_gpu.model.tensorflow.types.kinds import Kinds

_SYMBOLS = FUNCTIONAL | INPUTS


class Construction(Analysis):
    """Analysis of what builds networks."""

    def __init__(self, model: Model) -> None:
        super().__init__(model)
        self.kinds = model.once(Kinds)
        self.execution = model.once(TracedFunctions)
        self._building = Summaries(self.inference, "layers are made", self._builds_itself, self.inference.functions_run)

    def builds(self, file: File, loop: LoopNode) -> bool:
        """Whether a loop goes over blocks, widths or symbols, not data: it makes layers or a model's outputs."""
        return self._building.holds(file, loop) or self._makes_outputs(file, loop)

    def _makes_outputs(self, file: File, loop: LoopNode) -> bool:
        """Whether a model is made later of what a loop goes over or gives: `keras.Model(inputs, outputs)`."""
        fed = file.once(_fed).get(file.tree.function(loop))
        if fed is None:
            return False
        data = iterable(loop)
        grown = [call.func for call in file.calls_below.get(loop, ()) if method_name(call) in CHANGES]
        held = names_in(*grown, *([data] if data is not None else []))
        return any(fed.get(name, 0) > file.tree.order[loop] for name in held)

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


def _fed(file: File) -> dict[Node | None, dict[str, int]]:
    """For each function, the names of which it makes models, each with the place of the last one."""
    fed: dict[Node | None, dict[str, int]] = {}
    for call in file.tree.calls:
        if file.name(call.func) in FUNCTIONAL:
            place = dict.fromkeys(names_in(*call.args), file.tree.order[call])
            fed.setdefault(file.tree.function(call), {}).update(place)
    return fed
