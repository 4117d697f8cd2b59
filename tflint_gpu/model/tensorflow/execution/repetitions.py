"""Calls of methods that loops repeat, here and in functions of the project."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import cached_property

import libcst as cst

from tflint_gpu.lazy_patterns import regex
from tflint_gpu.model.library.nondeterminism import DRAWS, TIMERS
from tflint_gpu.model.library.operations import ARRANGING, operation_named
from tflint_gpu.model.model import Analysis, Model
from tflint_gpu.model.python.execution.callers import loops_around
from tflint_gpu.model.python.execution.summaries import Summaries
from tflint_gpu.model.python.execution.walks import Invocation
from tflint_gpu.model.python.project.file import File
from tflint_gpu.model.python.syntax.children import names_in, spelling, walk
from tflint_gpu.model.python.syntax.syntax import Expression, LoopNode, Node, dotted_name, iterable, method_name
from tflint_gpu.model.python.value_flow.call_sites import CalledElsewhere
from tflint_gpu.model.tensorflow.execution.invocations import Invocations
from tflint_gpu.model.tensorflow.loops.batches import LoopData
from tflint_gpu.model.tensorflow.loops.loop_flow import (
    FEW,
    FEW_IN_ALL,
    IterationFlow,
    changed_in,
    comes_again,
    counter_of,
    is_occasional,
    names_of,
    root_name,
)
from tflint_gpu.model.tensorflow.training.training import Training

# A loop that waits for something to come in: nobody can hand its inputs over in one piece.
_WAITING = frozenset("recv recvfrom recv_string recv_json recv_pyobj recv_multipart accept poll blpop brpop".split())
_UPLOADS = regex(r"(?:file_?|files\.)upload(?:er)?\b|\brequest\.files\b", re.IGNORECASE)
_WAITED_FOR = regex(r"queue|requests?$|jobs?$|inbox|socket|consumer|subscri|\bq$", re.IGNORECASE)
_SHAPING = frozenset(name.rpartition(".")[2] for name in ARRANGING) | {"astype"}


class Repetitions(Analysis):
    """The loops that are seen from the file that is checked: its own, and those in functions that it calls."""

    def __init__(self, model: Model) -> None:
        super().__init__(model)
        self.data = model.once(LoopData)
        self.training = model.once(Training)
        self.invocations = model.once(Invocations)
        self._drawing = Summaries(self.inference, "draws", _draws_itself, self.inference.functions_run)
        self._of_methods: dict[tuple[tuple[str, ...], int], tuple[Invocation, ...]] = {}

    def of_methods(self, *methods: str, few: int = FEW_IN_ALL) -> tuple[Invocation, ...]:
        """The calls `anything.method(...)` that loops repeat: each in the innermost loop of each way to it.

        Each call of the function that holds one is another way: one may hand over a row, and another one a batch.
        Left out are loops of few iterations, and calls that run in some iterations only (`is_occasional`).

        Arguments:
            few: how many iterations are few where no longer loop is around them.
        """
        return tuple(run for run in self.all_of_methods(*methods, few=few) if not self.is_occasional(run))

    def all_of_methods(self, *methods: str, few: int = FEW_IN_ALL) -> tuple[Invocation, ...]:
        """The same, with the calls that run in some iterations only."""
        asked = methods, few
        if asked not in self._of_methods:
            self._of_methods[asked] = tuple(self._repeated(methods, few))
        return self._of_methods[asked]

    def _repeated(self, methods: tuple[str, ...], few: int) -> Iterator[Invocation]:
        substrings = tuple(f".{method}(".encode() for method in methods)
        runs: list[Invocation] = []
        often: set[cst.Call] = set()
        for file, loop in self.loops(substrings):
            if self._repeats_little(file, loop):
                continue
            is_long = self._is_longer(file, loop, few)
            for invocation in self.invocations.all(file, loop, substrings, methods):
                if method_name(invocation.call) in methods:
                    often.update([invocation.call] if is_long else [])
                    runs.append(invocation)
        return innermost(run for run in runs if run.call in often)

    def outwards(self, invocation: Invocation) -> Iterator[Invocation]:
        """A call in the loop that repeats it, then in the loops of the same function around that one."""
        yield invocation
        for loop in loops_around(invocation.root_file, invocation.loop):
            outer = replace(invocation, root=loop)
            if not self._repeats_little(invocation.root_file, loop) and not self.is_occasional(outer):
                yield outer

    def _is_longer(self, file: File, loop: LoopNode, limit: int) -> bool:
        """Whether a loop may make more iterations than some, all those of the loops around it together."""
        around = [loop, *loops_around(file, loop)]
        if any(not self.data.is_at_most(file, each, limit) for each in around):
            return True
        lengths = [None if isinstance(each, cst.While) else self.data.length(file, each) for each in around]
        return math.prod(length or 1 for length in lengths) > limit

    def _repeats_little(self, file: File, loop: LoopNode) -> bool:
        return self.data.is_at_most(file, loop, FEW) or self.data.leaves_early(file, loop)

    def loops(self, substrings: tuple[bytes, ...]) -> Iterator[tuple[File, LoopNode]]:
        """The loops of this file and of what it calls in others, outer ones first."""
        yield from ((self.file, loop) for loop in self.inference.loops(self.file))
        given = self._names_run_by_others
        is_run = bool(given) and not given.isdisjoint(self._names_with(substrings))
        for file, function in self._functions_elsewhere if is_run else self.functions_elsewhere(substrings):
            yield from ((file, loop) for loop in self.inference.loops(file) if file.tree.function(loop) is function)

    def functions_elsewhere(self, substrings: tuple[bytes, ...]) -> list[tuple[File, Node]]:
        """The functions of other files that running this one calls, in files with one of some byte strings."""
        project = self.inference.project
        if not project.leads_elsewhere(self.file) or not project.others_mention(self.file.source, substrings):
            return []
        files = {file for file, _ in self._functions_elsewhere}
        worded = {file for file in files if project.mentioned(file.source.path).any_of(substrings)}
        methods = {
            node.name.value
            for file, node in self._functions_elsewhere
            if file in worded and isinstance(node, cst.FunctionDef)
        }
        worded |= {file for file in files if any(map(file.calls_ending_with, methods))}  # of an object that it is given
        return [(file, node) for file, node in self._functions_elsewhere if file in worded]

    @cached_property
    def _names_run_by_others(self) -> set[str]:
        """The names of functions that loops of other files may run: they are arguments, or an inherited method."""
        functions = {function for function in self.file.tree.functions if isinstance(function, cst.FunctionDef)}
        given = {function.name.value for function in functions if function.name.value in self.file.calls_given}
        if any(self.inference.definitions.inherited(self.file)):
            given |= {function.name.value for function in functions if self.file.tree.class_of(function) is not None}
        return given

    def _names_with(self, substrings: tuple[bytes, ...]) -> set[str]:
        """The names of functions of this file that hold one of some byte strings, or call what does."""
        words = [substring.decode() for substring in substrings]
        holding = [
            function
            for function in self.file.tree.functions
            if isinstance(function, cst.FunctionDef) and any(word in self.file.code(function) for word in words)
        ]
        names: set[str] = set()
        for function in holding:  # grows meanwhile
            if function.name.value not in names:
                names.add(function.name.value)
                called = function.name.value
                if called.startswith("__") and (cls := self.file.tree.class_of(function)) is not None:
                    called = cls.name.value
                for call in self.file.calls_ending_with(called):
                    holding += [f for f in self.file.enclosing_functions(call) if isinstance(f, cst.FunctionDef)]
        return names

    @cached_property
    def _functions_elsewhere(self) -> list[tuple[File, Node]]:
        """The functions of other files that running this one calls."""
        functions = CalledElsewhere(self.inference, "called", lambda function: function.calls).by(self.file)
        return [(function.file, function.node) for function in functions]

    def runs_step(self, invocation: Invocation) -> bool:
        """Whether an iteration of the loop is one update of weights, or a few, in short loops on the way to the call:
        one for each of several models, `for _ in range(updates)` with one of them; or in such a loop beside it."""
        short = [
            loop
            for file, node in invocation.places
            for loop in loops_around(file, node)
            if self.data.is_at_most(file, loop, FEW_IN_ALL)
        ]
        file, loop = invocation.root_file, invocation.loop
        short += [o for o in file.tree.loops_in(loop) if self.data.is_at_most(file, o, FEW)]
        return self.training.runs_step(file, loop, short)

    def is_occasional(self, invocation: Invocation) -> bool:
        """Whether the call runs in some iterations only: `if step % 100 == 0`, `if i == 0`."""
        return any(is_occasional(file, node, invocation.loop) for file, node in invocation.places)

    def is_conditional(self, invocation: Invocation) -> bool:
        """Whether a test that is not known decides if an iteration runs the call; a warm-up ends, it always does."""
        return any(self._is_open(invocation, *test) for test in _tests(invocation, invocation.places))

    def of_its_function(self, invocation: Invocation) -> Invocation | None:
        """A call as its function has it, where the loop runs that every few iterations: `if step % 4 == 0: learn()`.

        None where another test may keep the loop from it: `if step == 9`, `if not is_ready`.
        """
        for file, branch, arm in _tests(invocation, invocation.places[1:]):
            if self._is_open(invocation, file, branch, arm) and not comes_again(file, branch, invocation.loop):
                return None
        return replace(invocation, path=())

    def _is_open(self, invocation: Invocation, file: File, branch: cst.If, arm: Node) -> bool:
        """Whether one of the arms of a branch may be run in some iterations only."""
        stays = file is invocation.root_file and _stays(file, branch.test, invocation.loop)
        holds = self.inference.tests.holds(file, branch.test, invocation.context)
        return not stays and holds is not (arm is branch.body) and not self._ends_warm_up(file, branch)

    def _ends_warm_up(self, file: File, branch: cst.If) -> bool:
        """`if len(memory) > 100:`, and `if episode > 50:` in the loop that counts the episodes."""
        test = branch.test
        if _asks_for_length(file, test):
            return True
        if not isinstance(test, cst.Comparison) or len(test.comparisons) != 1 or not isinstance(test.left, cst.Name):
            return False
        (compared,) = test.comparisons
        least = self.constants.of(file, compared.comparator)
        if not isinstance(compared.operator, cst.GreaterThan | cst.GreaterThanEqual) or not isinstance(least, int):
            return False
        for loop in loops_around(file, branch):
            if test.left.value == counter_of(file, loop):
                length = self.data.length(file, loop)
                return length is None or 2 * least <= length
        return False

    def varies(self, invocation: Invocation, exprs: list[Expression]) -> bool:
        """Whether something in the loop changes what expressions in its function mean between iterations, or they draw;
        or what a function on the way hands on of an object: `act(self.state)` next to `self.state = ...`."""
        if invocation.entry is invocation.loop:
            return True  # `map(predict, images)`: another element each time
        changed = changed_in(invocation.root_file, invocation.loop)
        if any(isinstance(node, cst.Name) and node.value in changed for expr in exprs for node in walk(expr)):
            return True
        calls = (node for expr in exprs for node in walk(expr) if isinstance(node, cst.Call))
        if any(self._draws(invocation.root_file, call) for call in calls):
            return True
        return any(
            isinstance(call, cst.Call) and _hands_on_what_changes(file, call)
            for file, call in invocation.places
            if call is not invocation.entry
        )

    def _draws(self, file: File, call: cst.Call) -> bool:
        """Whether a call gives random numbers, by itself or by a function of the project, or is of one that whoever
        makes the object, or runs the function, hands over: a source of data."""
        functions = self.inference.functions_run(file, call)
        if _is_draw(file.name(call.func)) or any(self._drawing.holds(f.file, f.node) for f in functions):
            return True
        return self.inference.must_be(file, call.func, lambda o: isinstance(o.node, cst.Param) and not o.access_path)

    def stays(self, invocation: Invocation) -> bool:
        """Whether a call in the loop must get the same in all iterations: nothing else there has its row or model."""
        file, tree = invocation.root_file, invocation.root_file.tree
        row: Expression | None = (
            invocation.entry.args[0].value if invocation.entry.args and not invocation.path else None
        )
        while isinstance(row, cst.Call | cst.Subscript):
            row = row.value if isinstance(row, cst.Subscript) else _shaped(file, row)
        if not isinstance(row, cst.Name) or row.value in file.changed or self.varies(invocation, [invocation.entry]):
            return False
        names = {row.value, root_name(invocation.entry.func)}
        uses = (
            use for name in names if name is not None for use in tree.inside(tree.uses.get(name, ()), invocation.loop)
        )
        return all(tree.within(use, invocation.entry) for use in uses) and not any(
            binding.remote for binding in file.flow.lookup(row.value, row)
        )

    def has_loop_carried_input(self, invocation: Invocation) -> bool:
        """Whether what the call gives in one iteration decides what it gets in the next: an agent that acts, text."""
        file, loop = invocation.root_file, invocation.loop
        flow = IterationFlow(file, loop, frozenset([invocation.entry]))
        return any(map(flow.comes_back, invocation.given))

    def is_timed(self, file: File, loop: LoopNode) -> bool:
        """Whether a program reads a clock in a loop, or right before and right after it."""
        if any(file.name(call.func) in TIMERS for call in file.calls_below.get(loop, ())):
            return True
        statements = file.tree.siblings(loop)
        place = statements.index(loop) if loop in statements else 0
        around = (statements[place - 1], statements[place + 1]) if 0 < place < len(statements) - 1 else ()
        return bool(around) and all(
            any(isinstance(node, cst.Call) and file.name(node.func) in TIMERS for node in walk(statement))
            for statement in around
        )

    def waits(self, file: File, loop: LoopNode) -> bool:
        """Whether a loop waits for requests, messages or a user's input."""
        data = iterable(loop)
        source = dotted_name(data.func if isinstance(data, cst.Call) else data)
        if source is not None and _WAITED_FOR.search(source):
            return True
        if data is not None and _is_uploaded(file, data):
            return True
        return any(
            file.names.is_builtin(call.func, "input")
            or file.name(call.func) == "six.moves.input"
            or method_name(call) in _WAITING
            or (
                method_name(call) in ("get", "get_nowait", "receive", "read_message", "popleft")
                and isinstance(call.func, cst.Attribute)
                and _WAITED_FOR.search(dotted_name(call.func.value) or "") is not None
                and not _is_filled(file, loop, call.func.value)
            )
            for call in file.calls_below.get(loop, ())
        )


