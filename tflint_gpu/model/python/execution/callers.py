"""Who runs some code: from a place to the calls of the function that holds it, and so on outwards."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator

import libcst as cst

from tflint_gpu.bounds import CALLERS
from tflint_gpu.lazy_dataclasses import dataclass
from tflint_gpu.model.python.execution.walks import Frame
from tflint_gpu.model.python.project.file import File
from tflint_gpu.model.python.syntax.syntax import FunctionNode, LoopNode, Node, asks_for_main
from tflint_gpu.model.python.value_flow.inference import Inference

CONSTRUCTORS = frozenset(["__init__", "__new__", "__post_init__", "build"])
"""Methods that prepare a new object: they run once for each."""
_RUN_BY_LOOPS = frozenset(["__getitem__", "__next__", "__iter__"])


@dataclass(frozen=True, slots=True)
class RunSite:
    """Where some code is run from: itself, or a call that leads to it.

    Arguments:
        path: the calls from here to the code, outermost first.
        is_loop: whether it is a call that runs the code for each element of something: `map(step, data)`.
        is_beside: whether it is a call that has another thread run the code: `Thread(target=step)`.
    """

    file: File
    node: Node
    path: tuple[Frame, ...] = ()
    is_loop: bool = False
    is_beside: bool = False

    @property
    def function(self) -> FunctionNode | None:
        """The function that holds it; None for a module's own code."""
        return self.file.tree.function(self.node)

    @property
    def loop(self) -> LoopNode:
        """The loop that the place is."""
        assert isinstance(self.node, cst.For | cst.While | cst.BaseComp | cst.Call)
        return self.node

    def loops(self) -> Iterator[LoopNode]:
        """The loops of the same function in whose iterations it runs, innermost first."""
        if self.is_loop:
            yield self.loop
        yield from loops_around(self.file, self.node)


def callers(inference: Inference, site: RunSite) -> Iterator[RunSite]:
    """The calls of the function that holds a place; none for a module's own code, or after the bound."""
    node = site.function
    if node is None:
        return
    function = inference.definitions.function(site.file, node)
    if len(site.path) >= CALLERS.limit:
        if inference.call_sites(function):
            inference.meet(CALLERS)
        return
    for file, call in inference.call_sites(function):
        handing = inference.handing(file, call)
        is_loop, is_beside = (handing.repeats, handing.mode == "host") if handing is not None else (False, False)
        yield RunSite(file, call, (Frame(file, call, f"calls `{function.name}`"), *site.path), is_loop, is_beside)


def ways(
    inference: Inference, site: RunSite, goes_on: Callable[[RunSite], bool] = lambda site: True
) -> Iterator[RunSite]:
    """A place, and all from which it is run; the callers of each function once.

    Arguments:
        goes_on: whether the callers of a place count, too.
    """
    waiting, seen = [site], set[Node | None]()
    for place in waiting:  # grows meanwhile
        yield place
        if place.function not in seen and goes_on(place):
            seen.add(place.function)
            waiting.extend(callers(inference, place))


def repeats(inference: Inference, site: RunSite, each: Collection[FunctionNode] = ()) -> bool:
    """Whether a program may run a place again and again: in a loop, by its caller's, or as a method that loops run.

    Arguments:
        each: functions that are run for each element of something.
    """
    for place in ways(inference, site):
        function = place.function
        if function in each or (isinstance(function, cst.FunctionDef) and function.name.value in _RUN_BY_LOOPS):
            return True
        if any(place.loops()):
            return True
    return False


def runs_once(inference: Inference, site: RunSite) -> bool:
    """Whether a program certainly runs a place no more than once."""
    seen = set[Node]()
    while site.node not in seen:
        seen.add(site.node)
        if any(site.loops()):
            return False
        function, sites = site.function, list(callers(inference, site))
        if len(sites) > 1:
            sites = [caller for caller in sites if _is_of_program(inference, caller, set())]
        if len(sites) != 1:
            is_of_object = isinstance(function, cst.FunctionDef) and function.name.value in CONSTRUCTORS
            return not sites and not is_of_object
        (site,) = sites
    return False


def _is_of_program(inference: Inference, site: RunSite, seen: set[FunctionNode]) -> bool:
    """Whether the program that is checked may run a place: not what another file does as a program by itself."""
    function, is_entry = site.function, site.file is inference.entry
    if function is None:
        return is_entry or not is_in_main_block(site.file, site.node)
    if function in seen:
        return False
    seen.add(function)
    sites = list(callers(inference, site))
    return any(_is_of_program(inference, caller, seen) for caller in sites) if sites else is_entry


def is_in_main_block(file: File, node: Node) -> bool:
    """Whether a place only runs where its file is the program."""
    return any(isinstance(ancestor, cst.If) and asks_for_main(ancestor.test) for ancestor in file.tree.ancestors(node))


class EveryWay:
    """Whether something is so on every way that leads to a place.

    Arguments:
        decide: whether it is so by what is seen at a place, or at a call that leads to it; None: its callers decide.
        uncalled: whether it is so of a place in a function that nothing is seen to call.
    """

    def __init__(
        self,
        inference: Inference,
        decide: Callable[[RunSite], bool | None],
        uncalled: Callable[[RunSite], bool] = lambda site: False,
    ) -> None:
        self._inference = inference
        self._decide = decide
        self._uncalled = uncalled
        self._of_callers: dict[Node, bool] = {}

    def holds(self, site: RunSite) -> bool:
        """Whether it is so of a place; of a function that calls itself, the other callers decide."""
        decided = self._decide(site)
        function = site.function
        if decided is not None or function is None:
            return bool(decided)
        known = self._of_callers
        if function not in known:
            before = len(known)
            known[function] = True
            sites = [caller for caller in callers(self._inference, site) if caller.function is not function]
            if not (all(map(self.holds, sites)) if sites else self._uncalled(site)):
                for supposed in [*known][before:]:
                    if known[supposed]:
                        del known[supposed]
                known[function] = False
        return known[function]


def loops_around(file: File, node: Node) -> Iterator[LoopNode]:
    """The loops and comprehensions in whose iterations a place of the same function is, innermost first."""
    function = file.tree.function(node)
    for parent in file.tree.ancestors(node):
        if isinstance(parent, cst.For | cst.While | cst.BaseComp) and is_in_iteration(file, parent, node):
            if file.tree.function(parent) is not function:
                return
            yield parent


def is_in_iteration(file: File, loop: LoopNode | FunctionNode, node: Node) -> bool:
    """Whether a node below a loop runs in its iterations: not what is evaluated once, nor `else`; or in a function."""
    if isinstance(loop, cst.Call):
        return node is loop
    if isinstance(loop, cst.BaseComp):
        return not file.tree.within(node, loop.for_in.iter)
    if isinstance(loop, cst.While):
        return file.tree.within(node, loop.body) or file.tree.within(node, loop.test)
    return file.tree.within(node, loop.body)
