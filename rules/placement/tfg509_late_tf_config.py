"""TFG509 late-tf-config."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import libcst as cst

from tflint_gpu.model import Guards
from tflint_gpu.model.library.devices import MULTI_WORKER
from tflint_gpu.rule import Experiment, Finding, Note, Prediction, Rule, Workload

if TYPE_CHECKING:
    from tflint_gpu.model import Model

_VARIABLE = "TF_CONFIG"


class LateTfConfig(Rule):
    """`TF_CONFIG` is set after `MultiWorkerMirroredStrategy` has read it.

    Why: the strategy reads the variable once, when it is made. Without the variable the strategy has one worker, this
    one, and raises nothing: each machine trains its own model on all data. The variable takes effect if it is set
    before the strategy is created, or in the environment of the program.

    Reported:
    - a `TF_CONFIG` that is set after the strategy is made

    Not reported:
    - a variable that is also set before the strategy

    Measured: a strategy that is made before `TF_CONFIG` names two workers has one worker and one replica, TensorFlow
    2.21; a test shows it with the installed TensorFlow.

    Fix: none, because the strategy waits for the other workers as soon as it knows of them, and the value of the
    variable may be computed only after the strategy is made.

    Example:
        import json
        import os

        import tensorflow as tf

        strategy = tf.distribute.MultiWorkerMirroredStrategy()
        cluster = {"worker": ["a:1", "b:1"]}
        os.environ["TF_CONFIG"] = json.dumps({"cluster": cluster, "task": {"type": "worker", "index": 0}})

    Use instead:
        import json
        import os

        import tensorflow as tf

        cluster = {"worker": ["a:1", "b:1"]}
        os.environ["TF_CONFIG"] = json.dumps({"cluster": cluster, "task": {"type": "worker", "index": 0}})
        strategy = tf.distribute.MultiWorkerMirroredStrategy()
    """

    code = "TFG509"
    name = "late-tf-config"
    severity = "error"
    required_substrings = ((b"MultiWorkerMirroredStrategy",), (b"TF_CONFIG",))
    skips_tests = True

    def check(self, model: Model) -> Iterator[Finding]:
        """Yield the first assignment to the variable below a strategy of the same function that has none above it."""
        tree = model.file.tree
        strategies = [*model.calls(*sorted(MULTI_WORKER))]
        targets = sorted(_assignments(model), key=lambda target: tree.order[target])
        for target in targets:
            function = tree.function(target)
            above = [c for c in strategies if tree.function(c) is function and tree.order[c] < tree.order[target]]
            is_first = not any(tree.order[other] < tree.order[call] for other in targets for call in above)
            if not above or not is_first or any(tree.order[c] > tree.order[target] for c in strategies):
                continue
            if model.once(Guards).must_run(model.file, above[-1]):
                yield _finding(model, target, above[-1])
                return

    def experiments(self, finding: Finding, model: Model) -> Iterator[Experiment]:
        """How many workers a strategy has that is made before the variable is set."""
        yield Experiment(finding.file, finding.node, workload=_WORKLOAD, only_workload=True)


_WORKLOAD = Workload(
    before="""
        import json
        import os
        import socket

        import tensorflow as tf

        with socket.socket() as free:
            free.bind(("localhost", 0))
            port = free.getsockname()[1]
        cluster = json.dumps({"cluster": {"worker": [f"localhost:{port}"]}, "task": {"type": "worker", "index": 0}})
        strategy = tf.distribute.MultiWorkerMirroredStrategy()
        os.environ["TF_CONFIG"] = cluster
        wrong = {} if strategy.cluster_resolver.cluster_spec() else {"wrong": "the strategy knows no cluster"}
        tflint_measure.finish(outputs=[0.0], **wrong)
    """,
    changes=(("cluster = json", 'os.environ["TF_CONFIG"] = cluster = json'),),
)


def _finding(model: Model, target: cst.Subscript, strategy: cst.Call) -> Finding:
    return Finding(
        model.file,
        target,
        "too late: `MultiWorkerMirroredStrategy()` has already read `TF_CONFIG`, so each worker trains alone, without "
        "an error",
        Prediction("wrong-result", ("training",), basis="one worker of two, TensorFlow 2.21"),
        help="set `TF_CONFIG` before the strategy is made",
        notes=(Note(model.file, strategy, "the variable is read here"),),
    )


def _assignments(model: Model) -> Iterator[cst.Subscript]:
    """`os.environ["TF_CONFIG"] = ...`."""
    for name, stores in model.file.stores.items():
        for target, _ in stores if name.rpartition(".")[2] == "environ" else ():
            index = target.slice[0].slice if len(target.slice) == 1 else None
            is_environment = isinstance(index, cst.Index) and model.file.name(target.value) == "os.environ"
            if is_environment and isinstance(index, cst.Index) and model.value(index.value) == _VARIABLE:
                yield target
