"""`check --estimate`: how often the code of each finding runs, which only its syntax nodes tell."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from tflint_gpu.cli.flagged import findings
from tflint_gpu.reports.estimates import Frequency, Key, estimated

if TYPE_CHECKING:
    from tflint_gpu.cli.reporting import Outcome
    from tflint_gpu.finding import Finding
    from tflint_gpu.model import Model
    from tflint_gpu.settings.config import SettingsResolver
    from tflint_gpu.settings.files import FileToCheck

_MOST_LOOPS = 2
_PIPELINES = "input_pipeline"


def in_order(outcome: Outcome, resolver: SettingsResolver, files: Sequence[FileToCheck], here: Path) -> Outcome:
    """The outcome with its findings in the order of what fixing them brings.

    Arguments:
        files: that were checked: those that have to do with a finding are analysed again.
    """
    from tflint_gpu.checking.stack import with_large_stack

    def ordered() -> Outcome:
        frequencies = _frequencies(outcome, resolver, files, here)
        return replace(outcome, diagnostics=estimated(outcome.diagnostics, frequencies))

    return with_large_stack(ordered) if outcome.diagnostics else outcome


def _frequencies(
    outcome: Outcome, resolver: SettingsResolver, files: Sequence[FileToCheck], here: Path
) -> dict[Key, Frequency]:
    from tflint_gpu.rule import entries

    themes = {entry.code: entry.theme for entry in entries()}
    wanted = {diagnostic.sort_key for diagnostic in outcome.diagnostics}
    flagged, _ = findings(resolver, files, here)
    return {
        diagnostic.sort_key: _frequency(finding, model, themes.get(diagnostic.code) == _PIPELINES)
        for _, finding, diagnostic, model in flagged
        if diagnostic.sort_key in wanted
    }


def _frequency(finding: Finding, model: Model, is_pipeline: bool) -> Frequency:
    from tflint_gpu.model import frequency

    if is_pipeline:
        return Frequency(1, "for each element or batch that the dataset gives")
    known = frequency(model, finding.file, finding.node)
    is_traced = known.is_traced and "eager" not in finding.prediction.applies
    rows = [f"{file.source.name}:{file.source.locate(file.span(loop)[0]).row}" for file, loop in known.loops]
    text = ", in that at ".join(rows[:_MOST_LOOPS])
    loops = f"in each iteration of the loop at {text}" if text else ""
    traced = "in each run of the graph that it is traced into" if is_traced else ""
    return Frequency(len(known.loops) + is_traced, loops or traced)
