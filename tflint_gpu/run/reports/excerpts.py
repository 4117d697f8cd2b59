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
    rows: dict[str, set[int]] = {}
    for line in expensive:
        if line.place is not None:
            rows.setdefault(words.short(line.place.file, view.working_directory), set()).add(line.place.row)
    for cost in report.costs:
        if words.is_worth_reporting(report, cost):
            location = cost.diagnostic.location
            rows.setdefault(words.short(view.absolute(cost.diagnostic.filename), view.working_directory), set()).add(
                location.row
            )
    cut = [excerpt for file, wanted in rows.items() for excerpt in _File(report, view, file).excerpts(wanted)]
    return sorted(cut, key=lambda excerpt: -excerpt.idle)


class _File:
    """A file as it is now, and what its rows cost."""

    def __init__(self, report: Report, view: View, name: str) -> None:
        self._name = name
        text = view.text(name)
        self.remark = _remark(report, view, name, text)
        self._rows = [Row(number, line) for number, line in enumerate((text or "").splitlines(), 1)]
        self._functions = list(_functions(text or ""))
        for line in lines(report.entries):
            if line.place is not None and self._is_here(line.place.file, view) and (row := self._row(line.place.row)):
                row.idle += line.spent.idle
                for (phase, _), spent in line.ways.items():
                    row.parts[phase] = row.parts.get(phase, 0.0) + spent.idle
        for cost in report.costs:
            if self._is_here(view.absolute(cost.diagnostic.filename), view) and (
                row := self._row(cost.diagnostic.location.row)
            ):
                row.findings.append(cost)

    def _is_here(self, file: str, view: View) -> bool:
        return words.short(file, view.working_directory) == self._name

    def _row(self, number: int) -> Row | None:
        return self._rows[number - 1] if 0 < number <= len(self._rows) else None

    def excerpts(self, wanted: set[int]) -> Iterator[Excerpt]:
        """Each function with the rows that are wanted of it."""
        if not self._rows:
            yield Excerpt(self._name, "", 0.0, self.remark, [], [])
            return
        by_function: dict[tuple[str, int, int], list[int]] = {}
        for number in sorted(wanted):
            if self._row(number) is not None:
                by_function.setdefault(self._around(number), []).append(number)
        for (name, first, last), numbers in by_function.items():
            near = sorted({near for number in numbers for near in _near(number, first, last)})
            whole = self._rows[first - 1 : last] if len(near) < last - first + 1 <= _LONGEST else []
            pieces = [[self._rows[number - 1] for number in piece] for piece in _pieces(near)]
            idle = sum(self._rows[number - 1].idle for number in numbers)
            yield Excerpt(self._name, name, idle, self.remark, pieces, whole)

    def _around(self, number: int) -> tuple[str, int, int]:
        """The innermost function around a row; the whole file where there is none."""
        inside = [span for span in self._functions if span[1] <= number <= span[2]]
        return min(inside, key=lambda span: span[2] - span[1], default=("", 1, len(self._rows)))


def _remark(report: Report, view: View, name: str, text: str | None) -> str:
    if text is None:
        return "is not there any more, or cannot be read"
    if name in view.sources or report.started is None:
        return ""
    try:
        written = (view.working_directory / name).stat().st_mtime
    except OSError:
        return ""
    return (
        "was written to after the program began: its rows may not be those that ran" if written > report.started else ""
    )


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
