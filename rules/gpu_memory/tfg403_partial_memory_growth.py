"""TFG403 partial-memory-growth."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import libcst as cst

from tflint_gpu.model import GROWTH, Guards, Kinds, Runtime, argument
from tflint_gpu.model.library.devices import EMPTY_LIST_ERRORS
from tflint_gpu.rule import (
    Change,
    Edit,
    Experiment,
    Finding,
    Fix,
    Prediction,
    Rule,
    Workload,
    fix_changes,
    next_statement,
)

if TYPE_CHECKING:
    from tflint_gpu.model import File, Model


class PartialMemoryGrowth(Rule):
    """Memory growth is set on one GPU while all GPUs stay visible.

    Why: TensorFlow requires the same setting on every visible GPU. On a machine with two GPUs, the first operation
    raises `ValueError: Memory growth cannot differ between GPU devices`. On a machine with one GPU the program works,
    so the mistake appears when the program moves to a larger machine.

    Reported:
    - memory growth for one GPU of the list

    Not reported:
    - programs that make one GPU visible (`set_visible_devices`, `CUDA_VISIBLE_DEVICES`)
    - programs that check the number of GPUs first

    Measured: the ValueError, with TensorFlow 2.21 and two simulated GPUs in its device list
    (tensorflow/python/eager/context.py).

    Fix: safe: on a machine with one GPU nothing changes, and on one with several GPUs, the program raises without the
    fix; unsafe if the program catches the IndexError of an empty list, because a loop raises none.

    Example:
        import tensorflow as tf

        gpus = tf.config.list_physical_devices("GPU")
        if gpus:
            tf.config.experimental.set_memory_growth(gpus[0], True)

    Use instead:
        import tensorflow as tf

        gpus = tf.config.list_physical_devices("GPU")
        if gpus:
            for gpu in gpus:
                tf.config.experimental.set_memory_growth(gpu, True)
    """

    code = "TFG403"
    name = "partial-memory-growth"
    severity = "error"
    nearby_substrings = (b"set_memory_growth",)
    fixable = "safe"

    def check(self, model: Model) -> Iterator[Finding]:
        """Yield the growth calls on one element of the list of GPUs, where no other element gets it."""
        if model.once(Runtime).narrows_visibility():
            return
        for file, call, device in _calls(model):
            if not any(
                model.once(Guards).compares_count(file, test) for test in model.once(Guards).conditions(file, call)
            ):
                yield _finding(model, file, call, device)

    def experiments(self, finding: Finding, model: Model) -> Iterator[Experiment]:
        """The program up to the call and a first operation: as it is, and with growth on every GPU."""
        assert isinstance(finding.node, cst.Call)
        file = finding.file
        statement = file.tree.statement(finding.node)
        yield Experiment(
            file,
            finding.node,
            probes=(next_statement(file, statement, "tflint_measure.reached()"),),
            repair=fix_changes(finding) or (Change(file, finding.node, "tflint_measure.grow_memory()"),),
            exceptions=("ValueError",),
            requires="two GPUs",
            workload=_WORKLOAD,
        )


_WORKLOAD = Workload(
    before="""
        import tensorflow as tf

        gpus = tf.config.list_physical_devices("GPU")
        for gpu in gpus[:1]:
            tf.config.experimental.set_memory_growth(gpu, True)
        tflint_measure.reached()
    """,
    changes=(("gpus[:1]", "gpus"),),
)


def _calls(model: Model) -> Iterator[tuple[File, cst.Call, cst.BaseExpression]]:
    """The growth call of each file that a program runs, if it is the only one there, and the one GPU that gets it.

    A library is seen from its programs: they may choose the GPUs that are visible.
    """
    if not model.file.runs_something:
        return
    for file in model.inference.seen.using("set_memory_growth"):
        calls = list(file.calls(*GROWTH))
        device = _single_gpu(model, file, calls[0]) if len(calls) == 1 else None
        if device is not None and (file is model.file or not file.runs_something):
            yield file, calls[0], device


def _finding(model: Model, file: File, call: cst.Call, device: cst.BaseExpression) -> Finding:
    return Finding(
        file,
        call,
        "memory growth on one GPU while all are visible: with two GPUs the first operation raises "
        "ValueError (Memory growth cannot differ between GPU devices)",
        Prediction("crash", ("gpu", "two or more GPUs"), basis="measured with TensorFlow 2.21 and simulated GPUs"),
        help="set it on every GPU in a loop",
        fix=_fix(model, file, call, device),
    )


def _single_gpu(model: Model, file: File, call: cst.Call) -> cst.BaseExpression | None:
    """The expression `gpus[0]`, or the name bound to it, where growth on it is set to True."""
    device, enable = argument(call, 0, "device"), argument(call, 1, "enable")
    if device is None or model.constants.of(file, enable) is not True:
        return None
    return device if model.once(Kinds).is_one_gpu(file, device) else None


def _fix(model: Model, file: File, call: cst.Call, device: cst.BaseExpression) -> Fix | None:
    """Turn the statement into a loop over the list; unsafe where a handler may wait for the error of an empty list."""
    statement = file.tree.statement(call)
    if not isinstance(statement, cst.SimpleStatementLine) or len(statement.body) != 1:
        return None
    small = statement.body[0]
    if not isinstance(small, cst.Expr) or small.value is not call or not isinstance(device, cst.Subscript):
        return None
    gpu = file.names.free("gpu", "physical_gpu")
    loop = f"for {gpu} in {file.code(device.value)}:\n{file.indentation(statement)}    "
    is_handled = model.once(Guards).may_be_handled(file, call, *EMPTY_LIST_ERRORS)
    return Fix(
        "Set it on every GPU", "unsafe" if is_handled else "safe", (Edit(call, loop, "before"), Edit(device, gpu))
    )
