"""`tflint-gpu run`: run a program unchanged and say where it leaves the GPU idle."""

from __future__ import annotations

import os
import shlex
import shutil
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tflint_gpu.cli.check import list_option, overrides
from tflint_gpu.cli.option_values import seconds
from tflint_gpu.settings.config import SettingsError, SettingsResolver
from tflint_gpu.settings.files import Discovery
from tflint_gpu.text.replacement import replace_file

if TYPE_CHECKING:
    from tflint_gpu.diagnostics import Diagnostic
    from tflint_gpu.doctor.cards import Choice, Nvml
    from tflint_gpu.run.ledger import Ledger
    from tflint_gpu.run.reports import Report
    from tflint_gpu.run.samples import Decoder

_FILES = {"json": "tflint-gpu-run.json", "html": "tflint-gpu-run.html"}


@click.command(
    context_settings={
        "help_option_names": ["-h", "--help"],
        "allow_interspersed_args": False,
        "ignore_unknown_options": False,
    }
)
@click.argument("program", required=False)
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
@click.option("-m", "--module", "is_module", is_flag=True, help="PROGRAM is a module, as for `python -m`.")
@click.option("--output-format", default="full", type=click.Choice(("full", "json", "html")), help="What to write.")
@click.option(
    "-o",
    "--output",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Where to write it; else `full` goes to standard error, the others to tflint-gpu-run.json and .html.",
)
@click.option("--report-every", default="10m", callback=seconds, metavar="TIME", help="Write FILE this often, too.")
@click.option("--python", default=sys.executable, metavar="PATH", help="The interpreter that runs your programs.")
@list_option("--select", "Rules to look for: codes, prefixes, or ALL.")
@list_option("--ignore", "Rules not to look for.")
@list_option("--extend-select", "Rules to look for besides the selected ones.")
@click.option("--target-tensorflow", metavar="VERSION", help="The TensorFlow that the code is for, such as 2.16.")
@click.option("--config", type=click.Path(), metavar="FILE", help="The only settings file to read.")
@click.option("--isolated", is_flag=True, help="Read no settings file.")
def command(program: str | None, arguments: tuple[str, ...], **given: Any) -> int:
    """Run PROGRAM with its ARGUMENTS unchanged, and say where the GPU waits for it.

    Exits as the program does; a signal that ends it ends this command, too. Options stand before PROGRAM.
    """
    if program is None:
        raise click.UsageError("name a program: tflint-gpu run train.py")
    if given["isolated"] and given["config"] is not None:
        raise click.UsageError("--config and --isolated exclude each other")
    return Run(program, arguments, given).run()


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
        if sys.platform == "win32":
            raise click.ClickException("run needs POSIX signals; on Windows use WSL, as TensorFlow's GPU builds do")
        from tflint_gpu.run.ledger import Ledger
        from tflint_gpu.run.program import Program, end_as, run
        from tflint_gpu.run.reports import MissingLibrary, renderer
        from tflint_gpu.run.samples import Decoder
        from tflint_gpu.verify.gpu import Watch

        try:
            renderer(self.given["output_format"])
        except MissingLibrary as error:
            raise click.ClickException(f"--output-format {self.given['output_format']}: {error}") from error
        python = shutil.which(self.given["python"])
        if python is None:
            raise SettingsError(f"--python {self.given['python']}: no such program")
        if not self.given["is_module"] and not Path(self.program).exists():
            raise click.ClickException(f"{self.program}: no such file")
        resolver = self._resolver()
        choice = self._card()
        began = time.monotonic()
        ledger, decoder = Ledger(choice.gpu is not None, began), Decoder()
        program = Program(python, self.program, self.arguments, self.given["is_module"], choice.gpu is not None)
        next_report = began + self.given["report_every"]

        def take(line: bytes) -> None:
            nonlocal next_report
            ledger.take(decoder.read(line))
            if self._file is not None and time.monotonic() > next_report:
                next_report = time.monotonic() + self.given["report_every"]
                self._write(self._report(ledger, decoder, choice, began, None, ()), quietly=True)

        watch = Watch(choice.gpu, nvml=self.nvml, sink=lambda seen: ledger.take_card(time.monotonic(), seen))
        with watch:
            code = run(program, take, lambda pid: watch.follow([pid]))
        ended = time.monotonic()
        ledger.finish()
        found = self._findings(resolver, ledger)
        notes = "; ".join(dict.fromkeys(filter(None, [choice.note, *watch.recording.notes])))
        choice = replace(choice, note=notes)
        self._write(self._report(ledger, decoder, choice, began, code, found, ended))
        return end_as(code)

    @property
    def _file(self) -> Path | None:
        output: Path | None = self.given["output"]
        name = _FILES.get(self.given["output_format"])
        return self.here / output if output is not None else (None if name is None else self.here / name)

    def _resolver(self) -> SettingsResolver:
        config = None if self.given["config"] is None else self.here / self.given["config"]
        # `output-format` is `check`'s where it is a setting.
        settings = overrides({name: value for name, value in self.given.items() if name != "output_format"})
        return SettingsResolver(settings, config, self.given["isolated"], self.here)

    def _card(self) -> Choice:
        """The card on which TensorFlow puts things by itself: the first that it sees."""
        from tflint_gpu.doctor.cards import Choice, choose, shown_devices, survey

        cards = survey(self.nvml)
        try:
            choice = choose(cards, "gpu:0", *shown_devices())
        except ValueError as error:  # only CUDA knows which card it is
            return Choice(None, str(error))
        if choice.gpu is None:
            return replace(choice, note=cards.note or choice.note)
        first = "of several visible GPUs the first was watched" if choice.others else ""
        return replace(choice, note="; ".join(filter(None, [first, choice.note])))

    def _findings(self, resolver: SettingsResolver, ledger: Ledger) -> list[Diagnostic]:
        """What `check` finds in the files that ran."""
        from tflint_gpu.checking.engine import Engine
        from tflint_gpu.checking.workers import with_large_stack
        from tflint_gpu.run.costs import checkable, files_of

        names = checkable(files_of(ledger.entries))
        if not names:
            return []
        files = Discovery(resolver, self.here).find(names)
        engine = Engine(resolver, self.here, use_cache=True)
        results = with_large_stack(lambda: [engine.check(file) for file in files])
        for error in {error.rule: error for result in results for error in result.errors}.values():
            print(f"warning: {error.rule} failed on {error.filename}", file=sys.stderr)
        found = {one.sort_key: one for result in results for one in result.diagnostics}
        return [found[key] for key in sorted(found)]

    def _report(
        self,
        ledger: Ledger,
        decoder: Decoder,
        choice: Choice,
        began: float,
        code: int | None,
        found: Sequence[Diagnostic],
        ended: float | None = None,
    ) -> Report:
        from tflint_gpu.reports import View
        from tflint_gpu.run.costs import costs
        from tflint_gpu.run.reports import Report

        words = ["-m", self.program] if self.given["is_module"] else [self.program]
        return Report(
            program=shlex.join([*words, *self.arguments]),
            seconds=(time.monotonic() if ended is None else ended) - began,
            code=code,
            ledger=ledger,
            gpu=choice.gpu,
            note=choice.note,
            costs=costs(found, ledger.entries, self.here, View(self.here).line) if found else (),
            processes=max(1, decoder.processes),
            command=shlex.join(["tflint-gpu", "run", *sys.argv[2:]]),
            date=date.today().isoformat(),
        )

    def _write(self, report: Report, *, quietly: bool = False) -> None:
        from tflint_gpu.reports import View
        from tflint_gpu.reports.display import use_colour
        from tflint_gpu.run.reports import renderer

        file = self._file
        view = View(self.here, colour=file is None and use_colour(sys.stderr, os.environ))
        text = renderer(self.given["output_format"])(report, view)
        if file is None:
            click.echo(f"\n{text}", nl=False, err=True)
            return
        try:
            replace_file(file, text.encode("utf-8"))
        except OSError as error:
            # The program's own exit code matters more than ours.
            print(f"error: {file}: cannot be written: {error.strerror}", file=sys.stderr)
            return
        if not quietly:
            print(f"tflint-gpu: {file} tells where the GPU waited.", file=sys.stderr)
