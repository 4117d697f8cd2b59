"""A step of training among the statements of a loop, moved into a function of its own that may be traced."""

from __future__ import annotations

import ast
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import libcst as cst

from tflint_gpu.lazy_dataclasses import dataclass
from tflint_gpu.model import (
    UPDATES,
    ArrayArguments,
    Blocker,
    KeptValues,
    Kinds,
    NotMovable,
    Outline,
    loops_around,
    outline,
    outline_of_function,
)
from tflint_gpu.rule import Change, Edit, Fix

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tflint_gpu.model import EagerStep, File, Function, FunctionNode, LoopNode, Model, Node


_RUNS = frozenset(["run"])


@dataclass(frozen=True, slots=True)
class Move:
    """Statements that become a function above another one."""

    above: Node
    made: Outline

    def edits(self, file: File, name: str) -> Iterator[tuple[int, int, str]]:
        """The function, not traced and with a name, and its call, as replacements in the file's code."""
        made, source = self.made.renamed(name), file.source
        place = source.above(file.span(self.above)[0])
        before, _, decorated = made.definition.partition("@")
        yield place, place, f"{before}{decorated.partition(_LINE)[2].lstrip()}"
        yield file.span(made.first)[0], file.span(made.last)[1], made.call

    def with_options(self, options: str) -> Outline:
        """The function, whose decorator gets something."""
        head, line, body = self.made.definition.partition("@")[2].partition(_LINE)
        before = self.made.definition.partition("@")[0]
        return replace(self.made, definition=f"{before}@{head}{options}{line}{body}")


_LINE = "\n"


def run_on_replicas(model: Model, step: EagerStep) -> EagerStep:
    """The step as far as a strategy hands it to its replicas: `strategy.run(replica_step, args=(x, y))` is its tape.

    TensorFlow's guide has that call in the `tf.function`, so that all replicas run in one graph.
    """
    for index, frame in enumerate(step.path):
        func = frame.node.func if isinstance(frame.node, cst.Call) else None
        strategy = func.value if isinstance(func, cst.Attribute) and func.attr.value in _RUNS else None
        if strategy is not None and model.once(Kinds).must_be(frame.file, strategy, "strategy"):
            assert isinstance(frame.node, cst.Call)
            around = step.functions[:index]
            return replace(step, file=frame.file, tape=frame.node, path=step.path[:index], functions=around)
    return step


def moved_steps(model: Model, steps: Sequence[EagerStep]) -> list[Fix | Blocker | None]:
    """The fixes of steps among other statements of a loop, or of functions that cannot be traced as a whole, or why
    they may do something else when they are traced; None where the step says that itself.

    What functions of these statements would do is asked of the file as it would be then.
    """
    outlined = [_outlined(model, run_on_replicas(model, step), step) for step in steps]
    moves = [item for item in outlined if isinstance(item, Move)]
    traced = dict(zip(map(id, moves), _traced(model, moves), strict=True))
    result: list[Fix | Blocker | None] = []
    names: set[str] = set()
    for step, item in zip(steps, outlined, strict=True):
        made = traced.get(id(item), item)
        if isinstance(item, Move) and isinstance(made, Outline):
            made = made.unlike(names, model.file)
            names.add(made.name)
            edits = (Edit(item.above, made.definition, "above"), Edit(made.first, made.call, last=made.last))
            text = f"Move the step into `{made.name}`, under `tf.function`"
            result.append(Fix(text, "unsafe", edits, defines=(made.name,)))
        else:
            result.append(replace(made, file=step.file, node=step.tape) if isinstance(made, Blocker) else None)
    return result


