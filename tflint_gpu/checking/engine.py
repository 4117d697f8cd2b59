"""Files x rules -> diagnostics. Knows no rule, prints nothing, and survives all input.

The way of a file: bytes, the search for the words, the cache, the text, the rules whose byte
strings occur, the model (which refuses what would crash the parser), the findings, their
positions, the suppressions. Whatever a step can rule out, the following ones never see; nothing
before the rules are asked for their byte strings imports libcst or a rule.
"""

from __future__ import annotations

import gc
import traceback
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from tflint_gpu.checking.cache import Cache, rules_fingerprint
from tflint_gpu.diagnostics import Diagnostic, Edit, Fix, InternalError, Location, Related
from tflint_gpu.rule import UNREADABLE_FILE, load
from tflint_gpu.settings.config import SettingsResolver
from tflint_gpu.settings.files import FileToCheck, is_excluded, shown_name
from tflint_gpu.settings.selection import Selected, known_codes
from tflint_gpu.targets import Target, find_target, memory_size
from tflint_gpu.text.decoding import decode_source
from tflint_gpu.text.source import SourceFile, UnreadableSource, is_test_path
from tflint_gpu.text.suppressions import Suppressions, noqa_row

if TYPE_CHECKING:
    from tflint_gpu import rule as rules_api
    from tflint_gpu.model import Model, Project, Sources
    from tflint_gpu.model.python.file import File
    from tflint_gpu.rule import Finding, Rule

_NOT_OURS = (KeyboardInterrupt, SystemExit, GeneratorExit)
_SWEEP_AFTER = 64 << 20


@dataclass(frozen=True, slots=True)
class FileResult:
    """What came of one file. A diagnostic may lie in another file that the check led to.

    Arguments:
        bounds: of the inference, those that were met; behind them nothing is known.
    """

    file: FileToCheck
    diagnostics: tuple[Diagnostic, ...] = ()
    errors: tuple[InternalError, ...] = ()
    bounds: tuple[str, ...] = ()


