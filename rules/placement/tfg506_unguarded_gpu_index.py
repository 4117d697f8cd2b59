"""TFG506 unguarded-gpu-index."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import libcst as cst

from tflint_gpu.model import Guards, Kinds, children
from tflint_gpu.model.library.devices import EMPTY_LIST_ERRORS
from tflint_gpu.rule import (
    Change,
    Edit,
    Experiment,
    Finding,
    Fix,
    NoExperiment,
    Prediction,
    Rule,
    Workload,
    next_statement,
)

if TYPE_CHECKING:
    from tflint_gpu.model import Model


class UnguardedGpuIndex(Rule):
    """The list of GPUs is indexed, and nothing checks whether it is empty.

    Why: `tf.config.list_physical_devices("GPU")` is empty on a machine without a GPU (a laptop, CI, a container without
    the driver), and an index into it raises IndexError there.

    Reported:
    - an index into the list of GPUs, if nothing checks whether the list is empty

    Not reported:
    - a loop over the list, which needs no check

    Measured: `IndexError: list index out of range` on a machine without a GPU, TensorFlow 2.21 and 2.15; a test repeats
    it with the installed TensorFlow.

    Fix: safe: on a machine with a GPU nothing changes, and on one without a GPU the program raises without the fix;
    unsafe where a caller handles that error.

    Example:
        import tensorflow as tf

        gpus = tf.config.list_physical_devices("GPU")
        tf.config.set_visible_devices(gpus[0], "GPU")

    Use instead:
        import tensorflow as tf

        gpus = tf.config.list_physical_devices("GPU")
        if gpus:
            tf.config.set_visible_devices(gpus[0], "GPU")
    """

    code = "TFG506"
    name = "unguarded-gpu-index"
    severity = "warning"
    required_substrings = ((b"list_physical_devices", b"list_logical_devices", b"get_visible_devices"), (b"GPU",))
    fixable = "safe"
    skips_tests = True

    def check(self, model: Model) -> Iterator[Finding]:
        """Yield the indexes into lists of GPUs that no condition protects."""
        subscripts = [subscript for subscript in model.file.tree.subscripts if _is_unguarded(model, subscript)]
        plain = {statement: other for other in subscripts if (statement := _plain_statement(model, other)) is not None}
        for subscript in subscripts:
            yield Finding(
                model.file,
                subscript,
                "the list of GPUs may be empty: this index raises IndexError on a machine without a GPU",
                Prediction("crash", ("machines without a GPU",), basis="the list is empty there; measured"),
                help="loop over the list, or check it first",
                fix=_fix(model, subscript, plain),
            )

    def experiments(self, finding: Finding, model: Model) -> Iterator[Experiment]:
        """The statement on a machine without a GPU, as it is and under `if gpus:`."""
        assert isinstance(finding.node, cst.Subscript)
        statement = model.file.tree.statement(finding.node)
        if not isinstance(statement, cst.SimpleStatementLine):
            raise NoExperiment("the index is in the first line of a compound statement (`if`, `for`, `with`)")
        guard = f"if {model.file.code(finding.node.value)}:\n{model.file.indentation(statement)}    "
        yield Experiment(
            model.file,
            finding.node,
            probes=(next_statement(model.file, statement, "tflint_measure.reached()"),),
            repair=(Change(model.file, statement, guard, "before"),),
            exceptions=("IndexError",),
            requires="no GPU",
            workload=_WORKLOAD,
        )


_WORKLOAD = Workload(
    before="""
        import tensorflow as tf

        gpus = tf.config.list_physical_devices("GPU")
        first = gpus[0]
        tflint_measure.reached()
    """,
    changes=(("first = gpus[0]", "first = gpus[0] if gpus else None"),),
)


def _is_unguarded(model: Model, subscript: cst.Subscript) -> bool:
    index = subscript.slice[0].slice if len(subscript.slice) == 1 else None
    return (
        isinstance(index, cst.Index)
        and isinstance(model.value(index.value), int)
        and model.once(Kinds).is_gpu_list(model.file, subscript.value)
        and not model.once(Guards).protects_index(model.file, subscript)
    )


def _plain_statement(model: Model, subscript: cst.Subscript) -> cst.SimpleStatementLine | None:
    """The statement around an index, if it binds nothing, so that it can be left out where there is no GPU."""
    statement, index = model.file.tree.statement(subscript), subscript.slice[0].slice
    if not isinstance(statement, cst.SimpleStatementLine) or len(statement.body) != 1:
        return None
    small = statement.body[0]
    if not isinstance(subscript.value, cst.Name) or not isinstance(small, cst.Expr) or _binds(small):
        return None
    if not isinstance(index, cst.Index) or model.value(index.value) not in (0, -1) or "\n" in model.file.code(small):
        return None
    return statement


def _fix(model: Model, subscript: cst.Subscript, plain: dict[cst.SimpleStatementLine, cst.Subscript]) -> Fix | None:
    """Put a statement, with its neighbours that need it too, under one `if gpus:`."""
    statement = model.file.tree.statement(subscript)
    if not isinstance(statement, cst.SimpleStatementLine) or statement not in plain:
        return None
    gpus = model.file.code(subscript.value)
    first, *others = (
        neighbour.body[0]
        for neighbour in _neighbours(model, statement, plain)
        if model.file.code(plain[neighbour].value) == gpus
    )
    guard = f"if {gpus}:\n{model.file.indentation(statement)}    "
    edits = (Edit(first, guard, "before"), *(Edit(other, "    ", "before") for other in others))
    is_handled = model.once(Guards).may_be_handled(model.file, subscript, *EMPTY_LIST_ERRORS)
    return Fix("Do it only where there is a GPU", "unsafe" if is_handled else "safe", edits)


def _neighbours(
    model: Model, statement: cst.SimpleStatementLine, plain: dict[cst.SimpleStatementLine, cst.Subscript]
) -> list[cst.SimpleStatementLine]:
    """The statements without another one between them around a statement, itself included."""
    lines: list[cst.SimpleStatementLine] = []
    for neighbour in children(model.file.tree.block(statement)):
        if isinstance(neighbour, cst.SimpleStatementLine) and neighbour in plain:
            lines.append(neighbour)
        elif statement in lines:
            break
        elif isinstance(neighbour, cst.BaseCompoundStatement | cst.SimpleStatementLine):
            lines = []
    return lines


def _binds(node: cst.CSTNode) -> bool:
    return isinstance(node, cst.NamedExpr) or any(_binds(child) for child in children(node))
