"""What an editor shows over a name: "Tensor float32 (32, 10)", "Dataset of Tensor int64 (), 60,000 elements"."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from tflint_gpu.diagnostics import Location
from tflint_gpu.lazy_dataclasses import dataclass
from tflint_gpu.model.model import Model
from tflint_gpu.model.python.project.file import File
from tflint_gpu.model.python.syntax.scopes import Binding
from tflint_gpu.model.python.value_flow.bindings import of_binding
from tflint_gpu.model.values.value import (
    DatasetValue,
    LayerValue,
    SequenceValue,
    StructureValue,
    TensorValue,
    Value,
)
from tflint_gpu.model.values.values import Values


@dataclass(frozen=True, slots=True)
class ShownType:
    """The type of one name.

    Arguments:
        name: as it is written: `images`, `self.model`.
        location, end_location: where it is.
        text: the type.
    """

    name: str
    location: Location
    end_location: Location
    text: str


def types_in(model: Model) -> Iterator[ShownType]:
    """The types of the names and attributes of a file, as far as they are known, in the order of the text."""
    file, values = model.file, model.once(Values)
    named: list[tuple[str, cst.Name | cst.Attribute]] = [*_names(file), *_attributes(file)]
    for name, node in sorted(named, key=lambda pair: file.span(pair[1])):
        value = _value(values, file, node)
        if _tells(value):
            start, end = (file.source.locate(offset) for offset in file.span(node))
            yield ShownType(name, start, end, text(values, value))


def text(values: Values, value: Value) -> str:
    """A value in words; of a model what goes in and comes out, and how many weights it has."""
    if isinstance(value, LayerValue):
        return values.layers.described(value)
    return str(value)


def _names(file: File) -> Iterator[tuple[str, cst.Name]]:
    for name, nodes in file.tree.uses.items():
        yield from ((name, node) for node in nodes if not isinstance(file.tree.parents[node], cst.Attribute | cst.Arg))
        yield from ((name, node) for node in nodes if _is_argument(file, node))


def _is_argument(file: File, node: cst.Name) -> bool:
    parent = file.tree.parents[node]
    return (isinstance(parent, cst.Arg) and parent.value is node) or (
        isinstance(parent, cst.Attribute) and parent.value is node and node.value not in ("self", "cls")
    )


def _attributes(file: File) -> Iterator[tuple[str, cst.Attribute]]:
    for name, nodes in file.attributes_named.items():
        for node in nodes:
            if isinstance(node.value, cst.Name) and node.value.value == "self":
                yield f"self.{name}", node


def _value(values: Values, file: File, node: cst.Name | cst.Attribute) -> Value:
    """What a name holds where it is read, or gets where it is bound."""
    binding = _binding(file, node) if isinstance(node, cst.Name) else None
    if binding is None:
        return values.of(file, node)
    return values.among(of_binding(values.inference, file, binding, node, None))


def _binding(file: File, node: cst.Name) -> Binding | None:
    """The binding of which a name is the target."""
    parent = file.tree.parents[node]
    if isinstance(parent, cst.Param) and parent.name is node:
        return Binding(node.value, "parameter", parent)
    scope = file.tree.scopes.get(file.tree.function(node) or file.tree.module)
    for binding in scope.bindings.get(node.value, ()) if scope is not None else ():
        if isinstance(binding.node, cst.FunctionDef | cst.ClassDef) or not file.tree.within(node, binding.node):
            continue
        if binding.value is None or not file.tree.within(node, binding.value):
            return binding
    return None


def _tells(value: Value) -> bool:
    """Whether a value is worth showing: not a number of Python's, or a list of such."""
    if isinstance(value, StructureValue):
        return any(map(_tells, value.items))
    if isinstance(value, SequenceValue):
        return _tells(value.element)
    return isinstance(value, DatasetValue | LayerValue) or (isinstance(value, TensorValue) and not value.is_number)
