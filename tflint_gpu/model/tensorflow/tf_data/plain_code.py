"""Functions that only compute what they return."""

from __future__ import annotations

from collections.abc import Callable, Collection

import libcst as cst

from tflint_gpu.model.python.project.file import File
from tflint_gpu.model.python.project.functions import Function
from tflint_gpu.model.python.syntax.children import walk
from tflint_gpu.model.python.syntax.syntax import Expression, FunctionNode, Node, positional_parameters
from tflint_gpu.model.python.value_flow.inference import Inference

# What may be in such a function; anything else may depend on a value, a shape, or do something else.
_STATEMENTS = (
    cst.SimpleStatementLine,
    cst.SimpleStatementSuite,
    cst.IndentedBlock,
    cst.Assign,
    cst.AnnAssign,
    cst.AugAssign,
    cst.Return,
    cst.If,
    cst.Else,
    cst.Pass,
)
_FORBIDDEN = (cst.BaseComp, cst.Lambda, cst.Await, cst.Yield, cst.NamedExpr)
_NAMES = (cst.Name, cst.Tuple, cst.List)


def is_plain(
    inference: Inference,
    function: Function,
    understood: Collection[Node],
    may_ask: Callable[[Expression], bool] = lambda test: False,
    *,
    stores: bool = False,
) -> bool:
    """Whether a function, with those it calls, only computes what it returns, and asks its own values nothing.

    Arguments:
        understood: the calls of other functions that it may make, and functions in it that only compute.
        may_ask: whether a conditional expression may depend on a value.
        stores: whether the function itself may put items into its parameters.
    """
    seen: set[Node] = set()
    queue = [function]
    for reached in queue:  # grows meanwhile
        if reached.node in seen:
            continue
        seen.add(reached.node)
        node, file = reached.node, reached.file
        targets = (*_NAMES, cst.Subscript) if stores and reached is function else _NAMES
        if isinstance(node, cst.FunctionDef) and not _is_straight(file, node, targets, understood):
            return False
        if any(isinstance(inner, _FORBIDDEN) and inner not in understood for inner in walk(node.body)):
            return False
        if not all(asks_outside(reached, test) for test in statement_tests(node)):
            return False
        if not all(asks_outside(reached, test) or may_ask(test) for test in expression_tests(node)):
            return False
        for call in reached.calls:
            callees = inference.callees(file, call)
            if call not in understood and not callees:
                return False
            queue.extend(callee.function for callee in callees)
    return True


def asks_outside(function: Function, test: Expression) -> bool:
    """Whether a condition is about something that is known before the function is called, such as `self.mode`."""
    node = function.node
    own = set(function.file.tree.scopes[node].bindings)
    if function.is_method:
        own -= {p.name.value for p in positional_parameters(node)[:1]}
    return not any(isinstance(n, cst.Name) and n.value in own for n in walk(test))


def _is_straight(
    file: File, function: cst.FunctionDef, targets: tuple[type[Node], ...], understood: Collection[Node]
) -> bool:
    """Whether a function's body has assignments to some targets, returns and conditions only, and its docstring."""
    return all(
        (isinstance(node, _STATEMENTS) and all(isinstance(target, targets) for target in _targets(node)))
        or (isinstance(node, cst.Expr) and isinstance(node.value, cst.BaseString))
        or node in understood
        for node in walk(function.body)
        if isinstance(node, cst.BaseStatement | cst.BaseSmallStatement | cst.BaseSuite | cst.Else)
    )


def _targets(node: Node) -> list[Node]:
    if isinstance(node, cst.Assign):
        return [target.target for target in node.targets]
    return [node.target] if isinstance(node, cst.AnnAssign | cst.AugAssign) else []


def statement_tests(function: FunctionNode) -> list[Expression]:
    """What decides which way a function goes."""
    return [node.test for node in walk(function.body) if isinstance(node, cst.If)]


def expression_tests(function: FunctionNode) -> list[Expression]:
    """What decides which of its expressions count."""
    nodes = list(walk(function.body))
    tests = [node.test for node in nodes if isinstance(node, cst.IfExp)]
    return [*tests, *(node.left for node in nodes if isinstance(node, cst.BooleanOperation))]
