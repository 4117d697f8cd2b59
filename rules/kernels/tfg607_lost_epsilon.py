"""TFG607 lost-epsilon."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import libcst as cst

from tflint_gpu.model import Expression, TensorValue, Values, argument, operation_named
from tflint_gpu.model.library.precision import ALMOST_ZERO, SINGULAR_AT_ZERO
from tflint_gpu.rule import Experiment, Finding, Prediction, Rule, Workload

if TYPE_CHECKING:
    from tflint_gpu.model import Model


class LostEpsilon(Rule):
    """A constant that should keep a logarithm, a root or a divisor away from 0 is itself 0 in float16.

    Why: TensorFlow converts a Python number to the dtype of the tensor that it is combined with. The smallest positive
    number of float16 is 0.00000006, and numbers of at most half of that become 0: `1e-8`, and `1e-12`, which is usual
    in float32. Adding such a constant leaves the tensor unchanged. A softmax in float16 is 0 for each logit that is 17
    or more below the largest. Under mixed_float16 the first example about which a model is confidently wrong therefore
    makes the loss infinite and all gradients NaN, even if the loss is scaled. A larger constant does not help: with
    `1e-7` the loss is finite, but the gradient, 1 divided by it, is still infinite in float16.

    Reported:
    - a constant that is certainly 0: the tensor is float16 because of a cast, or of a policy that is set at the top of
      the file

    Not reported:
    - bfloat16, which has the range of float32
    - tensors that are not certainly float16

    Measured: TensorFlow 2.21 on a CPU: `-log(softmax([20, -20])[1] + 1e-12)` is infinite in float16 and its gradient
    NaN; in float32 and bfloat16 both are finite. A test repeats it with the installed TensorFlow.

    Fix: none, because a tensor that is cast to float32 can no longer be combined with other float16 tensors.

    Example:
        import tensorflow as tf


        def cross_entropy(target, logits):
            probability = tf.nn.softmax(tf.cast(logits, tf.float16))
            return -tf.reduce_sum(tf.cast(target, tf.float16) * tf.math.log(probability + 1e-12))

    Use instead:
        import tensorflow as tf


        def cross_entropy(target, logits):
            probability = tf.nn.softmax(tf.cast(logits, tf.float32))
            return -tf.reduce_sum(tf.cast(target, tf.float32) * tf.math.log(probability + 1e-12))
    """

    code = "TFG607"
    name = "lost-epsilon"
    required_substrings = ((b"float16", b"half"), (b"e-", b"0.0000000"))
    skips_tests = True
    skips_graphs = True
    skips_other_backends = True

    def check(self, model: Model) -> Iterator[Finding]:
        """Yield the constants that are 0 in float16 and are to keep something away from 0."""
        for guarded, effect in _singular(model):
            tensor, epsilon = _kept_away(model, guarded)
            if epsilon is None or tensor is None:
                continue
            value = model.once(Values).of(model.file, tensor)
            if isinstance(value, TensorValue) and not value.is_number and value.dtype == "float16":
                written = model.file.code(epsilon)
                yield Finding(
                    model.file,
                    epsilon,
                    f"`{written}` is 0 in float16, the dtype of `{model.file.code(tensor)}`: where that is 0, {effect}",
                    Prediction("wrong-result", ("training",), basis="log of a softmax of [20, -20], TensorFlow 2.21"),
                    help='compute this in float32: `tf.cast(..., tf.float32)`, or `dtype="float32"` for the layer '
                    "that the tensor comes from",
                )

    def experiments(self, finding: Finding, model: Model) -> Iterator[Experiment]:
        """One example that the model is certain of and wrong about: is the gradient a number?"""
        yield Experiment(finding.file, finding.node, workload=_WORKLOAD, only_workload=True)


def _singular(model: Model) -> Iterator[tuple[Expression, str]]:
    """What must not be 0 in this file, with what happens where it is."""
    for call in model.calls(*SINGULAR_AT_ZERO):
        given = argument(call, 0, "x")
        if given is not None:
            yield given, "this is infinite, or its gradient is"
    for division in model.file.tree.nodes(cst.BinaryOperation):
        if isinstance(division.operator, cst.Divide):
            yield division.right, "this divides by 0"


def _kept_away(model: Model, guarded: Expression) -> tuple[Expression | None, Expression | None]:
    """The tensor and the constant of `x + 1e-12` or `tf.maximum(x, 1e-12)`, if float16 makes the constant 0."""
    pair: tuple[Expression | None, Expression | None] = (None, None)
    if isinstance(guarded, cst.BinaryOperation) and isinstance(guarded.operator, cst.Add):
        pair = (guarded.left, guarded.right)
    elif isinstance(guarded, cst.Call) and operation_named(model.name(guarded.func)).is_at_least:
        pair = (argument(guarded, 0, "x"), argument(guarded, 1, "y"))
    for tensor, constant in (pair, pair[::-1]):
        value = model.value(constant)
        if isinstance(value, float) and 0 < value <= ALMOST_ZERO:
            return tensor, constant
    return None, None


_WORKLOAD = Workload(
    before="""
        import tensorflow as tf

        logits = tf.Variable([20.0, -20.0])
        with tf.GradientTape() as tape:
            probability = tf.nn.softmax(tf.cast(logits, tf.float16))
            loss = -tf.math.log(probability[1] + 1e-12)
        gradient = tape.gradient(loss, logits)
        is_number = bool(tf.reduce_all(tf.math.is_finite(gradient)))
        wrong = {} if is_number else {"wrong": "the gradient is not a number"}
        tflint_measure.finish(outputs=[0.0], **wrong)
    """,
    changes=(("tf.float16", "tf.float32"),),
)
