"""TFG221 layer-in-eager-call."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from tflint_gpu.rule import Experiment, Finding, Note, Prediction, Rule, Workload, notes_on

if TYPE_CHECKING:
    from tflint_gpu.model import Model

    from .layer_calls import LayerCall


class LayerInEagerCall(Rule):
    """An eager loop creates a Keras layer in every iteration, as if the layer were an operation.

    Why: `Dense(10)(x)` makes a layer, draws its weights, calls it once and drops it. The weights are different in every
    call, and nothing trains them. For layers that draw no weights (`BatchNormalization`, `Flatten`, `Dropout`) Python
    builds an object before each operation, and what a normalization learns is lost.

    Reported:
    - a layer that an eager loop makes in every iteration, and that is certainly called on actual values: a batch of the
      loop, an array, or a value that a tape records

    Not reported:
    - traced code, which raises (TFG106)
    - code that builds a model
    - weights that are given: `weights=`, or an initializer that draws nothing
    - layers whose arguments change from one iteration to the next
    - classes of the project
    - preprocessing layers
    - loops of few iterations, and loops that are timed

    Measured: two calls of `Dense(3)(x)` with one input gave different outputs with TensorFlow 2.21 and 2.15. On two CPU
    cores, a new layer in each call took this many times as long as one that is kept (2.21, 2.15): `Dense(10)` 10 and
    32, `Dense(256)` 5 and 10, `BatchNormalization` 9 and 8, `Embedding` 8 and 12, a small `Conv2D` 3.5 and 26, one of
    64 x 64 x 16 values 1.4 and 1.1, `LSTM` 0.9 and 1.7, `Dropout` 18 and 6, `UpSampling2D` 1.4 and 1.7.

    Fix: none, because only the author knows where the layer should be kept, and what should train it.

    Example:
        import tensorflow as tf


        def encode(rows):
            return tf.keras.layers.Dense(10)(rows)


        for rows in tf.data.Dataset.from_tensor_slices(tf.ones((3200, 20))).batch(32):
            print(encode(rows))

    Use instead:
        import tensorflow as tf

        dense = tf.keras.layers.Dense(10)


        def encode(rows):
            return dense(rows)


        for rows in tf.data.Dataset.from_tensor_slices(tf.ones((3200, 20))).batch(32):
            print(encode(rows))
    """

    code = "TFG221"
    name = "layer-in-eager-call"
    least_tensorflow = (2, 0)
    nearby_substrings = (b"layers", b"Sequential")
    loops_nearby = True
    skips_tests = True
    skips_graphs = True
    skips_other_backends = True

    def check(self, model: Model) -> Iterator[Finding]:
        """Yield a layer of each function or loop that makes some in every run: the first that draws weights, if any."""
        from .layer_calls import LayerCalls

        for first, *others in model.once(LayerCalls).repeated:
            yield _finding(first, others)

    def experiments(self, finding: Finding, model: Model) -> Iterator[Experiment]:
        """The rule's own workload, of a layer that draws weights or of one that has none."""
        workload = _TRAINED if finding.prediction.kind == "wrong-result" else _FLATTENED
        yield Experiment(finding.file, finding.node, workload=workload, only_workload=True)


def _finding(first: LayerCall, others: list[LayerCall]) -> Finding:
    run, made = first.run, first.made
    layer = f"`{run.file.code(made.func)}`"
    notes = [Note(run.root_file, run.loop, "in every iteration of this loop"), *notes_on(run.path)]
    notes += [Note(other.run.file, other.made.func, "this one is new each time, too") for other in others]
    return Finding(
        run.file,
        made.func,
        f"{layer} is a new layer in every call: its weights are drawn again each time, and nothing trains them"
        if first.draws
        else f"{layer} is a new layer in every call: Python builds it before each operation",
        _UNTRAINED if first.draws else _SLOW,
        help="make the layer once, before the loop or in the constructor of the object that calls it, and call that",
        notes=tuple(notes),
    )


_UNTRAINED = Prediction(
    "wrong-result", ("training", "inference"), basis="two calls of `Dense(3)(x)` differ, TensorFlow 2.15 and 2.21"
)
_SLOW = Prediction(
    "slowdown",
    ("training", "inference"),
    low=1.0,
    high=20.0,
    basis="the call alone takes 1.4 (`UpSampling2D`) to 18 times (`Dropout`) as long as with a layer that is kept, "
    "on a CPU",
)
_TRAINED = Workload(
    before="""
        import tensorflow as tf

        kept = tf.keras.layers.Dense(3)
        rows = tf.ones((4, 20))

        def encode():
            return tf.keras.layers.Dense(3)(rows)

        if not bool(tf.reduce_all(encode() == encode())):
            tflint_measure.finish(wrong="two calls with the same rows give different outputs")
        tflint_measure.finish()
    """,
    changes=(("return tf.keras.layers.Dense(3)(rows)", "return kept(rows)"),),
)
_FLATTENED = Workload(
    before="""
        import tensorflow as tf

        kept = tf.keras.layers.Flatten()
        images = tf.ones((32, 7, 7, 16))

        for _ in tflint_measure.steps(range(8)):
            for _ in range(50):
                tf.keras.layers.Flatten()(images)
    """,
    changes=(("        tf.keras.layers.Flatten()(images)", "        kept(images)"),),
)
