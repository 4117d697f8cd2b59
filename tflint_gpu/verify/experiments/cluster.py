"""Experiments on a Ray cluster: each has a card, or where the CPU is measured a machine, for itself.

Each machine of the cluster needs tflint-gpu of this version, the interpreter with TensorFlow and the files at the same
places, as on a shared disk: it plans the experiments itself, as syntax trees do not travel.
"""

from __future__ import annotations

import dataclasses
import platform
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import field
from functools import cache
from typing import Any, TypeAlias, TypeVar

from tflint_gpu.checking.cluster import NoCluster, connected
from tflint_gpu.lazy_dataclasses import dataclass
from tflint_gpu.verify.experiments.bench import verify
from tflint_gpu.verify.experiments.scheduling import INSTALMENT, LOOK, SHORTEST_LOOK, Known, concluded, most_urgent
from tflint_gpu.verify.experiments.sharing import measured_with, shared
from tflint_gpu.verify.experiments.verification import Case, Setup, Verification, unmeasured

Plan: TypeAlias = "Callable[[], tuple[Sequence[Case], Setup]]"
"""Finds the cases again, in the same order, and says how a machine runs them. It travels to each machine."""

Measure: TypeAlias = "Callable[[Case, Setup, float, Verification | None, int], Verification]"
"""A case, the setup, seconds, what is known, and how many more rounds: what is known then."""

Answer = TypeVar("Answer")

_TRIES = 3
_SECONDS_TO_END = 30.0


@dataclass(frozen=True, slots=True)
class Slot:
    """Where one experiment at a time may run.

    Arguments:
        options: what Ray must set aside for it.
        name: for whoever reads the report.
    """

    options: dict[str, Any]
    name: str


@dataclass(slots=True)
class _Job:
    """A case that is being measured somewhere."""

    number: int
    slot: Slot


