"""`html`: one page that needs no network: what waits, when, and in which code.

All shares are of the same whole, and those of a table add up to the headline's. A phase has one colour everywhere.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from tflint_gpu import __version__
from tflint_gpu.drawing.pages import rendered
from tflint_gpu.lazy_dataclasses import dataclass
from tflint_gpu.reports import View
from tflint_gpu.reports.amounts import duration
from tflint_gpu.reports.locations import place as placed
from tflint_gpu.run.charges import Line, Spent, phases
from tflint_gpu.run.costs import Cost
from tflint_gpu.run.reports import profile, words
from tflint_gpu.run.reports.excerpts import Excerpt, Row, excerpts
from tflint_gpu.run.reports.panels import drawn, panels
from tflint_gpu.run.result import Report

_MOST_LINES = 25


@dataclass(frozen=True, slots=True)
class _Part:
    """A piece of a bar: how long it is, in percent of the longest."""

    colour: str
    width: float


@dataclass(frozen=True, slots=True)
class _Line:
    """A row of the table of lines; `name` and `text` may have code between backticks.

    Arguments:
        link: the place of its code in the page.
    """

    share: str
    time: str
    bar: list[_Part]
    name: str
    link: str = ""
    text: str = ""
    codes: str = ""


@dataclass(frozen=True, slots=True)
class _Phase:
    """A row of the table of phases.

    Arguments:
        length, idle_length: of its piece of the bar, in percent of the whole.
    """

    name: str
    colour: str
    share: str
    idle: str
    time: str
    length: float
    idle_length: float


@dataclass(frozen=True, slots=True)
class _Finding:
    """A row of the table of findings."""

    share: str
    time: str
    name: str
    link: str
    text: str
    help: str


@dataclass(frozen=True, slots=True)
class _CodeRow:
    """A row of code; `share` is empty where it cost nothing."""

    row: Row
    link: str
    share: str
    bar: list[_Part]
    findings: list[_Finding]


@dataclass(frozen=True, slots=True)
class _Code:
    """A function."""

    excerpt: Excerpt
    share: str
    pieces: list[list[_CodeRow]]
    whole: list[_CodeRow]


def render(report: Report, view: View) -> str:
    """The page, also for a program that ended at once."""
    page = _Page(report, view)
    shown = panels(report, view.working_directory, page.link)
    return rendered(
        Path(__file__).parent,
        title=f"tflint-gpu run: {report.program}",
        verdict=words.verdict(report, view.working_directory),
        expenses=list(words.expenses(report)),
        remarks=words.remarks(report),
        what="GPU idle" if report.knows_use else "a GPU would have waited",
        facts=_facts(report),
        lines=page.lines(),
        panels=shown,
        drawn=drawn(report, shown),
        code=page.code(),
        changed=page.changed(),
        findings=[page.finding(cost) for cost in report.costs if words.is_worth_reporting(report, cost)],
        profile="" if report.trace is None else profile.title(report.trace),
        sections=_sections(report, view.working_directory),
        phases=page.phases(),
        whole=words.seconds(report.whole),
        of="of the run" if report.training is None else "of training",
        figures=_figures(report),
        trainings=list(_trainings(report, view.working_directory)),
        slow=_slow(report, view.working_directory),
        native=_native(report, view.working_directory),
        alongside=_alongside(report, view.working_directory),
    )


def _facts(report: Report) -> dict[str, str]:
    return {
        "program": words.head(report),
        "device": words.device(report),
        "memory": words.memory(report).removeprefix("memory: "),
        "command": report.command,
        "date": report.date,
        "tflint-gpu": __version__,
    }


def _figures(report: Report) -> list[tuple[str, str]]:
    """What the page begins with, where there is a training."""
    if (training := report.training) is None:
        return []
    return [
        (f"{training.per_second:.3g}", "steps per second"),
        (duration(training.quantile(0.5)), "a step, p50"),
        (duration(training.quantile(0.99)), "a step, p99"),
        (words.share(report.share(report.idle)), "GPU idle" if report.knows_use else "a GPU would have waited"),
        (words.seconds(training.wall), f"with {training.steps} steps"),
    ]


def _sections(report: Report, here: Path) -> list[profile.Section]:
    """What TensorFlow's profile says, where it was asked for."""
    sections = () if report.trace is None else profile.sections(report, report.trace, here)
    return [section for section in sections if section.text or section.rows]


