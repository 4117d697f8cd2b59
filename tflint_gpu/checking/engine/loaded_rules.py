"""The rules that are selected for a file: what they require of it, and they themselves once they are needed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from tflint_gpu.catalogue import with_package
from tflint_gpu.diagnostics import InternalError
from tflint_gpu.plugins import WrongName, WrongPlugin, wrong_names
from tflint_gpu.requirements import Requirements, known_requirements
from tflint_gpu.rule import UNREADABLE_FILE, UNUSED_SUPPRESSION, load
from tflint_gpu.settings.config import SettingsResolver
from tflint_gpu.settings.selection import Selected, known_codes

if TYPE_CHECKING:
    from tflint_gpu.rule import Rule

_NO_RULES = frozenset([UNREADABLE_FILE, UNUSED_SUPPRESSION])


class LoadedRules:
    """Rules, each imported when it is first needed.

    Arguments:
        resolver: gives the settings of files.
        rules: instances instead of the catalogue's.
        shares_process: other tools run in this process, too.
    """

    def __init__(self, resolver: SettingsResolver, rules: Sequence[Rule] | None, shares_process: bool = False) -> None:
        self.resolver = resolver
        self.rules = rules
        self._shares_process = shares_process
        self._selected: dict[tuple[int, Path | None], Selected] = {}
        self._loaded: dict[str, Rule | InternalError] = {}

    def selected(self, path: Path) -> Selected:
        """The rules that the settings select for a file."""
        selection = self.resolver.for_file(path).selection
        question = (id(selection), path if selection.per_file_ignores else None)  # the resolver keeps the selection
        if question not in self._selected:
            known = known_codes() if self.rules is None else [UNUSED_SUPPRESSION, *(rule.code for rule in self.rules)]
            self._selected[question] = selection.codes_for(path, known)
        return self._selected[question]

    def candidates(self, path: Path, name: str, errors: list[InternalError]) -> list[Requirements | Rule]:
        """What the rules that are selected for a file require of it, which is mostly known without them."""
        known = {} if self.rules is not None else known_requirements()
        errors += [InternalError(name, f"the package {wrong.package}", wrong.mistake) for wrong in self._wrong_names]
        selected = self.selected(path)
        candidates: list[Requirements | Rule] = []
        for code in sorted(selected.codes - _NO_RULES):
            requirements = known.get(code)
            if requirements is None:
                candidates += self.of([code], path, name, errors)
            elif not requirements.opt_in or code in selected.by_full_code:
                candidates.append(requirements)
        return candidates

    def of(self, codes: Iterable[str], path: Path, name: str, errors: list[InternalError]) -> list[Rule]:
        """Some of the rules that are selected for a file; what fails on import is added to the errors."""
        by_full_code = self.selected(path).by_full_code
        rules = []
        for code in codes:
            rule = self._loaded.get(code)
            if rule is None:
                rule = self._loaded[code] = self._load(code, name)
            if isinstance(rule, InternalError):
                errors.append(rule)  # the same for each file; reported once, and no result is cached
            elif not rule.opt_in or code in by_full_code:
                rules.append(rule)
        return rules

    def all_of(self, path: Path, name: str) -> list[Rule]:
        """All rules that are selected for a file, but those that fail on import."""
        return self.of(sorted(self.selected(path).codes - _NO_RULES), path, name, [])

    @cached_property
    def _wrong_names(self) -> tuple[WrongName, ...]:
        return tuple(wrong_names()) if self.rules is None else ()

    def _load(self, code: str, name: str) -> Rule | InternalError:
        if not self._shares_process:
            from tflint_gpu.checking.engine.quick_nodes import quicken_nodes

            quicken_nodes()
        try:
            return next(rule for rule in self.rules or load([code]) if rule.code == code)
        except Exception as error:
            cause = error.__cause__ if isinstance(error, WrongPlugin) else None
            return InternalError(name, with_package(code), trace_of(cause or error))


def trace_of(error: BaseException) -> str:
    """An error with its traceback, as Python prints it."""
    import traceback

    return "".join(traceback.format_exception(error))
