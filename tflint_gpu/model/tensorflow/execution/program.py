"""Whether a file is a program that is run, and where it starts to train."""

from __future__ import annotations

import re
from functools import cached_property

import libcst as cst

from tflint_gpu.lazy_dataclasses import dataclass
from tflint_gpu.lazy_patterns import regex
from tflint_gpu.model.library.keras_methods import FORWARD_METHODS, RUNNING_METHODS, UPDATES
from tflint_gpu.model.model import Analysis, Once
from tflint_gpu.model.python.execution.callers import RunSite, loops_around
from tflint_gpu.model.python.execution.walks import Invocation
from tflint_gpu.model.python.project.file import File
from tflint_gpu.model.python.syntax.syntax import Expression, Node, asks_for_main, displayed, method_name
from tflint_gpu.model.python.value_flow.origins import Context, Origin
from tflint_gpu.model.tensorflow.execution.invocations import Invocations
from tflint_gpu.model.tensorflow.runtime.runtime import Runtime
from tflint_gpu.model.tensorflow.training.training import Training
from tflint_gpu.model.tensorflow.training.try_outs import TryOuts
from tflint_gpu.model.tensorflow.types.kinds import Kinds
from tflint_gpu.model.tensorflow.types.tapes import TAPES

# These get a function, and do not run it.
_KEEPING = frozenset(["functools.wraps", "functools.update_wrapper", "functools.partial"])
_IMPORTS = regex(rb"^[ \t]*(?:import|from)[ \t]+tensorflow\b", re.MULTILINE)
_TPUS = (b"TPUStrategy(", b"TPUClusterResolver(", b"initialize_tpu_system(")
_MADE_UP = regex(r"(?:tf|numpy)\.(?:random\.\w+|ones|zeros|ones_like|zeros_like)|numpy\.random\.\w+\.\w+")
_UPDATING = ("apply_gradients", "minimize")


@dataclass(frozen=True, slots=True)
class FirstTraining:
    """Where a program starts to train.

    Arguments:
        place: in the program's own file.
        file, node: where the training itself is.
        entry: what the program's top level does to get there.
        main: the block for the file that is run, if `entry` is there: `if __name__ == "__main__":`.
        is_self_test: whether it only tries out, on one batch, what the file defines for others.
    """

    place: Node
    file: File
    node: Node
    entry: cst.Call
    main: cst.If | None
    is_self_test: bool


