"""Known findings, kept in a file, so that an old project gets new ones only.

They are matched by what they are about and not by their rows: `tflint_gpu.narrowing.fingerprints` says how.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from pathlib import Path, PurePath
from typing import Any

from tflint_gpu.diagnostics import Diagnostic
from tflint_gpu.lazy_dataclasses import dataclass
from tflint_gpu.narrowing.fingerprints import LineOf, fingerprints
from tflint_gpu.settings.options import SettingsError
from tflint_gpu.text.replacement import replace_file

VERSION = 1
"""Of the file's shape and of what goes into a fingerprint."""
_SHOWN = 100
_VERSION_KEY = "tflint-gpu-baseline"
_KEYS = ("file", "code", "line", "fingerprint")
_REMEDY = "restore it, or write another one with --write-baseline=FILE"


class BaselineError(SettingsError):
    """A baseline that cannot be read or written; the message names the file, the place and a way out."""


@dataclass(frozen=True, slots=True, order=True)
class Entry:
    """One known finding.

    Arguments:
        file: its file as seen from the baseline's directory, with `/`.
        code: of the rule.
        line: the start of its first row, for readers of the baseline.
        fingerprint: what it is matched by.
    """

    file: str
    code: str
    line: str
    fingerprint: str


@dataclass(frozen=True, slots=True)
class Matched:
    """Findings compared with a baseline: those that it does not know, and the entries that no finding met."""

    new: tuple[Diagnostic, ...]
    unmet: tuple[Entry, ...]


