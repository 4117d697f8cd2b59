"""TFG318 batch-scaled-buffer."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import libcst as cst

from tflint_gpu.model import DATASET_SUBSTRINGS, Pipelines, argument, spelling
from tflint_gpu.rule import (
    Edit,
    Experiment,
    Finding,
    Fix,
    Note,
    Prediction,
    Rule,
    Workload,
    importing,
)

if TYPE_CHECKING:
    from tflint_gpu.model import Chain, Expression, File, Model, Operation

_MANY = 32
_AUTOTUNE_SINCE = (2, 4)


class BatchScaledBuffer(Rule):
    """A `prefetch` after `batch` is sized in samples.

    Why: after `batch` the elements of a dataset are batches, so `prefetch(n)` keeps up to n whole batches in host
    memory as soon as the pipeline is faster than the training. One or two are enough to keep a device busy.
    `tf.data.AUTOTUNE` buffers as many as help.

    Reported:
    - a number of 32 or more
    - the batch size, or a multiple of it, where it is not known to be smaller than 32
    - the same after `image_dataset_from_directory` and similar functions, which make batches, too

    Not reported:
    - a `prefetch` before `batch`
    - batches of one
    - short datasets
    - batches that are taken apart or regrouped in between

    Measured: {evidence}

    Fix: safe: the elements and their order stay as they are.

    Example:
        import tensorflow as tf

        dataset = tf.data.Dataset.range(100000).batch(64).prefetch(64)

    Use instead:
        import tensorflow as tf

        dataset = tf.data.Dataset.range(100000).batch(64).prefetch(tf.data.AUTOTUNE)
    """

    code = "TFG318"
    name = "batch-scaled-buffer"
    severity = "advice"
    required_substrings = ((b".prefetch(",),)
    nearby_substrings = DATASET_SUBSTRINGS
    fixable = "safe"
    skips_tests = True

    def check(self, model: Model) -> Iterator[Finding]:
        """Yield each prefetch of many batches."""
        for call in model.method_calls("prefetch"):
            size = argument(call, 0, "buffer_size")
            chains = model.once(Pipelines).chains(model.file, call)
            if size is None or not all(chain.certain and chain.operations for chain in chains):
                continue
            batches = [_batches(chain) for chain in chains]
            if None in batches or not all(_is_scaled(model, size, batch) for batch in batches if batch is not None):
                continue
            yield _finding(model, call, size, [batch for batch in batches if batch is not None])

    def experiments(self, finding: Finding, model: Model) -> Iterator[Experiment]:
        """Whether a training gets its batches any faster."""
        yield Experiment(
            finding.file,
            finding.node,
            workload=_WORKLOAD,
            only_workload=True,
            unit="seconds per element",
            calibrates=True,
        )


_WORKLOAD = Workload(
    before="""
        import time

        import tensorflow as tf

        def slow(x):
            return tf.numpy_function(lambda v: (time.sleep(0.001), v)[1], [x], tf.int64)

        dataset = tf.data.Dataset.range(4096).map(slow).batch(4).prefetch(64)
        tflint_measure.consume(dataset)
    """,
    changes=((".prefetch(64)", ".prefetch(tf.data.AUTOTUNE)"),),
)


def _finding(model: Model, call: cst.Call, size: Expression, batches: list[Operation]) -> Finding:
    text = model.file.code(size)
    assert isinstance(call.func, cst.Attribute)
    return Finding(
        model.file,
        call.func.attr,
        f"`prefetch({text})` comes after `{batches[0].name}`: it keeps up to `{text}` whole batches in host memory",
        Prediction(
            "no-effect",
            ("training",),
            basis="buffering 64 batches made no step faster, and took 97 MB more with batches of 1.5 MB",
        ),
        help="let tf.data choose: `.prefetch(tf.data.AUTOTUNE)`",
        notes=tuple(dict.fromkeys(Note(batch.file, batch.place, "the batches are made here") for batch in batches)),
        fix=_fix(model, size),
    )


def _fix(model: Model, size: Expression) -> Fix | None:
    spelling = model.file.imports.spelling("tf.data.AUTOTUNE", size)
    if spelling is None or model.target.tensorflow < _AUTOTUNE_SINCE:
        return None
    return Fix("Let tf.data choose", "safe", (*importing(spelling), Edit(size, spelling.text)))


def _batches(chain: Chain) -> Operation | None:
    """What makes the batches that the chain's last operation, the prefetch, gets; None where that is not known."""
    batch = chain.batching
    return None if batch is None or chain.is_short or batch.batch_size == 1 else batch


def _is_scaled(model: Model, size: Expression, batch: Operation) -> bool:
    """Whether a buffer holds many batches: a large number, or as many as a batch has samples."""
    number = model.value(size)
    if isinstance(number, int):
        return number >= _MANY
    of_batch = batch.given_batch_size
    if of_batch is None or isinstance(of_batch, cst.Integer):
        return False
    parts = [size]
    if isinstance(size, cst.BinaryOperation) and isinstance(size.operator, cst.Multiply):
        parts = [size.left, size.right]
    return (not isinstance(batch.batch_size, int) or batch.batch_size >= _MANY) and any(
        _is_same(model.file, part, batch.file, of_batch) for part in parts
    )


def _is_same(file: File, expr: Expression, other_file: File, other: Expression) -> bool:
    """Whether two expressions are written alike in one function: `batch(size).prefetch(size)`."""
    return (
        file is other_file
        and isinstance(expr, cst.Name | cst.Attribute | cst.Subscript)
        and file.tree.function(expr) is file.tree.function(other)
        and spelling(expr) == spelling(other)
    )
