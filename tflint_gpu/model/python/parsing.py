"""libcst's parser, with fewer nodes and without the checks of those that are made by hand (`node_classes`).

Two nodes in five are the blanks, or the nothing, between two others. They hold a few texts again and again and cannot
be changed, so one node stands for all of the same text: a twentieth of the time, and less to free.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import libcst as cst

from tflint_gpu.model.python.node_classes import unchecked

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
    with unchecked(), _sharing_blanks():
        return cst.parse_module(code)


@contextmanager
def _sharing_blanks() -> Iterator[None]:
    """One node stands for all blanks of one text until the last thread that asked for it is done."""
    global _parsing
    with _lock:
        _parsing += 1
        cst.SimpleWhitespace = _blanks  # type: ignore[assignment, misc]  # the native parser looks it up there
    try:
        yield
    finally:
        with _lock:
            _parsing -= 1
            if not _parsing:
                cst.SimpleWhitespace = _BLANKS  # type: ignore[assignment, misc]


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
