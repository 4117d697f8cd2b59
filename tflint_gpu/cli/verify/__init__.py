"""`tflint-gpu verify`: run what was flagged, and its repair, and say whether the prediction holds."""

from __future__ import annotations

import io
import os
import shlex
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import field, replace
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tflint_gpu.cli.commands import (
    FAILED,
    FOUND,
    INTERRUPTED,
    GroupedCommand,
    interruption,
    is_coloured,
    python_option,
    refuse_windows,
    tell,
)
from tflint_gpu.cli.commands.flagged import findings
from tflint_gpu.cli.commands.option_values import environment, seconds, size
from tflint_gpu.cli.commands.settings_options import (
    config_option,
    list_option,
    overrides,
    refuse_isolated_config,
    setting_option,
    settings_file,
)
from tflint_gpu.cli.verify.clusters import choice_on, cluster_asked_for
from tflint_gpu.cli.verify.consent import announce
from tflint_gpu.cli.verify.interpreters import version_of_tensorflow, why_unused
from tflint_gpu.cli.verify.outputs import try_outputs, write_output
from tflint_gpu.lazy_dataclasses import dataclass
from tflint_gpu.settings.config import Settings, SettingsResolver
from tflint_gpu.settings.files import Discovery, FileToCheck
from tflint_gpu.severity import WORST_FIRST
from tflint_gpu.verify.execution.interrupts import deferred

if TYPE_CHECKING:
    from tflint_gpu.cli.commands.flagged import Found
    from tflint_gpu.diagnostics import Diagnostic
    from tflint_gpu.gpu.cards import Choice
    from tflint_gpu.model import Model
    from tflint_gpu.verify.experiments.cluster import Cluster
    from tflint_gpu.verify.experiments.scheduling import Known
    from tflint_gpu.verify.experiments.verification import Case, Setup, Verification
    from tflint_gpu.verify.reports import Render, Report

NOTHING_RUN = 3
_NOT_STARTED = "it was not started"
RUN_REPORT = "tflint-gpu-run.json"
_MOST_PLACES = 10


_GROUPS = {
    "What to verify": "select ignore extend_select at order measured synthetic target_tensorflow gpu_memory",
    "How to measure": "device budget runs smallest_gain time_limit memory_limit seed python variables executor",
    "Safety": "sandbox yes",
    "Report and fixes": "output_format output keep diff fix",
    "Settings": "config isolated",
}


