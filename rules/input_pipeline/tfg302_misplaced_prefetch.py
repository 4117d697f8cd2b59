"""TFG302 misplaced-prefetch."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from tflint_gpu.model import Consumers
from tflint_gpu.rule import (
    Change,
    Experiment,
    Finding,
    Fix,
    Note,
    Prediction,
    Rule,
    Workload,
    fix_changes,
    moved_after,
    wrap,
)

if TYPE_CHECKING:
    from tflint_gpu.model import Consumption, Model, Operation

_INJECTED_SINCE = (2, 11)


class MisplacedPrefetch(Rule):
    """`prefetch` is followed by operations that do not run ahead of the training.

    Why: a prefetch works ahead of its consumer on the operations before it. Batching, mapping or shuffling after the
    last prefetch runs only when the training loop asks for a batch, and the buffer holds single elements instead of
    finished batches. Measurements refute the advice "prefetch belongs before batch".

    Reported:
    - `batch`, `map`, `shuffle` or other work after the last `prefetch`
    - since TensorFlow 2.11, as advice without a predicted slowdown: under the default options tf.data adds a last
      prefetch by itself, so the misplaced buffer is superfluous

    Not reported:
    - cheap operations after a prefetch: `repeat`, `take`, `skip`, `enumerate`, `with_options`

    Measured: {evidence}

    Fix: safe: the elements and their order stay as they are.

    Example:
        import tensorflow as tf

        dataset = tf.data.Dataset.range(100).prefetch(tf.data.AUTOTUNE).batch(32)
        model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
        model.fit(dataset)

    Use instead:
        import tensorflow as tf

        dataset = tf.data.Dataset.range(100).batch(32).prefetch(tf.data.AUTOTUNE)
        model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
        model.fit(dataset)
    """

    code = "TFG302"
    name = "misplaced-prefetch"
    required_substrings = ((b".fit", b".evaluate", b".predict", b"for ", b"next(", b".prefetch"),)
    nearby_substrings = (b".prefetch",)
    fixable = "safe"
    skips_tests = True

    def check(self, model: Model) -> Iterator[Finding]:
        """Yield the last prefetch of each consumed chain when work follows it."""
        for misplaced in _misplaced(model):
            yield _finding(model, misplaced)

    def experiments(self, finding: Finding, model: Model) -> Iterator[Experiment]:
        """The user's pipeline with a consumer of a set time: as it is, and with the prefetch moved to its end."""
        item, prefetch, _ = finding.subject_as(_Misplaced)
        data_file, data = model.once(Consumers).dataset_of(item)
        repair = fix_changes(finding)
        if not repair and prefetch.receiver is not None:
            repair = (
                Change(prefetch.file, prefetch.call, prefetch.file.code(prefetch.receiver)),
                Change(data_file, data, ".prefetch(-1)", "after"),
            )
        for optimized in (True, False):
            slower = optimized and finding.prediction.kind == "no-effect"
            yield Experiment(
                data_file,
                data,
                probes=wrap(data_file, data, "consume", *(() if optimized else ("optimized=False",))),
                repair=repair,
                prediction=finding.prediction if slower or finding.prediction.kind == "slowdown" else _WHERE_OFF,
                variant="" if optimized else "with tf.data's default optimizations off",
                workload=_workload(optimized),
                unit="seconds per element",
                calibrates=True,
            )


_WHERE_OFF = Prediction(
    "slowdown",
    ("training", "tf.data's default optimizations off"),
    low=1.0,
    high=1.8,
    basis="371 ms against 232 ms with a producer as slow as the consumer, on a CPU",
)


def _workload(optimized: bool) -> Workload:
    return Workload(
        before=f"""
            import time

            import tensorflow as tf

            def slow(x):
                return tf.numpy_function(lambda v: (time.sleep(0.004), v)[1], [x], tf.int64)

            dataset = tf.data.Dataset.range(64).map(slow).prefetch(1).batch(4)
            tflint_measure.consume(dataset, optimized={optimized})
        """,
        changes=((".prefetch(1).batch(4)", ".batch(4).prefetch(1)"),),
    )


class _Misplaced(NamedTuple):
    """A consumed chain, its last prefetch, and the first work after it."""

    item: Consumption
    prefetch: Operation
    follower: Operation


def _misplaced(model: Model) -> Iterator[_Misplaced]:
    """Each consumed chain with its last prefetch and the first work after it."""
    items = model.once(Consumers).consumptions
    well_placed = {(item.chain.last_prefetch, item.node) for item in items if item.chain.is_prefetched}
    misplaced = {(item.chain.misplaced_prefetch[0], item.node) for item in items if item.chain.misplaced_prefetch}
    for item in items:
        misplaced_prefetch = item.chain.misplaced_prefetch
        if misplaced_prefetch is None or item.chain.is_distributed or item.is_glance or item.chain.is_short:
            continue
        if item.kind == "write":
            continue
        prefetch, follower = misplaced_prefetch
        if item.kind == "unused" and not prefetch.file.tree.within(prefetch.call, item.node):
            continue  # an intermediate dataset: its reader is not known
        ends_another = any(last == prefetch for last, node in well_placed - misplaced if node is not item.node)
        if not ends_another:  # else this pipeline only branches off after the end of that one
            yield _Misplaced(item, prefetch, follower)


def _finding(model: Model, misplaced: _Misplaced) -> Finding:
    item, prefetch, follower = misplaced
    major, minor = model.target.tensorflow
    is_injected = (major, minor) >= _INJECTED_SINCE and not _switched_off(item)
    if is_injected:
        text = (
            f"`prefetch` comes before `{follower.name}`: it buffers the input of `{follower.name}`. "
            f"TensorFlow {major}.{minor} adds a prefetch at the end by itself, so no slowdown is expected"
        )
        prediction = Prediction(
            "no-effect",
            (f"tensorflow>={_INJECTED_SINCE[0]}.{_INJECTED_SINCE[1]}",),
            basis="232 ms before and after `batch`, on a CPU with TensorFlow 2.21",
        )
    else:
        text = f"`prefetch` comes before `{follower.name}`, which then runs only while the consumer waits"
        prediction = Prediction(
            "slowdown",
            ("training",),
            low=1.0,
            high=1.8,
            basis="371 ms against 232 ms with a producer as slow as the consumer, on a CPU",
        )
    notes = [Note(follower.file, follower.place, f"`{follower.name}` comes after the last `prefetch`")]
    if item.kind != "unused":
        notes.append(Note(item.file, item.node, "consumed here"))
    return Finding(
        prefetch.file,
        prefetch.place,
        text,
        prediction,
        help="move `prefetch` to the end of the pipeline",
        severity="advice" if is_injected else "warning",
        notes=tuple(notes),
        fix=_fix(item, prefetch),
        subject=misplaced,
    )


def _switched_off(item: Consumption) -> bool:
    return any(item.chain.option(name) is False for name in ("apply_default_optimizations", "inject_prefetch"))


def _fix(item: Consumption, prefetch: Operation) -> Fix | None:
    edits = moved_after(prefetch, item.chain.operations[-1])
    return Fix("Move `prefetch` to the end", "safe", edits) if edits else None
