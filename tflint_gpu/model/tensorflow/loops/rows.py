"""Batches of one row: arrays whose first dimension is visibly one."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import libcst as cst

from tflint_gpu.lazy_patterns import regex
from tflint_gpu.model.library.classes import SEQUENCES
from tflint_gpu.model.library.datasets import FLOWS, SAME_SAMPLES
from tflint_gpu.model.library.operations import Operation, operation_named
from tflint_gpu.model.library.shape_facts import BOUNDS_OF_A_ROW, ENVIRONMENTS, TOKENIZING
from tflint_gpu.model.model import Analysis, Model
from tflint_gpu.model.python.project.file import File
from tflint_gpu.model.python.syntax.children import walk
from tflint_gpu.model.python.syntax.operators import COMPARISONS
from tflint_gpu.model.python.syntax.scopes import Binding
from tflint_gpu.model.python.syntax.syntax import Expression, Node, argument, dotted_name, method_name
from tflint_gpu.model.python.value_flow.origins import ELEMENT, Context, Origin
from tflint_gpu.model.tensorflow.loops.iterations import Iterations
from tflint_gpu.model.tensorflow.tf_data.chains import Chain
from tflint_gpu.model.tensorflow.tf_data.counts import counted_by
from tflint_gpu.model.tensorflow.tf_data.pipelines import Pipelines
from tflint_gpu.model.tensorflow.types.images import Images
from tflint_gpu.model.values.value import TensorValue
from tflint_gpu.model.values.values import Values

_TABLES = frozenset(["pandas.DataFrame"])
"""What makes rows of a list besides arrays and tensors."""
_LOADERS = frozenset(["TimeseriesGenerator"])
_SAME_ROWS_METHODS = frozenset(["astype", "copy", "numpy", "to_numpy", "toarray", "todense"])
_TRANSFORMING = frozenset(["transform", "fit_transform"])
_PICKLED = frozenset(["joblib.load", "pickle.load", "sklearn.externals.joblib.load"])
_VECTORIZERS = regex(r"keras\.layers\.(?:experimental\.preprocessing\.)?(?:TextVectorization|StringLookup)")
_SCALARS_SINCE = (2, 2)
"""The first TensorFlow whose `predict` takes a list of numbers or texts; with Keras 3 none does."""
_PREPROCESSING = regex(r"keras[._]applications\..*\.preprocess_input")
# Facts of segmentation-models 1.0.1: what it returns scales and shifts what it gets.
_PREPROCESSORS = regex(r"segmentation_models(?:_3D)?\.get_preprocessing")
_ELEMENTWISE = (cst.Add, cst.Subtract, cst.Multiply, cst.Divide)
_ELEMENTWISE_IN_PLACE = (cst.AddAssign, cst.SubtractAssign, cst.MultiplyAssign, cst.DivideAssign)


class Rows(Analysis):
    """Analysis of how many rows an array has."""

    def __init__(self, model: Model) -> None:
        super().__init__(model)
        self._images = Images(self.inference, self.constants)
        self._pipelines = model.once(Pipelines)
        self._values = model.once(Values)
        self._iterations = model.once(Iterations)
        self._takes_scalars = self.target.keras == 2 and self.target.tensorflow >= _SCALARS_SINCE
        self._asked: set[Node] = set()

    def is_single(self, file: File, expr: Expression, context: Context | None = None) -> bool:
        """Whether an array has one row on every way: `x[i:i + 1]`, `x[None]`, `np.expand_dims(x, 0)`."""
        if isinstance(expr, cst.Subscript) and self._takes_one(file, expr):
            return True
        is_single = self._must_be(
            file, expr, lambda o: self._is_single(o) or self._gets_row(file, expr, o, context), context
        )
        return (
            is_single
            or self._has_one_row(file, expr, context)
            or self._is_of_batches_of_one(file, expr)
            or self._is_returned_single(file, expr, context)
        )

    def _must_be(self, file: File, expr: Expression, holds: Callable[[Origin], bool], context: Context | None) -> bool:
        """Whether something holds of each value of an expression; what depends on itself adds no row.

        As `x = np.append(x[:, 1:], y, axis=1)` does.
        """
        if expr in self._asked:
            return True
        self._asked.add(expr)
        try:
            return self.inference.must_be(file, expr, holds, context)
        finally:
            self._asked.discard(expr)

    def _is_returned_single(self, file: File, expr: Expression, context: Context | None) -> bool:
        """Whether functions of the project make one row of what they get: `self.transform(state)`."""
        if not isinstance(expr, cst.Call):
            return False
        runs = self.inference.runs(file, expr, context)
        entered = [(run.callee.function, self.inference.enter(file, expr, context, run)) for run in runs]
        return bool(entered) and all(
            returned and all(isinstance(value, cst.Name) and self.is_single(f.file, value, there) for value in returned)
            for f, there in entered
            for returned in (f.file.returned(f.node),)
        )

    def _has_one_row(self, file: File, expr: Expression, context: Context | None) -> bool:
        """Whether its shape, where that is known, begins with one."""
        value = self._values.of(file, expr, context)
        return isinstance(value, TensorValue) and value.shape is not None and value.shape[:1] == (1,)

    def _is_of_batches_of_one(self, file: File, expr: Expression) -> bool:
        """Whether a name holds what a loop takes out of datasets that are all batched by one."""
        bindings = file.flow.lookup(expr.value, expr) if isinstance(expr, cst.Name) else ()
        return bool(bindings) and all(
            binding.kind == "for" and binding.value is not None and self._yields_batches_of_one(file, binding.value)
            for binding in bindings
        )

    def _yields_batches_of_one(self, file: File, data: Expression) -> bool:
        """Whether each part of a dataset's elements has one row: a `zip` may give other things, a `map` other rows."""
        if any(isinstance(part, cst.Call) and file.names.is_builtin(part.func, "zip") for part in walk(data)):
            return False
        chains = self._pipelines.iterated(file, data)
        return bool(chains) and all(chain.certain and _ends_with_batches_of_one(chain) for chain in chains)

    def _gets_row(self, file: File, expr: Expression, origin: Origin, context: Context | None) -> bool:
        """Whether one image or observation becomes a batch of one on the way: `if x.ndim == 3: x = x[None]`."""
        bindings = file.flow.lookup(expr.value, expr) if isinstance(expr, cst.Name) else ()
        is_batched = (
            _is_for_images if self._images.is_image(origin) else _asks_for_axes if _is_observation(origin) else None
        )
        return is_batched is not None and any(
            binding.value is not None and is_batched(file, binding) and self.is_single(file, binding.value, context)
            for binding in bindings
        )

    def is_single_input(self, file: File, expr: Expression, context: Context | None = None) -> bool:
        """Whether what a model gets has one row; its inputs may be a list, a tuple or a dictionary, or such in one.

        One input of one row settles it: Keras refuses inputs of different numbers of rows.
        """

        def holds(origin: Origin) -> bool:
            node = origin.node
            if origin.access_path or not isinstance(node, _STRUCTURES):
                return self._is_single(origin) or self._is_put_together(origin)
            if isinstance(node, cst.List) and self._is_plain_row(origin, node):
                return True
            is_input = any(self.is_single_input(origin.file, tensor, origin.context) for tensor in _inputs(node))
            is_input = is_input or self._is_put_together(origin)
            return is_input or (isinstance(node, cst.BinaryOperation) and self._is_single(origin))

        return self.is_single(file, expr, context) or self.inference.must_be(file, expr, holds, context)

    def _is_put_together(self, origin: Origin) -> bool:
        """Whether one of the inputs that a loop puts into a list has one row: `l.append(x[None])`, `l[i] = y[None]`."""
        is_list = isinstance(origin.node, cst.List | cst.ListComp) and not origin.access_path
        return is_list and any(map(self._is_single, self.inference.elements(origin)))

    def is_single_prediction(self, file: File, call: cst.Call, context: Context | None = None) -> bool:
        """Whether `predict` gets one row: by its input, or one of shape (-1, ...) whose first answer alone is read."""
        data = argument(call, 0, "x")
        if data is None or self.is_single_input(file, data, context):
            return data is not None
        return _reads_first_row(file, call) and self.inference.must_be(file, data, self._leaves_rows_open, context)

    def may_be_plain(self, file: File, expr: Expression, context: Context | None = None) -> bool:
        """Whether it may be a list of one text or number, which `predict` of Keras 2 makes an array of.

        `predict_on_batch` does not (Keras 2.15).
        """
        origins = self.inference.of(file, expr, context)
        return any(isinstance(origin.node, cst.List) and self._is_plain_row(origin, origin.node) for origin in origins)

    def yields_single(self, file: File, expr: Expression) -> bool:
        """Whether a generator's batches, or their inputs where they are tuples, have one row each."""
        origins = self.inference.of(file, expr)
        if any(isinstance(origin.node, cst.List | cst.Tuple | cst.Dict) for origin in origins):  # a model's inputs
            return False
        yielded = [e for origin in origins for e in self.inference.elements(origin)]
        inputs = [
            element_origin
            for element in yielded
            for element_origin in (
                self.inference.item(element, 0) if isinstance(element.node, cst.Tuple) else (element,)
            )
        ]
        return bool(inputs) and all(self._is_single(origin) for origin in inputs)

    def size_of_one(
        self, file: File, expr: Expression, context: Context | None = None
    ) -> tuple[File, cst.Call, Expression] | None:
        """The `batch_size` of one that a loader gets, and its call: `TimeseriesGenerator(x, batch_size=1)`.

        Or what the project's own `Sequence` gets, which says that it has as many batches as rows.
        """
        for origin in self.inference.of(file, expr, context):
            if (handed := self._divisor_of_one(origin)) is not None:
                return handed
            return self._loader_of_one(origin)
        return None

    def _loader_of_one(self, origin: Origin) -> tuple[File, cst.Call, Expression] | None:
        call = origin.call
        if call is None:
            return None
        name = origin.file.name(call.func) or ""
        is_loader = name.rpartition(".")[2] in _LOADERS and name.startswith(("keras.", "tf."))
        if not is_loader and not (name == "" and method_name(call) in FLOWS):
            return None
        size = argument(call, -1, "batch_size")
        if size is None or not _is_one(self.constants.of(origin.file, size, origin.context)):
            return None
        return origin.file, call, size

    def _divisor_of_one(self, origin: Origin) -> tuple[File, cst.Call, Expression] | None:
        """The one by which a `Sequence` divides its rows to have its `__len__`, and the call that hands it over."""
        cls, definitions = self.inference.instance_class(origin), self.inference.definitions
        if cls is None or not definitions.external_bases(cls) & SEQUENCES:
            return None
        length = definitions.method(cls, "__len__")
        parts = [p for value in length.file.returned(length.node) for p in walk(value)] if length is not None else []
        for part in parts:
            if isinstance(part, cst.BinaryOperation) and isinstance(part.operator, cst.Divide | cst.FloorDivide):
                size = part.right.attr.value if isinstance(part.right, cst.Attribute) else None
                given = self.inference.attribute(origin, size) if size is not None and _counts(part.left) else ()
                for number in given if all(map(_is_one_handed, given)) else ():
                    call = number.file.tree.parents[number.file.tree.parents[number.node]]
                    assert isinstance(call, cst.Call) and isinstance(number.node, cst.Integer)
                    return number.file, call, number.node
        return None

    def _is_single(self, origin: Origin) -> bool:
        node, file = origin.node, origin.file
        if origin.access_path:
            return self._is_output(origin) or self._is_batch_of_one(origin)
        if isinstance(node, cst.Subscript):
            return self._takes_one(file, node) or (
                _is_whole(node.slice[0].slice) and self.is_single(file, node.value, origin.context)
            )
        if isinstance(node, cst.AugAssign):
            return isinstance(node.operator, _ELEMENTWISE_IN_PLACE) and self._is_scaled(origin, node.target, node.value)
        if isinstance(node, cst.BinaryOperation) and isinstance(node.operator, _ELEMENTWISE):
            return self._is_scaled(origin, node.left, node.right) or self._is_scaled(origin, node.right, node.left)
        return origin.call is not None and self._gives_one(origin, origin.call)

    def _is_output(self, origin: Origin) -> bool:
        """`policy, value = net.predict(row)`: one answer cannot be unpacked, so these are outputs of one row each."""
        node, is_item = origin.node, [part.kind for part in origin.access_path] == ["item"]
        if not is_item or not isinstance(node, cst.Call) or method_name(node) != "predict":
            return False
        data = argument(node, 0, "x")
        unpacking = origin.file.tree.parents[node]
        targets = [assigned.target for assigned in unpacking.targets] if isinstance(unpacking, cst.Assign) else []
        is_unpacked = any(isinstance(target, cst.Tuple) and len(target.elements) > 1 for target in targets)
        return is_unpacked and data is not None and self.is_single_input(origin.file, data, origin.context)

    def _is_batch_of_one(self, origin: Origin) -> bool:
        """`flow[i]`, `next(flow)[0]`, or what a loop gets of a Keras loader of batches of one."""
        taken, *parts = origin.access_path
        is_batch = taken == ELEMENT or (taken.kind == "item" and taken.key is None)
        is_input = not parts or [(part.kind, part.key) for part in parts] == [("item", 0)]
        return is_batch and is_input and self._loader_of_one(origin.whole) is not None

    def _is_scaled(self, origin: Origin, array: Expression, number: Expression) -> bool:
        """`x / 255`, `(x - space.low) / (space.high - space.low)`."""
        file, context = origin.file, origin.context
        return self._is_of_each_row(file, number, context) and self.is_single(file, array, context)

    def _is_of_each_row(self, file: File, expr: Expression, context: Context | None) -> bool:
        """Whether something is a number, or as many as a row has: a bound of a gym's observations."""

        def holds(origin: Origin) -> bool:
            node = origin.node
            if isinstance(node, cst.BinaryOperation) and not origin.access_path:
                return all(self._is_of_each_row(origin.file, x, origin.context) for x in (node.left, node.right))
            return tuple(part.key for part in origin.access_path[-2:]) in BOUNDS_OF_A_ROW

        value = self.constants.of(file, expr, context)
        return isinstance(value, int | float) or self.inference.must_be(file, expr, holds, context)

    def _is_plain_row(self, origin: Origin, row: cst.List) -> bool:
        """`[text]` and `[[0.5, 2.0]]`, where `predict` takes lists that are no arrays."""
        if not self._takes_scalars or not _lists_one(row):
            return False
        sample = row.elements[0].value
        if isinstance(sample, cst.List | cst.Tuple) and sample.elements:
            sample = sample.elements[0].value
        file, context = origin.file, origin.context
        is_number = isinstance(self.constants.of(file, sample, context), int | float)
        return is_number or self._values.is_text(file, sample, context)

    def _is_one_sample(self, file: File, samples: Expression, context: Context | None) -> bool:
        """Whether there is one of something: a list of one, or an array of one row."""

        def holds(origin: Origin) -> bool:
            node = origin.node
            if not isinstance(node, cst.List) or origin.access_path:
                return self._is_single(origin)
            return _lists_one(node) and origin.file.bound_to(node) not in origin.file.changed

        return (
            self.is_single(file, samples, context)
            or self._must_be(file, samples, holds, context)
            or self._iterations.of(file, samples) == 1  # `row = []`, `row.append(x)`
        )

    def _gives_one(self, origin: Origin, call: cst.Call) -> bool:
        file, name, method = origin.file, origin.file.name(call.func), method_name(call)
        first = call.args[0].value if call.args and not call.args[0].star else None
        if name is None and isinstance(call.func, cst.Attribute):
            if method == "reshape" and first is not None:
                return self._is_reshaped(origin, call.func.value, call.args)
            if method == "predict" and first is not None:
                return self.is_single_input(file, first, origin.context)
            if first is not None and (method in TOKENIZING or self._transforms(origin, call.func)):
                return self._is_one_sample(file, first, origin.context)
            return method in _SAME_ROWS_METHODS and self.is_single(file, call.func.value, origin.context)
        if name is None and first is not None:
            if self.inference.must_be(file, call.func, _vectorizes, origin.context):
                return self._is_one_sample(file, first, origin.context)
            is_preprocessed = self.inference.must_be(file, call.func, _preprocesses, origin.context)
            return is_preprocessed and self.is_single(file, first, origin.context)
        if name is None or first is None:
            return False
        row = operation_named(name)
        if not row.shape:
            samples_are_one = name in _TABLES and self._is_one_sample(file, first, origin.context)
            is_preprocessed = _PREPROCESSING.fullmatch(name) is not None
            return samples_are_one or (is_preprocessed and self.is_single(file, first, origin.context))
        return self._operation_gives_one(origin, call, row, first)

    def _operation_gives_one(self, origin: Origin, call: cst.Call, row: Operation, first: Expression) -> bool:
        file, context = origin.file, origin.context
        said = argument(call, row.says.position, row.says.keyword) if row.says is not None else None
        match row.shape:
            case "same" | "rows":
                of_list = (row.is_array or row.casts) and self._is_one_sample(file, first, context)
                return of_list or self.is_single(file, first, context)
            case "broadcast":
                second = call.args[1].value if len(call.args) > 1 else first
                return self._is_scaled(origin, first, second) or self._is_scaled(origin, second, first)
            case "expanded":
                axis = self.constants.of(file, said, context)
                if axis == 0:
                    return not self._packs(file, first, context)
                return type(axis) is int and (_lists_one(first) or self.is_single(file, first, context))
            case "reshaped":
                shape = said or argument(call, 1, "newshape")
                if isinstance(shape, cst.Tuple | cst.List):
                    return self._is_reshaped(origin, first, shape.elements)
                return self._starts_with_one(file, shape, origin)
            case "filled" | "counted":
                return self._starts_with_one(file, first if row.says is None else said, origin)
            case "stacked" if self._is_one_sample(file, first, context):
                return said is None or self.constants.of(file, said, context) == 0
            case "joined" | "stacked" | "appended" | "repeated":
                return self._joins_one(origin, row, said, first)
            case "squeezed":
                axis = self.constants.of(file, said, context)
                return type(axis) is int and axis > 0 and self.is_single(file, first, context)
            case "transposed" | "tiled" | "padded":
                numbers = self.constants.of(file, said, context)
                keeps = isinstance(numbers, tuple) and numbers[:1] == (_FIRST[row.shape],)
                return keeps and self.is_single(file, first, context)
            case "gathered" if row.says is not None:
                axis = row.says.default if said is None else self.constants.of(file, said, context)
                indices = call.args[1].value if len(call.args) > 1 else first
                return type(axis) is int and axis == 0 and _lists_one(indices)
        return False

    def _transforms(self, origin: Origin, method: cst.Attribute) -> bool:
        """`scaler.transform`, of one of scikit-learn's own, or of one that was kept in a file."""

        def is_transformer(receiver: Origin) -> bool:
            name = receiver.made_by or ""
            return name.startswith("sklearn.") or name in _PICKLED

        return method.attr.value in _TRANSFORMING and self.inference.must_be(
            origin.file, method.value, is_transformer, origin.context
        )

    def _is_reshaped(
        self, origin: Origin, array: Expression, shape: Sequence[cst.Arg] | Sequence[cst.BaseElement]
    ) -> bool:
        """`x.reshape(1, 28, 28)`, `x.reshape(-1, *x.shape)`, or `(-1, 28, 28, 3)` of an image of that size."""
        if not shape or self._starts_with_one(origin.file, shape[0].value, origin):
            return bool(shape)
        if len(shape) == 1 and isinstance(shape[0].value, cst.Tuple | cst.List):
            return self._is_reshaped(origin, array, shape[0].value.elements)
        dimensions = [dimension.value for dimension in shape]
        if len(shape) == 2 and _is_starred(shape[1]):
            return _is_shape_of(origin.file, dimensions[1], array)
        counted = counted_by(origin.file, dimensions[1]) if len(shape) == 2 else None
        if counted is not None and _is_made_of(origin.file, array, counted):
            return True  # of what has two dimensions or more that would be no row at all
        return self._images.is_one(origin.file, array, dimensions, origin.context)

    def _leaves_rows_open(self, origin: Origin) -> bool:
        """`x.reshape(-1, 8)`: as many rows as there are."""
        call = origin.call
        if call is None or origin.access_path:
            return False
        name = origin.file.name(call.func)
        if name is None:
            shape = call.args[0].value if method_name(call) == "reshape" and call.args else None
        else:
            shape = argument(call, 1, "shape") if operation_named(name).shape == "reshaped" else None
        if isinstance(shape, cst.Tuple | cst.List) and shape.elements:
            shape = shape.elements[0].value
        return bool(self.constants.of(origin.file, shape, origin.context) == -1)

    def _joins_one(self, origin: Origin, row: Operation, said: Expression | None, first: Expression) -> bool:
        """`np.vstack([x[None]])`, `np.append(x[:, 1:], y, axis=1)`: one array, or arrays that are joined elsewhere."""
        file, context = origin.file, origin.context
        is_repeated = False
        if isinstance(first, cst.BinaryOperation) and isinstance(first.operator, cst.Multiply):  # `(x,) * 3`
            first, is_repeated = first.left, True
        elements = [e.value for e in first.elements] if isinstance(first, cst.List | cst.Tuple) else [first]
        if not elements:
            return False
        axis = self.constants.of(file, said, context)
        if said is None and row.says is not None and row.says.keyword:
            axis = row.says.default
        joined_elsewhere = type(axis) is int and axis != 0
        alone = len(elements) == 1 and isinstance(first, cst.List | cst.Tuple) and not is_repeated
        if joined_elsewhere:  # the others have as many rows
            return any(self.is_single(file, element, context) for element in elements)
        return alone and self.is_single(file, elements[0], context)

    def _packs(self, file: File, expr: Expression, context: Context | None) -> bool:
        """Whether several samples lie one after the other in a row: the atoms of all molecules of a batch."""
        return any(
            operation_named(origin.made_by).shape == "joined"
            and isinstance(origin.node, cst.Call)
            and not isinstance(origin.node.args[0].value, cst.List | cst.Tuple)
            for origin in self.inference.of(file, expr, context)
        )

    def _starts_with_one(self, file: File, shape: Expression | None, origin: Origin) -> bool:
        if isinstance(shape, cst.BinaryOperation) and isinstance(shape.operator, cst.Add):  # `(1,) + x.shape`
            shape = shape.left
        if isinstance(shape, cst.Tuple | cst.List):
            shape = shape.elements[0].value if shape.elements else None
        return _is_one(self.constants.of(file, shape, origin.context))

    def _takes_one(self, file: File, subscript: cst.Subscript) -> bool:
        """`x[None]`, `x[np.newaxis, ...]`, `x[i:i + 1]`, `frame.iloc[[i]]`."""
        first = subscript.slice[0].slice
        if isinstance(first, cst.Index):
            if isinstance(subscript.value, cst.Attribute) and subscript.value.attr.value in ("iloc", "loc"):
                return _lists_one(first.value)
            return file.is_new_axis(first.value) and not self._packs(file, subscript.value, None)
        if not isinstance(first, cst.Slice):
            return False
        lower, upper = first.lower, first.upper
        bounds = [self.constants.of(file, bound) for bound in (lower, upper) if bound is not None]
        if len(bounds) == 2 and first.step is None and all(type(bound) is int for bound in bounds):
            return _is_one(bounds[1] - bounds[0])
        if lower is None or not isinstance(upper, cst.BinaryOperation) or not isinstance(upper.operator, cst.Add):
            return lower is None and first.step is None and _is_one(self.constants.of(file, upper))
        return _is_one(self.constants.of(file, upper.right)) and upper.left.deep_equals(lower)


