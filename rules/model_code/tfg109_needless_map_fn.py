"""TFG109 needless-map-fn."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import libcst as cst

from tflint_gpu.model import Tracing, argument, walk, without_arguments
from tflint_gpu.rule import (
    Edit,
    Experiment,
    Finding,
    Fix,
    Note,
    Prediction,
    Rule,
    Workload,
)

if TYPE_CHECKING:
    from tflint_gpu.model import File, Model

    from .row_functions import RowMap


class NeedlessMapFn(Rule):
    """`tf.map_fn` calls a function for every row, though the function could work on all rows at once.

    Why: `tf.map_fn` is a loop. Under `tf.function` it is a `while` loop in the graph with a few operations for each
    row. Called eagerly, it is a Python loop. Many operations need no loop, because they work on the whole tensor:
    arithmetic, comparisons, casts, and reductions with an axis. `tf.where` replaces a conditional expression or
    `tf.cond`. `tf.gather` and an `Embedding` take all indices at once. Under `tf.function`, `tf.vectorized_map` turns a
    function of a row into one of the whole tensor, without any other change. Called eagerly, `tf.vectorized_map` traces
    again in every call. With few, large rows the loop costs little.

    Reported:
    - a `tf.map_fn` whose function is known to consist of such operations only

    Not reported:
    - ragged rows
    - functions that mask or index a row by its own values (`x[x > 0]`)
    - random draws, and functions with side effects
    - calls with `parallel_iterations` or `swap_memory`, which save memory
    - tensors with at most five rows
    - code that runs once, in `__init__` or `build`

    Measured: {evidence}

    Fix: unsafe: sums may be computed in another order, and the result for a tensor with zero rows keeps its other axes,
    which the loop would lose. If the function names axes, `tf.map_fn` becomes `tf.vectorized_map`, and only in traced
    code.

    Example:
        import tensorflow as tf


        @tf.function
        def peaks(signals):
            return tf.map_fn(lambda x: tf.reduce_max(tf.abs(x)), signals)

    Use instead:
        import tensorflow as tf


        @tf.function
        def peaks(signals):
            return tf.vectorized_map(lambda x: tf.reduce_max(tf.abs(x)), signals)
    """

    code = "TFG109"
    name = "needless-map-fn"
    required_substrings = ((b"map_fn",),)
    fixable = "unsafe"
    skips_tests = True
    skips_graphs = True

    def check(self, model: Model) -> Iterator[Finding]:
        """Yield the calls of `map_fn` whose function works on all rows."""
        from .row_functions import RowFunctions

        for row_map in model.once(RowFunctions).needless():
            name = f"{model.file.code(row_map.call.func)}"
            yield Finding(
                model.file,
                row_map.call.func,
                f"`{name}` runs this function row by row, though it could work on all rows at once",
                Prediction(
                    "slowdown",
                    low=1.0,
                    high=20_000.0,
                    basis="8 to 6,400 small rows, traced and eager, on a CPU; "
                    "the factor is smallest for few, large rows",
                ),
                help=_help(row_map),
                fix=_fix(model, row_map),
                notes=_notes(model, row_map),
            )

    def experiments(self, finding: Finding, model: Model) -> Iterator[Experiment]:
        """The rule's own workload: for all rows the user's function has to be written with their axes."""
        yield Experiment(model.file, finding.node, workload=_WORKLOAD, only_workload=True)


def _help(row_map: RowMap) -> str:
    if not row_map.needs:
        return "call the function once, on the whole tensor"
    changes = [text for need, text in _CHANGES.items() if need in row_map.needs]
    unchanged = "; under `tf.function`, `tf.vectorized_map` does this without changes to the function"
    vectorized = "" if row_map.needs & _BY_HAND else unchanged
    return f"compute on the whole tensor, with {', '.join(changes)}{vectorized}"


def _fix(model: Model, row_map: RowMap) -> Fix | None:
    """The function called once, where it needs no change; traced, `tf.vectorized_map`, which changes it."""
    call, file = row_map.call, model.file
    function, rows = argument(call, 0, "fn"), argument(call, 1, "elems")
    if function is None or rows is None or any(arg.star for arg in call.args):
        return None
    if not row_map.needs and isinstance(function, cst.Name | cst.Attribute):
        return Fix("Call it once", "unsafe", (Edit(call, f"{file.code(function)}({file.code(rows)})"),))
    if not row_map.needs and isinstance(function, cst.Lambda) and isinstance(rows, cst.Name | cst.Attribute):
        text = _with_rows(file, function, file.code(rows))
        return Fix("Compute it once", "unsafe", (Edit(call, text),)) if text else None
    around, spelled = file.tree.function(call), file.names.spelled("tf.vectorized_map", call)
    if row_map.needs & _BY_HAND or around is None or not model.once(Tracing).is_traced(file, around) or not spelled:
        return None
    gone = [arg for arg in call.args if arg.value is not function and arg.value is not rows]
    text = without_arguments(file, call, gone).removeprefix(file.code(call.func))
    return Fix("Let TensorFlow vectorize it", "unsafe", (Edit(call, f"{spelled}{text}"),))


def _with_rows(file: File, function: cst.Lambda, rows: str) -> str:
    """The body of a lambda with the rows for its one parameter."""
    parameters, body = function.params.params, function.body
    if len(parameters) != 1 or any(isinstance(node, cst.Lambda | cst.BaseComp) for node in walk(body)):
        return ""
    name, start = parameters[0].name.value, file.span(body)[0]
    uses = file.tree.inside(file.tree.uses.get(name, ()), body)
    text = file.code(body)
    for use in sorted(uses, key=lambda node: file.span(node)[0], reverse=True):
        first, last = (offset - start for offset in file.span(use))
        text = f"{text[:first]}{rows}{text[last:]}"
    is_one_operand = isinstance(body, cst.Call | cst.Name | cst.Attribute | cst.Subscript)
    return text if is_one_operand and "\n" not in text else f"({text})"


_BY_HAND = frozenset(["where", "map"])
_CHANGES = {
    "axis": "an axis for what reduces or indexes a row",
    "axes": "axes that make the operands fit",
    "where": "`tf.where` for the condition",
    "map": "without the inner `map_fn`",
}


def _notes(model: Model, row_map: RowMap) -> tuple[Note, ...]:
    """Where the function is written, unless it is in the call."""
    if row_map.function is None or model.file.tree.within(row_map.function.function.node, row_map.call):
        return ()
    function = row_map.function.function
    return (Note(function.file, function.node, "the function"),)


_WORKLOAD = Workload(
    before="""
        import tensorflow as tf

        x = tf.random.normal((256, 20))

        @tf.function
        def peaks(x):
            return tf.map_fn(lambda row: tf.reduce_max(tf.abs(row)), x)

        for _ in tflint_measure.steps(range(8)):
            peaks(x)
    """,
    changes=(("tf.map_fn(lambda row: tf.reduce_max(tf.abs(row)), x)", "tf.reduce_max(tf.abs(x), axis=-1)"),),
)
