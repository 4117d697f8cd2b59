"""TFG101 numpy-in-call."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

import libcst as cst

from tflint_gpu.model import (
    COUNTERPARTS,
    RAISES,
    RAISES_EAGERLY,
    TRACING_SUBSTRINGS,
    Guards,
    MappedCode,
    Runtime,
    TensorUses,
    TensorValue,
    Trace,
    TracedCode,
    TracedFunctions,
    Tracing,
    Values,
    alternatives,
)
from tflint_gpu.model.library.classes import INPUTS
from tflint_gpu.model.library.operations import operation_named
from tflint_gpu.rule import (
    Change,
    Edit,
    Experiment,
    Finding,
    Fix,
    NoExperiment,
    Prediction,
    Rule,
    Workload,
    importing,
    notes_on,
    wrap,
)

if TYPE_CHECKING:
    from tflint_gpu.model import File, Model


class NumpyInCall(Rule):
    """A NumPy function gets a symbolic tensor in code that TensorFlow traces.

    Why: Keras traces `call`, `train_step` and similar methods in `fit` and in the functional API, and `tf.function`
    traces what it wraps. While TensorFlow traces, a tensor has no values, so NumPy cannot convert it:
    `NotImplementedError: Cannot convert a symbolic tf.Tensor to a numpy array`. The same code runs if it is called
    eagerly or with `run_eagerly=True`. Then it computes on the host, and the gradient ends there: the layers before it
    are silently not trained.

    Reported:
    - a NumPy function that gets a symbolic tensor, in code that Keras or `tf.function` traces

    Not reported:
    - NumPy on values that are known while tracing: `x.shape`, `self.units`, constants
    - code inside `tf.numpy_function` and `tf.py_function`
    - functions given to a dataset, which TFG309 reports

    Measured: in traced code it raises with TensorFlow 2.21 (Keras 3.15) and 2.15 (Keras 2.15); in eager code, the
    gradient of earlier layers is None. Repeat with `python tests/benchmarks/numpy_on_tensors.py`.

    Fix: safe where TensorFlow's function returns the same as NumPy's for a tensor; unsafe in a helper function that
    other code may also call, and where an operand is an array, whose dtype decides the result's dtype. Code that Keras
    calls eagerly works with NumPy: there the fix is also unsafe in three cases: the tensors may be integers, which
    NumPy converts to floating point; the result is used as an array (`np.abs(x).sum()`); or the program trains eagerly,
    where a gradient passes only after the fix.

    Example:
        import numpy as np
        import tensorflow as tf


        class Wave(tf.keras.layers.Layer):
            def call(self, inputs):
                return np.sin(inputs)

    Use instead:
        import numpy as np
        import tensorflow as tf


        class Wave(tf.keras.layers.Layer):
            def call(self, inputs):
                return tf.sin(inputs)
    """

    code = "TFG101"
    name = "numpy-in-call"
    severity = "error"
    required_substrings = ((*TRACING_SUBSTRINGS, b"Input("),)
    nearby_substrings = (b"numpy",)
    fixable = "safe"
    skips_other_backends = True

    def check(self, model: Model) -> Iterator[Finding]:
        """Yield the NumPy calls on tensors in the traced functions that start in this file."""
        for trace, call, name in _numpy_calls(model):
            yield _finding(model, trace, call, name)
        for call, name in _symbolic_calls(model):
            yield _symbolic_finding(model, call, name)

    def experiments(self, finding: Finding, model: Model) -> Iterator[Experiment]:
        """The function at its first call in the program, as it is and fixed: eager, with gradients, traced. The
        program's other calls of NumPy on tensors are fixed in both: they would raise, too.
        """
        if finding.subject is None:
            raise NoExperiment("it is in code that builds a functional model, and raises at once")
        own, numpy_calls = finding.subject_as(Trace), _numpy_calls(model)
        function = own.function.node
        repairs = {
            call: (trace.function.node, _repaired(model, trace, call, name)) for trace, call, name in numpy_calls
        }
        others = (
            replace(c, optional=True) for where, changes in repairs.values() if where is not function for c in changes
        )
        yield Experiment(
            own.file,
            function,
            probes=(*_examined(own.file, function), *others),
            repair=tuple(c for where, changes in repairs.values() if where is function for c in changes),
            exceptions=(TRACING_ERROR,),
            workload=_WORKLOAD,
        )


_TRAINS_EAGERLY = (b"run_eagerly", b"functions_eagerly", b"GradientTape")
TRACING_ERROR = "NotImplementedError"
_NUMPY = re.compile(b"numpy")
_WORKLOAD = Workload(
    before="""
        import numpy as np
        import tensorflow as tf

        @tflint_measure.examine
        def wave(inputs):
            return np.sin(inputs)

        wave(tf.random.normal((32, 8)))
    """,
    changes=(("np.sin(inputs)", "tf.sin(inputs)"),),
)


def _numpy_calls(model: Model) -> Iterator[tuple[Trace, cst.Call, str]]:
    """The NumPy calls on tensors that raise when TensorFlow traces them, each with its function's trace."""
    if not _numpy_in_functions(model):
        return
    for trace in model.once(TracedFunctions).traces:
        own = trace.file
        for call in trace.function.calls:
            name = own.name(call.func)
            if name not in RAISES or model.once(Guards).keeps_tensors_out(own, call):
                continue
            if not trace.holds_tensor(*_arrays(call)) or model.once(MappedCode).tells_of(call):
                continue
            if not model.once(Runtime).has_numpy_behaviour():
                yield trace, call, name


