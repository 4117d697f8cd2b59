"""Functions under `tf.function` that call themselves, at once or through others."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

import libcst as cst

from tflint_gpu.bounds import RECURSION_CALLS, RECURSION_FUNCTIONS
from tflint_gpu.lazy_dataclasses import dataclass
from tflint_gpu.model import Analysis, Frame, Function, FunctionNode, Node, Once, Tracing


@dataclass(frozen=True, slots=True)
class Recursion:
    """A decorated function that calls itself.

    Arguments:
        paths: each way back to it, as the calls that lead there; the last one is of the function itself.
    """

    function: Function
    paths: tuple[tuple[Frame, ...], ...]


class Recursions(Analysis):
    """Questions about the recursive functions of one file."""

    tracing = Once(Tracing)

    @cached_property
    def all(self) -> list[Recursion]:
        """The recursive functions; of several that call each other the first."""
        recursions: list[Recursion] = []
        reported: set[Node] = set()
        for node, place in self.tracing.wrapped(self.file).items():
            if not isinstance(place, cst.Decorator) or node in reported or self._is_redefined(node):
                continue
            function = self.inference.definitions.function(self.file, node)
            paths = tuple(self._ways_back(function, reported))
            if paths:
                recursions.append(Recursion(function, paths))
        return recursions

    def _is_redefined(self, node: FunctionNode) -> bool:
        """Whether its name means something else too, so that a call of it may not come back."""
        scope = self.file.tree.scopes[node].parent
        return isinstance(node, cst.FunctionDef) and scope is not None and len(scope.bindings[node.name.value]) > 1

    def _ways_back(self, root: Function, reported: set[Node]) -> Iterator[tuple[Frame, ...]]:
        # What holds the function makes another one of it in each call.
        seen: set[Node] = {root.node, *root.file.enclosing_functions(root.node)}
        queue: list[tuple[Function, tuple[Frame, ...]]] = [(root, ())]
        for function, path in queue:  # grows meanwhile
            for call in function.calls:
                callee = self._called(function, call)
                if callee is None:
                    continue
                way = (*path, Frame(function.file, call, f"calls `{callee.name}`"))
                if callee.node is root.node:
                    reported.update(self._around(step) for step in way)
                    yield way
                elif callee.node in seen:
                    continue
                elif len(way) >= RECURSION_CALLS.limit or len(queue) >= RECURSION_FUNCTIONS.limit:
                    if callee.calls:
                        is_far = len(way) >= RECURSION_CALLS.limit
                        self.inference.meet(RECURSION_CALLS if is_far else RECURSION_FUNCTIONS)
                else:
                    seen.add(callee.node)
                    queue.append((callee, way))

    def _called(self, function: Function, call: cst.Call) -> Function | None:
        """The function that a call runs; of methods only those of the same object: others may be its parts."""
        callee = self.inference.called(function.file, call)
        if callee is None or not callee.is_method:
            return callee
        func = call.func
        if not isinstance(func, cst.Attribute) or callee.name == "__call__":
            return None
        return callee if self.inference.definitions.self_class(function.file, func.value) is not None else None

    def _around(self, step: Frame) -> Node:
        return step.file.tree.function(step.node) or step.file.tree.module
