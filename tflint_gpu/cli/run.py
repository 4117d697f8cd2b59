"""`tflint-gpu run`: run a program unchanged and say where it leaves the GPU idle."""

from __future__ import annotations

import math
import os
import shlex
import shutil
import sys
import time
from collections.abc import Callable
from dataclasses import field
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from tflint_gpu.cli.commands import GroupedCommand, is_coloured, python_option, refuse_windows
from tflint_gpu.cli.commands.option_values import seconds
from tflint_gpu.cli.commands.settings_options import (
    config_option,
    list_option,
    overrides,
    refuse_isolated_config,
    setting_option,
    settings_file,
)
from tflint_gpu.cli.runs import compare_reports, is_written, try_settings
from tflint_gpu.cli.verify import RUN_REPORT
from tflint_gpu.lazy_dataclasses import dataclass
from tflint_gpu.settings.config import SettingsResolver
from tflint_gpu.settings.files import Discovery
from tflint_gpu.settings.options import SettingsError

if TYPE_CHECKING:
    from tflint_gpu.doctor.machine_report import MachineReport
    from tflint_gpu.gpu.nvml import Nvml
    from tflint_gpu.gpu.watch import Watch
    from tflint_gpu.price import Price
    from tflint_gpu.run import Inspection, Outside, Program, Recording, Running, Trace
    from tflint_gpu.run.samples import Seen

Found = TypeVar("Found")

SLOWER = 1.1
_FILES = {"json": RUN_REPORT, "html": "tflint-gpu-run.html"}


_OUTSIDE = ("has_lock", "is_native")

_GROUPS = {
    "Program": "is_module python pid",
    "Sampling": "sampler watched_for has_lock is_native",
    "Profile": "trace trace_output",
    "Report": "output_format output report_every price_per_hour",
    "Several runs": "try_settings rounds is_comparison slower_than",
    "Rules and settings": "select ignore extend_select target_tensorflow config isolated",
}


@click.command(
    cls=GroupedCommand,
    groups=_GROUPS,
    context_settings={
        "help_option_names": ["-h", "--help"],
        "allow_interspersed_args": False,
        "ignore_unknown_options": False,
    },
)
@click.argument("program", required=False)
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
@click.option("-m", "--module", "is_module", is_flag=True, help="PROGRAM is a module, as for `python -m`.")
@click.option("--pid", type=int, metavar="N", help="Watch this running process instead of running a PROGRAM.")
@click.option(
    "--sampler",
    default="inside",
    type=click.Choice(("inside", "py-spy")),
    help="How stacks are sampled: by a thread in the program, or by py-spy from outside.",
)
@click.option(
    "--seconds",
    "watched_for",
    callback=seconds,
    metavar="TIME",
    help="With --pid, how long to watch; by default until the process ends, or Ctrl-C.",
)
@click.option("--gil", "has_lock", is_flag=True, help="Say which lines held Python's lock.")
@click.option(
    "--native",
    "is_native",
    is_flag=True,
    help="With --pid, say in which native functions the main thread is; this pauses the process for a few seconds.",
)
@click.option(
    "--output-format",
    default="full",
    type=click.Choice(("full", "json", "html")),
    help="The format of the report (default: full).",
)
@click.option(
    "-o",
    "--output",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="The file of the report; by default standard error for `full`, else tflint-gpu-run.json or .html.",
)
@click.option(
    "--report-every",
    default="10m",
    callback=seconds,
    metavar="TIME",
    help="How often to write the report to its file during the run (default: 10m).",
)
@setting_option("price-per-hour")
@click.option(
    "--trace",
    type=click.IntRange(min=1),
    metavar="STEPS",
    help="Record TensorFlow's own profile of this many steps, after the first steps.",
)
@click.option(
    "--trace-output",
    default="tflint-gpu-trace",
    type=click.Path(file_okay=False, path_type=Path),
    metavar="FOLDER",
    help="The folder for the profile; TensorBoard and Perfetto can open it.",
)
@click.option(
    "--try",
    "try_settings",
    metavar="SETTINGS",
    help="Compare the program with and without settings; comma-separated, from: xla, mixed_precision, batch=64,128, "
    "workers=4, prefetch.",
)
@click.option(
    "--rounds",
    type=click.IntRange(min=1),
    default=3,
    show_default=True,
    metavar="N",
    help="With --try, how often each setting is run; an interval needs three or more.",
)
@click.option(
    "--compare",
    "is_comparison",
    is_flag=True,
    help="Run nothing: compare reports (JSON files) with the first one; separate reports of the same version with "
    "commas.",
)
@click.option(
    "--slower-than",
    type=click.FloatRange(min=1.0),
    default=SLOWER,
    show_default=True,
    metavar="FACTOR",
    help="With --compare, exit with 1 if steps take more than FACTOR times as long.",
)
@python_option("The interpreter that runs your programs.")
@list_option("--select", "Rules to look for: codes, names, prefixes, or ALL.")
@list_option("--ignore", "Rules not to look for.")
@list_option("--extend-select", "Rules to look for in addition to the selected ones.")
@setting_option("target-tensorflow")
@config_option
@click.option("--isolated", is_flag=True, help="Read no settings file.")
def command(program: str | None, arguments: tuple[str, ...], **given: Any) -> int:
    """Run PROGRAM, unchanged, with its ARGUMENTS, and say where the GPU waits for it.

    Exits with the program's exit code; a signal that kills the program also ends this command. Options come before
    PROGRAM.
    """
    refuse_windows("run")
    if program is None and given["is_comparison"]:
        raise click.UsageError("give two reports or more: tflint-gpu run --compare old.json new.json")
    if (program is None) == (given["pid"] is None):
        raise click.UsageError("give either a program (tflint-gpu run train.py) or a running process (--pid N)")
    if given["pid"] is not None and given["is_module"]:
        raise click.UsageError("--pid watches a running process: leave out -m")
    _refuse_together(given)
    if given["has_lock"] and given["pid"] is None and given["sampler"] != "py-spy":
        raise click.UsageError("--gil needs --pid N or --sampler py-spy")
    if given["pid"] is None and (given["is_native"] or given["watched_for"] != math.inf):
        raise click.UsageError(
            "--seconds and --native need --pid N: a program that `run` starts is watched until it ends"
        )
    refuse_isolated_config(given)
    if program is not None and given["is_comparison"]:
        return compare_reports((program, *arguments), given)
    return Run(program or "", arguments, given).run()


