"""What reports list, and what they only count: advice, for people; what holds for a whole project, once for all."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tflint_gpu.diagnostics import Diagnostic


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


def apart(
    diagnostics: Sequence[Diagnostic], is_asked_for: Callable[[Diagnostic], bool]
) -> tuple[list[Diagnostic], list[Diagnostic]]:
    """What a report for people lists, advice last, and the advice that it only counts.

    A measurement belongs to one place, so advice with one is listed.

    Arguments:
        is_asked_for: whether advice is listed, too.
    """
    listed: list[Diagnostic] = []
    counted: list[Diagnostic] = []
    for diagnostic in diagnostics:
        is_told = diagnostic.measured or diagnostic.estimate or is_asked_for(diagnostic)
        (listed if diagnostic.severity != "advice" or is_told else counted).append(diagnostic)
    return sorted(listed, key=lambda diagnostic: diagnostic.severity == "advice"), counted
