"""tf.data pipelines: the chain of operations from a source to each consumer."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import libcst as cst

from tflint_gpu.model.python.functions import Function, element
from tflint_gpu.model.python.syntax import Expression, Node, argument, method_name
from tflint_gpu.model.python.tree import Binding, Path
from tflint_gpu.model.tensorflow.chains import Chain, Operation
from tflint_gpu.model.tensorflow.datasets import MARKERS, TRANSFORMATIONS, is_certain, is_source

if TYPE_CHECKING:
    from tflint_gpu.model.model import Model

ConsumerKind = Literal["train", "validate", "predict", "iterate", "unused"]
_CHAIN_LIMIT = 16
_DEPTH_LIMIT = 8
_PASSING = frozenset(
    ["enumerate", "iter", "list", "tqdm", "tqdm.tqdm", "tqdm.auto.tqdm", "tqdm.notebook.tqdm", "tqdm.trange"]
) | {"tensorflow_datasets.as_numpy"}
_FIT: dict[str, ConsumerKind] = {"fit": "train", "evaluate": "validate", "predict": "predict", "fit_generator": "train"}


@dataclass(frozen=True, slots=True)
class Consumption:
    """A chain and what consumes it: a `fit` call, a loop, or nothing; `data` is the dataset as it is written there."""

    kind: ConsumerKind
    chain: Chain
    node: Node
    model: Model
    data: Expression

    @property
    def dataset(self) -> tuple[Model, Expression]:
        """The dataset itself, with its file: behind `enumerate`, `tqdm` and the iterator that `iter` made of it."""
        model, expr = self.model, self.data
        for _ in range(_DEPTH_LIMIT):
            if isinstance(expr, cst.Name):
                origins = model.functions.origins(expr)
                made = origins[0] if len(origins) == 1 else None
                if made is None or not isinstance(made.node, cst.Call):
                    break
                if not made.model.names.is_builtin(made.node.func, "iter"):
                    break
                model, expr = made.model, made.node
            if not isinstance(expr, cst.Call) or not expr.args or method_name(expr) in TRANSFORMATIONS:
                break
            passing = ("enumerate", "iter", "list", "next")
            if model.name(expr.func) not in _PASSING and not any(
                model.names.is_builtin(expr.func, name) for name in passing
            ):
                break
            expr = expr.args[0].value
        return model, expr

    @property
    def is_glance(self) -> bool:
        """Whether only a few elements are looked at: one `next(...)` outside a loop, or a small `take`."""
        if isinstance(self.node, cst.Call) and self.kind == "iterate":
            return self.model.training.loop_of(self.node) is None
        return self.kind != "train" and self.chain.is_short


@dataclass(frozen=True, slots=True)
class _Bound:
    """An argument as the caller wrote it, with the caller's own arguments."""

    pipelines: Pipelines
    value: Expression
    arguments: _Arguments


_Arguments: TypeAlias = Mapping[Node, _Bound]
_OPEN = Chain()
__all__ = ["Chain", "Consumption", "Operation", "Pipelines"]


