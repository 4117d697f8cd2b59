"""`full`: each diagnostic with its source line, the places that explain it, and what to do."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from tflint_gpu.reports.display import SEVERITY_STYLES, Marked, linked, printable, styled
from tflint_gpu.reports.documentation import page_of
from tflint_gpu.reports.locations import place
from tflint_gpu.reports.summary import plural

if TYPE_CHECKING:
    from tflint_gpu.diagnostics import Diagnostic, Location, Prediction, Related
    from tflint_gpu.reports import View

_PLACES = 3
_KINDS = {
    "crash": "crash",
    "slowdown": "slowdown",
    "memory": "memory",
    "wrong-result": "wrong result",
    "wrong-device": "wrong device",
    "no-effect": "no effect",
}


def render(diagnostics: Sequence[Diagnostic], view: View) -> str:
    """A paragraph for each diagnostic."""
    return "".join("\n".join(_paragraph(diagnostic, view)) + "\n\n" for diagnostic in diagnostics)


def _paragraph(diagnostic: Diagnostic, view: View) -> Iterator[str]:
    style = SEVERITY_STYLES[diagnostic.severity]
    code, severity = (styled(word, style, view.colour) for word in (diagnostic.code, diagnostic.severity))
    code = linked(code, page_of(diagnostic) if view.links else None)
    mark = styled(view.mark(diagnostic), "cyan", view.colour)
    words = styled(printable(diagnostic.message), "bold", view.colour)
    yield f"{severity}[{code} {diagnostic.name}]: {mark}{words}"
    rows = [diagnostic.location.row, *(related.location.row for related in diagnostic.related)]
    margin = len(str(max(rows)))
    yield from _excerpt(diagnostic.filename, diagnostic.location, diagnostic.end_location, "", "-->", margin, view)
    shown = diagnostic.related if view.show_advice else _first_places(diagnostic)
    for related in shown:
        yield from _excerpt(
            related.filename,
            related.location,
            related.end_location,
            printable(related.message),
            ":::",
            margin,
            view,
        )
    if left := len(diagnostic.related) - len(shown):
        others = f"and {plural(left, 'more location')}; --show-advice lists all"
        yield f"{' ' * margin}{styled(':::', 'blue', view.colour)} {others}"
    indent = " " * margin + styled(" = ", "blue", view.colour)
    if diagnostic.prediction is not None:
        yield f"{indent}{styled('predicted', 'bold', view.colour)}: {predicted(diagnostic.prediction)}"
    if diagnostic.measured:
        yield f"{indent}{styled('measured', 'bold', view.colour)}: {printable(diagnostic.measured)}"
    if diagnostic.estimate:
        yield f"{indent}{styled('estimate', 'bold', view.colour)}: {printable(diagnostic.estimate)}"
    if diagnostic.help:
        first, *more = diagnostic.help.splitlines()
        yield f"{indent}{styled('help', 'bold', view.colour)}: {printable(first)}"
        yield from (f"{' ' * margin}   {_continued(line)}" for line in more)


def _first_places(diagnostic: Diagnostic) -> Sequence[Related]:
    """The related places; of a finding for a whole project only the first ones."""
    return diagnostic.related[:_PLACES] if diagnostic.of_project else diagnostic.related


def _continued(line: str) -> str:
    """A line of a text of several: GitHub's runner takes one that begins with two colons for a command."""
    shown = printable(line)
    return f"\\{shown.lstrip()}" if shown.lstrip().startswith("::") else shown


def _excerpt(
    filename: str, start: Location, end: Location, label: str, arrow: str, margin: int, view: View
) -> Iterator[str]:
    """Where it is, and the line with carets below; only the former if the file cannot be read."""
    blank = " " * margin
    pointer = styled(arrow, "blue", view.colour)
    yield f"{blank}{pointer} {place(filename, start)}"
    line = view.line(filename, start.row, start.cell)
    if not line or not line.strip():
        if label:
            yield f"{blank} {styled('|', 'blue', view.colour)} {label}"
        return
    # Of a place with several rows the first is shown, and marked to where its code ends.
    stop = end.column if end.row == start.row else len(line.rstrip()) + 1
    marked = Marked.of(line, start.column, stop)
    bar = styled("|", "blue", view.colour)
    number = styled(f"{start.row:>{margin}}", "blue", view.colour)
    carets = styled(marked.marks.lstrip(), "red" if not label else "blue", view.colour)
    padding = " " * (len(marked.marks) - len(marked.marks.lstrip()))
    yield f"{blank} {bar}"
    yield f"{number} {bar} {marked.text}"
    yield f"{blank} {bar} {padding}{carets}{' ' + label if label else ''}"


def predicted(prediction: Prediction) -> str:
    """A prediction in words: what, how much, where, and what that rests on."""
    words = _KINDS[prediction.kind]
    low, high = prediction.low, prediction.high
    if low is not None and high is not None:
        words += f" by a factor of {low:g}" + (f" to {high:g}" if high != low else "")
    elif low is not None:
        words += f" by a factor of {low:g} or more"
    elif high is not None:
        words += f" by a factor of up to {high:g}"
    if prediction.applies:
        words += f" ({', '.join(prediction.applies)})"
    words += f"; {prediction.basis}" if prediction.basis else ""
    if (own := prediction.on_cpu) is not None:
        words += f"; on a CPU with {own.cores} cores by {own.low:g} to {own.high:g}: {own.basis}"
    return printable(words)
