"""Which NVIDIA cards there are, and which one to run on, through NVML.

No library, no driver and no card are states with a note, not errors. Nothing is ever set: clocks, power limits and MIG
stay as they are.

A card on which MIG is on is used by its parts only, and CUDA shows a process one part and then no other device: so
NVIDIA's guide to MIG, under "CUDA device enumeration".
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal

from tflint_gpu.gpu.nvml import GpuState, Nvml, answer_of, load_nvml, shut_down, slowed_by, state_of
from tflint_gpu.lazy_dataclasses import dataclass

Mode = Literal["shared", "exclusive", "prohibited"]

_UNCORRECTED, _SINCE_LOADED = 1, 0  # NVML_MEMORY_ERROR_TYPE_UNCORRECTED, NVML_VOLATILE_ECC
_GIBIBYTE = 1 << 30
_AT_REST = 0.05  # of a card's memory, for the driver and a display
_MODES: dict[int | None, Mode] = {1: "exclusive", 2: "prohibited", 3: "exclusive"}  # NVML_COMPUTEMODE_*


def gibibytes(size: float, places: int = 1) -> str:
    """An amount of memory as text."""
    return f"{size / _GIBIBYTE:.{places}f} GiB"


@dataclass(frozen=True, slots=True)
class Gpu:
    """One card: NVML's index (PCI order), what it is, and its memory in bytes, in all and free when asked.

    Arguments:
        capability: what CUDA code it runs: (9, 0).
        persistent: whether the driver stays loaded while nobody uses the card.
        ecc_errors: uncorrected ones since the driver was loaded.
        holders: the processes that hold its memory, with bytes where NVML tells them.
        slowed: why its clocks are lower than they could be, in words, apart from having nothing to do.
        part: the number of this part of a card on which MIG is on; None: it is a whole card.
        parts: those of a card on which MIG is on, as far as they answer.
        mig_parts: their names; None where MIG is off, or nothing tells how many there are.
        mode: whether only one process may compute on it, or none.
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
    part: int | None = None
    parts: tuple[Gpu, ...] = ()
    mig_parts: tuple[str, ...] | None = None
    mode: Mode = "shared"

    @property
    def title(self) -> str:
        """As people call it: `GPU 0`, `GPU 0, MIG instance 1`."""
        return f"GPU {self.index}" + ("" if self.part is None else f", MIG instance {self.part}")

    @property
    def described(self) -> str:
        """What it is, with its memory and its driver."""
        facts = [f"driver {self.driver}", *(["MIG"] if self.mig else [])]
        if self.total_memory is not None:
            facts.insert(0, gibibytes(self.total_memory))
        return f"{self.name} ({', '.join(facts)})"

    @property
    def burdens(self) -> tuple[str, ...]:
        """What on it spoils a measurement, in words: other processes, memory in use, clocks that are held down."""
        used = None
        if self.total_memory is not None and self.free_memory is not None:
            used = self.total_memory - self.free_memory
        processes = []
        if self.holders:
            known = sum(held or 0 for _, held in self.holders)
            share = f" with {gibibytes(known)} of its memory" if known else ""
            processes.append(
                "another process is" if len(self.holders) == 1 else f"{len(self.holders)} other processes are"
            )
            processes[-1] += f" on it{share}"
        elif used is not None and used > max(_GIBIBYTE, (self.total_memory or 0) * _AT_REST):
            processes.append(f"{gibibytes(used)} of its memory are in use")
        if self.slowed:
            processes.append(f"its clocks are throttled: {', '.join(self.slowed)}")
        return tuple(processes)


@dataclass(frozen=True, slots=True)
class Survey:
    """Which cards there are. `note` says what is wrong in one sentence, empty where nothing is."""

    state: GpuState
    gpus: tuple[Gpu, ...] = ()
    note: str = ""