def _trainings(report: Report, here: Path) -> Iterator[str]:
    """What is not counted, and the other trainings."""
    if text := words.beside(report):
        yield text
    for training in report.ledger.trainings.steady()[1:]:
        yield f"{words.of_training(training, here)}: {words.steps(training)}."


def _slow(report: Report, here: Path) -> list[tuple[str, str, str, str]]:
    return [
        (
            words.share(report.share(slow.excess)),
            f"{slow.count} of {report.training.steps if report.training else 0}",
            f"{duration(slow.longest)} (step {slow.number})",
            what,
        )
        for slow, what in words.slow(report, here)
    ]


class _Page:
    """What the page shows of a report."""

    def __init__(self, report: Report, view: View) -> None:
        self._report, self._here = report, view.working_directory
        self._expensive = words.most_expensive(report)[:_MOST_LINES]
        self._excerpts = excerpts(report, view, self._expensive)
        rows = [row.idle for excerpt in self._excerpts for piece in excerpt.pieces for row in piece]
        self._most = max([line.spent.idle for line in self._expensive] + rows, default=0.0)
        self._links: dict[tuple[str, int], str] = {}
        for excerpt in self._excerpts:
            for row in (row for piece in excerpt.pieces for row in piece):
                self._links.setdefault((excerpt.file, row.number), f"code-{len(self._links)}")
        idle = [line.spent.idle for line in self._expensive] + [words.other_lines(report, self._expensive)]
        self._tenths = words.tenths(list(map(report.share, idle)), round(1000 * report.share(report.idle)))
        self._of_rows: Counter[tuple[str, int]] = Counter()
        for line, tenths in zip(self._expensive, self._tenths, strict=False):
            if line.place is not None:
                self._of_rows[words.short(line.place.file, self._here), line.place.row] += tenths

    def link(self, file: str, row: int) -> str:
        """The name of a row's place; empty where the page does not show it."""
        return self._links.get((words.short(file, self._here), row), "")

    def lines(self) -> list[_Line]:
        """The most expensive lines, and all others, so that their sum is the idle time of the headline."""
        report, rest = self._report, words.other_lines(self._report, self._expensive)
        others = "other lines, and imports" if report.training is None and report.knows_use else "other lines"
        known = [(words.place(line.place, self._here), line.spent.idle, line) for line in self._expensive]
        rows: list[tuple[str, float, Line | None]] = [*known, (others, rest, None)]
        total = _Line(words.share(report.share(report.idle)), words.seconds(report.idle), [], "total")
        return [*(self._line(share, *row) for share, row in zip(self._tenths, rows, strict=True) if share), total]

    def _line(self, tenths: int, name: str, idle: float, line: Line | None) -> _Line:
        share = words.share(tenths / 1000)
        if line is None:
            return _Line(share, words.seconds(idle), [], name)
        ways: dict[str, float] = {}
        for (phase, _), spent in line.ways.items():
            ways[phase] = ways.get(phase, 0.0) + spent.idle
        link = "" if line.place is None else self.link(line.place.file, line.place.row)
        way, codes = words.way(self._report, line, self._here), words.codes(self._report, line, self._here)
        return _Line(share, words.seconds(idle), self._bar(ways), name, link, way, codes)

    def _bar(self, parts: Mapping[str, float]) -> list[_Part]:
        return [
            _Part(words.colour(name), round(100 * idle / self._most, 2))
            for name, idle in sorted(parts.items(), key=lambda item: -item[1])
            if self._most and idle / self._most >= 0.001
        ]

    def phases(self) -> list[_Phase]:
        """All phases and what was not seen: times add up to the whole, idle times to what the headline says."""
        report = self._report
        known = list(phases(report.entries).items())
        unseen = max(0.0, report.whole - sum(spent.seconds for _, spent in known))
        total = round(1000 * report.share(report.idle))
        idle = words.tenths([report.share(spent.idle) for _, spent in known], total)
        busy_seconds = [max(0.0, spent.seconds - spent.idle) for _, spent in known]
        *busy, rest = words.tenths([report.share(seconds) for seconds in (*busy_seconds, unseen)], 1000 - total)
        rows = [self._phase(*phase) for phase in zip(known, idle, busy, strict=True) if any(phase[1:])]
        end = _Phase("not seen", "", words.share(rest / 1000), "", words.seconds(unseen), rest / 10, 0.0)
        return [*rows, end] if rest else rows

    def _phase(self, known: tuple[str, Spent], idle: int, busy: int) -> _Phase:
        name, spent = known
        time = words.share((idle + busy) / 1000)
        length, strong = (idle + busy) / 10, 100 * idle / (idle + busy)
        seconds = words.seconds(spent.seconds)
        return _Phase(words.phase(name), words.colour(name), time, words.share(idle / 1000), seconds, length, strong)

    def finding(self, cost: Cost) -> _Finding:
        """A finding with what it costs."""
        diagnostic = cost.diagnostic
        return _Finding(
            words.share(self._report.share(cost.idle)) + words.share_of(cost) + words.cost_beside(self._report, cost),
            words.seconds(cost.idle),
            f"{placed(diagnostic.filename, diagnostic.location)} {diagnostic.code} {diagnostic.name}",
            self._links.get(
                (words.short(str(self._here / diagnostic.filename), self._here), diagnostic.location.row), ""
            ),
            diagnostic.message,
            diagnostic.help or "",
        )

    def changed(self) -> list[str]:
        """Which of the files are not as they ran."""
        return list(dict.fromkeys(f"`{excerpt.file}` {excerpt.remark}" for excerpt in self._excerpts if excerpt.remark))

    def code(self) -> list[_Code]:
        """The functions of the expensive lines."""
        return [
            _Code(
                excerpt,
                _share(sum(self._tenths_of(excerpt, row) for piece in excerpt.pieces for row in piece)),
                [self._code(excerpt, piece) for piece in excerpt.pieces],
                self._code(excerpt, excerpt.whole),
            )
            for excerpt in self._excerpts
        ]

    def _code(self, excerpt: Excerpt, rows: Iterable[Row]) -> list[_CodeRow]:
        return [
            _CodeRow(
                row,
                self._links.get((excerpt.file, row.number), ""),
                _share(self._tenths_of(excerpt, row)),
                self._bar(row.parts),
                [self.finding(cost) for cost in row.findings],
            )
            for row in rows
        ]

    def _tenths_of(self, excerpt: Excerpt, row: Row) -> int:
        """As the table of lines has it, where it has the row."""
        return self._of_rows[excerpt.file, row.number] or round(1000 * self._report.share(row.idle))


def _share(tenths: int) -> str:
    return words.share(tenths / 1000) if tenths else ""


def _native(report: Report, here: Path) -> list[tuple[str, ...]]:
    return [
        (words.share(share), library, function, words.place(place, here))
        for (library, function, place), share in words.native(report)[:_MOST_LINES]
    ]


def _alongside(report: Report, here: Path) -> dict[str, list[tuple[str, str]]]:
    return {
        title.removesuffix(":"): [(words.seconds(line.spent.seconds), words.place(line.place, here)) for line in lines]
        for title, lines in words.alongside(report).items()
    }
