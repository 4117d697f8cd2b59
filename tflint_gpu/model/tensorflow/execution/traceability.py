"""Whether a function that runs eagerly may run under `tf.function` as it is, and what prevents it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeAlias

import libcst as cst

from tflint_gpu.bounds import TRACED_ARGUMENT_SITES
from tflint_gpu.model.library.classes import INPUT_SHAPES
from tflint_gpu.model.model import Analysis, Model
from tflint_gpu.model.python.execution.callers import RunSite, loops_around, runs_once, ways
from tflint_gpu.model.python.project.file import File
from tflint_gpu.model.python.project.functions import Function
from tflint_gpu.model.python.syntax.children import walk
from tflint_gpu.model.python.syntax.syntax import Expression, Node
from tflint_gpu.model.python.value_flow.call_sites import is_special
from tflint_gpu.model.python.value_flow.constants import UNKNOWN
from tflint_gpu.model.python.value_flow.origins import Origin, Part
from tflint_gpu.model.tensorflow.effects.array_arguments import ArrayArguments
from tflint_gpu.model.tensorflow.effects.blockers import Blocker
from tflint_gpu.model.tensorflow.effects.created_state import CreatedState
from tflint_gpu.model.tensorflow.effects.frozen_values import FrozenValues
from tflint_gpu.model.tensorflow.effects.graph_lists import GraphLists
from tflint_gpu.model.tensorflow.effects.host_effects import HostEffects
from tflint_gpu.model.tensorflow.effects.host_values import HostValues
from tflint_gpu.model.tensorflow.effects.kept_values import KeptValues
from tflint_gpu.model.tensorflow.effects.returned_values import ReturnedValues
from tflint_gpu.model.tensorflow.effects.side_effects import EffectKind, SideEffects
from tflint_gpu.model.tensorflow.effects.static_shapes import StaticShapes
from tflint_gpu.model.tensorflow.execution.object_keys import ObjectKeys
from tflint_gpu.model.tensorflow.loops.batches import LoopData
from tflint_gpu.model.tensorflow.loops.loop_numbers import LoopNumbers
from tflint_gpu.model.tensorflow.loops.python_arguments import PythonArguments
from tflint_gpu.model.tensorflow.loops.shape_changes import ShapeChanges
from tflint_gpu.model.tensorflow.tracing.traced_code import TracedCode, entry
from tflint_gpu.model.tensorflow.tracing.traces import TracedFunctions
from tflint_gpu.model.tensorflow.types.kinds import Kinds
from tflint_gpu.model.tensorflow.types.tensors import Carry

_RELAXED_SINCE = (2, 9)
_KEPT = frozenset(["model", "layer", "optimizer", "metric", "loss", "module", "variable", "tensor", "array"])
_COMPUTED = (cst.UnaryOperation, cst.BinaryOperation, cst.BooleanOperation)
_DERIVED = (*_COMPUTED, cst.Subscript, cst.Comparison)
_CONSTANTS = (cst.Integer, cst.Float, cst.SimpleString, cst.ConcatenatedString)
_MADE = (cst.List, cst.Tuple, cst.Dict, cst.Set, cst.ListComp, cst.DictComp, cst.SetComp, cst.GeneratorExp, cst.Call)
_EFFECTS: dict[EffectKind, str] = {
    "print": "`print` in the code would run only during tracing",
    "open": "`open` in the code would run only during tracing",
    "container": "the code changes `{target}`, which would happen only during tracing",
    "name": "the code writes `{target}`, which would happen only during tracing",
    "argument": "the code changes `{target}`, an argument, which raises during tracing",
    "metric": "the code keeps a tensor in `{target}`, which cannot be used outside",
}

Sites: TypeAlias = Sequence[tuple[File, cst.Call]]


def _is_top_level(file: File, node: Node) -> bool:
    kinds = (cst.For, cst.While, cst.FunctionDef, cst.Lambda, cst.ClassDef)
    return not any(isinstance(around, kinds) for around in (node, *file.tree.ancestors(node)))


class Traceability(Analysis):
    """Analysis of the functions of one file."""

    def __init__(self, model: Model) -> None:
        super().__init__(model)
        self.kinds = model.once(Kinds)
        self.data = model.once(LoopData)
        self.numbers = model.once(LoopNumbers)
        self.effects = model.once(HostEffects)
        self.execution = model.once(TracedFunctions)
        self.returned = model.once(ReturnedValues)
        self.kept = model.once(KeptValues)
        self.keys = model.once(ObjectKeys)
        self.arrays = model.once(ArrayArguments)
        self.shapes = model.once(ShapeChanges)
        self.python = model.once(PythonArguments)
        self.model = model
        self.converts = model.target.keras < 3  # Keras has AutoGraph convert what its layers do

    def blocker(self, function: Function) -> Blocker | None:
        """What keeps a function from being put under `tf.function` as it is; None where nothing does.

        First what can be named; then what is only not known.
        """
        no_key = next(self.keys.of_method(function), None)
        if no_key is not None or not self._may_be_decorated(function):
            doubt = "`{}` is not an ordinary function that is defined once"
            return no_key or Blocker(function.file, function.node, doubt=doubt)
        assumed = self.model.assuming(function)
        blockers = [*self._effects(assumed, function), *self._arguments(assumed, function)]
        if self.shapes.of_function(function):
            blockers += self.lengths_needed(function)
        named = [blocker for blocker in blockers if blocker.text]
        return next(iter([*named, *blockers]), None)

    def effect_of(
        self, function: Function, sites: Sites | None = None, *, is_run_once: bool = False, by_keras: bool = False
    ) -> Blocker | None:
        """What in a function, or in what it calls, would certainly be another thing if it were traced.

        Arguments:
            sites: the calls of the function, where they are not those of its name.
            is_run_once: the module is run from its beginning to one loop that calls the function: what its own
                statements give a new value outside of loops does not change there.
            by_keras: Keras calls the function and has it traced.
        """
        effects = self._effects(self.model.assuming(function), function, sites, by_keras=by_keras)
        return next((e for e in effects if e.text and not (is_run_once and self._is_set_in_between(e))), None)

    def retraced_for(self, function: Function) -> Blocker | None:
        """The argument for which a function is certainly traced again in each call."""
        arguments = self._arguments(self.model.assuming(function), function)
        return next((blocker for blocker in arguments if blocker.text), None)

    def options(self, function: Function) -> str:
        """What a decorator on a function gets."""
        return self.options_for(shapes_change=self.shapes.of_function(function))

    def options_for(self, *, shapes_change: bool) -> str:
        """What `tf.function` gets: where shapes change, it would trace each without that."""
        name = "reduce_retracing" if self.target.tensorflow >= _RELAXED_SINCE else "experimental_relax_shapes"
        return f"({name}=True)" if shapes_change else ""

    def lengths_needed(self, function: Function) -> Iterator[Blocker]:
        """What in a function needs lengths that are not known where one trace serves several shapes."""
        assumed = self.model.assuming(function)
        for file, node in assumed.once(StaticShapes).asked(assumed.once(TracedCode).reached_from({function.node})):
            text = f"the shape of what it is given changes, but `{_first_line(file, node)}` in the code needs one shape"
            yield Blocker(file, node, text)

    def _is_set_in_between(self, effect: Blocker) -> bool:
        """Whether only statements of the module, outside of loops, give a name its values: the cells of a notebook."""
        file, name = effect.file, effect.node
        bindings = file.tree.root.bindings.get(name.value, []) if isinstance(name, cst.Name) else []
        is_changed = isinstance(name, cst.Name) and name.value in file.changed
        return bool(bindings) and not is_changed and all(_is_top_level(file, binding.node) for binding in bindings)

    def _effects(
        self, assumed: Model, function: Function, sites: Sites | None = None, *, by_keras: bool = False
    ) -> Iterator[Blocker]:
        execution = assumed.once(TracedFunctions)
        yield from self._told(assumed, function)
        yield from self.effects.of(function, execution, by_keras=by_keras)
        called = self.inference.call_sites(function) if sites is None else sites
        yield from self.returned.of(execution.of(function), called)
        if not by_keras:
            yield from self.returned.lost(function.file, called, assumed.once(TracedCode).functions)
        yield from self.kept.of([function], sites or (), by_keras=by_keras)
        for file, call in called:
            for _, value in self.inference.definitions.passed(file, call, function):
                yield from self.keys.of_argument(file, value)

    def _may_be_decorated(self, function: Function) -> bool:
        """Whether it is a plain function or method that is made once, and not one that Keras or Python calls."""
        node, file = function.node, function.file
        if file is not self.file or not isinstance(node, cst.FunctionDef) or node.decorators or node.asynchronous:
            return False
        if node.name.value == "call" or is_special(node.name.value):
            return False
        if function.owner is not None:
            return not function.owner.node.decorators and file.tree.function(function.owner.node) is None
        return not any(any(site.loops()) for site in ways(self.inference, RunSite(file, node)))

    def _told(self, assumed: Model, function: Function) -> Iterator[Blocker]:
        """What would be wrong in it for sure."""
        entries = frozenset([function.node])
        own = [traced for traced in assumed.once(TracedCode).functions if entry(traced)[1] in entries]
        for effect in (item for group in assumed.once(SideEffects).of(own) for item in group):
            if effect.kind != "shape":
                text = _EFFECTS[effect.kind].format(target=effect.target)
                yield Blocker(effect.traced.file, effect.node, text)
        for created in (state for group in assumed.once(CreatedState).of(own) for state in group):
            file = created.traced.file
            yield Blocker(file, created.call, f"`{file.code(created.call.func)}` in the code creates {created.what}")
        for asked in assumed.once(HostValues).asked(converts=self.converts, functions=own):
            yield Blocker(asked.traced.file, asked.place, f"{asked.text} in the code needs the value of a tensor")
        for leak in assumed.once(GraphLists).leaks(own):
            yield Blocker(leak.traced.file, leak.append.func, "a list in the code gets tensors in a loop of the graph")
        for traced in assumed.once(TracedCode).reached_from(entries):
            for call in traced.function.calls:
                if assumed.once(FrozenValues).name_of(traced, call) is not None:
                    text = f"`{traced.file.code(call.func)}` in the code would be drawn once"
                    yield Blocker(traced.file, call.func, text)

    def _arguments(self, assumed: Model, function: Function) -> Iterator[Blocker]:
        """The arguments that are no tensors and may be others from call to call."""
        seeds = {
            parameter
            for trace in assumed.once(TracedFunctions).traces
            if trace.function.node is function.node and not trace.path
            for parameter in trace.tensors.seeds
        }
        sites = self.inference.call_sites(function)
        if not sites or len(sites) > TRACED_ARGUMENT_SITES.limit:
            yield Blocker(function.file, function.node, doubt="the calls of `{}` are not all known")
        yield from self._shared_by_several(function, sites)
        for file, call in self.inference.first(TRACED_ARGUMENT_SITES, sites):
            if any(arg.star for arg in call.args):
                yield Blocker(file, call, doubt="the arguments that `*` passes to `{}` are not known")
            for parameter, value in self.inference.definitions.passed(file, call, function):
                for part in self.inference.parts(file, value):
                    is_tensor = parameter in seeds and part.expr is value
                    yield from self._argument(function, parameter, call, part, is_tensor=is_tensor)
                if self.python.is_new(file, value):
                    text = (
                        f"`{file.code(value)}` is a different Python value in each call, so each call would be traced"
                    )
                    yield Blocker(file, value, text)

    def _argument(
        self, function: Function, parameter: cst.Param, call: cst.Call, part: Part, *, is_tensor: bool
    ) -> Iterator[Blocker]:
        """What of an argument, or of a value in it, would be traced again, or meet others with its own dtype."""
        file, value = part.file, part.expr
        number = self.numbers.of(file, value)
        if number is not None and number.changed_by:
            text = f"`{file.code(value)}` is a Python number that a loop changes, so each value would be traced"
            yield Blocker(file, value, text)
        elif self._keeps_dtype(function, parameter, file, value):
            yield Blocker(file, value, doubt="`{}` may be an array, which keeps its own dtype in a graph")
        elif is_tensor or self._is_tensor(part):
            return
        elif not (self._stays(file, call, value) or self._is_data(file, call, value)) or (
            function.owner is None and any(map(self._is_renewed, self.inference.of(file, value)))
        ):
            yield Blocker(file, value, doubt="`{}` may be a different Python value or model in a later call")

    def _is_tensor(self, part: Part) -> bool:
        """Whether a traced function gets a value as a tensor."""
        is_tensor = self.execution.handed.of(part.file, part.expr, part.context) is Carry.TENSOR
        return is_tensor or self.arrays.is_array(part.file, part.expr, part.context)

    def _shared_by_several(self, function: Function, sites: Sites) -> Iterator[Blocker]:
        """The parameters that get several models or optimizers, which create variables when they are first used."""
        unbuilt: dict[cst.Param, set[Node]] = {}
        for file, call in sites:
            for parameter, value in self.inference.definitions.passed(file, call, function):
                made = {origin.node for origin in self.inference.of(file, value) if self.creates_variables(origin)}
                unbuilt.setdefault(parameter, set()).update(made)
                if len(unbuilt[parameter]) > 1:
                    name = parameter.name.value
                    text = (
                        f"the code gets several objects as `{name}`, but a `tf.function` can create variables only for "
                        "the first one"
                    )
                    yield Blocker(file, value, text)

    def creates_variables(self, origin: Origin) -> bool:
        """Whether a value may get its variables when it is first used: an optimizer, or a model that is not built."""
        if self._is_built(origin):
            return False
        if self.inference.instance_class(origin) is not None:
            return True
        call, made_by = origin.call, (origin.made_by or "").rpartition(".")[2]
        if call is None or made_by != "Sequential":
            return call is not None and self.kinds.of(origin) in ("optimizer", "layer")
        return not any(text in origin.file.code(call) for text in ("Input(", *INPUT_SHAPES))

    def _is_built(self, origin: Origin) -> bool:
        """Whether a program calls `build` of a value."""
        return any(
            built.node is origin.node
            for file in dict.fromkeys((self.file, origin.file))
            for call in file.method_calls("build")
            if isinstance(call.func, cst.Attribute)
            for built in self.inference.of(file, call.func.value)
        )

    def _keeps_dtype(self, function: Function, parameter: cst.Param, file: File, value: Expression) -> bool:
        """Whether an argument may be an array that meets tensors with its own dtype in the function."""
        if not self.arrays.may_be_array(file, value):
            return False
        return not (self.arrays.is_single(file, value) or self.arrays.is_cast(function, parameter))

    def _stays(self, file: File, call: cst.Call, value: Expression) -> bool:
        """Whether an argument is the same in all calls."""
        if isinstance(value, _COMPUTED):
            return self.constants.of(file, value) is not UNKNOWN
        if isinstance(value, _CONSTANTS) or (isinstance(value, cst.Name) and value.value in ("True", "False", "None")):
            return True
        origins = self.inference.of(file, value)
        kinds = [self.kinds.of(origin) for origin in origins]
        if not isinstance(value, cst.Name | cst.Attribute) or not origins:
            return False
        if any(kind is not None and kind not in _KEPT for kind in kinds):
            return False
        if any(kind is None and self._is_made_again(o) for kind, o in zip(kinds, origins, strict=True)):
            return False
        root: Node = value
        while isinstance(root, cst.Attribute):
            root = root.value
        loops = list(loops_around(file, call))
        bindings = file.flow.lookup(root.value, root) if isinstance(root, cst.Name) else []
        if not bindings or any(file.tree.within(b.node, loop) for b in bindings for loop in loops):
            return False
        if any(binding.kind == "parameter" for binding in bindings):
            return len({origin.node for origin in origins}) == 1 and (None not in kinds or _is_self(file, value, call))
        return len({origin.node for origin in origins}) == 1 or None not in kinds

    def _is_made_again(self, origin: Origin) -> bool:
        """Whether a list, a part or the like is made in code that may run again, or of what is not known."""
        file, node = origin.file, origin.node
        if origin.access_path:
            return False
        if isinstance(node, _DERIVED):
            if self.constants.of(file, node, origin.context) is not UNKNOWN:
                return False
            names = (name for name in walk(node) if isinstance(name, cst.Name))
            if any(made.is_open for name in names for made in self.inference.of(file, name, origin.context)):
                return True
        elif not isinstance(node, _MADE):
            return False
        return not runs_once(self.inference, RunSite(file, node))

    def _is_renewed(self, origin: Origin) -> bool:
        """Whether a program may make several of what gets variables in a traced function, which takes those of one."""
        is_stateful = self.kinds.of(origin) in ("model", "layer", "optimizer", "module")
        is_stateful = is_stateful or self.inference.instance_class(origin) is not None
        return is_stateful and not runs_once(self.inference, RunSite(origin.file, origin.node))

    def _is_data(self, file: File, call: cst.Call, value: Expression) -> bool:
        """Whether an argument is what a loop gets from a dataset."""
        of_loops = (self.data.batches(file, loop) for loop in loops_around(file, call))
        return any(
            batches is not None and batches.is_certain and not batches.sources and self.data.holds(file, batches, value)
            for batches in of_loops
        )


def _first_line(file: File, node: Node) -> str:
    return file.code(node).split("\n", 1)[0]


def _is_self(file: File, value: Expression, call: cst.Call) -> bool:
    """Whether a value is the object whose method makes a call, or an attribute of it."""
    method = next((node for node in file.tree.ancestors(call) if isinstance(node, cst.FunctionDef)), None)
    while isinstance(value, cst.Attribute):
        value = value.value
    if method is None or file.tree.class_of(method) is None or not method.params.params:
        return False
    return isinstance(value, cst.Name) and value.value == method.params.params[0].name.value
