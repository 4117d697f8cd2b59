"""TFG508 late-multi-worker."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from tflint_gpu.model import Runtime
from tflint_gpu.model.library.devices import MULTI_WORKER
from tflint_gpu.rule import Experiment, Finding, Prediction, Rule, Workload, moved_above_initialiser, notes_before

if TYPE_CHECKING:
    import libcst as cst

    from tflint_gpu.model import Initialiser, Model

_BASIS = "RuntimeError with one worker in `TF_CONFIG`, TensorFlow 2.21, on a machine without a GPU"


class LateMultiWorker(Rule):
    """`MultiWorkerMirroredStrategy` is made after something that initialised the runtime.

    Why: the strategy starts the server that connects the workers, and the server has to exist when the runtime starts.
    If a tensor, a variable, a dataset, an optimizer, a metric, a `Sequential` model with an Input or
    `list_logical_devices` comes before the strategy, the runtime starts without a server. Where `TF_CONFIG` names a
    cluster the strategy raises `RuntimeError: Collective ops must be configured at program startup`. Without
    `TF_CONFIG` nothing raises, so a trial on one machine does not show the mistake.

    Reported:
    - a `MultiWorkerMirroredStrategy` that is made after one of these

    Not reported:
    - `list_physical_devices`, seeds and layers, which may come before the strategy

    Measured: each of these before the strategy, with one worker in `TF_CONFIG`, raises with TensorFlow 2.21; without
    `TF_CONFIG` none does; a test shows it with the installed TensorFlow.

    Fix: unsafe: the strategy moves above the code that initialises the runtime. There is no fix if they are in
    different blocks.

    Example:
        import tensorflow as tf

        data = tf.data.Dataset.range(1000).batch(64)
        strategy = tf.distribute.MultiWorkerMirroredStrategy()

    Use instead:
        import tensorflow as tf

        strategy = tf.distribute.MultiWorkerMirroredStrategy()
        data = tf.data.Dataset.range(1000).batch(64)
    """

    code = "TFG508"
    name = "late-multi-worker"
    severity = "error"
    required_substrings = ((b"MultiWorkerMirroredStrategy",),)
    fixable = "unsafe"
    skips_tests = True
    skips_graphs = True

    def check(self, model: Model) -> Iterator[Finding]:
        """Yield each strategy that something in the program always comes before."""
        for call in model.calls(*sorted(MULTI_WORKER)):
            before = model.once(Runtime).initialiser_before(model.file, call)
            if before is not None and before.name not in MULTI_WORKER:
                yield _finding(model, call, before)

    def experiments(self, finding: Finding, model: Model) -> Iterator[Experiment]:
        """A cluster of one worker, after an operation and before it."""
        yield Experiment(
            finding.file, finding.node, workload=_WORKLOAD, only_workload=True, exceptions=("RuntimeError",)
        )


_WORKLOAD = Workload(
    before="""
        import json
        import os
        import socket

        import tensorflow as tf

        with socket.socket() as free:
            free.bind(("localhost", 0))
            port = free.getsockname()[1]
        os.environ["TF_CONFIG"] = json.dumps(
            {"cluster": {"worker": [f"localhost:{port}"]}, "task": {"type": "worker", "index": 0}}
        )
        tf.constant(1.0)
        tf.distribute.MultiWorkerMirroredStrategy()
        tflint_measure.reached()
    """,
    changes=(("\ntf.constant(1.0)", ""),),
)


def _finding(model: Model, call: cst.Call, before: Initialiser) -> Finding:
    return Finding(
        model.file,
        call,
        f"too late: {before.text} has initialised the runtime, so this raises RuntimeError "
        "(Collective ops must be configured at program startup) where `TF_CONFIG` names a cluster",
        Prediction("crash", ("TF_CONFIG",), basis=_BASIS),
        help="make the strategy right after the imports, before tensors, datasets, models and optimizers",
        notes=notes_before(before, "the runtime is initialised here"),
        fix=moved_above_initialiser(model.file, call, before, "Make the strategy first"),
    )
