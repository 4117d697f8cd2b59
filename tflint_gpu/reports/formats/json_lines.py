"""`json-lines`: the objects of `json`, one on each line."""

from __future__ import annotations

import json
from collections.abc import Sequence

from tflint_gpu.diagnostics import Diagnostic
from tflint_gpu.reports import View
from tflint_gpu.reports.formats.json import as_object


def render(diagnostics: Sequence[Diagnostic], view: View) -> str:
    """A line for each diagnostic; nothing for none."""
    return "".join(json.dumps(as_object(diagnostic, view)) + "\n" for diagnostic in diagnostics)
