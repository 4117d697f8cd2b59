"""`github`: workflow commands, which GitHub shows beside the lines of a pull request."""

from __future__ import annotations

from collections.abc import Sequence

from tflint_gpu.diagnostics import Diagnostic
from tflint_gpu.reports import View

_COMMANDS = {"error": "error", "warning": "warning", "advice": "notice"}


def render(diagnostics: Sequence[Diagnostic], view: View) -> str:
    """A command for each diagnostic."""
    return "".join(_command(diagnostic, view) for diagnostic in diagnostics)


def _command(diagnostic: Diagnostic, view: View) -> str:
    start, end = diagnostic.location, diagnostic.end_location
    properties = {
        "title": f"tflint-gpu ({diagnostic.code})",
        "file": view.absolute(diagnostic.filename),
        "line": start.row,
        "col": start.column,
        "endLine": end.row,
        "endColumn": end.column,
    }
    listed = ",".join(f"{key}={_property(str(value))}" for key, value in properties.items())
    text = f"{diagnostic.filename}:{start.row}:{start.column}: {diagnostic.code} {diagnostic.message}"
    if diagnostic.help:
        text += f"\n  help: {diagnostic.help}"
    return f"::{_COMMANDS[diagnostic.severity]} {listed}::{_data(text)}\n"


def _data(text: str) -> str:
    """Escape what would end a command."""
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    """Escape what would end a command or a property."""
    return _data(text).replace(":", "%3A").replace(",", "%2C")
