"""The calls that code runs: its own, and those of the functions that it calls, each with the way that leads to it."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator

import libcst as cst

from tflint_gpu.bounds import WALK_CALLS
from tflint_gpu.lazy_dataclasses import dataclass
from tflint_gpu.model.python.project.file import File
from tflint_gpu.model.python.project.functions import Function
from tflint_gpu.model.python.syntax.syntax import Expression, LoopNode, Node
from tflint_gpu.model.python.value_flow.calls import Callee
from tflint_gpu.model.python.value_flow.inference import Inference
from tflint_gpu.model.python.value_flow.origins import Context


@dataclass(frozen=True, slots=True)
class Frame:
    """One call on the way to some code, or the place where that way begins.

    Arguments:
        text: what it does, in words: "calls `train_step`".
    """

    file: File
    node: Node
    text: str


@dataclass(frozen=True, slots=True)
class Invocation:
    """A call that some code runs, with its execution context.

    Arguments:
        file: of `call`.
        context: the values with which the function that holds it was called, as far as that is known.
        root: the loop, function or module (None) whose code runs it; in `root_file`.
        path: the calls that lead from there to it, outermost first.
        functions: that these calls enter, outermost first; the last one holds `call`.
        names: the local names there that hold data of the root: what a loop yields.
    """

    file: File
    call: cst.Call
    context: Context | None
    root_file: File
    root: Node | None
    path: tuple[Frame, ...] = ()
    functions: tuple[Function, ...] = ()
    names: frozenset[str] = frozenset()

    @property
    def entry(self) -> cst.Call:
        """The call in the root's own code that leads to this one; this one where it is there."""
        first = self.path[0].node if self.path else self.call
        assert isinstance(first, cst.Call)
        return first

    @property
    def given(self) -> list[Expression]:
        """What the entry gives to what it runs: `x` in `step(x)` and in `functools.partial(step, x)()`."""
        expr: Expression = self.entry
        given: list[Expression] = []
        while isinstance(expr, cst.Call):
            given += [arg.value for arg in expr.args]
            expr = expr.func
        return given

    @property
    def loop(self) -> LoopNode:
        """The root of a walk that began with a loop."""
        assert isinstance(self.root, cst.For | cst.While | cst.BaseComp | cst.Call)
        return self.root

    @property
    def places(self) -> list[tuple[File, Node]]:
        """The call, and those on the way to it, in their files."""
        return [(self.file, self.call), *((frame.file, frame.node) for frame in self.path)]


@dataclass(frozen=True, slots=True)
class Entered:
    """A function that a call runs, and the context in which it does."""

    callee: Callee
    context: Context | None


@dataclass(frozen=True, slots=True)
class Route:
    """Which functions a walk enters, as a query configures it.

    Arguments:
        entered: the functions that a call runs.
        names: the local names of a function that hold what the root's data are, when a call enters it.
        in_order: whether the calls come in the order in which they run, and not those first that are fewest calls away.
        by_each: whether each call that runs a function enters it, and not the first one alone.
    """

    entered: Callable[[Invocation], Iterable[Entered]]
    names: Callable[[Invocation, Callee], frozenset[str]] | None = None
    in_order: bool = False
    by_each: Callable[[Function], bool] = lambda function: False


def walk(inference: Inference, own: Iterable[Invocation], route: Route) -> Iterator[Invocation]:
    """The calls of some code, and of all functions that it runs; each is entered once, or once by each call of it.

    Arguments:
        own: the calls in the code itself.
    """
    waiting = deque(own)
    entered: set[tuple[Node, Node | None]] = set()
    while waiting:
        invocation = waiting.popleft()
        yield invocation
        inner: list[Invocation] = []
        for entered_function in route.entered(invocation):
            function = entered_function.callee.function
            key = function.node, invocation.call if route.by_each(function) else None
            if key in entered:
                continue
            if len(invocation.path) >= WALK_CALLS.limit:
                inference.meet(WALK_CALLS)
                break
            entered.add(key)
            inner += _calls_of(invocation, entered_function, route)
        if route.in_order:
            waiting.extendleft(reversed(inner))
        else:
            waiting.extend(inner)


def _calls_of(invocation: Invocation, entered: Entered, route: Route) -> list[Invocation]:
    """The calls in a function that a call runs."""
    function = entered.callee.function
    frame = Frame(invocation.file, invocation.call, f"calls `{function.name}`")
    names = route.names(invocation, entered.callee) if route.names is not None else frozenset()
    path, functions = (*invocation.path, frame), (*invocation.functions, function)
    root = invocation.root_file, invocation.root
    return [Invocation(function.file, call, entered.context, *root, path, functions, names) for call in function.calls]


def is_once_in_iteration(run: Invocation) -> bool:
    """Whether no loop within a loop's iteration, nor in the functions on the way, repeats a call."""
    stops = cst.For | cst.While | cst.BaseComp | cst.FunctionDef | cst.Lambda
    around = [next((p for p in where.tree.ancestors(n) if isinstance(p, stops)), None) for where, n in run.places]
    return all(p is run.loop or isinstance(p, cst.FunctionDef | cst.Lambda) for p in around)
