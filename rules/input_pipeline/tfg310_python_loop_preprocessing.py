"""TFG310 python-loop-preprocessing."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from tflint_gpu.rule import Experiment, Finding, Note, Prediction, Rule, Workload, notes_on

if TYPE_CHECKING:
    from tflint_gpu.model import Model

    from .preparations import Preparation


class PythonLoopPreprocessing(Rule):
    """A Python loop prepares elements one by one, again for every batch or epoch.

    Why: each iteration starts its operations from Python, on one core, and in a training loop the next step waits for
    all of them. NumPy and TensorFlow do the same to a whole batch in one call, or tf.data does it in `map` in parallel
    with the training.

    Reported:
    - a loop in the training loop, in a generator that feeds it or in a Keras `Sequence`, whose results form one array,
      and whose calls are all known to work with an additional axis; the loop may contain an `if` that only decides
      where a result is stored, as a mask would

    Not reported:
    - a single pass before training
    - loops in which an iteration needs the result of another one
    - loops that read files, filter elements or call unknown functions
    - loops that only reduce each row to a number (`np.max(row)`)
    - loops whose calls get an array that no iteration changes: the overlaps of 20 boxes with 8,732 anchors took 49 ms
      box by box and 46 ms in one call

    Measured: {evidence} The larger an element is, the less the loop costs:
    for images of 224 x 224 NumPy itself takes nearly all of the time.

    Fix: none, because the loop has to be rewritten as a function that a dataset maps.

    Example:
        import numpy as np
        from tensorflow import keras

        model = keras.models.load_model("scores.keras")
        for x, y in batches:
            rows = []
            for row in x:
                rows.append(np.log1p(np.abs(row)))
            model.train_on_batch(np.stack(rows), y)

    Use instead:
        import numpy as np
        from tensorflow import keras

        model = keras.models.load_model("scores.keras")
        for x, y in batches:
            model.train_on_batch(np.log1p(np.abs(x)), y)
    """

    code = "TFG310"
    name = "python-loop-preprocessing"
    least_tensorflow = (2, 0)
    nearby_substrings = (b"train_on_batch", b"GradientTape", b"from_generator", b"fit(", b"fit_generator", b"Sequence)")
    skips_tests = True
    skips_graphs = True

    def check(self, model: Model) -> Iterator[Finding]:
        """Yield the outermost loops over elements that training runs again and again."""
        from .preparations import Preparations

        for preparation in model.once(Preparations).repeated:
            inner = preparation.inner
            yield Finding(
                inner.file,
                inner.loop,
                f"this loop prepares elements one by one in Python (`{inner.file.code(inner.work.func)}`), and does so "
                f"again {_AGAIN[preparation.where]}: each element starts its operations from Python, on one core",
                _PREDICTION,
                help="process the whole batch in one call, or in the `map` of a tf.data pipeline",
                notes=tuple(_notes(preparation)),
            )

    def experiments(self, finding: Finding, model: Model) -> Iterator[Experiment]:
        """The rule's own workload: the single call that would replace the loop is not in the user's program."""
        yield Experiment(model.file, finding.node, workload=_WORKLOAD, only_workload=True)


def _notes(preparation: Preparation) -> Iterator[Note]:
    yield Note(preparation.outer_file, preparation.outer, _OUTER[preparation.where])
    yield from notes_on(preparation.path)


_AGAIN = {
    "training loop": "in every iteration of the training loop",
    "generator": "for everything that a generator yields to training",
    "sequence": "for every batch of a `Sequence`",
}
_OUTER = {
    "training loop": "the training loop that runs it",
    "generator": "training gets its data from here",
    "sequence": "the method that returns a batch",
}
_PREDICTION = Prediction(
    "slowdown",
    ("eager",),
    low=1.0,
    high=100.0,
    basis="64 rows of 10 numbers, and images of 32 x 32, against one call, on a CPU; "
    "the factor is for the loop, not for the step",
)
_WORKLOAD = Workload(
    before="""
        import numpy as np

        batch = np.random.normal(size=(64, 10)).astype("float32")

        for _ in tflint_measure.steps(range(8)):
            np.stack([np.log1p(np.abs(row)) for row in batch])
    """,
    changes=(("np.stack([np.log1p(np.abs(row)) for row in batch])", "np.log1p(np.abs(batch))"),),
)