def _numpy_in_functions(model: Model) -> bool:
    """Whether this file calls such a function of NumPy in a function, or reaches a file that mentions NumPy."""
    own = (call for call in model.calls("numpy.*") if model.name(call.func) in RAISES)
    is_in_function = any(model.file.tree.function(call) is not None for call in own)
    return is_in_function or model.project.reached_mention(model.source, _NUMPY)


def _symbolic_calls(model: Model) -> Iterator[tuple[cst.Call, str]]:
    """The NumPy calls on symbolic Keras tensors, where a functional model is built."""
    if not any(True for _ in model.calls(*INPUTS)):
        return
    for name in sorted(RAISES):
        for call in model.calls(name):
            if model.once(Tracing).is_traced(model.file, model.file.tree.function(call)):
                continue
            if model.once(Guards).keeps_tensors_out(model.file, call):
                continue
            if model.once(TracedFunctions).symbolic.holds_tensor(model.file, _arrays(call), None):
                yield call, name


def _arrays(call: cst.Call) -> list[cst.BaseExpression]:
    return [arg.value for arg in call.args if not _is_option(arg)]


def _examined(file: File, function: cst.FunctionDef | cst.Lambda) -> tuple[Change, ...]:
    """Let `verify` run the function in three ways at its first call, without its decorators."""
    if isinstance(function, cst.Lambda):
        return wrap(file, function, "examine")
    if function.decorators:
        line = f"\n{file.indentation(function)}@tflint_measure.examine"
        return (Change(file, function.decorators[-1], line, "after"),)
    return (Change(file, function, f"@tflint_measure.examine\n{file.indentation(function)}", "before"),)


def _repaired(model: Model, trace: Trace, call: cst.Call, name: str) -> tuple[Change, ...]:
    """The fix, or TensorFlow's own NumPy function of the same name."""
    fix = _fix(model, trace, call, name)
    if fix is not None:
        return tuple(Change(trace.file, edit.node, edit.text, edit.where) for edit in fix.edits)
    return (Change(trace.file, call.func, name.replace("numpy.", "tflint_measure.tf.experimental.numpy.", 1)),)


def _finding(model: Model, trace: Trace, call: cst.Call, name: str) -> Finding:
    short = name.replace("numpy.", "np.", 1)
    where = f"Keras traces it ({', '.join(trace.start.occasions)})" if trace.keras else "TensorFlow traces it"
    eagerly = "; run eagerly, it computes on the host"
    if trace.passes_gradients:
        eagerly += " and passes no gradient on"
    return Finding(
        trace.file,
        call.func,
        f"`{short}` gets a tensor in {trace.entry}: it raises when {where}"
        + ("" if name in RAISES_EAGERLY else eagerly),
        Prediction(
            "crash", ("traced",), basis="NumPy cannot convert a symbolic tensor; measured with TensorFlow 2.15 and 2.21"
        ),
        help=alternatives(name),
        notes=notes_on(trace.frames),
        fix=_fix(model, trace, call, name),
        subject=trace,
    )


def _symbolic_finding(model: Model, call: cst.Call, name: str) -> Finding:
    short = name.replace("numpy.", "np.", 1)
    return Finding(
        model.file,
        call.func,
        f"`{short}` gets a symbolic Keras tensor while a model is built: it raises at once",
        Prediction("crash", (), basis="a Keras tensor has no values; measured with TensorFlow 2.21"),
        help=alternatives(name),
    )


def _is_option(arg: cst.Arg) -> bool:
    return arg.keyword is not None and arg.keyword.value in ("dtype", "axis", "keepdims", "out", "order")