_FIRST: dict[str, object] = {"transposed": 0, "tiled": 1, "padded": (0, 0)}
"""Of the numbers that say an axis, a count or a padding, the first one that keeps one row one row."""
_STRUCTURES = (cst.List, cst.Tuple, cst.Dict, cst.DictComp, cst.BinaryOperation)


def _inputs(node: cst.List | cst.Tuple | cst.Dict | cst.DictComp | cst.BinaryOperation) -> Iterator[Expression]:
    """The expressions in a display, or in the displays of `[target] + states`."""
    if isinstance(node, cst.DictComp):
        yield node.value
        return
    if isinstance(node, cst.BinaryOperation):
        for side in (node.left, node.right):
            if isinstance(node.operator, cst.Add) and isinstance(side, cst.List | cst.Tuple):
                yield from _inputs(side)
        return
    yield from (e.value for e in node.elements if isinstance(e, cst.Element | cst.DictElement))


def _is_observation(origin: Origin) -> bool:
    """One observation of a gym's environment: `env.reset()`, with or without its notes, `env.step(action)[0]`."""
    func = origin.node.func if isinstance(origin.node, cst.Call) else None
    if not isinstance(func, cst.Attribute) or func.attr.value not in ("reset", "step"):
        return False
    environment = (dotted_name(func.value) or "").rpartition(".")[2]
    is_first = [(part.kind, part.key) for part in origin.access_path] == [("item", 0)]
    is_whole = func.attr.value == "reset" and not origin.access_path
    return ENVIRONMENTS.fullmatch(environment) is not None and (is_first or is_whole)