@click.command(cls=GroupedCommand, groups=_GROUPS, context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("paths", nargs=-1)
@list_option("--select", "Rules to verify: codes, names, prefixes, or ALL.")
@list_option("--ignore", "Rules not to verify.")
@list_option("--extend-select", "Rules to verify in addition to the selected ones.")
@click.option(
    "--device",
    default="auto",
    metavar="DEVICE",
    help="The device to measure on: auto (a GPU if there is one), gpu, gpu:N or cpu.",
)
@click.option(
    "--budget",
    default="10m",
    callback=seconds,
    metavar="TIME",
    help="The time limit for all measurements together, such as 120s or 10m.",
)
@click.option(
    "--order",
    type=click.Choice(["file", "severity", "cost"]),
    help="The order of the findings; cost: the most expensive first, by --measured or tflint-gpu-run.json. Default: "
    "file, or cost with --measured.",
)
@click.option("--runs", type=click.IntRange(min=1), metavar="N", help="The number of runs of each program.")
@setting_option("smallest-gain", type=float)
@click.option(
    "--keep", type=click.Path(file_okay=False, path_type=Path), metavar="DIR", help="Keep the programs in this folder."
)
@click.option(
    "--output-format",
    default="full",
    type=click.Choice(["full", "json", "html", "markdown"]),
    help="The format of the report.",
)
@click.option(
    "-o", "--output", type=click.Path(dir_okay=False, path_type=Path), metavar="FILE", help="The file of the report."
)
@click.option(
    "--at", metavar="LOCATION", help="Verify only the findings at this location: [FILE:][cell N:]ROW[:COLUMN]."
)
@click.option("--diff", is_flag=True, help="Show confirmed fixes as patches, and change nothing.")
@click.option("--fix", is_flag=True, help="Show confirmed fixes as patches, and apply them.")
@click.option(
    "--measured", metavar="FILE", help="The cost of findings, from `run --output-format json`; implies --order cost."
)
@click.option(
    "--executor",
    type=click.Choice(["local", "ray"]),
    default="local",
    help="Run on this machine, or on the Ray cluster at RAY_ADDRESS, one experiment at a time on each GPU.",
)
@click.option("--synthetic", is_flag=True, help="Run only the rules' own workloads, and none of the checked code.")
@click.option(
    "--sandbox",
    default="auto",
    type=click.Choice(["auto", "bwrap", "landlock", "none", "help"]),
    help="The sandbox of the programs; auto: bubblewrap, or else Landlock; help: what each of them blocks.",
)
@click.option(
    "--env",
    "variables",
    multiple=True,
    callback=environment,
    metavar="NAME[=VALUE]",
    help="Pass on a variable of your environment, or set one to this value.",
)
@click.option(
    "--time-limit", default="60s", callback=seconds, metavar="TIME", help="The time limit for one run of a program."
)
@click.option(
    "--memory-limit", default="8GiB", callback=size, metavar="SIZE", help="The memory limit for one run of a program."
)
@click.option(
    "--seed", type=click.IntRange(0, 2**31 - 1), metavar="N", help="The seed of all random numbers (default: 1)."
)
@python_option("The interpreter that has TensorFlow.")
@click.option("-y", "--yes", is_flag=True, help="Do not ask before running the checked code.")
@setting_option("target-tensorflow")
@setting_option("gpu-memory")
@config_option
@click.option("--isolated", is_flag=True, help="Read no settings file.")
def command(paths: tuple[str, ...], **given: Any) -> int:
    """Run the flagged code in PATHS and the fixed code, and measure whether the predictions hold.

    Exit codes: 0 if some of your code ran and no prediction was confirmed, 1 if one was confirmed, 2 after an error,
    3 if none of your code could run. For some rules only a workload can run, a sample program that comes with the rule:
    its result is a reference and confirms nothing.
    """
    refuse_isolated_config(given)
    if given["fix"] and given["diff"]:
        raise click.UsageError("--fix and --diff cannot be combined: --fix also shows the changes")
    if (given["fix"] or given["diff"]) and given["output_format"] != "full" and given["output"] is None:
        raise click.UsageError("patches go to standard output: name a file for the report with -o FILE")
    if given["sandbox"] == "help":
        from tflint_gpu.verify.execution.sandbox import sandbox_help

        click.echo(sandbox_help(), nl=False)
        return 0
    return Verify(paths, given).run()


@dataclass(slots=True)
class Verify:
    """One run of the command: the paths, and what click made of the options."""

    paths: tuple[str, ...]
    given: dict[str, Any]
    here: Path = field(default_factory=Path.cwd)

    def run(self) -> int:
        """Do what the options say and return the exit code."""
        refuse_windows("verify")
        from tflint_gpu.verify.reports import renderer

        render = renderer(self.given["output_format"])
        resolver, discovery = self._files()
        files = discovery.find(self.paths or (".",))
        for warning in discovery.warnings:
            tell(f"warning: {warning}")
        cluster = cluster_asked_for(self.given)
        choice = self._choose_device() if cluster is None else choice_on(cluster, self._choose_device)
        tensorflow = version_of_tensorflow(self.given["python"])
        setup = self._setup(choice)
        cases = self._planned(resolver, files)
        try_outputs(self.given)
        announce(cases, setup, choice.note, self.given["budget"], consented=self.given["yes"])
        report = self._measure(cases, setup, choice, tensorflow, cluster)
        with deferred():
            self._write(report, render)
        is_written = self._repair(report, files, resolver)
        if report.interrupted in INTERRUPTED:
            return INTERRUPTED[report.interrupted]
        if not is_written:
            return FAILED
        if any(result.gpu_unused for result in report.results):
            unused = {result.case.diagnostic.filename for result in report.results if result.gpu_unused}
            why = why_unused(self.given["python"], [self.here / name for name in sorted(unused)])
            tell(f"error: verify chose a GPU, but TensorFlow does not use it: {why}")
            return FAILED
        return _exit_code(report)

    def plan(self) -> tuple[list[Case], Setup]:
        """The cases and how they are run, on a machine that only measures for another one."""
        os.chdir(self.here)
        resolver, discovery = self._files()
        files = discovery.find(self.paths or (".",))
        return self._planned(resolver, files), self._setup(self._choose_device())

    def _files(self) -> tuple[SettingsResolver, Discovery]:
        # These are `check`'s where they are settings.
        own = ("output_format", "fix")
        settings = overrides({name: value for name, value in self.given.items() if name not in own})
        settings = replace(settings, fixable=("ALL",))  # it measures what a fix would bring, whoever makes it
        resolver = SettingsResolver(settings, settings_file(self.given, self.here), self.given["isolated"], self.here)
        return resolver, Discovery(resolver, self.here)

    def _planned(self, resolver: SettingsResolver, files: Sequence[FileToCheck]) -> list[Case]:
        from tflint_gpu.checking.stack import with_large_stack
        from tflint_gpu.verify.experiments.joining import with_joint
        from tflint_gpu.verify.experiments.planning import plan

        synthetic = self.given["synthetic"]
        cases = with_large_stack(lambda: list(plan(*self._found(resolver, files), synthetic=synthetic)))
        cases = self._ordered(self._with_shares(cases))
        cases = cases if synthetic else with_large_stack(lambda: with_joint(cases))
        return [replace(case, smallest_gain=self._settings_of(resolver, case).smallest_gain) for case in cases]

    def _settings_of(self, resolver: SettingsResolver, case: Case) -> Settings:
        return resolver.for_file(self.here / case.diagnostic.filename)

    def _found(self, resolver: SettingsResolver, files: Sequence[FileToCheck]) -> tuple[list[Found], list[Model]]:
        """The findings, all or those at the place that was named, and the programs that may run them."""
        flagged, models = findings(resolver, files, self.here, self.paths)
        wanted = self.given["at"]
        if wanted is None:
            return flagged, models
        chosen = [finding for finding in flagged if _is_at(finding[2], wanted)]
        if not chosen:
            places = sorted({f"{diagnostic.filename}:{diagnostic.location}" for _, _, diagnostic, _ in flagged})
            known = ", ".join(places[:_MOST_PLACES]) or "nowhere"
            raise click.UsageError(f"--at {wanted}: no finding is there; findings are at {known}")
        return chosen, models

    def _ordered(self, cases: list[Case]) -> list[Case]:
        """The cases by what their findings cost in a run, by their severity, or as they are."""
        order = self.given["order"] or ("cost" if self.given["measured"] else "file")
        if order == "severity":
            return sorted(cases, key=lambda case: WORST_FIRST.index(case.diagnostic.severity))
        return cases if order == "file" else sorted(cases, key=lambda case: -(case.share or 0.0))

    def _with_shares(self, cases: list[Case]) -> list[Case]:
        """The cases with what their findings cost in a run, where one is named or asked for."""
        if not self.given["measured"] and self.given["order"] != "cost":
            return cases
        from tflint_gpu.narrowing.measurements import MeasurementError, key_of, read_run
        from tflint_gpu.reports import View

        try:
            known = read_run(self.here / (self.given["measured"] or RUN_REPORT))
        except MeasurementError as error:
            option = "--measured" if self.given["measured"] else "--order cost"
            raise click.ClickException(f"{option}: {error}") from error
        line = View(self.here).line
        shares = {key: measured.share for key, measured in known.items()}
        return [replace(case, share=shares.get(key_of(case.diagnostic, line))) for case in cases]

    def _choose_device(self) -> Choice:
        from tflint_gpu.gpu.cards import choose, shown_devices, survey

        wanted = self.given["device"]
        try:
            choice = choose(survey(), wanted, *shown_devices())
        except ValueError as error:
            raise click.UsageError(f"--device: {error}") from error
        if choice.gpu is None and wanted.startswith("gpu"):
            why = choice.note if choice.others else why_unused(self.given["python"])
            raise click.ClickException(f"--device {wanted}: {why}; use --device cpu to measure the CPU")
        return choice

    def _setup(self, choice: Choice) -> Setup:
        from tflint_gpu.verify.execution.sandbox import NO_SANDBOX, Limits, SandboxUnavailable, choose_sandbox
        from tflint_gpu.verify.experiments.verification import Setup

        seed = self.given["seed"]
        variables = {**self.given["variables"], **({} if seed is None else {"TFLINT_GPU_SEED": str(seed)})}
        try:
            chosen = choose_sandbox(self.given["sandbox"])
        except SandboxUnavailable as error:
            if not self.given["synthetic"] or self.given["sandbox"] != "auto":
                remedy = "`--sandbox help` says how to get one, `--sandbox none` runs the code unconfined"
                raise click.ClickException(f"--sandbox {self.given['sandbox']}: {error}; {remedy}") from error
            chosen = NO_SANDBOX  # nothing of the checked code runs
        sandbox = replace(chosen, variables=variables)
        return Setup(
            gpu=choice.gpu,
            others=choice.others,
            runs=self.given["runs"],
            synthetic=self.given["synthetic"],
            sandbox=sandbox,
            limits=Limits(seconds=self.given["time_limit"], memory_bytes=self.given["memory_limit"]),
            keep=self.given["keep"],
            python=self.given["python"],
        )

    def _measure(
        self, cases: Sequence[Case], setup: Setup, choice: Choice, tensorflow: str, cluster: Cluster | None
    ) -> Report:
        from tflint_gpu.cli.verify.repeating import given_options
        from tflint_gpu.verify.execution.host import describe, load
        from tflint_gpu.verify.experiments.scheduling import measure
        from tflint_gpu.verify.experiments.verification import unmeasured
        from tflint_gpu.verify.reports import Report

        began, load_before = time.monotonic(), load()
        results = [unmeasured(case, _NOT_STARTED) for case in cases]
        interrupted = ""
        try:
            budget = self.given["budget"]
            rounds = measure(cases, setup, budget) if cluster is None else self._on_cluster(cluster, cases, setup)
            for known in self._shown(rounds, cases):
                results[known.number] = known.verification
                self._archive(known.verification, setup)
        except KeyboardInterrupt as error:
            interrupted = interruption(error)
            results = [
                unmeasured(result.case, interrupted) if result.verdict.reason == _NOT_STARTED else result
                for result in results
            ]
        if not interrupted and any("budget" in result.verdict.reason for result in results):
            interrupted = f"the budget of {self.given['budget']:.0f} s was spent"
        return Report(
            results=tuple(result for result in results if not result.case.joined),
            joint=tuple(result for result in results if result.case.joined),
            gpu=setup.gpu,
            device_note=choice.note,
            tensorflow=tensorflow,
            sandbox=setup.sandbox.note,
            synthetic=setup.synthetic,
            interrupted=interrupted,
            seconds=time.monotonic() - began,
            command=shlex.join(["tflint-gpu", "verify", *sys.argv[2:]]),
            date=date.today().isoformat(),
            host=describe(load_before),
            options=given_options(click.get_current_context(silent=True)),
        )

    def _on_cluster(self, cluster: Cluster, cases: Sequence[Case], setup: Setup) -> Iterator[Known]:
        from tflint_gpu.checking.cluster import NoCluster

        there = Verify(self.paths, {**self.given, "output": None}, self.here)
        try:
            yield from cluster.measure(cases, there.plan, setup, self.given["budget"])
        except NoCluster as error:
            raise click.ClickException(f"--executor ray: {error}") from error

    def _shown(self, results: Iterator[Known], cases: Sequence[Case]) -> Iterator[Known]:
        """What is known after every round, with a bar for whoever waits."""
        shown = sys.stderr if sys.stderr.isatty() else io.StringIO()
        with click.progressbar(length=len(cases), label="verify", file=shown, show_eta=False) as bar:
            for known in results:
                diagnostic = cases[known.number].diagnostic
                bar.label = f"{diagnostic.filename}:{diagnostic.location.row} {diagnostic.code}"
                bar.update(known.looked - bar.pos)
                bar.render_progress()
                yield known

    def _archive(self, result: Verification, setup: Setup) -> None:
        """Write the results so far next to the kept programs: nothing that was measured is lost."""
        if setup.keep is None or result.case.pair is None or result.is_shared:
            return
        from tflint_gpu.reports import View
        from tflint_gpu.verify.execution.sandbox import clean_environment
        from tflint_gpu.verify.experiments.archive import kept_folder, write_record
        from tflint_gpu.verify.reports.json import document_of

        folder = kept_folder(setup.keep, result.case.diagnostic, result.case.variant)
        environment = clean_environment(Path("scratch"), Path("result.json"), result.device, setup.sandbox.variables)
        entry = result.case.pair.before.entry
        write_record(folder, document_of(result, View(self.here)), environment, setup.python, entry)

    def _write(self, report: Report, render: Render) -> None:
        from tflint_gpu.reports import View

        output: Path | None = self.given["output"]
        text = render(report, View(self.here, colour=output is None and is_coloured()))
        if output is None:
            click.echo(text, nl=False)
        else:
            write_output(output, text)

    def _repair(self, report: Report, files: Sequence[FileToCheck], resolver: SettingsResolver) -> bool:
        """Show the confirmed repairs, and apply them, if one of both was asked for; whether all went well."""
        if not (self.given["fix"] or self.given["diff"]):
            return True
        from tflint_gpu.checking.engine import Engine
        from tflint_gpu.checking.stack import with_large_stack
        from tflint_gpu.cli.verify.repairing import show_repairs

        apply = self.given["fix"] and report.interrupted not in INTERRUPTED
        if not self.given["output"]:
            click.echo()
        return with_large_stack(lambda: show_repairs(report, files, lambda: Engine(resolver, self.here), apply=apply))


def _is_at(diagnostic: Diagnostic, place: str) -> bool:
    """Whether a finding is at a place as reports print it, with or without its file and its column."""
    location = str(diagnostic.location)
    return any(f"{known}:".startswith(f"{place}:") for known in (location, f"{diagnostic.filename}:{location}"))


def _exit_code(report: Report) -> int:
    from tflint_gpu.verify.statistics.statistics import CONFIRMED

    if any(name in CONFIRMED for name in report.counts):
        return FOUND
    is_as_asked = report.synthetic and report.counts["reference"]
    return 0 if report.has_measured or is_as_asked else NOTHING_RUN
