"""Numbers and lists of a module that a `tf.function` reads, and that the program changes while it runs."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

import libcst as cst

from tflint_gpu.bounds import GLOBAL_SITES
from tflint_gpu.lazy_dataclasses import dataclass
from tflint_gpu.model import (
    Analysis,
    Binding,
    Expression,
    Node,
    Once,
    RunSite,
    Traced,
    TracedCode,
    entry,
    loops_around,
    runs_once,
    walk,
    ways,
    yields_numbers,
)

_ARITHMETIC = frozenset("int float bool len abs min max round sum list tuple sorted".split())
_PLAIN = (cst.Integer, cst.Float, cst.List, cst.Tuple)


@dataclass(frozen=True, slots=True)
class FrozenGlobal:
    """A read of a global whose value at tracing stays in the graph.

    Arguments:
        name: where it is read.
        changes: the statements that change it later.
    """

    traced: Traced
    name: cst.Name
    changes: tuple[Node, ...]


class FrozenGlobals(Analysis):
    """Questions about the globals of one file."""

    code = Once(TracedCode)

    @cached_property
    def all(self) -> list[FrozenGlobal]:
        """The first read of each such global in each function that `tf.function` traces."""
        return [read for traced in self.code.functions for read in self._read_in(traced)] if self._numbers else []

    @cached_property
    def _numbers(self) -> dict[str, list[Binding]]:
        """The globals that are numbers or lists at first, and get several values; those that a loop counts, too."""
        return {
            name: bindings
            for name, bindings in self.file.tree.root.bindings.items()
            if self._is_counted(bindings[0])
            or (len(bindings) > 1 and self._is_plain(bindings[0]) and isinstance(bindings[0].value, _PLAIN))
        }

    def _is_counted(self, binding: Binding) -> bool:
        """Whether a loop gives a name another number in each iteration: `for epoch in range(20)`."""
        if not isinstance(binding.node, cst.For) or binding.value is None:
            return False
        return yields_numbers(self.inference, self.file, binding.value, binding.path)

    def _is_plain(self, binding: Binding) -> bool:
        if binding.kind not in ("assign", "augment") or binding.value is None or binding.path:
            return False
        return all(
            not isinstance(node, cst.Call) or any(self.file.names.is_builtin(node.func, name) for name in _ARITHMETIC)
            for node in walk(binding.value)
        )

    def _read_in(self, traced: Traced) -> Iterator[FrozenGlobal]:
        if traced.file is not self.file or traced.keras or not self._is_traced_once(traced):
            return
        own = self.file.tree.scopes[traced.function.node]
        reported: set[str] = set()
        for node in walk(traced.function.node.body):
            if not isinstance(node, cst.Name) or node.value not in self._numbers or node.value in reported:
                continue
            if own.outer_names.get(node.value) or not self._is_the_global(node):
                continue
            changes = tuple(self._changes(traced, self._numbers[node.value]))
            if changes and not self.code.runs_once(self.file, node):
                reported.add(node.value)
                yield FrozenGlobal(traced, node, changes)

    def _is_traced_once(self, traced: Traced) -> bool:
        """Whether the program makes one `tf.function` object of it: a new one reads the global again."""
        file, function = entry(traced)
        made = [node for wrapped, node in self.code.execution.tracing.wraps_in(file) if wrapped.node is function]
        return all(runs_once(self.inference, RunSite(file, node)) for node in made)

    def _is_the_global(self, name: cst.Name) -> bool:
        parent = self.file.tree.parents[name]
        if isinstance(parent, cst.Attribute | cst.Arg | cst.Param) and name is getattr(
            parent, "attr", getattr(parent, "keyword", getattr(parent, "name", None))
        ):
            return False
        return bool(self.file.flow.lookup(name.value, name)) and all(
            binding in self._numbers[name.value] for binding in self.file.flow.lookup(name.value, name)
        )

    def _changes(self, traced: Traced, bindings: list[Binding]) -> Iterator[Node]:
        """The bindings that always come between two calls of the traced function."""
        calls = self._calls(traced)
        is_always_plain = all(self._is_plain(binding) or self._is_counted(binding) for binding in bindings)
        for binding in bindings:
            if self._is_counted(binding):
                if is_always_plain and self._runs_apart(traced, binding.node, calls):
                    yield binding.node
                continue
            if not self._is_plain(binding):
                return
            if binding.remote:
                changes = is_always_plain and self._goes_on(binding)
            else:
                repeated = is_always_plain and any(self._repeats_both(binding.node, call) for call in calls)
                changes = repeated or self._is_between(binding.node, calls)
            if changes:
                yield binding.node

    def _runs_apart(self, traced: Traced, loop: Node, calls: list[cst.Call]) -> bool:
        """Whether a loop calls the traced function, which is made before it, in its iterations."""
        within = self.file.tree.within
        return not within(traced.function.node, loop) and any(within(call, loop) for call in calls)

    def _is_between(self, node: Node, calls: list[cst.Call]) -> bool:
        order = self.file.tree.order
        before = any(order[call] < order[node] for call in calls)
        return before and any(order[call] > order[node] for call in calls)

    def _calls(self, traced: Traced) -> list[cst.Call]:
        """The calls, at module level, of what is traced."""
        sites = self.inference.first(GLOBAL_SITES, self.inference.call_sites(traced.function))
        return [call for file, call in sites if file is self.file and file.tree.function(call) is None]

    def _repeats_both(self, change: Node, call: cst.Call) -> bool:
        """Whether a loop changes the value and calls the function in its iterations."""
        return any(self.file.tree.within(call, loop) for loop in loops_around(self.file, change))

    def _goes_on(self, binding: Binding) -> bool:
        """Whether a function that changes the global does so again and again: it counts, or a loop runs it."""
        function = self.file.tree.function(binding.node)
        if function is None or any(function is traced.function.node for traced in self.code.functions):
            return False
        if binding.kind == "augment" or _reads(binding.value, binding.name):
            return True
        sites = ways(self.inference, RunSite(self.file, binding.node))
        return any(site.file is self.file and any(site.loops()) for site in sites)


def _reads(value: Expression | None, name: str) -> bool:
    return value is not None and any(isinstance(node, cst.Name) and node.value == name for node in walk(value))
