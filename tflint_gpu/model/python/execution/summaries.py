"""What code does, itself or by what it calls: found out once for each function, and looked up by all that call it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeAlias

import libcst as cst

from tflint_gpu.bounds import REGION_FUNCTIONS
from tflint_gpu.model.python.project.file import File
from tflint_gpu.model.python.project.functions import Function
from tflint_gpu.model.python.seen.answers import Answers
from tflint_gpu.model.python.syntax.syntax import Node
from tflint_gpu.model.python.value_flow.inference import Inference

Fact: TypeAlias = Callable[[File, Node], bool]


class Summaries:
    """Whether some region of code, or a function that it runs, has a property.

    Arguments:
        what: names the property.
        fact: whether a region, a loop, function or block, has it by what is in it.
        runs: the functions that a call runs.
    """

    def __init__(
        self, inference: Inference, what: str, fact: Fact, runs: Callable[[File, cst.Call], Iterable[Function]]
    ) -> None:
        self._inference = inference
        self._fact = fact
        self._runs = runs
        self._held: Answers[Node, bool] = inference.seen.answers(what, meanwhile=False)
        self._run: Answers[Node, tuple[Function, ...]] = inference.seen.answers(f"run where {what}", meanwhile=())

    def holds(self, file: File, region: Node) -> bool:
        """Whether it is so of a loop, function or block."""
        return self._held.ask(region, self._inference.is_own(file), lambda: self._reaches(file, region))

    def _reaches(self, file: File, region: Node) -> bool:
        looks = self._inference.seen.work.looks
        reached: dict[Node, File] = {region: file}
        queue = [region]
        for node in queue:  # grows meanwhile
            known = self._held.known(node) if node is not region else None
            if known or (known is None and self._fact(reached[node], node)):
                return True
            if known is not None or len(reached) > REGION_FUNCTIONS.limit:  # nothing in it, by what is known
                if known is None and any(f.node not in reached for f in self._functions_of(reached[node], node)):
                    self._inference.meet(REGION_FUNCTIONS)
                continue
            for function in self._functions_of(reached[node], node):
                if function.node not in reached:
                    reached[function.node] = function.file
                    queue.append(function.node)
        self._held.note(((node, self._inference.is_own(in_file)) for node, in_file in reached.items()), False, looks)
        return False

    def _functions_of(self, file: File, node: Node) -> tuple[Function, ...]:
        def run() -> tuple[Function, ...]:
            return tuple(function for call in file.calls_below.get(node, ()) for function in self._runs(file, call))

        return self._run.ask(node, self._inference.is_own(file), run)
