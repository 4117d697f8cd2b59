"""Which NVIDIA cards there are, and which one to run on, through NVML.

No library, no driver and no card are states with a note, not errors. Nothing is ever set: clocks, power limits and MIG
stay as they are.
"""

# ruff: noqa: N802, D102 - the protocol has NVML's own names, so that the module `pynvml` is one of its implementations.

from __future__ import annotations

import importlib
import os
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, Protocol, TypeVar, cast

GpuState = Literal["ready", "no library", "no driver", "no GPU", "lost", "error"]
Mode = Literal["shared", "exclusive", "prohibited"]
Value = TypeVar("Value")

_NO_LIBRARY = frozenset({12, 13})  # NVML_ERROR_LIBRARY_NOT_FOUND, FUNCTION_NOT_FOUND
_NO_DRIVER = frozenset({9, 18})  # DRIVER_NOT_LOADED, LIB_RM_VERSION_MISMATCH
_NO_GPU = frozenset({6, 28})  # NOT_FOUND, GPU_NOT_FOUND
_UNCORRECTED, _SINCE_LOADED = 1, 0  # NVML_MEMORY_ERROR_TYPE_UNCORRECTED, NVML_VOLATILE_ECC
_MODES: dict[int | None, Mode] = {1: "exclusive", 2: "prohibited", 3: "exclusive"}  # NVML_COMPUTEMODE_*
_REASONS = {
    0x4: "a power limit set in software",
    0x8: "a slowdown of the hardware (heat or power)",
    0x20: "heat, held down by software",
    0x40: "heat",
    0x80: "the power supply's brake",
}
_LOST = frozenset({1, 15, 16})  # UNINITIALIZED, GPU_IS_LOST, RESET_REQUIRED


class Nvml(Protocol):
    """As much of the module `pynvml` (package nvidia-ml-py) as is used here; each call may raise `NVMLError`."""

    NVMLError: type[Exception]

    def nvmlInit(self) -> None: ...
    def nvmlShutdown(self) -> None: ...
    def nvmlSystemGetDriverVersion(self) -> str: ...
    def nvmlDeviceGetCount(self) -> int: ...
    def nvmlDeviceGetHandleByIndex(self, index: int) -> Any: ...
    def nvmlDeviceGetName(self, handle: Any) -> str: ...
    def nvmlDeviceGetUUID(self, handle: Any) -> str: ...
    def nvmlDeviceGetMigMode(self, handle: Any) -> Sequence[int]: ...
    def nvmlDeviceGetMemoryInfo(self, handle: Any) -> Any: ...
    def nvmlDeviceGetUtilizationRates(self, handle: Any) -> Any: ...
    def nvmlDeviceGetComputeRunningProcesses(self, handle: Any) -> Sequence[Any]: ...
    def nvmlDeviceGetPowerUsage(self, handle: Any) -> int: ...
    def nvmlDeviceGetClockInfo(self, handle: Any, kind: int) -> int: ...
    def nvmlDeviceGetCudaComputeCapability(self, handle: Any) -> Sequence[int]: ...
    def nvmlDeviceGetPersistenceMode(self, handle: Any) -> int: ...
    def nvmlDeviceGetTotalEccErrors(self, handle: Any, kind: int, counter: int) -> int: ...
    def nvmlDeviceGetCurrentClocksThrottleReasons(self, handle: Any) -> int: ...
    def nvmlDeviceGetComputeMode(self, handle: Any) -> int: ...
    def nvmlDeviceGetMaxMigDeviceCount(self, handle: Any) -> int: ...
    def nvmlDeviceGetMigDeviceHandleByIndex(self, handle: Any, index: int) -> Any: ...


@dataclass(frozen=True, slots=True)
class Gpu:
    """One card: NVML's index (PCI order), what it is, and its memory in bytes, in all and free when asked.

    Arguments:
        capability: what CUDA code it runs: (9, 0).
        persistent: whether the driver stays loaded while nobody uses the card.
        ecc_errors: uncorrected ones since the driver was loaded.
        holders: the processes that hold its memory, with bytes where NVML tells them.
        mig_parts: the names of the parts into which MIG divides it; None where MIG is off, or nothing tells.
        mode: whether only one process may compute on it, or none.
        slowed: why its clocks are lower than they could be, in words, apart from having nothing to do.
    """

    index: int
    name: str
    uuid: str
    driver: str
    total_memory: int | None
    free_memory: int | None
    mig: bool | None = None
    capability: tuple[int, int] | None = None
    persistent: bool | None = None
    ecc_errors: int | None = None
    holders: tuple[tuple[int, int | None], ...] = ()
    slowed: tuple[str, ...] = ()
    mig_parts: tuple[str, ...] | None = None
    mode: Mode = "shared"


