"""A step of training among the statements of a loop, moved into a function of its own that may be traced."""

from __future__ import annotations

import ast
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import libcst as cst

from tflint_gpu.model import (
    UPDATES,
    ArrayArguments,
    KeptValues,
    Kinds,
    NotMovable,
    loops_around,
    outline,
    outline_of_function,
)
from tflint_gpu.rule import Change, Edit, Fix

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tflint_gpu.model import EagerStep, File, Function, FunctionNode, LoopNode, Model, Node, Outline


_RUNS = frozenset(["run"])


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


def moved_step(model: Model, step: EagerStep) -> Fix | None:
    """The fix of a step among other statements of a loop, or of a function that cannot be traced as a whole; None where
    it may do something else when it is traced.

    What a function of these statements would do is asked of the file as it would be then.
    """
    step, inner = run_on_replicas(model, step), step
    is_replicated = step is not inner
    if is_replicated and not are_traceable(model, inner.functions[len(step.functions) :]):
        return None
    ends = _RUNS if is_replicated else UPDATES
    file, loop, function = model.file, outermost_loop(step), step.file.tree.function(step.tape)
    if step.file is not file:
        return None
    in_loop = step.loop_file is file and file.tree.within(step.tape, loop) and function is file.tree.function(loop)
    if (in_loop and step.host_reads) or _keeps_state(model, step, function):
        return None
    try:
        if in_loop:
            above: Node = loop
            made = outline(file, loop, step.tape, ends)
        elif isinstance(function, cst.FunctionDef):
            made = outline_of_function(file, function, step.tape, ends, as_method=True)
            top = next(statement for statement in file.tree.module.body if file.tree.within(function, statement))
            above = function if file.tree.class_of(function) is not None else top
        else:
            return None
    except NotMovable:
        return None
    if f"@{file.names.spelled('tf.function', above)}\n" not in made.definition:
        return None
    traced = _traced(model, above, made)
    if traced is None:
        return None
    edits = (Edit(above, traced.definition, "above"), Edit(made.first, made.call, last=made.last))
    return Fix(f"Move the step into `{made.name}`, under `tf.function`", "unsafe", edits, defines=(made.name,))


def are_traceable(model: Model, functions: Sequence[Function]) -> bool:
    """Whether functions, the outermost of which a strategy runs, may be traced with it."""
    from tflint_gpu.model import Traceability  # with all that a traced function may do wrong, for few findings

    return all(model.once(Traceability).effect_of(function) is None for function in functions) and (
        model.once(Traceability).blocker(functions[0]) is None
    )


def _keeps_state(model: Model, step: EagerStep, function: FunctionNode | None) -> bool:
    """Whether a step reads what importing programs change, or what is not there at its first run."""
    file, kept = step.file, model.once(KeptValues)
    own = [model.inference.definitions.function(file, function)] if function is not None else []
    early = kept.read_too_early(file, function or step.loop)
    return next(early, None) is not None or (bool(own) and next(kept.by_importers(own), None) is not None)


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
        above = next(statement for statement in file.tree.module.body if file.tree.within(function, statement))
        traced = _traced(model, above, made, is_run=True)
        if traced is not None:
            return (
                Change(file, above, traced.definition, "above"),
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
    calls = file.method_calls(*UPDATES)
    return UPDATES if any(file.tree.within(call, block) for call in calls) else frozenset(("gradient",))


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


def _traced(model: Model, above: Node, made: Outline, *, is_run: bool = False) -> Outline | None:
    """A function of these statements with what `tf.function` needs for its arguments; None where it may not be traced.

    That is asked of the file as it would be then.

    Arguments:
        above: the statement above which the function would be.
        is_run: what is not known shows when it runs, so only what certainly does another thing counts.
    """
    from tflint_gpu.model import Traceability  # with all that a traced function may do wrong, for few findings

    file, name = model.file, made.name
    text, source = file.source.code, file.source
    place, first, last = source.above(file.span(above)[0]), file.span(made.first)[0], file.span(made.last)[1]
    decorator = made.definition.index("@")
    plain = made.definition[:decorator] + made.definition[made.definition.index("\n", decorator) + 1 :].lstrip()
    supposed = model.supposing(f"{text[:place]}{plain}{text[place:first]}{made.call}{text[last:]}")
    if supposed is None:
        return None
    functions = [
        node for node in supposed.file.tree.nodes(cst.FunctionDef) if node.name.value == name and not node.decorators
    ]
    definitions = supposed.inference.definitions
    traceability = supposed.once(Traceability)
    ask = partial(traceability.effect_of, is_run_once=True) if is_run else traceability.blocker
    function = definitions.function(supposed.file, functions[0]) if len(functions) == 1 else None
    is_traceable = function is not None and ask(function) is None
    options = traceability.options(function) if function is not None and is_traceable else ""
    supposed.close()
    end = made.definition.index("\n", decorator)
    definition = made.definition[:end] + options + made.definition[end:]
    return replace(made, definition=definition) if is_traceable else None


def outermost_loop(step: EagerStep) -> LoopNode:
    """The outermost loop of the function: a step made inside of it would be traced again in each of its iterations."""
    return (step.loop, *loops_around(step.loop_file, step.loop))[-1]
