"""Every program in `fixtures/` gets a verdict, on the CPU, with the installed TensorFlow.

One experiment is run for each program, so that all of it stays a matter of minutes: the first that a CPU can run, of
a kind that needs fewer runs where there is one. One program for each rule is run as often as a verdict needs; of the
others each variant is run once, which shows what it shows but can only be inconclusive. What only a GPU shows must
say so.
"""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest
from verified import cases_of, verified

from tflint_gpu.diagnostics import Prediction
from tflint_gpu.verify.verification import Setup, obstacle

FIXTURES = Path(__file__).resolve().parents[2] / "fixtures"
TIMED = ("slowdown", "no-effect")
# What a CPU shows: a wide margin lies between these factors and the noise of a busy machine.
CERTAIN = ("TFG101", "TFG201", "TFG202", "TFG308", "TFG501", "TFG502", "TFG506")
TO_THE_END = (
    "no_faster/sine_layer.py",  # TFG101
    "validation_only/online_fit.py",  # TFG201
    "validation_only/eager_step.py",  # TFG202
    "idle_in_validation/eager_eval_loop.py",  # TFG207
    "no_faster/no_injection.py",  # TFG301
    "no_faster/pipeline_order.py",  # TFG308
    "not_used/with_device.py",  # TFG501
    "not_used/typo.py",  # TFG502
    "not_used/first_gpu_growth.py",  # TFG506
)  # TFG302 has a test of its own


def programs() -> list[Path]:
    found = [path for folder in FIXTURES.iterdir() if folder.is_dir() for path in folder.iterdir()]
    kinds = (".py", ".ipynb")
    return sorted(
        p for p in found if (p.is_dir() or p.suffix in kinds) and not p.stem.endswith(("_clean", "__pycache__"))
    )


@pytest.mark.parametrize("path", programs(), ids=lambda path: f"{path.parent.name}/{path.name}")
def test_a_program_gets_a_verdict(path: Path) -> None:
    cases = cases_of(path)
    assert cases, "a flagged fixture has findings"
    ready = [case for case in cases if not obstacle(case, Setup())]
    if not ready:
        assert all(case.experiment is None or "GPU" in case.experiment.requires for case in cases)
        assert verified(cases[0]).verdict.verdict == "not run"
        return
    for case in sorted(ready, key=lambda case: case.prediction.kind in TIMED):
        once = f"{path.parent.name}/{path.name}" not in TO_THE_END
        result = verified(case, runs=1 if once else 3 if case.prediction.kind in TIMED else 2)
        if "without reaching" not in result.verdict.reason:  # code under a flag that nobody sets
            break
    assert result.verdict.verdict != "not run", result.verdict.reason
    before, after = result.before[0].run, result.after[0].run
    assert after.fault is None, "the repair runs"
    assert (before.crash is not None) == (case.prediction.kind == "crash")
    if not once and case.diagnostic.code in CERTAIN:
        assert result.verdict.verdict.endswith("confirmed"), result.verdict.reason


def test_a_misplaced_prefetch_slows_down_with_the_optimizations_off_and_not_with_them() -> None:
    default, off = cases_of(FIXTURES / "no_faster" / "slow_reading.py")
    assert (default.prediction.kind, off.prediction.kind) == ("no-effect", "slowdown")
    assert verified(off, runs=3).verdict.verdict == "confirmed"
    assert verified(default, runs=3).verdict.verdict in ("confirmed", "inconclusive")


def test_a_wrong_prediction_is_refuted() -> None:
    default, _ = cases_of(FIXTURES / "no_faster" / "slow_reading.py")
    slower = dataclasses.replace(default, prediction=Prediction("slowdown", low=3.0, high=5.0))
    assert verified(slower, runs=3).verdict.verdict in ("refuted", "inconclusive")
    crash = dataclasses.replace(default, prediction=Prediction("crash"))
    assert verified(crash, runs=2).verdict.verdict == "refuted"