@dataclass(slots=True)
class Engine:
    """Checks files one after another, and remembers projects and targets between them.

    Arguments:
        resolver: gives the settings of files that a check leads to.
        working_directory: what names in reports are relative to.
        rules: instances to run instead of the catalogue's.
        use_cache: look results up and store them.
        ignore_noqa: report what comments silence, too.
        sources: gives the bytes and trees of the projects' files, if not the disk and the parser.
    """

    resolver: SettingsResolver
    working_directory: Path
    rules: Sequence[Rule] | None = None
    use_cache: bool = False
    ignore_noqa: bool = False
    sources: Sources | None = None
    _projects: dict[tuple[Path, Target], Project] = field(default_factory=dict)
    _targets: dict[tuple[str | None, Path], Target] = field(default_factory=dict)
    _selected: dict[Path, Selected] = field(default_factory=dict)
    _loaded: dict[str, Rule | InternalError] = field(default_factory=dict)
    _unswept: int = 0

    def check(self, file: FileToCheck) -> FileResult:
        """Check one file. Raises nothing but KeyboardInterrupt and the like."""
        try:
            data = file.read()
        except OSError as error:
            reason = UnreadableSource(f"cannot be read: {error.strerror or error}")
            return FileResult(file, self._allowed([unreadable(file.name, reason)]))
        if not file.may_matter(data):
            return FileResult(file)
        with collector_held_off():
            result = self._check_data(file, data)
        self._unswept += len(data)
        if self._unswept > _SWEEP_AFTER:  # for who holds the collector off for many files
            self._unswept = 0
            gc.collect()
        return FileResult(file, self._allowed(result.diagnostics), result.errors, result.bounds)

    def _check_data(self, file: FileToCheck, data: bytes) -> FileResult:
        selected = self._codes_for(file.path)
        target = self.target_for(file)
        cache = self._cache_for(file)
        key = ""
        if cache is not None:
            codes = sorted(selected.codes), sorted(selected.by_full_code)
            key = cache.key(data, str(file.path), file.name, str(file.root), codes, target, rules_fingerprint())
            known = cache.load(file.path, key)
            if known is not None:
                return FileResult(file, known)
        result = self._check_fresh(file, data, selected, target)
        if cache is not None and not result.errors:
            consulted = self._project_for(file.root, target).consulted_by(file.path)
            cache.store(file.path, key, result.diagnostics, consulted)
        return result

    def _check_fresh(self, file: FileToCheck, data: bytes, selected: Selected, target: Target) -> FileResult:
        errors: list[InternalError] = []
        source: SourceFile | None = None
        try:
            source = decode_source(data, file.path, file.name)
            data = source.searched(data)
            project = self._project_for(file.root, target)
            rules = rules_that_may_fire(self._rules_for(selected, file.name, errors), source, data, project)
            if not rules:
                return FileResult(file, (), tuple(errors))
            from tflint_gpu.model import Model

            model = Model.open(source, project)
        except (UnreadableSource, RecursionError) as error:
            if isinstance(error, RecursionError):
                error = UnreadableSource("is nested too deeply to be analysed")
            return FileResult(file, self._refused(file, source, [error]), tuple(errors))
        except BaseException as error:  # a panic in the parser is no Exception
            if isinstance(error, _NOT_OURS):
                raise
            errors.append(InternalError(file.name, "model", traceback.format_exc()))
            return FileResult(file, (), tuple(errors))
        refused = self._refused(file, model.source, model.source.refusals)
        diagnostics = (*refused, *self._run(rules, model, file.name, errors))
        bounds = tuple(sorted(model.inference.bounds_met))
        return FileResult(file, tuple(sorted(diagnostics, key=lambda one: one.sort_key)), tuple(errors), bounds)

    def _refused(
        self, file: FileToCheck, source: SourceFile | None, reasons: Iterable[UnreadableSource]
    ) -> tuple[Diagnostic, ...]:
        """Why a file, or parts of it, could not be analysed, unless a comment silences that."""
        comments = None if source is None or self.ignore_noqa else Suppressions(source)
        found = (unreadable(file.name, reason) for reason in reasons)
        return tuple(one for one in found if comments is None or not comments.hides(one))

    def findings(self, file: FileToCheck) -> list[tuple[Rule, Finding, Diagnostic, Model]]:
        """What the rules find in one file, with the syntax nodes that `check` leaves behind; nothing is cached.

        Raises:
            UnreadableSource: the file does not parse.
            OSError: it cannot be read.
        """
        data = file.read()
        if not file.may_matter(data):
            return []
        source = decode_source(data, file.path, file.name)
        data = source.searched(data)
        target = self.target_for(file)
        project = self._project_for(file.root, target)
        rules = rules_that_may_fire(self._rules_for(self._codes_for(file.path), file.name, []), source, data, project)
        if not rules:
            return []
        from tflint_gpu.model import Model

        model = Model.open(source, project)
        found = [
            (rule, finding, self.diagnostic(rule, finding))
            for rule in rules_that_apply(rules, model)
            for finding in rule.check(model)
        ]
        return [
            (rule, finding, diagnostic, model)
            for rule, finding, diagnostic in found
            if self._allowed([diagnostic]) and not Suppressions(finding.file.source).hides(diagnostic)
        ]

    def model_of(self, file: FileToCheck) -> Model | None:
        """The model of a file that mentions TensorFlow; None for others and where it does not parse."""
        data = file.read()
        if not file.may_matter(data):
            return None
        from tflint_gpu.model import Model

        try:
            project = self._project_for(file.root, self.target_for(file))
            return Model.open(decode_source(data, file.path, file.name), project)
        except (UnreadableSource, RecursionError):
            return None

    def _run(
        self, rules: Iterable[Rule], model: Model, name: str, errors: list[InternalError]
    ) -> tuple[Diagnostic, ...]:
        """All rules on one model. One that fails is told of, and the others go on."""
        found: dict[tuple[str, Location, str, str], Diagnostic] = {}
        suppressions: dict[Path, Suppressions] = {}
        for rule in rules_that_apply(rules, model):
            try:
                for finding in rule.check(model):
                    diagnostic = self.diagnostic(rule, finding)
                    source = finding.file.source
                    comments = suppressions.setdefault(source.path, Suppressions(source))
                    if self.ignore_noqa or not comments.hides(diagnostic):
                        found.setdefault(diagnostic.sort_key, diagnostic)
            except BaseException as error:
                if isinstance(error, _NOT_OURS):
                    raise
                errors.append(InternalError(name, rule.code, traceback.format_exc()))
        return tuple(found[key] for key in sorted(found))

    def diagnostic(self, rule: Rule, finding: rules_api.Finding) -> Diagnostic:
        """A finding with positions instead of nodes."""
        source = finding.file.source
        start, end = finding.file.span(finding.node)
        location = source.locate(start)
        related = []
        for note in finding.notes:
            first, last = note.file.span(note.node)
            where = note.file.source
            related.append(Related(self._name(where), where.locate(first), where.locate(last), note.message))
        return Diagnostic(
            code=rule.code,
            name=rule.name,
            message=finding.message,
            filename=self._name(source),
            location=location,
            end_location=source.locate(end),
            noqa_row=location.row + noqa_row(source, row := source.row(start)) - row,
            severity=finding.severity or rule.severity,
            prediction=finding.prediction,
            help=finding.help,
            related=tuple(related),
            fix=None if finding.fix is None else placed(finding.fix, finding.file),
        )

    def _name(self, source: SourceFile) -> str:
        """The name of a file in reports: the project may have opened it under another one."""
        if source.path.is_absolute():
            return shown_name(source.path, self.working_directory)
        return source.name

    def _allowed(self, diagnostics: Iterable[Diagnostic]) -> tuple[Diagnostic, ...]:
        """Without those that the settings of the file in which they lie do not want."""
        return tuple(one for one in diagnostics if self._wants(self.working_directory / one.filename, one.code))

    def _wants(self, path: Path, code: str) -> bool:
        return code in self._codes_for(path).codes and not is_excluded(path, self.resolver)

    def _codes_for(self, path: Path) -> Selected:
        if path not in self._selected:
            known = known_codes() if self.rules is None else [rule.code for rule in self.rules]
            self._selected[path] = self.resolver.for_file(path).selection.codes_for(path, known)
        return self._selected[path]

    def _rules_for(self, selected: Selected, name: str, errors: list[InternalError]) -> Iterator[Rule]:
        """The selected rules, imported when first needed."""
        for code in sorted(selected.codes - {UNREADABLE_FILE}):
            rule = self._loaded.get(code)
            if rule is None:
                rule = self._loaded[code] = self._load(code, name)
            if isinstance(rule, InternalError):
                errors.append(rule)  # the same for each file; told once, and no result is cached
            elif not rule.opt_in or code in selected.by_full_code:
                yield rule

    def _load(self, code: str, name: str) -> Rule | InternalError:
        try:
            return next(rule for rule in self.rules or load([code]) if rule.code == code)
        except Exception:
            return InternalError(name, code, traceback.format_exc())

    def import_rules(self, file: FileToCheck) -> None:
        """Import the rules that a file needs, and the model, before they are needed."""
        for _ in self._rules_for(self._codes_for(file.path), file.name, []):
            pass

    def forget_files(self) -> None:
        """Drop what is known of the projects' files, which may have changed; settings and targets stay."""
        for project in self._projects.values():
            project.let_go()
        self._projects.clear()

    def target_for(self, file: FileToCheck) -> Target:
        """The TensorFlow that a file is meant for."""
        question = (file.settings.target_tensorflow, file.path.parent)
        if question not in self._targets:
            self._targets[question] = find_target(*question)
        memory = file.settings.gpu_memory
        return replace(self._targets[question], gpu_memory=None if memory is None else memory_size(memory))

    def imports_of(self, path: Path, file: FileToCheck) -> tuple[Path, ...]:
        """The files that the imports of a path name, a file to check or one that its own imports lead to."""
        project = self._project_for(file.root, self.target_for(file))
        if path != file.path:
            return project.imports_of(path)
        try:
            data = file.read()
            return project.imports_of(path, decode_source(data, path, file.name).searched(data))
        except (OSError, UnreadableSource):
            return ()

    def _project_for(self, root: Path, target: Target) -> Project:
        if (root, target) not in self._projects:
            from tflint_gpu.model import Project

            self._projects[root, target] = Project(root, target, self.sources)
        return self._projects[root, target]

    def _cache_for(self, file: FileToCheck) -> Cache | None:
        """None where results must not be kept: other rules than the catalogue's, standard input."""
        if not self.use_cache or self.rules is not None or self.ignore_noqa or file.content is not None:
            return None
        return Cache.below(file.settings.cache_dir, file.settings.base)


