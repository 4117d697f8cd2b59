"""What a check reports: plain data with positions, ready to be printed, cached, sent and compared.

A rule yields a `Finding` that points at syntax nodes (`tflint_gpu.rule`); the engine turns it into
a `Diagnostic`, which knows rows, columns and edits and needs no tree any more.
"""

from __future__ import annotations

from dataclasses import field, replace
from typing import Literal

from tflint_gpu.lazy_dataclasses import dataclass
from tflint_gpu.severity import WORST_FIRST, Severity

Applicability = Literal["safe", "unsafe"]
PredictionKind = Literal["crash", "slowdown", "memory", "wrong-result", "wrong-device", "no-effect"]


@dataclass(frozen=True, slots=True, order=True)
class Location:
    """A place in a file: row and column count from 1, columns in characters.

    Arguments:
        cell: of a notebook, counted from 1 over all its cells, and then `row` counts in this cell; 0 elsewhere.
        stored_row, stored_column: where this place is in the JSON of the notebook; 0 elsewhere.
    """

    cell: int = field(default=0, kw_only=True)
    row: int
    column: int
    stored_row: int = field(default=0, kw_only=True, compare=False)
    stored_column: int = field(default=0, kw_only=True, compare=False)

    @property
    def in_file(self) -> Location:
        """The location in the file on the disk, for formats without cells."""
        return Location(self.stored_row, self.stored_column) if self.cell else self

    @property
    def file_row(self) -> int:
        """The row in the file on the disk."""
        return self.in_file.row

    def __str__(self) -> str:
        place = f"{self.row}:{self.column}"
        return f"cell {self.cell}:{place}" if self.cell else place


@dataclass(frozen=True, slots=True)
class Edit:
    """Replace the characters `start` to `end` (offsets into the decoded text) by `content`."""

    start: int
    end: int
    location: Location
    end_location: Location
    content: str


@dataclass(frozen=True, slots=True)
class Fix:
    """Edits that together fix one finding; they are applied all or not at all.

    Arguments:
        defines: the names of the functions that they define.
    """

    message: str
    applicability: Applicability
    edits: tuple[Edit, ...]
    defines: tuple[str, ...] = ()

    @property
    def is_untried(self) -> bool:
        """Whether nobody asked for the fix, so that it is not known whether there is one."""
        return not self.edits


@dataclass(frozen=True, slots=True)
class OnCpu:
    """The range of a slowdown's factor on a CPU, where the work of the code follows from its layers and its batch.

    Arguments:
        low, high: the factor on a CPU with so many cores.
        cores: of the machine on which that was measured.
        basis: what it rests on, as `Prediction` has it.
    """

    low: float
    high: float
    cores: int
    basis: str

    def most_with(self, cores: int) -> float:
        """The highest factor with other cores: more of them do the work sooner, and start it no sooner."""
        return 1 + (self.high - 1) * max(1.0, cores / self.cores)


@dataclass(frozen=True, slots=True)
class Prediction:
    """What a finding claims will happen, in a form that a measurement can confirm or refute.

    Arguments:
        kind: what goes wrong.
        applies: where it does, for example `("traced",)` or `("gpu", "tensorflow<2.11")`; memory is that of a card, and
            with "host" that of the machine.
        low, high: for a slowdown, the range of the factor that was measured; else None.
        basis: what the prediction rests on, in one sentence (a measurement or TensorFlow's source).
        on_cpu: a narrower range, which says nothing of a GPU; None where there is none.
    """

    kind: PredictionKind
    applies: tuple[str, ...] = ()
    low: float | None = None
    high: float | None = None
    basis: str = ""
    on_cpu: OnCpu | None = None

    def measured_on(self, device: str, cores: int) -> Prediction:
        """What to compare with a measurement on a device ("cpu" or a card), on a machine with so many cores."""
        own = self.on_cpu
        if own is None or device != "cpu" or self.low is None or self.high is None:
            return replace(self, on_cpu=None)
        most = own.most_with(cores)
        if most >= self.high:
            return replace(self, on_cpu=None)
        return replace(self, low=min(self.low, own.low), high=most, basis=own.basis, on_cpu=None)


@dataclass(frozen=True, slots=True)
class Related:
    """Another place that explains a finding, such as the call through which a function is traced."""

    filename: str
    location: Location
    end_location: Location
    message: str


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One finding with its positions.

    Arguments:
        noqa_row: the row on which a suppression comment works.
        measured: what an earlier `verify` or `run` measured of this code, in words.
        verdict: of that `verify`; empty where it has none.
        share: of that `run`, which a fix saves at most; None where none was measured.
        estimate: what a fix brings, in words; only where that was asked for.
        of_project: whether a report of several files says it once for each project.
    """

    code: str
    name: str
    message: str
    filename: str
    location: Location
    end_location: Location
    noqa_row: int
    severity: Severity
    prediction: Prediction | None = None
    help: str = ""
    related: tuple[Related, ...] = ()
    fix: Fix | None = None
    url: str | None = None
    measured: str = ""
    verdict: str = ""
    share: float | None = None
    estimate: str = ""
    of_project: bool = False

    @property
    def text(self) -> str:
        """The message with what was measured, for formats that have one text for a finding."""
        return f"{self.message}; measured: {self.measured}" if self.measured else self.message

    def is_at_least(self, severity: Severity) -> bool:
        """Whether its own severity is this one or a worse one."""
        return WORST_FIRST.index(self.severity) <= WORST_FIRST.index(severity)

    @property
    def sort_key(self) -> tuple[str, Location, str, str]:
        """Order of a report: by file, then place, then code."""
        return (self.filename, self.location, self.code, self.message)

    @property
    def in_file(self) -> Diagnostic:
        """For formats without cells: with locations in the file on the disk, and the cell in the message."""
        if not self.location.cell:
            return self
        return replace(
            self,
            message=f"{self.location}: {self.message}",
            location=self.location.in_file,
            end_location=self.end_location.in_file,
            noqa_row=self.location.in_file.row,
            related=tuple(
                replace(location, location=location.location.in_file, end_location=location.end_location.in_file)
                for location in self.related
            ),
            fix=None,  # its text is not JSON
        )


@dataclass(frozen=True, slots=True)
class InternalError:
    """A rule or the model failed on a file: reported with exit code 2, and the work goes on."""

    filename: str
    rule: str
    detail: str
