"""Random numbers that Python or NumPy draws, written as operations of the graph, which draws again in each run."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from tflint_gpu.bounds import USED_NAMES
from tflint_gpu.lazy_dataclasses import dataclass
from tflint_gpu.model.library.nondeterminism import GRAPH_DRAWS, GRAPH_DRAWS_BY_DIMENSIONS
from tflint_gpu.model.model import Model
from tflint_gpu.model.python.names.imports import Spelling
from tflint_gpu.model.python.project.file import File
from tflint_gpu.model.python.syntax.operators import operands
from tflint_gpu.model.python.syntax.syntax import Expression, Node
from tflint_gpu.model.tensorflow.effects.tensor_uses import TensorUses, later_uses
from tflint_gpu.model.tensorflow.types.kinds import Kinds
from tflint_gpu.model.values.value import TensorValue
from tflint_gpu.model.values.values import Values

_OTHER_FLOATS = (b"float64", b"double", b"float16", b"bfloat16", b"mixed_", b"set_floatx")


@dataclass(frozen=True, slots=True)
class GraphDraw:
    """TensorFlow's call of a draw: `tf.random.normal([], stddev=0.1)`."""

    text: str
    spelling: Spelling


def graph_draw(model: Model, file: File, call: cst.Call, name: str) -> GraphDraw | None:
    """The call that draws in the graph; None where there is none alike, or where Python needs the number itself.

    Arguments:
        name: the canonical name of what is called.
    """
    function = GRAPH_DRAWS_BY_DIMENSIONS.get(name) or GRAPH_DRAWS.get(name, ("", {}))[0]
    spelling = file.imports.spelling(function, call) if function else None
    given = None if spelling is None else _arguments(file, call, name)
    if spelling is None or given is None:
        return None
    compared = _compared_tensor(model, file, call)
    if compared is not None:
        given.append(f"dtype={file.code(compared)}.dtype")
    elif not model.once(TensorUses).takes_tensor(file, call) or (dtype := _needed_dtype(model, file, call)) is None:
        return None
    elif dtype != "float32":
        given.append(f"dtype={dtype}")
    return GraphDraw(f"{spelling.text}({', '.join(given)})", spelling)


def _needed_dtype(model: Model, file: File, call: cst.Call) -> str | None:
    """The dtype that a draw needs: NumPy's numbers take that of the tensor that they are combined with.

    `"float64"` with its quotes, or `x.dtype`; "float32" where that is it, or nothing speaks against it; None where
    it is not known.
    """
    needed: dict[str | None, None] = {}
    for other, is_direct in _combined_with(model, file, call):
        value = model.once(Values).of(file, other)
        known = value if isinstance(value, TensorValue) else None
        if known is not None and known.dtype:
            needed[f'"{known.dtype}"' if "float" in known.dtype and known.dtype != "float32" else "float32"] = None
        elif known is None and not _uses_other_floats(model):
            needed["float32"] = None
        elif is_direct and isinstance(other, cst.Name | cst.Attribute):
            needed[f"{file.code(other)}.dtype"] = None
        else:
            needed[None] = None
    if not needed:
        return None if _uses_other_floats(model) else "float32"
    return next(iter(needed)) if len(needed) == 1 else None


def _uses_other_floats(model: Model) -> bool:
    """Whether the program names other floating point types than float32, or policies that bring them."""
    return any(model.reaches(word) for word in _OTHER_FLOATS)


def _combined_with(model: Model, file: File, node: Expression, names: int = 0) -> Iterator[tuple[Expression, bool]]:
    """What a draw is computed with that has a dtype, and whether in its own expression: `x` in `x + 0.1 * draw`."""
    child: Node = node
    for parent in file.tree.ancestors(node):
        if isinstance(parent, cst.BinaryOperation):
            other = parent.left if parent.right is child else parent.right
            value = model.once(Values).of(file, other)
            if not isinstance(value, TensorValue) or not (value.is_number or value.kind == "array"):
                yield other, names == 0
                return
        elif isinstance(parent, cst.Assign | cst.AugAssign):
            if isinstance(parent, cst.AugAssign):
                yield parent.target, names == 0
            elif names < USED_NAMES.limit:
                for use in later_uses(file, parent) or ():
                    yield from _combined_with(model, file, use, names + 1)
            return
        elif not isinstance(parent, cst.UnaryOperation):
            return
        child = parent


def _compared_tensor(model: Model, file: File, call: cst.Call) -> cst.Name | cst.Attribute | None:
    """What a draw is compared with, where that is certainly a tensor: the comparison is one, too, whoever reads it."""
    parent = file.tree.parents[call]
    comparison = file.tree.parents[parent] if isinstance(parent, cst.ComparisonTarget) else parent
    sides = (operands(comparison) or ()) if isinstance(comparison, cst.Comparison) else ()
    others = [side for side in sides if side is not call]
    if len(others) != 1 or not isinstance(others[0], cst.Name | cst.Attribute):
        return None
    return others[0] if model.once(Kinds).must_be(file, others[0], "tensor") else None


def _arguments(file: File, call: cst.Call, name: str) -> list[str] | None:
    if any(arg.star for arg in call.args):
        return None
    if name in GRAPH_DRAWS_BY_DIMENSIONS:
        return [f"[{', '.join(file.code(arg.value) for arg in call.args)}]"]
    parameters = GRAPH_DRAWS[name][1]
    shape, others = "[]", []
    measure = file.names.spelled("tf.shape", call)
    for index, arg in enumerate(call.args):
        own = arg.keyword.value if arg.keyword is not None else [*parameters][index] if index < len(parameters) else ""
        if own not in parameters:
            return None
        if parameters[own] != "shape":
            text = file.code(arg.value)
            others.append(text if arg.keyword is None else f"{parameters[own]}={text}")
        elif isinstance(arg.value, cst.Integer):
            shape = f"[{arg.value.value}]"
        elif isinstance(arg.value, cst.Tuple | cst.List):
            shape = f"[{', '.join(file.code(element.value) for element in arg.value.elements)}]"
        elif isinstance(arg.value, cst.Attribute) and arg.value.attr.value == "shape" and measure:
            shape = f"{measure}({file.code(arg.value.value)})"
        else:
            return None
    return [shape, *others]
