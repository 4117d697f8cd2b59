"""What Python does while TensorFlow traces, other than give results: prints, opens files, changes what outlives it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from itertools import islice
from typing import Literal

import libcst as cst

from tflint_gpu.lazy_dataclasses import dataclass
from tflint_gpu.lazy_patterns import regex
from tflint_gpu.model.library.tensor_functions import STATIC_ATTRIBUTES
from tflint_gpu.model.model import Analysis, Model
from tflint_gpu.model.python.execution.callers import CONSTRUCTORS
from tflint_gpu.model.python.project.file import File
from tflint_gpu.model.python.project.functions import Function
from tflint_gpu.model.python.syntax.children import spelling, walk
from tflint_gpu.model.python.syntax.containers import CHANGES
from tflint_gpu.model.python.syntax.scopes import AttributeAssignment, Binding
from tflint_gpu.model.python.syntax.syntax import Expression, Node, argument, method_name, own_attribute, part_at
from tflint_gpu.model.python.value_flow.inference import Inference
from tflint_gpu.model.python.value_flow.origins import Context, Origin
from tflint_gpu.model.tensorflow.effects.host_values import HostValues
from tflint_gpu.model.tensorflow.tracing.keras_functions import KerasFunctions
from tflint_gpu.model.tensorflow.tracing.traced_code import Traced, TracedCode

EffectKind = Literal["print", "shape", "open", "container", "name", "argument", "metric"]

_CONTAINERS = frozenset("list dict set".split())
_COLLECTIONS = frozenset(
    ["collections.deque", "collections.defaultdict", "collections.OrderedDict", "collections.Counter"]
)
_DISPLAYS = (cst.List, cst.Dict, cst.Set, cst.ListComp, cst.DictComp, cst.SetComp)
# Words by which code says that it is there to show when Python runs; "trace" in the languages of TensorFlow's guides.
_ABOUT_TRACING = regex(
    r"trac(?:e|es|ed|ing|er)(?![a-z])|compil|eager|python|graph|traç|traz|rastre|追踪|跟踪|追蹤|トレース|추적|трасс",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class SideEffect:
    """Something that a traced function does to what outlives the call.

    Arguments:
        node: the statement or the call.
        target: what is changed, in words of the code; empty for files and prints.
    """

    traced: Traced
    kind: EffectKind
    node: Node
    target: str = ""


class SideEffects(Analysis):
    """Analysis of the side effects of what is traced, seen from one file."""

    def __init__(self, model: Model) -> None:
        super().__init__(model)
        self.code = model.once(TracedCode)
        self.values = model.once(HostValues)
        self.keras_functions = model.once(KerasFunctions)
        self._written: dict[File, dict[Node | None, list[cst.Subscript]]] = {}

    @cached_property
    def all(self) -> list[list[SideEffect]]:
        """The effects, those of one kind in one function together; prints of shapes after other prints."""
        return self.of(self.code.functions)

    def of(self, functions: Iterable[Traced]) -> list[list[SideEffect]]:
        """The same of some of the traced functions."""
        groups: dict[tuple[Node, str], list[SideEffect]] = {}
        for traced in functions:
            for effect in sorted(self._of(traced), key=lambda candidate: candidate.kind == "shape"):
                if self.values.raise_before(traced, effect.node) or self._is_switched_off(effect):
                    continue
                kind = "print" if effect.kind == "shape" else effect.kind
                groups.setdefault((traced.function.node, kind), []).append(effect)
        return list(groups.values())

    def _is_switched_off(self, effect: SideEffect) -> bool:
        """Whether a test fails that asks for what objects get when they are made, here or in files that import it."""
        traced, file = effect.traced, effect.traced.file
        around = file.branches.around(effect.node)
        tests = [(test, needed) for test, needed, demands in around if not demands and _asks_for_settings(file, test)]
        if not tests:
            return False
        if _fails(self.inference, file, tests, traced.context):
            return True
        if traced.function.owner is None:
            return False
        makes = re.compile(rf"\b{re.escape(traced.function.owner.name)}\(".encode())
        fail = [_fails(model.inference, file, tests, None) for model in self.importers(file, makes)]
        return bool(fail) and all(fail)

    def _of(self, traced: Traced) -> Iterator[SideEffect]:
        file = traced.file
        if any(self.code.runs_once(step.file, step.node) for step in traced.path):  # `if not self.built: self.build(x)`
            return
        for call in traced.function.calls:
            if self._is_output(file, call, "print") and not self._is_about_tracing(file, call):
                yield SideEffect(traced, "shape" if _shows_what_is_static(call) else "print", call)
            elif self._is_output(file, call, "open"):
                yield SideEffect(traced, "open", call)
            elif not traced.keras and method_name(call) in CHANGES:
                yield from self._changed_by_method(traced, call)
        yield from self._counters(traced)
        if not traced.keras:
            yield from self._changed_items(traced)
            yield from self._written_names(traced)
        elif traced.function.node in self._updates:
            yield from self._kept_by_metric(traced)

    def _is_output(self, file: File, call: cst.Call, name: str) -> bool:
        return file.names.is_builtin(call.func, name) and not self._is_meant(file, call)

    def _is_meant(self, file: File, node: Node) -> bool:
        """Whether it runs once on purpose, for debugging, or only where tracing fails."""
        if self.code.runs_once(file, node) or _precedes_failure(file, node):
            return True
        return self.code.guards.is_for_debugging(file, node)

    def _is_about_tracing(self, file: File, call: cst.Call) -> bool:
        """Whether a print is there to show when Python runs: it says so, or `tf.print` is next to it."""
        if any(file.name(other.func) == "tf.print" for other in file.calls_in.get(file.tree.function(call), ())):
            return True
        texts = (
            p for arg in call.args for p in walk(arg.value) if isinstance(p, cst.SimpleString | cst.FormattedString)
        )
        return any(_ABOUT_TRACING.search(spelling(text)) for text in texts)

    # What is changed in place.

    def _changed_by_method(self, traced: Traced, call: cst.Call) -> Iterator[SideEffect]:
        assert isinstance(call.func, cst.Attribute)
        file, owner = traced.file, call.func.value
        if self._is_meant(file, call) or _ABOUT_TRACING.search(spelling(owner)):
            return
        if self._is_outer_container(traced, owner):
            yield SideEffect(traced, "container", call, file.code(owner))
        elif self._argument(traced, owner) and (method_name(call) == "pop" and _has_text(call)):
            yield SideEffect(traced, "argument", call, file.code(owner))

    def _changed_items(self, traced: Traced) -> Iterator[SideEffect]:
        """`d[k] = v`, `d[k] += v`, `del d[k]`."""
        file = traced.file
        targets = self._items_written(file).get(traced.function.node, ())
        taken_back = _taken_back(file, targets)
        for target in targets:
            if self._is_meant(file, target) or file.code(target) in taken_back:
                continue
            owner = target.value
            statement = file.tree.statement(target)
            node = statement.body[0] if isinstance(statement, cst.SimpleStatementLine) else target
            if _ABOUT_TRACING.search(spelling(owner)):
                continue
            if self._is_outer_container(traced, owner):
                yield SideEffect(traced, "container", node, file.code(owner))
            elif self._argument(traced, _innermost(owner)):
                yield SideEffect(traced, "argument", node, file.code(_innermost(owner)))

    def _items_written(self, file: File) -> dict[Node | None, list[cst.Subscript]]:
        """The items that each function of a file writes."""
        if file not in self._written:
            self._written[file] = {}
            for target, _ in file.tree.item_assignments:
                self._written[file].setdefault(file.tree.function(target), []).append(target)
        return self._written[file]

    def _is_outer_container(self, traced: Traced, expr: Expression) -> bool:
        """Whether an expression is certainly a list, dict or set that was made outside of traced code."""
        return self.inference.must_be(traced.file, expr, self._is_made_outside, traced.context)

    def _is_made_outside(self, origin: Origin) -> bool:
        node, file = origin.node, origin.file
        if origin.access_path:
            return False
        if isinstance(node, cst.Call):
            builtin = any(file.names.is_builtin(node.func, name) for name in _CONTAINERS)
            if not builtin and file.name(node.func) not in _COLLECTIONS:
                return False
        elif not isinstance(node, _DISPLAYS):
            return False
        around = file.enclosing_functions(node)
        return not any(function in self._traced for function in around)

    @cached_property
    def _traced(self) -> frozenset[Node]:
        return frozenset(traced.function.node for traced in self.code.functions)

    def _argument(self, traced: Traced, expr: Expression) -> bool:
        """Whether an expression is a parameter of the function that is itself under `tf.function`, and nothing else."""
        if traced.path or not isinstance(expr, cst.Name):
            return False
        bindings = traced.file.flow.lookup(expr.value, expr)
        parameters = traced.function.parameters
        if len(bindings) != 1 or bindings[0].node not in parameters:
            return False
        origins = self.inference.of(traced.file, expr)
        return all(self.inference.instance_class(origin) is None for origin in origins)

    # What a metric keeps on itself.

    @cached_property
    def _updates(self) -> dict[Node, frozenset[str]]:
        """The `update_state` of metrics that Keras 3 evaluates, each with the attributes that its `result` reads.

        Keras 3 asks for the result once more at the end of an epoch, outside of what is traced.
        """
        evaluated = self.keras_functions.evaluated if self.target.keras >= 3 else frozenset[Node]()
        updates: dict[Node, frozenset[str]] = {}
        for traced in self.code.functions:
            owner = traced.function.owner
            is_update = traced.keras and traced.function.name == "update_state" and not traced.path
            if is_update and owner is not None and owner.node in evaluated:
                result = self.inference.definitions.method(owner, "result")
                reads = (own_attribute(node) for node in (walk(result.node) if result is not None else ()))
                updates[traced.function.node] = frozenset(name for name in reads if name is not None)
        return updates

    def _kept_by_metric(self, traced: Traced) -> Iterator[SideEffect]:
        """Tensors of `update_state` that its metric keeps in an attribute or a list for its `result`."""
        file, read = traced.file, self._updates[traced.function.node]
        for assigned in file.tree.attributes_set_in(traced.function.node):
            name, is_here = own_attribute(assigned.target), file.tree.function(assigned.target) is traced.function.node
            if name in read and is_here and not assigned.path and self._is_of_graph(traced, assigned.value):
                yield SideEffect(traced, "metric", assigned.statement, f"self.{name}")
        for call in traced.function.calls:
            owner = call.func.value if isinstance(call.func, cst.Attribute) else None
            if owner is None or method_name(call) != "append" or len(call.args) != 1:
                continue
            name, value = own_attribute(owner), call.args[0].value
            if name in read and self._is_of_graph(traced, value) and self._is_outer_container(traced, owner):
                yield SideEffect(traced, "metric", call, f"self.{name}")

    def _is_of_graph(self, traced: Traced, value: Expression | None) -> bool:
        """Whether a value is a tensor that tracing makes; what `assign` gives is a variable."""
        if (
            value is None
            or self._is_meant(traced.file, value)
            or (isinstance(value, cst.Call) and (method_name(value) or "").startswith("assign"))
        ):
            return False
        return traced.trace is not None and traced.trace.holds_tensor(value)

    # Numbers of Python that an object counts with.

    def _counters(self, traced: Traced) -> Iterator[SideEffect]:
        """`self.steps += 1`, of a number that the object has from a constant, and that something reads."""
        file, function = traced.file, traced.function
        if function.name in CONSTRUCTORS:
            return
        for assigned in file.tree.attributes_set_in(function.node):
            name = own_attribute(assigned.target)
            is_here = name is not None and file.tree.function(assigned.target) is function.node
            if not is_here or not _counts(assigned) or _ABOUT_TRACING.search(name or ""):
                continue
            if self._is_number(traced, assigned) and not self._is_meant(file, assigned.target):
                yield SideEffect(traced, "name", assigned.statement, file.code(assigned.target))

    def _is_number(self, traced: Traced, counter: AttributeAssignment) -> bool:
        """Whether an attribute is certainly a number of Python, which outlives the trace, and is read somewhere."""
        file, name = traced.file, counter.target.attr.value
        written = file.tree.attributes_set(name)
        set_at_first = [a for a in written if not _counts(a)]
        is_set_by_trace = any(file.tree.function(a.target) in self._traced for a in set_at_first)
        is_number = all(isinstance(part_at(a.value, a.path), cst.Integer | cst.Float) for a in set_at_first)
        if not set_at_first or is_set_by_trace or not is_number:
            return False
        targets = {a.target for a in written}
        return any(
            node.attr.value == name and node not in targets and not file.tree.within(node, counter.statement)
            for node in file.tree.nodes(cst.Attribute)
        )

    # Names of outer functions and of the module.

    def _written_names(self, traced: Traced) -> Iterator[SideEffect]:
        file, node = traced.file, traced.function.node
        scope = file.tree.scopes[node]
        for name, how in scope.outer_names.items():
            if _ABOUT_TRACING.search(name):
                continue
            binding = self._write(file, traced.function, name, local=how == "nonlocal")
            if binding is not None:
                yield SideEffect(traced, "name", binding.node, name)

    def _write(self, file: File, function: Function, name: str, *, local: bool) -> Binding | None:
        scope = file.tree.scopes[function.node].parent
        while scope is not None and not (name in scope.bindings and scope.kind == ("function" if local else "module")):
            scope = scope.parent
        if scope is None or (local and scope.node in self._traced):
            return None
        for binding in scope.bindings[name]:
            is_here = binding.remote and file.tree.function(binding.node) is function.node
            if is_here and binding.kind in ("assign", "augment") and not self._is_meant(file, binding.node):
                return binding
        return None


def _asks_for_settings(file: File, test: Expression) -> bool:
    """Whether all attributes of its object that a test asks for are set by constructors."""
    asked = {name for node in walk(test) if (name := own_attribute(node)) is not None}
    return asked <= {
        a.target.attr.value
        for a in file.tree.attribute_assignments
        if isinstance(function := file.tree.function(a.target), cst.FunctionDef) and function.name.value in CONSTRUCTORS
    }


def _fails(inference: Inference, file: File, tests: list[tuple[Expression, bool]], context: Context | None) -> bool:
    return any(inference.tests.holds(file, test, context) is (not needed) for test, needed in tests)


def _shows_what_is_static(call: cst.Call) -> bool:
    """Whether a print shows what is known while tracing: a shape, a type."""
    parts = (part for arg in call.args for part in walk(arg.value))
    return any(isinstance(part, cst.Attribute) and part.attr.value in STATIC_ATTRIBUTES - {"numpy"} for part in parts)


def _taken_back(file: File, targets: Sequence[cst.Subscript]) -> set[str]:
    """The items that a function deletes after it has written them: at its end they are as if nothing had been."""
    last = {file.code(target): target for target in sorted(targets, key=lambda target: file.span(target)[0])}
    written = {file.code(target) for target in targets if not _is_deleted(file, target)}
    return {text for text, target in last.items() if text in written and _is_deleted(file, target)}


def _is_deleted(file: File, target: cst.Subscript) -> bool:
    return any(isinstance(parent, cst.Del) for parent in islice(file.tree.ancestors(target), 3))


def _counts(assigned: AttributeAssignment) -> bool:
    """`self.n += 1`, `self.n = self.n + 1`."""
    value = assigned.value
    if isinstance(assigned.statement, cst.AugAssign):
        return isinstance(value, cst.Integer | cst.Float)
    is_sum = isinstance(value, cst.BinaryOperation) and isinstance(value.right, cst.Integer | cst.Float)
    return isinstance(value, cst.BinaryOperation) and is_sum and spelling(value.left) == spelling(assigned.target)


def _innermost(expr: Expression) -> Expression:
    """`d` of `d["a"]["b"]`."""
    while isinstance(expr, cst.Subscript):
        expr = expr.value
    return expr


def _has_text(call: cst.Call) -> bool:
    return isinstance(argument(call, 0, "key"), cst.SimpleString)


def _precedes_failure(file: File, node: Node) -> bool:
    """Whether what comes next is a `raise`, or an exception is being handled."""
    for parent in file.tree.ancestors(node):
        if isinstance(parent, cst.ExceptHandler):
            return True
        if isinstance(parent, cst.IndentedBlock) and parent.body:
            last = parent.body[-1]
            if isinstance(last, cst.SimpleStatementLine) and isinstance(last.body[-1], cst.Raise):
                return True
        if isinstance(parent, cst.FunctionDef | cst.Lambda):
            return False
    return False
