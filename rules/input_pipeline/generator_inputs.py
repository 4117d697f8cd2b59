"""Generators that datasets read and that only hand on the rows of arrays, or the texts of lists, in memory."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

import libcst as cst

from tflint_gpu.bounds import GENERATED_STEPS
from tflint_gpu.lazy_dataclasses import dataclass
from tflint_gpu.model import (
    TEXT,
    Analysis,
    Bound,
    Callee,
    Consumers,
    Context,
    Expression,
    File,
    Function,
    Lengths,
    Node,
    Once,
    Origin,
    Origins,
    SequenceValue,
    StructureValue,
    TensorValue,
    Values,
    argument,
    arguments,
    dotted_name,
    given_before,
    method_name,
    names_in,
    operation_named,
    walk,
)
from tflint_gpu.model.library.keras_datasets import KERAS_IMAGES, KERAS_NUMBERS
from tflint_gpu.model.library.nondeterminism import DRAWING
from tflint_gpu.model.library.tensor_functions import ARRAY_METHODS

_DATASETS = tuple(f"keras.datasets.{name}." for name in KERAS_IMAGES | KERAS_NUMBERS)
_GIVING_ARRAYS = frozenset(["keras.utils.to_categorical", "keras.utils.normalize"])
_SPLITTING = "sklearn.model_selection.train_test_split"


@dataclass(frozen=True, slots=True)
class GeneratorInput:
    """A dataset over a generator that yields rows of arrays, or texts of lists, as they are.

    Arguments:
        call: of `from_generator`.
        home: the generator's file.
        arrays: whose rows it yields.
        again: whether it repeats for ever.
        is_more: whether more than these names is meant: some come by `args`, or a constant may take the place of one.
        is_made_inside: whether the generator makes something before it goes through the rows.
    """

    call: cst.Call
    home: File
    arrays: tuple[Expression, ...]
    again: bool = False
    is_more: bool = False
    is_made_inside: bool = False


@dataclass(frozen=True, slots=True)
class _Rows:
    """What a generator's rows are of; some arrays may be empty, where a constant takes the place of their rows.

    Arguments:
        before: the statements that are run before the loop over the rows.
    """

    arrays: tuple[Expression, ...]
    again: bool = False
    optional: frozenset[Node] = frozenset()
    before: tuple[Node, ...] = ()


class GeneratorInputs(Analysis):
    """The datasets over generators that one file makes."""

    consumers = Once(Consumers)
    lengths = Once(Lengths)
    values = Once(Values)

    @cached_property
    def of_arrays(self) -> list[GeneratorInput]:
        """Those whose generator always yields the rows of arrays in memory, unchanged and in order."""
        return [of_arrays for call in self._calls() if (of_arrays := self._of_arrays(call)) is not None]

    def _calls(self) -> Iterator[cst.Call]:
        for name in ("tf.data.Dataset.from_generator", "tf.compat.v1.data.Dataset.from_generator"):
            yield from self.file.calls(name)

    def _of_arrays(self, call: cst.Call) -> GeneratorInput | None:
        given = argument(call, 0, "generator")
        if given is None or self._is_glance(call):
            return None
        callees = self.inference.callables(self.file, given)
        inputs = [self._of_generator(call, *self._generator(callee)) for callee in callees]
        is_one = len({callee.function for callee in callees}) == 1
        return inputs[0] if is_one and None not in inputs else None

    def _of_generator(self, call: cst.Call, callee: Callee, bound: dict[Node, Bound]) -> GeneratorInput | None:
        rows, home = _rows_of(callee), callee.function.file
        if rows is None or not self._makes_the_same(callee.function, rows.before):
            return None
        if self.inference.definitions.decorators.may_replace(home, callee.function.node):
            return None
        context = Context(callee.function.node, caller=callee.context, receiver=callee.receiver)
        passed = self._passed(argument(call, 3, "args"), callee, bound)
        names = {dotted_name(array) for array in rows.arrays}
        if passed is None or not passed.keys() <= names | names_in(*rows.before):
            return None
        if not all(self._is_handed_on(home, array, context, passed, array in rows.optional) for array in rows.arrays):
            return None
        if any(self.lengths.is_short(home, array, context) for array in rows.arrays if array not in rows.optional):
            return None
        is_more = not names.isdisjoint(passed) or bool(rows.optional)
        return GeneratorInput(call, home, rows.arrays, rows.again, is_more, bool(rows.before))

    def _makes_the_same(self, function: Function, statements: tuple[Node, ...]) -> bool:
        """Whether what a generator does before its loop gives the same in each epoch: it neither draws without a seed,
        nor reads what the program may change, nor runs what may do so."""
        file = function.file
        nodes = [node for statement in statements for node in walk(statement)]
        calls = [node for node in nodes if isinstance(node, cst.Call)]
        own = frozenset(file.tree.scopes[function.node].bindings)
        is_open = any(
            isinstance(node, cst.Yield | cst.Return | cst.Global | cst.Nonlocal)
            or (isinstance(node, cst.Name) and (node.value == "self" or node.value in file.changed - own))
            for node in nodes
        )
        is_seeded = any(method_name(call) == "seed" and call.args for call in calls)
        draws = any(method_name(call) in DRAWING for call in calls) and not is_seeded
        return not (is_open or draws or any(self.inference.callees(file, call) for call in calls))

    def _generator(self, callee: Callee) -> tuple[Callee, dict[Node, Bound]]:
        """The function that yields the rows, and what `functools.partial` or the call in a lambda gives it."""
        file, node = callee.function.file, callee.function.node
        if isinstance(node, cst.Lambda) and isinstance(node.body, cst.Call):
            called = self.inference.callees(file, node.body, callee.context)
            if len(called) == 1:
                return called[0], arguments(self.inference.definitions, file, node.body, callee.context, called[0])
        return callee, given_before(callee)

    def _passed(self, args: Expression | None, callee: Callee, bound: dict[Node, Bound]) -> dict[str, Origins] | None:
        """What the generator's parameters get before and by `args`; None where that is not known for each."""
        if any(value.key is not None or value.is_element for value in bound.values()):
            return None
        before = {
            parameter.name.value: self.inference.of(value.file, value.value, value.context)
            for parameter, value in bound.items()
            if isinstance(parameter, cst.Param)
        }
        if args is None:
            return before
        names = [p.name.value for p in callee.function.parameters if p.name.value not in before]
        displays = self.inference.of(self.file, args)
        if not all(isinstance(o.node, cst.Tuple | cst.List) and len(o.node.elements) == len(names) for o in displays):
            return None
        return before | {
            name: tuple(origin for display in displays for origin in self.inference.item(display, index))
            for index, name in enumerate(names)
        }

    def _is_handed_on(
        self, file: File, expr: Expression, context: Context, passed: dict[str, Origins], is_optional: bool
    ) -> bool:
        """Whether an expression of the generator certainly is an array, or a list of texts or numbers."""
        origins = passed.get(expr.value, ()) if isinstance(expr, cst.Name) else ()
        if origins:
            return all(self._holds_array(origin, 0) for origin in origins)
        if is_optional:
            return self.inference.must_be(
                file, expr, lambda origin: _is_empty(origin) or self._holds_array(origin, 1), context
            )
        return self._is_array(file, expr, context, 0)

    def _is_glance(self, call: cst.Call) -> bool:
        """Whether only a few of the elements are read."""
        read = [i for i in self.consumers.consumptions if i.chain.made is not None and i.chain.made.call is call]
        return bool(read) and all(i.is_glance or self.lengths.is_demonstration(i.chain) for i in read)

    def _is_array(self, file: File, expr: Expression, context: Context | None, depth: int) -> bool:
        """Whether an expression certainly is an array in memory whose rows have one shape, or a list of scalars."""
        return self._is_followed(expr, depth) and self.inference.must_be(
            file, expr, lambda origin: self._holds_array(origin, depth + 1), context
        )

    def _is_followed(self, expr: Expression, depth: int) -> bool:
        if depth >= GENERATED_STEPS.limit and not isinstance(expr, cst.BaseNumber | cst.SimpleString):
            self.inference.meet(GENERATED_STEPS)
        return depth < GENERATED_STEPS.limit

    def _holds_array(self, origin: Origin, depth: int) -> bool:
        node, file, context = origin.node, origin.file, origin.context
        if self._holds_scalars(origin):
            return True
        if isinstance(node, cst.Call):
            return self._gives_array(origin, node, depth)
        if origin.access_path:
            return False
        if isinstance(node, cst.BinaryOperation):
            return any(self._is_array(file, side, context, depth) for side in (node.left, node.right))
        if isinstance(node, cst.Subscript):
            first = node.slice[0].slice
            keeps = isinstance(first, cst.Slice) or isinstance(getattr(first, "value", None), cst.Ellipsis)
            return keeps and self._is_array(file, node.value, context, depth)
        return False

    def _holds_scalars(self, origin: Origin) -> bool:
        """Whether a value is a list of which each element is a text, as the name of a file, or each a number."""
        call, value = origin.call, self.values.at(origin)
        is_counted = call is not None and origin.file.names.is_builtin(call.func, "range")
        items = value.items if isinstance(value, StructureValue) else ()
        elements = (value.element,) if isinstance(value, SequenceValue) else items
        texts = [element == TEXT for element in elements]
        numbers = [isinstance(e, TensorValue) and e.is_number and e.dtype not in ("", "str") for e in elements]
        return bool(elements) and (all(texts) or (all(numbers) and not is_counted))

    def _loads_array(self, origin: Origin, call: cst.Call) -> bool:
        """Whether `np.load` reads one whole array of numbers: no archive, no mapped file, no pickled objects."""
        if any(arg.star or (arg.keyword is not None and arg.keyword.value != "file") for arg in call.args):
            return False
        path = self.constants.of(origin.file, argument(call, 0, "file"), origin.context)
        return len(call.args) == 1 and isinstance(path, str) and path.endswith(".npy")

    def _gives_array(self, origin: Origin, call: cst.Call, depth: int) -> bool:
        file, name = origin.file, origin.file.name(call.func) or ""
        if name.startswith(_DATASETS):
            return bool(origin.access_path)
        if name == _SPLITTING:
            arrays = [arg.value for arg in call.args if arg.keyword is None]
            return bool(origin.access_path) and all(
                self._is_array(file, array, origin.context, depth) for array in arrays
            )
        if origin.access_path:
            return False
        if name in _GIVING_ARRAYS:
            return True
        if name == "numpy.load":
            return self._loads_array(origin, call)
        if name.startswith("numpy."):
            dtype = argument(call, -1, "dtype")
            return _makes_array(name) and (dtype is None or dotted_name(dtype) != "object")
        if method_name(call) in ARRAY_METHODS and isinstance(call.func, cst.Attribute):
            return self._is_array(file, call.func.value, origin.context, depth)
        return False


