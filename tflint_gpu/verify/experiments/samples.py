"""What one run of a program showed, in the terms of the judge and of reports."""

from __future__ import annotations

import dataclasses
import math
import re
import statistics
import sys
from collections.abc import Collection, Mapping, Sequence

from tflint_gpu.gpu.watch import Recording
from tflint_gpu.verify.execution.tracebacks import lacks_variable
from tflint_gpu.verify.execution.worker import Outcome
from tflint_gpu.verify.experiments.verification import Case, Sample
from tflint_gpu.verify.slicing.extract import MADE_UP
from tflint_gpu.verify.statistics import outcomes
from tflint_gpu.verify.statistics.outputs import Outputs
from tflint_gpu.verify.statistics.statistics import CONFIRMED, Verdict

_NOT_THERE = re.compile(r"No module named '([\w.]+)'")
# Where a package is called otherwise than its module.
_DISTRIBUTIONS = {
    "cv2": "opencv-python",
    "sklearn": "scikit-learn",
    "skimage": "scikit-image",
    "PIL": "pillow",
    "yaml": "pyyaml",
    "Bio": "biopython",
    "bs4": "beautifulsoup4",
    "dotenv": "python-dotenv",
    "tensorflow_addons": "tensorflow-addons",
    "tensorflow_datasets": "tensorflow-datasets",
    "tensorflow_hub": "tensorflow-hub",
    "tensorflow_probability": "tensorflow-probability",
    "tensorflow_text": "tensorflow-text",
}
EMPTY, NEVER_RUN = "EmptyData", "NeverRun"
NOT_REACHED = "the program ended before it reached the flagged code"
# What the programs note as `raised_in` (`tflint_measure.examine`).
_DURING = {
    "tf.function": " when `tf.function` traced it, as `fit` does (in the program it only runs eagerly),",
    "fit": " when a model with this code was fitted (Keras caught the error while the program built the model),",
    "caught": " and the program caught it,",
}


def sample_of(outcome: Outcome, recording: Recording | None) -> Sample:
    """What a run showed, besides what the card did meanwhile."""
    notes = outcome.result.notes if outcome.result is not None else {}
    return Sample(_as_run(outcome), outcome.steps, outcome.seconds, notes, recording, outcome.peak_memory)


def _as_run(outcome: Outcome) -> outcomes.Run:
    """What a run showed, in the terms of the judge."""
    if outcome.status == "raised":
        where = outcome.result.notes.get("raised_in") if outcome.result is not None else None
        during = _DURING.get(where, "") if isinstance(where, str) else ""
        lacks = lacks_variable(outcome.stderr)
        crash = outcomes.Crash(outcome.exception or "Exception", outcome.text, during, lacks_variable=lacks)
        return outcomes.Run(crash=crash, outputs=_outputs(outcome))
    if outcome.status == "no result" and outcome.exit_code == 0:
        return outcomes.Run(failure=NOT_REACHED)
    if outcome.status != "finished" or outcome.result is None:
        return outcomes.Run(failure=f"{outcome.status}: {outcome.text}")
    result = outcome.result
    if result.notes.get("unfinished"):
        return outcomes.Run(failure=NOT_REACHED)
    wrong, asked = result.notes.get("wrong"), result.notes.get("asked")
    whole = _whole(result.notes)
    traces = 0.0 if whole is None else whole.traces
    return outcomes.Run(
        seconds=statistics.median(result.blocks or result.steps) + traces if result.blocks or result.steps else None,
        blocks=tuple(block + traces for block in result.blocks),
        whole=whole,
        outputs=_outputs(outcome),
        wrong=wrong if isinstance(wrong, str) else None,
        placement=outcomes.Placement(asked, result.devices) if isinstance(asked, str) else None,
    )


def _whole(notes: Mapping[str, object]) -> outcomes.WholeRun | None:
    """The run of which a program measured a part, where its length is known and the data is the user's."""
    known, once = notes.get("whole"), notes.get("once")
    if not isinstance(known, dict) or not isinstance(once, float) or notes.get("made_up") or notes.get("stand_in"):
        return None
    match known:
        case {
            "steps": int(steps),
            "shapes": int(shapes),
            "seen": int(seen),
            "trace": float(trace),
            "samples": int(per),
        }:
            if steps > 0 and shapes > 0 and per > 0 and 0 <= trace < math.inf:
                return outcomes.WholeRun(steps, shapes, trace, max(0.0, once - trace * max(0, seen - 1)), per)
    return None


