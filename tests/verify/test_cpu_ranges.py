"""A range that holds for a CPU is compared with what a CPU did, and with nothing else."""

from __future__ import annotations

import dataclasses

import pytest
from fake_nvml import FakeNvml
from verified import SLOWDOWN, case, program

from tflint_gpu.diagnostics import OnCpu, Prediction
from tflint_gpu.gpu import watch as gpu_module
from tflint_gpu.gpu.cards import survey
from tflint_gpu.verify.experiments.bench import verify
from tflint_gpu.verify.experiments.verification import Case, Setup, Verification
from tflint_gpu.verify.reports.figures import predicted

MANY = 1 << 20
OWN = OnCpu(1.0, 2.0, cores=MANY, basis="a large step")
NARROWED = dataclasses.replace(SLOWDOWN, on_cpu=OWN)


def last(one: Case, setup: Setup) -> Verification:
    return list(verify(one, setup, 60.0))[-1]


def slowed(times: int, prediction: Prediction, **fields: object) -> Case:
    steps = (program(step=s, notes={"gpus": ["/device:GPU:0"]}) for s in (0.01 * times, 0.01))
    return case(*steps, prediction, **fields)


@pytest.mark.slow
def test_a_cpu_is_compared_with_its_own_range() -> None:
    result = last(slowed(10, NARROWED), Setup(runs=3))
    assert (result.device, result.verdict.verdict) == ("cpu", "stronger than predicted")
    assert predicted(result.prediction) == "slowdown 1x to 2x" and result.prediction.basis == "a large step"


@pytest.mark.slow
def test_a_small_gain_of_a_large_step_is_what_was_predicted() -> None:
    one = case(program(step=0.013), program(step=0.01), NARROWED)
    assert last(one, Setup(runs=3)).verdict.verdict == "confirmed"
    wide = case(program(step=0.013), program(step=0.01), SLOWDOWN)
    assert last(wide, Setup(runs=3)).verdict.verdict == "weaker than predicted"


@pytest.mark.slow
def test_a_card_is_not_compared_with_the_range_of_a_cpu(monkeypatch: pytest.MonkeyPatch) -> None:
    nvml = FakeNvml()
    monkeypatch.setattr(gpu_module, "load_nvml", lambda: nvml)
    result = last(slowed(10, NARROWED), Setup(gpu=survey(nvml).gpus[0], runs=3))
    assert (result.device, result.verdict.verdict) == ("gpu:0", "confirmed")
    assert predicted(result.prediction) == predicted(SLOWDOWN)


@pytest.mark.slow
def test_the_size_of_a_users_step_says_nothing_of_the_rules_own_workload() -> None:
    verdict = last(slowed(10, NARROWED, only_workload=True), Setup(runs=3)).verdict
    assert (verdict.verdict, verdict.of_workload) == ("reference", "confirmed")


def test_what_was_not_run_shows_the_range_for_any_device() -> None:
    result = list(verify(slowed(10, NARROWED), Setup(), 0.0))[-1]
    assert predicted(result.prediction) == predicted(SLOWDOWN)


def test_more_cores_widen_the_range_and_never_beyond_the_rules_own() -> None:
    """Protects machines with many cores, which do the work sooner and start it no sooner."""
    prediction = dataclasses.replace(SLOWDOWN, on_cpu=OnCpu(1.0, 3.0, 2, "b"))
    highs = [prediction.measured_on("cpu", cores).high for cores in (1, 2, 4, 16, 64)]
    assert highs == [3.0, 3.0, 5.0, 17.0, 36.0]
    assert [prediction.measured_on("cpu", cores).low for cores in (2, 64)] == [1.0, 1.5]
    assert prediction.measured_on("gpu:0", 2) == SLOWDOWN
