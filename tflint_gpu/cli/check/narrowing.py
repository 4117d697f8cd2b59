"""Which findings `check` reports and fixes: those on lines that changed, and those that no baseline knows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from tflint_gpu.catalogue import UNREADABLE_FILE
from tflint_gpu.lazy_dataclasses import dataclass
from tflint_gpu.reports import View
from tflint_gpu.reports.summary import plural
from tflint_gpu.settings.config import SettingsResolver
from tflint_gpu.settings.selection import known_codes

if TYPE_CHECKING:
    from tflint_gpu.diagnostics import Diagnostic
    from tflint_gpu.narrowing.baselines import Baseline, Entry
    from tflint_gpu.narrowing.changes import ChangedLines
    from tflint_gpu.text.source import SourceFile

Sources: TypeAlias = "Mapping[str, SourceFile]"
"""Texts that are not (or differently) on the disk, by the names that reports use."""


@dataclass(frozen=True, slots=True)
class Narrowing:
    """What narrows a run's findings down; nothing, unless options or settings say so.

    Arguments:
        resolver: gives the settings of each file.
        places: files and directories that are checked.
        changed: report only lines that changed.
        baseline: do not report what it lists.
    """

    resolver: SettingsResolver
    places: tuple[Path, ...]
    changed: ChangedLines | None = None
    baseline: Baseline | None = None

    @classmethod
    def prepare(
        cls,
        resolver: SettingsResolver,
        places: Sequence[Path],
        files: Iterable[Path],
        revision: str | None,
        baseline: Path | None,
    ) -> Narrowing:
        """Ask git, and read the baseline.

        Raises:
            GitError: what changed cannot be known.
            BaselineError: the baseline cannot be read.
        """
        known = changed = None
        if baseline is not None:
            from tflint_gpu.narrowing.baselines import Baseline

            known = Baseline.read(baseline)
        if revision is not None:
            from tflint_gpu.narrowing.changes import ChangedLines

            changed = ChangedLines.since(revision, resolver.working_directory)
            changed.must_hold(files)
        return cls(resolver, tuple(place.resolve() for place in places), changed, known)

    def narrow(self, diagnostics: Sequence[Diagnostic], sources: Sources) -> list[Diagnostic]:
        """What a run reports and fixes, in the order in which it was found."""
        here = self.resolver.working_directory
        if self.baseline is not None:
            diagnostics = self.baseline.match(diagnostics, here, View(here, sources=sources).line).new
        if self.changed is not None:
            diagnostics = self.changed.touched(
                diagnostics, here, {name: source.encode() for name, source in sources.items()}
            )
        return list(diagnostics)

    def gone(self, diagnostics: Sequence[Diagnostic], sources: Sources) -> list[Entry]:
        """What the baseline knows, but this run should have found and did not."""
        if self.baseline is None:
            return []
        here = self.resolver.working_directory
        unmet = self.baseline.match(diagnostics, here, View(here, sources=sources).line).unmet
        unread = self._unread(diagnostics)
        return [entry for entry in unmet if self._is_gone(self.baseline, entry, unread)]

    def write_baseline(self, path: Path, diagnostics: Sequence[Diagnostic]) -> str:
        """Add what was found, and drop what is gone; returns a message for the user.

        Raises:
            BaselineError: the file is something else than a baseline, or cannot be written.
        """
        from tflint_gpu.narrowing.baselines import Baseline

        here = self.resolver.working_directory
        unread = self._unread(diagnostics)
        before = Baseline.to_renew(path)
        after = before.renewed(diagnostics, here, View(here).line, lambda entry: self._is_gone(before, entry, unread))
        after.write()
        added = len({*after.entries} - {*before.entries})
        dropped = len({*before.entries} - {*after.entries})
        return f"{path.name}: {plural(len(after.entries), 'known problem')} ({added} added, {dropped} dropped)."

    def _unread(self, diagnostics: Iterable[Diagnostic]) -> set[Path]:
        """Files that could not be analysed, so that nothing else was found in them."""
        here = self.resolver.working_directory
        return {
            (here / diagnostic.filename).resolve() for diagnostic in diagnostics if diagnostic.code == UNREADABLE_FILE
        }

    def _is_gone(self, baseline: Baseline, entry: Entry, unread: set[Path]) -> bool:
        """Whether this run would have found it if it were still there."""
        path = baseline.file_of(entry).resolve()
        if not path.exists() or entry.code not in {UNREADABLE_FILE, *known_codes()}:
            return True
        if path in unread or not any(place in (path, *path.parents) for place in self.places):
            return False
        settings = self.resolver.for_file(path)
        selected = settings.selection.codes_for(path)
        if entry.code == UNREADABLE_FILE:
            return True
        from tflint_gpu.rule import load

        rules = load([entry.code])
        if settings.gpu_memory is None and any(rule.needs_gpu_memory for rule in rules):
            return False
        if entry.code in selected.by_full_code:
            return True
        return entry.code in selected.codes and not any(rule.opt_in for rule in rules)