@dataclass(frozen=True, slots=True)
class Survey:
    """Which cards there are. `note` says what is wrong in one sentence, empty where nothing is."""

    state: GpuState
    gpus: tuple[Gpu, ...] = ()
    note: str = ""


@dataclass(frozen=True, slots=True)
class Choice:
    """The card to run on, None for the CPU, and why where that is not what one would expect.

    Arguments:
        others: the other cards that may be used.
    """

    gpu: Gpu | None
    note: str = ""
    others: tuple[Gpu, ...] = ()


def load_nvml() -> Nvml | None:
    """The module `pynvml`, None where it is not installed."""
    try:
        return cast(Nvml, importlib.import_module("pynvml"))
    except ImportError:
        return None


def survey(nvml: Nvml | None = None) -> Survey:
    """Ask NVML which cards there are.

    Arguments:
        nvml: what to ask; None: `pynvml`.
    """
    nvml = nvml or load_nvml()
    if nvml is None:
        return Survey("no library", note="nvidia-ml-py is not installed: the GPU is not watched")
    try:
        nvml.nvmlInit()
    except nvml.NVMLError as error:
        return Survey(state_of(error), note=f"NVML does not start: {error}")
    try:
        driver = nvml.nvmlSystemGetDriverVersion()
        gpus = [_look_at(nvml, index, driver) for index in range(nvml.nvmlDeviceGetCount())]
    except nvml.NVMLError as error:
        return Survey(state_of(error), note=f"NVML does not list the GPUs: {error}")
    finally:
        shut_down(nvml)
    if not gpus:
        return Survey("no GPU", note=f"driver {driver} is loaded, but there is no GPU")
    found = tuple(gpu for gpu in gpus if gpu is not None)
    silent = [str(index) for index, gpu in enumerate(gpus) if gpu is None]
    note = f"no answer from GPU {', '.join(silent)}" if silent else ""
    return Survey("ready" if found else "lost", found, note)


def shown_devices() -> tuple[str | None, str | None]:
    """What this process's environment says of the cards that CUDA shows, as `choose` takes it."""
    return os.environ.get("CUDA_VISIBLE_DEVICES"), os.environ.get("CUDA_DEVICE_ORDER")


def choose(found: Survey, device: str, visible: str | None = None, order: str | None = None) -> Choice:
    """Choose the card to run on: `gpu:N` is the N-th visible one, `gpu` and `auto` the one with the most free memory.

    Arguments:
        found: the cards.
        device: `auto`, `gpu`, `gpu:N` or `cpu`.
        visible: the value of `CUDA_VISIBLE_DEVICES`; None: all cards.
        order: the value of `CUDA_DEVICE_ORDER`: by "PCI_BUS_ID" the numbers are NVML's, else CUDA's own, the fastest
            card first, which are the same where all cards are of one kind.

    Raises:
        ValueError: `device` is none of these, or nobody but CUDA knows which cards are meant.
    """
    match = re.fullmatch(r"auto|cpu|gpu(?::(\d+))?", device)
    if match is None:
        raise ValueError(f"unknown device {device!r}: use auto, cpu, gpu or gpu:N")
    if device == "cpu":
        return Choice(None)
    is_counted = any(part.strip().isdigit() for part in (visible or "").split(","))
    if is_counted and order != "PCI_BUS_ID" and len({gpu.name for gpu in found.gpus}) > 1:
        raise ValueError(
            f"CUDA_VISIBLE_DEVICES={visible} counts the cards in CUDA's own order, the fastest first, and they are of "
            "several kinds: set CUDA_DEVICE_ORDER=PCI_BUS_ID too, or name them by UUID"
        )
    gpus = _visible(found.gpus, visible)
    if not gpus:
        return Choice(None, found.note or "CUDA_VISIBLE_DEVICES hides every GPU that NVML knows")
    chosen = None
    if match[1] is None:
        chosen = max(gpus, key=lambda gpu: (gpu.free_memory or 0, -gpu.index))
    elif int(match[1]) < len(gpus):
        chosen = gpus[int(match[1])]
    if chosen is not None:
        return Choice(chosen, others=tuple(gpu for gpu in gpus if gpu != chosen))
    return Choice(None, f"there is no {device}: {len(gpus)} visible, counted from 0", tuple(gpus))