@dataclass(frozen=True, slots=True)
class Choice:
    """The card to run on, None for the CPU, and why where that is not what one would expect, or what burdens the card.

    Arguments:
        others: the other cards that may be used in addition to it.
    """

    gpu: Gpu | None
    note: str = ""
    others: tuple[Gpu, ...] = ()


def survey(nvml: Nvml | None = None) -> Survey:
    """Ask NVML which cards there are.

    Arguments:
        nvml: what to ask; None: `pynvml`.
    """
    nvml = nvml or load_nvml()
    if nvml is None:
        return Survey("no library", note="nvidia-ml-py is not installed: the GPU is not monitored")
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
    cards = tuple(gpu for gpu in gpus if gpu is not None)
    silent = [str(index) for index, gpu in enumerate(gpus) if gpu is None]
    note = f"no answer from GPU {', '.join(silent)}" if silent else ""
    return Survey("ready" if cards else "lost", cards, note)


def shown_devices(environment: Mapping[str, str] = os.environ) -> tuple[str | None, str | None]:
    """What a process's environment says of the cards that CUDA shows, as `choose` takes it."""
    return environment.get("CUDA_VISIBLE_DEVICES"), environment.get("CUDA_DEVICE_ORDER")


def choose(survey: Survey, device: str, visible: str | None = None, order: str | None = None) -> Choice:
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
    is_ordered = order == "PCI_BUS_ID" or len({gpu.name for gpu in survey.gpus}) == 1
    is_counted = any(part.strip().isdigit() for part in (visible or "").split(","))
    if is_counted and not is_ordered:
        raise ValueError(
            f"CUDA_VISIBLE_DEVICES={visible} counts the GPUs in CUDA's own order, the fastest first, and they are not "
            "all the same model: set CUDA_DEVICE_ORDER=PCI_BUS_ID too, or name them by UUID"
        )
    gpus = _visible(survey.gpus, visible)
    if not gpus:
        return Choice(None, survey.note or _why_none(survey.gpus, visible))
    if match[1] is None:
        chosen = max(gpus, key=lambda gpu: (gpu.free_memory or 0, -gpu.index))
    elif int(match[1]) < len(gpus):
        chosen = gpus[int(match[1])]
    else:
        count = "1 GPU is" if len(gpus) == 1 else f"{len(gpus)} GPUs are"
        return Choice(None, f"{device} does not exist: {count} visible, numbered from 0", tuple(gpus))
    others = tuple(gpu for gpu in gpus if gpu != chosen and gpu.part is None) if chosen.part is None else ()
    notes = [f"{chosen.title} is busy: {'; '.join(chosen.burdens)}"] if chosen.burdens else []
    if match[1] is not None and visible is None and not is_ordered:
        notes.append(
            f"{chosen.title} (a {chosen.name}) is numbered as NVML does it: the GPUs are not all the same model, and "
            "CUDA counts the fastest first unless CUDA_DEVICE_ORDER=PCI_BUS_ID is set"
        )
    return Choice(chosen, "; ".join(notes), others)


def _why_none(gpus: Sequence[Gpu], visible: str | None) -> str:
    if visible is None:
        return "MIG is on, and NVML shows no usable MIG instance"
    return "CUDA_VISIBLE_DEVICES hides every GPU that NVML knows"


def first_card(survey: Survey, visible: str | None = None, order: str | None = None) -> Choice:
    """The card on which TensorFlow puts things by itself: the first that it sees. Arguments as for `choose`."""
    try:
        choice = choose(survey, "gpu:0", visible, order)
    except ValueError as error:  # only CUDA knows which card it is
        return Choice(None, str(error))
    if choice.gpu is None:
        return Choice(None, survey.note or choice.note)
    first = "several GPUs are visible; the idle time is that of the first one" if choice.others else ""
    return replace(choice, note="; ".join(filter(None, [first, choice.note])))


