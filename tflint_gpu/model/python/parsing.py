"""libcst's parser, without the checks that libcst makes of nodes which are made by hand, and with fewer nodes.

libcst checks every new node: that a name is no empty string, that there is a blank behind `return`. Of what its own
parser has just read these checks find nothing, and they take an eighth of its time (0.80 to 0.89 without them, on 793
files of user code); libcst's source says as much beside `CSTNode.__post_init__`. Here they are left out.

Two nodes in five are the blanks, or the nothing, between two others. They hold a few texts again and again and cannot
be changed, so one node stands for all of the same text: a twentieth of the time, and less to free.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import libcst as cst

_NODE: type = cst.CSTNode
_checks: Callable[[cst.CSTNode], None] = _NODE.__post_init__  # type: ignore[attr-defined]
_BLANKS: type = cst.SimpleWhitespace
_KEPT_LENGTH = 40
_lock = threading.Lock()
_parsing = 0


def parse_module(code: str) -> cst.Module:
    """The tree of a module.

    Raises:
        libcst.ParserSyntaxError: the code does not parse.
        Exception: what else the native parser raises, such as ValueError for broken literals.
    """
    with _unchecked():
        return cst.parse_module(code)


@contextmanager
def _unchecked() -> Iterator[None]:
    """Nodes are made without checks until the last thread that asked for it is done."""
    global _parsing
    with _lock:
        _parsing += 1
        _NODE.__post_init__ = _accept  # type: ignore[attr-defined]
        cst.SimpleWhitespace = _blanks  # type: ignore[assignment, misc]  # the native parser looks it up there
    try:
        yield
    finally:
        with _lock:
            _parsing -= 1
            if not _parsing:
                cst.SimpleWhitespace = _BLANKS  # type: ignore[assignment, misc]
                _NODE.__post_init__ = _checks  # type: ignore[attr-defined]


def _accept(node: cst.CSTNode) -> None:
    """Nothing to check."""


class _Known(dict[str, cst.SimpleWhitespace]):
    """The nodes of blanks, by their text."""

    def __missing__(self, value: str) -> cst.SimpleWhitespace:
        node: cst.SimpleWhitespace = _BLANKS(value)
        if len(value) <= _KEPT_LENGTH:
            self[value] = node
        return node


_known = _Known()


def _blanks(value: str) -> cst.SimpleWhitespace:
    """The node of some blanks."""
    return _known[value]
