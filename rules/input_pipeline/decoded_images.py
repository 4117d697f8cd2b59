"""How many bytes a dataset's elements have, where they are images that its functions decoded and resized."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, TypeAlias

import libcst as cst

from tflint_gpu.bounds import IMAGE_STEPS
from tflint_gpu.lazy_dataclasses import dataclass
from tflint_gpu.model import BATCH_NEUTRAL, Analysis, MappedFunctions, argument, operation_named
from tflint_gpu.model.library.files import IMAGE_DECODERS
from tflint_gpu.model.library.operations import RESIZES
from tflint_gpu.model.library.precision import BYTES

if TYPE_CHECKING:
    from tflint_gpu.model import Callee, Chain, Context, Expression, File, Model, Operation, Origin

_FLOAT = 4
_CROPS = frozenset(["tf.image.random_crop", "tf.image.stateless_random_crop"])
# `enumerate` puts a number before each element.
_SAME_ELEMENTS = BATCH_NEUTRAL - {"enumerate"}


@dataclass(frozen=True, slots=True)
class Image:
    """An image: pixels of its height and width, its channels, and the bytes of each number; None where unknown."""

    height: int | None = None
    width: int | None = None
    channels: int | None = None
    number: int | None = None

    @property
    def size(self) -> int:
        """Its bytes; 0 where they do not follow from the code."""
        factors = (self.height, self.width, self.channels, self.number)
        product = 1
        for factor in factors:
            product *= factor or 0
        return product


Element: TypeAlias = tuple[Image, ...]
"""The components of an element; one that is no known image counts nothing."""


class DecodedImages(Analysis):
    """Analysis of the elements of datasets."""

    def __init__(self, model: Model) -> None:
        super().__init__(model)
        self.functions = model.once(MappedFunctions)

    def element(self, chain: Chain, operations: Sequence[Operation]) -> Element:
        """What the elements of a chain are after some of its operations, as far as they are images."""
        element: Element = ()
        if chain.made is not None and chain.made.name == "zip":
            parts = [self.element(joined, joined.operations) for joined in chain.inputs]
            element = tuple(part[0] if len(part) == 1 else Image() for part in parts)
        for operation in operations:
            if operation.name == "map":
                element = self._mapped(operation, element)
            elif operation.name not in _SAME_ELEMENTS:
                return ()
        return element

    def _mapped(self, operation: Operation, element: Element) -> Element:
        callees = self.functions.of(operation)
        if len(callees) != 1:
            return ()
        [callee] = callees
        function = callee.function
        values = _Values(self, _given(callee, element))
        elements = [
            values.element(function.file, returned, callee.context)
            for returned in function.file.returned(function.node)
        ]
        return elements[0] if elements and all(known == elements[0] for known in elements) else ()


def _given(callee: Callee, element: Element) -> dict[cst.Param, Image]:
    """What the parameters of a mapped function get."""
    parameters = [p for p in callee.function.parameters if isinstance(p, cst.Param)]
    return dict(zip(parameters, element, strict=False)) if len(element) == len(parameters) else {}


class _Values:
    """The images that expressions of one mapped function give."""

    def __init__(self, analysis: DecodedImages, given: dict[cst.Param, Image]) -> None:
        self.inference = analysis.inference
        self.constants = analysis.constants
        self.given = given

    def element(self, file: File, expr: Expression, context: Context | None) -> Element:
        """The components of what a function returns; those of a dictionary by the order of its keys."""
        origins = self.inference.of(file, expr, context)
        shown = [_components(origin) for origin in origins]
        if len(origins) == 1 and shown[0] is not None:
            return tuple(self.image(origins[0].file, part, origins[0].context) for part in shown[0])
        return (self.image(file, expr, context),)

    def image(self, file: File, expr: Expression, context: Context | None, depth: int = 0) -> Image:
        """What is known of an image on every way to it."""
        if depth > IMAGE_STEPS.limit:
            self.inference.meet(IMAGE_STEPS)
            return Image()
        images = [self._of(origin, depth + 1) for origin in self.inference.of(file, expr, context)]
        return images[0] if images and all(known == images[0] for known in images) else Image()

    def _of(self, origin: Origin, depth: int) -> Image:
        node, file, context = origin.node, origin.file, origin.context
        if origin.access_path:
            return Image()
        if isinstance(node, cst.Param):
            return self.given.get(node, Image())
        if isinstance(node, cst.BinaryOperation):
            return self._computed(file, node, context, depth)
        return self._called(origin, node, depth) if isinstance(node, cst.Call) else Image()

    def _computed(self, file: File, node: cst.BinaryOperation, context: Context | None, depth: int) -> Image:
        """`image / 255`: a division of bytes gives float32."""
        sides = [self.image(file, side, context, depth) for side in (node.left, node.right)]
        image = max(sides, key=lambda side: side.size or (side.channels or 0))
        is_of_bytes = isinstance(node.operator, cst.Divide) and image.number == 1
        return replace(image, number=_FLOAT) if is_of_bytes else image

    def _called(self, origin: Origin, call: cst.Call, depth: int) -> Image:
        name, file, context = origin.made_by or "", origin.file, origin.context
        given = self.image(file, call.args[0].value, context, depth) if call.args else Image()
        if name in IMAGE_DECODERS:
            channels = self.constants.of(file, argument(call, 1, "channels"), context)
            is_plain = argument(call, -1, "dtype") is None
            return Image(channels=_number(channels), number=1 if is_plain else None)
        if name in ("tf.image.resize", "tf.compat.v1.image.resize", "tf.compat.v1.image.resize_images"):
            height, width = self._numbers(file, argument(call, 1, "size"), context, 2)
            may_keep_numbers = argument(call, 2, "method") is not None
            return Image(height, width, given.channels, given.number if may_keep_numbers else _FLOAT)
        if name in RESIZES:
            sizes = (argument(call, 1, "target_height"), argument(call, 2, "target_width"))
            height, width = (_number(self.constants.of(file, size, context)) for size in sizes)
            return Image(height, width, given.channels, given.number if name.endswith("crop_or_pad") else _FLOAT)
        operation = operation_named(name)
        if name in _CROPS or (operation.size is not None and operation.shape in ("same", "reshaped")):
            size = argument(call, 1, "size" if name in _CROPS else "shape")
            height, width, channels = self._numbers(file, size, context, 3)
            return Image(height, width, channels, given.number)
        if operation.casts:
            return replace(given, number=self._bytes(file, argument(call, 1, "dtype")))
        return given if name.startswith("tf.image.stateless_random_") or _keeps_numbers(name) else Image()

    def _numbers(
        self, file: File, expr: Expression | None, context: Context | None, count: int
    ) -> tuple[int | None, ...]:
        """The whole numbers of a shape, as many as it must have; None for each where one is unknown."""
        values = self.constants.of(file, expr, context)
        is_shape = isinstance(values, tuple | list) and len(values) == count
        return tuple(map(_number, values)) if is_shape else (None,) * count

    def _bytes(self, file: File, dtype: Expression | None) -> int | None:
        if dtype is None:
            return None
        name = file.name(dtype) or self.constants.of(file, dtype)
        return BYTES.get(name.rpartition(".")[2]) if isinstance(name, str) else None


def _components(origin: Origin) -> Iterable[Expression] | None:
    node = origin.node
    if origin.access_path or not isinstance(node, cst.Tuple | cst.Dict):
        return None
    if any(isinstance(element, cst.StarredElement | cst.StarredDictElement) for element in node.elements):
        return None
    return [element.value for element in node.elements]


def _number(value: object) -> int | None:
    return value if type(value) is int and value > 0 else None


def _keeps_numbers(name: str) -> bool:
    """Whether an operation of TensorFlow gives images of the size, and numbers of the bytes, of those that it gets."""
    operation = operation_named(name)
    is_alike = operation.shape in ("same", "broadcast") and operation.dtype in ("same", "float")
    return is_alike and name.startswith("tf.")
