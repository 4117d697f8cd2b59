"""`concise`: a line for each diagnostic, as compilers print them."""

from __future__ import annotations

from collections.abc import Sequence

from tflint_gpu.diagnostics import Diagnostic
from tflint_gpu.reports import View
from tflint_gpu.reports.display import printable, styled
from tflint_gpu.reports.locations import place


def render(diagnostics: Sequence[Diagnostic], view: View) -> str:
    """`path:row:column: CODE [*] message`."""
    return "".join(_line(diagnostic, view) for diagnostic in diagnostics)


def _line(diagnostic: Diagnostic, view: View) -> str:
    where = styled(place(diagnostic.filename, diagnostic.location), "bold", view.colour)
    code = styled(diagnostic.code, "red", view.colour)
    message = view.fix_mark(diagnostic) + printable(diagnostic.text)
    return f"{where}: {code} {message}\n"
