"""Which functions of the project run while TensorFlow traces, with or without tensors in their arguments."""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Iterator
from functools import cached_property

import libcst as cst

from tflint_gpu.bounds import TRACED_CALLS
from tflint_gpu.lazy_dataclasses import dataclass
from tflint_gpu.lazy_patterns import regex
from tflint_gpu.model.library.higher_order import BRANCHES, PYTHON_FUNCTIONS
from tflint_gpu.model.library.keras_methods import TRACED_METHODS
from tflint_gpu.model.model import Analysis, Model
from tflint_gpu.model.python.execution.walks import Frame
from tflint_gpu.model.python.project.file import File
from tflint_gpu.model.python.project.functions import Function
from tflint_gpu.model.python.syntax.children import spelling, walk
from tflint_gpu.model.python.syntax.syntax import Expression, Node, argument, asks_for_main
from tflint_gpu.model.python.value_flow.constants import UNKNOWN
from tflint_gpu.model.python.value_flow.origins import Context
from tflint_gpu.model.tensorflow.tracing.once import asks_if_done, is_mode
from tflint_gpu.model.tensorflow.tracing.traces import Entry, Reached, Trace, TracedFunctions
from tflint_gpu.model.tensorflow.types.guards import Guards
from tflint_gpu.model.tensorflow.types.kinds import Kinds

_EAGER_SWITCHES = ("tf.config.run_functions_eagerly", "tf.config.experimental_run_functions_eagerly")
_DEBUGGING = regex("debug", re.IGNORECASE)
_ASKS_FOR_TRACING = regex(r"tf_function|inside_function|eager|graph_mode|symbolic|is_tracing")


@dataclass(frozen=True, slots=True)
class Traced(Reached):
    """A function that runs only while TensorFlow traces what leads to it.

    Arguments:
        start: what is traced.
        path: the steps from what is traced to this function.
        trace: which expressions carry tensors, where that is known.
        context: the call that leads to it.
    """

    function: Function
    start: Entry
    path: tuple[Frame, ...] = ()
    trace: Trace | None = None
    context: Context | None = None


def entry(traced: Reached) -> tuple[File, Node | None]:
    """The function that TensorFlow traces, from which a way leads to this one, and its file."""
    if not traced.path:
        return traced.file, traced.function.node
    first = traced.path[0]
    return first.file, first.file.tree.function(first.node)


