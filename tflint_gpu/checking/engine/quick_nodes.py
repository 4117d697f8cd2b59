"""libcst's nodes in less time, in a process that runs nothing but tflint-gpu.

Where other tools run in the same process (flake8, a kernel), libcst stays as it is. Elsewhere three things are changed
that take long and give the same answers in less time:

- the methods of the 175 classes of nodes are compiled when they are first called: two thirds of the import of libcst;
- nodes are hashed and compared by identity, which libcst does in Python and `object` by itself;
- `isinstance` asks through `abc`, since other classes might be registered as nodes: none are.

Without these a check takes a sixth longer, and a start 0.1 s.
"""

from __future__ import annotations

from abc import ABCMeta
from functools import cache

from tflint_gpu.lazy_dataclasses import lazily_compiled

__all__ = ["quicken_nodes"]


class _PlainMeta(ABCMeta):
    """The class of classes for which `isinstance` asks nothing but their bases."""

    __instancecheck__ = type.__instancecheck__


@cache
def quicken_nodes() -> None:
    """Import libcst, if it is not, and change its classes."""
    with lazily_compiled("libcst"):
        import libcst as cst
    for kind in [kind for kind in vars(cst).values() if isinstance(kind, type) and cst.CSTNode in kind.__mro__]:
        kind.__hash__ = object.__hash__  # type: ignore[assignment, method-assign]
        kind.__eq__ = object.__eq__  # type: ignore[assignment, method-assign]
        if type(kind) is ABCMeta:
            kind.__class__ = _PlainMeta