def first_card(found: Survey, visible: str | None = None, order: str | None = None) -> Choice:
    """The card on which TensorFlow puts things by itself: the first that it sees. Arguments as for `choose`."""
    try:
        choice = choose(found, "gpu:0", visible, order)
    except ValueError as error:  # only CUDA knows which card it is
        return Choice(None, str(error))
    if choice.gpu is None:
        return Choice(None, found.note or choice.note)
    return replace(choice, note="of several visible GPUs the first was watched") if choice.others else choice


def _look_at(nvml: Nvml, index: int, driver: str) -> Gpu | None:
    """One card's facts; None where it does not answer, so that one dead card does not hide the others."""
    try:
        handle = nvml.nvmlDeviceGetHandleByIndex(index)
        name, uuid = nvml.nvmlDeviceGetName(handle), nvml.nvmlDeviceGetUUID(handle)
    except nvml.NVMLError:
        return None
    memory = _answer(nvml, lambda: nvml.nvmlDeviceGetMemoryInfo(handle))
    mig = _answer(nvml, lambda: nvml.nvmlDeviceGetMigMode(handle))
    capability = _answer(nvml, lambda: nvml.nvmlDeviceGetCudaComputeCapability(handle))
    persistent = _answer(nvml, lambda: nvml.nvmlDeviceGetPersistenceMode(handle))
    holders = _answer(nvml, lambda: nvml.nvmlDeviceGetComputeRunningProcesses(handle)) or ()
    reasons = _answer(nvml, lambda: nvml.nvmlDeviceGetCurrentClocksThrottleReasons(handle)) or 0
    return Gpu(
        index=index,
        name=name,
        uuid=uuid,
        driver=driver,
        total_memory=None if memory is None else int(memory.total),
        free_memory=None if memory is None else int(memory.free),
        mig=None if mig is None else bool(mig[0]),
        capability=None if capability is None else (int(capability[0]), int(capability[1])),
        persistent=None if persistent is None else bool(persistent),
        ecc_errors=_answer(nvml, lambda: nvml.nvmlDeviceGetTotalEccErrors(handle, _UNCORRECTED, _SINCE_LOADED)),
        holders=tuple((int(one.pid), one.usedGpuMemory) for one in holders),
        slowed=tuple(text for bit, text in _REASONS.items() if reasons & bit),
        mig_parts=_parts(nvml, handle) if mig is not None and mig[0] else None,
        mode=_MODES.get(_answer(nvml, lambda: nvml.nvmlDeviceGetComputeMode(handle)), "shared"),
    )


def _parts(nvml: Nvml, handle: Any) -> tuple[str, ...] | None:
    most = _answer(nvml, lambda: nvml.nvmlDeviceGetMaxMigDeviceCount(handle))
    if most is None:
        return None

    def name(at: int) -> str | None:
        return _answer(nvml, lambda: nvml.nvmlDeviceGetUUID(nvml.nvmlDeviceGetMigDeviceHandleByIndex(handle, at)))

    return tuple(part for at in range(most) if (part := name(at)) is not None)


def _answer(nvml: Nvml, question: Callable[[], Value]) -> Value | None:
    try:
        return question()
    except nvml.NVMLError:
        return None


def _visible(gpus: Sequence[Gpu], visible: str | None) -> list[Gpu]:
    """The cards that CUDA shows, in its order: it stops at the first entry that it does not know."""
    if visible is None:
        return list(gpus)
    shown: list[Gpu] = []
    for entry in filter(None, (part.strip() for part in visible.split(","))):
        named = [
            gpu for gpu in gpus if entry == str(gpu.index) or (entry.startswith("GPU-") and gpu.uuid.startswith(entry))
        ]
        if len(named) != 1:
            break
        shown += named
    return shown


def shut_down(nvml: Nvml) -> None:
    """Undo one `nvmlInit`, whatever NVML thinks of it."""
    _answer(nvml, nvml.nvmlShutdown)


def state_of(error: Exception) -> GpuState:
    """The state that an `NVMLError` means."""
    code = getattr(error, "value", None)
    for codes, state in ((_NO_LIBRARY, "no library"), (_NO_DRIVER, "no driver"), (_NO_GPU, "no GPU"), (_LOST, "lost")):
        if code in codes:
            return cast(GpuState, state)
    return "error"