def _axes_test(file: File, binding: Binding) -> cst.ComparisonTarget | None:
    """What the number of axes of a name is compared with where it is bound: `if len(x.shape) < 4:`."""
    branch = file.tree.parents.get(file.tree.block(binding.node))
    test = branch.test if isinstance(branch, cst.If) and branch.orelse is None else None
    if binding.kind != "assign" or not isinstance(test, cst.Comparison) or len(test.comparisons) != 1:
        return None
    asked, kind = test.left, "ndim"
    if isinstance(asked, cst.Call) and len(asked.args) == 1 and file.names.is_builtin(asked.func, "len"):
        asked, kind = asked.args[0].value, "shape"
    return test.comparisons[0] if dotted_name(asked) == f"{binding.name}.{kind}" else None


def _is_for_images(file: File, binding: Binding) -> bool:
    """Whether a name is bound where it has three axes, and not where it has four."""
    test = _axes_test(file, binding)
    compare, bound = (COMPARISONS.get(type(test.operator)), test.comparator) if test is not None else (None, None)
    if compare is None or not isinstance(bound, cst.Integer):
        return False
    return compare(3, bound.evaluated_value) and not compare(4, bound.evaluated_value)


def _asks_for_axes(file: File, binding: Binding) -> bool:
    """Whether a name is bound where it has too few axes."""
    test = _axes_test(file, binding)
    return test is not None and isinstance(test.operator, cst.LessThan | cst.LessThanEqual | cst.Equal)


