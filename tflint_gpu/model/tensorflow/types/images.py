"""Single images of a known size, as OpenCV, Pillow, scikit-image and Keras give them."""

from __future__ import annotations

import libcst as cst

from tflint_gpu.model.library.operations import operation_named
from tflint_gpu.model.python.project.file import File
from tflint_gpu.model.python.syntax.syntax import Expression, Node, argument, method_name
from tflint_gpu.model.python.value_flow.constants import Constants
from tflint_gpu.model.python.value_flow.inference import Inference
from tflint_gpu.model.python.value_flow.origins import Context, Origin

_RESIZING = frozenset(["cv2.resize", "skimage.transform.resize"])
_LOADING = frozenset(["keras.utils.load_img", "keras.preprocessing.image.load_img"])
_COLOURED_READERS = frozenset(["cv2.imread"])
"""What gives three channels of each file, unless a second argument says other."""
_ARRAYS_OF_IMAGES = frozenset(["keras.utils.img_to_array", "keras.preprocessing.image.img_to_array"])
"""What gives a grey image a third axis, too."""
_SAME_IMAGE_METHODS = frozenset(["astype", "copy", "numpy"])
_COLOURED = (3, 4)
"""Numbers of channels that fill a shape with that many channels once: a grey image would not fill it at all."""


class Images:
    """Arrays that are one image."""

    def __init__(self, inference: Inference, constants: Constants) -> None:
        self.inference = inference
        self.constants = constants
        self._asked: set[Node] = set()

    def is_one(self, file: File, expr: Expression, shape: list[Expression], context: Context | None = None) -> bool:
        """Whether an array is one image whose size is that of `-1, height, width, 3`."""
        if len(shape) != 4:
            return False
        dimensions = [self.constants.of(file, dimension, context) for dimension in shape]
        if dimensions[0] != -1 or dimensions[3] not in _COLOURED:
            return False
        size = frozenset(dimensions[1:3])
        return all(type(length) is int for length in size) and self._size_of(file, expr, context) == size

    def has_three_axes(self, file: File, expr: Expression, context: Context | None = None) -> bool:
        """Whether a value certainly is one image of several channels: `cv2.imread(path)`, resized or scaled."""
        if expr in self._asked:
            return False
        self._asked.add(expr)
        try:
            return self.inference.must_be(file, expr, self.is_image, context)
        finally:
            self._asked.discard(expr)

    def is_image(self, origin: Origin) -> bool:
        """The same of where a value comes from."""
        call, file, context = origin.call, origin.file, origin.context
        if call is None:
            return self._is_scaled_image(origin)
        name, method = file.name(call.func), method_name(call)
        if name in _ARRAYS_OF_IMAGES or (name in _COLOURED_READERS and len(call.args) == 1):
            return True
        if name is None and method in _SAME_IMAGE_METHODS and isinstance(call.func, cst.Attribute):
            return self.has_three_axes(file, call.func.value, context)
        keeps = name in _RESIZING or operation_named(name).shape == "same"
        return keeps and bool(call.args) and self.has_three_axes(file, call.args[0].value, context)

    def _is_scaled_image(self, origin: Origin) -> bool:
        """`image / 255`, `image - 127.5`."""
        node = origin.node
        if origin.access_path or not isinstance(node, cst.BinaryOperation):
            return False
        number = self.constants.of(origin.file, node.right, origin.context)
        return isinstance(number, int | float) and self.has_three_axes(origin.file, node.left, origin.context)

    def _size_of(self, file: File, expr: Expression, context: Context | None) -> frozenset[object] | None:
        """The size that an image has on every way."""
        if expr in self._asked:  # `image = image / 255` in a loop
            return None
        self._asked.add(expr)
        try:
            sizes = [self._size(origin) for origin in self.inference.of(file, expr, context)]
        finally:
            self._asked.discard(expr)
        return sizes[0] if sizes and all(size == sizes[0] for size in sizes) else None

    def _size(self, origin: Origin) -> frozenset[object] | None:
        """The height and the width of an image; which is which differs from library to library."""
        call, file = origin.call, origin.file
        if call is None or origin.access_path:
            return self._size_of_scaled(origin)
        name, method = file.name(call.func), method_name(call)
        if name in _LOADING:
            return self._pair(origin, argument(call, -1, "target_size"))
        if name in _RESIZING or (name is None and method == "resize"):
            return self._pair(origin, argument(call, 0 if name is None else 1, "size"))
        if operation_named(name).shape == "same" and call.args:
            return self._size_of(file, call.args[0].value, origin.context)
        if name is None and method in _SAME_IMAGE_METHODS and isinstance(call.func, cst.Attribute):
            return self._size_of(file, call.func.value, origin.context)
        return None

    def _size_of_scaled(self, origin: Origin) -> frozenset[object] | None:
        """`image / 255`."""
        node = origin.node
        if origin.access_path or not isinstance(node, cst.BinaryOperation) or not isinstance(node.operator, cst.Divide):
            return None
        return self._size_of(origin.file, node.left, origin.context)

    def _pair(self, origin: Origin, expr: Expression | None) -> frozenset[object] | None:
        """The numbers of `(width, height)`, where it has no more of them."""
        if not isinstance(expr, cst.Tuple | cst.List) or len(expr.elements) != 2:
            return None
        return frozenset(self.constants.of(origin.file, element.value, origin.context) for element in expr.elements)
