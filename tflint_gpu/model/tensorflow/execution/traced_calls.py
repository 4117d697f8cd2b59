"""Model calls that may be made in a function under `tf.function`, and that function."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import chain

import libcst as cst

from tflint_gpu.model.model import Analysis, Once
from tflint_gpu.model.python.execution.callers import RunSite, loops_around, runs_once
from tflint_gpu.model.python.project.file import File
from tflint_gpu.model.python.project.functions import Function
from tflint_gpu.model.python.refactoring.outlines import NotMovable
from tflint_gpu.model.python.refactoring.traced_calls import CallOutline, CallOutlines
from tflint_gpu.model.python.syntax.children import walk
from tflint_gpu.model.python.syntax.syntax import Expression, Node, argument
from tflint_gpu.model.python.value_flow.origins import Origin
from tflint_gpu.model.tensorflow.effects.blockers import Blocker
from tflint_gpu.model.tensorflow.effects.python_on_tensors import training_tensor
from tflint_gpu.model.tensorflow.execution.forward_passes import called_model
from tflint_gpu.model.tensorflow.execution.invocations import Invocations
from tflint_gpu.model.tensorflow.execution.traceability import Traceability
from tflint_gpu.model.tensorflow.loops.python_arguments import PythonArguments
from tflint_gpu.model.tensorflow.loops.shape_changes import ShapeChanges
from tflint_gpu.model.tensorflow.tracing.traced_code import TracedCode
from tflint_gpu.model.tensorflow.types.annotations import declared_classes
from tflint_gpu.model.values.value import TensorValue
from tflint_gpu.model.values.values import Values

_CALLABLES = frozenset(["typing.Callable", "collections.abc.Callable"])


class TracedCalls(Analysis):
    """Analysis of calls of a file."""

    arguments = Once(PythonArguments)
    shapes = Once(ShapeChanges)
    values = Once(Values)
    invocations = Once(Invocations)
    traceability = Once(Traceability)
    traced = Once(TracedCode)

    def outlines(self, file: File, calls: Iterable[cst.Call]) -> list[CallOutline | Blocker]:
        """The functions that make some calls of models, or why there is none; calls may have one in common.

        There is none where tracing may change what a call gives, or gain nothing.
        """
        made, users = CallOutlines(file), dict[str, list[cst.Call]]()
        ordered = sorted(calls, key=lambda call: file.tree.order[call])
        return [self._blocker(file, call) or self._outline(file, call, made, users) for call in ordered]

    def _blocker(self, file: File, call: cst.Call) -> Blocker | None:
        """What would be otherwise if a call were made in a graph."""
        called = called_model(call)
        text = file.code(called)
        if not call.args:
            return Blocker(file, call, f"`{text}` gets no argument here")
        for arg in call.args:
            if self._is_numpy_integer(file, arg.value):
                number = f"`{file.code(arg.value)}` is a NumPy integer, which a traced function gets as a tensor"
                return Blocker(file, arg, number)
            if self.arguments.is_new(file, arg.value):
                new = f"`{file.code(arg)}` is a different Python value in each call, so each call would be traced"
                return Blocker(file, arg, new)
        decided = argument(call, -1, "training")
        if decided is not None and self.target.keras >= 3 and self._is_handed_as_tensor(file, decided):
            return training_tensor(file, call, decided)
        origins = self.inference.of(file, called)
        unbuilt = self._unbuilt(origins)
        are_made_once = all(runs_once(self.inference, RunSite(o.file, o.node)) for o in unbuilt.values())
        if len(unbuilt) > 1 or not are_made_once or any(True for _ in self._given_by_importers(file, called, origins)):
            text = f"`{text}` may be several models, but a `tf.function` can create variables only for the first one"
            return Blocker(file, called, text)
        if unbuilt and (decides := self._changing_number(file, call)) is not None:
            later = (
                f"`{file.code(decides)}` may lead to layers that get their variables later than the first trace allows"
            )
            return Blocker(file, decides, later)
        if any(map(_is_any_callable, origins)):
            return Blocker(file, called, f"`{text}` may be any function, including one that cannot be traced")
        needed = self._needed_lengths(file, call, origins) if self.shapes.of_call(file, call) else None
        if needed is not None:
            return needed
        if (change := self._changed_layers(file, call, origins)) is not None:
            return change
        sites = [(file, call)]
        kept = next(self.traceability.kept.of_calls(sites), None)
        if kept is not None:
            return kept
        effects = (self.traceability.effect_of(method, sites) for method in self._forward_of(origins))
        if (effect := next((effect for effect in effects if effect is not None), None)) is not None:
            return effect
        if (lost := next(self.traceability.returned.lost(file, sites, self.traced.functions), None)) is not None:
            return lost
        if any(self.traceability.returned.of_call(file, call, origin) for origin in origins):
            return Blocker(file, called, f"`{text}` returns a distribution, which its caller would get as a tensor")
        return None

    def _is_numpy_integer(self, file: File, value: Expression) -> bool:
        """Whether a value is one integer out of an array: what takes an element by it needs its value."""
        known = self.values.of(file, value)
        if not isinstance(known, TensorValue) or known.kind != "array" or known.shape != ():
            return False
        return known.dtype.startswith(("int", "uint"))

    def _changing_number(self, file: File, call: cst.Call) -> Expression | None:
        """An argument that is a Python number or text of the loop's: each value is traced, and may run other layers."""
        loops = loops_around(file, call)
        for arg in call.args:
            known = self.values.of(file, arg.value)
            if not isinstance(known, TensorValue) or not known.is_number:
                continue
            names = [node for node in (arg.value, *walk(arg.value)) if isinstance(node, cst.Name)]
            bound = (b.node for name in names for b in file.flow.lookup(name.value, name))
            if any(file.tree.within(node, loop) for node in bound for loop in loops):
                return arg.value
        return None

    def _is_handed_as_tensor(self, file: File, value: Expression) -> bool:
        """Whether a traced function gets a value as a tensor: a tensor, an array, or an element of one."""
        known = self.values.of(file, value)
        is_tensor = isinstance(known, TensorValue) and not known.is_number
        return is_tensor or self.traceability.arrays.may_be_array(file, value)

    def _changed_layers(self, file: File, call: cst.Call, models: Iterable[Origin]) -> Blocker | None:
        """What gives a model of layers another one, or takes one away, between its calls: a trace keeps its layers."""
        within, order, made = file.tree.within, file.tree.order, {origin.node for origin in models}
        for change in file.method_calls("add", "pop"):
            assert isinstance(change.func, cst.Attribute)
            if file.tree.function(change) is not file.tree.function(call):
                continue
            loops = [loop for loop in loops_around(file, call) if within(change, loop)]
            owners = {origin.node for origin in self.inference.of(file, change.func.value)} & made
            is_later = order[change] > order[call]
            if any(is_later or not all(within(owner, loop) for loop in loops) for owner in owners):
                return Blocker(file, change.func, f"`{file.code(change.func)}` changes the layers between its calls")
        return None

    def _unbuilt(self, origins: Iterable[Origin]) -> dict[Node, Origin]:
        """The models that may get their variables in their first call."""
        return {origin.node: origin for origin in origins if self.traceability.creates_variables(origin)}

    def _outline(
        self, file: File, call: cst.Call, made: CallOutlines, users: dict[str, list[cst.Call]]
    ) -> CallOutline | Blocker:
        """The function that makes one of the calls.

        Arguments:
            made: those of the calls above it.
            users: the calls above it that each of these makes.
        """
        called = called_model(call)
        own = call.func.attr.value if called is not call.func and isinstance(call.func, cst.Attribute) else ""

        def may_share(name: str) -> bool:
            return self._may_share(file, call, users.get(name, ()), name)

        options = self.traceability.options_for(shapes_change=self.shapes.of_call(file, call))
        try:
            outline = made.outline(call, called, options, own, may_share)
        except NotMovable as error:
            return Blocker(file, call, str(error))
        users.setdefault(outline.name, []).append(call)
        return outline

    def options(self, file: File, call: cst.Call) -> str | None:
        """What `tf.function` gets around a call of a model; None where no trace can serve all shapes of its inputs."""
        shapes_change = self.shapes.of_call(file, call)
        if shapes_change and self._needed_lengths(file, call, self.inference.of(file, called_model(call))) is not None:
            return None
        return self.traceability.options_for(shapes_change=shapes_change)

    def _needed_lengths(self, file: File, call: cst.Call, origins: Iterable[Origin]) -> Blocker | None:
        """What in the models that are called needs lengths that a trace for several shapes does not know."""
        methods = self._forward_of(origins)
        return next((needed for method in methods for needed in self.traceability.lengths_needed(method)), None)

    def _given_by_importers(self, file: File, called: Expression, origins: Iterable[Origin]) -> Iterator[Origin]:
        """What files that import this one give as a model, in places that may run again, with no variables yet."""
        names = {name for origin in origins if (name := _function_of_parameter(origin))} if file is self.file else ()
        if not names:
            return
        calling = re.compile(rf"\b(?:{'|'.join(map(re.escape, names))})\(".encode())
        for model in self.importers(file, calling):
            for origin in model.inference.of(file, called):
                if model.once(Traceability).creates_variables(origin) and not runs_once(
                    model.inference, RunSite(origin.file, origin.node)
                ):
                    yield origin

    def _forward_of(self, models: Iterable[Origin]) -> list[Function]:
        """What of the project's code runs when some models are called."""
        classes = [cls for origin in models if (cls := self.inference.instance_class(origin)) is not None]
        return [method for cls in classes if (method := self.invocations.forward_of(cls)) is not None]

    def _may_share(self, file: File, call: cst.Call, users: Iterable[cst.Call], name: str) -> bool:
        """Whether a function that other calls use can make one more: it keeps what it reads from the first of all.

        Arguments:
            users: calls of models that the function makes besides those that the file hands to it by its name.
        """
        handed = [
            (other, other.args[0].value)
            for other in file.calls_ending_with(name)
            if isinstance(other.func, cst.Name) and other.args
        ]
        models = self.inference.of(file, called_model(call))
        unbuilt, nodes = {*self._unbuilt(models)}, {origin.node for origin in models}
        sites = [(file, call)]
        for other, model in (*handed, *((user, called_model(user)) for user in users)):
            origins = self.inference.of(file, model)
            if {*self._unbuilt(origins)} != unbuilt:
                return False
            if not nodes.isdisjoint(origin.node for origin in origins):
                sites.append((file, other))
        if len(sites) == 1:
            return True
        kept, methods = self.traceability.kept, self._forward_of(models)
        changes = chain(kept.of_calls(sites), kept.of(methods, sites) if methods else ())
        return next(changes, None) is None


def _is_any_callable(origin: Origin) -> bool:
    """Whether a value is a parameter that takes functions, too, which may do what no graph can."""
    node, file = origin.node, origin.file
    declared = declared_classes(file, node) if isinstance(node, cst.Param) else ()
    return any(file.name(c.value if isinstance(c, cst.Subscript) else c) in _CALLABLES for c in declared)


def _function_of_parameter(origin: Origin) -> str:
    """The name by which the function is called of which a value is a parameter; empty for other values."""
    if not isinstance(origin.node, cst.Param):
        return ""
    parents = origin.file.tree.ancestors(origin.node)
    function = next((node for node in parents if isinstance(node, cst.FunctionDef | cst.Lambda)), None)
    if not isinstance(function, cst.FunctionDef):
        return ""
    owner = origin.file.tree.class_of(function) if function.name.value == "__init__" else None
    return (owner or function).name.value