@dataclass(slots=True)
class Cluster:
    """The places of a Ray cluster that experiments are spread over.

    Arguments:
        wants_gpu: None: cards where there are any.

    Raises:
        NoCluster: Ray cannot be used, or has no card and one is wanted.
    """

    wants_gpu: bool | None = None
    measure_one: Measure | None = None
    slots: tuple[Slot, ...] = ()
    _ray: Any = None
    _running: dict[Any, _Job] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._ray = connected()
        self.slots = tuple(self._found())
        if not self.slots:
            raise NoCluster("no machine of the Ray cluster has a free CPU")

    def _found(self) -> Iterator[Slot]:
        from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy as Node

        nodes = [node for node in self._ray.nodes() if node["Alive"]]
        has_cards = any(node["Resources"].get("GPU", 0) >= 1 for node in nodes)
        if self.wants_gpu and not has_cards:
            raise NoCluster("the Ray cluster has no GPU; use --device cpu to measure CPUs")
        for node in nodes:
            host, resources = node["NodeName"], node["Resources"]
            there = Node(node["NodeID"], soft=False)
            if has_cards and self.wants_gpu is not False:
                for number in range(int(resources.get("GPU", 0))):
                    options = {"num_gpus": 1, "num_cpus": min(1, resources.get("CPU", 0)), "scheduling_strategy": there}
                    yield Slot(options, f"{host}, GPU {number + 1}")
            elif resources.get("CPU", 0) >= 1:  # what is timed shares its machine with no other experiment
                yield Slot({"num_cpus": resources["CPU"], "scheduling_strategy": there}, host)

    def ask(self, question: Callable[[], Answer]) -> Answer:
        """What the first place answers: a question that is to be asked where experiments run."""
        task = self._ray.remote(lambda: question()).options(**self.slots[0].options)
        try:
            answer: Answer = self._ray.get(task.remote())
        except self._ray.exceptions.RayError as error:
            raise NoCluster(f"{self.slots[0].name} does not answer: {error}") from error
        return answer

    def measure(self, cases: Sequence[Case], plan: Plan, setup: Setup, seconds: float) -> Iterator[Known]:
        """Measure all cases within a time, first a look at each, then more rounds where they decide most.

        Results come in the order in which they are there; `Known.number` says whose they are.

        Arguments:
            setup: of this machine; only how many rounds there are is taken from it.
            seconds: of wall time for all of them.

        Raises:
            NoCluster: a machine plans other experiments than this one: it has other files.
            KeyboardInterrupt: on Ctrl-C, with no program left on any machine.
        """
        from ray import cloudpickle

        end = time.monotonic() + seconds
        plan_there = self._ray.put(cloudpickle.dumps((plan, self.measure_one or _measured)))
        results: list[Verification | None] = [None] * len(cases)
        lost = [0] * len(cases)
        owners = measured_with(cases)
        looks = [number for number in reversed(range(len(cases))) if owners[number] == number]
        free = list(self.slots)
        given_up: set[int] = set()
        try:
            while True:
                left = end - time.monotonic()
                while free and left > 0:
                    busy = {job.number for job in self._running.values()} | given_up
                    if looks:
                        number, rounds = looks.pop(), LOOK
                        wait = min(left, max(left * len(self.slots) / (len(looks) + 1), SHORTEST_LOOK))
                    else:
                        known = {n: result for n, result in enumerate(results) if result is not None and n not in busy}
                        urgent = most_urgent(known, setup)
                        if urgent is None:
                            break
                        number, rounds, wait = urgent, INSTALMENT, left
                    self._start(plan_there, _Job(number, free.pop()), cases[number], results[number], wait, rounds)
                if not self._running:
                    break
                done, _ = self._ray.wait(list(self._running), num_returns=1)
                job = self._running.pop(done[0])
                free.append(job.slot)
                before, answer = results[job.number], self._answer(done[0])
                if answer is None:
                    lost[job.number] += 1
                    if lost[job.number] < _TRIES:
                        looks.append(job.number)
                        continue
                    given_up.add(job.number)
                    answer = before or _gone(cases[job.number])
                elif before is not None and len(answer.before) == len(before.before):
                    given_up.add(job.number)  # it does not end within what is left
                results[job.number] = dataclasses.replace(answer, case=cases[job.number])
                yield Known(job.number, results[job.number], len(cases) - len(looks))  # type: ignore[arg-type]
        finally:
            self._stop()
        for number, case in enumerate(cases):
            text = f"it was not started: the budget of {seconds:.0f} s was spent before"
            result = results[owners[number]] or dataclasses.replace(unmeasured(case, text), is_cut=True)
            result = concluded(result, setup)
            yield Known(number, result if owners[number] == number else shared(result, case), len(cases))

    def _start(self, plan: Any, job: _Job, case: Case, known: Verification | None, seconds: float, rounds: int) -> None:
        task = self._ray.remote(_measure_here).options(max_retries=0, **job.slot.options)
        light = None if known is None else dataclasses.replace(known, case=_NO_CASE)
        ref = task.remote([plan], job.number, _key(case), seconds, light, rounds)
        self._running[ref] = job

    def _answer(self, ref: Any) -> Verification | None:
        """What a job found; None where its worker was lost."""
        errors = self._ray.exceptions
        try:
            answer: Verification | str = self._ray.get(ref)
        except (errors.WorkerCrashedError, errors.NodeDiedError, errors.TaskUnschedulableError, errors.ObjectLostError):
            return None
        except errors.RayTaskError as error:
            raise NoCluster(f"a machine of the cluster could not do its part: {error.cause!r}") from error
        if isinstance(answer, str):
            raise NoCluster(answer)
        return answer

    def _stop(self) -> None:
        """End what runs; a worker that is asked to kills its programs before it answers."""
        for ref in self._running:
            self._ray.cancel(ref, force=False, recursive=False)
        if self._running:
            self._ray.wait(list(self._running), num_returns=len(self._running), timeout=_SECONDS_TO_END)
        self._running.clear()


_NO_CASE: Any = None


def _gone(case: Case) -> Verification:
    return unmeasured(case, f"the worker that ran it was lost {_TRIES} times")


def _key(case: Case) -> tuple[object, ...]:
    """What tells a case from all others of a run, on each machine the same."""
    return (*case.diagnostic.sort_key, case.variant)


def _measure_here(
    plan: list[Any], number: int, key: tuple[object, ...], seconds: float, known: Verification | None, rounds: int
) -> Verification | str:
    """On a worker: measure one case and return what is known, without the case; or why it cannot be done at all."""
    import ray

    cases, setup, measure = _planned(ray.get(plan[0]))
    if number >= len(cases) or _key(cases[number]) != key:
        there = platform.node()
        needs = "it needs the same files under the same path"
        return f"{there} has different findings in the files than this machine: {needs}"
    case = cases[number]
    result = measure(case, setup, seconds, None if known is None else dataclasses.replace(known, case=case), rounds)
    return dataclasses.replace(result, case=_NO_CASE)


@cache
def _planned(data: bytes) -> tuple[Sequence[Case], Setup, Measure]:
    """What a worker plans once for all jobs that it gets."""
    from ray import cloudpickle

    plan, measure = cloudpickle.loads(data)
    cases, setup = plan()
    return cases, setup, measure


def _measured(case: Case, setup: Setup, seconds: float, known: Verification | None, rounds: int) -> Verification:
    [*_, result] = verify(case, setup, seconds, known=known, rounds=rounds)
    return result
