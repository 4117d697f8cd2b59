"""Which Python, CUDA, cuDNN, driver and cards a TensorFlow goes with."""

from __future__ import annotations

import sys
from functools import cache
from pathlib import Path
from typing import Any

from tflint_gpu.lazy_dataclasses import dataclass

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib


@dataclass(frozen=True, slots=True)
class Build:
    """One minor release for Linux on x86-64, as `compatibility.toml` has it."""

    wheel: str
    python: tuple[str, ...]
    cuda: str
    cudnn: str
    capabilities: tuple[str, ...]
    keras: str
    wants: dict[str, str]


@cache
def builds() -> dict[tuple[int, int], Build]:
    """All known releases, the oldest first."""
    return {
        release(version): Build(
            row["wheel"],
            tuple(row["python"]),
            row["cuda"],
            row["cudnn"],
            tuple(row["capabilities"]),
            row["keras"],
            row.get("wants", {}),
        )
        for version, row in table().items()
        if version[0].isdigit()
    }


@cache
def table() -> dict[str, dict[str, Any]]:
    """The whole data file; each row says where and when it was read."""
    return tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))


def release(version: str) -> tuple[int, int]:
    """The minor release of a version: (2, 21) of "2.21.0"; (0, 0) of what is none."""
    parts = version.split(".")
    try:
        return int(parts[0]), int(parts[1])
    except (ValueError, IndexError):
        return 0, 0


def least_driver(cuda: str) -> str:
    """The oldest driver that runs programs built with a CUDA, empty where that is not known."""
    return str(table()["drivers"].get(cuda.partition(".")[0], {}).get("least", ""))


def last_for_windows() -> tuple[int, int]:
    """The last TensorFlow that uses a GPU on Windows without WSL."""
    return release(table()["windows"]["last"])


def is_older(version: str, than: str) -> bool:
    """Whether a driver's version is before another one."""
    return _numbers(version) < _numbers(than)


def runs_on(capabilities: tuple[str, ...], card: tuple[int, int]) -> bool:
    """Whether a build has code for a card, or code that the driver can make some for it of."""
    for capability in capabilities:
        kind, _, digits = capability.partition("_")
        if not digits.isdigit():
            continue
        built = (int(digits[:-1]), int(digits[-1]))
        if kind == "compute" and card >= built:
            return True
        if kind == "sm" and card[0] == built[0] and card >= built:
            return True
    return not capabilities


def newest_for(python: str) -> str:
    """The newest TensorFlow that has a wheel for a Python, empty for none."""
    versions = [version for version, build in builds().items() if python in build.python]
    return ".".join(map(str, max(versions))) if versions else ""


def newest_for_card(card: tuple[int, int]) -> str:
    """The newest TensorFlow with code for a card, empty for none."""
    versions = [version for version, build in builds().items() if runs_on(build.capabilities, card)]
    return ".".join(map(str, max(versions))) if versions else ""


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split(".") if part.isdigit())
