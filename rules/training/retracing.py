"""Calls of `tf.function` objects with numbers or shapes that a loop changes: each new one is traced again."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import libcst as cst

from tflint_gpu.lazy_dataclasses import dataclass
from tflint_gpu.model import (
    FEW,
    TF_FUNCTIONS,
    Analysis,
    ChangingLoop,
    Expression,
    File,
    Function,
    FunctionObjects,
    Kinds,
    LoopData,
    LoopNode,
    LoopNumbers,
    Node,
    Once,
    Origin,
    ShapeChanges,
    Tracing,
    argument,
    displayed,
    is_occasional,
    loops_around,
    walk,
)

_RELAXING = ("reduce_retracing", "experimental_relax_shapes")
_COMPILING = ("jit_compile", "experimental_compile")
_DECLARING = ("input_signature", "experimental_follow_type_hints")
_STATE = frozenset(["model", "layer", "optimizer", "metric", "loss", "module", "strategy", "loaded", "variable"])


@dataclass(frozen=True, slots=True)
class CallOfFunction:
    """A call of a `tf.function`: of the function that it traces, and the decorator or call that makes it."""

    file: File
    call: cst.Call
    function: Function
    made_file: File
    made: Node


@dataclass(frozen=True, slots=True)
class ChangingShape:
    """An array or tensor of another shape in each iteration, and the `tf.function` that a call hands it to.

    Arguments:
        is_compiled: by XLA, which compiles for each shape also where a trace serves several.
    """

    site: CallOfFunction
    value: Expression
    loop: LoopNode
    name: str
    is_compiled: bool


@dataclass(frozen=True, slots=True)
class ChangingArgument:
    """A Python number that a call hands to a `tf.function`, and the innermost loop that changes it.

    Arguments:
        function, parameter: that get it; no parameter where it is a part of what is passed.
        name: of the function. made: the decorator or call that puts it under `tf.function`, in `made_file`.
        stays_python: whether the function uses it as only a Python number can be used.
    """

    file: File
    call: cst.Call
    value: Expression
    changing_loop: ChangingLoop
    function: Function
    parameter: cst.Param | None
    name: str
    made_file: File
    made: Node
    stays_python: bool = False

    def changes_within(self, loop: ChangingLoop) -> bool:
        """Whether it changes in each iteration of a loop, or more often: then each of these is traced for it."""
        return self.changing_loop.file is not loop.file or loop.file.tree.within(self.changing_loop.loop, loop.loop)


class Retracing(Analysis):
    """The calls of `tf.function` objects that are seen from one file."""

    kinds = Once(Kinds)
    tracing = Once(Tracing)
    objects = Once(FunctionObjects)
    numbers = Once(LoopNumbers)
    shapes = Once(ShapeChanges)
    data = Once(LoopData)

    def changing_arguments(self) -> Iterator[ChangingArgument]:
        """The Python numbers that calls outside of traced code hand to a `tf.function`, and that a loop changes.

        Also those that have to be Python numbers.
        """
        seen: set[Node] = set()
        hands_on = self._hands_on_numbers()
        for site in self._sites(is_open_to_numbers, all_files=hands_on):
            file, call = site.file, site.call
            if call in seen or not (hands_on or file is self.file):
                continue  # neither the call nor the loop is in the file that is checked
            seen.add(call)
            for value, parameter, changing_loop, stays_python in self._numbers(file, call, site.function):
                if (
                    self.file in (file, changing_loop.file)
                    and not self.tracing.is_traced(file, file.tree.function(call))
                    and self._retraces(file, call, changing_loop, site.made_file, site.made)
                ):
                    yield ChangingArgument(
                        *(file, call, value, changing_loop, site.function, parameter, _name(file, call)),
                        *(site.made_file, site.made, stays_python),
                    )

    def changing_shapes(self) -> Iterator[ChangingShape]:
        """The calls in loops of this file that hand arrays or tensors of another shape to a `tf.function` each time."""
        seen: set[Node] = set()
        for site in self._sites(is_open_to_shapes, all_files=False) if self.file.tree.all_loops else ():
            file, call = site.file, site.call
            loop = next(loops_around(file, call), None)
            if call in seen or file is not self.file or loop is None or self.data.is_at_most(file, loop, FEW):
                continue
            seen.add(call)
            if self.tracing.is_traced(file, file.tree.function(call)) or is_occasional(file, call, loop):
                continue
            changing = ChangingLoop(file, loop)
            if not self._retraces(file, call, changing, site.made_file, site.made):
                continue
            given = (arg.value for arg in call.args if not arg.star)
            value = next((value for value in given if self._is_of_iteration(file, loop, value)), None)
            if value is not None:
                yield ChangingShape(site, value, loop, _name(file, call), is_compiled(site.made_file, site.made))

    def _is_of_iteration(self, file: File, loop: LoopNode, value: Expression) -> bool:
        """Whether a value is a loop's own element as it is, or a slice that its number cuts, of changing shape.

        What is computed from these by other code may be of one shape again.
        """
        is_slice = isinstance(value, cst.Subscript) and isinstance(value.slice[0].slice, cst.Slice)
        return (is_slice or self.data.is_direct(file, loop, value)) and self.shapes.changes(file, value)

    def _sites(self, is_open: Callable[[File, Node], bool], *, all_files: bool) -> Iterator[CallOfFunction]:
        """The calls of `tf.function` objects that nothing in their options keeps from tracing again."""
        for made_file in self.inference.seen.using("tf.function", self.file):
            for node, made in self.tracing.wrapped(made_file).items():
                function = self.inference.definitions.function(made_file, node)
                if not (all_files or made_file is self.file or self._names(function, made)):
                    continue
                if self.inference.definitions.decorators.may_replace(made_file, node) or not is_open(made_file, made):
                    continue
                for file, call in self._calls(function, made):
                    if self._means(file, call, made):
                        yield CallOfFunction(file, call, function, made_file, made)

    def _hands_on_numbers(self) -> bool:
        """Whether a loop of the file that is checked gives a call a number that it changes."""
        calls = {call for loop in self.file.tree.all_loops for call in self.file.calls_below.get(loop, ())}
        return any(arg.star or self._is_changed_here(arg.value) for call in calls for arg in call.args)

    def _is_changed_here(self, passed: Expression) -> bool:
        numbers = (self.numbers.of(self.file, value) for value in displayed(passed) if not self._is_passed(value))
        return any(change.file is self.file for number in numbers if number for change in number.changed_by)

    def _is_passed(self, value: Expression) -> bool:
        """Whether a name is a parameter: the call that passes it is in a loop, too, where one changes it."""
        bindings = self.file.flow.lookup(value.value, value) if isinstance(value, cst.Name) else ()
        return bool(bindings) and all(binding.kind == "parameter" for binding in bindings)

    def _names(self, function: Function, made: Node) -> bool:
        """Whether the file that is checked has a name of a `tf.function`'s object, by which it may call it."""
        bound = function.file.bound_to(made) if isinstance(made, cst.Call) else None
        names = (function.name, (bound or function.name).rpartition(".")[2])
        return any(name in self.file.source.text for name in names)

    def _calls(self, function: Function, made: Node) -> Iterator[tuple[File, cst.Call]]:
        """The calls that may be of the object: by the function's name, or by the name that the object gets."""
        name = function.file.bound_to(made) if isinstance(made, cst.Call) else None
        sites = list(self.inference.call_sites(function))
        sites += self._calls_of_made(function)
        if name is not None:
            last = name.rpartition(".")[2]
            sites += [(f, c) for f in self.inference.seen.users(function.file, last) for c in f.calls_ending_with(last)]
        yield from ((file, call) for file, call in sites if call.args)

    def _calls_of_made(self, function: Function) -> Iterator[tuple[File, cst.Call]]:
        """The calls by the name that a caller gives to what a factory returns: `step = make_step()`, `step(x)`."""
        outer = function.file.tree.function(function.node)
        if not isinstance(outer, cst.FunctionDef) or not any(function.file.returned(outer)):
            return
        for file, made in self.inference.call_sites(self.inference.definitions.function(function.file, outer)):
            name = (file.bound_to(made) or "").rpartition(".")[2]
            yield from ((file, call) for call in (file.calls_ending_with(name) if name else ()))

    def _means(self, file: File, call: cst.Call, made: Node) -> bool:
        """Whether what is called is always the object, and not the function that it traces."""

        def is_it(origin: Origin) -> bool:
            if isinstance(made, cst.Decorator):
                return made in getattr(origin.node, "decorators", ()) and not origin.access_path
            return origin.node is made and not origin.access_path

        return self.inference.must_be(file, call.func, is_it)

    def _numbers(
        self, file: File, call: cst.Call, function: Function
    ) -> Iterator[tuple[Expression, cst.Param | None, ChangingLoop, bool]]:
        """The arguments that a loop changes, also inside of tuples and lists, each with the innermost such loop."""
        parameters = {value: p for p, value in self.inference.definitions.passed(file, call, function)}
        for arg in call.args:
            parameter = parameters.get(arg.value)
            for value in displayed(arg.value) if not arg.star else ():
                number = self.numbers.of(file, value)
                if number is None or not number.changed_by:
                    continue
                stays_python = parameter is not None and _has_to_be_python(function, parameter)
                innermost = max(number.changed_by, key=lambda change: (len(change.path) == 0, _depth(change)))
                yield value, parameter if value is arg.value else None, innermost, stays_python

    def _retraces(self, file: File, call: cst.Call, changing_loop: ChangingLoop, made_file: File, made: Node) -> bool:
        """Whether the number is what makes TensorFlow trace: not where an iteration makes the function or its model."""
        loop_file, loop = changing_loop.file, changing_loop.loop
        if made_file is loop_file and loop_file.tree.within(made, loop):
            return False
        steps = [(file, call), *((s.file, s.node) for s in changing_loop.path if isinstance(s.node, cst.Call))]
        if any(is_occasional(where, node, loop) or self._is_new(where, node, changing_loop) for where, node in steps):
            return False
        return not any(short.node is made for short in self.objects.short_lived)

    def _is_new(self, file: File, call: cst.Call, changing_loop: ChangingLoop) -> bool:
        """Whether what is called, or a model or the like among its arguments, is made in the same iteration."""
        function = file.tree.function(call)
        runs: Node = changing_loop.loop  # what an iteration runs: the loop's block, or the function that it calls
        if file is not changing_loop.file or not file.tree.within(call, runs):
            if function is None:
                return False
            runs = function
        root: Node = call.func
        while isinstance(root, cst.Attribute | cst.Subscript | cst.Call):
            root = root.func if isinstance(root, cst.Call) else root.value
        names = [arg.value for arg in call.args if isinstance(arg.value, cst.Name)]
        made = [name for name in names if any(self.kinds.of(o) in _STATE for o in self.inference.of(file, name))]
        made += [name for name in names if self.kinds.is_model(file, name)]
        return any(
            binding.kind != "parameter" and file.tree.within(binding.node, runs)
            for name in (root, *made)
            if isinstance(name, cst.Name)
            for binding in file.flow.lookup(name.value, name)
        )


