"""TFG314 embedded-array."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from tflint_gpu.model import TRACING_SUBSTRINGS
from tflint_gpu.rule import Experiment, Finding, Note, Prediction, Rule, Workload, notes_on

if TYPE_CHECKING:
    from tflint_gpu.model import Model

    from .embedded_arrays import EmbeddedArray


class EmbeddedArrayInGraph(Rule):
    """Traced code uses a large NumPy array, so that its values are copied into the graph as a constant.

    Why: TensorFlow writes an array that traced code uses into the graph itself, as part of its protocol buffer. The
    graph is then copied, hashed and optimised with the values in it, again for every trace. A single trace takes
    seconds and many times the array's memory. Above 2 GB the array cannot be written at all, and tracing raises
    ValueError. A tensor or a variable that was created outside the traced code is captured instead: the graph refers to
    it, and nothing is copied. The same holds for functions that are given to a dataset's `map`.

    Reported:
    - an array of 10 MiB or more in traced code, if its shape is known from the source

    Not reported:
    - arrays that are passed as arguments
    - arrays of which only the shape is used
    - code in `tf.init_scope`, `tf.py_function` and `tf.numpy_function`

    Measured: {evidence}

    Fix: none, because the array has to become a variable or an argument, which changes every path to the function.

    Example:
        import numpy as np
        import tensorflow as tf

        table = np.random.rand(100000, 128)


        @tf.function
        def look_up(indices):
            return tf.gather(table, indices)

    Use instead:
        import numpy as np
        import tensorflow as tf

        table = tf.constant(np.random.rand(100000, 128))


        @tf.function
        def look_up(indices):
            return tf.gather(table, indices)
    """

    code = "TFG314"
    name = "embedded-array"
    required_substrings = ((*TRACING_SUBSTRINGS, b".map(", b".filter(", b".interleave(", b".flat_map("),)
    nearby_substrings = (b"load_data", b".zeros(", b".ones(", b".full(", b".empty(", b".arange(", b"random", b"rng.")
    skips_tests = True
    skips_graphs = True

    def check(self, model: Model) -> Iterator[Finding]:
        """Yield the large arrays that become constants where TensorFlow traces."""
        from .embedded_arrays import EmbeddedArrays

        for array in model.once(EmbeddedArrays).large:
            yield _finding(array)

    def experiments(self, finding: Finding, model: Model) -> Iterator[Experiment]:
        """Traces of a function that looks rows up, in an array of 10 MiB and in a tensor of the same values."""
        yield Experiment(
            finding.file,
            finding.node,
            workload=_WORKLOAD,
            only_workload=True,
            prediction=_SLOWER,
            unit="seconds per trace",
        )


_LIMIT = 2**31
_SLOWER = Prediction(
    "slowdown",
    ("traced",),
    low=2.0,
    high=2000.0,
    basis="the time of a trace, arrays of 10 and 100 MiB on two CPU cores, with TensorFlow 2.15 and 2.21",
)
_WORKLOAD = Workload(
    before="""
        import numpy as np
        import tensorflow as tf

        table = np.random.rand(2**18, 10).astype(np.float32)
        for _ in tflint_measure.steps(range(8)):
            tf.function(lambda indices: tf.gather(table, indices))(tf.constant([1, 2, 3]))
    """,
    changes=((".astype(np.float32)", ".astype(np.float32)\ntable = tf.constant(table)"),),
)


def _finding(array: EmbeddedArray) -> Finding:
    from tflint_gpu.model import as_bytes  # with the sizes of networks, for few findings

    name, size = array.file.code(array.expr), array.array.bytes
    shown = f"`{name}`" if len(name) < 40 and "\n" not in name else "this"
    what = f"{shown}, an array of {as_bytes(size)}, becomes a constant of {array.traced.entry}"
    home = array.array.origin
    notes = [Note(home.file, home.node, "the array is made here")]
    notes += notes_on(array.traced.frames)
    help = (
        f"convert it to a tensor outside the traced code, `tf.constant({name})`, or pass it as an argument: "
        "a tensor is not copied"
    )
    if size >= _LIMIT:
        return Finding(
            array.file,
            array.expr,
            f"{what}: a graph cannot hold a constant above 2 GB, so this raises",
            Prediction("crash", ("traced",), basis="ValueError in TensorFlow 2.15 and 2.21"),
            help=help,
            severity="error",
            notes=tuple(notes),
        )
    return Finding(
        array.file,
        array.expr,
        f"{what}: each trace copies its values several times",
        _SLOWER,
        help=help,
        notes=tuple(notes),
    )
