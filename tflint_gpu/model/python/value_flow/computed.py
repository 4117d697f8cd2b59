"""What a value is computed from, through calls, operators and lists."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator

import libcst as cst

from tflint_gpu.bounds import SOURCE_VALUES
from tflint_gpu.model.python.project.file import File
from tflint_gpu.model.python.syntax.syntax import Expression
from tflint_gpu.model.python.value_flow.origins import Context, Origin
from tflint_gpu.model.python.value_flow.resolver import Resolver


def computed_from(
    inference: Resolver, file: File, expr: Expression, context: Context | None = None
) -> Iterator[Origin]:
    """The values that a value is, or is computed from, nearest first and each once.

    `np.argmax(net.predict(rows), axis=1)` is computed from the predictions, the rows and whatever these are made of.
    """
    pending, seen = deque(inference.of(file, expr, context)), set[Origin]()
    while pending:
        origin = pending.popleft()
        if origin in seen:
            continue
        if len(seen) >= SOURCE_VALUES.limit:
            inference.meet(SOURCE_VALUES)
            return
        seen.add(origin)
        yield origin
        for operand in _operands(origin):
            pending.extend(inference.of(origin.file, operand, origin.context))
        if isinstance(origin.node, cst.List) or origin.call is not None:
            pending.extend(inference.elements(origin))


def _operands(origin: Origin) -> Iterator[Expression]:
    node = origin.node
    if isinstance(node, cst.Call):
        if isinstance(node.func, cst.Attribute) and origin.file.name(node.func) is None:
            yield node.func.value
        yield from (arg.value for arg in node.args)
    elif isinstance(node, cst.BinaryOperation):
        yield from (node.left, node.right)
    elif isinstance(node, cst.UnaryOperation):
        yield node.expression
    elif isinstance(node, cst.Comparison):
        yield from (node.left, *(target.comparator for target in node.comparisons))
    elif isinstance(node, cst.Subscript | cst.Attribute):
        yield node.value
    elif isinstance(node, cst.ListComp | cst.GeneratorExp):
        yield node.elt
