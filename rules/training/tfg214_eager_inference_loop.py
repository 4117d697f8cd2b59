"""TFG214 eager-inference-loop."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from tflint_gpu.model import runs_models_again
from tflint_gpu.rule import Finding, Note, Prediction, Rule, Workload, eager_against_traced

if TYPE_CHECKING:
    from tflint_gpu.model import Model
    from tflint_gpu.rule import Experiment


class EagerInferenceLoop(Rule):
    """A loop calls a model eagerly, for single frames, images, tokens or steps.

    Why: `model(x)` outside of `tf.function` starts each operation of the model from Python: a hundred layers are some
    hundred calls for each frame. The same call in a function under `@tf.function` starts one graph, so also a large
    model answers sooner, and a GPU does not wait for Python between small operations. Where the input grows with each
    iteration, as a text does, each new shape is traced unless the function has `reduce_retracing=True`. Not reported:
    loops over datasets (TFG207 reports those), loops of a few iterations, a sample after each epoch, ensembles and
    models made in the same iteration, code that builds a model of models, loops that wait for requests, and models that
    were exported (`tf.saved_model.load`), whose calls are traced.

    Measured: {evidence}

    Example:
        import cv2
        import tensorflow as tf

        model = tf.keras.models.load_model("faces.keras")
        camera = cv2.VideoCapture(0)
        while True:
            found, frame = camera.read()
            boxes = model(frame[None], training=False)

    Use instead:
        import cv2
        import tensorflow as tf

        model = tf.keras.models.load_model("faces.keras")
        camera = cv2.VideoCapture(0)


        @tf.function
        def detect(frames):
            return model(frames, training=False)


        while True:
            found, frame = camera.read()
            boxes = detect(tf.constant(frame[None]))
    """

    code = "TFG214"
    name = "eager-inference-loop"
    least_tensorflow = (2, 0)
    required_substrings = ((b"for ", b"while "),)
    nearby_substrings = tuple(
        b"Model( Model) Sequential( load_model model_from applications clone_model Module) training= .predict( "
        b"from_pretrained( from_preset(".split()
    )
    prefilters = (runs_models_again,)
    skips_tests = True
    skips_graphs = True
    skips_other_backends = True

    def check(self, model: Model) -> Iterator[Finding]:
        """Yield the first model call of each loop that runs it eagerly again and again."""
        from .inference_steps import InferenceSteps

        for step in model.once(InferenceSteps).eager:
            notes = [Note(step.loop_file, step.loop, "the loop that repeats it")]
            notes += [Note(one.file, one.node, one.text) for one in step.path]
            notes += [Note(file, call.func, "this one runs eagerly, too") for file, call in step.others]
            if step.usage is not None:
                notes.append(Note(step.file, step.usage, "this shows that it is a Keras model"))
            yield Finding(
                step.file,
                step.call.func,
                "the model runs eagerly in every iteration of this loop: Python starts each of its operations",
                Prediction(
                    "slowdown",
                    ("inference",),
                    low=1.1,
                    high=50.0,
                    basis="dense and convolutional networks, a row or frame at a time, on a CPU",
                ),
                help=_HELP
                if not step.has_loop_carried_input
                else f"{_HELP}, with `reduce_retracing=True` if its shape grows",
                notes=tuple(notes),
                subject=step,
            )

    def experiments(self, finding: Finding, model: Model) -> Iterator[Experiment]:
        """The user's loop: with the model as it is, and under `tf.function`."""
        from .inference_steps import InferenceStep

        step = finding.subject_as(InferenceStep)
        yield eager_against_traced(model, step.loop_file, step.loop, step.file, step.call, _WORKLOAD)


_HELP = "call the model in a function under `@tf.function`, and give it tensors"
_WORKLOAD = Workload(
    before="""
        import tensorflow as tf

        model = tf.keras.Sequential([*(tf.keras.layers.Dense(64, activation="relu") for _ in range(4))])
        frames = [tf.random.normal((1, 20)) for _ in range(8)]

        for frame in tflint_measure.steps(frames):
            tflint_measure.eager(model)(frame, training=False).numpy()
    """,
    changes=(("eager(model)", "traced(model)"),),
)
