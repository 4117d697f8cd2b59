"""TFG402 gpu-config-too-late."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import libcst as cst

from tflint_gpu.model import (
    GROWTH,
    INTER_THREADS,
    INTRA_THREADS,
    LOGICAL,
    VISIBLE,
    Kinds,
    LoopData,
    Runtime,
    argument,
    dotted_name,
    elements_of,
    loops_around,
    names_of,
)
from tflint_gpu.rule import (
    Change,
    Experiment,
    Finding,
    Fix,
    NoExperiment,
    Note,
    Prediction,
    Rule,
    Workload,
    moved_above_initialiser,
    next_statement,
    notes_before,
    wrap,
)

if TYPE_CHECKING:
    from tflint_gpu.model import File, Initialiser, Model, Node

_RAISED = {
    **dict.fromkeys(GROWTH, "Physical devices cannot be modified after being initialized"),
    **dict.fromkeys(LOGICAL, "Virtual devices cannot be modified after being initialized"),
    **dict.fromkeys(VISIBLE, "Visible devices cannot be modified after being initialized"),
    INTRA_THREADS: "Intra op parallelism cannot be modified after initialization",
    INTER_THREADS: "Inter op parallelism cannot be modified after initialization",
}
_EVERY_MACHINE, _WITH_GPU, _WITH_GPUS = "every machine", "a machine with a GPU", "a machine with two or more GPUs"
_ALL = "every GPU"
_SETTINGS = (b"set_memory_growth", b"set_visible_devices", b"device_configuration", b"op_parallelism_threads")


class GpuConfigTooLate(Rule):
    """GPUs or threads are configured after the runtime was initialised, or one GPU gets mutually exclusive settings.

    Why: memory growth, visible devices, logical devices and the numbers of threads (`tf.config.threading`) are fixed
    when the runtime starts. The first operation starts it: `tf.constant`, `tf.Variable`, a dataset, an optimizer, a
    `Sequential` model with an Input, `MirroredStrategy()`, `with tf.device(...)`, `list_logical_devices`. A later
    change raises `RuntimeError: Physical devices cannot be modified after being initialized`. It raises only where it
    changes something, so on a machine without a GPU the mistake goes unnoticed; setting the number of threads raises on
    every machine. Memory growth and a logical configuration exclude each other on the same device: growth that is set
    second raises ValueError, growth that is set first is ignored.

    Reported:
    - a configuration of GPUs or threads after the runtime was initialised
    - memory growth and a logical configuration of the same GPU

    Not reported:
    - other settings of `tf.config`, such as soft placement or the optimizer's options: they can be changed after the
      runtime has started

    Measured: the RuntimeErrors with TensorFlow 2.21 and 2.15 (tensorflow/python/eager/context.py); a test
    raises them with the installed TensorFlow.

    Fix: unsafe: the configuration moves above the code that initialises the runtime, together with the device lists
    that it reads, so its prints appear earlier. There is no fix if the configuration and this code are not in the same
    block, share other variables, or are both in a loop over the GPUs, whose second iteration is too late.

    Example:
        import tensorflow as tf

        scale = tf.constant(2.0)
        for gpu in tf.config.list_physical_devices("GPU"):
            tf.config.experimental.set_memory_growth(gpu, True)

    Use instead:
        import tensorflow as tf

        for gpu in tf.config.list_physical_devices("GPU"):
            tf.config.experimental.set_memory_growth(gpu, True)
        scale = tf.constant(2.0)
    """

    code = "TFG402"
    name = "gpu-config-too-late"
    severity = "error"
    nearby_substrings = _SETTINGS
    fixable = "unsafe"
    skips_tests = True

    def check(self, model: Model) -> Iterator[Finding]:
        """Yield the configuring calls that fail because of something that always runs before them."""
        for file, call in model.once(Runtime).startup_settings():
            before = model.once(Runtime).initialiser_before(file, call)
            changed_on = _machine(model, file, call)
            if before is not None and changed_on is not None:
                yield _too_late(model, file, call, before, changed_on)
            elif before is None and (first := _in_first_iteration(model, file, call)) is not None:
                yield _too_late(model, file, call, first, _WITH_GPUS, "initialises the runtime in the first iteration")
            elif file is model.file and model.name(call.func) in GROWTH:
                yield from _both_ways(model, call)

    def experiments(self, finding: Finding, model: Model) -> Iterator[Experiment]:
        """The program up to the call, with what makes the call too late: as it is, and without the call."""
        assert isinstance(finding.node, cst.Call)
        if finding.file is not model.file:
            raise NoExperiment("the GPUs are configured in a different file from the program")
        statement = model.file.tree.statement(finding.node)
        is_in_loop = _in_first_iteration(model, finding.file, finding.node) is not None
        machine = _WITH_GPUS if is_in_loop else _machine(model, finding.file, finding.node)
        yield Experiment(
            model.file,
            finding.node,
            keeps=tuple(note.node for note in finding.notes if note.file is model.file),
            probes=(
                *wrap(model.file, finding.node.func, "uncaught"),
                next_statement(model.file, statement, "tflint_measure.reached()"),
            ),
            repair=(Change(model.file, finding.node, "None"),),
            patch=(),
            exceptions=("RuntimeError", "ValueError"),
            requires="two GPUs" if machine == _WITH_GPUS else "any device" if machine == _EVERY_MACHINE else "a GPU",
            workload=_THREADS_WORKLOAD if machine == _EVERY_MACHINE else _WORKLOAD,
        )


_WORKLOAD = Workload(
    before="""
        import tensorflow as tf

        tf.constant(1.0)
        for gpu in tf.config.list_physical_devices("GPU"):
            tf.config.experimental.set_memory_growth(gpu, True)
        tflint_measure.reached()
    """,
    changes=(("\ntf.constant(1.0)", ""),),
)
_THREADS_WORKLOAD = Workload(
    before="""
        import tensorflow as tf

        tf.constant(1.0)
        tf.config.threading.set_intra_op_parallelism_threads(2)
        tflint_measure.reached()
    """,
    changes=(("\ntf.constant(1.0)", ""),),
)


def _machine(model: Model, file: File, call: cst.Call) -> str | None:
    """On which machines the call changes a value; None where it changes none, or may have been made before."""
    name, devices = file.name(call.func), argument(call, 0, "devices")
    if name in (INTRA_THREADS, INTER_THREADS):
        return _EVERY_MACHINE if _is_only_one(model, file, call) else None
    if name not in VISIBLE or devices is None:
        return _WITH_GPU
    if isinstance(devices, cst.Subscript) and model.once(Kinds).is_gpu_list(file, devices.value):
        return _WITH_GPUS
    return None if model.once(Kinds).is_gpu_list(file, devices) else _WITH_GPU


def _in_first_iteration(model: Model, file: File, call: cst.Call) -> Initialiser | None:
    """What initialises the runtime after a loop over the GPUs has configured the first of them."""
    device, loop = _device(model, file, call)
    if device != _ALL or not isinstance(loop, cst.For) or model.once(LoopData).leaves_early(file, loop):
        return None
    return model.once(Runtime).initialiser_after(file, call, loop)


def _is_only_one(model: Model, file: File, call: cst.Call) -> bool:
    """Whether a program sets a number of threads there only: set again to what it is, it raises nothing."""
    name = file.name(call.func) or ""
    files = {file, *model.inference.seen.using(name.rpartition(".")[2])}
    return [other for user in files for other in user.calls(name)] == [call]


def _too_late(
    model: Model,
    file: File,
    call: cst.Call,
    before: Initialiser,
    machine: str,
    what: str = "has initialised the runtime",
) -> Finding:
    on_every = machine == _EVERY_MACHINE
    return Finding(
        file,
        call,
        f"too late: {before.text} {what}, so this raises RuntimeError "
        f"({_RAISED[file.name(call.func) or '']}) on {machine}",
        Prediction(
            "crash",
            () if on_every else ("gpu",),
            basis="measured with TensorFlow 2.15 and 2.21; only where the call changes a value",
        ),
        help=f"configure the {'threads' if on_every else 'GPUs'} right after the imports",
        notes=notes_before(before, "the runtime is initialised here"),
        fix=_moved_up(file, call, before),
    )


def _moved_up(file: File, call: cst.Call, before: Initialiser) -> Fix | None:
    """The statement that configures them, above the one that initialises the runtime; in one loop that is no help."""
    loop = next(loops_around(file, call), None)
    if before.file is file and loop is not None and file.tree.within(before.node, loop):
        return None
    what = "threads" if file.name(call.func) in (INTRA_THREADS, INTER_THREADS) else "GPUs"
    return moved_above_initialiser(file, call, before, f"Configure the {what} first")


def _both_ways(model: Model, growth: cst.Call) -> Iterator[Finding]:
    """Growth on a device that gets a logical configuration, too, where neither is under a test but for GPUs."""
    tree = model.file.tree
    grown, place = _device(model, model.file, growth)
    for other in model.calls(*LOGICAL):
        configured, other_place = _device(model, model.file, other)
        all_grow = grown == _ALL and _is_gpu(model, other)
        all_configured = configured == _ALL and _is_gpu(model, growth)
        is_same = grown is not None and grown == configured
        if not (is_same or all_grow or all_configured) or _block(model, place) is not _block(model, other_place):
            continue
        late = tree.order[other] < tree.order[growth]
        yield Finding(
            model.file,
            growth,
            "memory growth and a logical configuration on the same device: "
            + ("this raises ValueError on a machine with a GPU" if late else "the growth is ignored"),
            Prediction("crash" if late else "no-effect", ("gpu",), basis="tensorflow/python/eager/context.py"),
            help="keep one of the two",
            notes=(Note(model.file, other, "the logical configuration"),),
        )
        return


def _block(model: Model, place: Node) -> Node:
    """The block of a place; of one under `if gpus:` that around it, since without GPUs neither setting counts."""
    tree = model.file.tree
    block = tree.block(place)
    around = tree.parents.get(block)
    if isinstance(around, cst.If) and around.body is block and model.once(Kinds).is_gpu_list(model.file, around.test):
        return _block(model, around)
    return block


def _device(model: Model, file: File, call: cst.Call) -> tuple[str | None, Node]:
    """How the device that a call configures is written, and the call; all GPUs and the loop where it goes over them."""
    device = argument(call, 0, "device")
    loop = next((p for p in file.tree.ancestors(call) if isinstance(p, cst.For | cst.BaseComp)), None)
    if loop is not None and isinstance(device, cst.Name) and device.value in names_of(loop):
        data = elements_of(file, loop)
        if data is not None and model.once(Kinds).is_gpu_list(file, data):
            return _ALL, loop
    return dotted_name(device) or (file.code(device) if isinstance(device, cst.Subscript) else None), call


def _is_gpu(model: Model, call: cst.Call) -> bool:
    """Whether a call configures what is at an index of the list of GPUs."""
    device = argument(call, 0, "device")
    return device is not None and model.once(Kinds).is_one_gpu(model.file, device)
