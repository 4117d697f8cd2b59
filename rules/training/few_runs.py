"""What a finding says where the program as it stands runs a step too seldom for a trace to pay."""

from __future__ import annotations

from tflint_gpu.model import ExecutionContexts, File, Model, Node
from tflint_gpu.rule import Note


def notes_on_few_runs(model: Model, file: File, step: Node) -> tuple[Note, ...]:
    """A note on a step that runs a few times over arrays that the program makes up, as it has no fix then."""
    runs = model.once(ExecutionContexts).few_runs(file, step)
    if runs is None:
        return ()
    times = "once" if runs == 1 else f"{runs} times"
    return (Note(file, step, f"with these made-up arrays it runs {times}, which is too seldom for a trace to pay"),)