def _look_at(nvml: Nvml, index: int, driver: str) -> Gpu | None:
    """One card's facts; None where it does not answer, so that one dead card does not hide the others."""
    try:
        handle = nvml.nvmlDeviceGetHandleByIndex(index)
        facts = _facts(nvml, handle, index, driver)
    except nvml.NVMLError:
        return None
    modes = answer_of(nvml, lambda: nvml.nvmlDeviceGetMigMode(handle))
    mig = None if modes is None else bool(modes[0])
    most = answer_of(nvml, lambda: nvml.nvmlDeviceGetMaxMigDeviceCount(handle)) if mig else None
    parts = tuple(_parts_of(nvml, handle, facts, most or 0))
    return replace(
        facts,
        mig=mig,
        parts=parts,
        mig_parts=None if most is None else tuple(part.uuid for part in parts),
        mode=_MODES.get(answer_of(nvml, lambda: nvml.nvmlDeviceGetComputeMode(handle)), "shared"),
    )


def _parts_of(nvml: Nvml, card: Any, whole: Gpu, most: int) -> Iterator[Gpu]:
    """The parts of a card that are set up: their numbers, below a most one, may have gaps."""
    for number in range(most):
        try:
            handle = nvml.nvmlDeviceGetMigDeviceHandleByIndex(card, number)
            part = _facts(nvml, handle, whole.index, whole.driver)
        except nvml.NVMLError:
            continue
        yield replace(part, mig=True, part=number, slowed=whole.slowed, capability=whole.capability)


def _facts(nvml: Nvml, handle: Any, index: int, driver: str) -> Gpu:
    """What a card or a part of one tells; a part has neither clocks nor a capability of its own."""
    memory = answer_of(nvml, lambda: nvml.nvmlDeviceGetMemoryInfo(handle))
    capability = answer_of(nvml, lambda: nvml.nvmlDeviceGetCudaComputeCapability(handle))
    persistent = answer_of(nvml, lambda: nvml.nvmlDeviceGetPersistenceMode(handle))
    holders = answer_of(nvml, lambda: nvml.nvmlDeviceGetComputeRunningProcesses(handle)) or ()
    return Gpu(
        index=index,
        name=nvml.nvmlDeviceGetName(handle),
        uuid=nvml.nvmlDeviceGetUUID(handle),
        driver=driver,
        total_memory=None if memory is None else int(memory.total),
        free_memory=None if memory is None else int(memory.free),
        capability=None if capability is None else (int(capability[0]), int(capability[1])),
        persistent=None if persistent is None else bool(persistent),
        ecc_errors=answer_of(nvml, lambda: nvml.nvmlDeviceGetTotalEccErrors(handle, _UNCORRECTED, _SINCE_LOADED)),
        holders=tuple((int(holder.pid), holder.usedGpuMemory) for holder in holders),
        slowed=slowed_by(answer_of(nvml, lambda: nvml.nvmlDeviceGetCurrentClocksThrottleReasons(handle)) or 0),
    )


def _visible(gpus: Sequence[Gpu], visible: str | None) -> list[Gpu]:
    """What CUDA shows, in its order: it stops at the first entry that it does not know.

    A number means a card, and the first of its parts where MIG is on.
    """
    usable = {gpu.index: gpu.parts if gpu.mig else (gpu,) for gpu in gpus}
    if visible is None:
        return [part for several in usable.values() for part in several]
    shown: list[Gpu] = []
    for entry in filter(None, (part.strip() for part in visible.split(","))):
        if entry.isdigit():
            named = list(usable.get(int(entry), ())[:1])
        elif entry.startswith("MIG-"):
            named = [part for several in usable.values() for part in several if part.uuid.startswith(entry)]
        else:
            known = [gpu for gpu in gpus if entry.startswith("GPU-") and gpu.uuid.startswith(entry)]
            named = [part for gpu in known for part in usable[gpu.index][:1]] if len(known) == 1 else []
        if len(named) != 1:
            break
        shown += named
    return shown
