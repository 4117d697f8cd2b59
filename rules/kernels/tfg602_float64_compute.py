"""TFG602 float64-compute."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import libcst as cst

from tflint_gpu.lazy_patterns import regex
from tflint_gpu.rule import (
    Edit,
    Experiment,
    Finding,
    Fix,
    Note,
    Prediction,
    Rule,
    Workload,
    leave_out,
)

from .double_precision import Precision
from .own_tensors import makes_own_tensors

if TYPE_CHECKING:
    from tflint_gpu.model import Model

    from .double_precision import Double, DoubleKind

_DOUBLES = regex(r"\bfloat64\b|\bdouble\b")
_OWN_COMPUTATION = regex(r"GradientTape|minimize\(|convert_to_tensor|tf\.(?:constant|cast|Variable|function)")


class Float64Compute(Rule):
    """A model, a layer or a product of tensors computes in float64.

    Why: Keras computes in the dtype of its policy, which is float32 unless the program says otherwise. With float64
    every weight, activation and gradient takes 8 bytes instead of 4, and products run in double precision: the
    TensorFloat-32 mode, in which TensorFlow runs float32 products on newer NVIDIA GPUs by default, is for float32 only.
    How much slower float64 is depends on the GPU: one made for double precision lost little (below). Often float64 is
    there only to avoid an error about mixed dtypes; then the data should be cast to float32.

    Reported:
    - a model, a layer or a product of tensors in float64

    Not reported:
    - float64 arrays and datasets given to `fit`: Keras casts them to its own dtype
    - casts in front of a Keras layer: it casts back
    - casts for a single number, a sum or a metric
    - a dtype that the program's user chooses
    - files that use libraries whose methods are known to need float64 (`tensorflow_probability`, `gpflow`, `deepxde`,
      `scipy.optimize`)

    Measured: {evidence}

    Fix: unsafe: it changes the last digits of results. There is no fix in a file that makes tensors without Keras and
    computes with them: their dtype would have to change together with that of the weights. A computation with a model's
    outputs changes its dtype along with them, if its other operands are only numbers and NumPy arrays.

    Example:
        import tensorflow as tf

        tf.keras.backend.set_floatx("float64")
        model = tf.keras.Sequential([tf.keras.layers.Dense(64), tf.keras.layers.Dense(1)])

    Use instead:
        import tensorflow as tf

        model = tf.keras.Sequential([tf.keras.layers.Dense(64), tf.keras.layers.Dense(1)])
    """

    code = "TFG602"
    name = "float64-compute"
    required_substrings = ((b"layers", b"floatx", b"olicy", b"cast(", b"call("),)
    nearby_substrings = (b"float64", b"double")
    fixable = "unsafe"
    skips_tests = True
    skips_other_backends = True

    def check(self, model: Model) -> Iterator[Finding]:
        """Yield the places of this file that choose float64."""
        for double in model.once(Precision).doubles():
            yield Finding(
                double.file,
                double.place,
                _text(double),
                Prediction(
                    "slowdown",
                    low=1.0,
                    high=7.0,
                    basis="products of matrices in float64 against float32, on a CPU with TensorFlow 2.15 and 2.21; "
                    "0.9 to 1.4 times on an H200, which has fast float64 units",
                ),
                help=_HELP[double.kind],
                fix=_fix(model, double),
                notes=tuple(Note(*note) for note in double.notes),
            )

    def experiments(self, finding: Finding, model: Model) -> Iterator[Experiment]:
        """The same layer in both precisions: its effect does not depend on where the dtype is chosen."""
        yield Experiment(finding.file, finding.node, workload=_WORKLOAD, only_workload=True)


def _text(double: Double) -> str:
    cost = "twice the bytes of float32 for every number"
    if double.kind == "default":
        return f"the {double.subject} is float64: Keras layers hold their weights and compute in it, {cost}"
    if double.kind == "layer":
        return f"{double.subject} holds its weights and computes in float64, {cost}"
    return f"this cast makes {double.subject} compute in float64, {cost}"


_HELP: dict[DoubleKind, str] = {
    "default": "keep float32, the default, and cast the data to it; use float64 only if the method needs the precision",
    "layer": "leave `dtype` out: the layer casts its inputs",
    "product": "cast to the dtype of the other operand, or compute in float32",
}


def _fix(model: Model, double: Double) -> Fix | None:
    """Take it out where Keras, which casts what it is given, does all that the file computes."""
    file, call = double.file, double.file.tree.parents.get(double.place)
    text = file.source.text
    if len(_DOUBLES.findall(text)) > 1 or (_OWN_COMPUTATION.search(text) and makes_own_tensors(model, file)):
        return None
    if double.kind == "layer" and isinstance(double.place, cst.Arg) and isinstance(call, cst.Call):
        return leave_out(file, call, [double.place], "unsafe")
    line = file.tree.statement(double.place)
    if double.kind != "default" or not isinstance(line, cst.SimpleStatementLine) or len(line.body) > 1:
        return None
    block = file.tree.siblings(line)
    if not isinstance(line.body[0], cst.Expr) or len(block) == 1 or file.comment_after(line):
        return None
    return Fix("Keep float32", "unsafe", (Edit(line, "", "lines"),))


_WORKLOAD = Workload(
    before="""
        import tensorflow as tf

        layer = tf.keras.layers.Dense(512, dtype="float64")
        x = tf.random.normal((512, 512))

        @tf.function
        def step():
            return layer(x)

        for _ in tflint_measure.steps(range(8)):
            step()
    """,
    changes=((', dtype="float64"', ""),),
)
