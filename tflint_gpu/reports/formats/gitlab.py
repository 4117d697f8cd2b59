"""`gitlab`: a Code Quality report, which GitLab shows in merge requests.

The keys are those of https://docs.gitlab.com/ci/testing/code_quality/ (the report format).
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from tflint_gpu.diagnostics import Diagnostic
from tflint_gpu.narrowing.fingerprints import fingerprints
from tflint_gpu.reports import View
from tflint_gpu.reports.locations import portable

_SEVERITIES = {"error": "critical", "warning": "major", "advice": "info"}


def render(diagnostics: Sequence[Diagnostic], view: View) -> str:
    """One array, also for no diagnostics."""
    marks = fingerprints(diagnostics, view.line)
    issues = [_issue(diagnostic.in_file, mark, view) for diagnostic, mark in zip(diagnostics, marks, strict=True)]
    return json.dumps(issues, indent=2) + "\n"


def _issue(diagnostic: Diagnostic, fingerprint: str, view: View) -> dict[str, Any]:
    return {
        "description": f"{diagnostic.code} {diagnostic.name}: {diagnostic.text}",
        "check_name": diagnostic.code,
        "fingerprint": fingerprint,
        "severity": _SEVERITIES[diagnostic.severity],
        "location": {
            "path": portable(diagnostic.filename, view),
            "lines": {"begin": diagnostic.location.row, "end": diagnostic.end_location.row},
        },
    }