@dataclass(frozen=True, slots=True)
class Baseline:
    """The known findings of a project and the file in which they are kept."""

    path: Path
    entries: tuple[Entry, ...] = ()

    @classmethod
    def read(cls, path: Path) -> Baseline:
        """Read a baseline.

        Raises:
            BaselineError: it is not there, cannot be read or is no baseline.
        """
        try:
            data = path.read_bytes()
        except FileNotFoundError:
            raise BaselineError(f"{path}: the baseline does not exist; create it with --write-baseline") from None
        except OSError as error:
            raise BaselineError(f"{path}: the baseline cannot be read: {error.strerror or error}") from None
        document = _document(path, data)
        if document[_VERSION_KEY] != VERSION:
            raise BaselineError(
                f"{path}: the baseline has version {document[_VERSION_KEY]!r}, but version {VERSION} is needed; "
                "write it again with --write-baseline"
            )
        return cls(path, _entries(path, document))

    @classmethod
    def to_renew(cls, path: Path) -> Baseline:
        """What a new baseline starts from: the one that is there, or an empty one.

        Raises:
            BaselineError: what is there is something else, or broken; it is not to be overwritten.
        """
        try:
            if _document(path, path.read_bytes())[_VERSION_KEY] != VERSION:
                return cls(path)
        except FileNotFoundError:
            return cls(path)
        except IsADirectoryError:
            # The word after `--write-baseline` is its file, even where a path to check was meant.
            raise BaselineError(f"{path}: a directory, not a baseline; use --write-baseline=FILE") from None
        except OSError as error:
            raise BaselineError(f"{path}: the baseline cannot be written: {error.strerror or error}") from None
        return cls.read(path)

    def match(self, diagnostics: Sequence[Diagnostic], directory: Path, line_of: LineOf) -> Matched:
        """Tell known findings from new ones.

        Arguments:
            diagnostics: all of the files that they lie in.
            directory: what their relative names start from.
            line_of: the text of a row of a file, by the names that the diagnostics use.
        """
        seen = self._entries_for(diagnostics, directory, line_of)
        known = {entry.fingerprint for entry in self.entries}
        new = tuple(
            diagnostic for diagnostic, entry in zip(diagnostics, seen, strict=True) if entry.fingerprint not in known
        )
        met = {entry.fingerprint for entry in seen}
        return Matched(new, tuple(entry for entry in self.entries if entry.fingerprint not in met))

    def renewed(
        self,
        diagnostics: Sequence[Diagnostic],
        directory: Path,
        line_of: LineOf,
        is_gone: Callable[[Entry], bool],
    ) -> Baseline:
        """A baseline that knows these findings, and of the others those that are not gone."""
        entries = {entry.fingerprint: entry for entry in self._entries_for(diagnostics, directory, line_of)}
        kept = [entry for entry in self.entries if entry.fingerprint not in entries and not is_gone(entry)]
        return Baseline(self.path, tuple(sorted([*entries.values(), *kept])))

    def file_of(self, entry: Entry) -> Path:
        """The absolute path of the file that an entry is about."""
        return Path(os.path.normpath(self.path.parent / entry.file))

    def write(self) -> None:
        """Write the file, whole or not at all; for the same findings it is the same, byte by byte.

        Raises:
            BaselineError: it cannot be written; what was there is there still.
        """
        try:
            replace_file(self.path, self._as_json().encode("utf-8", "surrogateescape"))
        except OSError as error:
            raise BaselineError(f"{self.path}: the baseline cannot be written: {error.strerror or error}") from None

    def _entries_for(self, diagnostics: Sequence[Diagnostic], directory: Path, line_of: LineOf) -> list[Entry]:
        """An entry for each diagnostic, with names that do not depend on where the command was run."""
        names = {diagnostic.filename: self._name(directory / diagnostic.filename) for diagnostic in diagnostics}
        shown = {name: filename for filename, name in names.items()}
        moved = [replace(diagnostic, filename=names[diagnostic.filename]) for diagnostic in diagnostics]

        def line(name: str, row: int, cell: int) -> str | None:
            return line_of(shown[name], row, cell)

        marks = fingerprints(moved, line)
        first = [
            line(diagnostic.filename, diagnostic.location.row, diagnostic.location.cell) or "" for diagnostic in moved
        ]
        return [
            Entry(diagnostic.filename, diagnostic.code, text.strip()[:_SHOWN], mark)
            for diagnostic, text, mark in zip(moved, first, marks, strict=True)
        ]

    def _name(self, path: Path) -> str:
        try:
            name = os.path.relpath(path, self.path.parent)
        except ValueError:  # another drive
            name = str(path)
        return PurePath(name).as_posix()

    def _as_json(self) -> str:
        """One line an entry: so a finding more or less is one line in a diff."""
        lines = [json.dumps(asdict(entry), ensure_ascii=False) for entry in sorted(self.entries)]
        findings = ",".join(f"\n    {line}" for line in lines) + ("\n  " if lines else "")
        return f'{{\n  "{_VERSION_KEY}": {VERSION},\n  "findings": [{findings}]\n}}\n'


def _document(path: Path, data: bytes) -> dict[str, Any]:
    try:
        document = json.loads(data.decode("utf-8", "surrogateescape"))
    except (ValueError, RecursionError) as error:
        raise BaselineError(f"{path}: not a baseline: {_reason(error)}; {_REMEDY}") from None
    if not isinstance(document, dict) or _VERSION_KEY not in document:
        raise BaselineError(f"{path}: not a baseline: it lacks the key `{_VERSION_KEY}`; {_REMEDY}")
    return document


def _entries(path: Path, document: dict[str, Any]) -> tuple[Entry, ...]:
    findings = document.get("findings")
    if not isinstance(findings, list):
        raise BaselineError(f"{path}: `findings` must be a list; {_REMEDY}")
    return tuple(_entry(path, number, item) for number, item in enumerate(findings, start=1))


def _entry(path: Path, number: int, item: Any) -> Entry:
    if not isinstance(item, dict) or not all(isinstance(item.get(key), str) for key in _KEYS):
        raise BaselineError(f"{path}: finding {number} must have {', '.join(_KEYS)}, all strings; {_REMEDY}")
    return Entry(**{key: item[key] for key in _KEYS})


def _reason(error: Exception) -> str:
    if isinstance(error, json.JSONDecodeError):
        return f"line {error.lineno}, column {error.colno}: {error.msg}"
    return "nested too deeply" if isinstance(error, RecursionError) else str(error)