def _makes_array(name: str) -> bool:
    """Whether a function of NumPy gives an array of numbers, whatever it gets."""
    operation = operation_named(name)
    is_number = operation.shape in ("", "reduced", "product") or operation.dtype == "named"
    return not is_number or name in ("numpy.transpose", "numpy.loadtxt", "numpy.genfromtxt")


def _rows_of(callee: Callee) -> _Rows | None:
    """The arrays whose rows a generator yields one by one; None where it does anything else."""
    function = callee.function
    if isinstance(function.node, cst.Lambda):
        over = _without_iter(function.file, function.node.body)
        arrays = _zipped(function.file, over)
        return _Rows(tuple(arrays)) if arrays is not None else None
    statements = _statements(function.node.body)
    again = len(statements) == 1 and isinstance(statements[0], cst.While) and _is_true(statements[0].test)
    if again and isinstance(statements[0], cst.While):
        statements = _statements(statements[0].body)
    *before, loop = statements or [function.node]
    if (before and again) or not isinstance(loop, cst.For) or loop.orelse is not None:
        return None
    yielded = _yielded(_statements(loop.body))
    if yielded is None:
        return None
    parts = [_row_or_constant(value, loop) for value in yielded]
    ways = (_by_element, _by_index, _by_number)
    arrays = next((arrays_yielded for way in ways if (arrays_yielded := way(function.file, loop, parts))), None)
    if not arrays:
        return None
    chosen = {
        row.value
        for row, value in zip(parts, yielded, strict=True)
        if row is not value and isinstance(row, cst.Subscript)
    }
    return _Rows(tuple(arrays), again, frozenset(chosen), tuple(before))


