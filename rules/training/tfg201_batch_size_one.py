"""TFG201 batch-size-one."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from tflint_gpu.model import Model
from tflint_gpu.model.syntax import argument
from tflint_gpu.rule import Finding, Note, Prediction, Rule

_PREDICTION = Prediction(
    "slowdown",
    ("training",),
    low=4.5,
    high=31.0,
    basis="an epoch of small networks with batches of 1 and of 32, on a CPU with TensorFlow 2.15 and 2.21",
)


class BatchSizeOne(Rule):
    """Training runs with batches of a single sample.

    Why: every training step has a fixed cost (the Python call, launching each operation, updating
    the weights) that does not depend on how many samples it handles. With a batch of one, each
    sample pays it alone, and a GPU computes on a single row at a time. A larger batch also changes
    how the model learns, so the learning rate may need another look: the rule speaks about speed only.
    A size that is a parameter or comes from the command line is not reported, nor is prediction,
    evaluation or a stateful RNN.

    Measured on 2026-11-21, an epoch on two CPU cores against batches of 32, TensorFlow 2.21 and 2.15: a
    small dense network in `fit` 6.7 and 7.1 times slower, through `.batch` 23.9 and 12.8 times, a
    small CNN 6.9 and 7.5 times. Repeat with `python tests/benchmarks/claims.py batch-size`.

    Example:
        import tensorflow as tf

        model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
        model.compile(loss="mse")
        model.fit(x, y, batch_size=1)

    Use instead:
        import tensorflow as tf

        model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
        model.compile(loss="mse")
        model.fit(x, y, batch_size=32)
    """

    code = "TFG201"
    name = "batch-size-one"
    markers = ((b"fit", b"for ", b"while "), (b"batch", b"BATCH", b".fit"))
    near_markers = (b"fit", b"GradientTape", b"train_on_batch", b"apply_gradients")
    skips_tests = True

    def check(self, model: Model) -> Iterator[Finding]:
        """Yield the arguments that make training batches of one."""
        if model.training.is_stateful:
            return
        yield from _fit_arguments(model)
        for item in model.pipelines.consumptions:
            operation = item.chain.batching
            if item.kind != "train":
                continue
            consumer = (Note(item.model, item.node, "this training consumes it"),)
            if operation is not None and operation.argument(0, "batch_size") == 1:
                yield Finding(
                    operation.model,
                    operation.place,
                    f"`{operation.name}` makes training batches of a single element: "
                    "each step's fixed cost is paid once a sample",
                    _PREDICTION,
                    help="batch more samples a step, for example 32; the learning rate may need to follow",
                    notes=consumer,
                )
            elif operation is None and item.chain.loaded_batch_size == 1:
                call = item.chain.source_call
                value = argument(call, -1, "batch_size") if call is not None else None
                if value is not None:
                    yield _argument_finding(item.chain.source_model or model, value, consumer)


def _fit_arguments(model: Model) -> Iterator[Finding]:
    for call in model.method_calls("fit"):
        source = model.values.keyword_source(call, "batch_size")
        value: cst.BaseExpression | None = source.value if source is not None else argument(call, 2, "batch_size")
        size = model.values.keyword(call, "batch_size") if source is not None else model.value(value)
        if value is None or type(size) is not int or size != 1:
            continue
        if model.keras_models.receiver(call, "fit") is None or _is_dataset(model, call):
            continue
        yield _argument_finding(model, source if source is not None else value, ())


def _argument_finding(model: Model, node: cst.CSTNode, notes: tuple[Note, ...]) -> Finding:
    return Finding(
        model,
        node,
        "training with `batch_size=1`: each step's fixed cost is paid once a sample",
        _PREDICTION,
        help="batch more samples a step, for example 32; the learning rate may need to follow",
        notes=notes,
    )


def _is_dataset(model: Model, call: cst.Call) -> bool:
    """`fit(dataset, batch_size=1)`: Keras ignores the size there, so it makes no batch of one."""
    data = argument(call, 0, "x")
    return data is not None and any(chain.certain for chain in model.pipelines.chains(data))