def _tests(invocation: Invocation, places: list[tuple[File, Node]]) -> Iterator[tuple[File, cst.If, Node]]:
    """The branches around a call, and around those on the way to it, each with the arm that it is in."""
    for file, node in places:
        child = node
        for parent in file.tree.ancestors(node):
            if parent is invocation.root or isinstance(parent, cst.FunctionDef):
                break
            if isinstance(parent, cst.If) and child is not parent.test:
                yield file, parent, child
            child = parent


def _draws_itself(file: File, region: Node) -> bool:
    return any(_is_draw(file.name(call.func)) for call in file.calls_below.get(region, ()))


def _is_filled(file: File, loop: LoopNode, queue: Expression) -> bool:
    """Whether a loop itself appends to what it takes from: it keeps the last ones."""
    appends = (call.func for call in file.calls_below.get(loop, ()) if method_name(call) == "append")
    return any(isinstance(func, cst.Attribute) and func.value.deep_equals(queue) for func in appends)


def _is_draw(name: str | None) -> bool:
    return name in DRAWS or operation_named(name).draws


def _is_uploaded(file: File, data: Expression) -> bool:
    """`files.upload()`, or what a widget for uploads holds: a few images that somebody chooses by hand."""
    names = [node for node in walk(data) if isinstance(node, cst.Name)]
    bound = (binding.value for name in names for binding in file.flow.lookup(name.value, name))
    return any(_UPLOADS.search(spelling(node)) for node in (data, *bound) if node is not None)


