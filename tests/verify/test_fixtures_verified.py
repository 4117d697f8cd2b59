"""A program in `fixtures/` for each rule gets a verdict, on the CPU, with the installed TensorFlow.

One experiment is run for each program, so that all of it stays a matter of minutes. For some rules it is run as often as
a verdict needs; for the others each variant is run once, which shows that what was cut out of the program runs, and what
it shows. Where steps are timed that is in forks of one process that has imported TensorFlow. What only a GPU shows must
say so. What takes seconds runs by `pytest -m slow`. All other programs are a campaign: `pytest -m campaign`.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from forked import ForkedPrograms
from verified import cases_of, verified

from tflint_gpu.diagnostics import Prediction
from tflint_gpu.verify.execution.results import read_result
from tflint_gpu.verify.experiments.samples import NOT_REACHED
from tflint_gpu.verify.experiments.verification import Case, Setup, blocker
from tflint_gpu.verify.statistics.statistics import CONFIRMED

FIXTURES = Path(__file__).resolve().parents[2] / "fixtures"
TIMED = ("slowdown", "no-effect")
# What a CPU shows: a wide margin lies between these factors and the noise of a busy machine.
CERTAIN = ("TFG101", "TFG201", "TFG202", "TFG308", "TFG501", "TFG502", "TFG506")
TO_THE_END = {
    "no_faster/sine_layer.py": "TFG101",
    "validation_only/online_fit.py": "TFG201",
    "validation_only/eager_step.py": "TFG202",
    "idle_in_validation/eager_eval_loop.py": "TFG207",
    "no_faster/no_injection.py": "TFG301",
    "no_faster/pipeline_order.py": "TFG308",
    "not_used/with_device.py": "TFG501",
    "not_used/typo.py": "TFG502",
    "not_used/first_gpu_growth.py": "TFG506",
}
"""Programs whose finding of this rule is measured until there is a verdict. TFG302 has a test of its own."""

LONG = (
    "validation_only/online_fit.py",
    "idle_in_validation/eager_eval_loop.py",
    "no_faster/no_injection.py",
    "not_used/with_device.py",
    "not_used/first_gpu_growth.py",
)
"""Of those, what is left to the campaign: what they show of `verify` itself, others and the command's own tests show in less time."""
KINDS = ("not_used/bike_rentals.ipynb", "no_faster/image_folder")  # a notebook, and several files
SLOW = (
    *TO_THE_END,
    *KINDS,
    "no_faster/annealed_noise.py",
    "no_faster/debugging_left_on.py",
    "no_faster/frame_by_frame.py",
    "no_faster/kl_warm_up.py",
    "no_faster/photo_scores.py",
    "no_faster/random_crops.py",
)


def programs() -> Iterator[object]:
    """Each program, and the rule whose finding is to be verified: the first program of each rule, then the campaign."""
    found = [path for folder in FIXTURES.iterdir() if folder.is_dir() for path in folder.iterdir()]
    endings = (".py", ".ipynb")
    flagged = [
        p for p in found if (p.is_dir() or p.suffix in endings) and not p.stem.endswith(("_clean", "__pycache__"))
    ]
    seen: set[str] = set()
    for path in sorted(flagged, key=lambda path: (_name(path) not in TO_THE_END, path)):
        new = [code for code in _expected(path) if code not in seen]
        seen.update(new)
        for code in new:
            yield pytest.param(path, code, id=f"{_name(path)} {code}", marks=_marks(path))
        if not new:
            is_tried = _name(path) in (*TO_THE_END, *KINDS) and _name(path) not in LONG
            yield pytest.param(path, None, id=_name(path), marks=_marks(path) if is_tried else pytest.mark.campaign)


def _marks(path: Path) -> tuple[pytest.MarkDecorator, ...]:
    if _name(path) in LONG:
        return pytest.mark.campaign, pytest.mark.timed
    return (pytest.mark.slow,) if _name(path) in SLOW else ()


def _name(path: Path) -> str:
    return f"{path.parent.name}/{path.name}"


