"""TFG316 unbatched-dataset."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import libcst as cst

from tflint_gpu.model import KerasInputs
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
    from tflint_gpu.model import Expression, KerasInput, Model, Operation


class UnbatchedDataset(Rule):
    """A tf.data dataset that was never batched is given to `fit`.

    Why: Keras takes each element of a dataset as one batch. Without `batch` an element is one sample, and Keras treats
    its first axis as the batch axis. In most cases that raises a `ValueError` about the input's rank. If the rank
    happens to fit, the model silently trains on wrong batches, with one step for each sample.

    Reported:
    - datasets whose elements are always single samples: rows of an array or table that is known, a TensorFlow Datasets
      split, a loader of Keras with `batch_size=None`, records and files whose mapped functions add no axis, and a zip
      of those

    Not reported:
    - `from_tensors`, generators, and arrays of unknown origin: they may hold batches
    - unknown functions and operations
    - model classes with a custom `fit` or `train_step`
    - a `fit` whose `batch_size` TFG315 reports

    Measured: 70 rows of 4 numbers raise `ValueError` (`expected min_ndim=2, found ndim=1. Full shape received:
    (4,)`); 70 samples of shape (20, 4) make 70 steps, each with one sample as its batch. The same with
    TensorFlow 2.21 (Keras 3) and 2.15 (Keras 2); a test shows it with the installed TensorFlow.

    Fix: unsafe: 32 is a usual size, but the author may want another one.

    Example:
        import tensorflow as tf

        (x, y), _ = tf.keras.datasets.mnist.load_data()
        dataset = tf.data.Dataset.from_tensor_slices((x, y)).shuffle(1000)
        model = tf.keras.Sequential([tf.keras.layers.Flatten(), tf.keras.layers.Dense(10)])
        model.fit(dataset)

    Use instead:
        import tensorflow as tf

        (x, y), _ = tf.keras.datasets.mnist.load_data()
        dataset = tf.data.Dataset.from_tensor_slices((x, y)).shuffle(1000).batch(32)
        model = tf.keras.Sequential([tf.keras.layers.Flatten(), tf.keras.layers.Dense(10)])
        model.fit(dataset)
    """

    code = "TFG316"
    name = "unbatched-dataset"
    severity = "error"
    required_substrings = ((b"ataset", b"tfds", b".fit("),)
    nearby_substrings = (b".fit(",)
    fixable = "unsafe"
    skips_tests = True

    def check(self, model: Model) -> Iterator[Finding]:
        """Yield the data of each `fit` whose dataset has single samples as elements on every path."""
        from .samples import Samples

        for inputs in model.once(KerasInputs).all:
            if (
                inputs.method != "fit"
                or inputs.has_own_step
                or model.once(KerasInputs).ignored_size(inputs) is not None
            ):
                continue
            if all(model.once(Samples).are_elements(chain) for chain in inputs.chains):
                yield _finding(inputs)

    def experiments(self, finding: Finding, model: Model) -> Iterator[Experiment]:
        """How many steps an epoch has, with samples whose rank allows them to be taken for batches."""
        yield Experiment(finding.file, finding.node, workload=_WORKLOAD, only_workload=True)


_WORKLOAD = Workload(
    before="""
        import numpy as np
        import tensorflow as tf

        features, labels = np.zeros((64, 5, 4), "float32"), np.zeros((64, 5, 1), "float32")
        dataset = tf.data.Dataset.from_tensor_slices((features, labels))
        model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
        model.compile(optimizer="sgd", loss="mse")
        model.fit(dataset, verbose=0)
        steps = int(model.optimizer.iterations.numpy())
        wrong = {"wrong": "one step for each of 64 samples"} if steps == 64 else {}
        tflint_measure.finish(outputs=[0.0], **wrong)
    """,
    changes=(("((features, labels))", "((features, labels)).batch(32)"),),
)


def _finding(inputs: KerasInput) -> Finding:
    made = [chain.made for chain in inputs.chains if chain.made is not None]
    return Finding(
        inputs.file,
        inputs.data,
        "this dataset is never batched: `fit` takes each sample as a batch, which raises ValueError "
        "or, where the sample's rank fits, trains on wrong batches",
        Prediction(
            "wrong-result", ("training",), basis="ValueError, or 70 steps for 70 samples, TensorFlow 2.15 and 2.21"
        ),
        help="add `.batch(32)` after the shuffle and the maps of single samples",
        fix=_fix(inputs),
        notes=tuple(dict.fromkeys(Note(batches.file, batches.place, "the dataset is made here") for batches in made)),
    )


def _fix(inputs: KerasInput) -> Fix | None:
    """Batch at the end of the one chain that there is; where other code reads its samples, too, at the `fit`."""
    chain, file = inputs.chains[0], inputs.file
    last = chain.operations[-1] if chain.operations else chain.made
    if len(inputs.chains) > 1 or last is None or last.file is not file:
        return None
    if file.tree.within(last.call, inputs.data) or _is_only_fitted(inputs, last):
        batched: Expression = last.call
    elif isinstance(inputs.data, cst.Name | cst.Attribute | cst.Subscript | cst.Call):
        batched = inputs.data
    else:
        return None
    return Fix("Put samples in batches", "unsafe", (Edit(batched, ".batch(32)", "after"),))


def _is_only_fitted(inputs: KerasInput, last: Operation) -> bool:
    """Whether a name is given what the last operation makes, and only this `fit` reads it after that."""
    file, line = inputs.file, inputs.file.tree.statement(last.call)
    small = line.body[0] if isinstance(line, cst.SimpleStatementLine) and len(line.body) == 1 else None
    if not isinstance(small, cst.Assign) or len(small.targets) > 1 or not isinstance(small.targets[0].target, cst.Name):
        return False
    uses = file.tree.uses.get(small.targets[0].target.value, ())
    after = [use for use in uses if not file.tree.within(use, small) and file.span(use) > file.span(small)]
    return bool(after) and all(file.tree.within(use, inputs.data) for use in after)
