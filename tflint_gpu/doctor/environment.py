"""What the operating system shows of a GPU: files and variables, which nobody has to be asked for."""

from __future__ import annotations

import os
import platform
import re
from collections.abc import Mapping
from pathlib import Path

from tflint_gpu.doctor.facts import Environment

_PCI = "sys/bus/pci/devices"
_NVIDIA, _DISPLAY = "0x10de", "0x03"
_DRIVER = re.compile(r"Kernel Module(?: for \w+)?\s+(\d+(?:\.\d+)+)")
DEVICE_FILE = re.compile(r"nvidia(?:\d+|ctl|-uvm)")
_VARIABLES = (
    "CUDA_VISIBLE_DEVICES CUDA_DEVICE_ORDER NVIDIA_VISIBLE_DEVICES NVIDIA_DRIVER_CAPABILITIES LD_LIBRARY_PATH "
    "LD_PRELOAD XLA_FLAGS TF_XLA_FLAGS TF_FORCE_GPU_ALLOW_GROWTH TF_USE_LEGACY_KERAS KERAS_BACKEND CONDA_PREFIX "
    "SLURM_JOB_ID SLURM_JOB_GPUS SLURM_STEP_GPUS SLURM_GPUS SLURM_GPUS_ON_NODE"
).split()


def look(
    root: Path = Path("/"),
    variables: Mapping[str, str] | None = None,
    system: tuple[str, str] | None = None,
) -> Environment:
    """Read the files below a root and some variables.

    Arguments:
        root: of the file system.
        variables: the environment; None: this process's.
        system: name and machine, as `platform` calls them; None: this one.
    """
    given = os.environ if variables is None else variables
    name, machine = system or (platform.system(), platform.machine())
    kernel = _text(root / "proc/version").lower()
    driver = _DRIVER.search(_text(root / "proc/driver/nvidia/version"))
    return Environment(
        system=name,
        machine=machine,
        cards=_cards(root),
        pci_devices=len(list((root / _PCI).glob("*"))),
        kernel_driver=driver[1] if driver else "",
        wsl="microsoft" in kernel or "wsl" in kernel,
        wsl_driver=(root / "usr/lib/wsl/lib/libcuda.so.1").exists(),
        container=_container(root),
        device_files=tuple(
            (f"/{path.relative_to(root)}", os.access(path, os.R_OK | os.W_OK))
            for path in sorted((root / "dev").glob("nvidia*"))
            if DEVICE_FILE.fullmatch(path.name)
        ),
        bound=_bound(root),
        variables={key: given[key] for key in _VARIABLES if key in given},
    )


def _cards(root: Path) -> int | None:
    return len(_devices(root)) if (root / _PCI).is_dir() else None


def _bound(root: Path) -> tuple[str, ...]:
    drivers = {(device / "driver").resolve().name for device in _devices(root) if (device / "driver").exists()}
    return tuple(sorted(drivers - {"nvidia"}))


def _devices(root: Path) -> list[Path]:
    """NVIDIA's display devices on the PCI bus."""
    return [
        device
        for device in sorted((root / _PCI).glob("*"))
        if _text(device / "vendor").strip() == _NVIDIA and _text(device / "class").startswith(_DISPLAY)
    ]


def _container(root: Path) -> str:
    if (root / ".dockerenv").exists():
        return "docker"
    if (root / "run/.containerenv").exists():
        return "podman"
    if (root / ".singularity.d").exists():
        return "singularity"
    match = re.search(r"docker|kubepods|containerd|lxc", _text(root / "proc/1/cgroup"))
    return {"kubepods": "kubernetes"}.get(match[0], match[0]) if match else ""


def _text(path: Path) -> str:
    try:
        return path.read_text("utf-8", "replace")
    except OSError:
        return ""