def _outlined(model: Model, step: EagerStep, inner: EagerStep) -> Move | Blocker | None:
    """A step as a function, as far as its text allows it.

    Arguments:
        step: it, or what hands it to replicas.
        inner: it.
    """
    file, loop, function = model.file, outermost_loop(step), step.file.tree.function(step.tape)
    is_replicated = step is not inner
    if is_replicated and (blocker := untraceable(model, inner.functions[len(step.functions) :])) is not None:
        return blocker
    if step.file is not file:
        return Blocker(step.file, step.tape, "the step and the loop that runs it are in different files")
    ends = _RUNS if is_replicated else UPDATES
    in_loop = step.loop_file is file and file.tree.within(step.tape, loop) and function is file.tree.function(loop)
    if in_loop and step.host_reads:
        return None
    if (kept := _kept_state(model, step, function)) is not None:
        return kept
    try:
        if in_loop:
            move = Move(loop, outline(file, loop, step.tape, ends))
        elif isinstance(function, cst.FunctionDef):
            made = outline_of_function(file, function, step.tape, ends, as_method=True)
            is_method = file.tree.class_of(function) is not None
            move = Move(function if is_method else _top(file, function), made)
        else:
            return Blocker(file, step.tape, "the step is not in one block of statements")
    except NotMovable as error:
        return Blocker(file, step.tape, str(error))
    if f"@{file.names.spelled('tf.function', move.above)}\n" not in move.made.definition:
        return Blocker(file, step.tape, "this file imports no name through which `tf.function` can be written")
    return move


def untraceable(model: Model, functions: Sequence[Function]) -> Blocker | None:
    """What keeps functions, the outermost of which a strategy runs, from being traced with it."""
    from tflint_gpu.model import Traceability  # with all that a traced function may do wrong, for few findings

    traceability = model.once(Traceability)
    effects = (traceability.effect_of(function) for function in functions)
    return next((e for e in effects if e is not None), None) or traceability.blocker(functions[0])


def _kept_state(model: Model, step: EagerStep, function: FunctionNode | None) -> Blocker | None:
    """What a step reads that importing programs change, or that is not there at its first run."""
    file, kept = step.file, model.once(KeptValues)
    own = [model.inference.definitions.function(file, function)] if function is not None else []
    early = kept.read_too_early(file, function or step.loop)
    return next(early, None) or (next(kept.by_importers(own), None) if own else None)


def moved_block(model: Model, step: EagerStep) -> tuple[Change, ...]:
    """What moves a tape and the update of the weights out of a function that cannot be traced as a whole; nothing where
    they would certainly do something else, too.

    The new function gets numbers of Python's as tensors: with each new one it would be traced again. That is how it is
    measured; where users make tensors of their numbers is for them to say.
    """
    file, function = step.file, step.file.tree.function(step.tape)
    if file is not model.file or not isinstance(function, cst.FunctionDef):
        return ()
    for is_short in (False, True):
        try:
            made = outline_of_function(file, function, step.tape, _ends(step), is_short=is_short)
        except NotMovable:
            continue
        move = Move(_top(file, function), made)
        (traced,) = _traced(model, [move], is_run=True)
        if isinstance(traced, Outline):
            return (
                Change(file, move.above, traced.definition, "above"),
                Change(file, made.first, _handing(made), last=made.last),
            )
    return ()


def moved_from_loop(model: Model, step: EagerStep) -> tuple[Change, ...]:
    """What moves a step among the statements of a loop into a function; what the host makes of its data stays.

    Raises:
        NotMovable: it cannot be moved.
    """
    file, loop, ends = step.loop_file, outermost_loop(step), _ends(step)
    made = outline(file, loop, step.tape, ends)
    prepared = outline(file, loop, step.tape, ends, hoists=True)
    if prepared.arguments == made.arguments and not _meets_arrays(model, file, made):
        return Change(file, loop, made.definition, "above"), Change(file, made.first, made.call, last=made.last)
    call = _handing(prepared)
    return Change(file, loop, prepared.definition, "above"), Change(file, prepared.first, call, last=prepared.last)


def _ends(step: EagerStep) -> frozenset[str]:
    """The methods with which a step ends: those that update weights; the gradient where the program uses it itself."""
    file, tape = step.file, step.tape
    block = file.tree.block(file.tree.statement(tape))
    updates = any(file.tree.inside(file.calls_of_method(method), block) for method in UPDATES)
    return UPDATES if updates else frozenset(("gradient",))


def _handing(made: Outline) -> str:
    """The call, with numbers of Python's as tensors."""
    operands = _operands(made)
    given = [f"tflint_measure.number({text})" if text in operands else text for text in made.arguments]
    old, new = (", ".join(arguments) for arguments in (made.arguments, given))
    return made.call.replace(f"{made.name}({old})", f"{made.name}(*tflint_measure.handed({new}))")