def _reads_first_row(file: File, call: cst.Call) -> bool:
    """Whether only the first number of a `predict`'s answer is read, `[0][0]`: of one row, whatever its outputs."""
    name, function = file.bound_to(call), file.tree.function(call)
    answers: list[Node] = [call]
    if name is not None:
        answers = [
            use
            for use in file.tree.uses.get(name, ())
            if file.tree.function(use) is function
            and not isinstance(file.tree.parents[use], cst.AssignTarget)
            and any(binding.value is call for binding in file.flow.lookup(name, use))
        ]
    return bool(answers) and all(_begins_with_zeros(file, answer) for answer in answers)


def _begins_with_zeros(file: File, answer: Node) -> bool:
    """`y[0][0]`, `y[0, 0]`."""
    indices: list[cst.BaseSlice] = []
    while isinstance(around := file.tree.parents[answer], cst.Subscript) and around.value is answer:
        indices += [element.slice for element in around.slice]
        answer = around
    first = [index.value for index in indices[:2] if isinstance(index, cst.Index)]
    return len(first) == 2 and all(isinstance(index, cst.Integer) and index.evaluated_value == 0 for index in first)


def _is_starred(dimension: cst.Arg | cst.BaseElement) -> bool:
    return isinstance(dimension, cst.StarredElement) or (isinstance(dimension, cst.Arg) and dimension.star == "*")


