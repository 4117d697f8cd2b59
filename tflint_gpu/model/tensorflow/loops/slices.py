"""The slices that a loop cuts out of an array by its counter: `rows[i * n : (i + 1) * n]`."""

from __future__ import annotations

import libcst as cst

from tflint_gpu.model.python.project.file import File
from tflint_gpu.model.python.syntax.children import spelling
from tflint_gpu.model.python.syntax.syntax import Expression
from tflint_gpu.model.python.value_flow.inference import Inference


def size_between(
    inference: Inference, file: File, lower: Expression, upper: Expression, counter: str
) -> Expression | None:
    """The `n` of bounds `i * n` and `(i + 1) * n` or `i * n + n`, as they are written or as names hold them."""
    first, last = _written(inference, file, lower), _written(inference, file, upper)
    size = _factor(first, counter, added=0)
    if size is None:
        return None
    step = _factor(last, counter, added=1)
    if step is None and isinstance(last, cst.BinaryOperation) and isinstance(last.operator, cst.Add):
        begins = spelling(_written(inference, file, last.left)) == spelling(first)
        step = last.right if begins else None
    return size if step is not None and spelling(step) == spelling(size) else None


def _written(inference: Inference, file: File, bound: Expression) -> Expression:
    """What a name holds, where the file says so in one place."""
    origins = inference.of(file, bound) if isinstance(bound, cst.Name) else ()
    node = origins[0].node if len(origins) == 1 and origins[0].file is file else None
    return node if isinstance(node, cst.BinaryOperation) else bound


def _factor(product: Expression, counter: str, added: int) -> Expression | None:
    """The `n` of `i * n`, or of `(i + 1) * n`; None of anything else."""
    if not isinstance(product, cst.BinaryOperation) or not isinstance(product.operator, cst.Multiply):
        return None
    for count, size in ((product.left, product.right), (product.right, product.left)):
        if _counts(count, counter, added):
            return size
    return None


def _counts(expr: Expression, counter: str, added: int) -> bool:
    """Whether an expression is a counter, or one more than that."""
    if added and isinstance(expr, cst.BinaryOperation) and isinstance(expr.operator, cst.Add):
        return isinstance(expr.right, cst.Integer) and expr.right.value == "1" and _counts(expr.left, counter, 0)
    return not added and isinstance(expr, cst.Name) and expr.value == counter
