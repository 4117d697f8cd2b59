"""Comments that suppress nothing, reported when everything that they could suppress has been looked for.

What a comment suppresses may show only while another file is checked, which uses what its file defines. So nothing is
said before the files that import it have been checked too, and nothing while one of them, or what it imports, cannot
be read: then it is not known what there is to suppress.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import field, replace
from functools import cached_property
from pathlib import Path

from tflint_gpu.checking.engine import Engine, FileResult
from tflint_gpu.checking.importers import Importers, reached
from tflint_gpu.diagnostics import Diagnostic, Fix
from tflint_gpu.lazy_dataclasses import dataclass
from tflint_gpu.lazy_patterns import regex
from tflint_gpu.rule import UNREADABLE_FILE, UNUSED_SUPPRESSION, entries, load
from tflint_gpu.settings.files import Discovery, FileToCheck, NoSuchPath
from tflint_gpu.settings.options import SettingsError
from tflint_gpu.settings.selection import known_codes
from tflint_gpu.text.decoding import decode_source
from tflint_gpu.text.magics import parse
from tflint_gpu.text.source import SourceFile, UnreadableSource
from tflint_gpu.text.suppressions import Directive, Suppressions, WrittenCode, removal

_OURS = regex(r"TFG\d+")
_WORDS = regex(rb"noqa[^\r\n]*(?:TFG|-)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class _Unused:
    """The codes of one comment that do nothing, by the reason."""

    directive: Directive
    idle: tuple[WrittenCode, ...] = ()
    unknown: tuple[WrittenCode, ...] = ()
    repeated: tuple[WrittenCode, ...] = ()

    @property
    def codes(self) -> tuple[WrittenCode, ...]:
        return (*self.idle, *self.unknown, *self.repeated)


@dataclass
class UnusedSuppressions:
    """Looks at the files of one run, after their check.

    Arguments:
        engine: which has checked them.
        files: of the run, also those in which nothing could be found.
        results: what came of them.
    """

    engine: Engine
    files: Sequence[FileToCheck]
    results: Sequence[FileResult]
    _importers: dict[Path, Importers] = field(default_factory=dict)
    _importing: dict[Path, FileResult] = field(default_factory=dict)
    _broken: dict[Path, bool] = field(default_factory=dict)

    @cached_property
    def candidates(self) -> list[FileToCheck]:
        """The files that ask for this and have a comment with one of our codes."""
        if self.engine.ignore_noqa:
            return []
        asking = {id(file.settings): file.settings.selection.names(UNUSED_SUPPRESSION) for file in self.files}
        return [file for file in self.files if asking[id(file.settings)] and self._has_comment(file)]

    def added(self) -> list[FileResult]:
        """The results with what was found, in the order of the files."""
        known = {result.file.path: result for result in self.results}
        for file in self.candidates:
            unused = self.found_in(file)
            if unused:
                before = known.get(file.path, FileResult(file))
                diagnostics = sorted((*before.diagnostics, *unused), key=lambda diagnostic: diagnostic.sort_key)
                known[file.path] = replace(before, diagnostics=tuple(diagnostics))
        self.engine.forget_files()
        return [known[file.path] for file in self.files if file.path in known]

    def found_in(self, file: FileToCheck) -> list[Diagnostic]:
        """The comments of one file that suppress nothing."""
        try:
            source = decode_source(file.read(), file.path, file.name)
        except (OSError, UnreadableSource):
            return []
        comments = Suppressions(source)
        directives = comments.directives
        if not any(self._unused(directives, file)):  # as far as this run tells
            return []
        importing = self._importers_of(file)
        if importing is None:
            return []
        self._check(importing)
        if self._is_any_broken([file, *importing]):
            return []
        unused = [self._diagnostic(directive, source) for directive in self._unused(directives, file)]
        return [diagnostic for diagnostic in self.engine.reported(unused) if not comments.hides(diagnostic)]

    def _unused(self, directives: Sequence[Directive], file: FileToCheck) -> Iterator[_Unused]:
        used = {place for result in self._all_results for place in result.used_suppressions}
        asked = self._asked(file)
        for directive in directives:
            if any(UNUSED_SUPPRESSION.startswith(code.text) for code in directive.codes):
                continue  # it suppresses what would be said of it
            names = [code.text for code in directive.codes]
            ours = [
                (place, code)
                for place, code in enumerate(directive.codes)
                if _OURS.fullmatch(code.text) or code.text in self._names
            ]
            repeated = tuple(code for place, code in ours if code.text in names[:place])
            rest = [code for _, code in ours if code not in repeated]
            unknown = tuple(code for code in rest if not self._meant(code))
            idle = tuple(
                code
                for code in rest
                if code not in unknown and self._meant(code) <= asked and (file.name, code.start) not in used
            )
            if repeated or unknown or idle:
                yield _Unused(directive, idle, unknown, repeated)

    def _meant(self, code: WrittenCode) -> frozenset[str]:
        """The rules that a code or prefix means."""
        name = self._names.get(code.text, code.text)
        return frozenset(known for known in self._known if known.startswith(name))

    @cached_property
    def _names(self) -> dict[str, str]:
        """The rules' codes by their names."""
        return {rule.name: rule.code for rule in self.engine.rules or entries()}

    @cached_property
    def _known(self) -> list[str]:
        rules = self.engine.rules
        return [UNREADABLE_FILE, *(known_codes() if rules is None else (rule.code for rule in rules))]

    def _asked(self, file: FileToCheck) -> frozenset[str]:
        """The rules that were asked about a file, and could answer."""
        selected = self.engine.selected(file.path)
        codes = {code for code in selected.codes if code in selected.by_full_code or code not in self._opt_in}
        if self.engine.target_for(file).gpu_memory is None:
            codes -= {rule.code for rule in self.engine.rules or load(codes) if rule.needs_gpu_memory}
        return frozenset(codes)

    @cached_property
    def _opt_in(self) -> frozenset[str]:
        return frozenset(rule.code for rule in self.engine.rules or entries() if rule.opt_in)

    @property
    def _all_results(self) -> list[FileResult]:
        return [*self.results, *self._importing.values()]

    # The files around

    def _importers_of(self, file: FileToCheck) -> list[FileToCheck] | None:
        """The files of the project that import a file; None if that cannot be said, or they see another text of it."""
        if file.root not in self._importers:
            known = {file.path: file for file in self.files}
            discovery = Discovery(self.engine.resolver, self.engine.working_directory)
            try:
                around = {neighbour.path: neighbour for neighbour in discovery.find([str(file.root)])} | known
            except (SettingsError, NoSuchPath):  # of a part of the project that nobody asked about
                return None
            self._importers[file.root] = Importers(self.engine, around.values())
        importing = self._importers[file.root].of(file.path)
        if importing and file.content is not None and self.engine.sources is None:
            return None
        return importing

    def _check(self, files: Sequence[FileToCheck]) -> None:
        """Check what this run has not."""
        checked = {result.file.path for result in self._all_results}
        for file in files:
            if file.path not in checked:
                self._importing[file.path] = self.engine.check(file)

    def _is_any_broken(self, files: Sequence[FileToCheck]) -> bool:
        """Whether one of the files, or of those that they import, could not be checked as a whole."""
        results = {result.file.path: result for result in self._all_results}
        return any(
            not results[path].is_whole if path in results else self._does_not_parse(path)
            for path, _ in reached(self.engine, files)
        )

    def _does_not_parse(self, path: Path) -> bool:
        if path not in self._broken:
            try:
                parse(decode_source(path.read_bytes(), path).code)
                self._broken[path] = False
            except (OSError, UnreadableSource, SyntaxError, ValueError, RecursionError, MemoryError):
                self._broken[path] = True
        return self._broken[path]

    # What is reported

    @staticmethod
    def _has_comment(file: FileToCheck) -> bool:
        try:
            return _WORDS.search(file.read()) is not None
        except OSError:
            return False

    def _diagnostic(self, unused: _Unused, source: SourceFile) -> Diagnostic:
        directive = unused.directive
        location = source.locate(directive.start)
        edit = removal(source, directive, unused.codes)
        whole = len(unused.codes) == len(directive.codes)
        rule = load([UNUSED_SUPPRESSION])[0]
        return Diagnostic(
            code=UNUSED_SUPPRESSION,
            name=rule.name,
            message=_message(unused),
            filename=source.name,
            location=location,
            end_location=source.locate(directive.end),
            noqa_row=location.row,
            severity=rule.severity,
            help="remove the comment" if whole else f"remove {_listed(unused.codes)} from the comment",
            fix=None if edit is None else Fix("Remove the unused suppression", "safe", (edit,)),
        )


def _message(unused: _Unused) -> str:
    where = "comment for the whole file" if unused.directive.whole_file else "`noqa` comment"
    parts = []
    if unused.idle:
        parts.append(f"{_listed(unused.idle)} in this {where} {_verb(unused.idle, 'suppress')} nothing")
    if unused.unknown:
        noun = "is not the code of a rule" if len(unused.unknown) == 1 else "are not codes of a rule"
        parts.append(f"{_listed(unused.unknown)} in this {where} {noun}")
    if unused.repeated:
        parts.append(f"{_listed(unused.repeated)} {_verb(unused.repeated, 'appear')} in this {where} already")
    return "; ".join(parts)


def _verb(codes: Sequence[WrittenCode], verb: str) -> str:
    return f"{verb}{'es' if verb.endswith('ss') else 's'}" if len(codes) == 1 else verb


def _listed(codes: Sequence[WrittenCode]) -> str:
    *others, last = (f"`{code.text}`" for code in codes)
    return f"{', '.join(others)} and {last}" if others else last
