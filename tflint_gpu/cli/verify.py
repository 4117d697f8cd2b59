"""`tflint-gpu verify`: run what was flagged, and its repair, and say whether the prediction holds."""

from __future__ import annotations

import io
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tflint_gpu.cli import FAILED, FOUND, INTERRUPTED
from tflint_gpu.cli.check import list_option, overrides
from tflint_gpu.settings.config import SettingsResolver
from tflint_gpu.settings.files import Discovery, FileToCheck

if TYPE_CHECKING:
    from tflint_gpu.diagnostics import Diagnostic
    from tflint_gpu.doctor.cards import Choice
    from tflint_gpu.model import Model
    from tflint_gpu.rule import Finding, Rule
    from tflint_gpu.verify.reports import Render, Report
    from tflint_gpu.verify.verification import Case, Setup, Verification

    Found = tuple[Rule, Finding, Diagnostic, Model]

NOTHING_RUN = 3
RUN_REPORT = "tflint-gpu-run.json"
_SECONDS_TO_ANSWER = 60


def seconds(_: click.Context, __: click.Parameter, value: str) -> float:
    """`120s`, `2m`, `1h` or plain seconds."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)([smh]?)", value.strip())
    if match is None or float(match[1]) <= 0:
        raise click.BadParameter(f"{value!r} is no time: write it as 120s, 10m or 1h")
    return float(match[1]) * {"": 1, "s": 1, "m": 60, "h": 3600}[match[2]]


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("paths", nargs=-1)
@list_option("--select", "Rules to verify: codes, prefixes, or ALL.")
@list_option("--ignore", "Rules not to verify.")
@list_option("--extend-select", "Rules to verify besides the selected ones.")
@click.option("--device", default="auto", metavar="DEVICE", help="auto (a GPU if there is one), gpu, gpu:N or cpu.")
@click.option("--budget", default="10m", callback=seconds, metavar="TIME", help="For everything: 120s, 10m.")
@click.option("--runs", type=click.IntRange(min=1), metavar="N", help="Runs of each program.")
@click.option("--keep", type=click.Path(file_okay=False, path_type=Path), metavar="DIR", help="Keep the programs here.")
@click.option(
    "--output-format", default="full", type=click.Choice(["full", "json", "html", "markdown"]), help="What to write."
)
@click.option(
    "-o", "--output", type=click.Path(dir_okay=False, path_type=Path), metavar="FILE", help="Where to write it."
)
@click.option(
    "--order", type=click.Choice(("place", "cost")), help="The order of the experiments: cost starts with the dearest."
)
@click.option(
    "--measured", metavar="FILE", help="What findings cost, from `run --output-format json`; implies --order cost."
)
@click.option("--synthetic", is_flag=True, help="Run the rules' own workloads and nothing of the checked code.")
@click.option("--sandbox", default="auto", type=click.Choice(["auto", "bwrap", "none"]), help="Use bubblewrap or not.")
@click.option("--python", default=sys.executable, metavar="PATH", help="The interpreter that has TensorFlow.")
@click.option("-y", "--yes", is_flag=True, help="Do not ask before running the checked code.")
@click.option("--target-tensorflow", metavar="VERSION", help="The TensorFlow that the code is for, such as 2.16.")
@click.option("--gpu-memory", metavar="SIZE", help="The memory of the GPU that the code is for, such as 24GiB.")
@click.option("--config", type=click.Path(), metavar="FILE", help="The only settings file to read.")
@click.option("--isolated", is_flag=True, help="Read no settings file.")
def command(paths: tuple[str, ...], **given: Any) -> int:
    """Run the flagged code in PATHS and its repair, and measure whether what was predicted is there.

    Exits with 1 if a prediction was confirmed, 0 if something was run and none was, 3 if nothing could be run,
    2 if the work could not be done.
    """
    if given["isolated"] and given["config"] is not None:
        raise click.UsageError("--config and --isolated exclude each other")
    return Verify(paths, given).run()


@dataclass(slots=True)
class Verify:
    """One run of the command: the paths, and what click made of the options."""

    paths: tuple[str, ...]
    given: dict[str, Any]
    here: Path = field(default_factory=Path.cwd)

    def run(self) -> int:
        """Do what the options say and return the exit code."""
        from tflint_gpu.checking.workers import with_large_stack
        from tflint_gpu.verify.reports import MissingLibrary, renderer
        from tflint_gpu.verify.verification import plan

        try:
            render = renderer(self.given["output_format"])
        except MissingLibrary as error:
            raise click.ClickException(f"--output-format {self.given['output_format']}: {error}") from error

        config = None if self.given["config"] is None else self.here / self.given["config"]
        # `output-format` is `check`'s where it is a setting.
        settings = overrides({name: value for name, value in self.given.items() if name != "output_format"})
        resolver = SettingsResolver(settings, config, self.given["isolated"], self.here)
        discovery = Discovery(resolver, self.here)
        files = discovery.find(self.paths or (".",))
        for warning in discovery.warnings:
            _tell(f"warning: {warning}")
        choice = self._choose_device()
        tensorflow = _tensorflow_version(self.given["python"])
        setup = self._setup(choice)
        synthetic = self.given["synthetic"]
        cases = with_large_stack(lambda: list(plan(*_findings(resolver, files, self.here), synthetic=synthetic)))
        cases = self._ordered(cases)
        self._announce(cases, setup, choice.note)
        report = self._measure(cases, setup, choice, tensorflow)
        self._write(report, render)
        if report.interrupted == "Ctrl-C":
            return INTERRUPTED
        if any(result.gpu_unused for result in report.results):
            why = _why_unused(self.given["python"])
            _tell(f"error: a GPU was chosen and TensorFlow does not use it: {why}")
            return FAILED
        return _exit_code(report.results)

    def _ordered(self, cases: list[Case]) -> list[Case]:
        """The cases by what their findings cost in a run, the dearest first; without a report of one as they are."""
        if (self.given["order"] or ("cost" if self.given["measured"] else "place")) == "place":
            return cases
        from tflint_gpu.narrowing.measurements import MeasurementError, key_of, read_run
        from tflint_gpu.reports import View

        try:
            known = read_run(self.here / (self.given["measured"] or RUN_REPORT))
        except MeasurementError as error:
            option = "--measured" if self.given["measured"] else "--order cost"
            raise click.ClickException(f"{option}: {error}") from error
        line = View(self.here).line
        shares = {key: one.share for key, one in known.items()}
        return sorted(cases, key=lambda case: -shares.get(key_of(case.diagnostic, line), 0.0))

    def _choose_device(self) -> Choice:
        from tflint_gpu.doctor.cards import choose, shown_devices, survey

        wanted = self.given["device"]
        try:
            choice = choose(survey(), wanted, *shown_devices())
        except ValueError as error:
            raise click.UsageError(f"--device: {error}") from error
        if choice.gpu is None and wanted.startswith("gpu"):
            why = choice.note if choice.others else _why_unused(self.given["python"])
            raise click.ClickException(f"--device {wanted}: {why}; use --device cpu to measure the CPU")
        return choice

    def _setup(self, choice: Choice) -> Setup:
        from tflint_gpu.verify.sandbox import SandboxUnavailable, choose_sandbox
        from tflint_gpu.verify.verification import Setup

        try:
            sandbox = choose_sandbox(self.given["sandbox"])
        except SandboxUnavailable as error:
            raise click.ClickException(f"--sandbox bwrap: {error}") from error
        return Setup(
            gpu=choice.gpu,
            others=tuple(card.index for card in choice.others),
            runs=self.given["runs"],
            synthetic=self.given["synthetic"],
            sandbox=sandbox,
            keep=self.given["keep"],
            python=self.given["python"],
        )

    def _announce(self, cases: Sequence[Case], setup: Setup, note: str) -> None:
        """Say what is about to be executed, and ask."""
        from tflint_gpu.verify.verification import obstacle

        ready = [case for case in cases if not obstacle(case, setup)]
        if not ready:
            return
        what = "the rules' own workloads" if setup.synthetic else "code cut out of the checked files"
        where = "the CPU" if setup.gpu is None else f"GPU {setup.gpu.index} ({setup.gpu.name})"
        _tell(f"About to run {what} on {where}{f' ({note})' if note else ''}; {setup.sandbox.note}:")
        for case in ready:
            place, code = case.diagnostic.location, case.diagnostic.code
            own = case.experiment is not None and case.experiment.only_workload and not setup.synthetic
            remarks = [case.variant, "the rule's own workload" if own else ""]
            shown = "".join(f" ({remark})" for remark in remarks if remark)
            _tell(f"  {case.diagnostic.filename}:{place} {code}{shown}")
        if self.given["yes"]:
            return
        if not sys.stdin.isatty():
            raise click.ClickException("verify runs code of the checked files: pass --yes where nobody can be asked")
        if not click.confirm("Run it?", err=True):
            raise click.ClickException("nothing was run")

    def _measure(self, cases: Sequence[Case], setup: Setup, choice: Choice, tensorflow: str) -> Report:
        from tflint_gpu.verify.reports import Report
        from tflint_gpu.verify.verification import unmeasured

        began = time.monotonic()
        results: list[Verification] = []
        interrupted = ""
        try:
            for case, known in self._verified(cases, setup, began + self.given["budget"]):
                if results and results[-1].case is case:
                    results[-1] = known
                else:
                    results.append(known)
        except KeyboardInterrupt:
            interrupted = "Ctrl-C"
            results += [unmeasured(case, interrupted) for case in cases[len(results) :]]
        if not interrupted and any("budget" in result.verdict.reason for result in results):
            interrupted = f"the budget of {self.given['budget']:.0f} s was spent"
        return Report(
            results=tuple(results),
            gpu=setup.gpu,
            device_note=choice.note,
            tensorflow=tensorflow,
            sandbox=setup.sandbox.note,
            synthetic=setup.synthetic,
            interrupted=interrupted,
            seconds=time.monotonic() - began,
            command=" ".join(["tflint-gpu verify", *sys.argv[2:]]),
            date=date.today().isoformat(),
        )

    def _verified(self, cases: Sequence[Case], setup: Setup, end: float) -> Iterator[tuple[Case, Verification]]:
        """Each case with what is known of it, after every round."""
        from tflint_gpu.verify.verification import verify

        nowhere = io.StringIO()
        shown = sys.stderr if sys.stderr.isatty() else nowhere
        with click.progressbar(length=len(cases), label="verify", file=shown, show_eta=False) as bar:
            for case in cases:
                bar.label = f"{case.diagnostic.filename}:{case.diagnostic.location.row} {case.diagnostic.code}"
                bar.render_progress()
                for known in verify(case, setup, end - time.monotonic()):
                    yield case, known
                bar.update(1)

    def _write(self, report: Report, render: Render) -> None:
        from tflint_gpu.reports import View
        from tflint_gpu.reports.display import use_colour

        output: Path | None = self.given["output"]
        view = View(self.here, colour=output is None and use_colour(sys.stdout, os.environ))
        text = render(report, view)
        if output is None:
            click.echo(text, nl=False)
            return
        try:
            output.write_text(text, encoding="utf-8")
        except OSError as error:
            raise click.ClickException(f"{output}: cannot be written: {error.strerror}") from error


def _findings(resolver: SettingsResolver, files: Sequence[FileToCheck], here: Path) -> tuple[list[Found], list[Model]]:
    """The findings, each once, and the files that may be the programs which run them."""
    from tflint_gpu.checking.engine import Engine
    from tflint_gpu.text.source import UnreadableSource

    engine = Engine(resolver, here)
    found: dict[tuple[Any, ...], Found] = {}
    models: dict[Path, Model] = {}
    for file in files:
        try:
            for rule, finding, diagnostic, model in engine.findings(file):
                found.setdefault(diagnostic.sort_key, (rule, finding, diagnostic, model))
            program = engine.model_of(file)
        except (UnreadableSource, OSError, RecursionError) as error:
            _tell(f"warning: {file.name} is left out: {error}")
            continue
        if program is not None:
            models[file.path] = program
    return [found[key] for key in sorted(found)], list(models.values())


def _tensorflow_version(python: str) -> str:
    """The version of the TensorFlow that the programs will use.

    Raises:
        click.ClickException: there is no such interpreter, or it has no TensorFlow.
    """
    code = (
        "import importlib.metadata as m\n"
        "for name in ('tensorflow', 'tensorflow-cpu', 'tf-nightly', 'tensorflow-macos', 'tensorflow-rocm'):\n"
        "    try: print(m.version(name)); break\n"
        "    except m.PackageNotFoundError: pass\n"
    )
    try:
        done = subprocess.run(
            [python, "-c", code], capture_output=True, text=True, timeout=_SECONDS_TO_ANSWER, stdin=subprocess.DEVNULL
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise click.ClickException(f"--python {python}: cannot be run: {error}") from error
    version = done.stdout.strip()
    if not version:
        raise click.ClickException(
            f'{python} has no TensorFlow: install it there (`pip install "tflint-gpu[verify]"`), '
            "or name the interpreter that has it with --python"
        )
    return version


def _why_unused(python: str) -> str:
    """What `doctor` finds first, and what to do about it."""
    from tflint_gpu.doctor.absence import in_a_sentence, why_unused
    from tflint_gpu.doctor.cards import survey

    return in_a_sentence(why_unused(survey(), python))


def _exit_code(results: Sequence[Verification]) -> int:
    names = [result.verdict.verdict for result in results]
    if any(name.endswith("confirmed") for name in names):
        return FOUND
    return 0 if any(name != "not run" for name in names) else NOTHING_RUN


def _tell(text: str) -> None:
    print(text, file=sys.stderr)
