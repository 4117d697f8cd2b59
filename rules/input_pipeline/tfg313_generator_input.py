"""TFG313 generator-input."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from tflint_gpu.model import method_place
from tflint_gpu.rule import Experiment, Finding, Note, Prediction, Rule, Workload

if TYPE_CHECKING:
    from tflint_gpu.model import Model

    from .generator_inputs import GeneratorInput


class GeneratorOfRows(Rule):
    """`from_generator` reads a generator that only yields rows of arrays, or file names, that are already in memory.

    Why: for every element tf.data calls into Python, waits for its global lock, converts the values and checks their
    types. `from_tensor_slices` takes the same arrays once and slices the rows in C++. It keeps a copy of the arrays.

    Reported:
    - a generator that is a loop over `zip`, `enumerate` or an index and yields each row as it is, if each array is
      certainly a NumPy array, one from `keras.datasets`, or a list of numbers or of strings such as file names; the
      generator may also make these arrays before its loop, if they are the same in each epoch

    Not reported:
    - rows that are changed or drawn, and batches
    - arrays that are mapped from a file (`np.memmap`, `mmap_mode`), or that have rows of different lengths
    - lists of anything but numbers and strings
    - data of a few rows

    Measured: {evidence}

    Fix: none, because the arrays of the generator may be in another file, and its rows may be changed later.

    Example:
        import numpy as np
        import tensorflow as tf

        x, y = np.random.rand(10000, 20), np.random.rand(10000)


        def rows():
            for features, label in zip(x, y):
                yield features, label


        dataset = tf.data.Dataset.from_generator(rows, (tf.float64, tf.float64)).batch(32)

    Use instead:
        import numpy as np
        import tensorflow as tf

        x, y = np.random.rand(10000, 20), np.random.rand(10000)

        dataset = tf.data.Dataset.from_tensor_slices((x, y)).batch(32)
    """

    code = "TFG313"
    name = "generator-input"
    required_substrings = ((b"from_generator(",),)
    skips_tests = True
    skips_graphs = True

    def check(self, model: Model) -> Iterator[Finding]:
        """Yield the calls of `from_generator` over rows of arrays."""
        from .generator_inputs import GeneratorInputs

        for generator in model.once(GeneratorInputs).of_arrays:
            yield _finding(model, generator)

    def experiments(self, finding: Finding, model: Model) -> Iterator[Experiment]:
        """The rows of two arrays by a generator, and cut by tf.data."""
        yield Experiment(finding.file, finding.node, workload=_WORKLOAD, only_workload=True, unit="seconds per batch")


_WORKLOAD = Workload(
    before="""
        import numpy as np
        import tensorflow as tf

        x, y = np.zeros((8192, 20), np.float32), np.zeros(8192, np.float32)

        def rows():
            for features, label in zip(x, y):
                yield features, label

        dataset = tf.data.Dataset.from_generator(rows, (tf.float32, tf.float32)).batch(32)
        tflint_measure.consume(dataset)
    """,
    changes=(("from_generator(rows, (tf.float32, tf.float32))", "from_tensor_slices((x, y))"),),
)


def _finding(model: Model, generator_input: GeneratorInput) -> Finding:
    arrays = ", ".join(generator_input.home.code(array) for array in generator_input.arrays)
    given = "..." if generator_input.is_more else f"({arrays})" if len(generator_input.arrays) > 1 else arrays
    again = ", and `repeat()` after it" if generator_input.again else ""
    before = "make them outside of the generator, and " if generator_input.is_made_inside else ""
    return Finding(
        model.file,
        method_place(generator_input.call),
        "this generator yields rows that are already in memory, and tf.data calls Python for each of them",
        Prediction(
            "slowdown",
            (),
            low=1.5,
            high=50.0,
            basis="rows of 20 numbers on two CPU cores, with TensorFlow 2.15 and 2.21; larger rows, less",
        ),
        help=f"{before}use `from_tensor_slices({given})`, which keeps a copy of the arrays{again}",
        notes=tuple(
            Note(generator_input.home, array, "its rows are yielded as they are") for array in generator_input.arrays
        ),
    )
