"""Scopes and the bindings of names in them, as the traversal of a file finds them."""

from __future__ import annotations

from dataclasses import field
from typing import Literal, TypeAlias

import libcst as cst

from tflint_gpu.lazy_dataclasses import dataclass
from tflint_gpu.model.python.syntax.syntax import Expression, Node

BindingKind = Literal[
    "import",
    "star",
    "assign",
    "augment",
    "for",
    "with",
    "match",
    "parameter",
    "function",
    "class",
    "except",
    "delete",
]
ScopeKind = Literal["module", "function", "class", "comprehension"]

# What a path through an unpacked value may hold: an index, or None for "some element".
Path: TypeAlias = tuple[int | None, ...]


@dataclass(slots=True, eq=False)
class Binding:
    """One place at which a name gets a meaning.

    Arguments:
        node: the statement, parameter, comprehension clause or `case` that binds.
        value: the expression that is bound, iterated, entered or matched, where there is one.
        path: where in `value` the name's part lies: `a, (b, c) = v` binds c with path (1, 1).
        target: for an import the dotted name that it brings, relative dots included.
        block: the innermost block of statements that this binding is part of.
    """

    name: str
    kind: BindingKind
    node: Node
    value: Expression | None = None
    path: Path = ()
    target: str = ""
    block: Node | None = None
    remote: bool = False  # bound through `global` or `nonlocal` from another function


@dataclass(slots=True, eq=False)
class Scope:
    """A module, class, function or comprehension with the names bound in it."""

    kind: ScopeKind
    node: Node
    parent: Scope | None
    bindings: dict[str, list[Binding]] = field(default_factory=dict)
    outer_names: dict[str, Literal["global", "nonlocal"]] = field(default_factory=dict)


@dataclass(slots=True, eq=False)
class AttributeAssignment:
    """`target = value` where the target is `a.b` or `a.b.c`; path as in `Binding`."""

    target: cst.Attribute
    value: Expression
    path: Path
    statement: Node
