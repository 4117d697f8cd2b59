"""TFG504 late-visible-devices."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from tflint_gpu.model import Runtime, Visibility
from tflint_gpu.rule import Experiment, Finding, Prediction, Rule, Workload, notes_before

if TYPE_CHECKING:
    from tflint_gpu.model import Model


class LateVisibleDevices(Rule):
    """`CUDA_VISIBLE_DEVICES` is set after TensorFlow has initialised the GPUs.

    Why: CUDA reads this variable once for each process, when CUDA is initialised and looks for its devices. The first
    operation initialises it: `tf.constant`, a variable, a dataset, an optimizer, `MirroredStrategy()`. A later value in
    `os.environ` changes nothing: the process keeps the GPUs that it has, with its memory on all of them. A value that
    is set before the import of TensorFlow always takes effect.

    Reported:
    - `CUDA_VISIBLE_DEVICES` that is set after the first operation

    Not reported:
    - a file that starts other processes, which inherit the variable
    - restoring a saved value

    Measured: that these calls initialise the runtime, with TensorFlow 2.21 and 2.15 (a test repeats it). What CUDA does
    follows from its documentation. It was not measured on a GPU.

    Fix: none, because the GPUs may be initialised by an import that cannot come later.

    Example:
        import os

        import tensorflow as tf

        scale = tf.constant(2.0)
        os.environ["CUDA_VISIBLE_DEVICES"] = "1"

    Use instead:
        import os

        os.environ["CUDA_VISIBLE_DEVICES"] = "1"
        import tensorflow as tf

        scale = tf.constant(2.0)
    """

    code = "TFG504"
    name = "late-visible-devices"
    nearby_substrings = (b"CUDA_VISIBLE_DEVICES",)
    skips_tests = True
    skips_graphs = True

    def check(self, model: Model) -> Iterator[Finding]:
        """Yield the assignments to the variable before which something always initialises the GPUs."""
        for late in model.once(Visibility).late():
            before = late.initialiser
            if model.once(Runtime).is_graph_code(before.file, before.node):
                continue
            yield Finding(
                late.file,
                late.target,
                f"no effect: {before.text} has already initialised the GPUs, and CUDA reads this variable only during "
                "that initialisation",
                Prediction("no-effect", ("gpu",), basis="according to CUDA's documentation; not observed on a GPU"),
                help="set it before `import tensorflow`",
                notes=notes_before(before, "the GPUs are initialised here"),
            )

    def experiments(self, finding: Finding, model: Model) -> Iterator[Experiment]:
        """The variable that hides all GPUs, after an operation and before it: is one used?"""
        yield Experiment(
            finding.file,
            finding.node,
            prediction=Prediction("wrong-result", ("gpu",), basis=finding.prediction.basis),
            requires="a GPU",
            workload=_WORKLOAD,
            only_workload=True,
        )


_WORKLOAD = Workload(
    before="""
        import os

        import tensorflow as tf

        tf.constant(1.0)
        os.environ["CUDA_VISIBLE_DEVICES"] = "-1"
        product = tf.linalg.matmul(tf.ones((8, 8)), tf.ones((8, 8)))
        wrong = {"wrong": "the product runs on a GPU"} if "GPU" in product.device else {}
        tflint_measure.finish(outputs=[0.0], **wrong)
    """,
    changes=(("\ntf.constant(1.0)", ""),),
)
