"""How diagnostics are shown: one module a format, each with a function `render`.

A format gets diagnostics in the order in which they are to be shown, and a `View` of the world around
them; it returns text and touches no stream.
"""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

from tflint_gpu.lazy_patterns import regex

if TYPE_CHECKING:
    from tflint_gpu.diagnostics import Diagnostic
    from tflint_gpu.reports import View

# A document may be printed to a log in which Azure's agent and GitHub's runner look for commands, anywhere in a line.
# Such a bracket stands in a string, where it can be written so that only a reader of the document sees it.
_COMMAND = regex(r"(##(?:vso)?)\[")
_DOCUMENTS = ("json", "json-lines", "sarif", "gitlab", "rdjson")

__all__ = ["Render", "renderer"]


class Render(Protocol):
    """What each format's module offers as `render`."""

    def __call__(self, diagnostics: Sequence[Diagnostic], view: View) -> str:
        """The diagnostics as text; empty, or ending with a newline."""


def renderer(output_format: str) -> Render:
    """The function of a format, which is imported now."""
    render: Render = importlib.import_module(f"{__name__}.{output_format.replace('-', '_')}").render
    if output_format not in _DOCUMENTS:
        return render

    def without_commands(diagnostics: Sequence[Diagnostic], view: View) -> str:
        return _COMMAND.sub(r"\1\\u005b", render(diagnostics, view))

    return without_commands
