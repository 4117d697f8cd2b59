"""`json`: an array with ruff's keys and ours; rows and columns count from 1."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from tflint_gpu.diagnostics import Diagnostic, Fix, Location
from tflint_gpu.reports import View


def render(diagnostics: Sequence[Diagnostic], view: View) -> str:
    """One array, also for no diagnostics."""
    return json.dumps([as_object(diagnostic, view) for diagnostic in diagnostics], indent=2) + "\n"


def as_object(diagnostic: Diagnostic, view: View) -> dict[str, Any]:
    """One diagnostic as JSON has it."""
    prediction = diagnostic.prediction
    return {
        "code": diagnostic.code,
        "name": diagnostic.name,
        "message": diagnostic.message,
        "severity": diagnostic.severity,
        "help": diagnostic.help or None,
        "filename": view.absolute(diagnostic.filename),
        "cell": diagnostic.location.cell or None,
        "location": _location(diagnostic.location),
        "end_location": _location(diagnostic.end_location),
        "prediction": None if prediction is None else asdict(prediction),
        "related": [
            {
                "filename": view.absolute(related.filename),
                "cell": related.location.cell or None,
                "location": _location(related.location),
                "end_location": _location(related.end_location),
                "message": related.message,
            }
            for related in diagnostic.related
        ],
        "fix": None if diagnostic.fix is None else _fix(diagnostic.fix),
        "noqa_row": diagnostic.noqa_row,
        "measured": diagnostic.measured or None,
        "verdict": diagnostic.verdict or None,
        "estimate": diagnostic.estimate or None,
        "url": diagnostic.url,
    }


def _fix(fix: Fix) -> dict[str, Any]:
    return {
        "applicability": fix.applicability,
        "message": fix.message,
        "edits": [
            {
                "content": edit.content,
                "location": _location(edit.location),
                "end_location": _location(edit.end_location),
            }
            for edit in fix.edits
        ],
    }


def _location(location: Location) -> dict[str, int]:
    return {"row": location.row, "column": location.column}