def _shaped(file: File, call: cst.Call) -> Expression | None:
    """What a call only gives another shape: `np.expand_dims(x, 0)`, `x.reshape(1, -1)`."""
    if method_name(call) not in _SHAPING or not isinstance(call.func, cst.Attribute):
        return None
    if file.name(call.func) is None:
        return call.func.value
    return call.args[0].value if call.args else None


def _asks_for_length(file: File, test: cst.BaseExpression) -> bool:
    return any(isinstance(node, cst.Call) and file.names.is_builtin(node.func, "len") for node in walk(test))


def _stays(file: File, test: Expression, loop: LoopNode) -> bool:
    """Whether all iterations of a loop in the same function answer a test alike: `mode == "train"`, which is set."""
    if not file.tree.within(test, loop) or file.tree.function(test) is not file.tree.function(loop):
        return False
    names = [part for part in walk(test) if isinstance(part, cst.Name)]
    if any(isinstance(part, cst.Call | cst.Attribute | cst.Subscript) for part in walk(test)):
        return False
    is_set = all(file.flow.lookup(name.value, name) or name.value in ("True", "False", "None") for name in names)
    return is_set and changed_in(file, loop).union(names_of(loop)).isdisjoint(names_in(test))


def _hands_on_what_changes(file: File, call: cst.Call) -> bool:
    """Whether a call gets an attribute that its own function replaces by another value."""
    function = file.tree.function(call)
    replaced = {
        dotted_name(assignment.target)
        for assignment in file.tree.attribute_assignments
        if file.tree.function(assignment.target) is function
    }
    given = (node for arg in call.args for node in walk(arg.value) if isinstance(node, cst.Attribute))
    return any(dotted_name(node) in replaced for node in given)


def innermost(runs: Iterable[Invocation]) -> Iterator[Invocation]:
    """Of what loops repeat each call in the innermost loop of each way to it, the shortest way first.

    Each call of the function that holds it is another way, and each function whose loops lead there.

    Arguments:
        runs: calls with the loops that lead to them, outer loops first.
    """
    ways: dict[cst.Call, dict[tuple[Node | None, Node | None], Invocation]] = {}
    for run in runs:
        known = ways.setdefault(run.call, {})
        way = run.root_file.tree.function(run.loop), run.path[-1].node if run.path else None
        if way not in known or len(run.path) <= len(known[way].path):
            known[way] = run
    for known in ways.values():
        for (_, last), run in sorted(known.items(), key=lambda way: len(way[1].path)):
            if not any((function.node, last) in known for function in run.functions):
                yield run
