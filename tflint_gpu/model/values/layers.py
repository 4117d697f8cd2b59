"""What layers and models of Keras give, and what their attributes are."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import libcst as cst

from tflint_gpu.model.library.classes import FUNCTIONAL, INPUT_LAYERS, INPUTS, KERAS_FOLDERS, SEQUENTIAL
from tflint_gpu.model.library.datasets import Parameter
from tflint_gpu.model.library.keras_methods import KEEPING_INTEGERS
from tflint_gpu.model.library.precision import WITHOUT_POLICY
from tflint_gpu.model.python.project.file import File
from tflint_gpu.model.python.project.functions import Class
from tflint_gpu.model.python.syntax.syntax import Expression, Node, argument, positional_parameters
from tflint_gpu.model.python.value_flow.calls import Callee
from tflint_gpu.model.python.value_flow.constants import UNKNOWN
from tflint_gpu.model.python.value_flow.origins import Context, Origin
from tflint_gpu.model.values import dtypes
from tflint_gpu.model.values.arguments import Given, Inquiry
from tflint_gpu.model.values.conversion import stacked_value
from tflint_gpu.model.values.value import (
    PENDING,
    LayerValue,
    Pending,
    Shape,
    StructureValue,
    TensorValue,
    Value,
    joined,
    shape_text,
)

_FOLDERS = (*(folder for folder, _ in KERAS_FOLDERS), "keras.applications.")


class Layers:
    """The results of layers and models.

    Arguments:
        values: finds what expressions are.
    """

    def __init__(self, values: Inquiry) -> None:
        self.values = values
        self._calls: dict[File, list[cst.Call]] = {}

    def made(self, name: str, given: Given) -> Value:
        """The layer or model that a call of Keras makes; None for other functions."""
        last = name.rpartition(".")[2]
        if name in SEQUENTIAL or name in FUNCTIONAL or (name.startswith(_FOLDERS) and last[:1].isupper()):
            return LayerValue(name, given.origin)
        return None

    def called(self, layer: LayerValue, given: Given) -> Value:
        """What a call of a layer or model gives."""
        cls = self.values.inference.instance_class(layer.origin)
        if cls is not None:
            return self._of_class(layer, given)
        if not given.call.args:
            return None
        expr = given.call.args[0].value
        first = self.values.found(given.file, expr, given.context)
        if isinstance(first, Pending):
            return PENDING
        if layer.name.startswith("keras.losses."):
            return TensorValue("tensor", self.values.precision.floats, ())
        return self.result(layer, first)

    def result(self, layer: LayerValue, first: Value) -> Value:
        """What a layer of Keras's own gives for its inputs."""
        if layer.name in SEQUENTIAL:
            return self._through(layer, first)
        if layer.name in FUNCTIONAL:
            return self._of_graph(layer, first)
        inputs = self._tensors(first)
        dtype = self._dtype(layer, inputs)
        if inputs is None or layer.name.startswith("keras.applications."):
            return TensorValue("tensor", dtype)
        return self._applied(layer, inputs, dtype)

    def _tensors(self, first: Value) -> list[TensorValue] | None:
        items = first.items if isinstance(first, StructureValue) and first.keys is None else (first,)
        if isinstance(first, StructureValue) and all(isinstance(i, TensorValue) and i.is_number for i in items):
            items = (stacked_value(first, "tensor"),)
        tensors = [item for item in items if isinstance(item, TensorValue)]
        return tensors if tensors and len(tensors) == len(items) else None

    def _dtype(self, layer: LayerValue, inputs: list[TensorValue] | None) -> str:
        """What a layer computes in: what it is told, else Keras's usual type, under which it casts floats."""
        call = layer.origin.call
        assert call is not None
        made = Given(self.values, layer.origin, call)
        told = made.dtype(Parameter("dtype", -1), of_tensor=True)
        if told is not None:
            return told
        kind = layer.name.rpartition(".")[2]
        if kind in KEEPING_INTEGERS and inputs and not all(t.dtype.startswith("float") for t in inputs):
            return inputs[0].dtype if len({t.dtype for t in inputs}) == 1 else ""
        if kind in WITHOUT_POLICY:
            return ""
        return self.values.precision.computing(layer.origin.file, layer.origin.node)

    def _applied(self, layer: LayerValue, inputs: list[TensorValue], dtype: str) -> Value:
        from tflint_gpu.model.networks.shapes.graph import Layer, NotKnown, Precision
        from tflint_gpu.model.networks.shapes.layers import applied

        shapes = tuple(tensor.shape for tensor in inputs)
        kind = layer.name.rpartition(".")[2]
        given = self._arguments(layer)
        if any(shape is None for shape in shapes):
            return TensorValue("tensor", dtype)
        try:
            known = tuple(shape for shape in shapes if shape is not None)
            outputs, _ = applied(Layer(kind, given, Precision()), known)
        except (NotKnown, ArithmeticError, LookupError, TypeError, ValueError):
            return TensorValue("tensor", dtype, self._last_only(kind, layer, shapes))
        results = tuple(TensorValue("tensor", dtype, shape) for shape in outputs)
        return results[0] if len(results) == 1 else StructureValue(results)

    def _last_only(self, kind: str, layer: LayerValue, shapes: tuple[Shape | None, ...]) -> Shape | None:
        """Of a `Dense` for an unknown width what is known all the same."""
        call = layer.origin.call
        if kind != "Dense" or len(shapes) != 1 or not shapes[0] or call is None:
            return None
        units = self.values.constants.of(layer.origin.file, argument(call, 0, "units"), layer.origin.context)
        return (*shapes[0][:-1], units if type(units) is int else None)

    def _arguments(self, layer: LayerValue) -> Any:
        from tflint_gpu.model.interpreter.values import Arguments

        call, origin = layer.origin.call, layer.origin
        assert call is not None

        def value(expr: cst.BaseExpression) -> Any:
            constant = self.values.constants.of(origin.file, expr, origin.context)
            if isinstance(constant, tuple) and UNKNOWN in constant:
                return UNKNOWN
            return constant

        return Arguments(
            tuple(value(arg.value) for arg in call.args if arg.keyword is None and not arg.star),
            {arg.keyword.value: value(arg.value) for arg in call.args if arg.keyword is not None},
            is_whole=not any(arg.star for arg in call.args),
        )

    def _through(self, model: LayerValue, first: Value) -> Value:
        """What a `Sequential` gives, layer by layer."""
        value = stacked_value(first, "tensor") if not isinstance(first, StructureValue) else first
        layers = self._layers_of(model)
        if layers is None:
            return TensorValue("tensor", self.values.precision.floats)
        for layer in layers:
            if layer.name in INPUT_LAYERS:
                continue
            value = (
                self.result(layer, value)
                if self.values.inference.instance_class(layer.origin) is None
                else TensorValue("tensor")
            )
        return value

    def chains(self, model: LayerValue) -> Iterator[tuple[Origin | None, list[LayerValue]]]:
        """The layers between inputs, merges and outputs of a model, in order, each with what the first of them gets.

        Of a `Sequential` that is what the model gets, None.
        """
        call, origin = model.origin.call, model.origin
        if model.name in SEQUENTIAL:
            yield None, self._layers_of(model) or []
            return
        expr = argument(call, 1, "outputs") if model.name in FUNCTIONAL and call is not None else None
        ends = [] if expr is None else list(self._joined(origin.file, expr, origin.context))
        seen = set[Node]()
        while ends:
            made, layers = ends.pop(), list[LayerValue]()
            while made is not None and made.node not in seen:
                seen.add(made.node)
                call = made.call
                layer = None if call is None else self.values.of(made.file, call.func, made.context)
                given = (
                    []
                    if call is None or not call.args
                    else [*self._joined(made.file, call.args[0].value, made.context)]
                )
                if not isinstance(layer, LayerValue) or layer.name in INPUT_LAYERS or len(given) != 1:
                    ends.extend(given)
                    break
                layers.append(layer)
                [made] = given
            yield made, layers[::-1]

    def _joined(self, file: File, expr: Expression, context: Context | None) -> Iterator[Origin]:
        """What an expression is, where that is one value, or what stands in its display."""
        inference = self.values.inference
        held = inference.of(file, expr, context)
        if len(held) == 1 and isinstance(held[0].node, cst.List | cst.Tuple) and not held[0].access_path:
            yield from inference.elements(held[0])
        elif len(held) == 1:
            yield held[0]

    def _layers_of(self, model: LayerValue) -> list[LayerValue] | None:
        """The layers that a `Sequential` is given, and those that are added to it."""
        call, origin = model.origin.call, model.origin
        assert call is not None
        file, context = origin.file, origin.context
        layers: list[LayerValue] = []
        if argument(call, 0, "layers") is not None:
            listed = self._listed(model)
            if listed is None:
                return None
            if not all(isinstance(item, LayerValue) or _is_input(item) for item in listed.items):
                return None
            layers = [item for item in listed.items if isinstance(item, LayerValue)]
        for add in file.method_calls("add"):
            if isinstance(add.func, cst.Attribute) and any(
                held.node is call for held in self.values.inference.of(file, add.func.value, context)
            ):
                if any(file.tree.within(add, loop) for loop in file.tree.all_loops):
                    return None  # as many as the loop has turns
                added = self.values.found(file, add.args[0].value, context) if add.args else None
                if isinstance(added, LayerValue):
                    layers.append(added)
                elif not _is_input(added):
                    return None
        return layers

    def _listed(self, model: LayerValue) -> StructureValue | None:
        """What a `Sequential` is given in its list."""
        call, origin = model.origin.call, model.origin
        first = argument(call, 0, "layers") if call is not None else None
        value = None if first is None else self.values.found(origin.file, first, origin.context)
        return value if isinstance(value, StructureValue) else None

    def _of_graph(self, model: LayerValue, first: Value) -> Value:
        """What a `keras.Model(inputs, outputs)` gives: its outputs, for the rows that it gets."""
        outputs = self.of_part(model, "output")
        rows = self._tensors(first)
        length = rows[0].shape[0] if rows and rows[0].shape else None

        def with_rows(value: Value) -> Value:
            if isinstance(value, StructureValue):
                return StructureValue(tuple(map(with_rows, value.items)), value.keys)
            if isinstance(value, TensorValue) and value.shape and value.shape[0] is None:
                return TensorValue("tensor", value.dtype, (length, *value.shape[1:]))
            return value

        return with_rows(outputs)

    def of_part(self, model: LayerValue, name: str) -> Value:
        """The inputs or outputs that a model is made of: `model.output`."""
        call, origin = model.origin.call, model.origin
        assert call is not None
        if model.name in SEQUENTIAL:
            first = self._start(model)
            return first if name == "input" or first is None else self._through(model, first)
        expr = argument(call, 1, "outputs") if name == "output" else argument(call, 0, "inputs")
        return None if expr is None else self.values.found(origin.file, expr, origin.context)

    def _of_class(self, layer: LayerValue, given: Given) -> Value:
        """What `call`, or `__call__`, of a class of the project returns."""
        inference = self.values.inference
        cls = inference.instance_class(layer.origin)
        assert cls is not None
        method = inference.definitions.method(cls, "call") or inference.definitions.method(cls, "__call__")
        if method is None:
            bases = inference.definitions.external_bases(cls)
            return TensorValue("tensor") if any(base.startswith("keras.") for base in bases) else None
        inside = inference.contexts.enter(given.file, given.call, given.context, Callee(method, layer.origin))
        if inside is None:
            return None
        returned = method.file.returned(method.node)
        return joined(self.values.found(method.file, value, inside) for value in returned) if returned else None

    def weight(self, given: Given) -> Value:
        """What `self.add_weight(...)` makes; the shape is its first argument in Keras 3, the second in Keras 2."""
        name = given.constant(0, "name")
        place = 1 if isinstance(name, str) else 0
        dtype = given.dtype(Parameter("dtype", -1), of_tensor=True)
        return TensorValue(
            "variable", self.values.precision.floats if dtype is None else dtype, given.shape(place, "shape")
        )

    def passed(self, file: File, function: cst.FunctionDef, parameter: cst.Param) -> list[Value]:
        """What the calls of a layer or model of the project give its `call` for a parameter."""
        inference = self.values.inference
        owner = inference.definitions.function(file, function).owner
        if owner is None or not inference.definitions.external_bases(owner):
            return []
        inputs = positional_parameters(function)[1:]
        if parameter not in inputs:
            return []
        place = inputs.index(parameter)
        floats = self._handed_in(owner, function)
        given: list[Value] = []
        for user in inference.seen.users(file, owner.name):
            for call in self._calls_of_objects(user):
                made = [o for o in inference.of(user, call.func) if _is_of(inference.instance_class(o), owner)]
                if made:
                    dtype = "" if any(_may_name_dtype(maker.call) for maker in made) else floats
                    expr = argument(call, place, parameter.name.value)
                    given.append(None if expr is None else _cast(self.values.found(user, expr), dtype))
        return given

    def _handed_in(self, owner: Class, function: cst.FunctionDef) -> str:
        """In what dtype Keras hands floats to `call` of a class; empty where its constructors name one."""
        definitions, precision = self.values.inference.definitions, self.values.precision
        if any(base.startswith(("keras.losses.", "keras.metrics.")) for base in definitions.external_bases(owner)):
            return precision.floats
        for cls in definitions.lineage(owner):
            if any(_names_dtype(call) for call in cls.file.tree.inside(cls.file.calls_of_method("__init__"), cls.node)):
                return ""
        return precision.computing(owner.file, function)

    def _calls_of_objects(self, file: File) -> list[cst.Call]:
        """The calls of a file that may be of an object: of a name that no function or class has."""
        if file not in self._calls:
            self._calls[file] = [
                call
                for call in file.tree.calls
                if call.args
                and isinstance(call.func, cst.Name | cst.Attribute | cst.Call | cst.Subscript)
                and file.name(call.func) is None
                and not (isinstance(call.func, cst.Name) and file.names.is_builtin(call.func, call.func.value))
            ]
        return self._calls[file]

    def described(self, layer: LayerValue) -> str:
        """A layer or model in words: "Model (?, 784) -> (?, 10), 101,770 weights"."""
        cls = self.values.inference.instance_class(layer.origin)
        if cls is not None:
            return cls.name
        name = layer.name.rpartition(".")[2]
        first, last = self.of_part(layer, "input"), self.of_part(layer, "output")
        if layer.name not in SEQUENTIAL | FUNCTIONAL or not _has_shape(first) or not _has_shape(last):
            return name
        count = self._weights(layer)
        weights = "" if count is None else f", {count:,} weights"
        return f"{name} {_shapes_text(first)} -> {_shapes_text(last)}{weights}"

    def _start(self, model: LayerValue) -> TensorValue | None:
        """The input of a `Sequential`, as its first layer says it."""
        from tflint_gpu.model.networks.shapes.graph import NotKnown
        from tflint_gpu.model.networks.shapes.layers import input_shape_of

        layers = self._layers_of(model)
        listed = self._listed(model)
        given = next((item for item in listed.items[:1] if isinstance(item, TensorValue)), None) if listed else None
        if given is not None or not layers:
            return given
        try:
            shape = input_shape_of(self._arguments(layers[0]))
        except NotKnown:
            return None
        return None if shape is None else TensorValue("tensor", self.values.precision.floats, shape)

    def _weights(self, model: LayerValue) -> int | None:
        """How many numbers a model keeps; None where that is not known."""
        from tflint_gpu.model.networks.shapes.graph import Layer, NotKnown, Precision
        from tflint_gpu.model.networks.shapes.layers import applied

        total = 0
        try:
            for layer, inputs in self._uses(model):
                shapes = tuple(tensor.shape for tensor in inputs if tensor.shape is not None)
                if len(shapes) < len(inputs) or not inputs:
                    return None
                kind = layer.name.rpartition(".")[2]
                if layer.name not in INPUT_LAYERS:
                    total += applied(Layer(kind, self._arguments(layer), Precision()), shapes)[1].total
        except (NotKnown, ArithmeticError, LookupError, TypeError, ValueError):
            return None
        return total

    def _uses(self, model: LayerValue) -> list[tuple[LayerValue, list[TensorValue]]]:
        """The layers of a model, each once, with what it gets.

        Raises:
            LookupError: a part of the model is not known.
        """
        if model.name in SEQUENTIAL:
            value: Value = self._start(model)
            uses: list[tuple[LayerValue, list[TensorValue]]] = []
            for layer in self._layers_of(model) or ():
                uses.append((layer, self._tensors(value) or []))
                if layer.name not in INPUT_LAYERS:
                    value = self.result(layer, value)
            return uses
        call, origin = model.origin.call, model.origin
        outputs = argument(call, 1, "outputs") if call is not None else None
        if outputs is None:
            raise LookupError
        return self._uses_between(origin.file, outputs, origin.context)

    def _uses_between(
        self, file: File, outputs: Expression, context: Context | None
    ) -> list[tuple[LayerValue, list[TensorValue]]]:
        """The layers that the outputs of a graph of layers are made by."""
        uses: dict[Node, tuple[LayerValue, list[TensorValue]]] = {}
        inference, seen = self.values.inference, set[Node]()
        pending = [(file, outputs, context)]
        while pending:
            where, expr, inside = pending.pop()
            for part in inference.parts(where, expr, inside):
                for origin in inference.of(part.file, part.expr, part.context):
                    node = origin.node
                    if node in seen:
                        continue
                    seen.add(node)
                    if not isinstance(node, cst.Call) or origin.access_path:
                        raise LookupError
                    if origin.file.name(node.func) in INPUTS:
                        continue
                    layer = self.values.of(origin.file, node.func, origin.context)
                    if not isinstance(layer, LayerValue) or not node.args:
                        raise LookupError
                    given = self.values.of(origin.file, node.args[0].value, origin.context)
                    uses[layer.origin.node] = (layer, self._tensors(given) or [])
                    pending.append((origin.file, node.args[0].value, origin.context))
        return list(uses.values())

    def of_method(self, layer: LayerValue, method: str, given: Given) -> Value:
        """What a method of a model gives: `predict`."""
        if self.values.inference.instance_class(layer.origin) is not None and method not in ("predict",):
            return None
        if method in ("predict", "predict_on_batch"):
            value = self.called(layer, given) if layer.name else None
            return _as_arrays(value)
        if method == "result" and layer.name.startswith("keras.metrics."):
            return TensorValue("tensor", self.values.precision.floats, ())
        return self.called(layer, given) if method in ("call", "__call__") else None