def rules_that_may_fire(rules: Iterable[Rule], source: SourceFile, data: bytes, project: Project) -> list[Rule]:
    """The rules for which a file is worth a parse.

    Arguments:
        data: the file's code, in which the rules' byte strings are looked for.
    """
    from tflint_gpu.model.tensorflow.graph_programs import surely_runs_in_graphs

    found = [rule for rule in rules if may_fire(rule, data, source.path, project)]
    if any(rule.skips_graphs for rule in found) and not source.refusals and surely_runs_in_graphs(source.code):
        found = [rule for rule in found if not rule.skips_graphs]
    return found


def rules_that_apply(rules: Iterable[Rule], model: Model) -> list[Rule]:
    """The rules whose words hold for a program, as far as that is the same question for many of them."""
    if model.runtime.uses_another_backend:
        return [rule for rule in rules if not rule.skips_other_backends]
    return list(rules)


def may_fire(rule: Rule, data: bytes, path: Path, project: Project) -> bool:
    """Whether each group of the rule's byte strings has a member in the file, or in one it imports."""
    if rule.skips_tests and is_test_path(path):
        return False
    if rule.needs_gpu_memory and project.target.gpu_memory is None:
        return False
    if not all(any(marker in data for marker in group) for group in rule.markers):
        return False
    wanted = rule.near_markers
    if not wanted or any(marker in data for marker in wanted):
        return True
    return project.imports_mention(path, data, wanted)


