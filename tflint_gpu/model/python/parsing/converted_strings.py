"""String literals of several parts, and with plain names in them, as libcst's nodes; others are left to its parser.

Most messages of errors are written so. libcst's parser would have to be called once more for each of them.
"""

from __future__ import annotations

import re
from typing import Any

import libcst as cst

from tflint_gpu.model.python.parsing.node_makers import maker

_FIELD = r"\{(?!(?:yield|await|lambda|not)\b)[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*\}"
# A literal between single quotes of either kind: without a prefix that names fields, or with fields that are names.
_PART = re.compile(
    r"""[rbuRBU]{0,2}(?:"(?!"")(?:[^"\\\r\n]|\\.)*"|'(?!'')(?:[^'\\\r\n]|\\.)*')"""
    rf"""|[fF](?:"(?!"")(?:[^"\\\r\n{{}}]|\\[^{{}}N]|{_FIELD})*"|'(?!'')(?:[^'\\\r\n{{}}]|\\[^{{}}N]|{_FIELD})*')""",
    re.DOTALL | re.ASCII,
)
_BLANKS = re.compile(r"[ \t\r\n]*")
_FIELDS = re.compile(rf"({_FIELD})", re.ASCII)

_plain = maker(cst.SimpleString, "value")
_concatenated = maker(cst.ConcatenatedString, "left", "right")
_formatted = maker(cst.FormattedString, "parts", "start", "end")
_text = maker(cst.FormattedStringText, "value")
_field = maker(cst.FormattedStringExpression, "expression")
_name = maker(cst.Name, "value")
_attribute = maker(cst.Attribute, "value", "attr")


def converted_string(text: str) -> Any:
    """What libcst makes of a literal; None of one that its parser has to read: comments in between, other fields."""
    parts: list[str] = []
    position = 0
    while position < len(text):
        part = _PART.match(text, position)
        if part is None:
            return None
        parts.append(part[0])
        blanks = _BLANKS.match(text, part.end())
        position = part.end() if blanks is None else blanks.end()
    *others, last = map(_literal, parts)
    for part in reversed(others):
        last = _concatenated(part, last)
    return last


def _literal(part: str) -> Any:
    if part[0] not in "fF":
        return _plain(part)
    pieces = _FIELDS.split(part[2:-1])
    nodes = [_named(piece[1:-1]) if index % 2 else _text(piece) for index, piece in enumerate(pieces) if piece]
    return _formatted(nodes, part[:2], part[-1])


def _named(dotted: str) -> Any:
    first, *attributes = dotted.split(".")
    node = _name(first)
    for attribute in attributes:
        node = _attribute(node, _name(attribute))
    return _field(node)
