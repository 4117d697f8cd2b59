"""The classes that the annotation of a parameter names: `model: keras.Model | None`, `Optional["Net"]`."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from tflint_gpu.model.python.project.file import File
from tflint_gpu.model.python.syntax.syntax import Expression

_OPTIONAL = ("Optional", "Union", "Annotated")
_TYPING = ("typing", "typing_extensions", "")


def declared_classes(file: File, parameter: cst.Param) -> tuple[Expression, ...]:
    """The classes of which a parameter's annotation allows instances, None left out; none without an annotation.

    What is written as a text is an expression of its own, outside of the file's tree.
    """
    if parameter.annotation is None:
        return ()
    return tuple(_alternatives(file, parameter.annotation.annotation))


def _alternatives(file: File, expr: Expression) -> Iterator[Expression]:
    if isinstance(expr, cst.Name) and expr.value == "None":
        return
    if isinstance(expr, cst.SimpleString):
        yield from _of_text(file, expr)
    elif isinstance(expr, cst.BinaryOperation) and isinstance(expr.operator, cst.BitOr):
        yield from _alternatives(file, expr.left)
        yield from _alternatives(file, expr.right)
    elif isinstance(expr, cst.Subscript) and (form := _typing_form(file, expr.value)) in _OPTIONAL:
        items = [item.slice.value for item in expr.slice if isinstance(item.slice, cst.Index)]
        for item in items[:1] if form == "Annotated" else items:
            yield from _alternatives(file, item)
    else:
        yield expr


def _of_text(file: File, text: cst.SimpleString) -> Iterator[Expression]:
    content = text.evaluated_value
    try:
        expr = cst.parse_expression(content) if isinstance(content, str) else None
    except cst.ParserSyntaxError:
        expr = None
    if expr is None:
        yield text
    else:
        yield from _alternatives(file, expr)


def _typing_form(file: File, expr: Expression) -> str | None:
    """ "Optional" of `typing.Optional`."""
    name = file.name(expr)
    if name is None:
        return None
    module, _, form = name.rpartition(".")
    return form if module in _TYPING else None
