"""`tflint-gpu check`: find files, check them, fix them, report."""

from __future__ import annotations

import contextlib
import gc
import os
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tflint_gpu.cli.commands import GroupedCommand, tell
from tflint_gpu.cli.commands.settings_options import (
    config_option,
    overrides,
    refuse_isolated_config,
    setting_option,
    settings_file,
)
from tflint_gpu.lazy_dataclasses import dataclass
from tflint_gpu.settings.config import Settings, SettingsResolver
from tflint_gpu.settings.files import Discovery, FileToCheck, is_excluded

if TYPE_CHECKING:
    from tflint_gpu.checking.engine import Batch, Engine
    from tflint_gpu.checking.workers import Elsewhere
    from tflint_gpu.cli.check.narrowing import Narrowing
    from tflint_gpu.cli.check.reporting import Outcome
    from tflint_gpu.diagnostics import Diagnostic
    from tflint_gpu.text.source import SourceFile

_GROUPS = {
    "Rules": "select ignore extend_select extend_ignore per_file_ignores extend_per_file_ignores target_tensorflow"
    " gpu_memory",
    "Fixes": "fix unsafe_fixes diff fix_only fixable unfixable extend_fixable show_fixes",
    "Report": "output_format output_file show_advice statistics estimate verified measured fail_on exit_zero"
    " exit_non_zero_on_fix",
    "Which findings": "diff_base baseline no_baseline write_baseline add_noqa ignore_noqa",
    "Files and settings": "stdin_filename config isolated exclude extend_exclude respect_gitignore force_exclude"
    " show_files show_settings show_types",
    "How to check": "jobs executor no_cache cache_dir watch progress",
}