def placed(fix: rules_api.Fix, file: File) -> Fix | None:
    """A fix with offsets instead of nodes; None if it spans cells of a notebook."""
    source = file.source
    edits = []
    for edit in fix.edits:
        start, end = file.span(edit.node)
        text = edit.text
        if edit.where == "below":
            start = end = source.end_of_line(end)
            if source.text[start - 1] not in "\r\n":  # the last line, without an end
                text = "\n" + text.rstrip("\n")
        elif edit.where == "after":
            start = end
        elif edit.where == "before":
            end = start
        edits.append(Edit(start, end, source.locate(start), source.locate(end), text))
    if edits and not source.is_writable(min(edit.start for edit in edits), max(edit.end for edit in edits)):
        return None
    return Fix(fix.message, fix.applicability, tuple(sorted(edits, key=lambda edit: (edit.start, edit.end))))


def unreadable(filename: str, reason: UnreadableSource) -> Diagnostic:
    """The diagnostic for a file that cannot be analysed."""
    return Diagnostic(
        code=UNREADABLE_FILE,
        name="unreadable-file",
        message=reason.message,
        filename=filename,
        location=reason.location,
        end_location=reason.location,
        noqa_row=reason.location.row,
        severity="error",
    )


@contextmanager
def collector_held_off() -> Iterator[None]:
    """No garbage collection meanwhile: it would search large trees for nothing (8% of a run, measured)."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()
