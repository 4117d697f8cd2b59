"""TFG501 unguarded-device."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

import libcst as cst

from tflint_gpu.lazy_patterns import regex
from tflint_gpu.model import Guards, Runtime, Visibility, imports_tensorflow_1, parse_device
from tflint_gpu.rule import (
    Edit,
    Experiment,
    Finding,
    Fix,
    NoExperiment,
    Note,
    Prediction,
    Rule,
    Workload,
    importing,
    wrap,
)

if TYPE_CHECKING:
    from tflint_gpu.model import Model, VisibleGpus

_SCOPES = ("tf.device", "keras.device")
_NUMBER = regex(r"gpu:(\d+)$", re.IGNORECASE)


class UnguardedDevice(Rule):
    """A device string names a GPU, and nothing checks whether this GPU exists.

    Why: TensorFlow places what it can on a GPU by itself. Naming a GPU is needed only to choose among several. With
    soft placement, the default for eager code and `tf.function`, a block under `tf.device("/GPU:0")` silently runs on
    the CPU where this GPU does not exist; so does `/GPU:1` on a machine with one GPU. Hours later the user wonders why
    the GPU was idle. With soft placement off the same string raises.

    Where the program sets `CUDA_VISIBLE_DEVICES`, TensorFlow numbers the GPUs that it names from 0. After
    `os.environ["CUDA_VISIBLE_DEVICES"] = "2"` there is a `/GPU:0` and never a `/GPU:2`, on any machine.

    Reported:
    - a GPU in a device string without a guard
    - a GPU whose number `CUDA_VISIBLE_DEVICES` leaves out; `if gpus:` does not guard against that

    Not reported:
    - device strings with a guard: a condition, an assert, an early return or a `try` on the list of devices, or a flag
      that the user sets

    Measured: TensorFlow 2.21 and 2.15 without a GPU: `/GPU:0`, `/gpu:1` and `/GPU:*` silently run on CPU:0, eagerly, in
    `tf.function` and in Keras; a test repeats it with the installed TensorFlow. That a process counts the GPUs of
    `CUDA_VISIBLE_DEVICES` from 0 is what CUDA's documentation says.

    Fix: safe with soft placement, because the same devices are used as before. Unsafe without it, because a program
    that raised before then continues. Also unsafe if the fix replaces the number of a GPU by the one that TensorFlow
    assigns to it. There is none in functions of a program that saves graphs, which name their devices.

    Example:
        import tensorflow as tf

        with tf.device("/GPU:1"):
            product = tf.linalg.matmul(left, right)

    Use instead:
        import tensorflow as tf

        with tf.device("/GPU:1" if len(tf.config.list_logical_devices("GPU")) > 1 else "/CPU:0"):
            product = tf.linalg.matmul(left, right)
    """

    code = "TFG501"
    name = "unguarded-device"
    severity = "warning"
    least_tensorflow = (2, 0)
    required_substrings = ((b".device(", b" device(", b"OneDeviceStrategy("),)
    nearby_substrings = (b"gpu", b"GPU", b"Gpu")
    fixable = "safe"
    skips_tests = True
    skips_graphs = True

    def check(self, model: Model) -> Iterator[Finding]:
        """Yield the GPU device strings that no test for GPUs guards."""
        for call, device in model.once(Runtime).device_strings(*_SCOPES, "tf.distribute.OneDeviceStrategy"):
            text = _gpu(model, device)
            if text is None or "job:" in text:
                continue
            if model.once(Runtime).is_graph_code(model.file, call) or model.once(imports_tensorflow_1):
                continue
            guards, left = model.once(Guards), _without_it(model, call, text)
            is_guarded = guards.depends_on_gpus(model.file, call) or _is_guarded_value(model, device)
            if not is_guarded or (left is not None and guards.asks_for_any_gpu(model.file, call)):
                yield _finding(model, call, device, text, left)

    def experiments(self, finding: Finding, model: Model) -> Iterator[Experiment]:
        """The block with the GPUs hidden: on which device do its operations run, without a guard and with one?"""
        call = finding.subject_as(cst.Call)
        if call.args[0].value is not finding.node:
            raise NoExperiment("the device is chosen elsewhere")
        strategy = model.name(call.func) == "tf.distribute.OneDeviceStrategy"
        blocks = [parent for parent in model.file.tree.ancestors(call) if isinstance(parent, cst.With)][:1]
        training = [loop for loop in model.file.tree.loops if blocks and model.file.tree.within(loop, blocks[0])]
        short = (wrap(model.file, loop.iter, "few") for loop in training if isinstance(loop, cst.For))
        yield Experiment(
            model.file,
            call,
            probes=(
                *wrap(model.file, call.func, "placed_strategy" if strategy else "placed"),
                *(change for changes in short for change in changes),
            ),
            repair=wrap(model.file, finding.node, "available"),
            opening="tflint_measure.log_devices()",
            requires="no GPU",
            workload=_WORKLOAD,
        )


_WORKLOAD = Workload(
    before="""
        import tensorflow as tf

        with tflint_measure.placed(tf.device)("/GPU:0"):
            product = tf.linalg.matmul(tf.ones((8, 8)), tf.ones((8, 8)))
    """,
    changes=(('("/GPU:0")', '(tflint_measure.available("/GPU:0"))'),),
)


def _gpu(model: Model, device: cst.BaseExpression) -> str | None:
    """The device string if it names a GPU; with `...` for an index that is computed."""
    text = model.value(device)
    if isinstance(text, str):
        return text if parse_device(text).is_gpu else None
    beginning = model.constants.beginning(model.file, device)
    return f"{beginning}..." if beginning.endswith(":") and parse_device(f"{beginning}0").is_gpu else None


def _is_guarded_value(model: Model, device: cst.BaseExpression) -> bool:
    """`device = "/GPU:0" if gpus else "/CPU:0"`, or a name bound under such a condition."""
    return any(
        not origin.is_open and model.once(Guards).depends_on_gpus(origin.file, origin.node)
        for origin in model.inference.of(model.file, device)
    )


def _without_it(model: Model, call: cst.Call, text: str) -> VisibleGpus | None:
    """The GPUs that `CUDA_VISIBLE_DEVICES` leaves, where what a device string names is never among them."""
    index = parse_device(text).index
    left = model.once(Visibility).left_before(call) if index is not None else None
    return left if left is not None and index is not None and index >= len(left.numbers) else None


def _finding(model: Model, call: cst.Call, device: cst.BaseExpression, text: str, left: VisibleGpus | None) -> Finding:
    is_soft = model.once(Runtime).soft_placement(call)
    help_text = "remove the device (TensorFlow uses a GPU by itself), or check `tf.config.list_logical_devices` first"
    return Finding(
        model.file,
        device,
        f"`{text}` is not guarded: where this GPU does not exist, {_WHERE_MISSING[is_soft]}"
        if left is None
        else f"`{text}` never exists: TensorFlow numbers the GPUs of `CUDA_VISIBLE_DEVICES` from 0, up to "
        f"{len(left.numbers) - 1} here, so {_WHERE_MISSING[is_soft]}",
        Prediction(
            "crash" if is_soft is False else "wrong-device",
            ("machines without that GPU",) if left is None else (),
            basis="soft placement, measured with TensorFlow 2.15 and 2.21 without a GPU",
        ),
        help=help_text if left is None else "remove the device (TensorFlow uses a GPU by itself), or count from 0",
        notes=()
        if left is None
        else (Note(model.file, left.target, "the variable that makes only these GPUs visible"),),
        fix=_fix(model, call, device, text, left, is_soft is True),
        subject=call,
    )


def _fix(
    model: Model, call: cst.Call, device: cst.BaseExpression, text: str, left: VisibleGpus | None, is_soft: bool
) -> Fix | None:
    """Ask for the GPU where its name is written: with soft placement the same devices, and a reader sees them.

    Where the GPU has another number than its name says, it gets that.
    """
    number = _NUMBER.search(text)
    spelling = model.file.imports.spelling("tf.config.list_logical_devices", call)
    if spelling is None or number is None or not isinstance(device, cst.SimpleString):
        return None
    is_in_function = model.file.tree.function(call) is not None and model.name(call.func) in _SCOPES
    if is_in_function and model.once(Runtime).may_write_graphs():
        return None  # a graph that is written names the device, for a machine that may have the GPU
    named, index = model.file.code(device), int(number[1])
    if left is not None:
        if index not in left.numbers:
            return None
        index = left.numbers.index(index)
        named = f"{index}".join(named.rsplit(number[1], 1))
    gpus = f'{spelling.text}("GPU")'
    test = gpus if index == 0 else f"len({gpus}) > {index}"
    edit = Edit(device, f'{named} if {test} else "/CPU:0"')
    same = is_soft and left is None
    return Fix("Check whether the GPU exists", "safe" if same else "unsafe", (*importing(spelling), edit))


_WHERE_MISSING = {
    True: "this silently runs on the CPU",
    False: "this raises, as soft placement is off",
    None: "this runs on the CPU, or raises if soft placement is off at that point",
}