class Pipelines:
    """The tf.data pipelines of one file."""

    def __init__(self, model: Model) -> None:
        self.model = model
        self._active: set[Binding] = set()

    @cached_property
    def consumptions(self) -> list[Consumption]:
        """Every chain that some code of this file consumes and that is certainly tf.data."""
        found = [
            Consumption(kind, chain, node, pipelines.model, expr)
            for pipelines, kind, expr, node in self._all_consumers()
            for chain in pipelines.chains(expr)
            if chain.certain
        ]
        seen: set[tuple[Any, ...]] = set()
        unique = []
        for item in found:
            key = (item.kind, item.node, tuple(o.call for o in item.chain.operations))
            if key not in seen:
                seen.add(key)
                unique.append(item)
        return unique

    def chains(self, expr: Expression, arguments: _Arguments | None = None, depth: int = 0) -> list[Chain]:
        """The datasets that `expr` may be; a chain with no source where that is unknown."""
        if depth > _DEPTH_LIMIT * 4:
            return [_OPEN]
        given: _Arguments = arguments or {}
        if isinstance(expr, cst.Call):
            found = self._call(expr, given, depth)
        elif isinstance(expr, cst.Name):
            found = self._name(expr, given, depth)
        elif isinstance(expr, cst.Attribute):
            found = self._attribute(expr, given, depth)
        elif isinstance(expr, cst.IfExp):
            found = self.chains(expr.body, given, depth + 1) + self.chains(expr.orelse, given, depth + 1)
        elif isinstance(expr, cst.NamedExpr):
            found = self.chains(expr.value, given, depth + 1)
        elif isinstance(expr, cst.Subscript) and isinstance(expr.value, cst.Call | cst.Name):
            found = [c for c in self.chains(expr.value, given, depth + 1) if c.source == "tensorflow_datasets.load"]
        else:
            found = []
        return (found or [_OPEN])[:_CHAIN_LIMIT]

    def _call(self, call: cst.Call, given: _Arguments, depth: int) -> list[Chain]:
        name = self.model.name(call.func)
        if is_source(name):
            inputs = self._inputs(call, given, depth) if name is not None and name.endswith(".zip") else ()
            return [Chain(name, call, self.model, (), inputs, certain=True)]
        first = call.args[0].value if call.args else None
        if first is not None and (name in _PASSING or self._is_passing_builtin(call)):
            return self.chains(first, given, depth + 1)
        method = method_name(call)
        if method in ("experimental_distribute_dataset", "make_dataset_iterator") and first is not None:
            operation = Operation("experimental_distribute_dataset", call, self.model)
            return [c.then(operation) for c in self.chains(first, given, depth + 1)]
        if method in TRANSFORMATIONS and name is None:
            return self._transformation(call, method, given, depth)
        if method in ("as_numpy_iterator", "__iter__", "make_one_shot_iterator") and isinstance(
            call.func, cst.Attribute
        ):
            return self.chains(call.func.value, given, depth + 1)
        if not self.model.project.leads_to(self.model, name, MARKERS):
            return []
        function = self.model.functions.called(call)
        return self._returned(call, function, (), given, depth) if function is not None else []

    def _is_passing_builtin(self, call: cst.Call) -> bool:
        return any(self.model.names.is_builtin(call.func, name) for name in ("enumerate", "iter", "list", "next"))

    def _inputs(self, call: cst.Call, given: _Arguments, depth: int) -> tuple[Chain, ...]:
        values: list[Expression] = [arg.value for arg in call.args if arg.keyword is None]
        if len(values) == 1 and isinstance(values[0], cst.Tuple | cst.List):
            values = [e.value for e in values[0].elements]
        return tuple(c for value in values for c in self.chains(value, given, depth + 1))

    def _transformation(self, call: cst.Call, method: str, given: _Arguments, depth: int) -> list[Chain]:
        assert isinstance(call.func, cst.Attribute)
        heads = self.chains(call.func.value, given, depth + 1)
        if method == "apply" and call.args:
            applied = self._applied(call, heads)
            if applied is not None:
                return applied
        keywords = [a.keyword.value for a in call.args if a.keyword is not None]
        certain = is_certain(method, keywords, [self.model.name(a.value) for a in call.args])
        return [head.then(Operation(method, call, self.model), certain) for head in heads]

    def _applied(self, call: cst.Call, heads: list[Chain]) -> list[Chain] | None:
        """`ds.apply(tf.data.experimental.map_and_batch(...))`: the operation that is applied."""
        inner = call.args[0].value
        name = self.model.name(inner.func) if isinstance(inner, cst.Call) else None
        if name is None or not isinstance(inner, cst.Call) or not name.startswith(("tf.data.", "tf.compat.v1.data.")):
            return None
        operation = Operation(name.rpartition(".")[2], inner, self.model)
        return [head.then(operation, certain=True) for head in heads]

    def _returned(self, call: cst.Call, function: Function, path: Path, given: _Arguments, depth: int) -> list[Chain]:
        """The datasets that a function of the project returns for the arguments of this call."""
        if depth > _DEPTH_LIMIT:
            return []
        arguments: dict[Node, _Bound] = {
            parameter: _Bound(self, value, given) for parameter, value in self.model.functions.passed(call, function)
        }
        found: list[Chain] = []
        for value in function.model.functions.returned(function.node):
            part = element(value, path) if path else value
            if part is not None and not isinstance(part, cst.Tuple | cst.List | cst.Dict):
                found.extend(function.model.pipelines.chains(part, arguments, depth + 1))
        return found

    def _name(self, expr: cst.Name, given: _Arguments, depth: int) -> list[Chain]:
        found: list[Chain] = []
        for binding in self.model.flow.lookup(expr.value, expr):
            found.extend(self._binding(binding, given, depth))
        return found

    def _binding(self, binding: Binding, given: _Arguments, depth: int) -> list[Chain]:
        if binding.kind == "parameter":
            return self._parameter(binding, given, depth)
        if binding.kind == "import":
            found = self.model.project.definition(self.model, binding.target)
            return found.model.pipelines._binding(found.binding, {}, depth + 1) if found is not None else [_OPEN]
        if binding.kind != "assign" or binding.value is None:
            return [_OPEN]
        if binding in self._active:
            return []  # a loop that goes on with its own dataset: the way in from before is enough
        self._active.add(binding)
        try:
            return self._part(binding.value, binding.path, given, depth)
        finally:
            self._active.discard(binding)

    def _parameter(self, binding: Binding, given: _Arguments, depth: int) -> list[Chain]:
        """What the caller on the way here passes, or else what the known callers pass."""
        bound = given.get(binding.node)
        if bound is not None:
            return bound.pipelines.chains(bound.value, bound.arguments, depth + 1)
        if binding in self._active or depth > _DEPTH_LIMIT * 2:
            return [_OPEN]
        self._active.add(binding)
        try:
            passed = list(self.model.functions.arguments_for(binding.node))
            return [c for a in passed for c in a.model.pipelines.chains(a.node, {}, depth + 2)] or [_OPEN]
        finally:
            self._active.discard(binding)

    def _part(self, value: Expression, path: Path, given: _Arguments, depth: int) -> list[Chain]:
        if not path:
            return self.chains(value, given, depth + 1)
        part = element(value, path)
        if part is not None:
            return self.chains(part, given, depth + 1)
        if isinstance(value, cst.Call):
            if self.model.name(value.func) == "tensorflow_datasets.load":
                return self.chains(value, given, depth + 1)
            function = self.model.functions.called(value)
            if function is not None:
                return self._returned(value, function, path, given, depth)
        return [_OPEN]

    def _attribute(self, expr: cst.Attribute, given: _Arguments, depth: int) -> list[Chain]:
        found: list[Chain] = []
        for attribute in self.model.classes.attribute_values(expr):
            if isinstance(attribute.value, cst.Name) and attribute.value.value == "None":
                continue
            marker = Binding(expr.attr.value, "assign", attribute.node, attribute.value, attribute.path)
            found.extend(attribute.model.pipelines._attribute_binding(marker, depth))
        return found

    def _attribute_binding(self, binding: Binding, depth: int) -> list[Chain]:
        if depth > _DEPTH_LIMIT * 2 or binding.value is None:
            return [_OPEN]
        return self._part(binding.value, binding.path, {}, depth + 1)

    def _all_consumers(self) -> Iterator[tuple[Pipelines, ConsumerKind, Expression, Node]]:
        """The consumers of this file, and those in functions and classes elsewhere to which it passes datasets."""
        for kind, expr, node in self._consumers():
            yield self, kind, expr, node
        for model, place in self._given_datasets():
            for kind, expr, node in model.pipelines._consumers():
                if model.tree.within(node, place):
                    yield model.pipelines, kind, expr, node

    def _given_datasets(self) -> Iterator[tuple[Model, Node]]:
        """Functions and classes of other files that this file calls with a dataset."""
        seen: set[Node] = set()
        for call in self.model.tree.calls:
            imported = self.model.name(call.func)
            if imported is not None and imported.startswith(("tf.", "keras.", "numpy.")):
                continue
            if not any(c.certain for arg in call.args if _may_be_dataset(arg.value) for c in self.chains(arg.value)):
                continue
            target = self.model.functions.called(call) or self.model.classes.named(call.func)
            if target is not None and target.model is not self.model and target.node not in seen:
                seen.add(target.node)
                yield target.model, target.node

    def _consumers(self) -> Iterator[tuple[ConsumerKind, Expression, Node]]:
        """(kind, the dataset's expression, the consumer) for all that may consume a dataset here."""
        for call in self.model.method_calls(*_FIT):
            yield from self._keras_consumers(call)
        for loop in self.model.tree.loops:
            if isinstance(loop, cst.For):
                kind = self.model.training.loop_kind(loop)
                for iterable in self._iterables(loop.iter):
                    yield ("iterate" if kind == "other" else kind), iterable, loop
        for call in self.model.tree.calls:
            if self.model.names.is_builtin(call.func, "next") and call.args:
                around = self.model.training.loop_of(call)
                trains = around is not None and self.model.training.takes_gradients(around)
                yield ("train" if trains else "iterate"), call.args[0].value, call
        yield from self._unused()

    def _iterables(self, expr: Expression) -> Iterator[Expression]:
        """The datasets a loop runs over: through `zip` and `enumerate` around them."""
        if isinstance(expr, cst.Call) and expr.args:
            if self.model.names.is_builtin(expr.func, "zip"):
                for arg in expr.args:
                    yield from self._iterables(arg.value)
                return
            if self.model.names.is_builtin(expr.func, "enumerate"):
                yield from self._iterables(expr.args[0].value)
                return
        yield expr

    def _keras_consumers(self, call: cst.Call) -> Iterator[tuple[ConsumerKind, Expression, Node]]:
        method = method_name(call) or ""
        data = argument(call, 0, "x")
        if data is not None:
            yield _FIT[method], data, call
        validation = argument(call, -1, "validation_data") if method.startswith("fit") else None
        if validation is not None:
            yield "validate", validation, call

    def _unused(self) -> Iterator[tuple[ConsumerKind, Expression, Node]]:
        """Chains that end in a variable that this file never reads."""
        read: set[str] = set()
        assigned: list[tuple[str, cst.Assign]] = []
        for node, parent in self.model.tree.parents.items():
            if isinstance(node, cst.Name) and not isinstance(parent, cst.AssignTarget | cst.AnnAssign):
                read.add(node.value)
            elif isinstance(node, cst.Assign) and len(node.targets) == 1 and isinstance(node.value, cst.Call):
                target = node.targets[0].target
                if isinstance(target, cst.Name) and method_name(node.value) in TRANSFORMATIONS:
                    assigned.append((target.value, node))
        for name, statement in assigned:
            if name not in read:
                yield "unused", statement.value, statement


def _may_be_dataset(expr: Expression) -> bool:
    return isinstance(expr, cst.Name | cst.Attribute | cst.Call)