class Program(Analysis):
    """Analysis of the file that is checked, as a program."""

    kinds = Once(Kinds)
    training = Once(Training)
    runtime = Once(Runtime)
    invocations = Once(Invocations)
    try_outs = Once(TryOuts)

    @cached_property
    def imports_tensorflow(self) -> bool:
        """Whether the file imports TensorFlow, or a file of the project that does; Keras alone may run elsewhere."""
        return any(
            binding.kind in ("import", "star") and self._is_tensorflow(binding.target)
            for scope in self.file.tree.scopes.values()
            for bindings in scope.bindings.values()
            for binding in bindings
        ) or self.inference.project.reached_mention(self.file.source, _IMPORTS)

    @staticmethod
    def _is_tensorflow(target: str) -> bool:
        return target == "tensorflow" or target.startswith("tensorflow.")

    @cached_property
    def uses_tpu(self) -> bool:
        """Whether the program is written for TPUs: it sets them up, or a file that it imports does, and has no GPUs."""
        source = self.file.source
        data = source.code.encode("utf-8", "replace")
        if any(substring in data for substring in _TPUS):
            return True
        project = self.inference.project
        helpers = map(project.mentioned, project.imports_of(source.path, data))
        return any(helper.any_of(_TPUS) and not helper[b"MirroredStrategy("] for helper in helpers)

    @cached_property
    def first_training(self) -> FirstTraining | None:
        """The first place that trains when the file is run, else that predicts; None where none must.

        In the order in which the file's top level gets there, into functions of the project, also of other files.
        """
        direct = self._trains_at_top_level()
        if direct is not None:
            return direct
        first, keeps = self._first_of(frozenset())
        return self._first_of(_KEEPING)[0] if first is None and keeps else first

    def _first_of(self, running: frozenset[str]) -> tuple[FirstTraining | None, bool]:
        """The first training among what calls run; those of some functions, too, that only keep what they are given.

        And whether one of these was met.
        """
        weaker: FirstTraining | None = None
        keeps = False
        for invocation in self.invocations.of_program(_KEEPING - running):
            file, call = invocation.file, invocation.call
            keeps = keeps or file.name(call.func) in _KEEPING
            node = self._trains(file, call)
            if node is None or self._runs_elsewhere(file, call):
                continue
            place = node if file is self.file else self._own_call(invocation).func
            first = self._first(place, file, node, call, invocation.entry, invocation.context)
            if method_name(call) not in FORWARD_METHODS:
                return first, keeps
            weaker = weaker or first
        return weaker, keeps

    def _first(
        self, place: Node, file: File, node: Node, call: cst.Call, entry: cst.Call, context: Context | None = None
    ) -> FirstTraining:
        above = self.file.tree.ancestors(entry)
        main = next((block for block in above if isinstance(block, cst.If) and asks_for_main(block.test)), None)
        is_self_test = main is not None and file is self.file and self._tries_out(call, main, context)
        return FirstTraining(place, file, node, entry, main, is_self_test)

    def _tries_out(self, call: cst.Call, main: cst.If, context: Context | None) -> bool:
        """Whether a main block runs what the file makes for others: on made-up numbers, or itself predicts once."""
        file, predicts = self.file, method_name(call) in FORWARD_METHODS
        model = self.kinds.receiver(file, call, *RUNNING_METHODS)
        if model is None or not self.try_outs.is_fresh(RunSite(file, call), file, model, context):
            return False
        is_once = predicts and file.tree.within(call, main) and not any(loops_around(file, call))
        data = call.args[: 1 if predicts else 2]
        return is_once or (bool(data) and all(self._is_made_up(file, arg.value, context) for arg in data))

    def _is_made_up(self, file: File, expr: Expression, context: Context | None) -> bool:
        return self.inference.must_be(file, expr, self._is_drawn, context)

    def _is_drawn(self, origin: Origin) -> bool:
        """Whether a value is of numbers that nobody measured, or a list of such values."""
        node = origin.node
        if isinstance(node, cst.Tuple | cst.List) and node.elements and not origin.access_path:
            return all(self._is_made_up(origin.file, part, origin.context) for part in displayed(node))
        return origin.made_by is not None and _MADE_UP.fullmatch(origin.made_by) is not None

    def _trains_at_top_level(self) -> FirstTraining | None:
        """The first training among the module's own statements: the place that a user would point at."""
        tree = self.file.tree
        calls = (*self.file.method_calls("fit", "train_on_batch", *_UPDATING), *self.file.calls(*TAPES))
        for call in sorted((c for c in calls if tree.function(c) is None), key=tree.order.__getitem__):
            node = self._trains(self.file, call)
            if node is not None and not self._runs_elsewhere(self.file, call):
                return self._first(node, self.file, node, call, call)
        return None

    def _runs_elsewhere(self, file: File, call: cst.Call) -> bool:
        """Whether a call runs in a graph of TensorFlow 1, or on the CPU as the program says."""
        return self.runtime.is_graph_code(file, call) or self.runtime.is_on_cpu(file, call)

    def _trains(self, file: File, call: cst.Call) -> Node | None:
        if self.kinds.receiver(file, call, *RUNNING_METHODS) is not None:
            assert isinstance(call.func, cst.Attribute)
            return call.func.attr
        if file.name(call.func) in TAPES and self._updates_with_tape(file, call):
            return call.func
        is_step = method_name(call) == "apply_gradients" or self.training.minimized(file, call) is not None
        return call.func if is_step else None

    def _updates_with_tape(self, file: File, tape: cst.Call) -> bool:
        """Whether weights are updated in the tape's loop, or without one in its function or block."""
        tree = file.tree
        function = tree.function(tape)
        for loop in loops_around(file, tape):
            return any(method_name(call) in UPDATES for call in file.calls_below.get(loop, ()))
        calls = file.calls_in.get(function, ())
        if function is not None:
            return any(method_name(call) in UPDATES for call in calls)
        block = tree.block(tree.statement(tape))
        return any(method_name(c) in _UPDATING and tree.block(c) is block for c in calls)

    def _own_call(self, invocation: Invocation) -> cst.Call:
        """The last call of the file itself on the way to one."""
        own = [frame.node for frame in invocation.path if frame.file is self.file]
        call = invocation.call if invocation.file is self.file or not own else own[-1]
        assert isinstance(call, cst.Call)
        return call