class TracedCode(Analysis):
    """The code that runs at tracing, seen from one file.

    What TensorFlow runs on the host or Keras runs eagerly is left out, and functions that a dataset maps have a list of
    their own.
    """

    def __init__(self, model: Model) -> None:
        super().__init__(model)
        self.kinds = model.once(Kinds)
        self.guards = model.once(Guards)
        self.execution = model.once(TracedFunctions)
        self._given: dict[tuple[File, bool], frozenset[Node]] = {}
        self._resolver: dict[File, bool] = {}

    @cached_property
    def functions(self) -> list[Traced]:
        """What TensorFlow traces from this file, and all that it calls, each function once."""
        return self._reached(self._traces)

    def reached_from(self, entries: Container[Node]) -> list[Traced]:
        """The same for some of the functions that TensorFlow traces from this file."""
        return self._reached(trace for trace in self._traces if entry(trace)[1] in entries)

    @cached_property
    def _traces(self) -> list[Traced]:
        return [
            _started(trace)
            for trace in self.execution.traces
            if self._is_traced(trace) and not any(self.runs_once(step.file, step.node) for step in trace.path)
        ]

    def _is_traced(self, trace: Trace) -> bool:
        """Whether no eager mode keeps a function from being traced; what is assumed to be traced is, without one."""
        is_eager = self.functions_run_eagerly or (trace.keras and self.runs_eagerly)
        return not is_eager or entry(trace)[1] in self.execution.tracing.assumed

    def mapped(self, traces: Iterable[Trace]) -> list[Traced]:
        """Functions that a dataset is given, and all that they call, each function once."""
        return self._reached(map(_started, traces), of_datasets=True)

    def _reached(self, traces: Iterable[Traced], *, of_datasets: bool = False) -> list[Traced]:
        """What some traces reach, up to the functions that go to datasets, unless it is of these, or to the host."""
        reached: dict[Node, Traced] = {}
        queue, cut = list(traces), list[Traced]()
        for traced in queue:  # grows meanwhile
            if traced.function.node in reached or traced.function.node in self._given_away(traced.file, of_datasets):
                continue
            reached[traced.function.node] = traced
            if len(traced.path) < TRACED_CALLS.limit:
                queue.extend(self._called_from(traced))
            else:
                cut.extend(self._called_from(traced))
        cut = [traced for traced in cut if traced.function.node not in self._given_away(traced.file, of_datasets)]
        if any(invocation.function.node not in reached for invocation in cut):
            self.inference.meet(TRACED_CALLS)
        return list(reached.values())

    def runs_once(self, file: File, node: Node) -> bool:
        """Whether code is written to run only at tracing, or only eagerly: under `is None`, `init_scope` or a test,
        or where an attribute is not there yet."""
        tests = self.guards.branches(file, node)
        if any(asks_if_done(file, test, holds) or self._asks_for_tracing(file, test) for test, holds in tests):
            return True
        if self.guards.keeps_tensors_out(file, node):
            return True
        return any(_is_once(file, parent) for parent in file.tree.ancestors(node))

    def _asks_for_tracing(self, file: File, test: Expression) -> bool:
        known = self._resolver.get(file)
        if known is None:
            known = self._resolver[file] = _ASKS_FOR_TRACING.search(file.source.text) is not None
        return known and _ASKS_FOR_TRACING.search(spelling(test)) is not None

    def runs_in_every_call(self, traced: Traced, node: Node) -> bool:
        """Whether no test, handler or decorator may keep code of a traced function from running in some calls."""
        if not traced.path and not self._is_plain(traced.function):
            return False
        if any(step.file.name(getattr(step.node, "func", None)) in BRANCHES for step in traced.path):
            return False
        sites = [(traced.file, node), *((step.file, step.node) for step in traced.path)]
        return all(self._always_runs(file, node, traced.keras) for file, node in sites)

    def _always_runs(self, file: File, node: Node, keras: bool) -> bool:
        if self.runs_once(file, node):
            return False
        for parent in file.tree.ancestors(node):
            if isinstance(parent, cst.ExceptHandler):
                return False
            if isinstance(parent, cst.FunctionDef | cst.Lambda):
                break
        return all(
            isinstance(file.tree.parents[test], cst.While)
            or (keras and (_is_training(test) is needed or is_mode(file, test)))
            for test, needed in self.guards.choices(file, node)
        )

    def mode(self, file: File, node: Node) -> str:
        """The mode of its object in which code runs, as it is written: `not self.training`; empty for any mode."""
        for test, needed in self.guards.branches(file, node):
            if is_mode(file, test):
                return file.code(test) if needed else f"not {file.code(test)}"
        return ""

    def _is_plain(self, function: Function) -> bool:
        """Whether all decorators of a function are known, or put it under `tf.function`."""
        if not isinstance(function.node, cst.FunctionDef) or not self.inference.definitions.decorators.may_replace(
            function.file, function.node
        ):
            return True
        wrapper = self.execution.tracing.wrapped(function.file).get(function.node)
        return isinstance(wrapper, cst.Decorator) and len(function.node.decorators) == 1

    def may_be_left_out(self, traced: Traced, node: Node) -> bool:
        """Whether a condition that is not known decides whether code of a traced function runs while it is traced."""
        sites = [(traced.file, node, traced.context), *((step.file, step.node, None) for step in traced.path)]
        return any(
            self.guards.in_try(file, node)
            or any(self._may_be(file, test, not needed, context, traced.trace) for test, needed in tests)
            for file, node, context in sites
            if (tests := list(self.guards.branches(file, node))) is not None
        )

    def _may_be(
        self, file: File, test: Expression, outcome: bool, context: Context | None, trace: Trace | None
    ) -> bool:
        """Whether a condition may have an outcome; both branches are traced where it is a tensor or `training`."""
        if "training" in spelling(test) or (trace is not None and trace.tensors.holds_tensor(file, [test], context)):
            return False
        value = self.constants.of(file, test, context)
        return value is UNKNOWN or bool(value) is outcome

    @cached_property
    def runs_eagerly(self) -> bool:
        """Whether the file has Keras run models eagerly."""
        file = self.file
        compiled = [call for call in file.method_calls("compile") if self._is_in_force(file, call)]
        if any(self.constants.keyword(file, call, "run_eagerly") is True for call in compiled):
            return True
        return any(
            self.constants.of(file, assignment.value) is True and self._is_in_force(file, assignment.target)
            for assignment in file.tree.attributes_set("run_eagerly")
        )

    @cached_property
    def functions_run_eagerly(self) -> bool:
        """Whether the file, or one that it imports, switches all tracing off."""
        return any(
            self.constants.of(file, argument(call, 0, "run_eagerly")) is True
            and self._is_in_force(file, call)
            and (file is self.file or self._runs_when_imported(file, call))
            for file in self.inference.seen.using("run_functions_eagerly", self.file)
            for call in file.calls(*_EAGER_SWITCHES)
        )

    def _runs_when_imported(self, file: File, node: Node) -> bool:
        if any(asks_for_main(test) for test in self.guards.conditions(file, node)):
            return False
        return self.guards.must_run(file, node)

    @cached_property
    def may_run_eagerly(self) -> bool:
        """Whether some switch in the file, or in what it imports, may turn tracing off for more than debugging."""
        files = self.inference.seen.with_text("_eagerly", self.file)
        return any(
            self._may_be_on(file, value) and self._is_in_force(file, value)
            for file in files
            if "_eagerly" in file.source.text
            for value in _eager_settings(file)
        )

    def _may_be_on(self, file: File, setting: Expression) -> bool:
        value = self.constants.of(file, setting)
        if value is UNKNOWN:
            return _DEBUGGING.search(spelling(setting)) is None
        return bool(value)

    def _is_in_force(self, file: File, switch: Node) -> bool:
        """Whether a program may come to a switch without being asked to debug."""
        for test, needed in self.guards.choices(file, switch):
            value = self.constants.of(file, test)
            if _DEBUGGING.search(spelling(test)) is not None if value is UNKNOWN else bool(value) is not needed:
                return False
        return True

    def _given_away(self, file: File, of_datasets: bool) -> frozenset[Node]:
        """The functions of a file that go to the host there, or to datasets."""
        known = self._given.get((file, of_datasets))
        if known is None:
            mapping = () if of_datasets else self.execution.tracing.mapping(file)
            calls = [*mapping, *file.calls(*PYTHON_FUNCTIONS)]
            known = self._given[file, of_datasets] = frozenset(
                callee.function.node
                for call in calls
                if call.args
                for callee in self.inference.callables(file, call.args[0].value)
            )
        return known

    def _called_from(self, traced: Traced) -> Iterator[Traced]:
        file = traced.file
        for call in traced.function.calls:
            if self.runs_once(file, call):
                continue
            callees = self.inference.callees(file, call, traced.context)
            if len(callees) != 1:  # one object or another: what its method runs is traced where it is the one
                callees = self.inference.methods_called(file, call, traced.context)
            for callee in callees if all(self._may_be_entered(callee.function) for callee in callees) else ():
                step = Frame(file, call, f"called from `{traced.function.name}`")
                inside = self.inference.contexts.enter(file, call, traced.context, callee)
                yield Traced(callee.function, traced.start, (*traced.path, step), None, inside)
            for run in self.inference.handed(file, call, traced.context):
                if run.mode != "host":
                    step = Frame(file, call, f"passed on by `{traced.function.name}`")
                    inside = self.inference.enter(file, call, traced.context, run)
                    yield Traced(run.function, traced.start, (*traced.path, step), None, inside)

    def _may_be_entered(self, function: Function) -> bool:
        """Whether the code that a call runs is certainly this: a layer's own `call` is traced for itself."""
        if self.inference.definitions.decorators.may_replace(
            function.file, function.node
        ) or function.file.yields_of.get(function.node):
            return False
        if function.owner is None:
            return True
        return not any(function.name in TRACED_METHODS[kind] for kind in self.kinds.of_class(function.owner))


