"""The arguments of a call: left out, added, replaced."""

from __future__ import annotations

from collections.abc import Collection, Mapping

import libcst as cst

from tflint_gpu.lazy_patterns import regex
from tflint_gpu.model.python.project.file import File

_COMMA = regex(r"\s*,")


def without_arguments(
    file: File,
    call: cst.Call,
    gone: Collection[cst.Arg],
    method: str = "",
    replaced: Mapping[cst.CSTNode, str] | None = None,
) -> str:
    """The text of a call with some arguments left out, everything else as it is.

    Arguments:
        method: to write for the name of the method that is called.
        replaced: what to write for the names and values of other arguments.
    """
    start, end = file.span(call)
    spans = [file.span(arg) for arg in call.args]
    kept = [index for index, arg in enumerate(call.args) if arg not in gone]
    pieces, position, is_commented = [], start, False
    if method and isinstance(call.func, cst.Attribute):
        first, last = file.span(call.func.attr)
        pieces += [file.source.text[start:first], method]
        position = last
    for index, arg in enumerate(call.args):
        if arg not in gone:
            for node in (arg.keyword, arg.value):
                if node is not None and replaced is not None and node in replaced:
                    pieces += [file.source.text[position : file.span(node)[0]], replaced[node]]
                    position = file.span(node)[1]
            continue
        first, last = spans[index]
        if any(other > index for other in kept):
            after = file.source.text[last : spans[index + 1][0]]
            last += after.index("#") if "#" in after else len(after)
        elif kept:
            between = file.source.text[max(position, spans[index - 1][1]) : first]
            is_commented = is_commented or "#" in between
            first -= len(between)
            if is_commented:  # what stays has a comment after its comma
                first += len(between) if file.source.text[last:end].startswith(")") else len(between.rstrip())
                comma = _COMMA.match(file.source.text, last, end)
                last = comma.end() if comma is not None else last
        pieces.append(file.source.text[position:first])
        position = last
    return "".join([*pieces, file.source.text[position:end]])
