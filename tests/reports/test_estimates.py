"""Protects the order of `check --estimate`: no figure without its basis, and what brings most comes first."""

from __future__ import annotations

from typing import Any

from findings import finding

from tflint_gpu.diagnostics import Location, OnCpu, Prediction
from tflint_gpu.reports.estimates import Frequency, estimated, first_to_fix


def slow(row: int, low: float | None = 2.0, high: float | None = 8.0, **more: Any) -> Any:
    return finding(location=Location(row, 1), prediction=Prediction("slowdown", low=low, high=high), **more)


def test_what_was_measured_saves_its_share_by_the_predicted_factor() -> None:
    small, large, dear = slow(1, share=0.1), slow(2, share=0.4), slow(3, 1.0, 1.1, share=0.5)
    ordered = estimated([small, large, dear], {large.sort_key: Frequency(1, "in each iteration of the loop at a.py:9")})
    assert [diagnostic.location.row for diagnostic in ordered] == [2, 1, 3]
    assert ordered[0].estimate == (
        "saves 20% to 35% of the run: 40% of the measured run is spent there, which a fix makes 2x to 8x faster, "
        "as predicted, in each iteration of the loop at a.py:9"
    )
    assert ordered[2].estimate.startswith("saves 0% to 5% of the run: 50% of")


def test_without_a_run_loops_come_before_factors_and_nothing_is_added_up() -> None:
    rare, often, steep = slow(1), slow(2), slow(3, 10.0, 90.0)
    ordered = estimated([rare, steep, often], {often.sort_key: Frequency(2, "in each iteration of two loops")})
    assert [diagnostic.location.row for diagnostic in ordered] == [2, 3, 1]
    assert ordered[0].estimate == "2x to 8x faster, as predicted, in each iteration of two loops; no run was measured"
    assert not any("saves" in diagnostic.estimate for diagnostic in ordered)


def test_a_range_for_a_cpu_stands_beside_the_one_for_any_device() -> None:
    prediction = Prediction("slowdown", low=1.5, high=36.0, on_cpu=OnCpu(1.0, 2.1, 2, "c"))
    (diagnostic,) = estimated([finding(prediction=prediction)], {})
    assert diagnostic.estimate.startswith("1.5x to 36x faster, as predicted (1x to 2.1x on a CPU with 2 cores); ")


def test_what_fails_comes_first_and_what_is_no_matter_of_speed_last() -> None:
    others = [finding(prediction=Prediction("memory")), finding(prediction=None)]
    fails, wrong = (finding(prediction=Prediction(kind)) for kind in ("crash", "wrong-result"))  # type: ignore[arg-type]
    unknown = slow(1, None, None)
    ordered = estimated([*others, unknown, wrong, fails], {})
    assert [diagnostic.estimate for diagnostic in ordered] == [
        "without a fix the results are wrong",
        "without a fix the code fails",
        "faster by an unknown factor; no run was measured",
        "",
        "",
    ]
    assert first_to_fix(ordered) == "Fix first: a.py:3:5 TFG101, a.py:3:5 TFG101, a.py:1:1 TFG101."
    assert first_to_fix(others) == ""
