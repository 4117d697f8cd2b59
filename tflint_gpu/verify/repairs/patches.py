"""Repairs put into the user's files, one after the other: what they change in each, and how it is written."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from itertools import pairwise
from pathlib import Path

from tflint_gpu.checking.engine import Engine
from tflint_gpu.checking.fixes import FixError, conflict, difference, is_still_there, must_parse, write, written
from tflint_gpu.diagnostics import Edit
from tflint_gpu.lazy_dataclasses import dataclass
from tflint_gpu.settings.files import FileToCheck
from tflint_gpu.text.decoding import decode_source
from tflint_gpu.text.source import SourceFile, UnreadableSource
from tflint_gpu.verify.repairs.repairs import Repair
from tflint_gpu.verify.slicing.pieces import FileEdits


class NotApplicable(Exception):
    """A repair that cannot be put into the files; the text says why, as a sentence without a full stop."""


@dataclass(frozen=True, slots=True)
class Patch:
    """What all repairs change in one file.

    Arguments:
        name: of the file.
        repairs: those that change it.
        difference: a unified diff; of a notebook, one of each cell.
    """

    name: str
    repairs: tuple[Repair, ...]
    difference: str


@dataclass(slots=True)
class Patches:
    """The files with the repairs that go together.

    Arguments:
        files: those that may be changed, by their paths: what was checked.
        make_engine: checks the patched text; it must know nothing of the files yet.
    """

    files: Mapping[Path, FileToCheck]
    make_engine: Callable[[], Engine]
    _edits: dict[Path, list[Edit]] = field(default_factory=dict)
    _original: dict[Path, SourceFile] = field(default_factory=dict)
    _patched: dict[Path, SourceFile] = field(default_factory=dict)
    _repairs: list[Repair] = field(default_factory=list)

    def add(self, repair: Repair) -> None:
        """Put a repair into the files, in memory.

        Raises:
            NotApplicable: a file has changed meanwhile, an earlier repair touches the same code, or the patched file
                would not parse or would have a finding more.
        """
        new = {path: self._with(path, change) for path, change in repair.files.items()}
        for path, (_, text) in new.items():
            self._must_be_no_worse(path, text, repair.verification.case.diagnostic.code)
        for path, (edits, text) in new.items():
            self._edits[path], self._patched[path] = edits, text
        self._repairs.append(repair)

    def by_file(self) -> Iterator[Patch]:
        """One patch a file, with all repairs that were put into it."""
        for path, text in self._patched.items():
            repairs = tuple(repair for repair in self._repairs if path in repair.files)
            yield Patch(self.files[path].name, repairs, difference(self._original[path], text))

    def _with(self, path: Path, change: FileEdits) -> tuple[list[Edit], SourceFile]:
        """A file's edits with some more, and its text with all of them."""
        original = self._as_it_is(path, change.source)
        accepted = self._edits.get(path, [])
        new = [edit for edit in change.edits if edit not in accepted]
        if not all(is_still_there(edit, original) for edit in new):
            raise NotApplicable("its edits would cross the border of two cells")
        if conflict(new, accepted):
            raise NotApplicable("a fix above changes the same code: apply that one and run verify again")
        edits = [*accepted, *new]
        ordered = sorted(edits, key=lambda edit: (edit.start, edit.end))
        if any(edit.end > other.start for edit, other in pairwise(ordered)):
            raise NotApplicable("its edits overlap")
        try:
            return edits, written(original, ordered)
        except UnreadableSource as error:  # a notebook whose cells cannot be distinguished any more
            raise NotApplicable(str(error)) from error

    def _as_it_is(self, path: Path, source: SourceFile) -> SourceFile:
        """The file on the disk, if it still is the one that was checked."""
        if path not in self.files:
            raise NotApplicable(f"it changes {source.name}, which is not among the checked files")
        if path not in self._original:
            try:
                now = decode_source(self.files[path].read(), path, source.name)
            except (OSError, UnreadableSource) as error:
                raise NotApplicable(f"{source.name} can no longer be read: {error}") from error
            if not source.equals(now):
                raise NotApplicable(f"{source.name} has changed since it was checked: run verify again")
            self._original[path] = source
        return self._original[path]

    def _current(self, path: Path) -> SourceFile:
        return self._patched.get(path, self._original[path])

    def _must_be_no_worse(self, path: Path, text: SourceFile, code: str) -> None:
        before = self._current(path)
        try:
            must_parse(text, [code], len(before.refusals))
            text.encode()
        except FixError as error:
            raise NotApplicable(str(error)) from error
        except UnicodeEncodeError as error:
            raise NotApplicable(f"it cannot be written as {text.encoding}: {error.reason}") from error
        more = self._codes(path, text) - self._codes(path, before)
        if more:
            raise NotApplicable(f"the patched file would have another {', '.join(sorted(more))}")

    def _codes(self, path: Path, source: SourceFile) -> Counter[str]:
        file = replace(self.files[path], content=source.encode())
        diagnostics = self.make_engine().check(file).diagnostics
        return Counter(diagnostic.code for diagnostic in diagnostics if diagnostic.filename == file.name)

    def apply(self) -> tuple[Sequence[str], Sequence[str]]:
        """Write the patched files, each whole or not at all; return their names, and why others were not written."""
        names, failures = [], []
        for path, source in self._patched.items():
            name = self.files[path].name
            try:
                write(source, path, self._original[path].encode())
                names.append(name)
            except FixError:
                failures.append(f"{name} was left unchanged, because it was edited after the check")
            except OSError as error:
                failures.append(f"{name} was left unchanged: {error.strerror or error}")
        return names, failures
