"""`%%tflint_run` in a notebook: runs a cell and says where it leaves the GPU idle, as `tflint-gpu run` of a program.

    %load_ext tflint_gpu

    %%tflint_run
    model.fit(data)

The cell runs in the notebook's own process; a thread of it samples the stacks. IPython is imported only here.
"""

from __future__ import annotations

import os
import shlex
import sys
import traceback
from dataclasses import field, replace
from pathlib import Path
from typing import Any

from tflint_gpu.diagnostics import Diagnostic, Location
from tflint_gpu.doctor.absence import why_unused
from tflint_gpu.doctor.machine_report import MachineReport
from tflint_gpu.drawing.libraries import MissingLibrary
from tflint_gpu.gpu.nvml import Nvml
from tflint_gpu.lazy_dataclasses import dataclass
from tflint_gpu.lazy_patterns import regex
from tflint_gpu.reports import View
from tflint_gpu.run import Decoder, Place, Recording, ThisProcess, checkable, inspect, renderer
from tflint_gpu.text.decoding.notebooks import written_notebook
from tflint_gpu.text.replacement import replace_file
from tflint_gpu.text.source import SourceFile

NAME = "tflint_run"
_LABEL = regex(r"In\[(\d+)\]")
_NOTEBOOK = "In.ipynb"


def load(shell: Any) -> None:
    """Give a shell of IPython the magic."""
    shell.register_magic_function(CellRunner(shell).run, "cell", NAME)


def unload(shell: Any) -> None:
    """Take it away."""
    shell.magics_manager.magics["cell"].pop(NAME, None)