def _row_or_constant(expr: Expression, loop: cst.For) -> Expression:
    """`xs[i]` of `xs[i] if wanted else ""`, where every iteration takes the same way."""
    if not isinstance(expr, cst.IfExp) or not isinstance(expr.orelse, cst.SimpleString | cst.Integer | cst.Float):
        return expr
    changing = _bound_in(loop)
    return expr if any(isinstance(node, cst.Name) and node.value in changing for node in walk(expr.test)) else expr.body


def _bound_in(loop: cst.For) -> frozenset[str]:
    """The names that an iteration sets."""
    targets = [loop.target, *(node.target for node in walk(loop.body) if isinstance(node, cst.AssignTarget))]
    return names_in(*targets)


def _is_empty(origin: Origin) -> bool:
    return isinstance(origin.node, cst.List) and not origin.node.elements and not origin.access_path


def _yielded(statements: list[cst.CSTNode]) -> list[Expression] | None:
    """What the last of some statements yields, where those before it only give names to its parts."""
    names: dict[str, Expression] = {}
    for statement in statements:
        line = (
            statement.body[0] if isinstance(statement, cst.SimpleStatementLine) and len(statement.body) == 1 else None
        )
        if isinstance(line, cst.Expr) and isinstance(line.value, cst.Yield) and statement is statements[-1]:
            value = line.value.value
            if value is None or isinstance(value, cst.From):
                return None
            whole = names.get(value.value, value) if isinstance(value, cst.Name) else value
            return [names.get(part.value, part) if isinstance(part, cst.Name) else part for part in _parts(whole)]
        if (
            not isinstance(line, cst.Assign)
            or len(line.targets) != 1
            or not isinstance(line.targets[0].target, cst.Name)
        ):
            return None
        names[line.targets[0].target.value] = line.value
    return None


