"""What the files of one run of flake8 share in one process; imported when the first file needs it."""

from __future__ import annotations

import gc
import os
import sys
from argparse import Namespace
from collections.abc import Iterator, Sequence
from dataclasses import field, replace
from functools import cached_property
from pathlib import Path

from tflint_gpu.checking.engine import Engine, FileResult
from tflint_gpu.checking.engine.collector import collector_held_off
from tflint_gpu.checking.importers import Importers
from tflint_gpu.checking.stack import with_large_stack
from tflint_gpu.lazy_dataclasses import dataclass
from tflint_gpu.reports.display import printable
from tflint_gpu.rule import UNREADABLE_FILE
from tflint_gpu.settings.config import SettingsResolver
from tflint_gpu.settings.files import Discovery, FileToCheck, common_folder
from tflint_gpu.settings.options import SettingsError, parse_options
from tflint_gpu.text.bytesearch import NOTEBOOK_ENDING
from tflint_gpu.text.source import SourceFile, encoded
from tflint_gpu.text.suppressions import Suppressions

_STANDARD_INPUT = "-"


@dataclass(frozen=True)
class Flake8Run:
    """Checks the files that flake8 comes with, and those that import them if they are in the same run.

    flake8 wants the findings that lie in a file. `check` also finds them while it checks another
    file, which uses what this one defines; so that file is checked here, too, and remembered.

    Arguments:
        options: flake8's own.
        discovery: describes files.
        engine: checks, and leaves `# noqa` to flake8.
    """

    options: Namespace
    discovery: Discovery
    engine: Engine
    _results: dict[Path, FileResult] = field(default_factory=dict)

    @classmethod
    def under(cls, options: Namespace, asked_for: Sequence[str]) -> Flake8Run:
        """A run with the options of flake8.

        Arguments:
            options: flake8's, with those of the plugin.
            asked_for: codes and prefixes to check besides those that the settings select.

        Raises:
            SettingsError: an option has a value that it may not have.
        """
        target = getattr(options, "tflint_target_tensorflow", None)
        config = getattr(options, "tflint_config", None)
        isolated = getattr(options, "tflint_isolated", False)
        if config is not None and isolated:
            raise SettingsError("--tflint-config and --tflint-isolated cannot be combined")
        table = {} if target is None else {"target-tensorflow": target}
        overrides = replace(parse_options(table, "--tflint-target-tensorflow"), extend_select=tuple(asked_for))
        here = Path.cwd()
        resolver = SettingsResolver(overrides, None if config is None else here / config, isolated, here)
        engine = Engine(
            resolver, here, ignore_noqa=True, predicts_by_size=False, tries_fixes=False, shares_process=True
        )
        return cls(options, Discovery(resolver, here), engine)

    def check_settings(self) -> None:
        """Read the settings that hold here. Raises SettingsError if they are wrong."""
        self.discovery.resolver.for_directory(self.discovery.working_directory)

    def findings(self, filename: str, text: str) -> list[tuple[int, int, str]]:
        """Row and column (from 1) of each finding in a file, and its code and message.

        Raises:
            SettingsError: a settings file is wrong.
        """
        return with_large_stack(lambda: list(self._findings(filename, text)))

    def _findings(self, filename: str, text: str) -> Iterator[tuple[int, int, str]]:
        here = self.discovery.working_directory
        path = Path(os.path.normpath(here / filename))
        if path.suffix == NOTEBOOK_ENDING:  # JSON, which may happen to be Python as well
            return
        file = self._described(path, filename, text)
        own = self._check(file)
        importing = [] if file.content is not None else [self._check(other) for other in self._importers.of(path)]
        diagnostics = {
            diagnostic.sort_key: diagnostic
            for result in (own, *importing)
            for diagnostic in result.diagnostics
            if here / diagnostic.filename == path
        }
        comments = Suppressions(SourceFile(path, filename, text))
        for remaining in diagnostics.values():
            if getattr(self.options, "disable_noqa", False) or not comments.hides_everywhere(remaining):
                yield (
                    remaining.location.row,
                    remaining.location.column,
                    f"{remaining.code} {printable(remaining.message)}",
                )
        for error in own.errors:
            reason = printable(error.detail.strip().rpartition("\n")[2])
            yield 1, 1, f"{UNREADABLE_FILE} {error.rule} failed on this file; please report it: {reason}"

    def _described(self, path: Path, filename: str, text: str) -> FileToCheck:
        if path in self._files:
            return self._files[path]
        if _STANDARD_INPUT in self._arguments and filename == self.options.stdin_display_name:
            return self.discovery.describe(path, self._fallback, encoded(text))
        return self.discovery.describe(path, self._fallback)

    def _check(self, file: FileToCheck) -> FileResult:
        if file.path not in self._results:
            are_new = "libcst" not in sys.modules
            with collector_held_off():
                self._results[file.path] = self.engine.check(file)
                if are_new and "libcst" in sys.modules:
                    gc.freeze()  # modules stay until the end; else the collector searches them, at the end once more
        return self._results[file.path]

    @cached_property
    def _arguments(self) -> list[str]:
        return list(getattr(self.options, "filenames", None) or ["."])

    @cached_property
    def _paths(self) -> list[Path]:
        """The paths that flake8 is to check; it reports missing ones itself."""
        here = self.discovery.working_directory
        paths = [Path(os.path.normpath(here / name)) for name in self._arguments if name != _STANDARD_INPUT]
        return [path for path in paths if path.exists()]

    @cached_property
    def _fallback(self) -> Path:
        return common_folder(self._paths or [self.discovery.working_directory])

    @cached_property
    def _files(self) -> dict[Path, FileToCheck]:
        """The files of the run as `check` would find them; none for a single file, which an editor checks."""
        if len(self._paths) < 2 and not any(path.is_dir() for path in self._paths):
            return {}
        return {file.path: file for file in self.discovery.find([str(path) for path in self._paths])}

    @cached_property
    def _importers(self) -> Importers:
        return Importers(self.engine, self._files.values())
