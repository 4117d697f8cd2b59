"""A machine with NVIDIA cards that is not there, for tests of all that asks NVML."""

# ruff: noqa: N802 - the fake has NVML's own names.

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

GIB = 1 << 30
NOT_SUPPORTED, NO_PERMISSION, NOT_FOUND, NO_DRIVER, NO_LIBRARY, LOST, MISMATCH, UNKNOWN = 3, 4, 6, 9, 12, 15, 18, 999


class FakeError(Exception):
    """As pynvml's: the code is in `value`."""

    def __init__(self, value: int) -> None:
        super().__init__(f"error {value}")
        self.value = value


Handle = int | tuple[int, int]


def _refuse_a_part(handle: Handle) -> None:
    if isinstance(handle, tuple):
        raise FakeError(NOT_SUPPORTED)


@dataclass
class FakeNvml:
    """A machine: its cards' free memory, what its queries refuse (name -> code), and when a card falls off the bus.

    A part of a card on which MIG is on has the handle (card, part), a tenth of the memory, and no utilisation.
    """

    free: tuple[int, ...] = (70 * GIB,)
    refuses: dict[str, int] = field(default_factory=dict)
    dead: set[int] = field(default_factory=set)
    lost_after: int | None = None
    processes: tuple[tuple[int, int | None], ...] = ((4711, 3 * GIB),)
    mig: int = 0
    parts: dict[int, tuple[int, ...]] = field(default_factory=dict)
    mode: int = 0
    throttle: int = 0
    open: int = 0
    rounds: int = 0
    on_round: Callable[[int], None] = lambda _: None

    NVMLError: type[Exception] = FakeError

    def _enter(self, query: str) -> None:
        if query in self.refuses:
            raise FakeError(self.refuses[query])
        assert self.open or query in ("init", "shutdown"), "NVML is used outside of init and shutdown"

    def nvmlInit(self) -> None:
        self._enter("init")
        self.open += 1

    def nvmlShutdown(self) -> None:
        self.open -= 1
        self._enter("shutdown")

    def nvmlSystemGetDriverVersion(self) -> str:
        self._enter("driver")
        return "580.65"

    def nvmlDeviceGetCount(self) -> int:
        self._enter("count")
        return len(self.free)

    def nvmlDeviceGetHandleByIndex(self, index: int) -> int:
        self._enter("handle")
        if index in self.dead:
            raise FakeError(LOST)
        return index

    def nvmlDeviceGetHandleByUUID(self, uuid: str) -> Handle:
        self._enter("handle")
        parts = [(index, part) for index, known in self.parts.items() for part in known]
        for handle in (*range(len(self.free)), *parts):
            if self.nvmlDeviceGetUUID(handle) == uuid:
                return handle if isinstance(handle, tuple) else self.nvmlDeviceGetHandleByIndex(handle)
        raise FakeError(NOT_FOUND)

    def nvmlDeviceGetComputeMode(self, handle: Handle) -> int:
        self._enter("mode")
        return self.mode

    def nvmlDeviceGetName(self, handle: Handle) -> str:
        self._enter("name")
        return f"Fake H{handle[0]}00 MIG 1g.8gb" if isinstance(handle, tuple) else f"Fake H{handle}00"

    def nvmlDeviceGetUUID(self, handle: Handle) -> str:
        self._enter("uuid")
        return f"MIG-{handle[0]}{handle[1]}-abc" if isinstance(handle, tuple) else f"GPU-{handle}{handle}{handle}-abc"

    def nvmlDeviceGetMigMode(self, handle: int) -> list[int]:
        self._enter("mig")
        return [self.mig or int(handle in self.parts)] * 2

    def nvmlDeviceGetMaxMigDeviceCount(self, handle: int) -> int:
        self._enter("parts")
        return 7

    def nvmlDeviceGetMigDeviceHandleByIndex(self, handle: int, index: int) -> tuple[int, int]:
        self._enter("parts")
        if index not in self.parts.get(handle, ()):
            raise FakeError(NOT_FOUND)
        return handle, index

    def nvmlDeviceGetMemoryInfo(self, handle: Handle) -> Any:
        self._enter("memory")
        if isinstance(handle, tuple):
            return SimpleNamespace(total=8 * GIB, free=8 * GIB - handle[1], used=handle[1] + self.rounds)
        return SimpleNamespace(total=80 * GIB, free=self.free[handle], used=80 * GIB - self.free[handle] + self.rounds)

    def nvmlDeviceGetUtilizationRates(self, handle: Handle) -> Any:
        """The first query of a sample."""
        if isinstance(handle, tuple):
            raise FakeError(NOT_SUPPORTED)
        self.rounds += 1
        self.on_round(self.rounds)
        if self.lost_after is not None and self.rounds > self.lost_after:
            raise FakeError(LOST)
        self._enter("utilisation")
        return SimpleNamespace(gpu=10 * self.rounds, memory=5)

    def nvmlDeviceGetComputeRunningProcesses(self, handle: Handle) -> list[Any]:
        self._enter("processes")
        return [SimpleNamespace(pid=pid, usedGpuMemory=held) for pid, held in self.processes]

    def nvmlDeviceGetPowerUsage(self, handle: Handle) -> int:
        self._enter("power")
        _refuse_a_part(handle)
        return 250_500

    def nvmlDeviceGetTotalEnergyConsumption(self, handle: Handle) -> int:
        """As many joules a sample as it has watts."""
        self._enter("energy")
        _refuse_a_part(handle)
        return 1_000_000 + 250_500 * self.rounds

    def nvmlDeviceGetClockInfo(self, handle: Handle, kind: int) -> int:
        self._enter("clock")
        _refuse_a_part(handle)
        assert kind == 1
        return 1980

    def nvmlDeviceGetCudaComputeCapability(self, handle: Handle) -> list[int]:
        self._enter("capability")
        _refuse_a_part(handle)
        return [9, 0]

    def nvmlDeviceGetPersistenceMode(self, handle: Handle) -> int:
        self._enter("persistence")
        return 1

    def nvmlDeviceGetTotalEccErrors(self, handle: Handle, kind: int, counter: int) -> int:
        self._enter("ecc")
        _refuse_a_part(handle)
        assert (kind, counter) == (1, 0)
        return 0

    def nvmlDeviceGetCurrentClocksThrottleReasons(self, handle: Handle) -> int:
        self._enter("throttle")
        _refuse_a_part(handle)
        return self.throttle
