"""TFG214 eager-inference-loop."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING

from tflint_gpu.model import ExecutionContexts
from tflint_gpu.rule import (
    Finding,
    Note,
    Prediction,
    Rule,
    Workload,
    calls_under_functions,
    eager_against_traced,
    notes_on,
    offered,
    tried,
)

from .step_sizes import of_forward_pass

if TYPE_CHECKING:
    from tflint_gpu.model import Model
    from tflint_gpu.rule import Experiment


_PREDICTION = Prediction(
    "slowdown",
    ("inference",),
    low=1.1,
    high=50.0,
    basis="networks on one row or frame at a time: 5.1 to 15 times on an H200 GPU; the range was measured on a CPU",
)


class EagerInferenceLoop(Rule):
    """A loop calls a model eagerly, for single frames, images, tokens or steps.

    Why: `model(x)` outside `tf.function` starts each operation of the model from Python: a model of a hundred layers
    needs several hundred calls for each frame. The same call in a function under `@tf.function` starts one graph. Even
    a large model answers sooner, and a GPU does not wait for Python between small operations. If the input grows with
    each iteration, as generated text does, or images differ in size, each new shape is traced unless the function has
    `reduce_retracing=True`.

    Reported:
    - a model that a loop calls eagerly for single frames, images, tokens or steps
    - an agent's steps in one environment

    Not reported:
    - loops over datasets, which TFG207 reports
    - loops of a few iterations: fewer than 24 in total, if the code shows it (a trace takes as long as 2 to 26 forward
      passes)
    - a few operations of a `tf.Module`: a call of a traced function takes as long as about four of them
    - loops in a training step
    - a main block that tries out an untrained model
    - samples that a training program shows after each epoch, or every n steps
    - models that are made in the same iteration, and loops over the models of an ensemble, unless another loop repeats
      these loops
    - loops over several environments
    - comparisons with TFLite
    - code that builds a model out of models
    - loops that wait for requests
    - exported models (`tf.saved_model.load`, `load_model` of a folder), whose calls are traced

    Measured: {evidence} 60 images of different sizes through MobileNetV2 took 36 s eagerly, 12 s with
    `reduce_retracing=True` and 208 s with a plain `tf.function`.

    Fix: unsafe: Python code in the model runs once. Where the shape of the input may change, the function has
    `reduce_retracing=True`. There is no fix where the model needs that shape while it is traced (`x.shape[0]`).

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
        def traced_model(model, inputs, training):
            return model(inputs, training=training)


        while True:
            found, frame = camera.read()
            boxes = traced_model(model, frame[None], training=False)
    """

    code = "TFG214"
    name = "eager-inference-loop"
    least_tensorflow = (2, 0)
    nearby_substrings = tuple(
        b"Model( Model) Sequential( load_model model_from applications clone_model Module) training= .predict( "
        b"from_pretrained( from_preset( self(".split()
    )
    loops_nearby = True
    fixable = "unsafe"
    skips_tests = True
    skips_graphs = True
    skips_other_backends = True

    def check(self, model: Model) -> Iterator[Finding]:
        """Yield the first model call of each loop that runs it eagerly again and again."""
        from .inference_steps import InferenceSteps

        loops = model.once(ExecutionContexts)
        for step in model.once(InferenceSteps).eager:
            if not loops.pays(step.file, step.call):
                continue
            loop = loops.of_loop(step.loop_file, step.loop)
            notes = [Note(loop.file, loop.loop, f"{loop.text} that repeats it")]
            notes += notes_on(step.path)
            notes += [Note(file, call.func, "this one runs eagerly, too") for file, call in step.others]
            if step.usage is not None:
                notes.append(Note(step.file, step.usage, "this shows that it is a Keras model"))
            fix, withheld = offered(tried(model, partial(calls_under_functions, model, step.file, step.calls)))
            yield Finding(
                step.file,
                step.call.func,
                "the model runs eagerly in every iteration of this loop: Python starts each of its operations",
                of_forward_pass(model, _PREDICTION, step.file, step.call, (step.loop_file, step.loop)),
                help=_HELP_WITH_SHAPES if step.has_changing_shapes else _HELP,
                notes=(*notes, *withheld),
                fix=fix,
                subject=step,
            )

    def experiments(self, finding: Finding, model: Model) -> Iterator[Experiment]:
        """The user's loop: with the model as it is, and under `tf.function`."""
        from .inference_steps import InferenceStep

        step = finding.subject_as(InferenceStep)
        yield eager_against_traced(model, step.loop_file, step.loop, finding, step.calls, _WORKLOAD)


_HELP = "call the model in a function under `@tf.function`, and give it tensors or arrays"
_HELP_WITH_SHAPES = (
    "call the model in a function under `@tf.function(reduce_retracing=True)`, and give it tensors: without that "
    "argument each new shape is traced, which takes longer than it saves. If the model reads `x.shape`, use "
    "`tf.shape(x)` for dimensions that change"
)


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
