"""Models that a loop builds and fits in every iteration, and drops at its end."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from tflint_gpu.bounds import BUILDER_CALLS
from tflint_gpu.lazy_dataclasses import dataclass
from tflint_gpu.model import (
    FEW,
    Analysis,
    Binding,
    Expression,
    File,
    Frame,
    Invocation,
    Kinds,
    LoopData,
    LoopNode,
    Node,
    Once,
    Origin,
    Repetitions,
    argument,
    iterable,
    loops_around,
    method_name,
    names_in,
    walk,
)

_FOLDS = 5  # what scikit-learn makes if nothing else is said
_KEEPING = frozenset("append extend insert add setdefault update put appendleft".split())
_DISPLAYS = (cst.Arg, cst.Element, cst.DictElement, cst.Tuple, cst.List, cst.Dict)


@dataclass(frozen=True, slots=True)
class FittedModel:
    """A `fit` of a model that is new in each iteration of a loop.

    Arguments:
        made: the statement in which the iteration gets it. loop: in `loop_file`.
    """

    repeated: Invocation
    loop_file: File
    loop: LoopNode
    made_file: File
    made: Node


class FittedModels(Analysis):
    """The loops that are seen from one file."""

    kinds = Once(Kinds)
    data = Once(LoopData)
    repetitions = Once(Repetitions)

    def dropped(self) -> Iterator[FittedModel]:
        """The fits of models that each iteration of a loop builds, where nothing keeps the models."""
        for invocation in self.repetitions.of_methods("fit", few=FEW):
            if not isinstance(invocation.call.func, cst.Attribute):
                continue
            receiver = invocation.call.func.value
            dropped = self._made(invocation, invocation.file, receiver, invocation.path)
            if dropped is None:
                continue
            loop, made_file, made, name = dropped
            if self._has_few_folds(invocation.root_file, loop) or self._goes_over_layers(invocation.root_file, loop):
                continue
            if self._is_built(invocation, receiver, made, made_file) and not self._is_kept(
                made_file, made, name, invocation
            ):
                yield FittedModel(invocation, invocation.root_file, loop, made_file, made.node)

    def _made(
        self, invocation: Invocation, file: File, expr: Expression, path: tuple[Frame, ...]
    ) -> tuple[LoopNode, File, Binding, str] | None:
        """The loop whose iterations make what a name holds, and where they do; `path` leads from it to the name."""
        if isinstance(expr, cst.Attribute) and path:  # `self.model` of an object that the iteration makes
            call = path[-1].node
            is_own = self.inference.definitions.self_class(file, expr.value) is not None
            if is_own and isinstance(call, cst.Call) and isinstance(call.func, cst.Attribute):
                return self._made(invocation, path[-1].file, call.func.value, path[:-1])
            return None
        if not isinstance(expr, cst.Name):
            return None
        bindings = file.flow.lookup(expr.value, expr)
        if len(bindings) != 1 or file.tree.function(bindings[0].node) is not file.tree.function(expr):
            return self._handed_over(invocation, file, expr, bindings, path)
        binding = bindings[0]
        if binding.kind != "assign" or not isinstance(binding.value, cst.Call) or _is_conditional(file, binding.node):
            return None
        loop = invocation.loop if path else self._loop_with(file, expr, binding)
        return (loop, file, binding, expr.value) if loop is not None else None

    def _handed_over(
        self, invocation: Invocation, file: File, expr: cst.Name, bindings: list[Binding], path: tuple[Frame, ...]
    ) -> tuple[LoopNode, File, Binding, str] | None:
        """The same for a parameter: what the call on the way passes."""
        if len(bindings) != 1 or bindings[0].kind != "parameter" or not path:
            return None
        step = path[-1]
        node = file.tree.function(expr)
        if not isinstance(step.node, cst.Call) or not isinstance(node, cst.FunctionDef):
            return None
        function = self.inference.definitions.function(file, node)
        given = dict(self.inference.definitions.passed(step.file, step.node, function)).get(bindings[0].node)  # type: ignore[call-overload]
        return self._made(invocation, step.file, given, path[:-1]) if given is not None else None

    def _loop_with(self, file: File, place: Node, binding: Binding) -> LoopNode | None:
        """The innermost loop around a place whose iterations bind the name, if it makes more than a few."""
        loop = next((loop for loop in loops_around(file, place) if file.tree.within(binding.node, loop)), None)
        return None if loop is None or self.data.is_at_most(file, loop, FEW) else loop

    def _has_few_folds(self, file: File, loop: LoopNode) -> bool:
        """`for train, test in KFold(n_splits=5).split(x)`, with a number of its own or a fold's number next to it."""
        for part in self._gone_through(file, loop):
            if (
                not isinstance(part, cst.Call)
                or method_name(part) != "split"
                or not isinstance(part.func, cst.Attribute)
            ):
                continue
            for origin in self.inference.of(file, part.func.value):
                name, call = origin.made_by or "", origin.call
                if call is not None and name.startswith("sklearn.model_selection.") and name.endswith("KFold"):
                    number = argument(call, 0, "n_splits")
                    iterations = (
                        self.constants.of(origin.file, number, origin.context) if number is not None else _FOLDS
                    )
                    return isinstance(iterations, int) and iterations <= FEW
        return False

    def _goes_over_layers(self, file: File, loop: LoopNode) -> bool:
        """Whether a loop takes the layers of a network one by one: they are few."""
        origins = (origin for part in self._gone_through(file, loop) for origin in self.inference.of(file, part))
        return any(self.kinds.of(element) == "layer" for o in origins for element in self.inference.elements(o))

    def _gone_through(self, file: File, loop: LoopNode) -> list[Expression]:
        """What a loop goes through, one by one or with their numbers."""
        data = iterable(loop)
        joined = isinstance(data, cst.Call) and any(
            file.names.is_builtin(data.func, name) for name in ("enumerate", "zip", "list")
        )
        if joined and isinstance(data, cst.Call):
            return [arg.value for arg in data.args]
        return [data] if data is not None else []

    def _is_built(self, invocation: Invocation, receiver: Expression, made: Binding, made_file: File) -> bool:
        """Whether what is fitted is always a Keras model, and the iteration builds it: it does not look one up."""
        if not self.kinds.must_be(invocation.file, receiver, "model", context=invocation.context):
            return False
        if not isinstance(receiver, cst.Attribute):
            return made.value is not None and self._builds(made_file, made.value)
        cls = self.inference.definitions.self_class(invocation.file, receiver.value)
        assigned = self.inference.definitions.attributes(cls, receiver.attr.value) if cls is not None else []
        return bool(assigned) and all(self._builds(each.file, each.value) for each in assigned)

    def _builds(self, file: File, expr: Expression, depth: int = 0) -> bool:
        """Whether an expression makes a new model: it calls a model's class, or a function that does and returns it."""
        if not isinstance(expr, cst.Call):
            return False
        if depth > BUILDER_CALLS.limit:
            self.inference.meet(BUILDER_CALLS)
            return False
        callees = [callee.function for callee in self.inference.callees(file, expr)]
        if not callees:
            return self.kinds.of(Origin(file, expr)) == "model"
        keeps = self.inference.definitions.decorators.keep_results
        return not any(keeps(callee.file, callee.node) for callee in callees) and all(
            self._returns_new(callee.file, value, depth)
            for callee in callees
            for value in callee.file.returned(callee.node)
        )

    def _returns_new(self, file: File, value: Expression, depth: int) -> bool:
        if not isinstance(value, cst.Name):
            return self._builds(file, value, depth + 1)
        bindings = file.flow.lookup(value.value, value)
        return bool(bindings) and all(
            file.tree.function(binding.node) is file.tree.function(value)
            and binding.value is not None
            and self._builds(file, binding.value, depth + 1)
            for binding in bindings
        )

    def _is_kept(self, file: File, binding: Binding, name: str, invocation: Invocation) -> bool:
        """Whether something with the model in it outlives the iteration: a list, a dictionary, an object, the
        caller."""
        function = file.tree.function(binding.node)
        for node in file.tree.uses.get(name, ()):
            if isinstance(file.tree.parents[node], cst.AssignTarget) or file.tree.function(node) is not function:
                continue
            if _outlives(file, node) and not (invocation.path and self._is_returned_to_nobody(file, node, invocation)):
                return True
        return False

    def _is_returned_to_nobody(self, file: File, node: Node, invocation: Invocation) -> bool:
        """Whether a function returns the model to a call whose result is dropped, or is a name of the iteration."""
        if not any(isinstance(parent, cst.Return) for parent in file.tree.ancestors(node)):
            return False
        step = next((s for s in reversed(invocation.path) if s.text.endswith(f"`{_function_name(file, node)}`")), None)
        if step is None:
            return False
        parent = step.file.tree.parents.get(step.node)
        if isinstance(parent, cst.Expr):
            return True
        names = names_in(*(target.target for target in getattr(parent, "targets", ())))
        return bool(names) and not any(
            step.file.tree.within(node, invocation.loop) and _outlives(step.file, node)
            for name in names
            for node in step.file.tree.uses.get(name, ())
        )


