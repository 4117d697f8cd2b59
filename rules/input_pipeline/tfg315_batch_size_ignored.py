"""TFG315 batch-size-ignored."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import libcst as cst

from tflint_gpu.model import KerasInputs
from tflint_gpu.rule import (
    Experiment,
    Finding,
    Note,
    Prediction,
    Rule,
    Workload,
    leave_out,
)

if TYPE_CHECKING:
    from tflint_gpu.model import Chain, KerasInput, Model

_IGNORED_SINCE = (2, 2)


class BatchSizeIgnored(Rule):
    """`fit`, `evaluate` or `predict` gets a tf.data dataset and a `batch_size`.

    Why: a dataset brings its own batches, and Keras takes each of its elements as one batch. It accepts `batch_size`
    together with a dataset and ignores it without a warning, so the program trains with a batch size other than the one
    it states.

    Reported:
    - a `batch_size` for a dataset; if it equals the size in the dataset's own `.batch`, the finding is advice

    Not reported:
    - a `fit` that also gets validation arrays: they are split into batches of this size
    - a model class with a custom `fit`
    - data that may also be arrays or a generator
    - a `batch_size` that may be None

    Measured: with 70 samples in batches of 10 and `batch_size=7`, `fit`, `evaluate` and `predict` run 7 steps, not 10,
    with TensorFlow 2.21 (Keras 3) and 2.15 (Keras 2), also with a distributed dataset, and neither warns; a test shows
    it with the installed TensorFlow.

    Fix: unsafe, because the code no longer shows the size that the author intended; safe if the dataset has the same
    size.

    Example:
        import tensorflow as tf

        dataset = tf.data.Dataset.from_tensor_slices((x, y)).batch(32)
        model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
        model.fit(dataset, batch_size=128)

    Use instead:
        import tensorflow as tf

        dataset = tf.data.Dataset.from_tensor_slices((x, y)).batch(32)
        model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
        model.fit(dataset)
    """

    code = "TFG315"
    name = "batch-size-ignored"
    required_substrings = ((b"ataset", b"tfds", b".fit(", b".evaluate(", b".predict("),)
    nearby_substrings = (b".fit(", b".evaluate(", b".predict(")
    fixable = "unsafe"
    skips_tests = True

    def check(self, model: Model) -> Iterator[Finding]:
        """Yield each batch size that a Keras call gets together with a dataset."""
        if model.target.tensorflow < _IGNORED_SINCE:  # it raised an exception
            return
        for inputs in model.once(KerasInputs).all:
            arg = model.once(KerasInputs).ignored_size(inputs)
            if arg is not None:
                yield _finding(inputs, arg, f"Keras {model.target.keras}")

    def experiments(self, finding: Finding, model: Model) -> Iterator[Experiment]:
        """How many steps an epoch has, with a dataset of known size."""
        yield Experiment(finding.file, finding.node, workload=_WORKLOAD, only_workload=True)


_WORKLOAD = Workload(
    before="""
        import numpy as np
        import tensorflow as tf

        features, labels = np.zeros((64, 4), "float32"), np.zeros((64, 1), "float32")
        dataset = tf.data.Dataset.from_tensor_slices((features, labels)).batch(8)
        model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
        model.compile(optimizer="sgd", loss="mse")
        model.fit(dataset, batch_size=32, verbose=0)
        steps = int(model.optimizer.iterations.numpy())
        wrong = {} if steps == 2 else {"wrong": f"64 samples and batch_size=32 made {steps} steps"}
        tflint_measure.finish(outputs=[0.0], **wrong)
    """,
    changes=((".batch(8)", ".batch(32)"), ("dataset, batch_size=32", "dataset")),
)


def _finding(inputs: KerasInput, arg: cst.Arg, version: str) -> Finding:
    notes = []
    says_the_same = all(_says_the_same(inputs, arg, chain) for chain in inputs.chains)
    for chain in inputs.chains:
        made = chain.batching or chain.made
        if made is not None:
            text = "the batches are made here" if chain.batching is not None else "the dataset is made here"
            notes.append(Note(made.file, made.place, text))
    return Finding(
        inputs.file,
        arg,
        f"{version} ignores `batch_size` here: `{inputs.method}` gets a tf.data dataset, whose elements are the "
        "batches",
        Prediction("wrong-result", (), basis="7 steps with batches of 10 and `batch_size=7`, Keras 2.15 and 3.15"),
        help="remove it, and set the size where the dataset is made: `.batch(n)`",
        severity="advice" if says_the_same else None,
        notes=tuple(dict.fromkeys(notes)),
        fix=leave_out(inputs.file, inputs.call, [arg], "safe" if says_the_same else "unsafe"),
    )


def _says_the_same(inputs: KerasInput, arg: cst.Arg, chain: Chain) -> bool:
    """Whether the dataset is batched by the same expression: then the argument is superfluous and no more."""
    size = chain.batching.given_batch_size if chain.batching is not None else None
    return (
        chain.batching is not None
        and size is not None
        and chain.batching.file.code(size) == inputs.file.code(arg.value)
    )