def _is_shape_of(file: File, shape: Expression, array: Expression) -> bool:
    """Whether `shape` is `x.shape`, for an array that is made of `x`."""
    if not isinstance(shape, cst.Attribute) or shape.attr.value != "shape":
        return False
    return _is_made_of(file, array, shape.value)


def _is_made_of(file: File, array: Expression, source: Expression) -> bool:
    """Whether an array has the elements of another one: `x`, `np.array(x)` or `x / 255` of `x`."""
    while not array.deep_equals(source):
        if isinstance(array, cst.Call) and operation_named(file.name(array.func)).shape == "same" and array.args:
            array = array.args[0].value
        elif isinstance(array, cst.BinaryOperation) and isinstance(array.operator, cst.Divide):
            array = array.left
        else:
            return False
    return True


def _vectorizes(origin: Origin) -> bool:
    return not origin.access_path and _VECTORIZERS.fullmatch(origin.made_by or "") is not None


def _preprocesses(origin: Origin) -> bool:
    return not origin.access_path and _PREPROCESSORS.fullmatch(origin.made_by or "") is not None


def _ends_with_batches_of_one(chain: Chain) -> bool:
    batching = chain.batching
    if batching not in chain.operations or not _is_one(batching.batch_size):
        return False
    after = chain.operations[chain.operations.index(batching) + 1 :]
    return all(operation.name in SAME_SAMPLES for operation in after)


def _lists_one(expr: Expression) -> bool:
    return isinstance(expr, cst.List) and len(expr.elements) == 1 and isinstance(expr.elements[0], cst.Element)


def _is_whole(index: cst.BaseSlice) -> bool:
    """The first of `x[:, 1:]`."""
    return isinstance(index, cst.Slice) and index.lower is None and index.upper is None and index.step is None


def _is_one(value: object) -> bool:
    return type(value) is int and value == 1


def _counts(expr: Expression) -> bool:
    """`len(self.paths)`."""
    return any(isinstance(part, cst.Call) and dotted_name(part.func) == "len" for part in walk(expr))


def _is_one_handed(origin: Origin) -> bool:
    """Whether a value is the number one, as a call hands it over."""
    node, parents = origin.node, origin.file.tree.parents
    return isinstance(node, cst.Integer) and node.value == "1" and isinstance(parents[node], cst.Arg)
