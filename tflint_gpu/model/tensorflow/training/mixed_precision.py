"""The mixed_float16 policy: where it must be in force, and which models give float16 probabilities."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from functools import cached_property, partial

import libcst as cst

from tflint_gpu.bounds import USED_NAMES
from tflint_gpu.lazy_dataclasses import dataclass
from tflint_gpu.model.library.keras_methods import ACTIVATED, BINARY_LOSSES, CATEGORICAL_LOSSES
from tflint_gpu.model.library.operations import spellings_of
from tflint_gpu.model.library.precision import POLICY_SETTERS
from tflint_gpu.model.model import Analysis, Model
from tflint_gpu.model.python.execution.callers import EveryWay, RunSite, ways
from tflint_gpu.model.python.project.file import File
from tflint_gpu.model.python.syntax.children import spelling
from tflint_gpu.model.python.syntax.syntax import Expression, Node, argument
from tflint_gpu.model.python.value_flow.calls import is_library
from tflint_gpu.model.python.value_flow.origins import Context, Origin
from tflint_gpu.model.tensorflow.training.compilations import Compilations
from tflint_gpu.model.tensorflow.training.model_outputs import ModelOutputs
from tflint_gpu.model.tensorflow.types.guards import Guards
from tflint_gpu.model.tensorflow.types.kinds import Kind, Kinds
from tflint_gpu.model.values.precision import policy_name

_HALF = re.compile(r"(?<!mixed_)float16|\bhalf\b|compute_dtype")
_KERAS: tuple[Kind, ...] = ("layer", "model", "loss", "metric")


@dataclass(frozen=True, slots=True)
class HalfOutput:
    """A layer that gives a trained model's probabilities in float16.

    Arguments:
        layer: what makes it. activation: "softmax" or "sigmoid".
        policy: the call that sets the policy, in `policy_file`.
        loss: the call of `compile` with the cross-entropy, in `loss_file`.
        meets_half: whether the program may compute with the output and a tensor of float16.
    """

    file: File
    layer: cst.Call
    activation: str
    policy_file: File
    policy: cst.Call
    loss_file: File
    loss: cst.Call
    meets_half: bool


class MixedPrecision(Analysis):
    """Analysis of the mixed_float16 policy of the program that is checked."""

    def __init__(self, model: Model) -> None:
        super().__init__(model)
        self.guards = model.once(Guards)
        self.kinds = model.once(Kinds)
        self.compilations = model.once(Compilations)
        self.outputs = ModelOutputs(self.inference)

    # The policy.

    @cached_property
    def policy(self) -> tuple[File, cst.Call] | None:
        """The call that makes mixed_float16 the policy of all layers, where none sets another and nothing chooses."""
        setting = [
            (file, call)
            for file in self.inference.seen.with_text("mixed_float16")
            for call in file.calls(*sorted(POLICY_SETTERS))
        ]
        names = {policy_name(self.inference, self.constants, file, call) for file, call in setting}
        if names != {"mixed_float16"}:
            return None
        sure = [call_site for call_site in setting if self.guards.must_run(*call_site)]
        return sure[0] if sure else None

    def is_in_force(self, file: File, node: Node) -> bool:
        """Whether the policy must be set before a place runs."""
        if self.policy is None:
            return False
        set_by = {(site.file, site.function, site.node) for site in ways(self.inference, RunSite(*self.policy))}
        at_top = {at for at, within, _ in set_by if within is None}
        decide = partial(self._comes_after, set_by)
        # What nothing is seen to call runs later than what is at the top of its own file.
        return EveryWay(self.inference, decide, lambda site: site.file in at_top).holds(RunSite(file, node))

    @staticmethod
    def _comes_after(set_by: Collection[tuple[File, Node | None, Node]], site: RunSite) -> bool | None:
        """Whether a place runs after one of some others in its function or file; None where its callers decide."""
        file, function = site.file, site.function
        same = [node for at, within, node in set_by if at is file and within is function]
        if same:
            return any(file.tree.order[node] < file.tree.order[site.node] for node in same)
        if function is None:  # a module whose imports set the policy
            return any(at is not file and within is None for at, within, _ in set_by)
        return None if isinstance(function, cst.FunctionDef) else False

    # Outputs.

    def half_outputs(self) -> Iterator[HalfOutput]:
        """The layers of trained models whose float16 probabilities a cross-entropy of Keras gets, each once."""
        seen: set[Node] = set()
        if self.policy is None:
            return
        for file, _, made in self.compilations.trained():
            compiles = list(self.compilations.of(file, made))
            for layer in self.outputs.layers(made) if compiles else ():
                activation = self._activation(layer)
                if activation is None or layer.node in seen or layer.call is None:
                    continue
                if not all(
                    self._has_crossentropy(compile_file, call, activation, made.context)
                    for compile_file, call in compiles
                ):
                    continue
                if self.is_in_force(layer.file, layer.call):
                    seen.add(layer.node)
                    meets_half = self._meets_half([made, layer])
                    yield HalfOutput(layer.file, layer.call, activation, *self.policy, *compiles[-1], meets_half)

    def _meets_half(self, makers: Collection[Origin]) -> bool:
        """Whether a program names float16 besides the policy, or uses what some models or layers give in other ways."""
        nodes = {maker.node for maker in makers}
        for file in self.inference.seen.with_text("keras"):
            if _HALF.search(file.source.text):
                return True
            for call in file.tree.calls:
                made = self.inference.of(file, call.func) if not is_library(file.name(call.func)) else ()
                is_model = any(origin.node in nodes and not origin.access_path for origin in made)
                if is_model and not self._stays_in_keras(file, call):
                    return True
        return False

    def _stays_in_keras(self, file: File, result: Expression, depth: int = 0) -> bool:
        """Whether only Keras and casts get what a model gives, and those that call the function that it is in."""
        parents = file.tree.ancestors(result)
        parent = next(p for p in parents if not isinstance(p, cst.Element | cst.List | cst.Tuple | cst.Subscript))
        if isinstance(parent, cst.Arg):
            taker = file.tree.parents[parent]
            name = (file.name(taker.func) or "") if isinstance(taker, cst.Call) else ""
            is_kept = isinstance(taker, cst.Call) and self.kinds.must_be(file, taker.func, *_KERAS)
            return is_kept or name.startswith("keras.") or name == "tf.cast"
        if isinstance(parent, cst.Assign) and depth < USED_NAMES.limit:
            uses = file.tree.uses.get(spelling(parent.targets[0].target), ())
            read = [use for use in uses if not isinstance(file.tree.parents[use], cst.AssignTarget)]
            return bool(uses) and all(self._stays_in_keras(file, use, depth + 1) for use in read)
        return isinstance(parent, cst.Return | cst.Expr)

    def _activation(self, layer: Origin) -> str | None:
        """Which probabilities a layer of Keras's own gives in the dtype of the policy."""
        folder, _, name = (layer.made_by or "").rpartition(".")
        call = layer.call
        if folder != "keras.layers" or call is None:
            return None
        if any(arg.star or (arg.keyword is not None and arg.keyword.value == "dtype") for arg in call.args):
            return None
        if name == "Softmax":
            return "softmax"
        if name == "TimeDistributed":
            inner = argument(call, 0, "layer")
            origins = self.inference.of(layer.file, inner, layer.context) if inner is not None else ()
            return self._activation(origins[0]) if len(origins) == 1 else None
        if name != "Activation" and name not in ACTIVATED:
            return None
        position = {"Activation": 0, "Dense": 1}.get(name, -1)
        given = argument(call, position, "activation")
        names = self._names(layer.file, given, layer.context) if given is not None else set()
        if names and names <= spellings_of("softmax"):
            return "softmax"
        return "sigmoid" if names and names <= spellings_of("sigmoid") else None

    def _has_crossentropy(self, file: File, call: cst.Call, activation: str, context: Context | None) -> bool:
        """Whether a call of `compile` names the cross-entropy that goes with an activation."""
        loss = argument(call, 1, "loss")
        names = self._names(file, loss, context) if loss is not None else set()
        return bool(names) and names <= (BINARY_LOSSES if activation == "sigmoid" else CATEGORICAL_LOSSES)

    def _names(self, file: File, expr: Expression, context: Context | None) -> set[str]:
        """The names, or the constructors' names, that an expression may mean; "" for anything else."""
        names = set()
        for origin in self.inference.of(file, expr, context):
            if isinstance(origin.node, cst.BaseString) and not origin.access_path:
                names.add(str(self.constants.of(origin.file, origin.node, origin.context)))
            elif origin.call is not None and any(_may_take_logits(arg) for arg in origin.call.args):
                names.add("")
            else:
                names.add(origin.name or origin.made_by or "")
        return names


def _may_take_logits(arg: cst.Arg) -> bool:
    """Whether an argument of a loss may make it take logits."""
    return bool(arg.star) or arg.keyword is None or arg.keyword.value == "from_logits"
