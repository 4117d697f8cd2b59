"""TFG309 traced-python-in-map."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import libcst as cst

from tflint_gpu.model import CLOCKS, MappedCode, alternatives, drawn_in_graph, method_name
from tflint_gpu.rule import (
    Edit,
    Experiment,
    Finding,
    Fix,
    Prediction,
    Rule,
    Workload,
    draw_in_graph,
    importing,
    notes_on,
)

if TYPE_CHECKING:
    from tflint_gpu.model import File, Misplaced, Misuse, Model


class TracedPythonInMap(Rule):
    """A function given to a dataset calls Python code that runs once, while tf.data traces it, or that raises there.

    Why: `map`, `filter` and similar methods call the function a single time, with symbolic elements, and run the
    resulting graph for all elements. A random number from NumPy or Python is then the same for every element,
    `time.sleep` delays only the tracing, and `print` shows a symbolic tensor. Code that needs an element's value
    raises.

    Reported:
    - random numbers of Python or NumPy, `time.sleep` and `print`, in a function given to a dataset
    - NumPy functions, `.numpy()`, `open`, and functions of `os.path`, `math`, PIL and OpenCV on an element

    Not reported:
    - NumPy on shapes and constants
    - code inside `tf.py_function` and `tf.numpy_function`
    - seeds of TensorFlow's own random operations
    - prints of shapes or of plain text
    - code for eager execution only

    Measured: with TensorFlow 2.21 and 2.15 the function ran once for 200 elements and `random.random()` gave one
    value for all of them; `np.sqrt(x)` raised NotImplementedError, `x.numpy()` AttributeError, `open(x)`,
    `os.path.join(folder, x)` and `math.sqrt(x)` TypeError. A test repeats it with the installed TensorFlow.

    Fix: unsafe: the number becomes a tensor that is drawn for every element, of float32 or of the dtype of the tensor
    that it is combined with, and `tf.print` shows each element. There is no fix for code that raises: it has to be
    rewritten with TensorFlow operations.

    Example:
        import random
        import tensorflow as tf


        def brighten(image, label):
            return image * random.uniform(0.8, 1.2), label


        dataset = tf.data.Dataset.from_tensor_slices((images, labels)).map(brighten)

    Use instead:
        import random
        import tensorflow as tf


        def brighten(image, label):
            return image * tf.random.uniform([], 0.8, 1.2, dtype=image.dtype), label


        dataset = tf.data.Dataset.from_tensor_slices((images, labels)).map(brighten)
    """

    code = "TFG309"
    name = "traced-python-in-map"
    severity = "error"
    required_substrings = (
        (b".map(", b".filter(", b".interleave(", b".flat_map(", b".reduce(", b".scan(", b".take_while("),
    )
    nearby_substrings = (b"ataset", b"tfds", b"AUTOTUNE", b"num_parallel_calls")

    fixable = "unsafe"

    def check(self, model: Model) -> Iterator[Finding]:
        """Yield the Python calls, in functions given to datasets, that run once or need values."""
        for misplaced in model.once(MappedCode).misplaced:
            yield _finding(model, misplaced)

    def experiments(self, finding: Finding, model: Model) -> Iterator[Experiment]:
        """A mapped function of each kind: that Python runs once does not depend on the user's code."""
        raises = finding.prediction.kind == "crash"
        workload = _RAISING if raises else _FROZEN
        exceptions = ("NotImplementedError",) if raises else ()
        yield Experiment(finding.file, finding.node, workload=workload, only_workload=True, exceptions=exceptions)


_RAISING = Workload(
    before="""
        import numpy as np
        import tensorflow as tf

        dataset = tf.data.Dataset.range(4).map(lambda x: np.square(x))
        values = [int(value) for value in dataset]
        tflint_measure.finish(outputs=[0.0])
    """,
    changes=(("np.square(x)", "tf.square(x)"),),
)
_FROZEN = Workload(
    before="""
        import random
        import tensorflow as tf

        dataset = tf.data.Dataset.range(8).map(lambda x: random.random())
        values = {float(value) for value in dataset}
        if len(values) == 1:
            tflint_measure.finish(wrong="eight elements get one random number")
        tflint_measure.finish()
    """,
    changes=(("random.random())", "tf.random.uniform([]))"),),
)
_ON_THE_HOST = "run it in `tf.numpy_function` or `tf.py_function`, or use TensorFlow's own operations"
_RAISES: dict[Misuse, str] = {
    "numpy": "gets an element of the dataset",
    "host": "gets an element of the dataset",
    "method": "is called on an element of the dataset",
}


