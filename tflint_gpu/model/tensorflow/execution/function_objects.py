"""`tf.function` objects that live no longer than one iteration of a loop: each is traced again."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cached_property
from typing import Literal, TypeAlias, TypeGuard

import libcst as cst

from tflint_gpu.lazy_dataclasses import dataclass
from tflint_gpu.lazy_patterns import regex
from tflint_gpu.model.model import Analysis, Once
from tflint_gpu.model.python.execution.callers import RunSite, callers, loops_around
from tflint_gpu.model.python.execution.walks import Frame
from tflint_gpu.model.python.project.file import File
from tflint_gpu.model.python.project.functions import Function
from tflint_gpu.model.python.syntax.children import names_in, walk
from tflint_gpu.model.python.syntax.scopes import Binding
from tflint_gpu.model.python.syntax.syntax import (
    Expression,
    FunctionNode,
    LoopNode,
    Node,
    dotted_name,
    iterable,
)
from tflint_gpu.model.python.value_flow.origins import Origin
from tflint_gpu.model.tensorflow.loops.batches import LoopData
from tflint_gpu.model.tensorflow.loops.loop_flow import is_occasional
from tflint_gpu.model.tensorflow.tracing.tracing import Tracing
from tflint_gpu.model.tensorflow.types.kinds import Kinds

_SETS_UP = regex(r"device|gpu|tpu|host|replica|worker|core|strateg|tower", re.IGNORECASE)
_CLEARING = frozenset(["keras.backend.clear_session", "keras.utils.clear_session"])
_HARMLESS = frozenset(["tensor", "array"])

Fate: TypeAlias = Literal["dies", "returned", "kept"]


@dataclass(frozen=True, slots=True)
class ShortLived:
    """A `tf.function` that a loop makes in every iteration and drops with it.

    Arguments:
        node: the decorator or the call that makes it. loop: in `loop_file`. path: the calls between them.
    """

    file: File
    node: Node
    loop_file: File
    loop: LoopNode
    path: tuple[Frame, ...] = ()


class FunctionObjects(Analysis):
    """Analysis of the `tf.function` objects that one file makes, or has made by functions that its loops call."""

    kinds = Once(Kinds)
    tracing = Once(Tracing)
    data = Once(LoopData)

    @cached_property
    def short_lived(self) -> list[ShortLived]:
        """The objects that some loop makes in every iteration."""
        return list(self._short_lived())

    def _short_lived(self) -> Iterator[ShortLived]:
        seen: set[Node] = set()
        for file in self.inference.seen.using("tf.function", self.file) if self.file.tree.loops else (self.file,):
            for node, name, traced in self._made(file):
                loop = next(loops_around(file, node), None)
                if loop is not None and file is not self.file:
                    continue  # found when that file is checked
                place: Node | None = loop if loop is not None else file.tree.function(node)
                if place is None or node in seen:
                    continue
                fate = self._fate(file, place, node, name)
                if fate == "kept":
                    continue
                around = self._loops_around(file, node, loop, fate)
                near = next((pair for pair in around if self.file in (pair[0], file)), None)
                if near is None or self._is_meant(file, place, node) or self._holds_state_of(file, place, traced):
                    continue
                seen.add(node)
                yield ShortLived(file, node, *near)

    def _made(self, file: File) -> Iterator[tuple[Node, str | None, Node]]:
        """Decorators and calls that make such an object, the name that it gets, and what it traces."""
        for function, decorator in self.tracing.decorations(file):
            if file.tree.class_of(function) is None:
                yield decorator, function.name.value, function.body
        for call, target in self.tracing.given(file):
            parent = file.tree.parents[call]
            if isinstance(parent, cst.Return) or (isinstance(parent, cst.Call) and parent.func is call):
                yield call, None, target
            elif isinstance(parent, cst.Assign) and isinstance(parent.targets[0].target, cst.Name):
                yield call, parent.targets[0].target.value, target

    def _fate(self, file: File, place: Node, node: Node, name: str | None) -> Fate:
        """Whether only calls in the iteration use the object, or its function hands it to its callers as well."""
        is_function = isinstance(place, cst.FunctionDef | cst.Lambda)
        if name is None:
            is_returned = isinstance(file.tree.parents[node], cst.Return)
            return "dies" if not is_returned else "returned" if is_function else "kept"
        function = place if is_function else file.tree.function(place)
        fate: Fate = "dies"
        for use in file.tree.uses.get(name, ()):
            parent = file.tree.parents[use]
            if isinstance(parent, cst.AssignTarget | cst.FunctionDef):
                continue
            is_here = file.tree.within(use, place)
            inner = file.tree.function(use)
            if inner is not function:
                if not is_here:
                    continue
                if not self._only_calls(inner, file, use, node):
                    return "kept"  # another function may carry it away
                held = self._fate(file, place, inner, inner.name.value)
                if held == "kept":
                    return "kept"
                fate = held if fate == "dies" else fate
            elif is_here and is_function and isinstance(parent, cst.Return):
                fate = "returned"
            elif not (is_here and isinstance(parent, cst.Call) and parent.func is use):
                return "kept"
        return fate

    def _only_calls(self, inner: FunctionNode | None, file: File, use: Node, made: Node) -> TypeGuard[cst.FunctionDef]:
        """Whether a later function next to the object only calls it: the two live equally long."""
        tree = file.tree
        if not isinstance(inner, cst.FunctionDef) or tree.class_of(inner) is not None:
            return False
        if tree.function(inner) is not tree.function(made) or tree.order[inner] < tree.order[made]:
            return False
        call = tree.parents[use]
        if isinstance(call, cst.Arg):
            call = tree.parents[call]
            is_called = isinstance(call, cst.Call) and self.inference.handing(file, call) is not None
        else:
            is_called = isinstance(call, cst.Call) and call.func is use
        return is_called and all(self.tracing.is_tf_function(file, d.decorator) for d in inner.decorators)

    def _fate_of_result(self, file: File, place: Node, call: cst.Call) -> Fate:
        """The same of what a call hands back."""
        parent = file.tree.parents[call]
        if isinstance(parent, cst.Return) or (isinstance(parent, cst.Call) and parent.func is call):
            return self._fate(file, place, call, None)
        if isinstance(parent, cst.Assign) and len(parent.targets) == 1:
            target = parent.targets[0].target
            return self._fate(file, place, call, target.value) if isinstance(target, cst.Name) else "kept"
        return "kept"

    def _is_meant(self, file: File, place: Node, node: Node) -> bool:
        """Whether it is made in some iterations only, in few, for each device, or by a loop that is traced itself."""
        is_loop = not isinstance(place, cst.FunctionDef | cst.Lambda)  # of a function its callers are asked
        if is_loop and self.tracing.is_traced(file, file.tree.function(place)):
            return True
        made = next((p for p in file.tree.ancestors(node) if isinstance(p, cst.FunctionDef)), None)
        start = made if isinstance(node, cst.Decorator) and made is not None else node
        for parent in file.tree.ancestors(start):
            if parent is place:
                return False
            if isinstance(parent, cst.If) and self._changes(file, parent.test, place):
                return True
        return False

    def _changes(self, file: File, test: Expression, place: Node) -> bool:
        """Whether a condition may differ in the next iteration: it counts, or tests what is there."""
        for node in walk(test):
            if isinstance(node, cst.BinaryOperation | cst.UnaryOperation):
                return True
            if isinstance(node, cst.ComparisonTarget) and isinstance(node.operator, cst.Is | cst.In | cst.NotIn):
                return True
            if isinstance(node, cst.Name) and any(
                binding.kind != "parameter" and file.tree.within(binding.node, place)
                for binding in file.flow.lookup(node.value, node)
            ):
                return True
        return False

    def _holds_state_of(self, file: File, place: Node, traced: Node) -> bool:
        """Whether what is traced uses a model, an optimizer or the like that is made in the same iteration."""
        bodies = [traced]
        if isinstance(traced, cst.Name):
            bodies += [c.function.node.body for c in self.inference.callables(file, traced) if c.function.file is file]
        for body in bodies:
            for node in walk(body):
                if isinstance(node, cst.Name) and any(
                    self._is_state(file, binding, node)
                    for binding in file.flow.lookup(node.value, node)
                    if file.tree.within(binding.node, place) and not file.tree.within(binding.node, body)
                ):
                    return True
        return False

    def _is_state(self, file: File, binding: Binding, use: cst.Name) -> bool:
        if binding.kind in ("parameter", "import", "function", "class"):
            return False
        parent = file.tree.parents[use]
        is_called = isinstance(parent, cst.Call) and parent.func is use
        is_asked = isinstance(parent, cst.Attribute)
        for origin in self.inference.of(file, use):
            kind = self.kinds.of(origin)
            if kind is not None:
                if kind not in _HARMLESS:
                    return True
            elif (is_called or is_asked) and not (origin.made_by or "").startswith("tf."):
                return True
        return False

    def _loops_around(
        self, file: File, node: Node, loop: LoopNode | None, fate: Fate
    ) -> Iterator[tuple[File, LoopNode, tuple[Frame, ...]]]:
        """The loops whose iterations make the object: the one that holds it, or those that call its function."""
        if loop is not None:
            if self._goes_on(file, loop):
                yield file, loop, ()
            return
        yield from self._callers(RunSite(file, node), fate)

    def _callers(self, made: RunSite, fate: Fate) -> Iterator[tuple[File, LoopNode, tuple[Frame, ...]]]:
        """The loops that call a function which makes the object, and drop what it hands back."""
        maker = made.function
        if maker is None:
            return
        for file, loop, path in self._calling_loops(made, maker, fate):
            # asked last: it follows all that traced code calls
            if not self.tracing.is_traced(made.file, maker) or self._runs_eagerly(file, loop, path):
                yield file, loop, path

    def _runs_eagerly(self, file: File, loop: LoopNode, path: tuple[Frame, ...]) -> bool:
        """Whether an eager loop itself calls what traced code calls, too."""
        if self.tracing.is_traced(file, file.tree.function(loop)):
            return False
        called = [
            self.inference.callees(frame.file, frame.node) if isinstance(frame.node, cst.Call) else () for frame in path
        ]
        return all(callees for callees in called) and not any(
            self.tracing.is_wrapped(callee.function.file, callee.function.node)
            for callees in called
            for callee in callees
        )

    def _calling_loops(
        self, made: RunSite, maker: FunctionNode, fate: Fate
    ) -> Iterator[tuple[File, LoopNode, tuple[Frame, ...]]]:
        definitions = self.inference.definitions
        if definitions.decorators.keep_results(made.file, maker):
            return
        function = definitions.function(made.file, maker)
        for site in callers(self.inference, made):
            call = site.node
            assert isinstance(call, cst.Call)
            loop = next(site.loops(), None)
            place: Node | None = loop if loop is not None else site.function
            if place is None or self._passes_state_of(site.file, place, call):
                continue
            there = self._fate_of_result(site.file, place, call) if fate == "returned" else fate
            if fate == "returned" and (
                self._is_meant(site.file, place, call) or self._is_renewed(function, site.file, place)
            ):
                continue
            if loop is not None:
                if there == "dies" and self._goes_on(site.file, loop) and not is_occasional(site.file, call, loop):
                    yield site.file, loop, site.path
            elif there != "kept":
                yield from self._callers(site, there)

    def _passes_state_of(self, file: File, place: Node, call: cst.Call) -> bool:
        """Whether the call is given a model or the like that is made in the same iteration, or is a method of one."""
        given = [arg.value for arg in call.args]
        if isinstance(call.func, cst.Attribute):
            given.append(call.func.value)
        return any(
            isinstance(node, cst.Name)
            and any(
                binding.kind != "parameter"
                and file.tree.within(binding.node, place)
                and self._may_be_state(file, node)
                and not self.data.pipelines.is_dataset(file, node)  # a loop reads it, and hands on its elements
                for binding in file.flow.lookup(node.value, node)
            )
            for value in given
            for node in walk(value)
        )

    def _is_renewed(self, factory: Function, file: File, place: Node) -> bool:
        """Whether an iteration sets something else that a factory uses: each may need an object of its own."""
        used = names_in(factory.node.body) - {"self"}
        attributes = {node.attr.value for node in walk(factory.node.body) if isinstance(node, cst.Attribute)}
        if factory.file is file and any(
            isinstance(node, cst.Name)
            and any(
                file.tree.within(binding.node, place) and not file.tree.within(binding.node, factory.node)
                for binding in file.flow.lookup(node.value, node)
            )
            and self._may_be_state(file, node)
            for node in walk(factory.node.body)
        ):
            return True
        calls = file.calls_below.get(place, ())
        called = [c.function for call in calls for c in self.inference.callees(file, call)]
        for where, region in [
            (file, place),
            *((call_site.file, call_site.node) for call_site in called if call_site != factory),
        ]:
            for assignment in where.tree.attributes_set_in(region):
                path = (dotted_name(assignment.target) or "").split(".")
                if path[0] in used or attributes.intersection(path[1:]):
                    return True
            for declaration in where.tree.nodes_in(cst.Global, region):
                if used.intersection(item.name.value for item in declaration.names):
                    return True
        return any(file.name(call.func) in _CLEARING for call in calls)

    def _may_be_state(self, file: File, name: cst.Name) -> bool:
        return any(self._is_no_data(origin) for origin in self.inference.of(file, name))

    def _is_no_data(self, origin: Origin) -> bool:
        kind = self.kinds.of(origin)
        if kind is not None:
            return kind not in _HARMLESS
        is_element = bool(origin.access_path)
        is_number = isinstance(origin.node, cst.Integer | cst.Float | cst.BinaryOperation | cst.SimpleString)
        return not (is_element or is_number)

    def _goes_on(self, file: File, loop: LoopNode) -> bool:
        """Whether a loop makes many iterations, sets up no devices, and does not freeze layers again and again."""
        if self.data.is_short(file, loop) or self._sets_trainable(file, loop):
            return False
        data = iterable(loop)
        return data is None or not any(_SETS_UP.search(name) for name in _names(data))

    def _sets_trainable(self, file: File, loop: LoopNode) -> bool:
        """Whether iterations set `trainable`, and not only one of them: traces keep what they saw."""
        return not all(is_once for is_once in self._thaws(file, loop))

    def thaws(self, made: ShortLived) -> bool:
        """Whether an iteration of the loop sets `trainable`: what is made before keeps the variables that it saw."""
        return any(True for _ in self._thaws(made.loop_file, made.loop))

    def _thaws(self, file: File, loop: LoopNode) -> Iterator[bool]:
        """For what sets `trainable` in a loop, or in a function that it calls, whether it thaws only under a test."""
        calls = file.calls_below.get(loop, ())
        called = [(call, c.function) for call in calls for c in self.inference.callees(file, call)]
        for where, region, place in [(file, loop, None), *((f.file, f.node, call) for call, f in called)]:
            for assignment in where.tree.attributes_set_in(region):
                target = assignment.target
                if target.attr.value == "trainable":
                    is_tested = self._is_tested(file, loop, target if place is None else place)
                    yield is_tested and self.constants.of(where, assignment.value) is True

    def _is_tested(self, file: File, loop: LoopNode, node: Node) -> bool:
        """Whether a test in a loop decides if a place of its iterations is reached."""
        above = file.tree.ancestors(node)
        return any(isinstance(parent, cst.If) and file.tree.within(parent, loop) for parent in above)


def _names(expr: Expression) -> Iterator[str]:
    for node in walk(expr):
        if isinstance(node, cst.Name):
            yield node.value
        elif isinstance(node, cst.Attribute):
            yield node.attr.value
