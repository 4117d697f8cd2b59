"""The program's text beside what its lines cost, a function at a time."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import field

from tflint_gpu.lazy_dataclasses import dataclass
from tflint_gpu.reports import View
from tflint_gpu.run.charges import Line, lines
from tflint_gpu.run.costs import Cost
from tflint_gpu.run.reports import words
from tflint_gpu.run.result import Report

_AROUND = 3
_LONGEST = 400
"""A function or file of more rows is not shown as a whole."""


@dataclass(slots=True)
class Row:
    """A row of a file.

    Arguments:
        idle: seconds that it cost.
        parts: which of them in which phase.
        findings: those that begin on it.
    """

    number: int
    text: str
    idle: float = 0.0
    parts: dict[str, float] = field(default_factory=dict)
    findings: list[Cost] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Excerpt:
    """A function, or a file's own rows.

    Arguments:
        remark: why its text is not that of the run, or there is none.
        pieces: what is worth reading, in rows that follow each other.
        whole: all of it; empty where `pieces` has it all already, or it is too long.
    """

    file: str
    function: str
    idle: float
    remark: str
    pieces: list[list[Row]]
    whole: list[Row]


def excerpts(report: Report, view: View, expensive: Iterable[Line]) -> list[Excerpt]:
    """Around these lines, and around the findings that cost anything; the most expensive function first.

    Arguments:
        expensive: the expensive ones.
    """
    files: dict[str, _File] = {}

    def file(name: str) -> _File:
        if name not in files:  # the same object by each of its names
            short = words.short(name, view.working_directory)
            files[name] = files.setdefault(short, _File(report, view, short))
        return files[name]

    for line in lines(report.entries):
        if line.place is not None:
            file(line.place.file).charge(line.place.row, line)
    for line in expensive:
        if line.place is not None:
            file(line.place.file).wanted.add(line.place.row)
    for cost in report.costs:
        file(view.absolute(cost.diagnostic.filename)).tell(cost, words.is_worth_reporting(report, cost))
    cut = [excerpt for known in dict.fromkeys(files.values()) for excerpt in known.excerpts()]
    return sorted(cut, key=lambda excerpt: -excerpt.idle)


class _File:
    """A file as it is now, and what its rows cost; `wanted` are the rows to show."""

    def __init__(self, report: Report, view: View, name: str) -> None:
        self._name = name
        self._text = text = view.text(name)
        self._remark = _remark(report, view, name, text)
        self._rows = [Row(number, line) for number, line in enumerate((text or "").removesuffix("\n").split("\n"), 1)]
        self.wanted: set[int] = set()

    def charge(self, number: int, line: Line) -> None:
        """A row costs what a line does."""
        if row := self._row(number):
            row.idle += line.spent.idle
            for (phase, _), spent in line.ways.items():
                row.parts[phase] = row.parts.get(phase, 0.0) + spent.idle

    def tell(self, cost: Cost, is_worth_showing: bool) -> None:
        """A finding begins on its row."""
        if row := self._row(cost.diagnostic.location.row):
            row.findings.append(cost)
            if is_worth_showing:
                self.wanted.add(row.number)

    def _row(self, number: int) -> Row | None:
        return self._rows[number - 1] if 0 < number <= len(self._rows) else None

    def excerpts(self) -> Iterator[Excerpt]:
        """Each function with the rows that are wanted of it."""
        if self.wanted and self._text is None:
            yield Excerpt(self._name, "", 0.0, self._remark, [], [])
            return
        functions = list(_functions(self._text or "")) if self.wanted else []
        by_function: dict[tuple[str, int, int], list[int]] = {}
        for number in sorted(self.wanted):
            if self._row(number) is not None:
                by_function.setdefault(self._around(number, functions), []).append(number)
        for (name, first, last), numbers in by_function.items():
            near = sorted({near for number in numbers for near in _near(number, first, last)})
            whole = self._rows[first - 1 : last] if len(near) < last - first + 1 <= _LONGEST else []
            pieces = [[self._rows[number - 1] for number in piece] for piece in _pieces(near)]
            idle = sum(self._rows[number - 1].idle for number in numbers)
            yield Excerpt(self._name, name, idle, self._remark, pieces, whole)

    def _around(self, number: int, functions: Sequence[tuple[str, int, int]]) -> tuple[str, int, int]:
        """The innermost function around a row; the whole file where there is none."""
        inside = [span for span in functions if span[1] <= number <= span[2]]
        return min(inside, key=lambda span: span[2] - span[1], default=("", 1, len(self._rows)))


def _remark(report: Report, view: View, name: str, text: str | None) -> str:
    if text is None:
        return "no longer exists, or cannot be read"
    if name in view.sources or report.started is None:
        return ""
    try:
        written = (view.working_directory / name).stat().st_mtime
    except OSError:
        return ""
    changed = "was changed after the program began: its lines may differ from the ones that ran"
    return changed if written > report.started else ""


def _functions(text: str) -> Iterator[tuple[str, int, int]]:
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError):
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
            yield node.name, first, node.end_lineno or node.lineno


def _near(number: int, first: int, last: int) -> range:
    return range(max(first, number - _AROUND), min(last, number + _AROUND) + 1)


def _pieces(numbers: Sequence[int]) -> list[list[int]]:
    pieces: list[list[int]] = []
    for number in numbers:
        if pieces and pieces[-1][-1] == number - 1:
            pieces[-1].append(number)
        else:
            pieces.append([number])
    return pieces
