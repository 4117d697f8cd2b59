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


@dataclass
class FakeNvml:
    """A machine: its cards' free memory, what its queries refuse (name -> code), and when a card falls off the bus."""

    free: tuple[int, ...] = (70 * GIB,)
    refuses: dict[str, int] = field(default_factory=dict)
    dead: set[int] = field(default_factory=set)
    lost_after: int | None = None
    processes: tuple[tuple[int, int | None], ...] = ((4711, 3 * GIB),)
    mig: int = 0
    parts: int = 0
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

    def nvmlDeviceGetName(self, handle: int) -> str:
        self._enter("name")
        return f"Fake H{handle}00"

    def nvmlDeviceGetComputeMode(self, handle: int) -> int:
        self._enter("mode")
        return self.mode

    def nvmlDeviceGetMaxMigDeviceCount(self, handle: int) -> int:
        self._enter("parts")
        return 7

    def nvmlDeviceGetMigDeviceHandleByIndex(self, handle: int, index: int) -> str:
        if index >= self.parts:
            raise FakeError(NOT_FOUND)
        return f"{handle}.{index}"

    def nvmlDeviceGetUUID(self, handle: int | str) -> str:
        self._enter("uuid")
        if isinstance(handle, str):
            return f"MIG-{handle}"
        return f"GPU-{handle}{handle}{handle}-abc"

    def nvmlDeviceGetMigMode(self, handle: int) -> list[int]:
        self._enter("mig")
        return [self.mig, self.mig]

    def nvmlDeviceGetMemoryInfo(self, handle: int) -> Any:
        self._enter("memory")
        return SimpleNamespace(total=80 * GIB, free=self.free[handle], used=80 * GIB - self.free[handle] + self.rounds)

    def nvmlDeviceGetUtilizationRates(self, handle: int) -> Any:
        """The first query of a sample."""
        self.rounds += 1
        self.on_round(self.rounds)
        if self.lost_after is not None and self.rounds > self.lost_after:
            raise FakeError(LOST)
        self._enter("utilisation")
        return SimpleNamespace(gpu=10 * self.rounds, memory=5)

    def nvmlDeviceGetComputeRunningProcesses(self, handle: int) -> list[Any]:
        self._enter("processes")
        return [SimpleNamespace(pid=pid, usedGpuMemory=held) for pid, held in self.processes]

    def nvmlDeviceGetPowerUsage(self, handle: int) -> int:
        self._enter("power")
        return 250_500

    def nvmlDeviceGetClockInfo(self, handle: int, kind: int) -> int:
        self._enter("clock")
        assert kind == 1
        return 1980

    def nvmlDeviceGetCudaComputeCapability(self, handle: int) -> list[int]:
        self._enter("capability")
        return [9, 0]

    def nvmlDeviceGetPersistenceMode(self, handle: int) -> int:
        self._enter("persistence")
        return 1

    def nvmlDeviceGetTotalEccErrors(self, handle: int, kind: int, counter: int) -> int:
        self._enter("ecc")
        assert (kind, counter) == (1, 0)
        return 0

    def nvmlDeviceGetCurrentClocksThrottleReasons(self, handle: int) -> int:
        self._enter("throttle")
        return self.throttle
