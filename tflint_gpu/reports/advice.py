"""What reports say once: advice that is the same many times, for people; what holds for a whole project, for all."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from tflint_gpu.lazy_dataclasses import dataclass
from tflint_gpu.reports.display import printable
from tflint_gpu.reports.locations import place

if TYPE_CHECKING:
    from tflint_gpu.diagnostics import Diagnostic
    from tflint_gpu.reports import View

_PLACES = 3


@dataclass(frozen=True, slots=True)
class Fold:
    """Two or more pieces of advice of one rule, reported in one line.

    Arguments:
        members: in the order of the report.
    """

    members: tuple[Diagnostic, ...]

    @property
    def first(self) -> Diagnostic:
        """The one whose words and place stand for all."""
        return self.members[0]

    @property
    def message(self) -> str:
        """What is advised; it says so where not all members say the same."""
        same = len({member.message for member in self.members}) == 1
        return printable(self.first.message) + ("" if same else ", and the like")

    def mark(self, view: View) -> str:
        """`[*] ` if `--fix` would fix any of it, as the table of `--statistics` has it."""
        return next(filter(None, map(view.fix_mark, self.members)), "")

    def places(self, listed: int = 0) -> str:
        """The first places, without those that the line tells already, and dots if there are more."""
        shown = [place(member.filename, member.location) for member in self.members[listed:_PLACES]]
        return ", ".join(shown + ["..."] * (len(self.members) > _PLACES))


def once_a_project(diagnostics: Sequence[Diagnostic], roots: Mapping[str, Path]) -> list[Diagnostic]:
    """Diagnostics of which those that hold for a project are one for each, at the first place; the others are related.

    A measurement belongs to one place, so what was measured stays as it is.

    Arguments:
        roots: of the projects, by the names of the files that are checked.
    """
    told: dict[tuple[str, Path | None], list[Diagnostic]] = {}
    kept: list[list[Diagnostic]] = []
    for diagnostic in diagnostics:
        key = diagnostic.code, roots.get(diagnostic.filename)
        if not diagnostic.of_project or diagnostic.measured:
            kept.append([diagnostic])
        elif key in told:
            told[key].append(diagnostic)
        else:
            kept.append(told.setdefault(key, [diagnostic]))
    return [_of_all(*group) for group in kept]


def _of_all(first: Diagnostic, *others: Diagnostic) -> Diagnostic:
    if not others:
        return first
    from tflint_gpu.diagnostics import Related  # a run without findings does without

    places = (Related(other.filename, other.location, other.end_location, "here, too") for other in others)
    programs = "another program" if len(others) == 1 else f"{len(others)} other programs"
    return replace(first, message=f"{first.message}; the same in {programs}", related=(*first.related, *places))


def fold(diagnostics: Sequence[Diagnostic], view: View) -> tuple[list[Diagnostic], list[Fold]]:
    """What is reported one by one, advice last, and what is reported in one line, by rule.

    A measurement belongs to one place, so advice with one is not folded.
    """
    worse = [diagnostic for diagnostic in diagnostics if diagnostic.severity != "advice"]
    single: list[Diagnostic] = []
    equal: dict[str, list[Diagnostic]] = {}
    for diagnostic in diagnostics:
        if diagnostic.severity != "advice":
            continue
        if diagnostic.measured or view.show_advice:
            single.append(diagnostic)
        else:
            equal.setdefault(diagnostic.code, []).append(diagnostic)
    folds = []
    for _, members in sorted(equal.items()):
        if len(members) == 1:
            single += members
        else:
            folds.append(Fold(tuple(members)))
    return worse + single, folds
