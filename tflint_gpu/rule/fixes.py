"""Fixes that several rules have in common: a rule says what is to be changed, and these say how it is written."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

from tflint_gpu.diagnostics import Applicability
from tflint_gpu.rule.finding import Edit, Fix, importing

if TYPE_CHECKING:
    from libcst import Arg, Call, CSTNode

    from tflint_gpu.model import Blocker, CallOutline, Initialiser, Model
    from tflint_gpu.model.python.project.file import File


def calls_under_functions(model: Model, file: File, calls: Sequence[tuple[File, Call]]) -> Fix | Blocker:
    """Make a loop's calls of models in functions of their own under `tf.function`, or why that may change results.

    Of several calls those are left as they are of which it may, that are in other files or another cell of a notebook
    than the first, or run too seldom for a trace to pay. It is unsafe: what only runs while a function is traced (a
    model's `print`) runs once.
    """
    from tflint_gpu.model import (  # late, as libcst: listing the rules should not wait for it
        Blocker,
        CallOutline,
        ExecutionContexts,
        TracedCalls,
        traced_definitions,
    )

    contexts = model.once(ExecutionContexts)
    few = {call: contexts.too_few_runs(file, call) for where, call in calls if where is file}
    own = [call for call, seldom in few.items() if seldom is None]
    own = [call for call in own if _are_in_one_cell(file, own[0], call)]
    outlined = model.once(TracedCalls).outlines(file, own)
    made = [outline for outline in outlined if isinstance(outline, CallOutline)]
    if not made:
        return next(item for item in (*outlined, *few.values()) if isinstance(item, Blocker))
    spellings = {outline.spelling.text: outline.spelling for outline in made}
    return Fix(
        _traced(made, len(calls)),
        "unsafe",
        (
            *(edit for spelling in spellings.values() for edit in importing(spelling)),
            *(Edit(above, text, "above") for above, text in traced_definitions(file, made)),
            *(Edit(outline.call.func, outline.name) for outline in made),
            *(Edit(outline.call.args[0], f"{outline.receiver}, ", "before") for outline in made),
        ),
        defines=tuple(outline.name for outline in made if outline.definition),
    )


def _are_in_one_cell(file: File, *calls: Call) -> bool:
    """Whether one fix may change all of these: a notebook's cells are written one by one."""
    starts, ends = zip(*map(file.span, calls), strict=True)
    return file.source.is_writable(min(starts), max(ends))


def _traced(made: Sequence[CallOutline], calls: int) -> str:
    """What a fix does that traces some of a loop's calls."""
    *most, last = dict.fromkeys(f"`{outline.receiver}`" for outline in made)
    receivers = f"{', '.join(most)} and {last}" if most else last
    functions = {outline.name for outline in made}
    what = "a function" if len(functions) == 1 else "functions"
    partly = "" if len(made) == calls else f": {len(made)} of the {calls} calls of models in this loop"
    return f"Call {receivers} in {what} under `@{made[0].spelling.text}`{partly}"


def given_otherwise(model: Model, file: File, call: Call) -> Blocker | None:
    """The program's own step, where the method for one batch gives it the data in another structure.

    `predict(x)` hands `x` to `predict_step`, and `predict_on_batch(x)` `(x,)` (Keras 2.15 and 3.15); `fit(x, y)` hands
    `(x, y)` to `train_step`, and `train_on_batch(x, y)` `(x, y, None)` (Keras 3.15).
    """
    from tflint_gpu.model import Blocker, Kinds, method_name

    method, owner = method_name(call), getattr(call.func, "value", None)
    step = {"predict": "predict_step", "fit": "train_step"}.get(method or "")
    if step is None or owner is None or not model.once(Kinds).has_own_method(file, owner, step):
        return None
    return Blocker(file, call.func, f"the one-batch method passes a different tuple to the program's `{step}`")


def predict_on_batch(file: File, call: Call) -> Fix | None:
    """Call `predict_on_batch` where `predict` gets one batch; None where the call says more than that.

    It is unsafe: no progress bar is shown.
    """
    from tflint_gpu.model import without_arguments

    named = {arg.keyword.value for arg in call.args if arg.keyword is not None}
    positional = sum(arg.keyword is None for arg in call.args)
    if positional > 1 or not named <= {"x", "verbose", "batch_size"} or any(arg.star for arg in call.args):
        return None
    gone = [arg for arg in call.args if arg.keyword is not None and arg.keyword.value != "x"]
    text = without_arguments(file, call, gone, "predict_on_batch")
    return Fix("Call `predict_on_batch`", "unsafe", (Edit(call, text),))


def leave_out(file: File, call: Call, arguments: Sequence[Arg], applicability: Applicability) -> Fix | None:
    """Leave some keyword arguments of a call out; None where one comes by position or in a `**` argument."""
    from tflint_gpu.model import without_arguments

    names = [arg.keyword.value for arg in arguments if arg.keyword is not None and not arg.star]
    if not arguments or len(names) < len(arguments):
        return None
    words = " and ".join(f"`{name}`" for name in names)
    return Fix(f"Leave out {words}", applicability, (Edit(call, without_arguments(file, call, arguments)),))


def with_keyword(call: Call, text: str) -> tuple[Edit, ...]:
    """A keyword argument after the others of a call; nothing where it has none to follow."""
    return (Edit(call.args[-1], f", {text}", "after"),) if call.args else ()


def draw_in_graph(model: Model, file: File, call: Call, name: str) -> Fix | None:
    """Have the graph draw a random number; None where Python needs it, or has another one in mind.

    Arguments:
        name: the canonical name of what draws today.
    """
    from tflint_gpu.model import graph_draw

    draw = graph_draw(model, file, call, name)
    if draw is None:
        return None
    return Fix(f"Draw with `{draw.spelling.text}`", "unsafe", (*importing(draw.spelling), Edit(call, draw.text)))


def moved_above_initialiser(file: File, call: Call, before: Initialiser, title: str) -> Fix | None:
    """Move the statement of a call, with what it needs, above the one that initialises the runtime.

    None where they are in two files or two blocks.
    """
    from tflint_gpu.model import in_one_block, needed_before

    statements = in_one_block(file, before.node, call) if before.file is file else None
    if statements is None:
        return None
    first, late = statements
    needed = needed_before(file, late, first)
    edits = moved_statements(file, needed, first) if needed else ()
    return Fix(title, "unsafe", edits) if edits else None


def moved_statements(
    file: File,
    statements: Sequence[CSTNode],
    target: CSTNode,
    where: Literal["above", "below"] = "above",
    *,
    apart: bool = False,
) -> tuple[Edit, ...]:
    """The edits that move statements above or below another one, with their comments and its indentation.

    None where nothing would be left of their block, where a line holds several, or a string has lines of its own.

    Arguments:
        apart: with empty lines around, as a function.
    """
    from tflint_gpu.model import children, head, set_apart, text_at

    block = file.tree.block(statements[0])
    if len(children(block)) == len(statements) or block in file.once(_crowded):
        return ()
    indentation = file.indentation(target)
    texts = [text for statement in statements if (text := text_at(file, statement, indentation)) is not None]
    if len(texts) < len(statements):
        return ()
    text = "".join(texts)
    text = set_apart(file, target, text, indentation) if apart else text
    gone = (Edit(head(statement), "", "commented lines", last=statement) for statement in statements)
    return (Edit(head(target) if where == "above" else target, text, where), *gone)


def _crowded(file: File) -> frozenset[CSTNode]:
    """The blocks in which a line holds several statements."""
    from libcst import SimpleStatementLine

    lines = (line for line in file.tree.nodes(SimpleStatementLine) if len(line.body) > 1)
    return frozenset(file.tree.parents[line] for line in lines)