def _operands(made: Outline) -> set[str]:
    """The names with which a function only calculates: what is no number of the others' type becomes one there."""
    definition = made.definition.lstrip("\r\n")  # in a block of its own, as lines in brackets may begin anywhere
    nodes = list(ast.walk(ast.parse(f"if True:\n{definition}" if definition[:1].isspace() else definition)))
    operands = {id(side) for node in nodes if isinstance(node, ast.BinOp) for side in (node.left, node.right)}
    reads = [node for node in nodes if isinstance(node, ast.Name)]
    return {node.id for node in reads} - {node.id for node in reads if id(node) not in operands}


def _meets_arrays(model: Model, file: File, made: Outline) -> bool:
    """Whether a function calculates with an array of NumPy that it is given.

    Eagerly such an array takes the type of the tensor that it meets; a traced function gets it with its own, which may
    be another one, and raises.
    """
    arrays = model.once(ArrayArguments)
    start, end = file.span(made.first)[0], file.span(made.last)[1]
    reads = (use for name in _operands(made) & {*made.arguments} for use in file.tree.uses.get(name, ()))
    return any(start <= file.span(use)[0] < end and arrays.may_be_array(file, use) for use in reads)


def _traced(model: Model, moves: Sequence[Move], *, is_run: bool = False) -> list[Outline | Blocker]:
    """The functions of some moves with what `tf.function` needs for their arguments, or why they may not be traced.

    One reading of the file as it would be then serves many, but of each statement of the module one at a time.

    Arguments:
        is_run: what is not known shows when it runs, so only what certainly does another thing counts.
    """
    left, traced = list(moves), dict[int, Outline | Blocker]()
    while left:
        together = {_top(model.file, move.made.first): move for move in reversed(left)}  # the first of each
        traced.update(_traced_together(model, list(together.values()), is_run=is_run))
        left = [move for move in left if id(move) not in traced]
    return [traced[id(move)] for move in moves]


def _traced_together(model: Model, moves: Sequence[Move], *, is_run: bool) -> dict[int, Outline | Blocker]:
    """The same of moves in statements of their own, by their identity."""
    from tflint_gpu.model import Traceability  # with all that a traced function may do wrong, for few findings

    text, free = model.file.source.code, model.file.names.free
    names = {id(m): free(f"{m.made.name}_{n}", f"{m.made.name}_moved_{n}") for n, m in enumerate(moves)}
    edits = [edit for move in moves for edit in move.edits(model.file, names[id(move)])]
    for start, end, written in sorted(edits, key=lambda edit: edit[:2], reverse=True):
        text = f"{text[:start]}{written}{text[end:]}"
    supposed = model.supposing(text)
    if supposed is None:
        return {id(move): Blocker(model.file, move.above, "the file would not parse after the fix") for move in moves}
    nodes = {node.name.value: node for node in supposed.file.tree.nodes(cst.FunctionDef) if not node.decorators}
    definitions, traceability = supposed.inference.definitions, supposed.once(Traceability)
    ask = partial(traceability.effect_of, is_run_once=True) if is_run else traceability.blocker
    traced: dict[int, Outline | Blocker] = {}
    for move in moves:
        node = nodes.get(names[id(move)])
        if node is None:
            traced[id(move)] = Blocker(model.file, move.above, "the function around it has decorators")
            continue
        function = definitions.function(supposed.file, node)
        blocker = ask(function)
        if blocker is None:
            traced[id(move)] = move.with_options(traceability.options(function))
        else:
            traced[id(move)] = Blocker(model.file, move.made.first, blocker.reason)
    supposed.close()
    return traced


def _top(file: File, node: Node) -> Node:
    """The statement of the module that holds a node."""
    top = file.tree.child(file.tree.module, node)
    assert top is not None
    return top


def outermost_loop(step: EagerStep) -> LoopNode:
    """The outermost loop of the function: a step made inside of it would be traced again in each of its iterations."""
    return (step.loop, *loops_around(step.loop_file, step.loop))[-1]
