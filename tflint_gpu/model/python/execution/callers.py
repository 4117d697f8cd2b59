"""Who runs some code: from a place to the calls of the function that holds it, and so on outwards."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import libcst as cst

from tflint_gpu.bounds import CALLERS
from tflint_gpu.model.python.execution.walks import Frame
from tflint_gpu.model.python.project.file import File
from tflint_gpu.model.python.project.functions import Function
from tflint_gpu.model.python.syntax.syntax import FunctionNode, LoopNode, Node
from tflint_gpu.model.python.value_flow.inference import Inference


@dataclass(frozen=True, slots=True)
class RunSite:
    """Where some code is run from: itself, or a call that leads to it.

    Arguments:
        path: the calls from here to the code, outermost first.
    """

    file: File
    node: Node
    path: tuple[Frame, ...] = ()

    @property
    def function(self) -> FunctionNode | None:
        """The function that holds it; None for a module's own code."""
        return self.file.tree.function(self.node)

    def loops(self) -> Iterator[LoopNode]:
        """The loops of the same function in whose iterations it runs, innermost first."""
        return loops_around(self.file, self.node)


def callers(inference: Inference, site: RunSite) -> Iterator[RunSite]:
    """The calls of the function that holds a place; none for a module's own code, a lambda, or behind the bound."""
    node = site.function
    if not isinstance(node, cst.FunctionDef):
        return
    function = inference.definitions.function(site.file, node)
    if len(site.path) >= CALLERS.limit:
        if inference.call_sites(function):
            inference.meet(CALLERS)
        return
    yield from (call_site(function, file, call, site) for file, call in inference.call_sites(function))


def call_site(function: Function, file: File, call: cst.Call, site: RunSite) -> RunSite:
    """A call of the function that holds a place, as the place from which that is run."""
    return RunSite(file, call, (Frame(file, call, f"calls `{function.name}`"), *site.path))


def loops_around(file: File, node: Node) -> Iterator[LoopNode]:
    """The loops in whose iterations a place of the same function is, innermost first."""
    function = file.tree.function(node)
    child = node
    for parent in file.tree.ancestors(node):
        if isinstance(parent, cst.For | cst.While) and child is parent.body and file.tree.function(parent) is function:
            yield parent
        child = parent
