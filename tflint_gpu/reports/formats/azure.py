"""`azure`: logging commands, which Azure Pipelines shows as issues of a run; advice is a line of the log.

Escaping is that of Azure's agent and task library (azure-pipelines-task-lib: `taskcommand.ts`;
microsoft/azure-pipelines-agent: `docs/design/percentEncoding.md`).
"""

from __future__ import annotations

from collections.abc import Sequence

from tflint_gpu.diagnostics import Diagnostic
from tflint_gpu.reports import View
from tflint_gpu.reports.display import printable_lines
from tflint_gpu.reports.locations import place, portable


def render(diagnostics: Sequence[Diagnostic], view: View) -> str:
    """A command for each error and warning, and a line for each piece of advice: the agent knows nothing weaker."""
    placed = [diagnostic.in_file for diagnostic in diagnostics]
    return "".join(
        _line(diagnostic, view) if diagnostic.severity == "advice" else _command(diagnostic, view)
        for diagnostic in placed
    )


def _line(diagnostic: Diagnostic, view: View) -> str:
    where = place(portable(diagnostic.filename, view), diagnostic.location)
    return printable_lines(f"{where}: {diagnostic.severity}: {diagnostic.code} {diagnostic.text}") + "\n"


def _command(diagnostic: Diagnostic, view: View) -> str:
    properties = {
        "type": diagnostic.severity,
        "sourcepath": portable(diagnostic.filename, view),
        "linenumber": diagnostic.location.row,
        "columnnumber": diagnostic.location.column,
        "code": diagnostic.code,
    }
    listed = "".join(f"{key}={_property(str(value))};" for key, value in properties.items())
    text = diagnostic.text + (f"\n  help: {diagnostic.help}" if diagnostic.help else "")
    return f"##vso[task.logissue {listed}]{_data(text)}\n"


def _data(text: str) -> str:
    """Escape what would end a command, or steer the terminal on which the log is read."""
    return printable_lines(text).replace("%", "%AZP25").replace("\n", "%0A")


def _property(text: str) -> str:
    """Escape what would end a command or a property."""
    return _data(text).replace("]", "%5D").replace(";", "%3B")
