"""Watch one NVIDIA GPU while a program runs: samples of utilisation, memory, power and clock, taken in a thread.

Nothing here raises because of a GPU: a card that falls off the bus is a state with a note, the samples so far are kept,
and a value that a card does not tell is None. Nothing is ever set.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Any, TypeVar

from tflint_gpu.doctor.cards import Gpu, GpuState, Nvml, load_nvml, shut_down, state_of

Value = TypeVar("Value")

_SM_CLOCK = 1
# A call into a card that is gone may never return; the thread is a daemon and is left behind then.
_PATIENCE = 5.0


@dataclass(frozen=True, slots=True)
class Sample:
    """What a card told at one moment; None is what it did not tell.

    Arguments:
        seconds: since the watch began.
        utilisation: percent of the time in which some kernel ran, as NVML averages it (1/6 to 1 second).
        memory: bytes that the watched processes hold; None while they are not on the card's list.
        card_memory: bytes in use on the whole card, by anyone.
        power: watts.
        clock: of the streaming multiprocessors, in MHz.
    """

    seconds: float
    utilisation: int | None = None
    memory: int | None = None
    card_memory: int | None = None
    power: float | None = None
    clock: int | None = None


@dataclass(frozen=True, slots=True)
class Recording:
    """The samples of one watch in the order they were taken, the state it ended in, and notes on what is missing."""

    state: GpuState
    samples: tuple[Sample, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def utilisation(self) -> float | None:
        """The mean utilisation in percent, None if the card never told it."""
        known = [sample.utilisation for sample in self.samples if sample.utilisation is not None]
        return sum(known) / len(known) if known else None

    @property
    def memory(self) -> int | None:
        """The most bytes that the watched processes held, None if they never were on the card's list."""
        return max((sample.memory for sample in self.samples if sample.memory is not None), default=None)

    @property
    def card_growth(self) -> int | None:
        """By how many bytes the use of the whole card rose above the first sample, at most.

        What is left where a container hides the list of processes; right only if nobody else uses the card.
        """
        known = [sample.card_memory for sample in self.samples if sample.card_memory is not None]
        return max(known) - known[0] if known else None


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
        self._told_memory = False
        self._gpu = gpu
        self._interval = interval
        self._nvml = nvml or load_nvml()
        self._clock = clock
        self._pids: frozenset[int] = frozenset()
        self._state: GpuState = "ready"
        self._samples: list[Sample] = []
        # A dictionary keeps their order and says each once.
        self._notes: dict[str, None] = {}
        self._handle: Any = None
        self._began = 0.0
        self._initialised = False
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None

    def follow(self, pids: Iterable[int]) -> None:
        """Take the memory of these processes from now on; pids as the driver sees them, outside of any container."""
        self._pids = frozenset(pids)

    @property
    def recording(self) -> Recording:
        """What was seen so far."""
        notes = list(self._notes)
        if self._pids and self._taken and not self._told_memory:
            notes.append(
                "NVML never told the memory of the process: it held none, or a container hides it from the list"
            )
        return Recording(self._state, tuple(self._samples), tuple(notes))

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
            self._handle = nvml.nvmlDeviceGetHandleByIndex(gpu.index)
        except nvml.NVMLError as error:
            self._state = state_of(error)
            self._notes[f"GPU {gpu.index} cannot be watched: {error}"] = None
            return False
        if gpu.mig:
            self._notes["MIG is on: NVML does not tell the utilisation of a part of a card"] = None
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
            self._told_memory = self._told_memory or sample.memory is not None
            if self._sink is None:
                self._samples.append(sample)
            else:
                self._sink(sample)
        except _Lost as lost:
            self._state = "lost"
            self._notes[f"GPU {self._gpu.index} was lost after {self._taken} samples: {lost}"] = None
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
        milliwatts = self._ask("power", nvml.nvmlDeviceGetPowerUsage)
        return Sample(
            seconds=self._clock() - self._began,
            utilisation=None if rates is None else int(rates.gpu),
            memory=self._held(processes or ()),
            card_memory=None if memory is None else int(memory.used),
            power=None if milliwatts is None else milliwatts / 1000,
            clock=self._ask("SM clock", lambda handle: nvml.nvmlDeviceGetClockInfo(handle, _SM_CLOCK)),
        )

    def _ask(self, what: str, question: Callable[[Any], Value]) -> Value | None:
        """The answer, None and a note where the card has none."""
        assert self._nvml is not None
        try:
            return question(self._handle)
        except self._nvml.NVMLError as error:
            if state_of(error) in ("lost", "no driver", "no GPU"):
                raise _Lost(str(error)) from error
            self._notes[f"{what}: {error}"] = None
            return None

    def _held(self, processes: Sequence[Any]) -> int | None:
        held = [item.usedGpuMemory for item in processes if item.pid in self._pids]
        known = [int(number) for number in held if number is not None]
        return sum(known) if known else None


class _Lost(Exception):
    """The card does not answer any more."""