def _by_element(file: File, loop: cst.For, yielded: list[Expression]) -> list[Expression] | None:
    """`for x, y in zip(xs, ys): yield x, y`."""
    arrays = _zipped(file, loop.iter)
    targets = _parts(loop.target)
    names = [target.value for target in targets if isinstance(target, cst.Name)]
    given = [value.value for value in yielded if isinstance(value, cst.Name)]
    if arrays is None or len(names) != len(targets) or len(given) != len(yielded) or sorted(names) != sorted(given):
        return None
    return arrays if len(arrays) == len(names) else None


def _by_index(file: File, loop: cst.For, yielded: list[Expression]) -> list[Expression] | None:
    """`for i in range(len(xs)): yield xs[i], ys[i]`."""
    over = loop.iter
    if not (isinstance(over, cst.Call) and file.names.is_builtin(over.func, "range") and len(over.args) == 1):
        return None
    arrays = [_indexed(value, loop.target) for value in yielded]
    return [array for array in arrays if array is not None] if None not in arrays else None


def _by_number(file: File, loop: cst.For, yielded: list[Expression]) -> list[Expression] | None:
    """`for i, x in enumerate(xs): yield x, ys[i]`."""
    over, targets = loop.iter, _parts(loop.target)
    if not (isinstance(over, cst.Call) and file.names.is_builtin(over.func, "enumerate") and len(over.args) == 1):
        return None
    if len(targets) != 2:
        return None
    element = dotted_name(targets[1])
    arrays = [
        over.args[0].value if dotted_name(value) == element is not None else _indexed(value, targets[0])
        for value in yielded
    ]
    return [array for array in arrays if array is not None] if None not in arrays else None


def _indexed(expr: Expression, index: cst.BaseExpression) -> Expression | None:
    """`xs` for `xs[i]`."""
    if not isinstance(expr, cst.Subscript) or len(expr.slice) != 1:
        return None
    key = expr.slice[0].slice
    same = isinstance(key, cst.Index) and dotted_name(key.value) == dotted_name(index) is not None
    return expr.value if same else None


def _zipped(file: File, over: Expression) -> list[Expression] | None:
    if not isinstance(over, cst.Call):
        return [over] if isinstance(over, cst.Name | cst.Attribute | cst.Subscript) else None
    if not file.names.is_builtin(over.func, "zip") or any(a.star or a.keyword is not None for a in over.args):
        return None
    return [arg.value for arg in over.args] or None


def _without_iter(file: File, expr: Expression) -> Expression:
    if isinstance(expr, cst.Call) and len(expr.args) == 1 and file.names.is_builtin(expr.func, "iter"):
        return expr.args[0].value
    return expr


def _parts(expr: cst.BaseExpression) -> list[Expression]:
    return [element.value for element in expr.elements] if isinstance(expr, cst.Tuple | cst.Dict) else [expr]


def _statements(body: cst.BaseSuite) -> list[cst.CSTNode]:
    """The statements of a block without its docstring."""
    nodes: list[cst.CSTNode] = list(body.body)
    first = nodes[0] if nodes else None
    line = first.body[0] if isinstance(first, cst.SimpleStatementLine) else None
    return nodes[1:] if isinstance(line, cst.Expr) and isinstance(line.value, cst.BaseString) else nodes


def _is_true(test: Expression) -> bool:
    return (isinstance(test, cst.Name) and test.value == "True") or (
        isinstance(test, cst.Integer) and test.value == "1"
    )
