"""`concise`: a line for each diagnostic, as compilers print them, and one for equal advice."""

from __future__ import annotations

from collections.abc import Sequence

from tflint_gpu.diagnostics import Diagnostic
from tflint_gpu.reports import View
from tflint_gpu.reports.advice import fold
from tflint_gpu.reports.display import SEVERITY_STYLES, printable, styled
from tflint_gpu.reports.locations import place


def render(diagnostics: Sequence[Diagnostic], view: View) -> str:
    """`path:row:column: severity: CODE [*] message`; a line for several places starts with the first of them."""
    single, folds = fold(diagnostics, view)
    lines = [_line(diagnostic, view.fix_mark(diagnostic) + printable(diagnostic.text), view) for diagnostic in single]
    for advice in folds:
        often = f" ({len(advice.members)} times, also {advice.places(listed=1)}; --show-advice lists all)"
        lines.append(_line(advice.first, advice.mark(view) + advice.message + often, view))
    return "".join(lines)


def _line(diagnostic: Diagnostic, message: str, view: View) -> str:
    where = styled(place(diagnostic.filename, diagnostic.location), "bold", view.colour)
    severity, code = (
        styled(word, SEVERITY_STYLES[diagnostic.severity], view.colour)
        for word in (diagnostic.severity, diagnostic.code)
    )
    return f"{where}: {severity}: {code} {message}\n"
