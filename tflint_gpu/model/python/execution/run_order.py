"""Which code a program may run after some other code has run."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeAlias

import libcst as cst

from tflint_gpu.model.python.execution.callers import CONSTRUCTORS, RunSite, loops_around, ways
from tflint_gpu.model.python.project.file import File
from tflint_gpu.model.python.syntax.syntax import FunctionNode, Node
from tflint_gpu.model.python.value_flow.inference import Inference

_Body: TypeAlias = tuple[File, FunctionNode | None]
"""A function, or the code of a module."""


class RunOrder:
    """What may run between two runs of some places, by the functions and modules that lead to both.

    Arguments:
        sites: the places.
    """

    def __init__(self, inference: Inference, sites: Iterable[RunSite]) -> None:
        self._inference = inference
        self._bodies = self._leading_to(sites)
        self._is_open_anywhere = any(map(self._is_open, self._bodies))

    def _leading_to(self, sites: Iterable[RunSite]) -> dict[_Body, set[Node]]:
        """For each function on the way to some places, the nodes in it from which they are run."""
        bodies: dict[_Body, set[Node]] = {}
        for place in (way for site in sites for way in ways(self._inference, site)):
            bodies.setdefault((place.file, place.function), set()).add(place.node)
        return bodies

    def lies_between(self, file: File, node: Node, *, is_the_same_each_time: bool = False) -> bool:
        """Whether a place may run after the others have run once, and before they run again.

        Arguments:
            is_the_same_each_time: whether it changes nothing when a function that nothing is seen to call, which runs
                it before the others, is called again.
        """
        is_after, is_before = False, self._is_open_anywhere
        if self._runs_beside(RunSite(file, node)):
            return True
        for body, nodes in self._leading_to([RunSite(file, node)]).items():
            is_open, sites = self._is_open(body), self._bodies.get(body)
            if sites is None:
                is_after, is_before = is_after or is_open, is_before or is_open
                continue
            in_file = body[0]
            is_after |= any(_comes_after(in_file, own, site) for own in nodes for site in sites)
            is_before |= any(_comes_after(in_file, site, own) for own in nodes for site in sites)
            is_after |= is_open and not is_the_same_each_time
        return is_after and is_before

    def _runs_beside(self, site: RunSite) -> bool:
        """Whether another thread than that of the places runs some code, at any time."""
        leading = ways(self._inference, site, lambda way: (way.file, way.function) not in self._bodies)
        return any(way.is_beside for way in leading)

    def lies_between_in(self, file: File, function: FunctionNode | None, node: Node) -> bool:
        """The same within one run of the function that holds a place, or of its module."""
        sites = self._bodies.get((file, function), ())
        is_after = any(_comes_after(file, node, site) for site in sites)
        return is_after and any(_comes_after(file, site, node) for site in sites)

    def comes_after(self, file: File, node: Node) -> bool:
        """Whether the places come after another one in the text of a function or module that leads to both."""
        return any(
            body[0].tree.order[site] > body[0].tree.order[own]
            for body, nodes in self._leading_to([RunSite(file, node)]).items()
            for own in nodes
            for site in self._bodies.get(body, ())
        )

    def leads_through(self, file: File, node: Node) -> bool:
        """Whether the function that holds a place is on the way to the others."""
        return (file, file.tree.function(node)) in self._bodies

    def _is_open(self, body: _Body) -> bool:
        """Whether it is a function that anything may call: nothing is seen to do so; not one that makes an object."""
        file, function = body
        if function is None or (isinstance(function, cst.FunctionDef) and function.name.value in CONSTRUCTORS):
            return False
        if isinstance(function, cst.Lambda):
            return True
        return not self._inference.call_sites(self._inference.definitions.function(file, function))


def _comes_after(file: File, later: Node, earlier: Node) -> bool:
    """Whether a place of a function may run after another one of it, in its order or in a loop around both."""
    if later is not earlier and file.tree.order[later] > file.tree.order[earlier]:
        return True
    around = {*loops_around(file, later), *([later] if isinstance(later, cst.For) else ())}
    return any(loop in around for loop in loops_around(file, earlier))
