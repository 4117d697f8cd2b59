"""Under which conditions code runs, and whether those conditions ask about GPUs or kinds of values."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cached_property

import libcst as cst

from tflint_gpu.bounds import DEVICE_STEPS
from tflint_gpu.lazy_patterns import regex
from tflint_gpu.model.library.devices import GPU_QUERIES
from tflint_gpu.model.library.tensor_functions import KIND_QUERIES
from tflint_gpu.model.model import Analysis
from tflint_gpu.model.python.execution.callers import EveryWay, RunSite, ways
from tflint_gpu.model.python.names.branches import DEFINING
from tflint_gpu.model.python.project.file import File
from tflint_gpu.model.python.syntax.children import names_in, spelling, walk
from tflint_gpu.model.python.syntax.operators import COMPARISONS, decided, is_negation
from tflint_gpu.model.python.syntax.syntax import Expression, Node, argument, dotted_name
from tflint_gpu.model.python.value_flow.origins import Origin
from tflint_gpu.model.tensorflow.types.versions import value_of_test

# A flag called like this lets the user decide: who writes `if args.use_gpu:` has thought of it.
_SUGGESTS_DEVICE = regex(r"gpu|cuda|device|accelerator|hardware|xla|tpu|strategy|distrib|platform", re.IGNORECASE)
_SUGGESTS_GPU = regex(r"gpu|cuda|device", re.IGNORECASE)
_SUGGESTS_DEBUGGING = regex(r"eager|debug|graph", re.IGNORECASE)
_SUGGESTS_VERSION = regex(
    r"version|hasattr|getattr|compat(?!ib)|legacy|(?<![a-z])(?:tf|v|keras)_?[123](?!\d)", re.IGNORECASE
)
# Says that it is TensorFlow 2, and not which.
_IS_TENSORFLOW_2 = regex(r"""[\w.]+\.startswith\((["'])2\.?\1\)""")
_HANDLES = regex(rb"\bexcept\b")
_TENSORFLOW = frozenset(["tf", "tensorflow"])
_OTHER_FRAMEWORKS = frozenset(["torch", "pytorch", "jax", "mxnet", "paddle"])
# Raised by what runs, not by a name or an argument that is missing.
_OTHER_ERRORS = frozenset(
    "RuntimeError ValueError OSError IOError FileNotFoundError KeyError IndexError KeyboardInterrupt".split()
)


class Guards(Analysis):
    """Analysis of the conditions under which code runs."""

    is_of_values = True

    def conditions(self, file: File, node: Node) -> Iterator[Expression]:
        """The tests that decide whether `node` runs: ifs, ternaries, asserts, early exits, `and`."""
        return (test for test, _, _ in file.branches.around(node))

    def choices(self, file: File, node: Node) -> Iterator[tuple[Expression, bool]]:
        """The branches of `node` but those that every program takes which goes on: `assert x`, `if not x: raise`."""
        return ((test, holds) for test, holds, is_demand in file.branches.around(node) if not is_demand)

    def branches(self, file: File, node: Node) -> Iterator[tuple[Expression, bool]]:
        """The tests that decide whether `node` runs, each with what it must be for that."""
        return ((test, holds) for test, holds, _ in file.branches.around(node))

    def must_run(self, file: File, node: Node) -> bool:
        """Whether running the program must come to a place, on a machine with a GPU."""
        sites = ways(self.inference, RunSite(file, node), self._runs_with_its_function)
        return any(site.function is None and self._runs_with_its_function(site) for site in sites)

    def _runs_with_its_function(self, site: RunSite) -> bool:
        """Whether a place runs whenever its function is called, or its module imported, by what calls it says to."""
        for test, _ in self.choices(site.file, site.node):
            if "__name__" not in spelling(test) and not self.inference.must_be(site.file, test, _lists_devices):
                return False
        function = site.function
        return not isinstance(function, cst.FunctionDef) or not self.inference.definitions.decorators.may_replace(
            site.file, function
        )

    def _protects(self, file: File, node: Node) -> bool:
        """Whether a condition asks about GPUs, and keeps the place from being reached where there is none."""
        return any(
            self.asks_for_gpus(file, test)
            and self._without_gpus(file, test) in (None, not needed)
            and not _leaves_gpus_open(test, needed)
            for test, needed in self.branches(file, node)
        )

    def _without_gpus(self, file: File, test: Expression) -> bool | None:
        """What a condition is on a machine without a GPU; None where that depends on something else."""
        value = self._value_without_gpus(file, test)
        return None if value is None else bool(value)

    def _value_without_gpus(self, file: File, expr: Expression) -> int | None:
        if isinstance(expr, cst.Integer):
            return expr.evaluated_value
        if isinstance(expr, cst.BooleanOperation) or is_negation(expr):
            return decided(expr, lambda part: self._value_without_gpus(file, part))
        if isinstance(expr, cst.Comparison) and len(expr.comparisons) == 1:
            left = self._value_without_gpus(file, expr.left)
            right = self._value_without_gpus(file, expr.comparisons[0].comparator)
            compare = COMPARISONS.get(type(expr.comparisons[0].operator))
            return None if left is None or right is None or compare is None else int(compare(left, right))
        if isinstance(expr, cst.Call) and file.names.is_builtin(expr.func, "len") and len(expr.args) == 1:
            return self._value_without_gpus(file, expr.args[0].value)
        origins = self.inference.of(file, expr)
        return 0 if origins and all(_is_empty(origin) for origin in origins) else None

    def keeps_tensors_out(self, file: File, node: Node) -> bool:
        """Whether `node` runs only for values of a certain kind, only eagerly, or where its failure is expected.

        So does what runs only where another framework computes: `if self.framework == "torch":`.
        """
        return self.in_try(file, node) or any(
            (_asks_for_kind(test) and not self._asks_for_part(file, test)) or _is_for_another_framework(test, holds)
            for test, holds in self.branches(file, node)
        )

    def _asks_for_part(self, file: File, test: Expression) -> bool:
        """Whether a test asks which class of the project a part of `self` is of: `isinstance(self.memory, Ranked)`."""
        if is_negation(test):
            return self._asks_for_part(file, test.expression)
        if not isinstance(test, cst.Call) or not file.names.is_builtin(test.func, "isinstance") or len(test.args) < 2:
            return False
        part, cls = (arg.value for arg in test.args)
        is_part = (
            isinstance(part, cst.Attribute) and self.inference.definitions.self_class(file, part.value) is not None
        )
        return is_part and self.inference.must_be(file, cls, lambda origin: isinstance(origin.node, cst.ClassDef))

    def in_try(self, file: File, node: Node, *exceptions: str) -> bool:
        """Whether an exception from `node` is handled in the same function, if some are named one of these."""
        child = node
        for parent in file.tree.ancestors(node):
            if isinstance(parent, cst.Try) and child is parent.body:
                types = [handler.type for handler in parent.handlers]
                if any(not exceptions or t is None or not names_in(t).isdisjoint(exceptions) for t in types):
                    return True
            if isinstance(parent, cst.FunctionDef):
                return False
            child = parent
        return False

    def may_be_handled(self, file: File, node: Node, *exceptions: str) -> bool:
        """Whether one of some exceptions from a place may be handled: in its function, or by what calls that."""
        if self.in_try(file, node, *exceptions):
            return True
        function = file.tree.function(node)
        if not isinstance(function, cst.FunctionDef):
            return False
        called = self.inference.definitions.function(file, function)
        if any(self.in_try(*site, *exceptions) for site in self.inference.call_sites(called)):
            return True
        return any(
            model.once(Guards).in_try(model.file, call, *exceptions)
            for model in self.importers(file, _HANDLES)
            for call in model.file.calls_ending_with(function.name.value)
        )

    def depends_on_version(self, file: File, node: Node) -> bool:
        """Whether `node` is for some versions: a `try` handles that it is missing, or a test asks for the version."""
        if any(isinstance(parent, cst.Try) and _handles_missing(parent) for parent in file.tree.ancestors(node)):
            return True
        return any(
            _asks_for_version(file, test, holds)
            for outer in _with_definitions(file, node)
            for test, holds in self.branches(file, outer)
        )

    def is_for_graphs(self, file: File, node: Node) -> bool:
        """Whether a test for the version, or for code that runs eagerly, keeps a program for TensorFlow 2 from `node`.

        So does a `try` around that one statement: what is gone raises there, and the program goes on.
        """
        return self._is_ruled_out(file, node, is_eager=True) or self._is_tried_alone(file, node)

    def is_unreachable(self, file: File, node: Node) -> bool:
        """Whether a written condition or one for TensorFlow's version keeps every program from `node`: `if False:`."""
        return any(self._is_ruled_out(file, outer) for outer in _with_definitions(file, node))

    def _is_ruled_out(self, file: File, node: Node, *, is_eager: bool | None = None) -> bool:
        """Whether a test that the version decides keeps a place, or its function, from being run."""
        target, meet = self.inference.project.target, self.inference.meet
        return any(
            value_of_test(file, test, target, is_eager=is_eager, meet=meet) is (not holds)
            for test, holds in self.branches(file, node)
        )

    def _is_tried_alone(self, file: File, node: Node) -> bool:
        """Whether a place is in the one statement of a `try` with handlers."""
        parents = file.tree.parents
        statement = next((p for p in file.tree.ancestors(node) if isinstance(p, cst.SimpleStatementLine)), None)
        block = parents.get(statement) if statement is not None else None
        if not isinstance(block, cst.IndentedBlock) or len(block.body) > 1:
            return False
        around = parents[block]
        return isinstance(around, cst.Try) and around.body is block and bool(around.handlers)

    def depends_on_gpus(self, file: File, node: Node) -> bool:
        """Whether `node` runs only where some test or loop has asked about GPUs, here or at its callers."""
        return any(self._asks_around(site) for site in ways(self.inference, RunSite(file, node)))

    def asks_for_any_gpu(self, file: File, node: Node) -> bool:
        """Whether the tests that `node` runs under only ask whether there is a GPU, whichever: `if gpus:`."""
        tests = list(self.branches(file, node))
        return bool(tests) and all(
            holds and self.inference.must_be(file, test, _lists_devices) for test, holds in tests
        )

    def _asks_around(self, site: RunSite) -> bool:
        """Whether a test or a loop around a place, or around its function, asks about GPUs."""
        file, function = site.file, site.function
        return self._is_guarded(file, site.node) or (
            isinstance(function, cst.FunctionDef)
            and (self._decorated(file, function) or self._protects(file, function))
        )

    def _in_loop_over_gpus(self, file: File, node: Node) -> bool:
        """Whether `node` runs once for each GPU of some list: never, where there is none."""
        child = node
        for parent in file.tree.ancestors(node):
            if isinstance(parent, cst.For) and child is not parent.iter and self.asks_for_gpus(file, parent.iter):
                return True
            if (
                isinstance(parent, cst.BaseComp)
                and child is not parent.for_in
                and self.asks_for_gpus(file, parent.for_in.iter)
            ):
                return True
            if isinstance(parent, cst.FunctionDef):
                return False
            child = parent
        return False

    def is_for_debugging(self, file: File, node: Node) -> bool:
        """Whether a condition says that the code is the eager or debugging variant: `if mode == "eager":`."""
        return any(
            _SUGGESTS_DEBUGGING.search(part.attr.value if isinstance(part, cst.Attribute) else part.value)
            for test in self.conditions(file, node)
            for part in walk(test)
            if isinstance(part, cst.Name | cst.SimpleString | cst.Attribute)
        )

    def protects_index(self, file: File, subscript: Node) -> bool:
        """Whether a test, a `try` or an early exit keeps an index into a list of GPUs from an empty list."""
        return self._protected.holds(RunSite(file, subscript))

    @cached_property
    def _protected(self) -> EveryWay:
        return EveryWay(self.inference, self._is_protected)

    def _is_protected(self, site: RunSite) -> bool | None:
        """Whether a place is protected by what is around it in its function; None: its callers decide."""
        file, function = site.file, site.function
        if self._is_guarded(file, site.node):
            return True
        if not isinstance(function, cst.FunctionDef):
            return False
        return self._protects(file, function) or None

    def _is_guarded(self, file: File, node: Node) -> bool:
        """Whether a `try`, a test for GPUs or a loop over them is around a place, in its function."""
        return self.in_try(file, node) or self._protects(file, node) or self._in_loop_over_gpus(file, node)

    def compares_count(self, file: File, test: Expression) -> bool:
        """Whether a condition compares the length of something with a number: `len(gpus) == 1`."""
        return any(
            isinstance(node, cst.Comparison)
            and any(isinstance(c.operator, cst.Equal | cst.LessThan | cst.LessThanEqual) for c in node.comparisons)
            and any(isinstance(inner, cst.Call) and file.names.is_builtin(inner.func, "len") for inner in walk(node))
            for node in walk(test)
        )

    def _decorated(self, file: File, function: cst.FunctionDef) -> bool:
        """`@run_gpu_only`, `@pytest.mark.skipif(...)`: the decorator may be the guard."""
        for decorator in function.decorators:
            text = spelling(decorator.decorator)
            if _SUGGESTS_DEVICE.search(text) or "skip" in text:
                return True
        return False

    def asks_for_gpus(self, file: File, expr: Expression, depth: int = 0) -> bool:
        """Whether an expression is derived from a query for devices, or is called as if it were."""
        if depth > DEVICE_STEPS.limit:
            if not isinstance(expr, cst.BaseNumber | cst.SimpleString):
                self.inference.meet(DEVICE_STEPS)
            return False
        for node in walk(expr):
            if isinstance(node, cst.Call):
                if file.name(node.func) in GPU_QUERIES or self._function_asks(file, node, depth):
                    return True
            elif (
                (isinstance(node, cst.Attribute) and _SUGGESTS_DEVICE.search(node.attr.value))
                or (isinstance(node, cst.SimpleString) and _SUGGESTS_DEVICE.search(node.value))
                or (
                    isinstance(node, cst.Name)
                    and (_SUGGESTS_DEVICE.search(node.value) or self._name_asks(file, node, depth))
                )
            ):
                return True
        return False

    def _name_asks(self, file: File, node: cst.Name, depth: int) -> bool:
        return any(
            binding.value is not None
            and binding.kind in ("assign", "for")
            and self.asks_for_gpus(file, binding.value, depth + 1)
            for binding in file.flow.lookup(node.value, node)
        )

    def _function_asks(self, file: File, call: cst.Call, depth: int) -> bool:
        """A function of the project that returns what it learned from a query."""
        function = self.inference.called(file, call)
        if function is None:
            return False
        return any(function.file.name(inner.func) in GPU_QUERIES for inner in function.calls)


def _with_definitions(file: File, node: Node) -> Iterator[Node]:
    """A place, and the functions and classes around it: each may be defined under a condition."""
    yield node
    yield from (ancestor for ancestor in file.tree.ancestors(node) if ancestor.__class__ in DEFINING)


def _leaves_gpus_open(test: Expression, needed: bool) -> bool:
    """`not use_tpu`, `strategy is None`: with either there may be a GPU or not."""
    if isinstance(test, cst.Comparison):
        kept = isinstance(test.comparisons[0].operator, cst.Is | cst.IsNot) and "strategy" in spelling(test).lower()
        return kept and not _SUGGESTS_GPU.search(spelling(test))
    return isinstance(test, cst.Name | cst.Attribute) and not needed and "tpu" in spelling(test).lower()


def _lists_devices(origin: Origin) -> bool:
    return (origin.made_by or "").endswith(("list_physical_devices", "list_logical_devices"))


def _is_empty(origin: Origin) -> bool:
    """Whether a value is an empty list, or False, on a machine without a GPU."""
    call = origin.call
    if call is None or origin.made_by not in GPU_QUERIES:
        return False
    if origin.made_by.startswith("tf.test."):
        return not origin.made_by.startswith("tf.test.is_built")
    kind = argument(call, 0, "device_type")
    return isinstance(kind, cst.SimpleString) and kind.raw_value == "GPU"


def _handles_missing(block: cst.Try) -> bool:
    """Whether a `try` may handle that a name or an argument is not there: the GPU guide's handles other errors only."""
    for handler in block.handlers:
        listed = [e.value for e in handler.type.elements] if isinstance(handler.type, cst.Tuple) else [handler.type]
        if any(dotted_name(kind) not in _OTHER_ERRORS for kind in listed):
            return True
    return False


def _asks_for_version(file: File, test: Expression, holds: bool) -> bool:
    """Whether a condition, which must hold or must not, says more of the version than that it is TensorFlow 2."""
    if _SUGGESTS_VERSION.search(spelling(test)) is None:
        return False
    return not holds or _IS_TENSORFLOW_2.fullmatch(file.code(test)) is None


def _asks_for_kind(test: Expression) -> bool:
    """Whether a condition asks what kind of value it has, or whether code runs eagerly."""
    if isinstance(test, cst.Call):
        name = (dotted_name(test.func) or "").rpartition(".")[2]
        return name in KIND_QUERIES or any(_asks_for_kind(arg.value) for arg in test.args)
    if isinstance(test, cst.UnaryOperation):
        return _asks_for_kind(test.expression)
    if isinstance(test, cst.BooleanOperation):
        return _asks_for_kind(test.left) or _asks_for_kind(test.right)
    if isinstance(test, cst.Comparison):
        return _asks_for_kind(test.left) or any(_asks_for_kind(c.comparator) for c in test.comparisons)
    return False


def _is_for_another_framework(test: Expression, holds: bool) -> bool:
    """Whether a comparison with the name of a framework says that TensorFlow does not compute."""
    if is_negation(test):
        return _is_for_another_framework(test.expression, not holds)
    if not isinstance(test, cst.Comparison) or len(test.comparisons) != 1:
        return False
    compared = test.comparisons[0]
    if not isinstance(compared.operator, cst.Equal | cst.NotEqual):
        return False
    names = {side.raw_value.lower() for side in (test.left, compared.comparator) if isinstance(side, cst.SimpleString)}
    is_equal = holds is isinstance(compared.operator, cst.Equal)
    return bool(names & _OTHER_FRAMEWORKS) if is_equal else bool(names & _TENSORFLOW)