def is_open_to_numbers(file: File, made: Node) -> bool:
    """Whether Python numbers stay what they are: no signature makes tensors of them, nor is that unknown."""
    calls = _options(file, made)
    return calls is not None and not _has_signature(calls)


def is_open_to_shapes(file: File, made: Node) -> bool:
    """Whether each new shape is traced, or at least compiled: no signature has open lengths, nor is that unknown."""
    calls = _options(file, made)
    if calls is None or _has_signature(calls):
        return False
    is_relaxed = any(argument(call, -1, option) is not None for call in calls for option in _RELAXING)
    return not is_relaxed or is_compiled(file, made)


def is_compiled(file: File, made: Node) -> bool:
    """Whether XLA compiles it."""
    compiled = (argument(call, -1, option) for call in _options(file, made) or () for option in _COMPILING)
    return any(isinstance(value, cst.Name) and value.value == "True" for value in compiled)


def _options(file: File, made: Node) -> list[cst.Call] | None:
    """The calls that give a `tf.function` its options; None where it may be something else."""
    expr = made.decorator if isinstance(made, cst.Decorator) else made
    calls = []
    while isinstance(expr, cst.Call):
        calls.append(expr)
        expr = expr.func
    is_it = file.name(expr) in TF_FUNCTIONS or any(
        file.name(call.func) == "functools.partial" and file.name(call.args[0].value) in TF_FUNCTIONS for call in calls
    )
    return calls if is_it else None


