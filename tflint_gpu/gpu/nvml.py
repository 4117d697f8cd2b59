"""NVML, NVIDIA's library for managing cards, as the module `pynvml` shows it: as much of it as is used here."""

# ruff: noqa: N802, D102 - the protocol has NVML's own names, so that the module `pynvml` is one of its implementations.

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from typing import Any, Literal, Protocol, TypeVar, cast

GpuState = Literal["ready", "no library", "no driver", "no GPU", "lost", "error"]
Value = TypeVar("Value")

_NO_LIBRARY = frozenset({12, 13})  # NVML_ERROR_LIBRARY_NOT_FOUND, FUNCTION_NOT_FOUND
_NO_DRIVER = frozenset({9, 18})  # DRIVER_NOT_LOADED, LIB_RM_VERSION_MISMATCH
_NO_GPU = frozenset({6, 28})  # NOT_FOUND, GPU_NOT_FOUND
_LOST = frozenset({1, 15, 16})  # UNINITIALIZED, GPU_IS_LOST, RESET_REQUIRED
_REASONS = {
    0x4: "a power limit set in software",
    0x8: "hardware slowdown (temperature or power)",
    0x20: "software thermal slowdown",
    0x40: "heat",
    0x80: "power brake slowdown",
}


class Nvml(Protocol):
    """As much of the module `pynvml` (package nvidia-ml-py) as is used here; each call may raise `NVMLError`."""

    NVMLError: type[Exception]

    def nvmlInit(self) -> None: ...
    def nvmlShutdown(self) -> None: ...
    def nvmlSystemGetDriverVersion(self) -> str: ...
    def nvmlDeviceGetCount(self) -> int: ...
    def nvmlDeviceGetHandleByIndex(self, index: int) -> Any: ...
    def nvmlDeviceGetHandleByUUID(self, uuid: str) -> Any: ...
    def nvmlDeviceGetName(self, handle: Any) -> str: ...
    def nvmlDeviceGetUUID(self, handle: Any) -> str: ...
    def nvmlDeviceGetMigMode(self, handle: Any) -> Sequence[int]: ...
    def nvmlDeviceGetMaxMigDeviceCount(self, handle: Any) -> int: ...
    def nvmlDeviceGetMigDeviceHandleByIndex(self, handle: Any, index: int) -> Any: ...
    def nvmlDeviceGetMemoryInfo(self, handle: Any) -> Any: ...
    def nvmlDeviceGetUtilizationRates(self, handle: Any) -> Any: ...
    def nvmlDeviceGetComputeRunningProcesses(self, handle: Any) -> Sequence[Any]: ...
    def nvmlDeviceGetPowerUsage(self, handle: Any) -> int: ...
    def nvmlDeviceGetTotalEnergyConsumption(self, handle: Any) -> int: ...
    def nvmlDeviceGetClockInfo(self, handle: Any, kind: int) -> int: ...
    def nvmlDeviceGetCudaComputeCapability(self, handle: Any) -> Sequence[int]: ...
    def nvmlDeviceGetPersistenceMode(self, handle: Any) -> int: ...
    def nvmlDeviceGetTotalEccErrors(self, handle: Any, kind: int, counter: int) -> int: ...
    def nvmlDeviceGetCurrentClocksThrottleReasons(self, handle: Any) -> int: ...
    def nvmlDeviceGetComputeMode(self, handle: Any) -> int: ...


def load_nvml() -> Nvml | None:
    """The module `pynvml`, None where it is not installed."""
    try:
        return cast(Nvml, importlib.import_module("pynvml"))
    except ImportError:
        return None


def answer_of(nvml: Nvml, question: Callable[[], Value]) -> Value | None:
    """What NVML answers; None for an error."""
    try:
        return question()
    except nvml.NVMLError:
        return None


def slowed_by(reasons: int) -> tuple[str, ...]:
    """NVML's reasons for clocks that are held down, in words; having nothing to do is none of them."""
    return tuple(text for bit, text in _REASONS.items() if reasons & bit)


def shut_down(nvml: Nvml) -> None:
    """Undo one `nvmlInit`, whatever NVML thinks of it."""
    answer_of(nvml, nvml.nvmlShutdown)


def state_of(error: Exception) -> GpuState:
    """The state that an `NVMLError` means."""
    code = getattr(error, "value", None)
    for codes, state in ((_NO_LIBRARY, "no library"), (_NO_DRIVER, "no driver"), (_NO_GPU, "no GPU"), (_LOST, "lost")):
        if code in codes:
            return cast(GpuState, state)
    return "error"
