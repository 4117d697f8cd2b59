"""What the function does that a dataset maps over its elements."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from tflint_gpu.bounds import MAPPED_CALLS
from tflint_gpu.lazy_dataclasses import dataclass
from tflint_gpu.model.library.classes import SEQUENTIAL
from tflint_gpu.model.library.files import LONG, PARALLEL_WORK, UNLOCKED
from tflint_gpu.model.library.higher_order import PYTHON_FUNCTIONS
from tflint_gpu.model.library.keras_methods import NOISE, RANDOM_LAYERS
from tflint_gpu.model.library.nondeterminism import GENERATOR_DRAWS, GENERATORS, draws_in_graph
from tflint_gpu.model.library.operations import FLIPS
from tflint_gpu.model.model import Analysis, Model
from tflint_gpu.model.python.project.file import File
from tflint_gpu.model.python.project.functions import Function
from tflint_gpu.model.python.syntax.syntax import Node, argument, displayed
from tflint_gpu.model.python.value_flow.calls import Callee
from tflint_gpu.model.python.value_flow.origins import Context, Origin
from tflint_gpu.model.tensorflow.tf_data.chains import Operation
from tflint_gpu.model.tensorflow.tf_data.element_wise import ElementWise

SEQUENTIAL_UP_TO = (2, 4)
"""The last version that was seen to run no map in parallel by itself."""
_CROPS = frozenset(["tf.image.resize_with_crop_or_pad", "tf.compat.v1.image.resize_image_with_crop_or_pad"])
_VECTORIZING = frozenset(f"keras.layers.{folder}TextVectorization" for folder in ("", "experimental.preprocessing."))
_TABLES = ("tf.lookup.StaticHashTable", "tf.lookup.StaticVocabularyTable")
_LOOKUPS = _VECTORIZING | frozenset(
    f"keras.layers.{folder}{name}"
    for folder in ("", "experimental.preprocessing.")
    for name in ("StringLookup", "IntegerLookup")
)


@dataclass(frozen=True, slots=True)
class State:
    """Why tf.data runs a function for one element after the other: a call in it, and what that does.

    Arguments:
        draws: it draws random numbers, other ones in another order.
    """

    file: File
    node: Node
    text: str
    is_python: bool = False
    draws: bool = False


class MappedFunctions(Analysis):
    """Analysis of the functions that the operations of a chain are given."""

    def __init__(self, model: Model) -> None:
        super().__init__(model)
        self._element_wise: dict[Node, tuple[bool, bool]] = {}

    def of(self, operation: Operation) -> tuple[Callee, ...]:
        """The functions that an operation may run; none where one of them is not known."""
        given = argument(operation.call, 0, "map_func")
        return self.inference.callables(operation.file, given, operation.context) if given is not None else ()

    def is_element_wise(self, operation: Operation, keeps_rank: bool = False) -> bool:
        """Whether an operation's function certainly does to a batch what it does to each element of it.

        Arguments:
            keeps_rank: it gives each component as many axes as it gets.
        """
        if operation.call not in self._element_wise:
            callees = self.of(operation)
            seen = [ElementWise(self.inference, self.constants, callee, operation.context) for callee in callees]
            holds = len(seen) == 1 and seen[0].holds()
            self._element_wise[operation.call] = holds, holds and seen[0].keeps_rank()
        return self._element_wise[operation.call][keeps_rank]

    def works_on_records(self, operation: Operation) -> bool:
        """Whether an operation's function does to a batch what it does to each record, once it parses a batch."""
        callees = self.of(operation)
        given = [ElementWise(self.inference, self.constants, c, operation.context, may_parse_one=True) for c in callees]
        return len(given) == 1 and given[0].holds()

    def only_flips(self, operation: Operation) -> bool:
        """Whether an operation's function flips images, and does nothing else."""
        given = argument(operation.call, 0, "map_func")
        if operation.name != "map" or given is None:
            return False
        if operation.file.name(given) in FLIPS:
            return True
        callees = self.of(operation)
        return len(callees) == 1 and all(
            isinstance(part, cst.Name) or (isinstance(part, cst.Call) and self._flips(callees[0].function.file, part))
            for value in callees[0].function.file.returned(callees[0].function.node)
            for part in displayed(value)
        )

    def _flips(self, file: File, call: cst.Call) -> bool:
        return file.name(call.func) in FLIPS and bool(call.args) and isinstance(call.args[0].value, cst.Name)

    def may_take_long(self, operation: Operation) -> bool:
        """Whether an operation's function is unknown, or decodes, reads, resizes or calls Python."""
        callees = self.of(operation)
        return not callees or any(
            (name.startswith(LONG) and name not in _CROPS) or name in PYTHON_FUNCTIONS
            for name, *_ in self.named_calls(operation)
        )

    def does_work(self, operation: Operation) -> bool:
        """Whether an operation's function certainly computes something that is worth several threads."""
        return any(
            name.startswith(PARALLEL_WORK)
            or self._is_random_layer(file, call, context)
            or self._is_layer(file, call, context, _VECTORIZING)
            for name, file, call, context in self.named_calls(operation)
        )

    def state(self, operation: Operation) -> State | None:
        """What keeps tf.data from running an operation's function in parallel by itself."""
        return next(iter(self._states(operation)), None)

    def calls_python(self, operation: Operation) -> bool:
        """Whether an operation's function calls Python for each element, whose results may depend on earlier calls."""
        return any(state.is_python for state in self._states(operation))

    def runs_sequentially(self, operation: Operation) -> bool:
        """Whether a map without `num_parallel_calls` certainly runs one element after the other.

        Seen with `assert_next`: TensorFlow 2.6 to 2.21 put a parallel map in its place where the function has no state.
        2.4 puts none, 2.5 was not tried.
        """
        return self.inference.project.target.tensorflow <= SEQUENTIAL_UP_TO or self.state(operation) is not None

    def named_calls(self, operation: Operation) -> Iterator[tuple[str, File, cst.Call, Context | None]]:
        """The calls that tracing an operation's function makes, with their canonical names."""
        for callee in self.of(operation):
            caller = callee.context or operation.context
            for function, context in self._reached(operation.file, operation.call, caller, callee):
                for call in function.calls:
                    if not self.inference.tests.is_switched_off(function.file, call, context):
                        yield function.file.name(call.func) or "", function.file, call, context

    def _reached(
        self, file: File, call: cst.Call, caller: Context | None, callee: Callee
    ) -> Iterator[tuple[Function, Context | None]]:
        """A function that a call gets and those that tracing it runs, each in the context of the first call."""
        seen: set[Node] = set()
        queue = [(callee.function, self.inference.contexts.enter(file, call, caller, callee, hands_on=True), 0)]
        for function, context, depth in queue:  # grows meanwhile
            if function.node in seen:
                continue
            seen.add(function.node)
            yield function, context
            for inner in function.calls:
                if self.inference.tests.is_switched_off(function.file, inner, context):
                    continue
                for run in self.inference.runs(function.file, inner, context):
                    if run.mode == "host":
                        continue
                    if depth < MAPPED_CALLS.limit:
                        inside = self.inference.contexts.enter(
                            function.file, inner, context, run.callee, hands_on=run.handing is not None
                        )
                        queue.append((run.function, inside, depth + 1))
                    elif run.function.node not in seen:
                        self.inference.meet(MAPPED_CALLS)

    def _states(self, operation: Operation) -> list[State]:
        states = [self._state(name, file, call, context) for name, file, call, context in self.named_calls(operation)]
        return [state for state in states if state is not None]

    def _state(self, name: str, file: File, call: cst.Call, context: Context | None) -> State | None:
        if draws_in_graph(name) or self._generates(file, call, context) or self._is_random_layer(file, call, context):
            return State(file, call.func, "draws random numbers", draws=True)
        if name in ("tf.print", "tf.io.write_file"):
            return State(file, call.func, "writes")
        if self._looks_up(file, call, context):
            return State(file, call.func, "uses a lookup table")
        is_stateless = argument(call, 3, "stateful")
        if name in PYTHON_FUNCTIONS and (is_stateless is None or self.constants.of(file, is_stateless) is not False):
            return State(file, call.func, "calls Python", is_python=True)
        return None

    def _generates(self, file: File, call: cst.Call, context: Context | None) -> bool:
        return self.inference.is_method_of(file, call, GENERATOR_DRAWS, GENERATORS, context)

    def _looks_up(self, file: File, call: cst.Call, context: Context | None) -> bool:
        if self.inference.is_method_of(file, call, ("lookup",), _TABLES, context):
            return True
        return self._is_layer(file, call, context, _LOOKUPS)

    def _is_layer(self, file: File, call: cst.Call, context: Context | None, classes: frozenset[str]) -> bool:
        """Whether a call is one of a layer of these classes."""
        return bool(call.args) and self.inference.must_be(file, call.func, lambda o: o.made_by in classes, context)

    def _is_random_layer(self, file: File, call: cst.Call, context: Context | None) -> bool:
        """A call of `RandomFlip`, or of a `Sequential` that has such layers, which is not for inference."""
        training = argument(call, 1, "training")
        if not call.args or (training is not None and self.constants.of(file, training, context) is False):
            return False
        return self.inference.must_be(file, call.func, self._makes_random_layer, context)

    def _makes_random_layer(self, origin: Origin) -> bool:
        name = origin.made_by or ""
        if name in SEQUENTIAL and isinstance(origin.node, cst.Call):
            layers = argument(origin.node, 0, "layers")
            elements = layers.elements if isinstance(layers, cst.List | cst.Tuple) else ()
            return any(
                isinstance(element.value, cst.Call) and _is_random_class(origin.file.name(element.value.func) or "")
                for element in elements
            )
        return _is_random_class(name)

    def runs_unlocked(self, state: State) -> bool:
        """Whether the Python function that a call runs reads files, or computes outside of Python's global lock.

        Itself, or by what it calls.
        """
        call = state.file.call_at(state.node)
        target = argument(call, 0, "func") if call is not None else None
        if call is None or target is None:
            return False
        return any(
            (function.file.name(inner.func) or "").startswith(UNLOCKED)
            for callee in self.inference.callables(state.file, target)
            for function, _ in self._reached(state.file, call, callee.context, callee)
            for inner in function.calls
        )


def _is_random_class(name: str) -> bool:
    folder, _, last = name.rpartition(".")
    return name.startswith(RANDOM_LAYERS) or (folder == "keras.layers" and last in NOISE)
