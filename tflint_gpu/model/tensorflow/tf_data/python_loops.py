"""Python loops in functions that a pipeline runs on the host: Python's lock lets one thread at a time run them."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from tflint_gpu.bounds import LOCKED_CALLS
from tflint_gpu.lazy_dataclasses import dataclass
from tflint_gpu.model.library.datasets import FLATTENING
from tflint_gpu.model.library.files import SLOW_OF_NUMPY
from tflint_gpu.model.library.higher_order import PYTHON_FUNCTIONS
from tflint_gpu.model.model import Analysis, Once
from tflint_gpu.model.python.project.file import File
from tflint_gpu.model.python.project.functions import Function
from tflint_gpu.model.python.syntax.children import walk
from tflint_gpu.model.python.syntax.containers import COMPUTING
from tflint_gpu.model.python.syntax.syntax import LoopNode, Node, argument, iterable, method_name
from tflint_gpu.model.python.value_flow.calls import Callee
from tflint_gpu.model.python.value_flow.origins import Context
from tflint_gpu.model.tensorflow.tf_data.chains import Chain, Operation
from tflint_gpu.model.tensorflow.tf_data.mapped_functions import MappedFunctions

_FEW = 5
_LOOPS = (cst.For, cst.While)
_BUILTINS = COMPUTING | frozenset("int float str bool round filter divmod pow print chr ord slice iter next".split())
# Methods of arrays, strings, lists and dictionaries. What else a method is called may be anybody's.
_METHODS = frozenset(
    (
        "numpy astype reshape decode encode copy transpose mean std min max argmax argmin clip any all round cumsum "
        "append extend insert pop remove reverse sort index count split strip rsplit join lower upper replace find "
        "startswith endswith isdigit isalpha item tolist flatten ravel squeeze get items keys values setdefault "
        "sum fill nonzero"
    ).split()
)
_LIBRARIES = ("numpy.", "math.", "random.", "operator.", "itertools.", "collections.")


@dataclass(frozen=True, slots=True)
class PythonLoop:
    """A loop that runs for every element.

    Arguments:
        file, call: where TensorFlow is given the function that has the loop.
        home, loop: the loop and its file.
    """

    file: File
    call: cst.Call
    home: File
    loop: LoopNode


class PythonLoops(Analysis):
    """Analysis of what a dataset's functions run in Python."""

    mapped_functions = Once(MappedFunctions)

    def of(self, operation: Operation) -> PythonLoop | None:
        """The loop that certainly keeps an operation's function under Python's lock."""
        for name, file, call, context in self.mapped_functions.named_calls(operation):
            target = argument(call, 0, "func") if name in PYTHON_FUNCTIONS else None
            callees = self.inference.callables(file, target, context) if target is not None else ()
            if len(callees) == 1:
                loop = self._loop(callees[0])
                if loop is not None:
                    return PythonLoop(file, call, *loop)
        return None

    def of_generator(self, file: File, call: cst.Call, context: Context | None = None) -> PythonLoop | None:
        """The loop that the generator of a `from_generator` certainly runs under Python's lock for each element."""
        target = argument(call, 0, "generator")
        callees = self.inference.callables(file, target, context) if target is not None else ()
        loop = self._loop(callees[0]) if len(callees) == 1 else None
        return PythonLoop(file, call, *loop) if loop is not None else None

    def generators(self, chain: Chain) -> Iterator[tuple[File, cst.Call, Context | None]]:
        """The calls of `from_generator` that give a chain its elements: its source, or within an `interleave`."""
        made = chain.made
        if made is not None and made.name == "from_generator":
            yield made.file, made.call, made.context
        for operation in chain.operations:
            if operation.name in FLATTENING:
                for name, file, call, context in self.mapped_functions.named_calls(operation):
                    if name.endswith("data.Dataset.from_generator"):
                        yield file, call, context

    def _loop(self, callee: Callee) -> tuple[File, LoopNode] | None:
        """The first loop of a function and those that it calls, where nothing of them may leave the lock.

        Of a generator, one that runs between two elements.
        """
        seen: dict[Node, Function] = {}
        queue = [(callee.function, 0)]
        for function, depth in queue:  # grows meanwhile
            if function.node in seen:
                continue
            seen[function.node] = function
            if self.inference.definitions.decorators.may_replace(function.file, function.node):
                return None
            for call in function.calls:
                called = self.inference.callees(function.file, call)
                if len(called) == 1 and depth < LOCKED_CALLS.limit:
                    queue.append((called[0].function, depth + 1))
                elif not _stays_locked(function.file, call):
                    if len(called) == 1:
                        self.inference.meet(LOCKED_CALLS)
                    return None
        return next((loop for function in seen.values() for loop in self._loops(function)), None)

    def _loops(self, function: Function) -> Iterator[tuple[File, LoopNode]]:
        file = function.file
        for loop in file.tree.all_loops:
            if file.tree.function(loop) is not function.node or self._is_short(file, loop):
                continue
            if not _yields(function.node) or (
                not _yields(loop) and any(isinstance(a, _LOOPS) and _yields(a) for a in file.tree.ancestors(loop))
            ):
                yield file, loop

    def _is_short(self, file: File, loop: LoopNode) -> bool:
        """Whether a loop must have few iterations."""
        over = iterable(loop)
        if isinstance(over, cst.List | cst.Tuple):
            return len(over.elements) <= _FEW
        if isinstance(over, cst.Call) and file.names.is_builtin(over.func, "range") and len(over.args) == 1:
            count = self.constants.of(file, over.args[0].value)
            return isinstance(count, int) and count <= _FEW
        return False


def _yields(node: Node) -> bool:
    """Whether there is a `yield` in a function or a loop."""
    return any(isinstance(part, cst.Yield) for part in walk(node))


def _stays_locked(file: File, call: cst.Call) -> bool:
    """Whether a call must be Python's own work, or NumPy's on a few numbers."""
    name = file.name(call.func)
    if name is not None:
        return name.startswith(_LIBRARIES) and not name.startswith(SLOW_OF_NUMPY)
    if isinstance(call.func, cst.Name):
        return any(file.names.is_builtin(call.func, builtin) for builtin in _BUILTINS)
    return method_name(call) in _METHODS
