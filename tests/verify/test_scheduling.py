"""How the findings of a run share its budget, with programs that take no TensorFlow."""

from __future__ import annotations

from dataclasses import replace

import pytest
from verified import case, program

from tflint_gpu.diagnostics import Prediction
from tflint_gpu.verify.experiments import scheduling
from tflint_gpu.verify.experiments.scheduling import LOOK, Known, estimate, measure
from tflint_gpu.verify.experiments.verification import MOST_ROUNDS, Case, Setup, Verification, rounds_for
from tflint_gpu.verify.statistics.statistics import Verdict


def distinct_cases(count: int) -> list[Case]:
    return [case(program(line=f"# {number}"), program()) for number in range(count)]


def last_of(found: list[Known]) -> dict[int, Verification]:
    return {known.number: known.verification for known in found}


@pytest.mark.slow
def test_each_finding_is_looked_at_before_one_gets_all_its_rounds() -> None:
    cases = [case(program(step=0.1), program()), case(program(step=0.1), program())]
    found = list(measure(cases, Setup(runs=LOOK + 1), 120.0))
    order = [(known.number, len(known.verification.before)) for known in found]
    assert order.index((1, LOOK)) < order.index((0, LOOK + 1))
    results = last_of(found)
    assert [len(results[number].before) for number in (0, 1)] == [LOOK + 1] * 2
    assert results[0].verdict.verdict == "confirmed" and "budget" not in results[0].verdict.reason


def fake_verify(monkeypatch: pytest.MonkeyPatch, verdicts: dict[int, Verdict], cases: list[Case]) -> list[int]:
    """Take the place of running: a round gives these verdicts; returns the cases in the order in which they are run."""
    order: list[int] = []

    def verify(one: Case, setup: Setup, seconds: float, **given: object) -> list[Verification]:
        number = next(index for index, other in enumerate(cases) if other is one)
        order.append(number)
        known = given.get("known")
        had = len(known.before) if isinstance(known, Verification) else 0
        sample: object = object()
        count = LOOK if known is None else rounds_for(one, setup) - had
        return [
            Verification(
                one,
                verdicts[number],
                "cpu",
                (sample,) * (had + count),
                (sample,) * (had + count),
                is_open=verdicts[number].verdict == "inconclusive",
            )
        ]  # type: ignore[arg-type]

    monkeypatch.setattr(scheduling, "verify", verify)
    return order


def test_more_rounds_go_first_to_what_is_nearest_to_a_decision(monkeypatch: pytest.MonkeyPatch) -> None:
    cases = distinct_cases(3)
    verdicts = {
        0: Verdict("confirmed", "", 9.0, 8.0, 10.0),
        1: Verdict("inconclusive", "", 2.0, 0.2, 9.0),
        2: Verdict("inconclusive", "", 1.2, 1.0, 1.4),
    }
    order = fake_verify(monkeypatch, verdicts, cases)
    list(measure(cases, Setup(runs=LOOK + 2), 600.0))
    assert order == [0, 1, 2, 2, 1, 0]


def test_a_finding_that_was_not_started_says_so() -> None:
    cases = [case(program(), program()), case(program(), program(), requires="a GPU")]
    results = last_of(list(measure(cases, Setup(), 0.0)))
    assert results[0].verdict.verdict == "not run"
    assert "not started" in results[0].verdict.reason and "budget of 0 s" in results[0].verdict.reason
    assert "GPU" in results[1].verdict.reason, "no budget would have helped that one"


@pytest.mark.slow
def test_a_program_that_needs_the_whole_budget_does_not_take_the_others_look(monkeypatch: pytest.MonkeyPatch) -> None:
    """With a share of a second the endless one is cut, the quick one is measured, and all that is left is tried again."""
    monkeypatch.setattr(scheduling, "SHORTEST_LOOK", 0.1)
    endless = case(program(line="while True: time.sleep(1)"), program())
    results = last_of(list(measure([endless, case(program(step=0.1), program())], Setup(runs=3), 6.0)))
    assert results[0].verdict.verdict == "not run" and "budget" in results[0].verdict.reason
    assert results[1].before


def test_the_estimate_counts_programs_that_can_be_run() -> None:
    cases = [case(program(), program()), case(program(), program(), requires="a GPU")]
    found = estimate(cases, Setup(runs=4), start=5.0)
    assert found.least == found.most == 8 and 2 * 5.0 < found.low < found.high


def test_the_estimate_knows_that_a_verdict_may_be_there_soon() -> None:
    found = estimate([case(program(), program())], Setup(), start=5.0)
    assert (found.least, found.most) == (2 * LOOK, 2 * MOST_ROUNDS) and found.low < found.high


def test_what_is_decided_gets_no_more_rounds(monkeypatch: pytest.MonkeyPatch) -> None:
    """Protects the budget of those that are not: without --runs, rounds go on only until the verdict is there."""
    cases = distinct_cases(2)
    verdicts = {0: Verdict("confirmed", "", 9.0, 8.0, 10.0), 1: Verdict("inconclusive", "", 1.2, 1.0, 1.4)}
    order = fake_verify(monkeypatch, verdicts, cases)
    list(measure(cases, Setup(), 600.0))
    assert order == [0, 1, 1]


def test_the_same_two_programs_are_measured_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Protects the budget: four findings of a rule whose own workload shows it do not cost four times as much."""
    here = case(program(), program())
    there = replace(here, diagnostic=replace(here.diagnostic, filename="other.py"))
    otherwise = replace(here, prediction=Prediction("no-effect"))
    cases = [here, there, *distinct_cases(1), otherwise]
    verdicts = {number: Verdict("confirmed", f"measured {number}", 9.0, 8.0, 10.0) for number in range(4)}
    order = fake_verify(monkeypatch, verdicts, cases)
    results = last_of(list(measure(cases, Setup(), 600.0)))
    assert order == [0, 2, 3]
    assert [results[number].case for number in range(4)] == cases
    assert results[1].verdict.reason == "measured 0; this measurement also counts for train.py:1:1"
    assert [number for number in range(4) if results[number].is_shared] == [1]
    assert results[1].verdict.ratio == 9.0 and results[3].verdict.reason == "measured 3"
    assert estimate(cases, Setup(runs=4), start=5.0).most == 3 * 8, "and the estimate counts it once"
