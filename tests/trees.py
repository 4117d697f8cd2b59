"""Whether two trees of the same code are alike: what a field that means something holds, whitespace and brackets apart."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import libcst as cst

# What our trees leave at its default, since nothing asks for it.
_LEFT_OUT = frozenset(
    (
        "lpar rpar lbracket rbracket lbrace rbrace leading_lines lines_after_decorators header footer indent comma "
        "semicolon equal colon dot first_colon second_colon posonly_ind encoding default_indent default_newline "
        "has_trailing_newline star_equal"
    ).split()
)


def difference(ours: Any, theirs: Any, path: tuple[object, ...] = ()) -> tuple[object, ...]:
    """Where two trees differ first, with what stands there; nothing where they are alike."""
    stack = [(ours, theirs, path)]
    while stack:
        our, their, here = stack.pop()
        if isinstance(our, list | tuple) and isinstance(their, list | tuple):
            if len(our) != len(their):
                return (*here, "length", len(our), len(their))
            stack += [(one, other, (*here, place)) for place, (one, other) in enumerate(zip(our, their, strict=True))]
        elif isinstance(their, cst.CSTNode):
            if our.__class__ is not their.__class__:
                return (*here, type(our).__name__, type(their).__name__)
            for name in compared(type(their)):
                stack.append((getattr(our, name), getattr(their, name), (*here, name)))
        elif our != their:
            return (*here, our, their)
    return ()


def compared(kind: type[cst.CSTNode]) -> list[str]:
    """The fields of a class of nodes that are compared."""
    names = [field.name for field in fields(kind)]  # type: ignore[arg-type]
    return [name for name in names if name not in _LEFT_OUT and "whitespace" not in name]
