"""What makes a finding the same finding in the next run, wherever its line has moved to."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import PurePath

from tflint_gpu.diagnostics import Diagnostic
from tflint_gpu.text.lexical import Lines

LineOf = Callable[[str, int, int], "str | None"]


def fingerprints(diagnostics: Sequence[Diagnostic], line_of: LineOf) -> list[str]:
    """A fingerprint for each diagnostic, in their order; no two are the same.

    It is made of the file's name, the code, the text of the statement from the finding's row on (its
    header, for a block; spaces do not count) and how many findings alike stand above it. So it
    stays as it is when lines are added above or the code is indented, and changes with the statement.

    Arguments:
        diagnostics: all findings of a run: leaving some out can change the number of those below.
        line_of: the text of a row (from 1) of a file, or of a notebook's cell; None if it cannot be read.
    """
    subjects = [
        (PurePath(diagnostic.filename).as_posix(), diagnostic.code, _statement(diagnostic, line_of))
        for diagnostic in diagnostics
    ]
    numbers: dict[int, int] = {}
    seen: Counter[tuple[str, str, str]] = Counter()
    for index in sorted(range(len(diagnostics)), key=lambda index: diagnostics[index].sort_key):
        numbers[index] = seen[subjects[index]]
        seen[subjects[index]] += 1
    return [_digest(*subject, str(numbers[index])) for index, subject in enumerate(subjects)]


def _statement(diagnostic: Diagnostic, line_of: LineOf) -> str:
    """The rows that the finding covers, up to the first one that ends a logical line."""
    first, last = diagnostic.location.row, diagnostic.end_location.row
    cell = diagnostic.location.cell
    rows = [line_of(diagnostic.filename, row, cell) or "" for row in range(first, max(first, last) + 1)]
    end = Lines.of("\n".join(rows)).logical[0]
    return " ".join(" ".join(rows[:end]).split())


def _digest(*parts: str) -> str:
    # Names of files may hold bytes that are no characters; a part never holds a NUL.
    joined = "\0".join(parts).encode("utf-8", "surrogateescape")
    return hashlib.sha256(joined).hexdigest()[:32]