def _outputs(outcome: Outcome) -> Outputs | None:
    result = outcome.result
    return None if result is None or result.outputs is None else Outputs(result.outputs, result.dtype or "")


def aside(before: Sample, after: Sample) -> str:
    """What else a program found out: how a function does that was also run eagerly."""
    if before.notes.get("eager") != "works":
        return ""
    text = "; run eagerly, the flagged code works"
    if before.steps and after.steps:
        factor = f"{statistics.median(before.steps) / statistics.median(after.steps):.2g}"
        slower = f" and takes {factor} times as long as the fixed code"
        text += " and is as fast as the fixed code" if factor == "1" else slower
    return text + (", but no gradient flows through it" if before.notes.get("gradient") == "None" else "")


def remedy(sample: Sample) -> str:
    """What the user can do about a program that failed, for the end of a sentence; empty where that is not known."""
    crash = sample.run.crash
    kind = crash.exception.rpartition(".")[2] if crash is not None else ""
    if kind == EMPTY:
        return "; `# tflint-gpu: input=(32, 128) float32` on the line that makes the data describes its shape and dtype"
    if kind in ("FileNotFoundError", "NotFoundError"):
        return "; describe the data with `# tflint-gpu: input=(32, 128) float32` on the line that reads it"
    if crash is not None and crash.lacks_variable:
        return f"; `--env {crash.text.strip(chr(39))}` passes your variable on, `--env NAME=VALUE` sets one"
    missing = _NOT_THERE.match(crash.text) if crash is not None and kind == "ModuleNotFoundError" else None
    top = missing[1].partition(".")[0] if missing is not None else ""
    if not top or top in sys.stdlib_module_names:
        return ""
    return f"; `pip install {_DISTRIBUTIONS.get(top, top)}` in TensorFlow's environment"


def windowed(recording: Recording, outcome: Outcome) -> Recording:
    """The recording with the time in which the program measured: its clock is the one of all processes here."""
    measured = outcome.result.notes.get("measured") if outcome.result is not None else None
    match measured:
        case [float(start), float(end)] if recording.began <= start <= end:
            return recording.within(start, end)
    return recording


def remarks_on(case: Case, samples: Sequence[tuple[Sample, Sample]]) -> tuple[str, ...]:
    """How what was run differs from what the user runs: known before, and reported by the programs."""
    notes = (sample.notes.get("made_up") for both in samples for sample in both)
    made_up = dict.fromkeys(text for note in notes if isinstance(note, list) for text in note if isinstance(text, str))
    more: tuple[str, ...] = (f"{MADE_UP} {', '.join(made_up)}",) if made_up else ()
    hurried = {sample.notes["hurried"] for both in samples for sample in both if "hurried" in sample.notes}
    more += (f"measured after only {min(map(str, hurried))} warm-up steps, for lack of time",) if hurried else ()
    return (*(case.pair.remarks if case.pair is not None else ()), *case.remarks, *more)


def with_stand_ins(verdict: Verdict, rounds: Sequence[outcomes.Round], expected: Collection[str]) -> Verdict:
    """What may be said where something was made up: an input of ours says nothing against a finding.

    A program that cannot use it was not run; one that shows nothing with it decides nothing.

    Arguments:
        expected: the exceptions that the flagged program was predicted to raise.
    """
    flagged = [item.before for item in rounds if not _raised(item.before, expected)]
    faults = [run.fault for run in (*flagged, *(item.after for item in rounds)) if run.fault is not None]
    if faults and verdict.verdict not in CONFIRMED:
        return Verdict("not run", f"with synthetic data a program did not run to its end: {faults[0]}")
    if verdict.verdict == "wrong result confirmed" and any(item.before.wrong is None for item in rounds):
        return Verdict(
            "not run", f"with synthetic data the results differ, perhaps because of that data: {verdict.reason}"
        )
    if verdict.verdict in ("refuted", "no gain worth having"):
        reason = f"{verdict.reason}; the synthetic data may differ too much from the real data for a verdict"
        return dataclasses.replace(verdict, verdict="inconclusive", reason=reason)
    return verdict


def _raised(run: outcomes.Run, expected: Collection[str]) -> bool:
    names = {name.rpartition(".")[2] for name in expected}
    return run.crash is not None and run.crash.exception.rpartition(".")[2] in names