@click.command(cls=GroupedCommand, groups=_GROUPS, context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("paths", nargs=-1)
@setting_option("select")
@setting_option("ignore")
@setting_option("extend-select")
@setting_option("extend-ignore")
@setting_option("per-file-ignores")
@setting_option("extend-per-file-ignores")
@setting_option("fix")
@setting_option("unsafe-fixes")
@click.option("--diff", is_flag=True, help="Show what --fix would change, and change nothing.")
@click.option("--fix-only", is_flag=True, help="Apply fixes, but do not report the findings that are left.")
@setting_option("fixable")
@setting_option("unfixable")
@setting_option("extend-fixable")
@setting_option("output-format")
@click.option("-o", "--output-file", metavar="FILE", help="Write the report to this file, not to standard output.")
@setting_option("show-advice")
@setting_option("show-fixes")
@setting_option("progress")
@click.option("--statistics", is_flag=True, help="Count findings by rule.")
@click.option(
    "--diff-base",
    metavar="REV",
    help="Report only findings on lines changed since REV; `REV...` means the commit where HEAD branched off from REV.",
)
@setting_option("baseline")
@click.option("--no-baseline", is_flag=True, help="Also report findings that a baseline lists.")
@click.option(
    "--write-baseline",
    is_flag=False,
    flag_value="",
    metavar="[FILE]",
    help="Write the findings to the baseline and drop entries whose findings no longer exist.",
)
@click.option(
    "--estimate",
    is_flag=True,
    help="Sort findings by what their fixes gain: failures first, then time saved; with --measured, show how much.",
)
@click.option("--verified", metavar="FILE", help="Show what `verify --output-format json` measured for each finding.")
@click.option(
    "--measured", metavar="FILE", help="Show what each finding cost in a run, from `run --output-format json`."
)
@setting_option("target-tensorflow")
@setting_option("gpu-memory")
@click.option("--stdin-filename", metavar="NAME", help="The file name of standard input (-).")
@config_option
@click.option("--isolated", is_flag=True, help="Read no settings file.")
@setting_option("exclude")
@setting_option("extend-exclude")
@setting_option("respect-gitignore")
@setting_option("force-exclude")
@setting_option("jobs", "-j", type=click.IntRange(min=1))
@click.option(
    "--executor",
    type=click.Choice(["local", "ray"]),
    default="local",
    help="Check in processes on this machine, or on the Ray cluster at RAY_ADDRESS.",
)
@click.option("-n", "--no-cache", is_flag=True, help="Do not use the cache.")
@setting_option("cache-dir")
@click.option("--add-noqa", is_flag=True, help="Write a `# noqa` comment into the files for each finding.")
@click.option("--ignore-noqa", is_flag=True, help="Also report findings that `# noqa` comments suppress.")
@setting_option("fail-on")
@click.option("-e", "--exit-zero", is_flag=True, help="Exit with 0 even if there are findings.")
@click.option("--exit-non-zero-on-fix", is_flag=True, help="Exit with 1 if a fix was made.")
@click.option("--watch", is_flag=True, help="Check again whenever a file changes (needs the extra `watch`).")
@click.option("--show-files", is_flag=True, help="List the files that would be checked.")
@click.option(
    "--show-settings", is_flag=True, help="Show the settings of the first file as TOML, with the source of each."
)
@click.option(
    "--show-types",
    metavar="LINE",
    help="Print dtype, shape and elements of the tensors, datasets and models on this line, or on `all` lines.",
)
@click.option("-q", "--quiet", is_flag=True, help="Print findings only.")
@click.option("-v", "--verbose", is_flag=True, help="Also report times, and the limits at which the analysis stopped.")
def command(paths: tuple[str, ...], **given: Any) -> int:
    """Find mistakes in the TensorFlow code in PATHS (default: the current folder; - is standard input).

    Exit codes: 0 if there is nothing worse than advice (see --fail-on), 1 if there is, 2 if the check could not be
    done.
    """
    refuse_isolated_config(given)
    if given["quiet"] and given["verbose"]:
        raise click.UsageError("--quiet and --verbose cannot be combined")
    for option in ("fix", "fix_only", "diff", "write_baseline", "stdin_filename", "ignore_noqa", "output_file"):
        if given["add_noqa"] and given[option] not in (None, False):
            raise click.UsageError(f"--add-noqa and --{option.replace('_', '-')} cannot be combined")
    if given["add_noqa"] and "-" in paths:
        raise click.UsageError("--add-noqa and standard input (-) cannot be combined")
    if not given["watch"]:
        gc.disable()  # for a process that ends soon; the engine sweeps now and then
    if given["watch"]:
        from tflint_gpu.cli.check.watching import refuse_other_work, watch

        refuse_other_work(paths, given)
        given["jobs"] = 1  # no process should be forked while threads watch; what is unchanged is in the cache
        watch(Check(paths, given).run, paths or (".",))
    return Check(paths, given).run()


@dataclass(slots=True)
class Check:
    """One run of the command: the paths, and what click made of the options."""

    paths: tuple[str, ...]
    given: dict[str, Any]

    def run(self) -> int:
        """Do what the options say and return the exit code."""
        started = time.perf_counter()
        here = Path.cwd()
        config = settings_file(self.given, here)
        resolver = SettingsResolver(overrides(self.given), config, self.given["isolated"], here)
        settings = resolver.for_directory(here)
        discovery = Discovery(resolver, here)
        files = self._files(discovery)
        for warning in discovery.warnings:
            tell(f"warning: {warning}")
        if not files:
            tell("warning: No Python files found under the given path(s)")
        if self.given["show_files"]:
            click.echo("".join(f"{file.path}\n" for file in files), nl=False)
            return 0
        if self.given["show_settings"]:
            from tflint_gpu.settings.shown import shown

            directory = files[0].path.parent if files else here
            click.echo(shown(resolver, files[0].settings if files else settings, directory))
            return 0
        if self.given["show_types"] is not None:
            from tflint_gpu.cli.check.showing_types import show_types

            return show_types(resolver, files, self.given["show_types"])
        code = self._check(resolver, settings, files)
        if self.given["verbose"]:
            tell(f"{len(files)} files in {time.perf_counter() - started:.2f} s")
        return code

    def _files(self, discovery: Discovery) -> list[FileToCheck]:
        if "-" not in self.paths and self.given["stdin_filename"] is None:
            return discovery.find(self.paths or (".",))
        if set(self.paths) - {"-"}:
            raise click.UsageError("standard input (-) and other paths cannot be combined")
        here = discovery.working_directory
        path = Path(os.path.normpath(here / (self.given["stdin_filename"] or "-")))
        return [discovery.describe(path, here, sys.stdin.buffer.read())]

    def _check(self, resolver: SettingsResolver, settings: Settings, files: list[FileToCheck]) -> int:
        # Only now: `--help` and wrong options should not wait for these.
        from tflint_gpu.cli.check.reporting import (
            ReportOptions,
            add_noqa,
            report,
            report_to_file,
            show_diffs,
            tell_baseline,
        )

        given, here = self.given, resolver.working_directory
        stdin = files[0] if files and files[0].content is not None else None
        if stdin is not None and stdin.settings.force_exclude and is_excluded(stdin.path, resolver):
            files = []
        self._tell_needs(settings, here)
        to_write = self._baseline_to_write(settings, here)
        narrowing = self._narrowing(resolver, settings, files)
        # `fix = true` in the settings is not meant for a run that only shows differences or makes findings known.
        is_fixing = to_write is None and (given["diff"] or given["fix_only"] or settings.fix)
        outcome = self._measured(self._outcome(resolver, settings, files, narrowing, is_fixing))
        # A finding fails the run where it lies, whatever holds in the folder from which the run was started.
        fails = any(
            diagnostic.is_at_least(resolver.for_file(here / diagnostic.filename).fail_on)
            for diagnostic in outcome.diagnostics
        )
        options = ReportOptions.of(given, settings)
        if given["diff"]:
            return show_diffs(outcome, options)
        if given["add_noqa"]:
            return add_noqa(outcome, options, here)
        if is_fixing and stdin is not None:
            source = outcome.sources.get(stdin.name)
            sys.stdout.buffer.write((stdin.content or b"") if source is None else source.encode())
        if to_write is not None:
            return tell_baseline(outcome, options, lambda: narrowing.write_baseline(to_write, outcome.diagnostics))
        outcome = outcome.of_projects(files)
        if given["estimate"]:
            from tflint_gpu.cli.check.estimating import in_order

            outcome = in_order(outcome, resolver, files, here, self.paths)
        if settings.output_format in ("full", "concise", "markdown"):
            outcome = outcome.for_people(partial(_is_asked_for, resolver, here))
        # With fixes, standard output is for the fixed text of standard input.
        if given["output_file"] is not None:
            return report_to_file(outcome, fails, options, here, here / given["output_file"])
        return report(outcome, fails, options, here, sys.stderr if is_fixing and stdin is not None else sys.stdout)

    def _tell_needs(self, settings: Settings, here: Path) -> None:
        """Warn if a rule was selected by its code and the setting that it needs is missing."""
        if settings.gpu_memory is not None or self.given["quiet"] or not settings.selection.names_rules:
            return
        asked = settings.selection.codes_for(here / "x.py").by_full_code
        if asked:
            from tflint_gpu.rule import load

            with contextlib.suppress(Exception):  # a rule that cannot be imported is reported where it would run
                for rule in load(asked):
                    if rule.needs_gpu_memory:
                        tell(f'warning: {rule.code} needs the setting `gpu-memory`, such as gpu-memory = "24GiB"')

    def _measured(self, outcome: Outcome) -> Outcome:
        """The outcome with what an earlier `verify` and an earlier `run` measured of the same code."""
        if self.given["verified"] is None and self.given["measured"] is None:
            return outcome
        from tflint_gpu.narrowing.measurements import MeasurementError, read_measurements, read_run, with_measurements
        from tflint_gpu.reports import View

        here, diagnostics = Path.cwd(), outcome.diagnostics
        for option, read in (("verified", read_measurements), ("measured", read_run)):
            if self.given[option] is not None:
                try:
                    known = read(here / self.given[option])
                except MeasurementError as error:
                    raise click.ClickException(f"--{option} {error}") from error
                diagnostics = with_measurements(diagnostics, known, View(here, sources=outcome.sources).line)
        return replace(outcome, diagnostics=diagnostics)

    def _baseline_to_write(self, settings: Settings, here: Path) -> Path | None:
        name: str | None = self.given["write_baseline"]
        if name is None:
            return None
        for option in ("fix", "fix_only", "diff", "diff_base", "stdin_filename"):
            if self.given[option]:
                raise click.UsageError(f"--write-baseline and --{option.replace('_', '-')} cannot be combined")
        if "-" in self.paths:
            raise click.UsageError("--write-baseline and standard input (-) cannot be combined")
        path = here / name if name else settings.baseline
        if path is None:
            raise click.UsageError(
                "--write-baseline needs a file: --write-baseline=FILE, or `baseline` in the settings"
            )
        return path

    def _narrowing(self, resolver: SettingsResolver, settings: Settings, files: list[FileToCheck]) -> Narrowing:
        from tflint_gpu.cli.check.narrowing import Narrowing

        here = resolver.working_directory
        stdin = any(file.content is not None for file in files)
        # What an editor has not saved says nothing about what is gone from the project.
        places = () if stdin else [Path(os.path.normpath(here / path)) for path in self.paths or (".",)]
        ignored = self.given["no_baseline"] or self.given["write_baseline"] is not None
        return Narrowing.prepare(
            resolver,
            places,
            [file.path for file in files],
            self.given["diff_base"],
            None if ignored else settings.baseline,
        )

    def _outcome(
        self,
        resolver: SettingsResolver,
        settings: Settings,
        files: list[FileToCheck],
        narrowing: Narrowing,
        is_fixing: bool,
    ) -> Outcome:
        from tflint_gpu.cli.check.reporting import Outcome, each_once

        if _have_nothing(files):
            return Outcome(narrowing.narrow((), {}), (), is_fixing, gone=narrowing.gone((), {}))
        from tflint_gpu.checking.engine import Engine
        from tflint_gpu.checking.importers import importing
        from tflint_gpu.checking.workers import check_files
        from tflint_gpu.cli.check.progress import Progress, is_watched

        # What came of standard input is not kept.
        use_cache = not self.given["no_cache"] and any(file.content is None for file in files)
        ignore_noqa = self.given["ignore_noqa"]
        progress = Progress(sys.stderr)
        is_shown = settings.progress and not self.given["quiet"] and is_watched(sys.stderr, os.environ)
        show = progress.tell if is_shown else lambda done, total: None

        shows_fixes = settings.unsafe_fixes or settings.output_format in ("json", "json-lines")
        tries_fixes = is_fixing or shows_fixes or bool(settings.applicability)

        def make_engine() -> Engine:
            here = resolver.working_directory
            return Engine(resolver, here, use_cache=use_cache, ignore_noqa=ignore_noqa, tries_fixes=tries_fixes)

        sources = _unsaved(files)
        elsewhere = _on_ray() if self.given["executor"] == "ray" else None
        around = importing(make_engine(), files, self.paths)
        if not is_fixing:
            engine = make_engine()
            with contextlib.closing(progress):
                results = check_files(engine, files, settings.jobs, show, elsewhere, around)
            for warning in sorted({warning for result in results for warning in result.warnings}):
                tell(f"warning: {warning}")
            for result in results if self.given["verbose"] else ():
                if result.bounds:
                    tell(f"{result.file.name}: the analysis stopped at {', '.join(result.bounds)}")
            errors = [error for result in results for error in result.errors]
            diagnostics = each_once(results)
            return Outcome(
                narrowing.narrow(diagnostics, sources),
                errors,
                sources=sources,
                gone=narrowing.gone(diagnostics, sources),
                old=engine.reasons_for_tensorflow_1(result.file for result in results),
            )
        from tflint_gpu.cli.check.fixing import Fixing

        fixing = Fixing(
            make_engine,
            narrowing.narrow,
            files,
            settings.jobs,
            settings.unsafe_fixes,
            self.given["diff"],
            show,
            sources,
            elsewhere=elsewhere,
            importing=around,
        )
        try:
            with contextlib.closing(progress):
                fixing.run()
        except KeyboardInterrupt:
            if not (fixing.dry or sources or self.given["quiet"]):
                tell(fixing.interrupted())
            raise
        diagnostics = each_once(fixing.results)
        return Outcome(
            narrowing.narrow(diagnostics, fixing.texts),
            [error for result in fixing.results for error in result.errors] + fixing.failures,
            True,
            fixing.fixed,
            fixing.diffs,
            fixing.texts,
            narrowing.gone(diagnostics, fixing.texts),
            make_engine().reasons_for_tensorflow_1(result.file for result in fixing.results),
        )


def _is_asked_for(resolver: SettingsResolver, here: Path, diagnostic: Diagnostic) -> bool:
    """Whether advice is to be listed: all of it, or its rule was selected by its full code, or it fails the run."""
    path = here / diagnostic.filename
    settings = resolver.for_file(path)
    is_named = settings.selection.names_rules and diagnostic.code in settings.selection.codes_for(path).by_full_code
    return settings.show_advice or is_named or diagnostic.is_at_least(settings.fail_on)


def _on_ray() -> Elsewhere:
    """The check on a cluster, whose errors the user has to fix."""
    from tflint_gpu.checking.cluster import NoCluster, check_on_ray, keep_standard_output, require_ray

    try:
        require_ray()  # also where the cache has all results
    except NoCluster as error:
        raise click.ClickException(f"--executor ray: {error}") from error
    keep_standard_output()

    def check(engine: Engine, files: Sequence[FileToCheck]) -> Iterator[Batch]:
        try:
            yield from check_on_ray(engine, files)
        except NoCluster as error:
            raise click.ClickException(f"--executor ray: {error}") from error

    return check


def _have_nothing(files: Sequence[FileToCheck]) -> bool:
    """Whether all is standard input, and has neither TensorFlow nor a comment with one of our codes."""
    contents = [(file, file.content) for file in files if file.content is not None]
    is_all = len(contents) == len(files)
    return is_all and not any(b"TFG" in data.upper() or file.may_matter(data) for file, data in contents)


def _unsaved(files: Sequence[FileToCheck]) -> dict[str, SourceFile]:
    """The texts that are not those on the disk: what standard input says."""
    from tflint_gpu.text.decoding import decode_source
    from tflint_gpu.text.source import UnreadableSource

    sources = {}
    for file in files:
        if file.content is not None:
            with contextlib.suppress(UnreadableSource):
                sources[file.name] = decode_source(file.content, file.path, file.name)
    return sources
