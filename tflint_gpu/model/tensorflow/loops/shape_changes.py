"""Whether the shape of a value may differ from iteration to iteration: `tf.function` traces each new one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from enum import IntEnum

import libcst as cst

from tflint_gpu.bounds import SHAPE_STEPS, SHAPE_VALUES
from tflint_gpu.model.library import shape_facts as facts
from tflint_gpu.model.library.datasets import SAME_ELEMENTS, UNEVEN_BATCHES
from tflint_gpu.model.library.files import READING
from tflint_gpu.model.library.operations import ARRANGING, draw_named, operation_named
from tflint_gpu.model.library.tensor_functions import LENGTHS, OF_VALUES
from tflint_gpu.model.model import Analysis, Model
from tflint_gpu.model.python.execution.callers import RunSite, loops_around, repeats, ways
from tflint_gpu.model.python.project.file import File
from tflint_gpu.model.python.project.functions import Function
from tflint_gpu.model.python.syntax.children import names_in, walk
from tflint_gpu.model.python.syntax.scopes import Binding
from tflint_gpu.model.python.syntax.syntax import (
    Expression,
    FunctionNode,
    LoopNode,
    Node,
    argument,
    displayed,
    dotted_name,
    iterable,
    method_name,
)
from tflint_gpu.model.python.value_flow.origins import ELEMENT, Content, Context, Origin
from tflint_gpu.model.tensorflow.loops.batches import LoopData
from tflint_gpu.model.tensorflow.loops.drawn_numbers import is_drawn
from tflint_gpu.model.tensorflow.loops.loop_flow import FEW_IN_ALL, names_of
from tflint_gpu.model.tensorflow.loops.loop_numbers import LoopNumbers
from tflint_gpu.model.tensorflow.tf_data.chains import Chain, Operation
from tflint_gpu.model.tensorflow.tf_data.pipelines import Pipelines
from tflint_gpu.model.tensorflow.types.kinds import Kinds
from tflint_gpu.model.values.value import DatasetValue, SequenceValue, StructureValue, TensorValue, Value
from tflint_gpu.model.values.values import Values


class Change(IntEnum):
    """What is known of a shape from iteration to iteration; `FIXED` lets a last batch be smaller."""

    FIXED = 0
    OPEN = 1
    CHANGES = 2


_LISTS = (cst.List, cst.Tuple, cst.Set, cst.Dict)
_COMPREHENSIONS = (cst.ListComp, cst.GeneratorExp, cst.SetComp)
_SHAPE = Content("attribute", "shape")
_GROWING = ("append", "appendleft", "extend", "extendleft", "insert")
_CUTTING = ("pop", "popleft", "remove", "clear")
_ALIKE = 2
"""So many different shapes are few enough to trace each: all batches, and the last one."""


class ShapeChanges(Analysis):
    """Analysis of the shapes of what loops hand on."""

    def __init__(self, model: Model) -> None:
        super().__init__(model)
        self.kinds = model.once(Kinds)
        self.data = model.once(LoopData)
        self.numbers = model.once(LoopNumbers)
        self.pipelines = model.once(Pipelines)
        self.values = model.once(Values)
        self._known: dict[Origin, Change] = {}
        self._in_work: list[tuple[Node, bool]] = []  # with whether its result is longer than its operands
        self._mapped: set[FunctionNode] = set()
        self._adding: dict[FunctionNode, bool] = {}
        self._cuts = 0
        self._visits = 0

    def of_function(self, function: Function) -> bool:
        """Whether some call that runs a function hands it arguments whose shapes may change."""
        return any(self.of_call(file, call) for file, call in self.inference.call_sites(function))

    def of_call(self, file: File, call: cst.Call) -> bool:
        """Whether an argument of a call may have another shape in each iteration of the loops that run it."""
        return any(self.of(file, arg.value) for arg in call.args)

    def of(self, file: File, value: Expression) -> bool:
        """Whether a value may have another shape in each iteration.

        What the program itself yields may, as long as nothing fixes its shape; other unknown data are batches of one
        size.
        """
        self._visits = 0
        change = self._of(file, value)
        return change is Change.CHANGES or (change is Change.OPEN and self._is_yielded(file, value))

    def changes(self, file: File, value: Expression) -> bool:
        """Whether something says that a value has another shape in many iterations; what is only open does not."""
        self._visits = 0
        return self._of(file, value) is Change.CHANGES

    def differ_in_batches(self, file: File, data: Expression) -> bool:
        """Whether a dataset pads or collects batches of many shapes, the last one apart."""
        self._visits = 0
        chains = self.pipelines.chains(file, data)
        if not all(chain.certain and self._of_chain(chain) is Change.CHANGES for chain in chains):
            return False
        if not all(any(operation.name in UNEVEN_BATCHES for operation in chain.operations) for chain in chains):
            return False  # `batch` raises for rows of several shapes, so that an open signature says nothing
        value = self.values.of(file, data)
        return not (isinstance(value, DatasetValue) and _is_fixed(value.element))

    def _is_yielded(self, file: File, value: Expression, inside: frozenset[Node] = frozenset()) -> bool:
        """Whether a value is part of what a generator, its dataset, or an iterable object of the project yields, here
        or in a loop that calls the function with it.

        Arguments:
            inside: the functions that hand it on.
        """
        for loop in loops_around(file, value):
            data, batches = iterable(loop), self.data.batches(file, loop)
            if data is not None and batches is not None and self.data.holds(file, batches, value):
                return self.inference.must_be(file, data, self._is_generated)
        node, names = file.tree.function(value), names_in(value)
        if node is None or node in inside:
            return False
        function = self.inference.definitions.function(file, node)
        return any(
            not names.isdisjoint(self.data.spread(file, node, {parameter.name.value}, set()))
            and self._is_yielded(where, given, inside | {node})
            for where, call in self.inference.call_sites(function)
            for parameter, given in self.inference.definitions.passed(where, call, function)
        )

    def _is_generated(self, data: Origin) -> bool:
        made = (chain.made for chain in self.pipelines.of_origin(data))
        return self.data.is_own_iterable(data) or any(m is not None and m.name == "from_generator" for m in made)

    def _of(self, file: File, value: Expression, context: Context | None = None) -> Change:
        origins = [origin for origin in self.inference.of(file, value, context) if not origin.is_none]
        if len(set(map(self._written_shape, origins)) - {None}) > _ALIKE or self._is_chosen(file, value, context):
            return Change.CHANGES
        return _joined(map(self._of_origin, origins))

    def _is_chosen(self, file: File, value: Expression, context: Context | None) -> bool:
        """Whether a value has the rows for which something holds: `x[y == 1]`."""
        bindings = file.flow.lookup(value.value, value) if isinstance(value, cst.Name) else ()
        for node in (value, *(binding.value for binding in bindings if not binding.path)):
            indexes = [element.slice for element in node.slice] if isinstance(node, cst.Subscript) else []
            values = [index.value for index in indexes if isinstance(index, cst.Index)]
            origins = [origin for index in values for origin in self.inference.of(file, index, context)]
            if any(map(_chooses, origins)):
                return node is not None and self._repeats(file, node)
        return False

    def _written_shape(self, origin: Origin) -> object:
        """The shape that the code spells out: `np.zeros((3, 8))`, `[1, 2, 3]`."""
        node, file = origin.node, origin.file
        if isinstance(node, cst.List) and not origin.access_path:
            return len(node.elements)
        size = facts.size_of(file.name(node.func) or "") if isinstance(node, cst.Call) else None
        if size is None or not isinstance(node, cst.Call):
            return None
        value = self.constants.of(file, argument(node, size.position, size.keyword), origin.context)
        return value if isinstance(value, int | tuple) else None

    def _of_origin(self, origin: Origin) -> Change:
        if origin in self._known:
            return self._known[origin]
        place = next((i for i, (node, _) in enumerate(self._in_work) if node is origin.node), None)
        if place is not None:  # `x = x - y` is as large as before, `x = tf.concat([x, y], 0)` is not
            self._cuts += 1
            return Change.CHANGES if any(grows for _, grows in self._in_work[place:]) else Change.FIXED
        if self._is_beyond_bounds():
            return Change.OPEN
        cuts = self._cuts
        self._in_work.append((origin.node, self._grows(origin)))
        try:
            change = self._found(origin)
        finally:
            self._in_work.pop()
        if (self._cuts == cuts or not self._in_work) and not self._mapped:
            self._known[origin] = change
        return change

    def _is_beyond_bounds(self) -> bool:
        """Whether one more value is not followed."""
        self._visits += 1
        is_deep, are_many = len(self._in_work) > SHAPE_STEPS.limit, self._visits > SHAPE_VALUES.limit
        if is_deep or are_many:
            self.inference.meet(SHAPE_STEPS if is_deep else SHAPE_VALUES)
        return is_deep or are_many

    @contextmanager
    def _afresh(self) -> Iterator[None]:
        """Forget that something around grows: it does not by what is looked at now."""
        around = self._in_work
        self._in_work = [(node, False) for node, _ in around]
        try:
            yield
        finally:
            self._in_work = around

    def _grows(self, origin: Origin) -> bool:
        """Whether a value is longer than what it is made of: a concatenation, a sum of lists or texts."""
        node, file = origin.node, origin.file
        if isinstance(node, cst.Call):
            return operation_named(file.name(node.func)).joins or self._lengthens(file, node, origin.context)
        if isinstance(node, cst.BinaryOperation) and isinstance(node.operator, cst.Add):
            sides = (node.left, node.right)
            return any(isinstance(side, cst.List) or self.values.is_text(file, side, origin.context) for side in sides)
        if not isinstance(node, cst.AugAssign) or not isinstance(node.operator, cst.AddAssign):
            return False
        return isinstance(node.value, cst.List) or self.values.is_text(file, node.value, origin.context)

    def _lengthens(self, file: File, call: cst.Call, context: Context | None) -> bool:
        """Whether a layer or model of the program, or one in it, adds to what it is given: to a cache of keys."""
        if file.name(call.func) is not None:
            return False
        classes = (self.inference.instance_class(layer) for layer in self.inference.of(file, call.func, context))
        methods = (self.inference.definitions.method(cls, "call") for cls in classes if cls is not None)
        return any(self._adds_to_parameters(method) for method in methods if method is not None)

    def _adds_to_parameters(self, function: Function) -> bool:
        if function.node not in self._adding:
            self._adding[function.node] = False
            file = function.file
            self._adding[function.node] = any(
                (operation_named(file.name(call.func)).joins and self._takes_parameter(file, call))
                or self._lengthens(file, call, None)
                for call in function.calls
            )
        return self._adding[function.node]

    def _takes_parameter(self, file: File, call: cst.Call) -> bool:
        values = [value for arg in call.args for value in displayed(arg.value)]
        return any(isinstance(origin.node, cst.Param) for value in values for origin in self.inference.of(file, value))

    def _found(self, origin: Origin) -> Change:
        node, file, context, path = origin.node, origin.file, origin.context, origin.access_path
        if ELEMENT in path and isinstance(node, cst.Call):
            at = path.index(ELEMENT)
            change = self._of_elements(replace(origin, access_path=path[:at]), path[at + 1 :])
            if change is not None:
                return change
        if isinstance(node, cst.Call):
            return self._of_call(origin, node)
        if isinstance(node, cst.Subscript):
            return self._of_slice(file, node, context)
        if isinstance(node, cst.BinaryOperation):
            repeats = isinstance(node.operator, cst.Multiply) and isinstance(node.left, cst.List)
            right = self._number(file, node.right, context) if repeats else self._of(file, node.right, context)
            return max(self._of(file, node.left, context), right)
        if isinstance(node, cst.AugAssign):
            return max(self._of(file, node.target, context), self._of(file, node.value, context))
        if isinstance(node, _COMPREHENSIONS):
            is_text = self.values.is_text(file, node.elt, context)
            element = Change.FIXED if is_text else self._of(file, node.elt, context)
            own = names_of(node)
            if any(self._is_of_loop_around(file, node, names_in(test.test) - own) for test in node.for_in.ifs):
                return Change.CHANGES
            return max(element, self._count(file, node.for_in.iter, context))
        if isinstance(node, _LISTS):
            values = [element.value for element in node.elements]
            if any(self._changes_length(origin, value) for value in values):  # `[text]`: a batch of one
                return Change.CHANGES
            return _joined(self._of(file, v, context) for v in values if not self.values.is_text(file, v, context))
        if isinstance(node, cst.UnaryOperation):
            return self._of(file, node.expression, context)
        if isinstance(node, cst.Comparison):
            return self._of(file, node.left, context)
        if isinstance(node, cst.FormattedString):
            return self._renewed(origin)
        return Change.OPEN if path or self._repeats(file, node) else Change.FIXED

    def _is_of_loop_around(self, file: File, node: Node, names: frozenset[str]) -> bool:
        """Whether what some names decide depends on the iteration: `[row for row in rows if row > limit]`."""
        loops = loops_around(file, node)
        return any(names & self.data.spread(file, loop, set(names_of(loop))) for loop in loops)

    def _count(self, file: File, data: Expression, context: Context | None) -> Change:
        """How often something is gone through: a text as often as it has letters."""
        if self.values.is_text(file, data, context) and not isinstance(data, cst.SimpleString):
            return Change.CHANGES if self._repeats(file, data) else Change.FIXED
        return self._of(file, data, context)

    def _renewed(self, origin: Origin) -> Change:
        """What is of another shape whenever it is made."""
        return Change.CHANGES if self._repeats(origin.file, origin.node) else Change.FIXED

    def _repeats(self, file: File, node: Node) -> bool:
        return repeats(self.inference, RunSite(file, node), self._mapped)

    # Slices and lengths.

    def _of_slice(self, file: File, node: cst.Subscript, context: Context | None) -> Change:
        """`x[:, :n]`, `x[order]`, `x[y == 1]`."""
        changes = []
        for index in (element.slice for element in node.slice):
            if isinstance(index, cst.Slice):
                changes.append(self._length(file, index, context))
            elif isinstance(index, cst.Index) and not file.is_new_axis(index.value):
                changes.append(self._of(file, index.value, context))
        is_window = any(isinstance(e.slice, cst.Slice) and _drops_ends(e.slice) for e in node.slice)
        with self._afresh() if is_window else nullcontext():  # `np.append(x[1:], y)` is as long as `x`
            changes.append(self._of(file, node.value, context))
        return _joined(changes)

    def _length(self, file: File, index: cst.Slice, context: Context | None) -> Change:
        """How long a slice is: `x[i : i + n]` as long as `n` says, but for the last one."""
        lower, upper = index.lower, index.upper
        if lower is not None and upper is not None:
            uppers = [o.node for o in self.inference.of(file, upper, context) if not o.access_path] or [upper]
            steps = [self._step(file, lower, node, context) for node in uppers]
            if None not in steps:
                return _joined(self._number(file, step, context) for step in steps if step is not None)
        return _joined(self._number(file, bound, context) for bound in (lower, upper) if bound is not None)

    def _step(self, file: File, lower: Expression, upper: Node, context: Context | None) -> Expression | None:
        """`n` of `lower + n`, of `min(lower + n, size)`, and of `(i + 1) * n` above `i * n`."""
        if isinstance(upper, cst.Call) and file.names.is_builtin(upper.func, "min"):
            steps = (self._step(file, lower, arg.value, context) for arg in upper.args)
            return next((step for step in steps if step is not None), None)
        if not isinstance(upper, cst.BinaryOperation):
            return None
        sides = ((upper.left, upper.right), (upper.right, upper.left))
        if isinstance(upper.operator, cst.Add):
            return next((n for side, n in sides if self._is_same(file, side, lower, context)), None)
        below = [origin.node for origin in self.inference.of(file, lower, context)]
        if not isinstance(upper.operator, cst.Multiply) or len(below) != 1:
            return None
        (product,) = below
        if not isinstance(product, cst.BinaryOperation) or not isinstance(product.operator, cst.Multiply):
            return None
        for count, n in sides:
            is_next = isinstance(count, cst.BinaryOperation) and isinstance(count.operator, cst.Add)
            if is_next and any(n.deep_equals(factor) for factor in (product.left, product.right)):
                return n
        return None

    def _is_same(self, file: File, left: Expression, right: Expression, context: Context | None) -> bool:
        return left.deep_equals(right) or (
            self.inference.of(file, left, context) == self.inference.of(file, right, context)
        )

    def _number(self, file: File, value: Expression, context: Context | None = None) -> Change:
        """Whether a length, or a shape, may be another one in each iteration."""
        if self._is_beyond_bounds() or any(node is value for node, _ in self._in_work):
            return Change.OPEN
        if isinstance(value, cst.Tuple | cst.List):
            return _joined(self._number(file, element.value, context) for element in value.elements)
        known = self.constants.of(file, value, context)
        if all(isinstance(length, int | float | None) for length in (known if isinstance(known, tuple) else (known,))):
            return Change.FIXED
        self._in_work.append((value, False))
        try:
            return self._of_number(file, value, context)
        finally:
            self._in_work.pop()

    def _of_number(self, file: File, value: Expression, context: Context | None) -> Change:
        if isinstance(value, cst.BinaryOperation):
            return max(self._number(file, value.left, context), self._number(file, value.right, context))
        if isinstance(value, cst.UnaryOperation):
            return self._number(file, value.expression, context)
        if isinstance(value, cst.Call):
            if _draws_number(file, value):
                return Change.CHANGES if self._repeats(file, value) else Change.FIXED
            if value.args and file.names.is_builtin(value.func, "len"):
                return self._of(file, value.args[0].value, context)
            if any(file.names.is_builtin(value.func, builtin) for builtin in ("int", "max", "min")):
                return _joined(self._number(file, arg.value, context) for arg in value.args)
        number = self.numbers.of(file, value)
        if number is not None and number.changed_by:
            return Change.CHANGES
        origins = self.inference.of(file, value, context)
        constants = [self.constants.of(o.file, o.node, o.context) for o in origins if isinstance(o.node, cst.Integer)]
        drawn = (
            o for o in origins if o.call is None and isinstance(o.node, cst.Call) and _draws_number(o.file, o.node)
        )
        if len(set(constants)) > _ALIKE or any(self._repeats(o.file, o.node) for o in drawn):
            return Change.CHANGES
        if all(self._is_length(origin, value) for origin in origins):
            return _joined(map(self._of_length, origins))
        if number is not None:
            return Change.FIXED
        if self._is_of_loop(file, value):
            return Change.CHANGES
        return Change.OPEN if self._repeats(file, value) else Change.FIXED

    def _is_length(self, origin: Origin, value: Expression) -> bool:
        """Whether a number is computed elsewhere, or part of a shape."""
        if _SHAPE in origin.access_path or _asked(origin) is not None:
            return True
        return not origin.access_path and origin.node is not value and isinstance(origin.node, cst.BaseExpression)

    def _of_length(self, origin: Origin) -> Change:
        if _SHAPE in origin.access_path:
            path = origin.access_path
            return self._of_origin(replace(origin, access_path=path[: path.index(_SHAPE)]))
        if (array := _asked(origin)) is not None:
            return self._of(origin.file, array, origin.context)
        assert isinstance(origin.node, cst.BaseExpression)
        return self._number(origin.file, origin.node, origin.context)

    def _is_of_loop(self, file: File, value: Expression) -> bool:
        """Whether a value is made of what a loop or comprehension around it goes through: `n` of `for n in lengths`."""
        names = names_in(value)
        for parent in file.tree.ancestors(value):
            if isinstance(parent, cst.BaseComp) and names & names_of(parent):
                return True
            if isinstance(parent, cst.For) and names & self.data.spread(file, parent, set(names_of(parent))):
                return True
            if isinstance(parent, cst.FunctionDef | cst.Lambda):
                return False
        return False

    # Calls.

    def _of_call(self, origin: Origin, call: cst.Call) -> Change:
        file, context = origin.file, origin.context
        name, method = file.name(call.func) or "", method_name(call) or ""
        called = method or (call.func.value if isinstance(call.func, cst.Name) else "")
        if any(file.names.is_builtin(call.func, builtin) for builtin in facts.COUNTING):
            return Change.FIXED
        size = facts.size_of(name)
        if size is None and not name:
            size = draw_named(method).size
        if size is not None:
            return self._of_size(origin, call, argument(call, size.position, size.keyword))
        if (operation_named(name) if name else draw_named(method)).shape == "counted":
            return _joined(self._number(file, arg.value, context) for arg in call.args)
        if not name and method == "reshape" and isinstance(call.func, cst.Attribute):
            change = _joined(self._number(file, arg.value, context) for arg in call.args)
            has_rest = any(_has_rest(arg.value) for arg in call.args)
            return max(change, self._of(file, call.func.value, context)) if has_rest else change
        if _chooses(origin):
            return self._renewed(origin)
        if file.names.is_builtin(call.func, "filter") and call.args:
            is_new = self._is_of_loop_around(file, call, names_in(call.args[0].value))
            return Change.CHANGES if is_new else self._of(file, call.args[-1].value, context)
        if self._makes_sequence(origin, call):
            return Change.FIXED if self._is_padded(origin, call) else self._renewed(origin)
        if name.startswith(READING):
            sized = argument(call, -1, "target_size")
            return self._renewed(origin) if sized is None else self._number(file, sized, context)
        if not name.startswith(facts.ELEMENTWISE) and facts.RESIZING.search(called.lower()):
            sizes = (arg.value for arg in call.args if isinstance(arg.value, cst.Tuple | cst.List))
            return _joined(self._number(file, size, context) for size in sizes)
        is_whole = operation_named(name).makes_of_list or name in ARRANGING
        if is_whole and call.args and self._changes_length(origin, call.args[0].value):
            return Change.CHANGES
        return self._of_arguments(origin, call, is_known=bool(name) or method in facts.OF_ARRAYS)

    def _of_arguments(self, origin: Origin, call: cst.Call, *, is_known: bool) -> Change:
        """What a call makes of its arguments; what nothing is known of may be of any shape in each call."""
        file, context = origin.file, origin.context
        given = [arg.value for arg in call.args if not self.values.is_text(file, arg.value, context)]
        if isinstance(call.func, cst.Attribute) and file.name(call.func) is None:
            given.append(call.func.value)
        with nullcontext() if is_known or self._lengthens(file, call, context) else self._afresh():
            change = _joined(self._of(file, value, context) for value in given)
        if is_known or self.kinds.must_be(file, call.func, "model", "layer", context=context):
            return change
        return max(change, Change.OPEN) if self._repeats(file, call) else change

    def _of_size(self, origin: Origin, call: cst.Call, size: Expression | None) -> Change:
        """What is made in a size that an argument says; of `-1` in it the first argument has to do with it, too."""
        if size is None:
            return Change.FIXED
        change = self._number(origin.file, size, origin.context)
        return max(change, self._of(origin.file, call.args[0].value, origin.context)) if _has_rest(size) else change

    def _makes_sequence(self, origin: Origin, call: cst.Call) -> bool:
        """Whether a call gives as many numbers as a text has words, or as the longest row of several has."""
        method = method_name(call)
        if method == "to_tensor" or argument(call, -1, "return_tensors") is not None:
            return True
        if origin.file.name(call.func) is None and method in facts.TEXT_METHODS:
            return True
        makers = self.inference.of(origin.file, call.func, origin.context)
        names = [maker.name or maker.made_by or "" for maker in makers]
        return any(name.endswith((".pad_sequences", ".TextVectorization")) for name in names)

    def _is_padded(self, origin: Origin, call: cst.Call) -> bool:
        """`tokenizer(text, padding="max_length")`, `pad_sequences(rows, 40)`, `ragged.to_tensor(shape=(None, 40))`."""
        file, context = origin.file, origin.context
        if self.constants.of(file, argument(call, -1, "padding"), context) == "max_length":
            return True
        shape = argument(call, 2, "shape")
        if isinstance(shape, cst.Tuple | cst.List):
            lengths = [self.constants.of(file, element.value, context) for element in shape.elements[1:]]
            return bool(lengths) and all(isinstance(length, int) for length in lengths)
        longest = argument(call, 1, "maxlen")
        if longest is not None:
            return self._number(file, longest, context) is Change.FIXED
        makers = self.inference.of(file, call.func, context)
        constructors = [(maker.file, maker.call) for maker in makers if maker.call is not None]
        return bool(constructors) and all(_has_length(made) for _, made in constructors)

    def _changes_length(self, origin: Origin, value: Expression) -> bool:
        """Whether a loop makes a list or a deque longer or shorter, and a tensor or an array of it in each iteration.

        Arguments:
            origin: what makes it.
            value: the list, or a copy of it: `list(rows)`.
        """
        file = origin.file
        while isinstance(value, cst.Call) and len(value.args) == 1 and file.names.is_builtin(value.func, "list"):
            value = value.args[0].value
        name, use = dotted_name(value), RunSite(file, origin.node)
        bindings = file.flow.lookup(name, value) if name is not None else ()
        if bindings and all(binding.kind != "parameter" for binding in bindings):
            made = [b.node for b in bindings if not isinstance(b.node, cst.AugAssign)]
            return not any(map(self._is_short, bindings)) and self._is_resized(file, name or "", made, use)
        lists = self.inference.of(file, value, origin.context) if name is not None else ()
        return bool(lists) and all(
            isinstance(given.node, cst.List)
            and self._is_resized(given.file, given.file.bound_to(given.node) or "", [given.node], use)
            for given in lists
        )

    def _is_short(self, binding: Binding) -> bool:
        """Whether a name is a deque that is soon full: `deque(maxlen=4)`."""
        value = binding.value
        longest = argument(value, 1, "maxlen") if isinstance(value, cst.Call) else None
        return isinstance(longest, cst.Integer) and longest.evaluated_value <= FEW_IN_ALL

    def _is_resized(self, file: File, name: str, made: Iterable[Node], use: RunSite) -> bool:
        """Whether a loop that runs a place changes the length of a list that it does not make.

        What only takes an element for each that it adds, a window, keeps its length.
        """
        made, within = list(made), file.tree.within
        places = (place for place in ways(self.inference, use) if place.file is file)
        loops = (loop for place in places for loop in place.loops())
        around = [loop for loop in loops if not any(within(node, loop) for node in made)]
        return any(_is_longer(file, loop, name) is not _is_shorter(file, loop, name) for loop in around)

    # What datasets and loaders yield.

    def _of_elements(self, data: Origin, part: tuple[Content, ...]) -> Change | None:
        """A part of what a dataset or a loader yields; None where a value is neither."""
        made_by = data.made_by or ""
        if made_by.startswith(facts.GRAPHS):
            return Change.FIXED if made_by.endswith("SingleLoader") else Change.CHANGES
        if made_by.startswith(("tf.ragged.", "tf.RaggedTensor.")) or self._is_split_unevenly(data):
            return Change.CHANGES
        chains = self.pipelines.of_origin(data)
        return _joined(self._of_chain(c, part) for c in chains) if any(chain.certain for chain in chains) else None

    def _is_split_unevenly(self, data: Origin) -> bool:
        """Whether a tensor or an array is split at given places: `tf.split(x, [1, 5, 2])`, not into equal parts."""
        if not isinstance(data.node, cst.Call) or operation_named(data.made_by or "").shape != "parts":
            return False
        places = argument(data.node, 1, "num_or_size_splits") or argument(data.node, -1, "indices_or_sections")
        if places is None:
            return False
        known = self.values.of(data.file, places, data.context)
        makers = self.inference.of(data.file, places, data.context)
        is_array = isinstance(known, TensorValue) and bool(known.shape)
        is_array = is_array or any((maker.made_by or "").startswith("numpy.") for maker in makers)
        return is_array or isinstance(known, SequenceValue | StructureValue)

    def _of_chain(self, chain: Chain, part: tuple[Content, ...] = ()) -> Change:
        """What a chain yields, or the part whose shape the code says: `padded_shapes=([40], [None])`."""
        change = _joined(map(self._of_chain, chain.inputs)) if chain.inputs else self._of_source(chain.made)
        for number, operation in enumerate(chain.operations, 1):
            if operation.name in UNEVEN_BATCHES:
                widths = argument(operation.call, 1, "padded_shapes") if operation.name == "padded_batch" else None
                is_filled = argument(operation.call, -1, "pad_to_bucket_boundary") is not None
                is_last = all(later.name in SAME_ELEMENTS for later in chain.operations[number:])
                own = part if is_last else ()
                is_fixed = is_filled or self._are_written(operation.file, widths, operation.context, own)
                change = Change.FIXED if is_fixed else Change.CHANGES
            elif operation.name == "batch" and operation.batch_size != 1:
                change = Change.FIXED  # what is batched has one shape, or is ragged, which is traced once
            elif operation.name in ("map", "flat_map", "interleave"):
                mapped = self._of_mapped(operation)
                change = change if mapped is Change.OPEN else mapped
        return change

    def _of_source(self, made: Operation | None) -> Change:
        if made is None or made.name == "load":
            return Change.OPEN
        first = argument(made.call, 0, "tensors")
        if made.name == "from_tensor_slices" and first is not None:
            is_ragged = any((o.made_by or "").startswith("tf.ragged.") for o in self.inference.of(made.file, first))
            return Change.CHANGES if is_ragged else Change.FIXED
        return self._of_generator(made) if made.name == "from_generator" else Change.FIXED

    def _are_written(
        self, file: File, shapes: Expression | None, context: Context | None, part: tuple[Content, ...] = ()
    ) -> bool:
        """Whether some shapes, or those of a part, are numbers wherever they come from."""
        origins = self.inference.of(file, shapes, context) if shapes is not None else ()
        for content in part:
            origins = tuple(inner for origin in origins for inner in self.inference.item(origin, content.key))
        return bool(origins) and all(isinstance(o.node, cst.BaseExpression) and _is_written(o.node) for o in origins)

    def _of_generator(self, made: Operation) -> Change:
        """What `from_generator` yields; open where neither the signature nor what is yielded says it."""
        signature = argument(made.call, 4, "output_signature") or argument(made.call, 2, "output_shapes")
        if self._are_written(made.file, signature, made.context):
            return Change.FIXED
        given = argument(made.call, 0, "generator")
        functions = [c.function for c in self.inference.callables(made.file, given, made.context)] if given else []
        values = [(f.file, y.value) for f in functions for y in f.file.yields_of.get(f.node, ())]
        changes = [self._of(f, v) if isinstance(v, cst.BaseExpression) else Change.OPEN for f, v in values]
        return _joined(changes) if changes else Change.OPEN

    def _of_mapped(self, operation: Operation) -> Change:
        """What a mapped function gives; open where it is of the shape of its elements."""
        given = argument(operation.call, 0, "map_func")
        callees = self.inference.callables(operation.file, given, operation.context) if given is not None else ()
        own = {callee.function.node for callee in callees} - self._mapped
        self._mapped |= own
        try:
            changes = [self._of(f.file, v) for f in (c.function for c in callees) for v in f.file.returned(f.node)]
        finally:
            self._mapped -= own
        return _joined(changes) if changes else Change.OPEN


def _chooses(origin: Origin) -> bool:
    """Whether something is as long as its values say: `x > 0` as an index, `np.where(x)`, a boolean mask."""
    node = origin.node
    if not isinstance(node, cst.Call):
        return isinstance(node, cst.Comparison)
    name = origin.file.name(node.func) or ""
    return name in OF_VALUES or (operation_named(name).shape == "chosen" and len(node.args) == 1)


def _is_longer(file: File, loop: LoopNode, name: str) -> bool:
    """Whether a loop adds elements to a list."""
    assignments = file.tree.nodes_in(cst.AugAssign, loop)
    is_added = any(isinstance(a.operator, cst.AddAssign) and dotted_name(a.target) == name for a in assignments)
    return is_added or _calls_on(file, loop, name, _GROWING)


def _is_shorter(file: File, loop: LoopNode, name: str) -> bool:
    """Whether a loop takes elements out of a list."""
    deleted = (d.target for d in file.tree.nodes_in(cst.Del, loop))
    is_cut = any(isinstance(target, cst.Subscript) and dotted_name(target.value) == name for target in deleted)
    return is_cut or _calls_on(file, loop, name, _CUTTING)


def _calls_on(file: File, loop: LoopNode, name: str, methods: Iterable[str]) -> bool:
    calls = (call for method in methods for call in file.tree.inside(file.calls_of_method(method), loop))
    return any(isinstance(call.func, cst.Attribute) and dotted_name(call.func.value) == name for call in calls)


def _draws_number(file: File, call: cst.Call) -> bool:
    """Whether a call draws a number, or several that the program takes apart."""
    is_method = file.name(call.func) is None and draw_named(method_name(call)).draws
    return is_drawn(file, call, lambda arg: True) or is_method


def _joined(changes: Iterable[Change]) -> Change:
    return max(changes, default=Change.FIXED)


def _asked(origin: Origin) -> Expression | None:
    """`x` of `tf.shape(x)[0]`."""
    call = origin.node
    is_asked = isinstance(call, cst.Call) and origin.file.name(call.func) in LENGTHS and call.args
    return call.args[0].value if is_asked and isinstance(call, cst.Call) else None


def _is_fixed(element: Value) -> bool:
    """Whether all lengths of what a dataset yields are known, but for how many rows a batch has."""
    if isinstance(element, StructureValue):
        return all(map(_is_fixed, element.items))
    return isinstance(element, TensorValue) and element.shape is not None and None not in element.shape[1:]


def _has_rest(shape: Expression) -> bool:
    """Whether a length of a new shape is what the others leave: `-1`."""
    return any(isinstance(node, cst.UnaryOperation) for node in walk(shape))


def _drops_ends(index: cst.Slice) -> bool:
    """Whether a slice leaves out as much as its number says: `x[1:]`, `x[:-1]`, not the last ones of `x[-8:]`."""
    if index.lower is not None and index.upper is None:
        return isinstance(index.lower, cst.Integer)
    return index.lower is None and isinstance(index.upper, cst.UnaryOperation)


def _is_written(shapes: Expression) -> bool:
    """Whether all lengths in some shapes are numbers: `([40], [])`, not `([None], [])` nor a name."""
    nodes = list(walk(shapes))
    is_open = any(isinstance(node, cst.UnaryOperation) or _is_named(node, "None") for node in nodes)
    is_ragged = any(_is_named(node, "RaggedTensorSpec") for node in nodes)
    return not (is_open or is_ragged) and any(isinstance(node, cst.List | cst.Tuple) for node in nodes)


def _is_named(node: Node, name: str) -> bool:
    return isinstance(node, cst.Name) and node.value == name


def _has_length(vectorization: cst.Call) -> bool:
    """Whether a `TextVectorization` gives rows of one length."""
    mode = argument(vectorization, 3, "output_mode")
    gives_words = mode is None or (isinstance(mode, cst.SimpleString) and mode.raw_value == "int")
    return not gives_words or argument(vectorization, -1, "output_sequence_length") is not None