def _refuse_together(given: dict[str, Any]) -> None:
    """Raise UsageError for two options of which one would be ignored."""
    ways = {
        "--compare": given["is_comparison"],
        "--try": given["try_settings"] is not None,
        "--trace": given["trace"] is not None,
        "watching from outside (--pid, --sampler py-spy)": given["pid"] is not None or given["sampler"] == "py-spy",
    }
    chosen = [name for name, is_chosen in ways.items() if is_chosen]
    if len(chosen) > 1:
        raise click.UsageError(f"{chosen[0]} and {chosen[1]} exclude each other: use one of them")


@dataclass(slots=True)
class Run:
    """One run of the command: the program, and what click made of the options."""

    program: str
    arguments: tuple[str, ...]
    given: dict[str, Any]
    here: Path = field(default_factory=Path.cwd)
    nvml: Nvml | None = None

    def run(self) -> int:
        """Run the program, report, and end as it did."""
        from tflint_gpu.run import NOTHING, CannotWatch, Outside, Recording, checkable, end_as, renderer

        renderer(self.given["output_format"])
        python = shutil.which(self.given["python"])
        if python is None:
            raise SettingsError(f"--python {self.given['python']}: no such program")
        pid = self.given.get("pid")
        if pid is None and not self.given["is_module"] and not Path(self.program).exists():
            raise click.ClickException(f"{self.program}: no such file")
        is_outside = pid is not None or self.given.get("sampler") == "py-spy"
        try:
            outside = Outside.of(**{name: bool(self.given.get(name)) for name in _OUTSIDE}) if is_outside else None
            running = outside.attach(pid, python) if outside is not None and pid is not None else None
        except CannotWatch as error:
            raise click.ClickException(str(error)) from error
        resolver = self._resolver()
        price = self._price(resolver, running)
        known = Recording.begin(self.nvml, os.environ if running is None else running.environment)
        if self.given.get("try_settings") is not None:
            program = self._program(python, known, is_plain=False)
            limit = None if known.choice.gpu is None else known.choice.gpu.total_memory
            return try_settings(program, self.given, self.here, limit, lambda names: self._inspect(resolver, names))
        next_report = known.began + self.given["report_every"]
        told: dict[str, Any] = {"price": price, "running": running}

        def take(seen: Seen | None) -> None:
            nonlocal next_report
            known.ledger.take(seen)
            if self._file is not None and time.monotonic() > next_report:
                next_report = time.monotonic() + self.given["report_every"]
                self._write(known, quietly=True, **told)

        with known.watch(self.nvml) as watch:
            if outside is not None and running is not None:
                watch.follow([running.pid])
                code, told["end"] = 0, outside.watch(running, take, self.given["watched_for"])
            else:
                code = told["code"] = self._started(python, known, watch, take, outside)
        known.finish(watch)
        if outside is not None:
            known.decoder.processes = outside.processes
        inspection = _unless_it_fails(
            lambda: self._inspect(resolver, checkable(known.ledger.entries)), "what `check` finds in the code that ran"
        )
        unused = _unless_it_fails(lambda: self._unused(python, known), "why TensorFlow used no GPU")
        trace = _unless_it_fails(lambda: self._trace(python, known, inspection or NOTHING), "what the trace contains")
        self._write(known, inspection=inspection or NOTHING, unused=unused, trace=trace, **told)
        return end_as(code)

    def _program(self, python: str, known: Recording, *, is_plain: bool) -> Program:
        """What to run.

        Arguments:
            is_plain: whether it is sampled from outside.
        """
        from tflint_gpu.run import Program

        asks_memory = known.choice.gpu is not None
        return Program(
            python,
            self.program,
            self.arguments,
            self.given["is_module"],
            asks_memory,
            is_plain,
            traced=self.given.get("trace") or 0,
            folder=str(self.here / self.given.get("trace_output", "")),
        )

    def _started(
        self, python: str, known: Recording, watch: Watch, take: Callable[[Seen | None], None], outside: Outside | None
    ) -> int:
        """Run the program; its exit code."""
        from tflint_gpu.run import run

        def started(pid: int) -> None:
            watch.follow([pid])
            if outside is not None:
                outside.begin(pid, python, take)

        program = self._program(python, known, is_plain=outside is not None)
        code = run(program, lambda line: take(known.decoder.read(line)), started)
        if outside is not None:
            outside.finish()
        return code

    @property
    def _file(self) -> Path | None:
        output: Path | None = self.given["output"]
        name = _FILES.get(self.given["output_format"])
        return self.here / output if output is not None else (None if name is None else self.here / name)

    def _resolver(self) -> SettingsResolver:
        # `output-format` is `check`'s where it is a setting.
        settings = overrides({name: value for name, value in self.given.items() if name != "output_format"})
        return SettingsResolver(settings, settings_file(self.given, self.here), self.given["isolated"], self.here)

    def _price(self, resolver: SettingsResolver, running: Running | None) -> Price | None:
        """What an hour costs, by the settings of the program's file, or of the folder in which it runs."""
        folder = self.here if running is None else running.here
        if running is None and not self.given["is_module"]:
            folder = (self.here / self.program).resolve().parent
        return resolver.for_directory(folder).price

    def _inspect(self, resolver: SettingsResolver, names: list[str]) -> Inspection:
        """What `check` finds in files that ran."""
        from tflint_gpu.checking.engine import Engine
        from tflint_gpu.run import NOTHING, inspect

        if not names:
            return NOTHING
        return inspect(Engine(resolver, self.here, use_cache=True), Discovery(resolver, self.here).find(names))

    def _trace(self, python: str, known: Recording, inspection: Inspection) -> Trace | None:
        """TensorFlow's profile, with which the account is charged to stages of input pipelines."""
        from tflint_gpu.run import read_trace

        if self.given.get("trace") is None:
            return None
        trace = read_trace(python, self.given["trace"], known.ledger.profiled).joined(inspection.datasets)
        known.ledger.charge_stages(trace)
        return trace

    def _unused(self, python: str, known: Recording) -> MachineReport | None:
        """Why TensorFlow, which has started, got no GPU."""
        if known.ledger.gpus != 0:
            return None
        from tflint_gpu.doctor.absence import why_unused
        from tflint_gpu.doctor.program import read_settings

        path = self.here / self.program
        settings = read_settings(path, self.here) if not self.given["is_module"] and path.is_file() else ()
        return why_unused(known.cards, python, settings)

    def _write(self, known: Recording, *, quietly: bool = False, running: Running | None = None, **extra: Any) -> None:
        """Write the report, with what it says besides the account."""
        from tflint_gpu.reports import View
        from tflint_gpu.run import renderer

        file = self._file
        view = View(self.here, colour=file is None and is_coloured(sys.stderr))
        words = ["-m", self.program] if self.given["is_module"] else [self.program]
        program = shlex.join([*words, *self.arguments]) if running is None else running.title
        if running is not None:
            extra |= {"pid": running.pid, "started": running.since}
        command = shlex.join(["tflint-gpu", "run", *sys.argv[2:]])
        report = known.report(program, view, command=command, **extra)
        text = renderer(self.given["output_format"])(report, view)
        if file is None:
            click.echo(f"\n{text}", nl=False, err=True)
            return
        if is_written(file, text) and not quietly:
            print(f"tflint-gpu: {file} says where the GPU waited.", file=sys.stderr)


def _unless_it_fails(find: Callable[[], Found | None], what: str) -> Found | None:
    """What is found, None for a failure: the hours that the program ran are worth more than this part of the report."""
    try:
        return find()
    except Exception as error:
        print(f"warning: {what} is not known: {type(error).__name__}: {error}", file=sys.stderr)
        return None
