"""`github`: workflow commands, which GitHub shows next to the lines of a pull request.

Escaping and limits are those of GitHub's runner (actions/runner: `ActionCommand.cs`,
`IssueCommandExtension.ValidateLinesAndColumns`, `ExecutionContext._maxCountPerIssueType`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from tflint_gpu.diagnostics import Diagnostic
from tflint_gpu.reports import View
from tflint_gpu.reports.display import printable_lines
from tflint_gpu.reports.locations import place
from tflint_gpu.reports.summary import plural, worst_first

_COMMANDS = {"error": "error", "warning": "warning", "advice": "notice"}
_SHOWN = 10  # annotations of each kind that the runner takes from one step


def render(diagnostics: Sequence[Diagnostic], view: View) -> str:
    """A command for each diagnostic that GitHub will show, the worst first, and a line about the others."""
    seen: Counter[str] = Counter()
    lines = []
    for diagnostic in worst_first(diagnostics):
        if seen[diagnostic.severity] < _SHOWN:
            lines.append(_command(diagnostic, view))
        seen[diagnostic.severity] += 1
    left = len(diagnostics) - len(lines)
    if left:
        lines.append(
            f"{plural(left, 'more problem')} not annotated: GitHub shows only {_SHOWN} errors, {_SHOWN} warnings and "
            f"{_SHOWN} notices per step; `--output-format concise --show-advice` lists all.\n"
        )
    return "".join(lines)


def _command(diagnostic: Diagnostic, view: View) -> str:
    start, end = diagnostic.location.in_file, diagnostic.end_location.in_file
    properties: dict[str, str | int] = {
        "title": f"tflint-gpu ({diagnostic.code})",
        "file": view.absolute(diagnostic.filename),
        "line": start.row,
    }
    if start.row == end.row:
        properties |= {"col": start.column, "endLine": end.row, "endColumn": end.column}
    else:  # the runner takes no columns for several rows
        properties |= {"endLine": end.row}
    listed = ",".join(f"{key}={_property(str(value))}" for key, value in properties.items())
    text = f"{place(diagnostic.filename, diagnostic.location)}: {diagnostic.code} {diagnostic.text}"
    if diagnostic.help:
        text += f"\n  help: {diagnostic.help}"
    return f"::{_COMMANDS[diagnostic.severity]} {listed}::{_data(text)}\n"


def _data(text: str) -> str:
    """Escape what would end a command, or steer the terminal on which the log is read."""
    return printable_lines(text).replace("%", "%25").replace("\n", "%0A")


def _property(text: str) -> str:
    """Escape what would end a command or a property."""
    return _data(text).replace(":", "%3A").replace(",", "%2C")
