"""`pylint`: the lines of pylint's parseable format, as ruff and flake8 print them too."""

from __future__ import annotations

from collections.abc import Sequence

from tflint_gpu.diagnostics import Diagnostic
from tflint_gpu.reports import View
from tflint_gpu.reports.display import printable
from tflint_gpu.reports.locations import place_of_row


def render(diagnostics: Sequence[Diagnostic], view: View) -> str:
    """`path:row: [CODE] message`."""
    return "".join(
        f"{place_of_row(line.filename, line.location)}: [{line.code}] {printable(line.text)}\n"
        for line in (diagnostic.in_file for diagnostic in diagnostics)
    )
