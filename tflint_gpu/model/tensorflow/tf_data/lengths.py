"""How many elements a dataset has, where the code itself says it."""

from __future__ import annotations

import libcst as cst

from tflint_gpu.bounds import DATASET_PARTS
from tflint_gpu.model.library.datasets import FLATTENING
from tflint_gpu.model.library.operations import operation_named
from tflint_gpu.model.model import Analysis
from tflint_gpu.model.python.project.file import File
from tflint_gpu.model.python.syntax.syntax import Expression, argument
from tflint_gpu.model.python.value_flow.constants import UNKNOWN
from tflint_gpu.model.python.value_flow.origins import Context
from tflint_gpu.model.tensorflow.tf_data.chains import Chain

_FEW = 100


class Lengths(Analysis):
    """Analysis of the number of elements of a chain."""

    def is_demonstration(self, chain: Chain) -> bool:
        """Whether a chain must have so few elements that its speed does not matter."""
        taken = [o.argument(0, "count") for o in chain.operations if o.name == "take"]
        if any(isinstance(count, int) and 0 <= count <= _FEW for count in taken):
            return True
        if any(self.is_demonstration(joined) for joined in chain.inputs):
            return True
        made = chain.made
        if any(o.name in FLATTENING for o in chain.operations):
            return False  # a few files, or generators, may have many elements
        if made is None or made.name not in ("range", "from_tensor_slices", "list_files"):
            return False
        first = argument(made.call, 0, "tensors")
        if made.name == "range" and len(made.call.args) == 1:
            count = made.argument(0, "stop")
            return isinstance(count, int) and count <= _FEW
        return first is not None and self.is_short(made.file, first, made.context)

    def is_short(self, file: File, expr: Expression, context: Context | None, depth: int = 0) -> bool:
        """Whether an array is written out, alone or as a component."""
        if depth >= DATASET_PARTS.limit:
            if not isinstance(expr, cst.BaseNumber | cst.SimpleString):
                self.inference.meet(DATASET_PARTS)
            return False
        return any(
            self._is_written(origin.file, origin.node, origin.context, depth + 1)
            for origin in self.inference.of(file, expr, context)
            if not origin.access_path and isinstance(origin.node, cst.BaseExpression)
        )

    def _is_written(self, file: File, node: Expression, context: Context | None, depth: int) -> bool:
        if isinstance(node, cst.List):
            is_whole = all(isinstance(element, cst.Element) for element in node.elements)
            return bool(node.elements) and is_whole and file.bound_to(node) not in file.changed
        if isinstance(node, cst.Tuple):
            return any(self.is_short(file, element.value, context, depth) for element in node.elements)
        if isinstance(node, cst.Dict):
            return any(self.is_short(file, element.value, context, depth) for element in node.elements)
        if isinstance(node, cst.Call) and node.args:
            made = operation_named(file.name(node.func))
            if made.is_array:
                return self.is_short(file, node.args[0].value, context, depth)
            size = made.size if made.shape == "filled" and not made.draws else None  # random ones stand for more
            said = argument(node, size.position, size.keyword) if size is not None else None
            if said is not None or (made.shape == "counted" and not made.draws and len(node.args) == 1):
                value = self.constants.of(file, said or node.args[0].value, context)
                count = value[0] if isinstance(value, tuple) and value else value
                return count is not UNKNOWN and isinstance(count, int) and count <= _FEW
        return False
