"""Numbers that count rows: the length of an array, the cardinality of a dataset, and what is computed from such."""

from __future__ import annotations

import libcst as cst

from tflint_gpu.model.python.project.file import File
from tflint_gpu.model.python.syntax.syntax import Expression, method_name
from tflint_gpu.model.python.value_flow.computed import computed_from
from tflint_gpu.model.python.value_flow.origins import Context
from tflint_gpu.model.python.value_flow.resolver import Resolver


def counted_by(file: File, expr: Expression) -> Expression | None:
    """What has the rows that an expression counts: `len(x)`, `x.shape[0]`, `ds.cardinality()` and `.numpy()` of it."""
    if isinstance(expr, cst.Call):
        if file.names.is_builtin(expr.func, "len") and len(expr.args) == 1:
            return expr.args[0].value
        if file.name(expr.func) == "tf.data.experimental.cardinality" and expr.args:
            return expr.args[0].value
        method = method_name(expr)
        if isinstance(expr.func, cst.Attribute) and not expr.args:
            if method == "cardinality":
                return expr.func.value
            return counted_by(file, expr.func.value) if method == "numpy" else None
    if isinstance(expr, cst.Subscript) and isinstance(expr.value, cst.Attribute) and expr.value.attr.value == "shape":
        index = expr.slice[0].slice
        if len(expr.slice) == 1 and isinstance(index, cst.Index) and isinstance(index.value, cst.Integer):
            return expr.value.value if index.value.value == "0" else None
    return None


def is_share(inference: Resolver, file: File, expr: Expression, context: Context | None = None) -> bool:
    """Whether a number is computed from how many rows there are: `int(0.8 * len(x))`, but not `min(9, len(x))`."""
    if isinstance(expr, cst.Attribute) and expr.attr.value == "num_examples":  # of a split of tensorflow_datasets
        return True
    made = list(computed_from(inference, file, expr, context))
    if any(o.call is not None and o.file.names.is_builtin(o.call.func, "min") for o in made):
        return False
    return any(isinstance(o.node, cst.BaseExpression) and counted_by(o.file, o.node) is not None for o in made)