def _cast(value: Value, floats: str) -> Value:
    """What Keras hands to `call`: tensors, floats in the dtype in which the layer computes."""
    if isinstance(value, StructureValue):
        return StructureValue(tuple(_cast(item, floats) for item in value.items), value.keys, value.is_list)
    if not isinstance(value, TensorValue) or value.is_number or value.kind in ("ragged", "sparse"):
        return value
    return TensorValue("tensor", floats if dtypes.is_float(value.dtype) else value.dtype, value.shape)


def _as_arrays(value: Value) -> Value:
    if isinstance(value, StructureValue):
        return StructureValue(tuple(map(_as_arrays, value.items)), value.keys)
    if isinstance(value, TensorValue):
        shape = value.shape
        return TensorValue("array", value.dtype, None if shape is None else (None, *shape[1:]))
    return PENDING if isinstance(value, Pending) else TensorValue("array")


def _names_dtype(call: cst.Call) -> bool:
    return any(argument(call, -1, name) is not None for name in ("dtype", "autocast"))


def _may_name_dtype(maker: cst.Call | None) -> bool:
    return maker is None or _names_dtype(maker) or any(arg.star == "**" for arg in maker.args)


def _is_of(cls: Class | None, owner: Class) -> bool:
    return cls is not None and cls.node is owner.node


def _is_input(value: Value) -> bool:
    return isinstance(value, TensorValue)


def _has_shape(value: Value) -> bool:
    if isinstance(value, StructureValue):
        return all(map(_has_shape, value.items))
    return isinstance(value, TensorValue) and value.shape is not None


def _shapes_text(value: Value) -> str:
    if isinstance(value, StructureValue):
        return f"({', '.join(map(_shapes_text, value.items))})"
    return shape_text(value.shape) if isinstance(value, TensorValue) else "?"
