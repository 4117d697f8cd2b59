"""Where a program makes eager what TensorFlow would trace, for all of its run."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import chain
from typing import Literal

import libcst as cst

from tflint_gpu.lazy_dataclasses import dataclass
from tflint_gpu.lazy_patterns import regex
from tflint_gpu.model import (
    RAISES,
    TRACED_METHODS,
    Analysis,
    Blocker,
    Class,
    Consumers,
    Expression,
    File,
    Function,
    Guards,
    KerasFunctions,
    Kinds,
    Model,
    Node,
    Repetitions,
    Trace,
    TracedFunctions,
    argument,
    asks_for_main,
    is_of_other_framework,
    method_name,
    walk,
)
from tflint_gpu.model.library.keras_methods import CONSUMING_METHODS
from tflint_gpu.model.library.tensor_functions import HOST_READS

_FUNCTION_SWITCHES = ("tf.config.run_functions_eagerly", "tf.config.experimental_run_functions_eagerly")
_DATA_SWITCH = "tf.data.experimental.enable_debug_mode"
MARKERS = (b"run_eagerly", b"functions_eagerly(", b"enable_debug_mode(")
"""One of these is where a program makes something eager."""
_RUNNING = (b".fit(", b".evaluate(", b".predict(", b"_on_batch(", b".fit_generator(")
_TRACED = (*_RUNNING, b"tf.function")
_DATA = (*_RUNNING, b"data.Dataset", b"RecordDataset", b"_dataset_from", b"tensorflow_datasets")
_OTHERWISE = regex(rb"run_functions_eagerly\((?!\s*(?:run_eagerly\s*=\s*)?True)")
_SUGGESTS_DEBUGGING = regex(r"eager|debug|test|profil|bench", re.IGNORECASE)

_FITTING = CONSUMING_METHODS.keys() - {"predict"}

What = Literal["model", "functions", "data"]


@dataclass(frozen=True, slots=True)
class EagerMode:
    """A place that makes something eager.

    Arguments:
        what: one model, all functions, or all operations of datasets.
        node: what the user must change.
        value: the expression that is True, or brings it; None where there is none.
    """

    what: What
    file: File
    node: Node
    value: Expression | None = None

    @property
    def owner(self) -> Expression | None:
        """The model that it makes eager: of `model.compile(run_eagerly=True)` or `model.run_eagerly = True`."""
        if self.what != "model":
            return None
        if isinstance(self.node, cst.Attribute):
            return self.node.value
        call = self.file.tree.parents.get(self.node)
        return call.func.value if isinstance(call, cst.Call) and isinstance(call.func, cst.Attribute) else None


class EagerModes(Analysis):
    """The eager modes of the program that is checked.

    Attributes:
        file: the one that is checked.
    """

    def __init__(self, model: Model) -> None:
        super().__init__(model)
        self.model = model
        self.kinds = model.once(Kinds)
        self.guards = model.once(Guards)
        self.repetitions = model.once(Repetitions)
        self.traced = model.once(TracedFunctions)
        self.keras_functions = model.once(KerasFunctions)

    @cached_property
    def left_on(self) -> list[EagerMode]:
        """The modes that are switched on for certain and never off, in a program that runs what they slow down."""
        left = list(self._in(self.file))
        for file, function in self.repetitions.functions_elsewhere(MARKERS):
            left += self._in(file, function)
        for file in self._imported():
            modes = ((mode, self.guards.conditions(file, mode.node)) for mode in self._in(file, None))
            left += [mode for mode, tests in modes if not any(map(asks_for_main, tests))]
        return [mode for mode in left if not self._is_meant(mode) and not self._is_needed(mode)]

    def _imported(self) -> set[File]:
        """The other files with a mode that imports reach: their own code runs then."""
        project = self.inference.project
        closure = project.closure(self.file.source)
        files = {file for marker in MARKERS for file in project.having(closure, marker.decode().rstrip("("))}
        return files - {self.file}

    def _in(self, file: File, *functions: Node | None) -> Iterator[EagerMode]:
        """The places in a file, or in one of its functions, whose effect the program shows; None: in none of them."""
        modes = [mode for mode in self._modes(file) if not functions or file.tree.function(mode.node) in functions]
        for mode in modes:
            substrings = {"model": _RUNNING, "functions": _TRACED, "data": _DATA}[mode.what]
            text = self.file.source.text
            if any(substring.decode() in text for substring in substrings) or self.repetitions.functions_elsewhere(
                substrings
            ):
                yield mode

    def _modes(self, file: File) -> Iterator[EagerMode]:
        for call in file.method_calls("compile"):
            arg = self.constants.keyword_source(file, call, "run_eagerly")
            if arg is None or self.constants.keyword(file, call, "run_eagerly") is not True:
                continue
            if not self._needs_values(file, call):
                yield EagerMode("model", file, arg, arg.value)
        for assignment in file.tree.attributes_set("run_eagerly"):
            is_on = self.constants.of(file, assignment.value) is True
            if is_on and self.kinds.is_model(file, assignment.target.value):
                yield EagerMode("model", file, assignment.target, assignment.value)
        for call in file.calls(*_FUNCTION_SWITCHES):
            value = argument(call, 0, "run_eagerly")
            if value is not None and self.constants.of(file, value) is True and not self._is_switched_off(file, call):
                yield EagerMode("functions", file, call, value)
        for call in file.calls(_DATA_SWITCH):
            yield EagerMode("data", file, call)

    def _is_meant(self, mode: EagerMode) -> bool:
        """Whether a flag, a test or a function for debugging decides."""
        file, node = mode.file, mode.node
        if any(not asks_for_main(test) for test, _ in self.guards.choices(file, node)):
            return True
        value = mode.value
        flagged = [n.value for n in walk(value) if isinstance(n, cst.Name)] if value is not None else []
        if isinstance(value, cst.Attribute):
            flagged.append(value.attr.value)
        functions = (f.name.value for f in file.enclosing_functions(node) if isinstance(f, cst.FunctionDef))
        if any(_SUGGESTS_DEBUGGING.search(name) for name in (*flagged, *functions)):
            return True
        return mode.what == "model" and any(
            self.constants.of(file, assignment.value) is not True
            for assignment in file.tree.attributes_set("run_eagerly")
        )

    def _is_needed(self, mode: EagerMode) -> bool:
        """Whether something that would be traced without the mode cannot be: it reads a tensor on the host."""
        cls = self.inference.definitions.enclosing(mode.file, mode.node)
        if mode.what == "functions" and cls is not None and self._reads_values(cls):  # it switches for its own methods
            return True
        return any(self._reads_tensor(trace) for trace in self._traces(mode))

    def _traces(self, mode: EagerMode) -> Iterator[Trace]:
        """What would be traced without a mode."""
        for trace in self.traced.traces:
            if mode.what == "functions" or (mode.what == "model" and trace.keras):
                yield trace

    def _reads_tensor(self, trace: Trace) -> bool:
        return any(
            self._needs_value(trace.file, call, trace) and not self.guards.keeps_tensors_out(trace.file, call)
            for call in _calls_in(trace.function)
        )

    def effect(self, mode: EagerMode) -> str:
        """What would happen otherwise, or once for many steps, without a mode; empty where nothing is known."""
        from tflint_gpu.model import Traceability  # with all that a traced function may do wrong, for few files

        traced = {function.node: (function, True) for function in self._given(mode)}
        traced |= {trace.function.node: (trace.function, trace.keras) for trace in self._traces(mode) if not trace.path}
        traceability = self.model.once(Traceability)
        effects = (traceability.effect_of(function, by_keras=keras) for function, keras in traced.values())
        retraced = (traceability.retraced_for(function) for function, keras in traced.values() if not keras)
        reasons = chain(effects, retraced, self._ranks_of_data(mode))
        return next((effect.text for effect in reasons if effect is not None), "")

    def _ranks_of_data(self, mode: EagerMode) -> Iterator[Blocker | None]:
        """What gives the data of trainings an unknown rank, which models and losses of Keras do not take in a graph."""
        from tflint_gpu.model import UnknownRanks

        models = {o.node for o in self.inference.of(mode.file, mode.owner)} if mode.owner is not None else None
        for read in self.model.once(Consumers).consumptions if mode.what != "data" else ():
            call = read.node
            if isinstance(call, cst.Call) and isinstance(call.func, cst.Attribute) and method_name(call) in _FITTING:
                trained = {origin.node for origin in self.inference.of(read.file, call.func.value)}
                if models is None or trained & models:
                    yield self.model.once(UnknownRanks).in_chain(read.chain)

    def _given(self, mode: EagerMode) -> Iterator[Function]:
        """What models with a mode are given as losses and metrics."""
        call = mode.file.tree.parents.get(mode.node)
        own = [call] if mode.what == "model" and isinstance(call, cst.Call) else []
        for compilation in self.file.method_calls("compile") if mode.what == "functions" else own:
            yield from (given.callee.function for given in self.keras_functions.given_to(compilation))
            for cls in self.keras_functions.classes_given_to(compilation):
                methods = (self.inference.definitions.method(cls, name) for name in ("call", "update_state"))
                yield from (method for method in methods if method is not None)

    def _is_switched_off(self, file: File, switch: cst.Call) -> bool:
        """Whether another call, later in the code, in another function or in another file, may switch it off."""
        function, order = file.tree.function(switch), file.tree.order
        for call in file.calls(*_FUNCTION_SWITCHES):
            value = argument(call, 0, "run_eagerly")
            if value is None or self.constants.of(file, value) is True:
                continue
            if file.tree.function(call) is not function or order[call] > order[switch]:
                return True
        is_by_importer = file is not self.file and _OTHERWISE.search(self.file.source.text.encode()) is not None
        return is_by_importer or self.inference.project.reached_mention(file.source, _OTHERWISE)

    def _needs_values(self, file: File, call: cst.Call) -> bool:
        """Whether the steps of the model's class, or its losses and metrics, read values on the host."""
        functions = [given.callee.function for given in self.keras_functions.given_to(call)]
        if any(self._needs_value(function.file, inner) for function in functions for inner in _calls_in(function)):
            return True
        assert isinstance(call.func, cst.Attribute)
        receiver = call.func.value
        classes = [self.inference.instance_class(origin) for origin in self.inference.of(file, receiver)]
        if isinstance(receiver, cst.Call) and file.names.is_builtin(receiver.func, "super"):
            classes.append(self.inference.definitions.enclosing(file, call))
        return any(self._reads_values(cls) for cls in classes if cls is not None)

    def _reads_values(self, cls: Class) -> bool:
        definitions = self.inference.definitions
        methods = (definitions.method(cls, name) for name in TRACED_METHODS["model"])
        return any(method_name(call) in HOST_READS for method in methods if method for call in _calls_in(method))

    def _needs_value(self, file: File, call: cst.Call, trace: Trace | None = None) -> bool:
        """Whether a call reads a tensor on the host, or hands what may be one to another framework."""
        makers = (origin.made_by for origin in self.inference.of(file, call.func))
        if any(is_of_other_framework(name) for name in (file.name(call.func), *makers)):
            return bool(call.args)
        read = _read_by(file, call)
        return bool(read) if trace is None else trace.holds_tensor(*read)


def _read_by(file: File, call: cst.Call) -> list[Expression]:
    """What a call needs as numbers: of `x.numpy()` and `np.sort(x)` the tensor."""
    if method_name(call) in HOST_READS and isinstance(call.func, cst.Attribute):
        return [call.func.value]
    return [arg.value for arg in call.args] if file.name(call.func) in RAISES else []


def _calls_in(function: Function) -> Sequence[cst.Call]:
    """The calls in a function, and in those that are defined in it."""
    return function.file.calls_below.get(function.node, ())
