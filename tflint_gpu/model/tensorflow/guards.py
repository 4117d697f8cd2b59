"""Under which conditions code runs, and whether those conditions ask about GPUs or kinds of values."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

import libcst as cst

from tflint_gpu.model.python.flow import exits
from tflint_gpu.model.python.syntax import Expression, Node, dotted_name

if TYPE_CHECKING:
    from tflint_gpu.model.model import Model

GPU_QUERIES = frozenset(
    (
        "tf.config.list_physical_devices tf.config.experimental.list_physical_devices "
        "tf.config.list_logical_devices tf.config.experimental.list_logical_devices "
        "tf.config.get_visible_devices tf.config.experimental.get_visible_devices tf.test.is_gpu_available "
        "tf.test.gpu_device_name tf.test.is_built_with_cuda tf.test.is_built_with_gpu_support "
        "tf.compat.v1.test.is_gpu_available tf.compat.v1.test.gpu_device_name "
        "tf.python.client.device_lib.list_local_devices keras.backend.tensorflow_backend._get_available_gpus "
        "keras.distribution.list_devices"
    ).split()
)
# A flag called like this lets the user decide: who writes `if args.use_gpu:` has thought of it.
_SUGGESTS_DEVICE = re.compile(r"gpu|cuda|device|accelerator|hardware|xla|tpu|strategy|distrib|platform", re.IGNORECASE)
_SUGGESTS_DEBUGGING = re.compile(r"eager|debug|graph", re.IGNORECASE)
_EAGER_TESTS = frozenset(
    (
        "isinstance is_tensor executing_eagerly executing_eagerly_outside_functions inside_function hasattr "
        "type is_symbolic_tensor is_keras_tensor is_tf_type"
    ).split()
)
_DEPTH_LIMIT = 5


class Guards:
    """Questions about the conditions under which one file's code runs."""

    def __init__(self, model: Model) -> None:
        self.model = model

    def conditions(self, node: Node) -> Iterator[Expression]:
        """The tests that decide whether `node` runs: ifs, ternaries, asserts, early exits, `and`."""
        child = node
        for parent in self.model.tree.ancestors(node):
            if isinstance(parent, cst.If | cst.IfExp | cst.While) and child is not parent.test:
                yield parent.test
            elif isinstance(parent, cst.BooleanOperation) and child is parent.right:
                yield parent.left
            elif isinstance(parent, cst.CompFor):
                yield from (condition.test for condition in parent.ifs)
            elif isinstance(parent, cst.BaseComp):
                yield from (condition.test for condition in _comprehension_tests(parent))
            elif isinstance(parent, cst.IndentedBlock | cst.Module):
                yield from _earlier_exits(parent, child)
            if isinstance(parent, cst.FunctionDef | cst.ClassDef):
                return
            child = parent

    def keeps_tensors_out(self, node: Node) -> bool:
        """Whether `node` runs only for values of a certain kind, only eagerly, or where its failure is expected."""
        return self.in_try(node) or any(_asks_for_kind(test) for test in self.conditions(node))

    def in_try(self, node: Node) -> bool:
        """Whether an exception from `node` is handled in the same function."""
        child = node
        for parent in self.model.tree.ancestors(node):
            if isinstance(parent, cst.Try) and child is parent.body and parent.handlers:
                return True
            if isinstance(parent, cst.FunctionDef):
                return False
            child = parent
        return False

    def depends_on_gpus(self, node: Node, depth: int = 0) -> bool:
        """Whether `node` runs only where some test or loop has asked about GPUs, here or at its callers."""
        if self.in_try(node) or any(self.asks_for_gpus(test) for test in self.conditions(node)):
            return True
        if self._in_loop_over_gpus(node):
            return True
        for parent in self.model.tree.ancestors(node):
            if isinstance(parent, cst.FunctionDef):
                if self._decorated(parent) or any(self.asks_for_gpus(test) for test in self.conditions(parent)):
                    return True
                return depth < _DEPTH_LIMIT and any(
                    caller.model.guards.depends_on_gpus(caller.node, depth + 1)
                    for caller in self.model.functions.callers(parent)
                )
        return False

    def _in_loop_over_gpus(self, node: Node) -> bool:
        """Whether `node` runs once for each GPU of some list: never, where there is none."""
        child = node
        for parent in self.model.tree.ancestors(node):
            if isinstance(parent, cst.For) and child is not parent.iter and self.asks_for_gpus(parent.iter):
                return True
            if (
                isinstance(parent, cst.BaseComp)
                and child is not parent.for_in
                and self.asks_for_gpus(parent.for_in.iter)
            ):
                return True
            if isinstance(parent, cst.FunctionDef):
                return False
            child = parent
        return False

    def is_for_debugging(self, node: Node) -> bool:
        """Whether a condition says that the code is the eager or debugging variant: `if mode == "eager":`."""
        return any(
            _SUGGESTS_DEBUGGING.search(part.value)
            for test in self.conditions(node)
            for part in _walk(test)
            if isinstance(part, cst.Name | cst.SimpleString)
        )

    def protects_index(self, subscript: Node, depth: int = 0) -> bool:
        """Whether a test, a `try` or an early exit keeps an index into a list of GPUs from an empty list."""
        if self.in_try(subscript) or any(self.asks_for_gpus(test) for test in self.conditions(subscript)):
            return True
        if self._in_loop_over_gpus(subscript):
            return True
        function = self.model.tree.function(subscript)
        if not isinstance(function, cst.FunctionDef):
            return False
        if any(self.asks_for_gpus(test) for test in self.conditions(function)):
            return True
        callers = self.model.functions.callers(function)
        return (
            depth < _DEPTH_LIMIT
            and bool(callers)
            and all(c.model.guards.protects_index(c.node, depth + 1) for c in callers[:_DEPTH_LIMIT])
        )

    def compares_count(self, test: Expression) -> bool:
        """Whether a condition compares the length of something with a number: `len(gpus) == 1`."""
        return any(
            isinstance(node, cst.Comparison)
            and any(isinstance(c.operator, cst.Equal | cst.LessThan | cst.LessThanEqual) for c in node.comparisons)
            and any(
                isinstance(inner, cst.Call) and self.model.names.is_builtin(inner.func, "len") for inner in _walk(node)
            )
            for node in _walk(test)
        )

    def _decorated(self, function: cst.FunctionDef) -> bool:
        """`@run_gpu_only`, `@pytest.mark.skipif(...)`: the decorator may be the guard."""
        for decorator in function.decorators:
            text = self.model.tree.module.code_for_node(decorator.decorator)
            if _SUGGESTS_DEVICE.search(text) or "skip" in text:
                return True
        return False

    def asks_for_gpus(self, expr: Expression, depth: int = 0) -> bool:
        """Whether an expression is derived from a query for devices, or is called as if it were."""
        if depth > _DEPTH_LIMIT:
            return False
        for node in _walk(expr):
            if isinstance(node, cst.Call):
                if self.model.name(node.func) in GPU_QUERIES or self._function_asks(node, depth):
                    return True
            elif (
                (isinstance(node, cst.Attribute) and _SUGGESTS_DEVICE.search(node.attr.value))
                or (isinstance(node, cst.SimpleString) and _SUGGESTS_DEVICE.search(node.value))
                or (
                    isinstance(node, cst.Name) and (_SUGGESTS_DEVICE.search(node.value) or self._name_asks(node, depth))
                )
            ):
                return True
        return False

    def _name_asks(self, node: cst.Name, depth: int) -> bool:
        return any(
            binding.value is not None
            and binding.kind in ("assign", "for")
            and self.asks_for_gpus(binding.value, depth + 1)
            for binding in self.model.flow.lookup(node.value, node)
        )

    def _function_asks(self, call: cst.Call, depth: int) -> bool:
        """A function of the project that returns what it learned from a query."""
        function = self.model.functions.called(call)
        if function is None:
            return False
        model = function.model
        return any(model.name(inner.func) in GPU_QUERIES for inner in model.functions.calls_in.get(function.node, ()))


