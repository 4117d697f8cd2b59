"""Files x rules -> diagnostics. Knows no rule, prints nothing, and survives all input.

The way of a file: bytes, whether they mention TensorFlow (`FileToCheck.may_matter`), the text, the selected rules,
those of them whose required substrings occur, the model (which refuses what would crash the parser), the findings,
their positions, the suppressions. What a step rules out, the following ones never see. Nothing imports libcst or a
rule before the bytes of some file mention TensorFlow: a run without such a file costs no import of them.
"""

from __future__ import annotations

import gc
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from tflint_gpu.catalogue import rule_words, with_package
from tflint_gpu.checking.engine.collector import collector_held_off
from tflint_gpu.checking.engine.findings import findings_of
from tflint_gpu.checking.engine.loaded_rules import LoadedRules, trace_of
from tflint_gpu.checking.engine.placement import UNPLACED, Place, noted, placed, placing_once
from tflint_gpu.checking.engine.prefilter import rules_that_apply, rules_that_may_fire
from tflint_gpu.checking.engine.projects import Projects
from tflint_gpu.dependencies import Dependencies, State, digest_of, stamp_of
from tflint_gpu.diagnostics import Diagnostic, InternalError, Location, Related
from tflint_gpu.lazy_dataclasses import dataclass
from tflint_gpu.rule import UNREADABLE_FILE
from tflint_gpu.settings.config import SettingsResolver
from tflint_gpu.settings.files import FileToCheck, is_excluded, shown_name
from tflint_gpu.settings.selection import Selected
from tflint_gpu.targets import Pins, Target, memory_size, target_of_notebook
from tflint_gpu.text.bytesearch import NOTEBOOK_ENDING
from tflint_gpu.text.decoding import decode_source
from tflint_gpu.text.magics import parse
from tflint_gpu.text.source import SourceFile, UnreadableSource
from tflint_gpu.text.suppressions import Suppressions, noqa_row

if TYPE_CHECKING:
    from tflint_gpu import rule as rules_api
    from tflint_gpu.model import Model, Project, Sources
    from tflint_gpu.rule import Finding, Rule

UsedSuppression = tuple[str, int]
"""A code in a comment that suppressed a finding: the name of its file, and where it starts in the text."""

_NOT_OURS = (KeyboardInterrupt, SystemExit, GeneratorExit)
_SWEEP_AFTER = 2 << 20


@dataclass(frozen=True, slots=True)
class FileResult:
    """What came of one file. A diagnostic may lie in another file that the check led to.

    Arguments:
        bounds: of the inference, those that were met; beyond them nothing is known.
        used_suppressions: the codes in comments that suppressed a finding.
        warnings: what is wrong with comments of the file that were meant to suppress something.
        is_whole: whether all of the file was checked by all rules that it selects.
    """

    file: FileToCheck
    diagnostics: tuple[Diagnostic, ...] = ()
    errors: tuple[InternalError, ...] = ()
    bounds: tuple[str, ...] = ()
    used_suppressions: tuple[UsedSuppression, ...] = ()
    is_whole: bool = True
    warnings: tuple[str, ...] = ()


