"""TFG220 changing-shapes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from tflint_gpu.model import Guards, Kinds, ShapeChanges, TracedCode, XlaCompilations, argument
from tflint_gpu.rule import Experiment, Finding, Note, Prediction, Rule, Workload

if TYPE_CHECKING:
    from tflint_gpu.model import Model


class ChangingShapes(Rule):
    """A loop calls a `tf.function`, or `fit` trains a model that XLA compiles, with a different shape each time.

    Why: a `tf.function` is traced again for each new shape. That takes seconds for a model, and each trace stays in
    memory. It happens with texts and other rows of different lengths that are passed one by one, with batches from
    `padded_batch` and of ragged data, with growing windows, and with rows that a mask selects. With
    `reduce_retracing=True` (before TensorFlow 2.9 `experimental_relax_shapes=True`), or an `input_signature` with
    `None` for the length, one or two traces serve all. Under `jit_compile=True` they do not help: XLA compiles for each
    shape. In that case, and wherever padding is possible, pad to one length or to a few. Keras 3 compiles a model with
    XLA by itself where there is a GPU: `fit` then compiles again for each length that a batch of `padded_batch` has,
    unless `compile` gets `jit_compile=False`.

    Reported:
    - calls of a `tf.function`, or a `fit` under XLA, where the code shows that the shapes differ

    Not reported:
    - shapes that are unknown, but may be the same every time
    - a smaller last batch
    - loops of a few iterations
    - functions with a signature

    Measured: with TensorFlow 2.21 on two CPU cores: 80 arrays of 80 different lengths caused 80 traces, and took 72
    times as long as with an `input_signature`; `reduce_retracing=True` needed 2 traces. Batches of `padded_batch`
    caused 19 traces, and the first epoch took 7 times as long. Under `jit_compile=True`, fixed lengths were 16 times as
    fast, and `reduce_retracing=True` gained nothing.

    Fix: none, because a function that reads `x.shape` during tracing may need a known length, and padding changes the
    model's input.

    Example:
        import tensorflow as tf

        model = tf.keras.models.load_model("words.keras")
        texts = tf.data.TextLineDataset("texts.txt").map(tf.strings.unicode_decode).padded_batch(16)


        @tf.function
        def answer(letters):
            return model(letters)


        for letters in texts:
            print(answer(letters))

    Use instead:
        import tensorflow as tf

        model = tf.keras.models.load_model("words.keras")
        texts = tf.data.TextLineDataset("texts.txt").map(tf.strings.unicode_decode).padded_batch(16)


        @tf.function(reduce_retracing=True)
        def answer(letters):
            return model(letters)


        for letters in texts:
            print(answer(letters))
    """

    code = "TFG220"
    name = "changing-shapes"
    least_tensorflow = (2, 0)
    required_substrings = ((b"for ", b"while ", b"fit"),)
    nearby_substrings = (b"tf.function", b"tf2.function", b"tensorflow.function", b"import function", b"compile")
    skips_tests = True
    skips_graphs = True

    def check(self, model: Model) -> Iterator[Finding]:
        """Yield the arguments whose shapes a loop changes."""
        from .retracing import Retracing

        if model.once(TracedCode).functions_run_eagerly:
            return
        for changing in model.once(Retracing).changing_shapes():
            site = changing.site
            if model.once(Guards).is_for_debugging(site.file, site.call):
                continue
            text = " ".join(site.file.code(changing.value).split())
            again = "traced and compiled" if changing.is_compiled else "traced"
            yield Finding(
                site.file,
                changing.value,
                f"the shape of `{text}` changes in this loop: `{changing.name}` is {again} again for each new one",
                _PREDICTION,
                help=_HELP_COMPILED if changing.is_compiled else _HELP.format(_option(model)),
                notes=(
                    Note(site.file, changing.loop, "the loop"),
                    Note(site.made_file, site.made, "this makes the `tf.function`"),
                ),
            )

        yield from _fits(model)

    def experiments(self, finding: Finding, model: Model) -> Iterator[Experiment]:
        """The rule's own workload: in the user's loop shapes that were seen are not traced again."""
        yield Experiment(finding.file or model.file, finding.node, workload=_WORKLOAD, only_workload=True)


def _fits(model: Model) -> Iterator[Finding]:
    """The trainings in this file for whose batches XLA compiles again and again."""
    reason = model.once(XlaCompilations).compiles_models
    for fit in model.method_calls("fit") if reason else ():
        data = argument(fit, 0, "x")
        is_model = data is not None and model.once(Kinds).receiver(model.file, fit, "fit") is not None
        if data is None or not is_model or not model.once(ShapeChanges).differ_in_batches(model.file, data):
            continue
        compiles = "XLA compiles this model" if reason == "asked" else "Keras 3 compiles this model with XLA on a GPU,"
        yield Finding(
            model.file,
            data,
            f"{compiles} again for each of the different shapes of the batches of `{model.file.code(data)}`",
            _PREDICTION if reason == "asked" else _BY_ITSELF,
            help="pad to one length, or to a few (`padded_shapes`); or `jit_compile=False` in `compile`",
        )


def _option(model: Model) -> str:
    return "reduce_retracing" if model.target.tensorflow >= _RENAMED_IN else "experimental_relax_shapes"


_RENAMED_IN = (2, 9)
_HELP = "make it `@tf.function({}=True)`, give it an `input_signature` with `None` for the length, or pad to one length"
_HELP_COMPILED = (
    "pad to one length, or to a few: XLA compiles for each shape, even if one trace serves several shapes; without "
    "`jit_compile=True`, two traces are enough with `reduce_retracing=True`"
)
_PREDICTION = Prediction(
    "slowdown",
    ("first epoch",),
    low=1.5,
    high=100.0,
    basis="small networks on rows of 20 to 120 lengths, on a CPU with TensorFlow 2.21",
)
_BY_ITSELF = Prediction(
    "slowdown",
    ("gpu", "first epoch"),
    low=1.5,
    high=100.0,
    basis="`jit_compile=True` on a CPU with TensorFlow 2.21: fixed lengths are 16 times as fast",
)
_WORKLOAD = Workload(
    before="""
        import numpy as np
        import tensorflow as tf

        model = tf.keras.Sequential([tf.keras.layers.Dense(32, activation="relu"), tf.keras.layers.Dense(1)])
        rows = [np.random.rand(length, 20).astype("float32") for length in range(3, 35)]

        @tf.function
        def forward(x):
            return model(x)

        for x in tflint_measure.steps(rows):
            forward(x)
    """,
    changes=(("@tf.function", "@tf.function(reduce_retracing=True)"),),
)
