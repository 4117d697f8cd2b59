"""What `check --fix` and `check --diff` do between checking and reporting."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field, replace
from functools import partial

from tflint_gpu.checking.engine import Engine, FileResult
from tflint_gpu.checking.fixes import MAX_PASSES, FixError, difference, fix_source, wanted, write
from tflint_gpu.checking.stack import with_large_stack
from tflint_gpu.checking.workers import Elsewhere, check_files
from tflint_gpu.cli.check.reporting import each_once
from tflint_gpu.diagnostics import Diagnostic, InternalError
from tflint_gpu.lazy_dataclasses import dataclass
from tflint_gpu.reports.summary import plural
from tflint_gpu.settings.files import FileToCheck
from tflint_gpu.text.decoding import decode_source
from tflint_gpu.text.replacement import no_file_half_replaced
from tflint_gpu.text.source import SourceFile, UnreadableSource


@dataclass(slots=True)
class Fixing:
    """Checks and fixes files until nothing changes.

    Arguments:
        make_engine: a new engine for each round; an engine remembers what it read of other files.
        narrow: keeps the diagnostics, in the files of given texts, that are to be reported.
        files: to check; no other file is changed.
        jobs: as `check_files` has it.
        unsafe: apply unsafe fixes too.
        dry: change nothing on the disk.
        tell: as `check_files` has it.
        texts: of the files that are not (or differently) on the disk; fixed, afterwards.
        results: what the last round found.
        fixed: the problems that were fixed.
        diffs: for each file that changed or would change.
        written: the files that have been changed on the disk.
        failures: files whose fixes could not be used.
        elsewhere, importing: as `check_files` has them.
    """

    make_engine: Callable[[], Engine]
    narrow: Callable[[Sequence[Diagnostic], Mapping[str, SourceFile]], list[Diagnostic]]
    files: Sequence[FileToCheck]
    jobs: int | None
    unsafe: bool
    dry: bool
    tell: Callable[[int, int], None] = lambda done, total: None
    texts: dict[str, SourceFile] = field(default_factory=dict)
    results: list[FileResult] = field(default_factory=list)
    fixed: list[Diagnostic] = field(default_factory=list)
    diffs: list[str] = field(default_factory=list)
    written: set[str] = field(default_factory=set)
    failures: list[InternalError] = field(default_factory=list)
    elsewhere: Elsewhere | None = None
    importing: Sequence[FileToCheck] = ()

    def run(self) -> None:
        """Run rounds: each fixes every file by itself; then other files may be affected, so again."""
        for _ in range(MAX_PASSES):
            engine = self.make_engine()
            self.results = self._checked(engine)
            if not self._round(engine) or self.dry:
                return
        self.results = self._checked(self.make_engine())

    def interrupted(self) -> str:
        """How many files were changed, after the last one is whole; none is changed afterwards."""
        with no_file_half_replaced():
            return f"Interrupted: fixed {plural(len(self.written), 'file')}."

    def _checked(self, engine: Engine) -> list[FileResult]:
        return check_files(engine, self.files, self.jobs, self.tell, self.elsewhere, self.importing)

    def _round(self, engine: Engine) -> bool:
        """Fix all files once; whether one changed."""
        failed = {failure.filename for failure in self.failures}
        diagnostics: dict[str, list[Diagnostic]] = {}
        for diagnostic in self.narrow(each_once(self.results), self.texts):
            if wanted(diagnostic, self.unsafe):
                diagnostics.setdefault(diagnostic.filename, []).append(diagnostic)
        work = [file for file in self.files if file.name in diagnostics and file.name not in failed]
        if not work:
            return False
        return with_large_stack(
            lambda: [self._fix(engine, file, diagnostics[file.name]) for file in work].count(True) > 0
        )

    def _fix(self, engine: Engine, file: FileToCheck, diagnostics: list[Diagnostic]) -> bool:
        def recheck(source: SourceFile) -> list[Diagnostic]:
            again = engine.check(replace(file, content=source.encode()))
            own = [diagnostic for diagnostic in again.diagnostics if diagnostic.filename == file.name]
            return self.narrow(own, {file.name: source})

        try:
            data = file.read()
            before = decode_source(data, file.path, file.name)
            outcome = fix_source(before, diagnostics, recheck, self.unsafe)
            if outcome.source.text == before.text:
                return False
            if file.content is not None:
                self.texts[file.name] = outcome.source
                self.files = [replace(file, content=outcome.source.encode())]
            elif not self.dry:
                write(outcome.source, file.path, data, partial(self.written.add, file.name))
        except (FixError, OSError, UnicodeEncodeError, UnreadableSource) as error:
            codes = ", ".join(sorted({diagnostic.code for diagnostic in diagnostics}))
            self.failures.append(InternalError(file.name, codes, f"not fixed: {error}"))
            return False
        self.fixed += outcome.fixed
        self.diffs.append(difference(before, outcome.source))
        return True
