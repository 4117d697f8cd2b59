"""Findings of a text that were there before it was changed to one that cannot be read."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from difflib import SequenceMatcher

from tflint_gpu.diagnostics import Diagnostic, Location
from tflint_gpu.text.source import SourceFile


def moved(diagnostics: Iterable[Diagnostic], before: SourceFile, after: SourceFile) -> list[Diagnostic]:
    """The findings where their lines are in a changed text, without fixes, which were made for the former one.

    Arguments:
        diagnostics: what was found in the former text.
        before: the former text.
        after: the text now.
    """
    blocks = SequenceMatcher(None, _lines(before), _lines(after)).get_matching_blocks()

    def place(location: Location) -> Location:
        index = before.row_of(location) - 1
        block = max((block for block in blocks if block.a <= index), key=lambda block: block.a, default=blocks[0])
        row = min(max(index + block.b - block.a, 0), len(after.line_starts) - 1)
        return after.locate(after.line_starts[row] + min(location.column - 1, len(after.line(row + 1))))

    return [
        replace(
            diagnostic,
            location=place(diagnostic.location),
            end_location=place(diagnostic.end_location),
            related=(),
            fix=None,
        )
        for diagnostic in diagnostics
    ]


def _lines(source: SourceFile) -> list[str]:
    return [source.line(row) for row in range(1, len(source.line_starts) + 1)]