def _expected(path: Path) -> list[str]:
    """The codes that a program's comments name, in their order."""
    files = sorted(path.rglob("*.py")) if path.is_dir() else [path]
    lines = [line for file in files for line in re.findall(r"# expect: ([TFG\d ]+)", file.read_text("utf-8"))]
    return list(dict.fromkeys(code for line in lines for code in line.split()))


@pytest.mark.slow
@pytest.mark.parametrize(("path", "code"), list(programs()))
def test_a_program_gets_a_verdict(path: Path, code: str | None, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    once = _name(path) not in TO_THE_END or code not in (None, TO_THE_END[_name(path)])
    cases = cases_of(path)
    assert cases, "a flagged fixture has findings"
    ready = [case for case in cases if not blocker(case, Setup())]
    of_code = [case for case in ready if case.diagnostic.code == code]
    ready = of_code or ready
    if once and _has_only_a_workload(ready):
        pytest.skip("the rule's workload, which is all that would run, is tried in test_workloads.py")
    if not ready:
        assert all(case.experiment is None or "GPU" in case.experiment.requires for case in cases)
        assert verified(cases[0]).verdict.verdict == "not run"
        return
    for case in sorted(ready, key=lambda case: case.prediction.kind in TIMED):
        if once and case.prediction.kind in TIMED and case.experiment is not None and not case.experiment.calibrates:
            if _both_run(case, tmp_path, request.getfixturevalue("forks")):
                return
            continue
        certain = 2 if case.prediction.kind not in TIMED else None if case.diagnostic.code in CERTAIN else 3
        result = verified(case, runs=1 if once else certain)
        if NOT_REACHED not in result.verdict.reason:  # code under a flag that nobody sets
            break
    else:
        pytest.fail("no program reaches what was flagged")
    assert result.verdict.verdict != "not run", result.verdict.reason
    before, after = result.before[0].run, result.after[0].run
    assert after.fault is None, "the repair runs"
    assert (before.crash is not None) == (case.prediction.kind == "crash")
    if not once and case.diagnostic.code in CERTAIN:
        assert (result.verdict.of_workload or result.verdict.verdict) in CONFIRMED, result.verdict.reason


def _both_run(case: Case, folder: Path, forks: ForkedPrograms) -> bool:
    """Whether both programs reach what was flagged; each then runs to its end and has timed its steps."""
    assert case.pair is not None, case.reason
    for name, program in (("before", case.pair.before), ("after", case.pair.after)):
        script = program.write(folder / f"{case.diagnostic.location}{case.variant}" / name)
        finished, log = forks.run(script)
        result, fault = read_result(script.with_suffix(".result"))
        if result is None and not log.count("Traceback"):
            return False  # code under a flag that nobody sets
        assert finished and result is not None, f"{name}: {fault}: {log[-2000:]}"
        if result.notes.get("unfinished"):
            return False
        assert result.steps or result.blocks, f"{name} has timed nothing"
    return True


def _has_only_a_workload(cases: list[Case]) -> bool:
    return bool(cases) and all(case.experiment is not None and case.experiment.only_workload for case in cases)


@pytest.mark.campaign
@pytest.mark.timed
def test_a_misplaced_prefetch_slows_down_with_the_optimizations_off_and_not_with_them() -> None:
    default, off = cases_of(FIXTURES / "no_faster" / "slow_reading.py")
    assert (default.prediction.kind, off.prediction.kind) == ("no-effect", "slowdown")
    assert verified(off).verdict.verdict == "confirmed"
    assert verified(default, runs=3).verdict.verdict in ("confirmed", "inconclusive")


@pytest.mark.campaign
@pytest.mark.timed
def test_a_wrong_prediction_is_refuted() -> None:
    default, _ = cases_of(FIXTURES / "no_faster" / "slow_reading.py")
    slower = dataclasses.replace(default, prediction=Prediction("slowdown", low=3.0, high=5.0))
    assert verified(slower, runs=3).verdict.verdict in ("refuted", "inconclusive")
    crash = dataclasses.replace(default, prediction=Prediction("crash"))
    assert verified(crash, runs=2).verdict.verdict == "refuted"
