"""What makes libcst's nodes in less time than their constructors take; the classes stay as libcst has them."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import libcst as cst


def maker(kind: type[cst.CSTNode], *fields: str) -> Callable[..., Any]:
    """What makes a node of some of its fields, given in that order; the others have one default for all nodes.

    The tree of a file is made of nodes that Python's parser has found to be right, and most of their fields are blanks
    that no question asks for: libcst's constructor would check the former and make the latter again for each node.
    """
    names: dict[str, Any] = {"new": object.__new__, "kind": kind}
    lines = []
    for field in dataclasses.fields(kind):
        name = field.name
        names[f"set_{name}"] = kind.__dict__[name].__set__
        if name not in fields:
            names[f"default_{name}"] = _default_of(kind, field)
        lines.append(f" set_{name}(node, {name if name in fields else f'default_{name}'})")
    head = f"def make_{kind.__name__}({', '.join(fields)}):\n node = new(kind)"
    exec("\n".join([head, *lines, " return node"]), names)
    made: Callable[..., Any] = names[f"make_{kind.__name__}"]
    return made


def _default_of(kind: type, field: dataclasses.Field[Any]) -> Any:
    if field.default_factory is not dataclasses.MISSING:
        return field.default_factory()
    if field.default is dataclasses.MISSING:
        raise TypeError(f"{kind.__name__} needs {field.name}")
    return field.default