@dataclass(slots=True)
class Engine:
    """Checks files one after another, and remembers projects and targets between them.

    Arguments:
        resolver: gives the settings of files that a check leads to.
        working_directory: what names in reports are relative to.
        rules: instances to run instead of the catalogue's.
        use_cache: note what results rest on, so that they can be kept.
        ignore_noqa: report what comments suppress, too.
        sources: gives the bytes and trees of the projects' files, if not the disk and the parser.
        keeps_files: no file's tree is let go: what `findings` gives is used when other files have been checked.
        predicts_by_size: whether the sizes of steps narrow predictions, which takes as long as many rules.
        tries_fixes: whether fixes are made that take longer than the check; else a finding says that it may have one.
        shares_process: other tools run in this process, too, so nothing is changed that they might use.
    """

    resolver: SettingsResolver
    working_directory: Path
    rules: Sequence[Rule] | None = None
    use_cache: bool = False
    ignore_noqa: bool = False
    sources: Sources | None = None
    keeps_files: bool = False
    predicts_by_size: bool = True
    tries_fixes: bool = True
    shares_process: bool = False
    _projects: Projects = field(init=False)
    _targets: dict[tuple[str | None, Path | None, str | None, Path], Target] = field(default_factory=dict)
    _pins: Pins = field(default_factory=Pins)
    _loaded: LoadedRules = field(init=False)
    _states: dict[str, State] = field(default_factory=dict)
    _unswept: int = 0

    def __post_init__(self) -> None:
        self._projects = Projects(self.sources, self.keeps_files, self.use_cache)
        self._loaded = LoadedRules(self.resolver, self.rules, self.shares_process)

    def check(self, file: FileToCheck) -> FileResult:
        """Check one file, for the settings of all files in which something is found.

        Raises nothing but KeyboardInterrupt and the like.
        """
        return self.wanted(self.examine(file))

    def examine(self, file: FileToCheck) -> FileResult:
        """Check one file; what other files' settings do not want is still reported."""
        stamp = stamp_of(str(file.path)) if self.use_cache else None
        try:
            data = file.read()
        except OSError as error:
            reason = UnreadableSource(f"cannot be read: {error.strerror or error}")
            return FileResult(file, (unreadable(file.name, reason),), is_whole=False)
        if self.use_cache:
            self._states[str(file.path)] = State(digest_of(data), stamp)
        if not file.may_matter(data):
            return FileResult(file)
        with collector_held_off():
            result = self._check_fresh(file, data)
        if self._unswept > _SWEEP_AFTER:  # for who holds the collector off for many files
            self._unswept = 0
            gc.collect(1)  # what is older than the last sweep stays
        return result

    def wanted(self, result: FileResult) -> FileResult:
        """A result with those diagnostics that the settings of their files want."""
        return replace(result, diagnostics=self.reported(result.diagnostics)) if result.diagnostics else result

    def new_dependencies(self) -> Dependencies:
        """What the results rest on, as far as that was not reported before."""
        asked: dict[str, set[str]] = {}
        states: dict[str, State] = {}
        for dependency in self._projects.new_dependencies():
            states.update(dependency.states)
            for asker, paths in dependency.asked.items():
                asked.setdefault(asker, set()).update(paths)
        states.update(self._states)
        self._states = {}
        return Dependencies(asked, states)

    def _check_fresh(self, file: FileToCheck, data: bytes) -> FileResult:
        errors: list[InternalError] = []
        source: SourceFile | None = None
        try:
            source = decode_source(data, file.path, file.name)
            self._unswept += len(source.code)
            rules = self._rules_that_may_fire(file, source, data, errors)
            if not rules and (self._ignores_refusals(file) or self._parses(source)):
                return FileResult(file, (), tuple(errors), is_whole=not errors)
            model = self._model(file, source)
        except (UnreadableSource, RecursionError) as error:
            if isinstance(error, RecursionError):
                error = UnreadableSource("is nested too deeply to be analysed")
            return FileResult(file, self._refused(file, source, [error]), tuple(errors), is_whole=False)
        except BaseException as error:  # a panic in the parser is no Exception
            if isinstance(error, _NOT_OURS):
                raise
            errors.append(InternalError(file.name, "model", trace_of(error)))
            return FileResult(file, (), tuple(errors), is_whole=False)
        try:
            return self._answered(file, rules, model, errors)
        finally:
            model.close()

    def _rules_that_may_fire(
        self, file: FileToCheck, source: SourceFile, data: bytes, errors: list[InternalError]
    ) -> list[Rule]:
        """The selected rules for which a file is worth a model; only those are loaded of which it is known."""
        candidates = self._loaded.candidates(file.path, file.name, errors)
        passing = rules_that_may_fire(candidates, source, source.searched(data), self._project_of(file))
        return self._loaded.of([candidate.code for candidate in passing], file.path, file.name, errors)

    def _parses(self, source: SourceFile) -> bool:
        """Whether Python reads a file that no rule asks about."""
        try:
            parse(source.code)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return False
        return not source.refusals

    def _ignores_refusals(self, file: FileToCheck) -> bool:
        return UNREADABLE_FILE not in self.selected(file.path).codes

    def _model(self, file: FileToCheck, source: SourceFile) -> Model:
        """The model of a file that was read; the only place that opens one.

        Raises:
            UnreadableSource: the file does not parse.
        """
        from tflint_gpu.model import Model

        project, parts, fixes = self._project_of(file), self.predicts_by_size, self.tries_fixes
        return Model.open(source, project, predicts_by_size=parts, tries_fixes=fixes)

    def _project_of(self, file: FileToCheck) -> Project:
        return self._projects.of(file.root, self.target_for(file))

    def _answered(
        self, file: FileToCheck, rules: Sequence[Rule], model: Model, errors: list[InternalError]
    ) -> FileResult:
        """What the rules have to say of one file."""
        try:
            findings, used_suppressions = self._run(rules, model, file.name, errors)
        except UnreadableSource as error:  # libcst, which knows the places of findings, reads it otherwise than Python
            return FileResult(file, self._refused(file, model.source, [error]), tuple(errors), is_whole=False)
        refused = self._refused(file, model.source, model.source.refusals)
        diagnostics = tuple(sorted((*refused, *findings), key=lambda diagnostic: diagnostic.sort_key))
        bounds, is_whole = tuple(sorted(map(str, model.inference.bounds_met))), not errors and not model.source.refusals
        warnings = tuple(f"{file.name}:{warning}" for warning in Suppressions(model.source).warnings(rule_words()))
        return FileResult(file, diagnostics, tuple(errors), bounds, used_suppressions, is_whole, warnings)

    def _refused(
        self, file: FileToCheck, source: SourceFile | None, reasons: Iterable[UnreadableSource]
    ) -> tuple[Diagnostic, ...]:
        """Why a file, or cells of a notebook, could not be analysed, unless a comment suppresses that: one diagnostic.

        A notebook with gaps for its readers to fill would else drown what is said of its other cells.
        """
        comments = None if source is None or self.ignore_noqa else Suppressions(source)
        refused = [unreadable(file.name, reason) for reason in reasons]
        told = [diagnostic for diagnostic in refused if comments is None or not comments.hides(diagnostic)]
        if len(told) < 2:
            return tuple(told)
        first, *others = told
        related = tuple(Related(cell.filename, cell.location, cell.end_location, cell.message) for cell in others)
        cells = "another cell does" if len(others) == 1 else f"{len(others)} other cells do"
        return (replace(first, message=f"{first.message}; {cells} not parse either", related=related),)

    def findings(self, file: FileToCheck) -> list[tuple[Rule, Finding, Diagnostic, Model]]:
        """What the rules find in one file, with the syntax nodes that `check` drops; nothing is cached.

        Raises:
            UnreadableSource: the file does not parse.
            OSError: it cannot be read.
        """
        data = file.read()
        if not file.may_matter(data):
            return []
        source = decode_source(data, file.path, file.name)
        rules = self._rules_that_may_fire(file, source, data, [])
        if not rules:
            return []
        model = self._model(file, source)
        findings = [
            (rule, finding, self.diagnostic(rule, finding))
            for rule in rules_that_apply(rules, model)
            for finding in findings_of(rule, model)
        ]
        return [
            (rule, finding, diagnostic, model)
            for rule, finding, diagnostic in findings
            if self.reported([diagnostic]) and not Suppressions(finding.file.source).hides(diagnostic)
        ]

    def model_of(self, file: FileToCheck) -> Model | None:
        """The model of a file that mentions TensorFlow; None for others.

        Raises:
            UnreadableSource: the file does not parse.
            OSError: it cannot be read.
        """
        data = file.read()
        return self._model(file, decode_source(data, file.path, file.name)) if file.may_matter(data) else None

    def _run(
        self, rules: Iterable[Rule], model: Model, name: str, errors: list[InternalError]
    ) -> tuple[tuple[Diagnostic, ...], tuple[UsedSuppression, ...]]:
        """What all rules find in one model, and what suppressed the rest. One that fails is reported."""
        diagnostics: dict[tuple[str, Location, str, str], Diagnostic] = {}
        used_suppressions: set[UsedSuppression] = set()
        suppressions: dict[Path, Suppressions] = {}
        place = placing_once()
        for rule in rules_that_apply(rules, model):
            try:
                for finding in findings_of(rule, model):
                    diagnostic = self.diagnostic(rule, finding, place)
                    source = finding.file.source
                    comments = suppressions.setdefault(source.path, Suppressions(source))
                    if self.ignore_noqa or not comments.hides(diagnostic):
                        diagnostics.setdefault(diagnostic.sort_key, diagnostic)
                    else:
                        used_suppressions.update(
                            (diagnostic.filename, at) for at in comments.suppressing_codes(diagnostic)
                        )
            except BaseException as error:
                if isinstance(error, (*_NOT_OURS, UnreadableSource)):
                    raise
                errors.append(InternalError(name, with_package(rule.code), trace_of(error)))
        return tuple(diagnostics[key] for key in sorted(diagnostics)), tuple(sorted(used_suppressions))

    def diagnostic(self, rule: Rule, finding: rules_api.Finding, place: Place = placed) -> Diagnostic:
        """A finding with positions instead of nodes."""
        source = finding.file.source
        start, end = finding.file.span(finding.node)
        location = source.locate(start)
        fix = None if finding.fix is None else place(finding.fix, finding.file)
        lost = (UNPLACED,) if fix is None and finding.fix is not None else ()
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
            related=(
                *(noted(note, self._name) for note in finding.notes),
                *(Related(self._name(source), location, source.locate(end), text) for text in lost),
            ),
            of_project=rule.once_a_project,
            fix=fix,
        )

    def _name(self, source: SourceFile) -> str:
        """The name of a file in reports: the project may have opened it under another one."""
        if source.path.is_absolute():
            return shown_name(source.path, self.working_directory)
        return source.name

    def reported(self, diagnostics: Iterable[Diagnostic]) -> tuple[Diagnostic, ...]:
        """Those that the settings of the file in which they lie want, with the links and fixes that these ask for."""
        placed = [(diagnostic, self.working_directory / diagnostic.filename) for diagnostic in diagnostics]
        wanted = [
            (diagnostic, self.resolver.for_file(path))
            for diagnostic, path in placed
            if self._wants(path, diagnostic.code)
        ]
        return tuple(
            replace(
                diagnostic,
                url=settings.link(diagnostic.code),
                severity=settings.severity_of(diagnostic.code) or diagnostic.severity,
                fix=settings.fix_of(diagnostic.code, diagnostic.fix),
            )
            for diagnostic, settings in wanted
        )

    def _wants(self, path: Path, code: str) -> bool:
        return code in self.selected(path).codes and not is_excluded(path, self.resolver)

    def selected(self, path: Path) -> Selected:
        """The rules that the settings select for a file."""
        return self._loaded.selected(path)

    def import_rules(self, file: FileToCheck) -> None:
        """Import the rules that a file needs, and the model, before they are needed."""
        self._loaded.all_of(file.path, file.name)

    def forget_files(self) -> None:
        """Drop what is known of the projects' files, which may have changed; settings and targets stay."""
        self._projects.forget()

    def target_for(self, file: FileToCheck) -> Target:
        """The TensorFlow that a file is meant for."""
        settings, memory = file.settings, file.settings.gpu_memory
        question = (settings.target_tensorflow, settings.target_folder, memory, file.path.parent)
        if question not in self._targets:
            target = self._pins.target(settings.target_tensorflow, file.path.parent, settings.target_folder)
            self._targets[question] = replace(target, gpu_memory=None if memory is None else memory_size(memory))
        target = self._targets[question]
        own = self._pinned_by(file) if target.source != "settings" else None
        return target if own is None else replace(own, gpu_memory=target.gpu_memory)

    def _pinned_by(self, file: FileToCheck) -> Target | None:
        """The TensorFlow that a notebook installs for itself."""
        if not file.name.endswith(NOTEBOOK_ENDING):
            return None
        try:
            return target_of_notebook(file.read(), file.path.name)
        except OSError:
            return None

    def reasons_for_tensorflow_1(self, files: Iterable[FileToCheck]) -> Counter[str]:
        """What makes files code for TensorFlow 1, and how many of them."""
        old: Counter[tuple[Target, Path | None]] = Counter()
        for file in files:
            target = self.target_for(file)
            if target.tensorflow < (2, 0):
                old[target, None if target.source.endswith(NOTEBOOK_ENDING) else file.path.parent] += 1
        reasons: Counter[str] = Counter()
        for (target, folder), count in old.items():
            reasons[self._reason(target, folder)] += count
        return reasons

    def _reason(self, target: Target, folder: Path | None) -> str:
        if folder is None:
            return "what the notebook's own cells install"
        return self._pins.reason(target, folder, lambda path: shown_name(path, self.working_directory))

    def imports_of(self, path: Path, file: FileToCheck) -> tuple[Path, ...]:
        """The files that the imports of a path name, a file to check or one that its own imports lead to."""
        project = self._project_of(file)
        if path != file.path:
            return project.imports_of(path)
        try:
            data = file.read()
            return project.imports_of(path, decode_source(data, path, file.name).searched(data))
        except (OSError, UnreadableSource):
            return ()


@dataclass(frozen=True, slots=True)
class Batch:
    """What came of some files, and what is new of that on which it rests."""

    results: tuple[FileResult, ...]
    dependencies: Dependencies = field(default_factory=Dependencies)

    @classmethod
    def of(cls, engine: Engine, files: Iterable[FileToCheck]) -> Batch:
        """Check files; their results are not yet what other files' settings want."""
        results = tuple(engine.examine(file) for file in files)
        return cls(results, engine.new_dependencies() if engine.use_cache else Dependencies())


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
