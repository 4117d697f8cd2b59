"""Which layers give a Keras model's outputs."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from tflint_gpu.model.library.classes import FUNCTIONAL, SEQUENTIAL
from tflint_gpu.model.python.syntax.syntax import argument, dotted_name
from tflint_gpu.model.python.value_flow.inference import Inference
from tflint_gpu.model.python.value_flow.origins import Context, Origin


class ModelOutputs:
    """The layers whose results are the outputs of models."""

    def __init__(self, inference: Inference) -> None:
        self.inference = inference

    def layers(self, made: Origin) -> list[Origin]:
        """The calls that make the layers of a model's outputs; outputs that are made otherwise are left out.

        Arguments:
            made: the call that makes the model.
        """
        if made.made_by in SEQUENTIAL:
            return list(self._last_layer(made))
        if made.made_by in FUNCTIONAL:
            assert made.call is not None
            outputs = argument(made.call, 1, "outputs")
            held = self.inference.of(made.file, outputs, made.context) if outputs is not None else ()
            return [layer for container in held for layer in self._layers_of(container)]
        return list(self._returned_by_call(made))

    def _last_layer(self, made: Origin) -> Iterator[Origin]:
        """The last layer of a Sequential model, where each is added in the block that makes it."""
        file, call = made.file, made.call
        assert call is not None
        name = file.bound_to(call)
        added = [
            layer
            for layer in file.method_calls("add")
            if isinstance(layer.func, cst.Attribute) and name is not None and dotted_name(layer.func.value) == name
        ]
        if added:
            last = max(added, key=file.tree.order.__getitem__)
            function, block = file.tree.function(call), file.tree.block(call)
            if len(last.args) == 1 and file.tree.function(last) is function and file.tree.block(last) is block:
                yield from self._made(made, last.args[0].value)
            return
        layers = argument(call, 0, "layers")
        for held in self.inference.of(file, layers, made.context) if layers is not None else ():
            if isinstance(held.node, cst.List | cst.Tuple) and not held.access_path and held.node.elements:
                last_element = held.node.elements[-1]
                if isinstance(last_element, cst.Element):
                    yield from self._made(held, last_element.value)

    def _made(self, within: Origin, expr: cst.BaseExpression) -> Iterator[Origin]:
        for origin in self.inference.of(within.file, expr, within.context):
            if origin.call is not None:
                yield origin

    def _layers_of(self, held: Origin) -> Iterator[Origin]:
        """The layers of an output, or of the outputs in a list or dict."""
        if isinstance(held.node, cst.List | cst.Tuple) and not held.access_path:
            for element in held.node.elements:
                for layer in self.inference.of(held.file, element.value, held.context):
                    yield from self._called(layer)
        elif isinstance(held.node, cst.Dict) and not held.access_path:
            for item in held.node.elements:
                for layer in self.inference.of(held.file, item.value, held.context):
                    yield from self._called(layer)
        else:
            yield from self._called(held)

    def _called(self, result: Origin) -> Iterator[Origin]:
        """The layer of which a value is the result."""
        if result.call is not None:
            for layer in self.inference.of(result.file, result.call.func, result.context):
                if layer.call is not None:
                    yield layer

    def _returned_by_call(self, made: Origin) -> Iterator[Origin]:
        """The layers whose results the `call` of a model class returns as they are."""
        cls = self.inference.instance_class(made)
        method = self.inference.definitions.method(cls, "call") if cls is not None else None
        if method is None:
            return
        context: Context = self.inference.contexts.constructed(made, method)
        for value in method.file.returned(method.node):
            for result in self.inference.of(method.file, value, context):
                yield from self._called(result)
