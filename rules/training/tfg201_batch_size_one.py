"""TFG201 batch-size-one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import libcst as cst

from tflint_gpu.model import Model
from tflint_gpu.model.python.syntax import argument, method_name
from tflint_gpu.rule import (
    Change,
    Experiment,
    Finding,
    NoExperiment,
    Note,
    Prediction,
    Rule,
    Workload,
    measured_loop,
    wrap,
)

_USUAL = 32
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
        for case in (*_fit_arguments(model), *_pipelines(model)):
            notes = () if case.consumer is None else (Note(*case.consumer, "this training consumes it"),)
            yield Finding(
                case.model,
                case.node,
                f"{case.text}: each step's fixed cost is paid once a sample",
                _PREDICTION,
                help=f"batch more samples a step, for example {_USUAL}; the learning rate may need to follow",
                notes=notes,
            )

    def experiments(self, finding: Finding, model: Model) -> Iterator[Experiment]:
        """The user's training with batches of one and of the suggested size, in seconds per sample."""
        case = next(c for c in (*_fit_arguments(model), *_pipelines(model)) if c.node is finding.node)
        consumer_model, consumer = case.consumer or (model, case.call)
        flaw, repair = (_measured(consumer_model, consumer, samples) for samples in (1, _USUAL))
        yield Experiment(
            consumer_model,
            consumer,
            flaw=flaw,
            repair=(*repair, Change(case.model, case.size, case.larger)),
            unit="seconds per sample",
            workload=_WORKLOAD,
        )


@dataclass(frozen=True, slots=True)
class _Case:
    """A batch size of one.

    Arguments:
        node: what the finding points at; text: what it says of it.
        call: the call that gets the size; size: what to replace in it by `larger`.
        consumer: the training that gets the batches, where that is not `call`.
    """

    model: Model
    node: cst.CSTNode
    text: str
    call: cst.Call
    size: cst.CSTNode
    larger: str
    consumer: tuple[Model, cst.CSTNode] | None = None


_AS_ARGUMENT = "training with `batch_size=1`"
_WORKLOAD = Workload(
    before="""
        import numpy as np
        import tensorflow as tf

        features, labels = np.random.rand(1024, 20).astype("float32"), np.random.rand(1024, 1).astype("float32")
        model = tf.keras.Sequential([tf.keras.layers.Dense(32, activation="relu"), tf.keras.layers.Dense(1)])
        model.compile(optimizer="sgd", loss="mse")
        tflint_measure.fit(model.fit, samples=1)(features, labels, batch_size=1)
    """,
    changes=(("samples=1", f"samples={_USUAL}"), ("batch_size=1", f"batch_size={_USUAL}")),
)


def _fit_arguments(model: Model) -> Iterator[_Case]:
    for call in model.method_calls("fit"):
        source = model.values.keyword_source(call, "batch_size")
        value: cst.BaseExpression | None = source.value if source is not None else argument(call, 2, "batch_size")
        size = model.values.keyword(call, "batch_size") if source is not None else model.value(value)
        if value is None or type(size) is not int or size != 1:
            continue
        if model.keras_models.receiver(call, "fit") is None or _is_dataset(model, call):
            continue
        larger = str(_USUAL)
        if source is not None and source.star:
            larger = f'{{**{model.code(value)}, "batch_size": {_USUAL}}}'
        yield _Case(model, source if source is not None else value, _AS_ARGUMENT, call, value, larger)


def _pipelines(model: Model) -> Iterator[_Case]:
    for item in model.pipelines.consumptions:
        if item.kind != "train":
            continue
        operation, consumer = item.chain.batching, (item.model, item.node)
        if operation is not None and operation.argument(0, "batch_size") == 1:
            text = f"`{operation.name}` makes training batches of a single element"
            size = argument(operation.call, 0, "batch_size")
            assert size is not None
            yield _Case(operation.model, operation.place, text, operation.call, size, str(_USUAL), consumer)
        elif operation is None and item.chain.loaded_batch_size == 1 and item.chain.source_call is not None:
            call = item.chain.source_call
            size = argument(call, -1, "batch_size")
            if size is not None:
                yield _Case(item.chain.source_model or model, size, _AS_ARGUMENT, call, size, str(_USUAL), consumer)


def _measured(model: Model, consumer: cst.CSTNode, samples: int) -> tuple[Change, ...]:
    """Time a training per sample: a call of `fit`, or the loop that takes the batches."""
    if isinstance(consumer, cst.Call) and method_name(consumer) == "fit":
        return wrap(model, consumer.func, "fit", f"samples={samples}")
    loop = model.training.loop_of(consumer)
    if loop is None:
        raise NoExperiment("the training is neither `fit` nor a loop over the batches")
    return measured_loop(model, loop, samples, reads=True)


def _is_dataset(model: Model, call: cst.Call) -> bool:
    """`fit(dataset, batch_size=1)`: Keras ignores the size there, so it makes no batch of one."""
    data = argument(call, 0, "x")
    return data is not None and any(chain.certain for chain in model.pipelines.chains(data))
