"""How diagnostics are shown: one module a format, each with a function `render`.

A format gets diagnostics in the order in which they are to be shown, and a `View` of the world around
them; it returns text and touches no stream.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping, Sequence
from dataclasses import field
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from tflint_gpu.lazy_dataclasses import dataclass
from tflint_gpu.lazy_patterns import regex

if TYPE_CHECKING:
    from tflint_gpu.diagnostics import Diagnostic
    from tflint_gpu.text.source import SourceFile

# A document may be printed to a log in which Azure's agent and GitHub's runner look for commands, anywhere in a line.
# Such a bracket stands in a string, where it can be written so that only a reader of the document sees it.
_COMMAND = regex(r"(##(?:vso)?)\[")
_DOCUMENTS = ("json", "json-lines", "sarif", "gitlab", "rdjson")

__all__ = ["Render", "View", "renderer"]


@dataclass(slots=True)
class View:
    """What a format may know besides the diagnostics.

    Arguments:
        working_directory: what relative names of files start from.
        colour: whether colours can be seen.
        unsafe_fixes: whether unsafe fixes count as fixes.
        sources: texts that are not (or differently) on the disk, by the names that reports use.
        show_advice: whether equal advice is reported one by one.
        width: columns that a table may have.
    """

    working_directory: Path
    colour: bool = False
    unsafe_fixes: bool = False
    sources: Mapping[str, SourceFile] = field(default_factory=dict)
    show_advice: bool = False
    width: int = 120
    _read: dict[str, SourceFile | None] = field(default_factory=dict)

    def line(self, filename: str, row: int, cell: int = 0) -> str | None:
        """A row of a file, or of a notebook's cell; None if it cannot be read (any more)."""
        from tflint_gpu.diagnostics import Location

        source = self._source(filename)
        return None if source is None else source.shown_line(Location(row, 1, cell=cell))

    def text(self, filename: str) -> str | None:
        """The whole text of a file; None if it cannot be read (any more)."""
        source = self._source(filename)
        return None if source is None else source.text

    def _source(self, filename: str) -> SourceFile | None:
        if filename in self.sources:
            return self.sources[filename]
        if filename not in self._read:
            from tflint_gpu.text.decoding import decode_source
            from tflint_gpu.text.source import UnreadableSource

            path = self.working_directory / filename
            try:
                self._read[filename] = decode_source(path.read_bytes(), path, filename)
            except (OSError, UnreadableSource):
                self._read[filename] = None
        return self._read[filename]

    def absolute(self, filename: str) -> str:
        """The whole path of a file; standard input has none."""
        return filename if filename == "-" else str(self.working_directory / filename)

    def fix_mark(self, diagnostic: Diagnostic) -> str:
        """`[*] ` for a diagnostic that `--fix` would fix, else nothing."""
        fix = diagnostic.fix
        if fix is None or not fix.edits:
            return ""
        return "[*] " if fix.applicability == "safe" or self.unsafe_fixes else ""


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
