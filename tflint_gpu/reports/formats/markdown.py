"""`markdown`: a table for a comment on a pull request, in GitHub's and GitLab's Markdown."""

from __future__ import annotations

import re
from collections.abc import Sequence

from tflint_gpu.diagnostics import Diagnostic
from tflint_gpu.lazy_patterns import regex
from tflint_gpu.reports import View
from tflint_gpu.reports.display import printable
from tflint_gpu.reports.formats.full import predicted
from tflint_gpu.reports.locations import portable
from tflint_gpu.reports.summary import Fixable, by_severity, plural, worst_first

_LONGEST = 60_000  # GitHub refuses comments with more than 65,536 characters
_HEAD = "| | file | location | rule | finding | predicted |\n|---|---|---|---|---|---|\n"
# Code of our messages stays code; what would call somebody (`@tf.function`) becomes code.
_CODE = regex(r"`([^`\n]+)`|(?<!\w)(@[\w.]+)")
_SPECIAL = regex(r"[\\`*_{}\[\]<>#|~&!]")


def render(diagnostics: Sequence[Diagnostic], view: View) -> str:
    """A summary, then a row for each diagnostic, the worst first, as far as a comment can hold them."""
    if not diagnostics:
        return "**tflint-gpu** found no problems.\n"
    text = f"{_summary(diagnostics, view)}\n\n{_HEAD}"
    left = len(diagnostics)
    for diagnostic in worst_first(diagnostics):
        row = _row(diagnostic, view)
        if len(text) + len(row) > _LONGEST:
            break
        text += row
        left -= 1
    return text + (f"\n{plural(left, 'more problem')} not shown: a comment cannot be longer.\n" if left else "")


def _summary(diagnostics: Sequence[Diagnostic], view: View) -> str:
    files = plural(len({diagnostic.filename for diagnostic in diagnostics}), "file")
    text = f"**tflint-gpu** found {plural(len(diagnostics), 'problem')} in {files}: {by_severity(diagnostics)}."
    fixable = Fixable.among(diagnostics)
    offered = fixable.safe + (fixable.unsafe if view.unsafe_fixes else 0)
    return text + (f" `--fix` fixes {offered} of them." if offered else "")


def _row(diagnostic: Diagnostic, view: View) -> str:
    finding = prose(diagnostic.text) + (f"<br>{prose(diagnostic.help)}" if diagnostic.help else "")
    cells = (
        diagnostic.severity,
        code_span(portable(diagnostic.filename, view)),
        str(diagnostic.location),
        f"{diagnostic.code} {diagnostic.name}",
        finding,
        prose(predicted(diagnostic.prediction)) if diagnostic.prediction is not None else "",
    )
    return "| " + " | ".join(cells) + " |\n"


def prose(text: str) -> str:
    """Text as it is, whatever Markdown would make of it; only code between backticks is code."""
    parts = []
    position = 0
    text = printable(" ".join(text.split()))
    for match in _CODE.finditer(text):
        parts += [_escaped(text[position : match.start()]), code_span(match[1] or match[2])]
        position = match.end()
    return "".join(parts) + _escaped(text[position:])


def _escaped(text: str) -> str:
    return _SPECIAL.sub(r"\\\g<0>", text)


def code_span(text: str) -> str:
    """A code span for a cell: there a bar needs a backslash, though nothing else in a span can have one."""
    text = printable(text)
    longest = max((len(run) for run in re.findall("`+", text)), default=0)
    fence = "`" * (longest + 1)
    padding = " " if text.startswith(("`", " ")) or text.endswith(("`", " ")) else ""
    return f"{fence}{padding}{text}{padding}{fence}".replace("|", "\\|")
