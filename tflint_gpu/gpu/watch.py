"""Watch one NVIDIA GPU while a program runs: samples of utilisation, memory, power and clock, taken in a thread.

Nothing here raises because of a GPU: a card that falls off the bus is a state with a note, the samples so far are kept,
and a value that a card does not tell is None. Nothing is ever set.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import field, replace
from types import TracebackType
from typing import Any, TypeVar

from tflint_gpu.gpu.cards import Gpu, gibibytes
from tflint_gpu.gpu.nvml import GpuState, Nvml, answer_of, load_nvml, shut_down, slowed_by, state_of
from tflint_gpu.gpu.processes import descendants, is_known, numbers
from tflint_gpu.lazy_dataclasses import dataclass

Value = TypeVar("Value")

LOW = 10
"""A GPU that is used less than this, in percent, is as good as idle."""
_SM_CLOCK = 1
# A call into a card that is gone may never return; the thread is a daemon and is abandoned then.
_PATIENCE = 5.0


@dataclass(frozen=True, slots=True)
class Sample:
    """What a card reported at one moment; None is what it did not report.

    Arguments:
        seconds: since the watch began.
        utilisation: percent of the time in which some kernel ran, as NVML averages it (1/6 to 1 second).
        memory: bytes that the watched processes hold; None while they are not on the card's list.
        card_memory: bytes in use on the whole card, by anyone.
        power: watts.
        energy: joules since its driver was loaded; None for a part of a GPU, too.
        clock: of the streaming multiprocessors, in MHz.
        slowed: why the clocks are held down, in words.
        others: how many other processes are on the card; 0 also where none can be seen.
        others_memory: bytes that those hold, as far as they are reported.
    """

    seconds: float
    utilisation: int | None = None
    memory: int | None = None
    card_memory: int | None = None
    power: float | None = None
    clock: int | None = None
    slowed: tuple[str, ...] = ()
    others: int = 0
    others_memory: int = 0
    energy: float | None = None


@dataclass(frozen=True, slots=True)
class Recording:
    """The samples of one watch in the order they were taken, the state it ended in, and notes on what is missing.

    Arguments:
        began: when the watch did, on its clock.
        window: from when to when the program measured, in seconds since the watch began; None: not known.
        is_hidden: whether the card's list of processes has none that can be seen from here, as in a container.
    """

    state: GpuState
    samples: tuple[Sample, ...] = ()
    notes: tuple[str, ...] = ()
    began: float = field(default=0.0, compare=False)
    window: tuple[float, float] | None = None
    is_hidden: bool = False

    def within(self, start: float, end: float) -> Recording:
        """The same recording of a program that measured from `start` to `end`, on the clock of the watch."""
        return replace(self, window=(start - self.began, end - self.began))

    @property
    def measured(self) -> tuple[Sample, ...]:
        """The samples of the time in which the program measured; all, where that is not known.

        A sample tells the time before it, so that the first one after the end belongs to it too, and where the time is
        shorter than that from one sample to the next it is the only one.
        """
        if self.window is None:
            return self.samples
        start, end = self.window
        inside = [sample for sample in self.samples if start < sample.seconds <= end]
        after = next((sample for sample in self.samples if sample.seconds > end), None)
        return tuple(inside or ([] if after is None else [after]))

    @property
    def utilisation(self) -> float | None:
        """The mean utilisation in percent while the program measured, None if the card never reported it."""
        known = [sample.utilisation for sample in self.measured if sample.utilisation is not None]
        return sum(known) / len(known) if known else None

    @property
    def memory(self) -> int | None:
        """The most bytes that the watched processes held, None if they never were on the card's list.

        Where a container hides the list, by how many bytes the use of the whole card rose above the first sample: that
        is right only if nobody else uses the card.
        """
        reported = max((sample.memory for sample in self.samples if sample.memory is not None), default=None)
        return (self.card_growth or None) if reported is None and self.is_hidden else reported

    @property
    def card_growth(self) -> int | None:
        """By how many bytes the use of the whole card rose above the first sample, at most."""
        known = [sample.card_memory for sample in self.samples if sample.card_memory is not None]
        return max(known) - known[0] if known else None

    @property
    def slowed(self) -> dict[str, float]:
        """Why the clocks were held down while the program measured, and in which share of its samples."""
        reasons = [reason for sample in self.measured for reason in sample.slowed]
        return {reason: reasons.count(reason) / len(self.measured) for reason in dict.fromkeys(reasons)}

    @property
    def disturbances(self) -> tuple[str, ...]:
        """What of others or of the card itself was in the measurement, in words."""
        texts = []
        most = max(self.measured, key=lambda sample: (sample.others, sample.others_memory), default=None)
        if most is not None and most.others and not self.is_hidden:
            who = "another process was" if most.others == 1 else f"{most.others} other processes were"
            share = f" with {gibibytes(most.others_memory)} of its memory" if most.others_memory else ""
            texts.append(f"{who} on the GPU{share}")
        if self.slowed:
            reasons = ", ".join(f"{reason} ({share:.0%} of the samples)" for reason, share in self.slowed.items())
            texts.append(f"the clocks were throttled: {reasons}")
        return tuple(texts)


class Watch:
    """Samples one card in a thread for as long as the context lasts; `recording` is what it saw, during it and after.

    Enter it before the process starts and name the process with `follow`, so that the first sample is the card at rest.
    """

    def __init__(
        self,
        gpu: Gpu | None,
        *,
        interval: float = 0.1,
        nvml: Nvml | None = None,
        clock: Callable[[], float] = time.monotonic,
        sink: Callable[[Sample], None] | None = None,
    ) -> None:
        """Prepare to watch; nothing is asked before the context is entered.

        Arguments:
            gpu: the card; None: nothing is watched, and the recording stays empty in the state `no GPU`.
            interval: seconds from the end of one sample to the next.
            nvml: what to ask; None: `pynvml`.
            clock: seconds that never run backwards.
            sink: gets the samples, in the thread, instead of the recording, which would grow for hours.
        """
        self._sink = sink
        self._taken = 0
        self._gpu = gpu
        self._interval = interval
        self._nvml = nvml or load_nvml()
        self._clock = clock
        self._own = _Own()
        self._state: GpuState = "ready"
        self._samples: list[Sample] = []
        # A dictionary keeps their order and says each once.
        self._notes: dict[str, None] = {}
        self._handle: Any = None
        self._card: Any = None
        self._began = 0.0
        self._initialised = False
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None

    def follow(self, pids: Iterable[int]) -> None:
        """Take the memory of these processes, and of all that descend from them, from now on."""
        self._own.leaders = frozenset(pids)

    @property
    def recording(self) -> Recording:
        """What was seen so far."""
        notes = list(self._notes)
        if self._own.leaders and self._taken and not self._own.is_reported:
            hidden = (
                "NVML lists none of these processes: their memory is estimated from the increase in GPU memory in use"
            )
            none = "NVML never listed the process: it held no GPU memory"
            notes.append(hidden if self._own.is_hidden else none)
        return Recording(
            self._state, tuple(self._samples), tuple(notes), began=self._began, is_hidden=self._own.is_hidden
        )

    def __enter__(self) -> Watch:
        self._began = self._clock()
        if self._gpu is None:
            self._state = "no GPU"
        elif self._nvml is None:
            self._state = "no library"
        elif self._start(self._nvml, self._gpu) and self._sample():
            self._thread = threading.Thread(target=self._keep_sampling, name="gpu-watch", daemon=True)
            self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop.set()
        if self._thread is not None:
            self._thread.join(_PATIENCE)
            if self._thread.is_alive():
                self._state = "lost"
                self._notes[f"NVML did not answer for {_PATIENCE:.0f} seconds"] = None
                return
        if self._initialised and self._nvml is not None:
            shut_down(self._nvml)

    def _start(self, nvml: Nvml, gpu: Gpu) -> bool:
        try:
            nvml.nvmlInit()
            self._initialised = True
            # Numbers may have changed since the card was chosen.
            self._handle = self._card = nvml.nvmlDeviceGetHandleByUUID(gpu.uuid)
            if gpu.part is not None:
                self._card = nvml.nvmlDeviceGetHandleByIndex(gpu.index)
        except nvml.NVMLError as error:
            self._state = state_of(error)
            self._notes[f"{gpu.title} cannot be watched: {error}"] = None
            return False
        if gpu.part is not None:
            self._notes[
                "MIG is on: NVML reports no utilisation for a MIG instance; power and clock are those of the whole GPU"
            ] = None
        return True

    def _keep_sampling(self) -> None:
        while not self._stop.wait(self._interval) and self._sample():
            pass

    def _sample(self) -> bool:
        """Take one sample; False when there will be no more."""
        assert self._nvml is not None and self._gpu is not None
        try:
            sample = self._ask_all(self._nvml)
            self._taken += 1
            if self._sink is None:
                self._samples.append(sample)
            else:
                self._sink(sample)
        except _Lost as lost:
            self._state = "lost"
            self._notes[f"{self._gpu.title} was lost after {self._taken} samples: {lost}"] = None
            return False
        except Exception as error:  # A watcher must not take the measurement down with it.
            self._state = "error"
            self._notes[f"watching ended after {self._taken} samples: {error!r}"] = None
            return False
        return True

    def _ask_all(self, nvml: Nvml) -> Sample:
        rates = self._ask("utilisation", nvml.nvmlDeviceGetUtilizationRates)
        processes = self._ask("memory of processes", nvml.nvmlDeviceGetComputeRunningProcesses)
        memory = self._ask("memory", nvml.nvmlDeviceGetMemoryInfo)
        milliwatts = self._ask("power", nvml.nvmlDeviceGetPowerUsage, self._card)
        clock = self._ask("SM clock", lambda handle: nvml.nvmlDeviceGetClockInfo(handle, _SM_CLOCK), self._card)
        reasons = self._ask("slowdown", nvml.nvmlDeviceGetCurrentClocksThrottleReasons, self._card)
        own, others = self._own.split(processes)
        return Sample(
            seconds=self._clock() - self._began,
            utilisation=None if rates is None else int(rates.gpu),
            memory=_total(own),
            card_memory=None if memory is None else int(memory.used),
            power=None if milliwatts is None else milliwatts / 1000,
            clock=clock,
            slowed=slowed_by(reasons or 0),
            others=len(others),
            others_memory=_total(others) or 0,
            energy=self._energy(nvml),
        )

    def _energy(self, nvml: Nvml) -> float | None:
        """Without a note where there is none: many cards have no such counter, and their power tells it, too."""
        if self._handle is not self._card:
            return None
        millijoules = answer_of(nvml, lambda: nvml.nvmlDeviceGetTotalEnergyConsumption(self._card))
        return None if millijoules is None else millijoules / 1000

    def _ask(self, what: str, question: Callable[[Any], Value], handle: Any = None) -> Value | None:
        """The answer, None and a note where the card has none."""
        assert self._nvml is not None
        try:
            return question(self._handle if handle is None else handle)
        except self._nvml.NVMLError as error:
            if state_of(error) in ("lost", "no driver", "no GPU"):
                raise _Lost(str(error)) from error
            self._notes[f"{what}: {error}"] = None
            return None


class _Own:
    """Tells the watched processes on a card's list from others.

    Newer drivers give the numbers that their caller sees (`os_find_ns_pid` in NVIDIA's open kernel modules), older ones
    those of the host. A process in bubblewrap has several: those of this namespace are looked for first, and that of
    its own only among what came onto the list after the watch began, as small numbers are everybody's.
    """

    def __init__(self) -> None:
        self.leaders: frozenset[int] = frozenset()
        self.is_reported = False
        self._at_rest: frozenset[int] | None = None
        self._asked: tuple[frozenset[int], frozenset[int]] | None = None
        self._known: frozenset[int] = frozenset()
        self._is_any_seen = False

    @property
    def is_hidden(self) -> bool:
        """Whether the list was given, and none of it was ever a process that can be seen from here."""
        return bool(self.leaders) and self._at_rest is not None and not self.is_reported and not self._is_any_seen

    def split(self, processes: Sequence[Any] | None) -> tuple[list[Any], list[Any]]:
        """The entries of a card's list that are watched processes, and the others; None: there was no answer."""
        if processes is None:
            return [], []
        leaders, listed = self.leaders, frozenset(item.pid for item in processes)
        if self._at_rest is None:
            self._at_rest = listed
        if self._asked != (leaders, listed):  # looking at all processes costs milliseconds
            self._known = (self._known & listed) | self._among(leaders, listed)
            self._is_any_seen = self._is_any_seen or any(is_known(pid) for pid in listed - self._known)
            self._asked = leaders, listed
        own = [item for item in processes if item.pid in self._known]
        # In a container some drivers know the process and tell 0 bytes of it (open-gpu-kernel-modules, pull 614).
        self.is_reported = self.is_reported or any(item.usedGpuMemory for item in own)
        return own, [item for item in processes if item.pid not in self._known]

    def _among(self, leaders: frozenset[int], listed: frozenset[int]) -> frozenset[int]:
        own = frozenset(pid for leader in leaders for pid in descendants(leader))
        if listed & own:
            return listed & own
        new = listed - (self._at_rest or frozenset())
        return new & {numbers(pid)[-1] for pid in own} if new else new


def _total(processes: Sequence[Any]) -> int | None:
    known = [int(item.usedGpuMemory) for item in processes if item.usedGpuMemory]
    return sum(known) if known else None


class _Lost(Exception):
    """The card does not answer any more."""
