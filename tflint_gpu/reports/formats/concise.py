"""`concise`: a line for each diagnostic, as compilers print them."""

from __future__ import annotations

from collections.abc import Sequence

from tflint_gpu.diagnostics import Diagnostic
from tflint_gpu.reports import View
from tflint_gpu.reports.display import SEVERITY_STYLES, linked, printable, styled
from tflint_gpu.reports.documentation import page_of
from tflint_gpu.reports.locations import place


def render(diagnostics: Sequence[Diagnostic], view: View) -> str:
    """`path:row:column: severity: CODE [*] message`."""
    return "".join(
        _line(diagnostic, view.mark(diagnostic) + printable(diagnostic.text), view) for diagnostic in diagnostics
    )


def _line(diagnostic: Diagnostic, message: str, view: View) -> str:
    where = styled(place(diagnostic.filename, diagnostic.location), "bold", view.colour)
    severity, code = (
        styled(word, SEVERITY_STYLES[diagnostic.severity], view.colour)
        for word in (diagnostic.severity, diagnostic.code)
    )
    code = linked(code, page_of(diagnostic) if view.links else None)
    return f"{where}: {severity}: {code} {message}\n"
