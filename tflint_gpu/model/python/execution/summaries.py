"""What code does, itself or by what it calls: found out once for each function, and looked up by all that call it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeAlias

import libcst as cst

from tflint_gpu.bounds import REGION_FUNCTIONS
from tflint_gpu.model.python.project.file import File
from tflint_gpu.model.python.project.functions import Function
from tflint_gpu.model.python.syntax.syntax import Node
from tflint_gpu.model.python.value_flow.inference import Inference

Fact: TypeAlias = Callable[[File, Node], bool]


class Summaries:
    """Whether some region of code, or a function that it runs, has a property.

    Arguments:
        fact: whether a region, a loop, function or block, has it by what is in it.
        runs: the functions that a call runs.
    """

    def __init__(self, inference: Inference, fact: Fact, runs: Callable[[File, cst.Call], Iterable[Function]]) -> None:
        self._inference = inference
        self._fact = fact
        self._runs = runs
        self._known: dict[Node, bool] = {}

    def holds(self, file: File, region: Node) -> bool:
        """Whether it is so of a loop, function or block."""
        known = self._known
        if region not in known:
            reached: dict[Node, File] = {region: file}
            queue = [region]
            for node in queue:  # grows meanwhile
                if self._holds_itself(reached[node], node):
                    known[region] = True
                    return True
                if node in known or len(reached) > REGION_FUNCTIONS.limit:  # nothing in it, by what is known
                    self._meet_bound(node in known, reached, node)
                    continue
                for function in self._functions_of(reached[node], node):
                    if function.node not in reached:
                        reached[function.node] = function.file
                        queue.append(function.node)
            known.update(dict.fromkeys(reached, False))
        return known[region]

    def _holds_itself(self, file: File, node: Node) -> bool:
        known = self._known.get(node)
        return self._fact(file, node) if known is None else known

    def _functions_of(self, file: File, node: Node) -> Iterable[Function]:
        for call in file.calls_below.get(node, ()):
            yield from self._runs(file, call)

    def _meet_bound(self, is_known: bool, reached: dict[Node, File], node: Node) -> None:
        if is_known or REGION_FUNCTIONS in self._inference.bounds_met:
            return
        if any(function.node not in reached for function in self._functions_of(reached[node], node)):
            self._inference.meet(REGION_FUNCTIONS)