def _eager_settings(file: File) -> Iterator[Expression]:
    """What a file gives to switches that make eager what TensorFlow would trace."""
    for name in _EAGER_SWITCHES:
        for call in file.calls_ending_with(name.rpartition(".")[2]):
            yield from (arg.value for arg in call.args[:1])
    for call in file.tree.calls:
        yield from (arg.value for arg in call.args if arg.keyword is not None and arg.keyword.value == "run_eagerly")
    yield from (assignment.value for assignment in file.tree.attributes_set("run_eagerly"))
    for text in file.tree.nodes(cst.SimpleString):
        if text.raw_value == "run_eagerly":  # elsewhere than in a dictionary it says nothing of the value
            element = file.tree.parents[text]
            yield element.value if isinstance(element, cst.DictElement) and element.key is text else text


def _started(trace: Trace) -> Traced:
    return Traced(trace.function, trace.start, trace.path, trace, trace.context)


def _is_training(test: cst.BaseExpression) -> bool | None:
    """What `training` is for a test that asks for it alone; `fit` makes it true."""
    value = True
    while isinstance(test, cst.UnaryOperation) and isinstance(test.operator, cst.Not):
        test, value = test.expression, not value
    return value if isinstance(test, cst.Name) and test.value == "training" else None


def _is_once(file: File, block: Node) -> bool:
    """`with tf.init_scope():`, `except AttributeError:`."""
    if isinstance(block, cst.With):
        return any(isinstance(i.item, cst.Call) and file.name(i.item.func) == "tf.init_scope" for i in block.items)
    if not isinstance(block, cst.ExceptHandler) or block.type is None:
        return False
    return any(isinstance(part, cst.Name) and part.value == "AttributeError" for part in walk(block.type))