def _fix(model: Model, trace: Trace, call: cst.Call, name: str) -> Fix | None:
    """Put the counterpart in place of the function's name, with an import that the file already has."""
    file, known = trace.file, COUNTERPARTS.get(name)
    if known is None or not call.args or call.args[0].keyword is not None or any(arg.star for arg in call.args):
        return None
    if any(model.value(arg.value, file) is None for arg in call.args):
        return None
    if _differs_for_integers(model, trace, call, name) or _multiplies_vectors(model, trace, call, known.tensorflow):
        return None
    spelling = None
    if not known.tensor_first or trace.holds_tensor(call.args[0].value):
        spelling = file.imports.spelling(known.tensorflow, call)
    use_keras = known.keras_ops is not None and model.target.keras >= 3 and (spelling is None or spelling.statement)
    if use_keras and known.keras_ops is not None:
        of_keras = file.imports.spelling(known.keras_ops, call)
        use_keras = of_keras is not None and (spelling is None or not of_keras.statement)
        spelling = of_keras if use_keras else spelling
    keywords = [arg.keyword for arg in call.args if arg.keyword is not None]
    names = [keyword.value for keyword in keywords]
    renamed = known.renamed(len(call.args) - len(keywords), names, keras_ops=bool(use_keras))
    if spelling is None or renamed is None:
        return None
    edits = [*importing(spelling), Edit(call.func, spelling.text)]
    edits += [Edit(keyword, renamed[keyword.value]) for keyword in keywords if renamed[keyword.value] != keyword.value]
    plain = all(_is_tensor_or_number(model, trace, arg.value) for arg in call.args)
    may_run_eagerly = trace.keras or model.once(TracedCode).functions_run_eagerly
    is_same = not may_run_eagerly or (
        _are_floats(model, trace, call, is_float_only=known.float_only)
        and model.once(TensorUses).takes_tensor(file, call, returned=trace.keras and not trace.path, eager=True)
        and not (trace.passes_gradients and any(map(model.reaches, _TRAINS_EAGERLY)))
    )
    safe = known.safe and not trace.is_shared and plain and is_same
    return Fix(f"Replace with `{spelling.text}`", "safe" if safe else "unsafe", tuple(edits))


def _differs_for_integers(model: Model, trace: Trace, call: cst.Call, name: str) -> bool:
    """Whether a tensor is known to be of integers or truth values, and the counterpart refuses or truncates them."""
    given, row = call.args[0].value, operation_named(name)
    value = model.once(Values).of(trace.file, given, trace.context)
    dtype = value.dtype if isinstance(value, TensorValue) and not value.is_number else ""
    is_bool = dtype == "bool" or isinstance(given, cst.Comparison)
    if row.dtype in ("float", "mean"):
        return is_bool or dtype.startswith(("int", "uint"))
    return row.dtype == "sum" and is_bool


def _multiplies_vectors(model: Model, trace: Trace, call: cst.Call, counterpart: str) -> bool:
    """Whether an operand of a product of matrices is known to be none: NumPy takes vectors and numbers, too."""
    if counterpart != "tf.matmul":
        return False
    given = [arg.value for arg in call.args]
    values = [model.once(Values).of(trace.file, expr, trace.context) for expr in given]
    known = [value.shape for value in values if isinstance(value, TensorValue) and value.shape is not None]
    rows = (expr.elements[:1] for expr in given if isinstance(expr, cst.List | cst.Tuple))
    return any(len(shape) < 2 for shape in known) or any(not isinstance(e.value, cst.List) for row in rows for e in row)


def _are_floats(model: Model, trace: Trace, call: cst.Call, *, is_float_only: bool) -> bool:
    """Whether the tensors are known to be of floating point, where the counterpart refuses integers or truncates.

    NumPy makes floats of integers, in code of Keras that runs eagerly, too; a `tf.function` raised before.
    """
    values = [model.once(Values).of(trace.file, arg.value, trace.context) for arg in call.args]
    tensors = [value for value in values if not (isinstance(value, TensorValue) and value.is_number)]
    numbers = (model.value(arg.value, trace.file, trace.context) for arg in call.args)
    if not is_float_only and not any(isinstance(number, float) for number in numbers):
        return True
    return all(isinstance(value, TensorValue) and "float" in value.dtype for value in tensors)


def _is_tensor_or_number(model: Model, trace: Trace, expr: cst.BaseExpression) -> bool:
    """A tensor or a Python number: with a NumPy array as the other operand the result's dtype may differ."""
    return trace.holds_tensor(expr) or isinstance(model.value(expr, trace.file, trace.context), int | float)
