"""What `check` prints at the end, and the exit code that says it in a number."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

import click

from tflint_gpu.cli.commands import FAILED, FOUND, coloured_patch, is_coloured, tell
from tflint_gpu.lazy_dataclasses import dataclass
from tflint_gpu.reports import View
from tflint_gpu.reports.advice import apart, once_a_project
from tflint_gpu.reports.display import printable, printable_lines
from tflint_gpu.reports.formats import renderer
from tflint_gpu.reports.summary import (
    by_severity,
    fix_summary,
    fixed_problems,
    of_tensorflow_1,
    plural,
    statistics,
    summary,
)
from tflint_gpu.settings.config import Settings

if TYPE_CHECKING:
    from tflint_gpu.checking.engine import FileResult
    from tflint_gpu.diagnostics import Diagnostic, InternalError
    from tflint_gpu.narrowing.baselines import Entry
    from tflint_gpu.settings.files import FileToCheck
    from tflint_gpu.text.source import SourceFile


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a run found and did.

    Arguments:
        found: what is to be reported, in order.
        errors: what failed.
        fixing: whether the run was to fix.
        fixed: what was fixed, or would be.
        diffs: for each file that changed or would change.
        sources: texts that are not (or differently) on the disk, by the names that reports use.
        gone: what the baseline knows and is no more.
        advice: what a report for people only counts.
        old: what makes files code for TensorFlow 1, and how many of them.
    """

    diagnostics: Sequence[Diagnostic]
    errors: Sequence[InternalError]
    fixing: bool = False
    fixed: Sequence[Diagnostic] = ()
    diffs: Sequence[str] = ()
    sources: Mapping[str, SourceFile] = field(default_factory=dict)
    gone: Sequence[Entry] = ()
    old: Mapping[str, int] = field(default_factory=dict)
    advice: Sequence[Diagnostic] = ()

    def of_projects(self, files: Iterable[FileToCheck]) -> Outcome:
        """The outcome in which what holds for a project is found once in it."""
        return replace(self, diagnostics=once_a_project(self.diagnostics, {file.name: file.root for file in files}))

    def for_people(self, is_asked_for: Callable[[Diagnostic], bool]) -> Outcome:
        """The outcome in which advice is only counted that nobody asked for."""
        listed, counted = apart(self.diagnostics, is_asked_for)
        return replace(self, diagnostics=listed, advice=counted)


@dataclass(frozen=True, slots=True)
class ReportOptions:
    """How the user wants the report: `check`'s options of the same names, and the settings."""

    output_format: str
    show_advice: bool
    show_fixes: bool
    unsafe_fixes: bool
    statistics: bool
    fix_only: bool
    exit_zero: bool
    exit_non_zero_on_fix: bool
    quiet: bool
    verbose: bool

    @classmethod
    def of(cls, given: Mapping[str, Any], settings: Settings) -> ReportOptions:
        """From the options as click has them."""
        names = ("statistics", "fix_only", "exit_zero", "exit_non_zero_on_fix", "quiet", "verbose")
        shown = (settings.output_format, settings.show_advice, settings.show_fixes, settings.unsafe_fixes)
        return cls(*shown, *(given[name] for name in names))


def each_once(results: Iterable[FileResult]) -> list[Diagnostic]:
    """All diagnostics in the order of a report; one that several files led to counts once, as its own file has it.

    The check of another file, which runs that code, has no fix for it.
    """
    diagnostics: dict[object, Diagnostic] = {}
    for result in results:
        for diagnostic in result.diagnostics:
            if diagnostic.filename == result.file.name or diagnostic.sort_key not in diagnostics:
                diagnostics[diagnostic.sort_key] = diagnostic
    return sorted(diagnostics.values(), key=lambda diagnostic: diagnostic.sort_key)


