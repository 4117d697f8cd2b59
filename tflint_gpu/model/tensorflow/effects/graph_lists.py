"""Python lists that a loop of the graph fills: what they hold belongs to the loop's own graph."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import libcst as cst

from tflint_gpu.lazy_dataclasses import dataclass
from tflint_gpu.model.library.tensor_functions import returns_tensor
from tflint_gpu.model.model import Analysis, Once
from tflint_gpu.model.python.project.decorators import is_decorated
from tflint_gpu.model.python.project.file import File
from tflint_gpu.model.python.syntax.children import children
from tflint_gpu.model.python.syntax.syntax import Expression, Node, dotted_name, method_name
from tflint_gpu.model.python.value_flow.origins import Origin
from tflint_gpu.model.tensorflow.tf_data.pipelines import Pipelines
from tflint_gpu.model.tensorflow.tracing.traced_code import Traced, TracedCode, entry
from tflint_gpu.model.tensorflow.tracing.tracing import Tracing

_GRAPH_LOOPS = frozenset(["tf.map_fn", "tf.while_loop"])
_ORDERS = (cst.LessThan, cst.LessThanEqual, cst.GreaterThan, cst.GreaterThanEqual)


@dataclass(frozen=True, slots=True)
class Leak:
    """A tensor that a list carries out of a loop of the graph.

    Arguments:
        append: the call that puts it into the list.
        loop: the loop, or the call of TensorFlow that makes one.
        use: where the list is used after it.
    """

    traced: Traced
    append: cst.Call
    loop: Node
    use: Node


class GraphLists(Analysis):
    """Analysis of the lists in traced code, seen from one file."""

    pipelines = Once(Pipelines)
    tracing = Once(Tracing)
    traced_code = Once(TracedCode)

    def leaks(self, functions: Iterable[Traced] | None = None) -> Iterator[Leak]:
        """The lists that a loop of the graph fills, and that are used after it.

        Arguments:
            functions: only in these of the traced ones.
        """
        for traced in self.traced_code.functions if functions is None else functions:
            if traced.keras or not self._is_converted(traced):
                continue
            for call in traced.function.calls:
                if method_name(call) == "append" and len(call.args) == 1:
                    leak = self._leak(traced, call)
                    if leak is not None and not self.traced_code.runs_once(traced.file, call):
                        yield leak

    def _is_converted(self, traced: Traced) -> bool:
        """Whether AutoGraph converts the function: it does not after `autograph=False` and `do_not_convert`."""
        home, first = entry(traced)
        wrapper = self.tracing.wrapped(home).get(first) if isinstance(first, cst.FunctionDef | cst.Lambda) else None
        maker = wrapper.decorator if isinstance(wrapper, cst.Decorator) else wrapper
        if isinstance(maker, cst.Call) and any(a.keyword and a.keyword.value == "autograph" for a in maker.args):
            return False
        passed = [step.file.tree.function(step.node) for step in traced.path]
        return not any(f is not None and is_decorated(f, "do_not_convert") for f in (traced.function.node, *passed))

    def _leak(self, traced: Traced, call: cst.Call) -> Leak | None:
        file, func = traced.file, call.func
        name = dotted_name(func.value) if isinstance(func, cst.Attribute) else None
        if name is None or not isinstance(func, cst.Attribute):
            return None
        made = self._lists(file, func.value, traced)
        if not made or self.traced_code.may_be_left_out(traced, call):
            return None
        for inner, loop in self._regions(traced, call):
            if any(file.tree.within(origin.node, inner) for origin in made):
                return None
            value = call.args[0].value
            if self._is_made_in(file, value, inner) and self._is_tensor(traced, value, inner):
                use = self._use_after(file, loop, name, made, traced)
                return Leak(traced, call, loop, use) if use is not None else None
        return None

    def _lists(self, file: File, expr: Expression, traced: Traced) -> tuple[Origin, ...]:
        """Where a list is made, if it must be a list of the traced function, or of one around it."""
        lists = self.inference.of(file, expr, traced.context)
        around = {traced.function.node, *file.enclosing_functions(traced.function.node)}
        for origin in lists:
            node = origin.node
            is_list = isinstance(node, cst.List) or (
                isinstance(node, cst.Call) and file.names.is_builtin(node.func, "list") and not node.args
            )
            if origin.access_path or not is_list or origin.file is not file or file.tree.function(node) not in around:
                return ()
        return lists

    def _regions(self, traced: Traced, call: cst.Call) -> Iterator[tuple[Node, Node]]:
        """What the graph repeats around a call, innermost first: a loop, or the function of one, and what runs it."""
        file = traced.file
        for parent in file.tree.ancestors(call):
            if parent is traced.function.node:
                break
            if isinstance(parent, cst.For) and self._is_graph_iterable(traced, parent.iter):
                yield parent, parent
            if isinstance(parent, cst.While) and isinstance(parent.test, cst.Comparison):
                orders = all(isinstance(comparison.operator, _ORDERS) for comparison in parent.test.comparisons)
                if orders and traced.trace is not None and traced.trace.holds_tensor(parent.test):
                    yield parent, parent
        step = traced.path[-1] if traced.path else None
        runs = step.node if step is not None and step.file is file else None
        if isinstance(runs, cst.Call) and file.name(runs.func) in _GRAPH_LOOPS:
            yield traced.function.node, runs

    def _is_graph_iterable(self, traced: Traced, expr: Expression) -> bool:
        file = traced.file
        if isinstance(expr, cst.Call):
            if file.name(expr.func) == "tf.range":
                return True
            if file.names.is_builtin(expr.func, "range"):
                return traced.trace is not None and traced.trace.holds_tensor(*(arg.value for arg in expr.args))
        if traced.trace is not None and traced.trace.is_one(expr):
            return True
        return self._is_dataset(traced, expr)

    def _is_dataset(self, traced: Traced, expr: Expression) -> bool:
        context = traced.context if traced.path else None  # what is traced itself gets what all of its callers pass
        return self.inference.must_be(traced.file, expr, self.pipelines.must_be, context)

    def _is_tensor(self, traced: Traced, expr: Expression, region: Node) -> bool:
        """Whether a value is a tensor: known as one, returned by TensorFlow, or computed with a dataset's element."""
        file = traced.file
        if traced.trace is not None and traced.trace.holds_tensor(expr):
            return True
        if isinstance(expr, cst.Call):
            return returns_tensor(file.name(expr.func))
        if not isinstance(region, cst.For) or not self._is_dataset(traced, region.iter):
            return False
        yielded = {n.value for n in _in_order(region.target) if isinstance(n, cst.Name)}
        return any(isinstance(n, cst.Name) and n.value in yielded for n in _in_order(expr))

    def _is_made_in(self, file: File, expr: Expression, region: Node) -> bool:
        """Whether a value is computed in a loop, or is what the loop yields."""
        if isinstance(expr, cst.Name):
            bindings = file.flow.lookup(expr.value, expr)
            return bool(bindings) and all(file.tree.within(binding.node, region) for binding in bindings)
        return isinstance(expr, cst.Call | cst.BinaryOperation | cst.Subscript)

    def _use_after(self, file: File, loop: Node, name: str, made: tuple[Origin, ...], traced: Traced) -> Node | None:
        """Where the list's contents are used after the loop, in the same function."""
        function = file.tree.function(loop)
        nodes = list(_in_order(function.body)) if isinstance(function, cst.FunctionDef | cst.Lambda) else []
        after = nodes.index(loop) if loop in nodes else len(nodes)
        for node in nodes[after:]:
            if not isinstance(node, cst.Name | cst.Attribute) or dotted_name(node) != name:
                continue
            parent = file.tree.parents.get(node)
            if file.tree.within(node, loop) or isinstance(parent, cst.Attribute | cst.AssignTarget):
                continue
            if isinstance(parent, cst.Arg) and self._is_length(file, file.tree.parents[parent]):
                continue
            context = traced.context if function is traced.function.node else None
            if any(
                origin.node is made_list.node for origin in self.inference.of(file, node, context) for made_list in made
            ):
                return node
        return None

    def _is_length(self, file: File, node: Node) -> bool:
        return isinstance(node, cst.Call) and file.names.is_builtin(node.func, "len")


def _in_order(node: Node) -> Iterator[Node]:
    """A node and all that lies in it, in the order of the code."""
    stack = [node]
    while stack:
        node = stack.pop()
        yield node
        stack.extend(reversed(children(node)))
