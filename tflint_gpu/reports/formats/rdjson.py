"""`rdjson`: reviewdog's diagnostic format, which it turns into review comments with suggestions.

The format is reviewdog's `proto/rdf/reviewdog.proto`: columns count bytes of UTF-8 from 1, ends are exclusive.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from tflint_gpu.diagnostics import Diagnostic, Fix, Location
from tflint_gpu.reports import View
from tflint_gpu.reports.locations import portable

_SEVERITIES = {"error": "ERROR", "warning": "WARNING", "advice": "INFO"}


def render(diagnostics: Sequence[Diagnostic], view: View) -> str:
    """One object, also for no diagnostics."""
    result = {
        "source": {"name": "tflint-gpu"},
        "diagnostics": [_diagnostic(diagnostic.in_file, view) for diagnostic in diagnostics],
    }
    return json.dumps(result, indent=2) + "\n"


def _diagnostic(diagnostic: Diagnostic, view: View) -> dict[str, Any]:
    code = {"value": diagnostic.code} | ({} if diagnostic.url is None else {"url": diagnostic.url})
    result: dict[str, Any] = {
        "message": diagnostic.text + (f"\nhelp: {diagnostic.help}" if diagnostic.help else ""),
        "location": _location(diagnostic.filename, diagnostic.location, diagnostic.end_location, view),
        "severity": _SEVERITIES[diagnostic.severity],
        "code": code,
        "related_locations": [
            {
                "message": related.message,
                "location": _location(related.filename, related.location, related.end_location, view),
            }
            for related in diagnostic.related
        ],
        "suggestions": [],
    }
    if diagnostic.fix is not None and view.fix_mark(diagnostic):
        text = _replacement(diagnostic.filename, diagnostic.fix, view)
        if text is not None:
            first, last = diagnostic.fix.edits[0].location, diagnostic.fix.edits[-1].end_location
            result["suggestions"] = [{"range": _range(diagnostic.filename, first, last, view), "text": text}]
    return result


def _location(filename: str, start: Location, end: Location, view: View) -> dict[str, Any]:
    return {"path": portable(filename, view), "range": _range(filename, start, end, view)}


def _range(filename: str, start: Location, end: Location, view: View) -> dict[str, Any]:
    """With columns if both rows can be read, else whole rows: a column in characters would be wrong."""
    first, last = view.line(filename, start.row), view.line(filename, end.row)
    if first is None or last is None:
        return {"start": {"line": start.row}, "end": {"line": end.row}}
    return {
        "start": {"line": start.row, "column": _byte_column(first, start.column)},
        "end": {"line": end.row, "column": _byte_column(last, end.column)},
    }


def _byte_column(line: str, column: int) -> int:
    return len(line[: column - 1].encode("utf-8", "surrogatepass")) + 1


def _replacement(filename: str, fix: Fix, view: View) -> str | None:
    """All edits of a fix as one text, from the first to the last: suggestions are accepted singly, a fix is whole."""
    text = ""
    position = fix.edits[0].location
    for edit in fix.edits:
        between = _text(filename, position, edit.location, view)
        if between is None:
            return None
        text += between + edit.content
        position = edit.end_location
    return text


def _text(filename: str, start: Location, end: Location, view: View) -> str | None:
    """What a file says from one place up to another; None if it cannot be read."""
    rows = []
    for row in range(start.row, end.row + 1):
        line = view.line(filename, row)
        if line is None:
            return None
        rows.append(line[: end.column - 1] if row == end.row else line)
    return "\n".join(rows)[start.column - 1 :]