def _has_signature(calls: list[cst.Call]) -> bool:
    return any(
        arg.star or (arg.keyword is not None and arg.keyword.value in _DECLARING) for call in calls for arg in call.args
    ) or any(argument(call, 1, "input_signature") is not None for call in calls)


def _has_to_be_python(function: Function, parameter: cst.Param) -> bool:
    """Whether a function uses a number as only Python can: it counts with `range`, picks a layer, or names one."""
    tree, name = function.file.tree, parameter.name.value
    given = {p.name.value for p in function.parameters}
    for node in walk(function.node.body):
        if not (isinstance(node, cst.Name) and node.value == name):
            continue
        for parent in tree.ancestors(node):
            if isinstance(parent, cst.FormattedStringExpression):
                return True
            if isinstance(parent, cst.Call) and any(
                function.file.names.is_builtin(parent.func, builtin) for builtin in ("range", "getattr", "str")
            ):
                return True
            if isinstance(parent, cst.Subscript) and not tree.within(node, parent.value):
                return not (isinstance(parent.value, cst.Name) and parent.value.value in given)
            if isinstance(parent, cst.BaseStatement | cst.BaseSmallStatement):
                break
    return False


def _depth(changing_loop: ChangingLoop) -> int:
    """How far inside its file a loop is."""
    return sum(1 for _ in changing_loop.file.tree.ancestors(changing_loop.loop))


def _name(file: File, call: cst.Call) -> str:
    return file.code(call.func) if isinstance(call.func, cst.Name | cst.Attribute) else "tf.function"