def report(outcome: Outcome, fails: bool, options: ReportOptions, here: Path, stream: TextIO) -> int:
    """Print the findings and return the exit code.

    Arguments:
        fails: whether one of the findings is as bad as `fail-on` has it.
    """
    from tflint_gpu.cli.check.progress import is_watched

    view = View(here, is_coloured(stream), options.unsafe_fixes, outcome.sources, options.show_advice)
    view.links = view.colour and is_watched(stream, os.environ)
    diagnostics, fixed = outcome.diagnostics, outcome.fixed
    is_for_people = options.output_format in ("full", "concise")
    lines = list(fixed_problems(fixed, view)) if options.show_fixes and is_for_people else []
    if options.fix_only:
        lines = lines or [fix_summary(len(fixed), dry=False)]  # the list says the number, too
    else:
        if options.statistics:
            stream.write(statistics((*diagnostics, *outcome.advice), view, options.output_format))
        else:
            stream.write(renderer(options.output_format)(diagnostics, view))
            if options.output_format == "markdown" and outcome.advice:
                stream.write(f"\n{by_severity(outcome.advice)}: `--show-advice` lists it.\n")
        if is_for_people:
            lines += summary(diagnostics, len(fixed), outcome.fixing, options.unsafe_fixes, outcome.advice)
            lines += of_tensorflow_1(outcome.old)
    if not options.quiet and not (outcome.errors and not diagnostics and not fixed):
        stream.write("".join(f"{line}\n" for line in lines))
    stream.flush()
    if not outcome.errors:  # else what is missing may be there still
        _tell_gone(outcome.gone, options)
    _tell_errors(outcome.errors, options.verbose)
    if outcome.errors:
        return FAILED
    if fixed and options.exit_non_zero_on_fix:
        return FOUND
    return FOUND if fails and not options.fix_only and not options.exit_zero else 0


def report_to_file(outcome: Outcome, fails: bool, options: ReportOptions, here: Path, path: Path) -> int:
    """Write the report to a file, whole or not at all, and return the exit code.

    Raises:
        click.ClickException: the file cannot be written.
    """
    from tflint_gpu.text.replacement import replace_file

    text = io.StringIO()
    code = report(outcome, fails, options, here, text)
    try:
        replace_file(path, text.getvalue().encode("utf-8", "backslashreplace"))
    except OSError as error:
        raise click.ClickException(f"--output-file {path}: {error.strerror or error}") from error
    return code


def add_noqa(outcome: Outcome, options: ReportOptions, here: Path) -> int:
    """Suppress all findings by comments, say how many there were, and return the exit code."""
    from tflint_gpu.checking.added_suppressions import add_suppressions

    done = add_suppressions(outcome.diagnostics, here)
    _tell_errors([*outcome.errors, *done.failures], options.verbose)
    for diagnostic in done.left:
        tell(
            f"warning: {diagnostic.filename}:{diagnostic.location.row}: {diagnostic.code} cannot be suppressed "
            "by a comment on that line"
        )
    if not options.quiet:
        tell(f"Suppressed {plural(len(done.suppressed), 'problem')}.")
    return FAILED if outcome.errors or done.failures else FOUND if done.left else 0


def show_diffs(outcome: Outcome, options: ReportOptions) -> int:
    """Print what fixes would change and return the exit code."""
    text = "".join(outcome.diffs)
    shown = printable_lines(text) if sys.stdout.isatty() else text  # a patch keeps every character
    sys.stdout.write(coloured_patch(shown, is_coloured()))
    _tell_errors(outcome.errors, options.verbose)
    if not options.quiet:
        tell(fix_summary(len(outcome.fixed), dry=True))
    return FAILED if outcome.errors else FOUND if outcome.diffs else 0


def tell_baseline(outcome: Outcome, options: ReportOptions, write: Callable[[], str]) -> int:
    """Write a baseline, unless a part of the work failed, and return the exit code."""
    _tell_errors(outcome.errors, options.verbose)
    if outcome.errors:
        tell("error: the baseline was not written, because the findings are incomplete")
        return FAILED
    message = write()
    if not options.quiet:
        tell(message)
    return 0


def _tell_errors(errors: Sequence[InternalError], verbose: bool) -> None:
    """What failed, each once."""
    for error in dict.fromkeys(errors):
        if error.detail.startswith("not fixed"):
            tell(f"error: {error.filename}: {error.rule} {error.detail}")
            continue
        last = error.detail.strip().rpartition("\n")[2]
        tell(f"error: {error.filename}: {error.rule} failed: {last}")
        if verbose:
            tell(error.detail)
        else:
            whom = " to the authors of the package" if " package " in error.rule else ""
            tell(f"  (please report this{whom} with the output of --verbose; the other results are complete)")


def _tell_gone(gone: Sequence[Entry], options: ReportOptions) -> None:
    if not gone or options.quiet:
        return
    exist, them = ("exists", "it") if len(gone) == 1 else ("exist", "them")
    tell(f"warning: {plural(len(gone), 'problem')} in the baseline no longer {exist}; --write-baseline removes {them}")
    if options.verbose:
        for entry in gone:
            tell(f"  {printable(entry.file)}: {entry.code} {printable(entry.line)}")