def _function_name(file: File, node: Node) -> str:
    function = file.tree.function(node)
    return function.name.value if isinstance(function, cst.FunctionDef) else ""


def _outlives(file: File, node: Node) -> bool:
    """`models.append(model)`, `models[k] = model`, `self.model = model`, `return model`, `yield model`."""
    child = node
    for parent in file.tree.ancestors(node):
        if isinstance(parent, cst.Call):
            if child is parent.func:
                return False
            if method_name(parent) in _KEEPING:
                return True
            if not (isinstance(parent.func, cst.Name) and parent.func.value[:1].isupper()):
                return False
        elif isinstance(parent, cst.Assign):
            return any(isinstance(t.target, cst.Subscript | cst.Attribute) for t in parent.targets)
        elif isinstance(parent, cst.Return | cst.Yield):
            return True
        elif not isinstance(parent, _DISPLAYS):
            return False
        child = parent
    return False


def _is_conditional(file: File, node: Node) -> bool:
    """Whether an iteration makes it only where a test says so: `if model is None`."""
    for parent in file.tree.ancestors(node):
        if isinstance(parent, cst.For | cst.While | cst.FunctionDef):
            return False
        if isinstance(parent, cst.If) and any(isinstance(n, cst.Is | cst.Not) for n in _operators(parent.test)):
            return True
    return False


def _operators(test: Expression) -> Iterator[Node]:
    """The comparisons and negations of a test."""
    for node in walk(test):
        if isinstance(node, cst.Comparison):
            yield from (comparison.operator for comparison in node.comparisons)
        elif isinstance(node, cst.UnaryOperation):
            yield node.operator
