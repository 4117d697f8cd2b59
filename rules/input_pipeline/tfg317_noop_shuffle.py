"""TFG317 noop-shuffle."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import libcst as cst

from tflint_gpu.model import DATASET_SUBSTRINGS, Pipelines, argument
from tflint_gpu.rule import (
    Edit,
    Experiment,
    Finding,
    Fix,
    Prediction,
    Rule,
    Workload,
)

if TYPE_CHECKING:
    from tflint_gpu.model import Chain, Model


class NoopShuffle(Rule):
    """A tf.data dataset is shuffled with a buffer of one.

    Why: `shuffle(n)` draws each next element from a buffer of n. From a buffer of one it can only draw the element that
    it has just read, so the order does not change.

    Reported:
    - a `shuffle` with a buffer of one

    Not reported:
    - a size that is one on some paths only, or that is not known

    Measured: `list(Dataset.range(9).shuffle(1))` is 0 to 8 in order, with TensorFlow 2.21 and 2.15; a test
    shows it with the installed TensorFlow.

    Fix: unsafe: it changes the order, as intended; 1000 is a usual size, and more is better as far as memory allows.

    Example:
        import tensorflow as tf

        dataset = tf.data.Dataset.range(1000).shuffle(1).batch(32)

    Use instead:
        import tensorflow as tf

        dataset = tf.data.Dataset.range(1000).shuffle(1000).batch(32)
    """

    code = "TFG317"
    name = "noop-shuffle"
    unnecessary = True
    required_substrings = ((b".shuffle(",),)
    nearby_substrings = DATASET_SUBSTRINGS
    fixable = "unsafe"
    skips_tests = True

    def check(self, model: Model) -> Iterator[Finding]:
        """Yield each shuffle of a dataset whose buffer always holds one element."""
        for call in model.method_calls("shuffle"):
            size = argument(call, 0, "buffer_size")
            number = model.value(size)
            if type(number) is not int or number != 1:
                continue
            chains = model.once(Pipelines).chains(model.file, call)
            if not all(chain.certain and chain.operations for chain in chains):
                continue
            yield Finding(
                model.file,
                chains[0].operations[-1].place,
                "`shuffle` with a buffer of one element leaves the order as it is",
                Prediction("wrong-result", (), basis="Dataset.range(9).shuffle(1), TensorFlow 2.15 and 2.21"),
                fix=_fix(chains, size),
                help="shuffle with a buffer as large as the dataset, or as large as memory allows",
            )

    def experiments(self, finding: Finding, model: Model) -> Iterator[Experiment]:
        """The order of a dataset of known numbers."""
        yield Experiment(finding.file, finding.node, workload=_WORKLOAD, only_workload=True)


_WORKLOAD = Workload(
    before="""
        import tensorflow as tf

        tf.random.set_seed(1)
        order = [int(number) for number in tf.data.Dataset.range(64).shuffle(1)]
        wrong = {"wrong": "the elements come in their old order"} if order == sorted(order) else {}
        tflint_measure.finish(outputs=[0.0], **wrong)
    """,
    changes=((".shuffle(1)", ".shuffle(64)"),),
)


def _fix(chains: Sequence[Chain], size: cst.BaseExpression | None) -> Fix | None:
    """A usual number of elements, where they are no batches."""
    if not isinstance(size, cst.Integer) or any(chain.batching is not None for chain in chains):
        return None
    return Fix("Shuffle among 1000 elements", "unsafe", (Edit(size, "1000"),))
