"""Protects experiments on a Ray cluster: each case is answered, in its place, whatever happens to a worker."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from tflint_gpu.checking.cluster import NoCluster
from tflint_gpu.diagnostics import Diagnostic, Location, Prediction
from tflint_gpu.verify.experiments.cluster import Cluster
from tflint_gpu.verify.experiments.verification import Case, Setup, Verification
from tflint_gpu.verify.statistics.statistics import Verdict

pytestmark = pytest.mark.campaign


def planned(count: int = 8) -> tuple[Sequence[Case], Setup]:
    """What each machine plans: so many cases, one a row."""
    prediction = Prediction("slowdown", low=2.0)
    return [
        Case(
            Diagnostic(
                "TFG901", "toy", "found", "a.py", Location(row, 1), Location(row, 2), row, "warning", prediction
            ),
            prediction,
        )
        for row in range(1, count + 1)
    ], Setup()


def row(case: Case) -> int:
    return case.diagnostic.location.row


def decided(case: Case) -> Verification:
    return Verification(case, Verdict("confirmed", f"row {row(case)} by {os.getpid()}"), "cpu", is_open=False)


class Falls:
    """Measures, and ends the worker that has row 3 the first time, and each that has row 6."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def __call__(self, case: Case, setup: Setup, seconds: float, known: Any, rounds: int) -> Verification:
        tries = self.folder / f"{row(case)}"
        with tries.open("a") as file:
            file.write(".")
        if row(case) == 6 or (row(case) == 3 and tries.read_text() == "."):
            os.kill(os.getpid(), signal.SIGKILL)
        return decided(case)


class Stays:
    """Measures row 1 at once, and the others until the run is ended."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def __call__(self, case: Case, setup: Setup, seconds: float, known: Any, rounds: int) -> Verification:
        if row(case) > 1:
            (self.folder / "begun").touch()
            try:
                while True:
                    time.sleep(0.02)
            finally:
                (self.folder / "ended").touch()
        return decided(case)


@pytest.fixture(scope="module")
def machines() -> Iterator[Any]:
    """Two machines of one processor, as far as Ray knows."""
    ray = pytest.importorskip("ray")
    from ray.cluster_utils import Cluster as Local

    local = Local(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
    local.add_node(num_cpus=1)
    ray.init(address=local.address, log_to_driver=False, logging_level="error")
    ray.cloudpickle.register_pickle_by_value(sys.modules[__name__])
    yield ray
    ray.shutdown()
    local.shutdown()


def test_each_machine_is_a_place_and_every_case_is_answered_in_its_place(machines: Any, tmp_path: Path) -> None:
    cluster = Cluster(measure_one=lambda case, *_: decided(case))
    assert len(cluster.slots) == 2
    cases, setup = planned()
    known = list(cluster.measure(cases, planned, setup, 600.0))
    last = {one.number: one.verification for one in known}
    assert [last[number].case for number in range(8)] == cases  # the very ones, with their trees
    assert all(last[n].verdict.reason.startswith(f"row {n + 1} by ") for n in range(8))
    assert known[0].looked < 8, "the first result is told before the last is measured"


def test_what_a_lost_worker_had_is_done_again_and_what_ends_each_is_told(machines: Any, tmp_path: Path) -> None:
    cases, setup = planned()
    last = {
        one.number: one.verification
        for one in Cluster(measure_one=Falls(tmp_path)).measure(cases, planned, setup, 600.0)
    }
    assert {n + 1: last[n].verdict.verdict for n in range(8)} == dict.fromkeys(range(1, 9), "confirmed") | {
        6: "not run"
    }
    assert "was lost 3 times" in last[5].verdict.reason
    assert (tmp_path / "3").read_text() == ".." and (tmp_path / "6").read_text() == "..."


def test_without_time_every_case_says_so(machines: Any) -> None:
    cases, setup = planned(3)
    found = list(Cluster(measure_one=lambda case, *_: decided(case)).measure(cases, planned, setup, 0.0))
    assert [one.verification.verdict.verdict for one in found] == 3 * ["not run"]
    assert all("budget of 0 s" in one.verification.verdict.reason for one in found)


def test_a_machine_with_other_files_is_an_error(machines: Any) -> None:
    cases, setup = planned(3)
    with pytest.raises(NoCluster, match="the same, at the same place"):
        list(Cluster(measure_one=lambda case, *_: decided(case)).measure(cases, lambda: planned(0), setup, 600.0))


def test_whoever_ends_the_run_ends_what_runs_on_other_machines(machines: Any, tmp_path: Path) -> None:
    cases, setup = planned(2)
    known = Cluster(measure_one=Stays(tmp_path)).measure(cases, planned, setup, 600.0)
    next(known)
    while not (tmp_path / "begun").exists():
        time.sleep(0.02)
    known.close()  # type: ignore[attr-defined]
    assert (tmp_path / "ended").exists()


def test_a_card_that_no_machine_has_is_an_error(machines: Any) -> None:
    with pytest.raises(NoCluster, match="--device cpu"):
        Cluster(wants_gpu=True)