def _walk(expr: Node) -> Iterator[Node]:
    stack = [expr]
    while stack:
        node = stack.pop()
        yield node
        stack.extend(node.children)


def _comprehension_tests(comprehension: cst.BaseComp) -> Iterator[cst.CompIf]:
    clause: cst.CompFor | None = comprehension.for_in
    while clause is not None:
        yield from clause.ifs
        clause = clause.inner_for_in


def _earlier_exits(block: cst.IndentedBlock | cst.Module, child: Node) -> Iterator[Expression]:
    """Asserts, and ifs that leave, which stand before `child` in its block."""
    for statement in block.body:
        if statement is child:
            return
        if isinstance(statement, cst.If) and (exits(statement.body) or _skips(statement.body)):
            yield statement.test
        elif isinstance(statement, cst.SimpleStatementLine):
            for small in statement.body:
                if isinstance(small, cst.Assert):
                    yield small.test


def _skips(block: cst.BaseSuite) -> bool:
    """Whether a block ends with `continue` or `break`."""
    last = block.body[-1] if block.body else None
    if isinstance(last, cst.SimpleStatementLine):
        return isinstance(last.body[-1], cst.Continue | cst.Break)
    return isinstance(last, cst.Continue | cst.Break)


def _asks_for_kind(test: Expression) -> bool:
    """Whether a condition asks what kind of value it has, or whether code runs eagerly."""
    if isinstance(test, cst.Call):
        name = (dotted_name(test.func) or "").rpartition(".")[2]
        return name in _EAGER_TESTS or any(_asks_for_kind(arg.value) for arg in test.args)
    if isinstance(test, cst.UnaryOperation):
        return _asks_for_kind(test.expression)
    if isinstance(test, cst.BooleanOperation):
        return _asks_for_kind(test.left) or _asks_for_kind(test.right)
    if isinstance(test, cst.Comparison):
        return _asks_for_kind(test.left) or any(_asks_for_kind(c.comparator) for c in test.comparisons)
    return False
