"""What is done with a number or an array of Python's: whether a tensor could stand in its place."""

from __future__ import annotations

import libcst as cst

from tflint_gpu.bounds import USED_NAMES
from tflint_gpu.model.library.tensor_functions import ASKING_VALUES
from tflint_gpu.model.model import Analysis, Once
from tflint_gpu.model.python.project.file import File
from tflint_gpu.model.python.syntax.syntax import Expression, Node
from tflint_gpu.model.tensorflow.types.kinds import Kinds
from tflint_gpu.model.values.value import TensorValue
from tflint_gpu.model.values.values import Values

_OF_TENSORS = ("shape", "dtype")
_PASSED_ON = (cst.UnaryOperation, cst.Tuple, cst.Element, cst.IfExp, cst.ComparisonTarget)
_TESTED = (cst.If, cst.While, cst.IfExp)
_ORDERS = (cst.LessThan, cst.GreaterThan, cst.LessThanEqual, cst.GreaterThanEqual)
_TAKERS = ("tf.", "keras.")


class TensorUses(Analysis):
    """Analysis of the places where values of Python's or NumPy's are used."""

    kinds = Once(Kinds)
    values = Once(Values)

    def takes_tensor(
        self, file: File, node: Expression, *, returned: bool = True, eager: bool = False, names: int = 0
    ) -> bool:
        """Whether all that is done with a value can be done with a tensor: it is computed with, or given to TensorFlow.

        Arguments:
            returned: whether those that call its function take one.
            eager: whether the code runs eagerly: NumPy may compute with it, and Python decide by it.
            names: how many names have been followed.
        """
        child: Node = node
        for parent in file.tree.ancestors(node):
            if isinstance(parent, cst.Arg):
                taker = file.tree.parents[parent]
                is_result = parent.keyword is not None and parent.keyword.value == "out"
                return isinstance(taker, cst.Call) and not is_result and self._takes(file, taker.func, eager=eager)
            if isinstance(parent, cst.Return):
                return returned
            if isinstance(parent, cst.Attribute) and parent.attr.value in _OF_TENSORS:
                return True
            if isinstance(parent, cst.Lambda):
                return returned and child is parent.body
            if isinstance(parent, cst.Assign | cst.AugAssign):
                if names >= USED_NAMES.limit:
                    self.inference.meet(USED_NAMES)
                    return False
                uses = later_uses(file, parent)
                return uses is not None and all(
                    self.takes_tensor(file, use, returned=returned, eager=eager, names=names + 1) for use in uses
                )
            if isinstance(parent, _TESTED) and child is parent.test:
                return eager
            if isinstance(parent, cst.Comparison | cst.ComparisonTarget) and not eager:
                return False
            if isinstance(parent, cst.BinaryOperation):
                other = self.values.of(file, parent.left if parent.right is child else parent.right)
                if isinstance(other, TensorValue) and other.kind in ("tensor", "variable"):
                    return True  # the result is one, whatever this one is
                # An array of another dtype gives an array its dtype, and takes that of a tensor.
                if isinstance(other, TensorValue) and other.kind == "array" and other.dtype not in ("", "float32"):
                    return False
            elif not _computes(parent, child, eager=eager):
                return False
            child = parent
        return False

    def _takes(self, file: File, function: Expression, *, eager: bool) -> bool:
        """Whether what is called takes tensors: of a library, a layer or a model."""
        name = file.name(function) or ""
        if (name.startswith(_TAKERS) and (eager or name not in ASKING_VALUES)) or (eager and name.startswith("numpy.")):
            return True
        return self.kinds.must_be(file, function, "layer", "model") or self.kinds.is_model(file, function)


def later_uses(file: File, statement: cst.Assign | cst.AugAssign) -> list[cst.Name] | None:
    """Where the one name that a statement of a function assigns is read after it; None where others may read it."""
    target = statement.target if isinstance(statement, cst.AugAssign) else statement.targets[0].target
    if isinstance(statement, cst.Assign) and len(statement.targets) > 1:
        return None
    function, order = file.tree.function(statement), file.tree.order
    if not isinstance(target, cst.Name) or function is None:
        return None
    uses = file.tree.uses.get(target.value, ())
    inner = {file.tree.function(use) for use in uses} - {function, None}
    if any(other is not None and file.tree.within(other, function) for other in inner):
        return None
    read = [
        u for u in uses if file.tree.function(u) is function and not isinstance(file.tree.parents[u], cst.AssignTarget)
    ]
    return [use for use in read if order.get(use, 0) > order.get(target, 0) and not file.tree.within(use, statement)]


def _computes(parent: Node, child: Node, *, eager: bool) -> bool:
    """Whether a node computes a tensor of one that is its part."""
    if isinstance(parent, cst.Comparison):
        return all(isinstance(target.operator, _ORDERS) for target in parent.comparisons)
    if isinstance(parent, cst.Subscript):
        return parent.value is child and all(map(_is_plain, parent.slice))
    if isinstance(parent, cst.UnaryOperation) and isinstance(parent.operator, cst.Not):
        return eager
    return isinstance(parent, _PASSED_ON)


def _is_plain(element: cst.SubscriptElement) -> bool:
    """Whether an index takes parts in the same way of tensors and arrays: `0`, `-1`, `:`, `...`, `None`."""
    if not isinstance(element.slice, cst.Index):
        return True
    value = element.slice.value
    if isinstance(value, cst.UnaryOperation):
        value = value.expression
    return isinstance(value, cst.Integer | cst.Ellipsis) or (isinstance(value, cst.Name) and value.value == "None")
