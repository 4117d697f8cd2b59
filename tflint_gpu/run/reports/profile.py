"""TensorFlow's profile of some steps, in words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from tflint_gpu.gpu.cards import gibibytes
from tflint_gpu.lazy_dataclasses import dataclass
from tflint_gpu.reports.amounts import duration
from tflint_gpu.reports.summary import plural
from tflint_gpu.run.charges import Line
from tflint_gpu.run.inside.tflint_steps import WARM_UP
from tflint_gpu.run.reports import words
from tflint_gpu.run.result import Report
from tflint_gpu.run.trace import Stage, Trace

_MOST_STAGES, _MOST_ROWS = 5, 5
_LONGEST_NAME = 60
_MEBIBYTE = 1 << 20
_SIZES = {"parallelism": "parallelism", "buffer_limit": "buffer", "max_batch_results": "batches"}
_OF_STAGES = ("waited", "stage", "line", "time", "parallelism", "findings")
_OF_OPERATIONS = ("time", "count", "operation", "where")
_OF_KERNELS = ("share", "count", "precision", "units", "operation", "kernel")
_IN_CODE, _CHOSEN = "set in the code", "chosen by TensorFlow"


@dataclass(frozen=True, slots=True)
class Section:
    """A text of the profile, with the table that belongs to it; `columns` are the names of the table's columns."""

    text: str
    columns: tuple[str, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()


def sections(report: Report, trace: Trace, here: Path) -> Iterator[Section]:
    """All that a report shows of a profile, in its order."""
    yield Section(note(trace))
    if not trace.profile:
        return
    yield Section(waited(trace), _OF_STAGES, tuple(stages(report, trace, here)))
    yield Section(autotune(trace))
    if not trace.gpus:
        yield Section("", _OF_OPERATIONS, tuple(operations(trace)))
    for told in trace.gpus:
        yield Section(gpu(told), _OF_KERNELS, tuple(kernels(told)))
    for text in memory(trace):
        yield Section(text)
    yield Section(files(trace, here))


def title(trace: Trace) -> str:
    """What was recorded."""
    if not trace.profile:
        return "No TensorFlow profile"
    return f"TensorFlow's profile of {trace.steps} steps ({duration(trace.seconds)})"


def note(trace: Trace) -> str:
    """Why there is none, or less than was asked for; empty where all is there."""
    why = trace.why
    if trace.profile:
        return f"{trace.asked} steps were requested: {why}." if trace.steps < trace.asked and why else why
    if why:
        return f"{why}."
    if not trace.finished:
        return "No training step was seen: neither of `fit`, nor of a loop that applies gradients."
    return f"The program ran {plural(trace.finished, 'step')}; the profile would begin after the first {WARM_UP}."


def files(trace: Trace, here: Path) -> str:
    """Where to look at it."""
    profile = words.short(trace.profile, here)
    folder = words.short(str(Path(trace.profile).parents[3]), here)
    return f"Look at it with `tensorboard --logdir {folder}`, or in https://ui.perfetto.dev: {trace_json(profile)}."


def trace_json(profile: str) -> str:
    """The file for Perfetto."""
    return f"{profile.removesuffix('.xplane.pb')}.trace.json.gz"


def waited(trace: Trace) -> str:
    """How much of the steps waited for input."""
    if trace.why and not trace.pipelines:
        return "It is not known what training waited for in these steps."
    if not trace.pipelines:
        return "Training did not use tf.data in these steps."
    share = words.percent(trace.waited / trace.seconds if trace.seconds else 0.0)
    return f"Training waited for its next batch for {share} of the time, for these stages of tf.data:"


def stages(report: Report, trace: Trace, here: Path) -> list[tuple[str, ...]]:
    """The stages that are waited for: share, chain, line, time for an element, how many at a time, findings."""
    return [
        (
            words.percent(stage.waited / trace.seconds),
            stage.chain,
            _line(stage, here),
            f"{duration(stage.worked / stage.elements)} an element" if stage.elements and stage.worked else "",
            parallelism(stage),
            _codes(report, stage, here),
        )
        for stage in trace.stages[:_MOST_STAGES]
        if trace.seconds and stage.waited >= words.WORTH_REPORTING * trace.seconds
    ]


def parallelism(stage: Stage) -> str:
    """How many elements are worked on at a time, and who chose it."""
    number = stage.settings.get("parallelism")
    if not isinstance(number, int):
        return ""
    return f"{number} at a time, {_CHOSEN if _is_tuned(stage) else _IN_CODE}"


def autotune(trace: Trace) -> str:
    """What TensorFlow chose, and what it left as the code has it."""
    chosen: list[str] = []
    left: list[str] = []
    for stage in trace.stages:
        sizes = [f"{name} {size}" for key, name in _SIZES.items() if isinstance(size := stage.settings.get(key), int)]
        if sizes:
            (chosen if _is_tuned(stage) else left).append(f"`{stage.path[-1]}` {', '.join(sizes)}")
    parts = [f"{_CHOSEN}: {'; '.join(chosen)}" if chosen else "", f"{_IN_CODE}: {'; '.join(left)}" if left else ""]
    text = ". ".join(part[:1].upper() + part[1:] for part in parts if part)
    budget = next((stage.settings["cpu_budget"] for stage in trace.stages if "cpu_budget" in stage.settings), None)
    return f"{text}. tf.data may use {budget} cores." if text and budget else text


def operations(trace: Trace) -> list[tuple[str, ...]]:
    """The kinds of operations that took longest on the host: time, how often, where."""
    return [
        (duration(told["seconds"]), plural(told["count"], "time"), told["operation"], _of_stage(told["stage"]))
        for told in trace.operations[:_MOST_ROWS]
    ]


def gpu(told: Mapping[str, Any]) -> str:
    """How a GPU was used in these steps."""
    span, busy, gaps = told["span"] or 1.0, told["busy"], told["gaps"]
    seconds = told["kernel_seconds"] or 1.0
    kinds = ", ".join(
        f"{words.percent(part / seconds)} {name or 'of unknown precision'}" for name, part in told["precisions"].items()
    )
    text = (
        f"{told['name'].removeprefix('/device:')} ran kernels for {words.percent(busy / span)} of {duration(span)}: "
        f"{words.percent(told['tensor_cores'] / seconds)} of the kernels' time on Tensor Cores; {kinds}."
    )
    if not gaps["count"]:
        return text
    waiting = words.percent(gaps["waiting_for_input"] / gaps["seconds"]) if gaps["seconds"] else "0%"
    return (
        f"{text} {gaps['count']} gaps between kernels, {duration(gaps['seconds'])} in total, the longest "
        f"{duration(gaps['longest'])}; for {waiting} of that time the host waited for its next batch."
    )


def kernels(told: Mapping[str, Any]) -> list[tuple[str, ...]]:
    """The kernels of a GPU that took longest."""
    return [
        (
            words.percent(kernel["seconds"] / told["kernel_seconds"]),
            plural(kernel["count"], "time"),
            kernel["precision"],
            "Tensor Cores" if kernel["tensor_cores"] else "",
            kernel["operation"],
            kernel["name"][:_LONGEST_NAME],
        )
        for kernel in told["kernels"][:_MOST_ROWS]
    ]


def memory(trace: Trace) -> Iterator[str]:
    """The most that each allocator held, and what was allocated in these steps by then."""
    for told in trace.memory:
        held = ", ".join(
            f"{each['operation'] or 'unknown'} {_size(each['bytes'])}" for each in told["held_at_peak"][:3]
        )
        of_it = f"; allocated in these steps: {held}" if held else ""
        if told["peak"] >= _MEBIBYTE:
            yield f"{told['allocator'] or 'TensorFlow'}: {_size(told['peak'])} at most{of_it}."


def _size(amount: int) -> str:
    return f"{amount / _MEBIBYTE:.0f} MiB" if amount < 1 << 30 else gibibytes(amount)


def document(report: Report, trace: Trace) -> dict[str, Any]:
    """All of it, for programs."""
    return {
        "asked": trace.asked,
        "steps": trace.steps,
        "seconds": trace.seconds,
        "note": note(trace),
        "profile": trace.profile or None,
        "perfetto": trace_json(trace.profile) if trace.profile else None,
        "waited": round(trace.waited, 6),
        "pipelines": [
            {
                "waited": round(pipeline.waited, 6),
                "filename": None if pipeline.dataset is None else pipeline.dataset.file,
                "row": None if pipeline.dataset is None else pipeline.dataset.first,
                "stages": [_stage(stage, trace) for stage in pipeline.stages],
            }
            for pipeline in trace.pipelines
        ],
        "operations": list(trace.operations),
        "gpus": list(trace.gpus),
        "memory": list(trace.memory),
    }


def _stage(stage: Stage, trace: Trace) -> dict[str, Any]:
    step = stage.step
    return {
        "chain": stage.chain,
        "datasets": stage.datasets,
        "waited": round(stage.waited, 6),
        "share": round(stage.waited / trace.seconds, 4) if trace.seconds else 0.0,
        "elements": stage.elements,
        "seconds_each": round(stage.worked / stage.elements, 9) if stage.elements else None,
        "is_autotuned": _is_tuned(stage),
        "settings": dict(stage.settings),
        "filename": None if step is None else step.file,
        "row": None if step is None else step.first,
        "operation": None if step is None else step.name,
        "is_made_by_its_function": stage.is_inner,
    }


def _is_tuned(stage: Stage) -> bool:
    return stage.settings.get("autotune") == "true"


def _line(stage: Stage, here: Path) -> str:
    step = stage.step
    if step is None:
        return ""
    place = f"{words.short(step.file, here)}:{step.first}"
    return f"{place} in the function of `{step.name}`" if stage.is_inner else f"{place} `{step.name}`"


def _codes(report: Report, stage: Stage, here: Path) -> str:
    return words.codes(report, Line(stage.place), here)


def _of_stage(name: str) -> str:
    return f"in `{name}`" if name else ""
