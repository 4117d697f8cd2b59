"""What reports of all kinds are made of: places, summaries, advice, estimates; `formats` has the formats of `check`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from pathlib import Path
from typing import TYPE_CHECKING

from tflint_gpu.lazy_dataclasses import dataclass

if TYPE_CHECKING:
    from tflint_gpu.diagnostics import Diagnostic
    from tflint_gpu.text.source import SourceFile


@dataclass(slots=True)
class View:
    """What a format may know besides the diagnostics.

    Arguments:
        working_directory: what relative names of files start from.
        colour: whether colours can be seen.
        links: whether a code can be clicked.
        unsafe_fixes: whether unsafe fixes count as fixes.
        sources: texts that are not (or differently) on the disk, by the names that reports use.
        show_advice: whether each place of a finding for a whole project is listed.
        width: columns that a table may have.
    """

    working_directory: Path
    colour: bool = False
    unsafe_fixes: bool = False
    sources: Mapping[str, SourceFile] = field(default_factory=dict)
    show_advice: bool = False
    width: int = 120
    links: bool = False
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
        if fix is None or fix.is_untried:
            return ""
        return "[*] " if fix.applicability == "safe" or self.unsafe_fixes else ""

    def mark(self, diagnostic: Diagnostic) -> str:
        """The same, or `[ ] ` for a diagnostic that may have a fix."""
        is_untried = diagnostic.fix is not None and diagnostic.fix.is_untried
        return "[ ] " if is_untried else self.fix_mark(diagnostic)