def _finding(model: Model, misplaced: Misplaced) -> Finding:
    short = misplaced.name.replace("numpy.", "np.", 1)
    notes = notes_on(misplaced.traced.frames)
    place = misplaced.call.func
    where = f"in {misplaced.traced.entry}"
    if misplaced.misuse in _RAISES:
        return Finding(
            misplaced.file,
            place,
            f"`{short}` {_RAISES[misplaced.misuse]} {where}: elements have no values while tf.data traces it, so it "
            "raises",
            Prediction(
                "crash", ("traced",), basis="a symbolic tensor has no value; measured with TensorFlow 2.15 and 2.21"
            ),
            help=alternatives(misplaced.name) if misplaced.misuse == "numpy" else _ON_THE_HOST,
            notes=notes,
        )
    runs_once = f"`{short}` {where} runs once, while tf.data traces it"
    return Finding(
        misplaced.file,
        place,
        f"{runs_once}: {_consequence(misplaced)}",
        Prediction(
            "wrong-result", ("traced",), basis="one call for all elements; measured with TensorFlow 2.15 and 2.21"
        ),
        help=_help(misplaced),
        fix=_fix(model, misplaced),
        severity="error" if misplaced.misuse == "draw" and misplaced.name not in CLOCKS else "warning",
        notes=notes,
    )


def _fix(model: Model, misplaced: Misplaced) -> Fix | None:
    """The same draw in the graph, or `tf.print` of what is printed as it is."""
    file, call = misplaced.file, misplaced.call
    if misplaced.misuse == "draw":
        return draw_in_graph(model, file, call, misplaced.name)
    spelling = file.imports.spelling("tf.print", call) if misplaced.misuse == "print" else None
    if spelling is None or any(arg.keyword is not None or arg.star or _is_text(arg.value) for arg in call.args):
        return None
    return Fix("Print with `tf.print`", "unsafe", (*importing(spelling), Edit(call.func, spelling.text)))


def _is_text(value: cst.BaseExpression) -> bool:
    """`"{}".format(x)`, `"%s" % x`, `f"{x}"`: Python writes it once, and no value is in it."""
    if isinstance(value, cst.BinaryOperation):
        return isinstance(value.operator, cst.Modulo)
    is_method = isinstance(value, cst.Call) and method_name(value) == "format"
    return is_method or isinstance(value, cst.FormattedString | cst.ConcatenatedString)


def _consequence(misplaced: Misplaced) -> str:
    if misplaced.misuse == "sleep":
        return "elements are not delayed"
    if misplaced.misuse == "print":
        return "it shows a symbolic tensor, not values"
    return "every element gets the time of tracing" if misplaced.name in CLOCKS else "every element gets the same value"


def _help(misplaced: Misplaced) -> str:
    if misplaced.misuse == "sleep":
        return "call it in `tf.py_function`, with a number that is known there"
    if misplaced.misuse == "print":
        return "use `tf.print`"
    if misplaced.misuse == "draw" and _is_called(misplaced.file, misplaced.call):
        return (
            "draw a number in the graph and choose the function by it: "
            "`tf.switch_case(tf.random.uniform([], maxval=n, dtype=tf.int32), functions)`"
        )
    return drawn_in_graph(misplaced.name)


def _is_called(file: File, draw: cst.Call) -> bool:
    """Whether what is drawn is a function: the draw, or the name that gets it, is called."""
    around = file.tree.parents[draw]
    if isinstance(around, cst.Call) and around.func is draw:
        return True
    target: cst.CSTNode | None = None
    if isinstance(around, cst.For | cst.CompFor) and around.iter is draw:
        target = around.target
    elif isinstance(around, cst.Assign) and len(around.targets) == 1:
        target = around.targets[0].target
    if not isinstance(target, cst.Name):
        return False
    calls = file.calls_in.get(file.tree.function(draw), ())
    return any(isinstance(call.func, cst.Name) and call.func.value == target.value for call in calls)
