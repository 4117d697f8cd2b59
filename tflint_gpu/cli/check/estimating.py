"""`check --estimate`: how often the code of each finding runs, which only its syntax nodes tell."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from tflint_gpu.cli.commands.flagged import findings
from tflint_gpu.reports.estimates import Frequency, Key, estimated

if TYPE_CHECKING:
    from tflint_gpu.cli.check.reporting import Outcome
    from tflint_gpu.model import Model
    from tflint_gpu.rule.finding import Finding
    from tflint_gpu.settings.config import SettingsResolver
    from tflint_gpu.settings.files import FileToCheck

_MOST_LOOPS = 2
_PIPELINES = "input_pipeline"


def in_order(
    outcome: Outcome, resolver: SettingsResolver, files: Sequence[FileToCheck], here: Path, paths: Sequence[str]
) -> Outcome:
    """The outcome with its findings in the order of what fixing them brings.

    Arguments:
        files: that were checked, and are analysed again.
        paths: that were named.
    """
    from tflint_gpu.checking.stack import with_large_stack

    def ordered() -> Outcome:
        frequencies = _frequencies(outcome, resolver, files, here, paths)
        return replace(outcome, diagnostics=estimated(outcome.diagnostics, frequencies))

    return with_large_stack(ordered) if outcome.diagnostics else outcome


def _frequencies(
    outcome: Outcome, resolver: SettingsResolver, files: Sequence[FileToCheck], here: Path, paths: Sequence[str]
) -> dict[Key, Frequency]:
    from tflint_gpu.rule import entries

    themes = {entry.code: entry.theme for entry in entries()}
    wanted = {diagnostic.sort_key for diagnostic in outcome.diagnostics}
    flagged, _ = findings(resolver, files, here, paths)
    return {
        diagnostic.sort_key: _frequency(finding, model, themes.get(diagnostic.code) == _PIPELINES)
        for _, finding, diagnostic, model in flagged
        if diagnostic.sort_key in wanted
    }


def _frequency(finding: Finding, model: Model, is_pipeline: bool) -> Frequency:
    import libcst as cst

    from tflint_gpu.model import FEW_IN_ALL, ExecutionContexts

    if is_pipeline:
        return Frequency(1, "for each element or batch of the dataset")
    contexts, node = model.once(ExecutionContexts), finding.node
    own = (contexts.of_loop(finding.file, node),) if isinstance(node, cst.For | cst.While) else ()
    ways = [
        tuple(loop for loop in (*way.loops, *own) if loop.length is None or loop.length > FEW_IN_ALL)[::-1]
        for way in contexts.of(finding.file, node)
    ]
    loops = max(ways, key=len, default=())
    rows = [
        f"{loop.text} at {loop.file.source.name}:{loop.file.source.row(loop.file.span(loop.loop)[0])}" for loop in loops
    ]
    return Frequency(len(loops), f"in each iteration of {', in '.join(rows[:_MOST_LOOPS])}" if rows else "")