@dataclass(slots=True)
class CellRunner:
    """Runs cells of one notebook.

    Arguments:
        shell: of IPython.
        nvml: what to ask for cards; None: `pynvml`.
    """

    shell: Any
    nvml: Nvml | None = None
    _bodies: dict[str, tuple[int, int]] = field(default_factory=dict)
    _process: ThisProcess = field(default_factory=ThisProcess)
    _unused: MachineReport | None = None

    def run(self, line: str, cell: str) -> None:
        """Run a cell, print where it waited or write that to a file, and fail as the cell did.

        Arguments:
            line: the options: `-o FILE`, whose ending says what is written (.json, .html, else text).
        """
        output = self._output(line)
        number = max(1, len(self._inputs()) - 1)  # the shell counts on before a cell runs, or after, by its version
        self._remember(cell, number)
        known = Recording.begin(self.nvml)
        known.decoder = Decoder(self._known_as)
        with (
            known.watch(self.nvml) as watch,
            self._process.sampled(known.take, asks_memory=known.choice.gpu is not None),
        ):
            watch.follow([os.getpid()])
            result = self.shell.run_cell(cell, store_history=False)
        known.finish(watch)
        error = result.error_before_exec or result.error_in_exec
        end = "ended" if error is None else f"raised {type(error).__name__}"
        try:
            self._write(known, output, f"In [{number}]", end)
        except Exception:  # what the cell did matters more than the report on it
            print("tflint-gpu failed to report on this cell:", file=sys.stderr)
            traceback.print_exc()
        if error is not None:
            # It was shown when it happened; it must still stop whoever runs all cells.
            error._render_traceback_ = lambda: [f"{type(error).__name__}: {error}"]
            raise error

    @property
    def here(self) -> Path:
        """The folder of the notebook."""
        return Path.cwd()

    def _output(self, line: str) -> Path | None:
        from IPython.core.error import UsageError

        words = shlex.split(line)
        if not words:
            return None
        if len(words) != 2 or words[0] not in ("-o", "--output"):
            raise UsageError(f"%%{NAME} takes only -o FILE: the report as text, .json or .html")
        try:
            renderer(_format(path := self.here / words[1]))
        except MissingLibrary as error:
            raise UsageError(f"%%{NAME} -o {words[1]}: {error}") from error
        return path

    def _remember(self, cell: str, number: int) -> None:
        """Under which name the cell is compiled, and how many rows above it are not compiled with it."""
        name = self.shell.compile.get_code_name(cell, self.shell.transform_cell(cell), number)
        raw = self._inputs()[number] if number < len(self._inputs()) else cell
        self._bodies[name] = (number, max(0, _rows(raw) - _rows(cell)))

    def _inputs(self) -> list[str]:
        """All cells that were run, by their numbers."""
        inputs: list[str] = self.shell.history_manager.input_hist_raw
        return inputs

    def _known_as(self, place: Place) -> Place:
        """The place in its cell, `In [3]`, for one in the file that a cell is compiled as."""
        for name in (place.file, Path(place.file).name):
            number, above = self._bodies.get(name, (0, 0))
            if not number and (label := self.shell.compile.format_code_name(name)) is not None:
                number = int(match[1]) if (match := _LABEL.fullmatch(label[1])) else 0
                above = _rows_above(self._inputs()[number]) if number < len(self._inputs()) else 0
            if number:
                rows = (place.row + above, place.function, place.first + above, place.last + above)
                return Place(str(self.here / f"In [{number}]"), *rows)
        return place

    def _write(self, known: Recording, output: Path | None, program: str, end: str) -> None:
        from tflint_gpu.checking.engine import Engine
        from tflint_gpu.settings.config import SettingsResolver
        from tflint_gpu.settings.files import Discovery
        from tflint_gpu.settings.options import Options

        inputs = self._inputs()
        cells = {f"In [{number}]": text for number, text in enumerate(inputs) if text.strip()}
        sources = {name: SourceFile.decode(text.encode(), Path(f"{name}.py"), name) for name, text in cells.items()}
        view = View(self.here, sources=sources)
        resolver = SettingsResolver(Options(), None, False, self.here)
        discovery = Discovery(resolver, self.here)
        document = written_notebook(("code", "python", text) for text in inputs[1:])  # numbered as they ran
        notebook = discovery.describe(self.here / _NOTEBOOK, self.here, document.encode())
        names = checkable(known.ledger.entries)
        files = discovery.find(names) if names else []
        inspection = inspect(Engine(resolver, self.here, shares_process=True), [notebook, *files], self._name_of)
        inspection = replace(
            inspection, diagnostics=tuple(_in_cell(diagnostic) for diagnostic in inspection.diagnostics)
        )
        if known.ledger.gpus == 0 and self._unused is None:
            self._unused = why_unused(known.cards, sys.executable)
        report = known.report(
            program,
            view,
            inspection=inspection,
            unused=self._unused if known.ledger.gpus == 0 else None,
            price=resolver.for_directory(self.here).price,
            end=end,
            command=f"%%{NAME}",
        )
        text = renderer("full" if output is None else _format(output))(report, view)
        if output is None:
            print(text, end="")
            return
        replace_file(output, text.encode("utf-8"))
        print(f"tflint-gpu: {output} says where the GPU waited.")

    def _name_of(self, source: SourceFile, offset: int) -> str:
        cell = source.locate(offset).cell
        return str(self.here / f"In [{cell}]") if cell else str(source.path)


def _format(output: Path) -> str:
    return {".json": "json", ".html": "html"}.get(output.suffix, "full")


def _rows(text: str) -> int:
    return text.rstrip("\n").count("\n") + 1


def _rows_above(text: str) -> int:
    """Empty rows at the start, which IPython takes away."""
    return len(text) - len(text.lstrip("\n"))


def _in_cell(diagnostic: Diagnostic) -> Diagnostic:
    """A finding in a cell under the name that IPython's users know."""

    def placed(filename: str, place: Location) -> tuple[str, Location]:
        return (f"In [{place.cell}]", Location(place.row, place.column)) if place.cell else (filename, place)

    filename, location = placed(diagnostic.filename, diagnostic.location)
    related = []
    for note in diagnostic.related:
        name, start = placed(note.filename, note.location)
        related.append(replace(note, filename=name, location=start, end_location=placed(name, note.end_location)[1]))
    end = placed(filename, diagnostic.end_location)[1]
    return replace(diagnostic, filename=filename, location=location, end_location=end, related=tuple(related), fix=None)
