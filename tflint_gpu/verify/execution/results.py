"""Reads the result file of a program. Code that nobody has seen writes it, so nothing about it is taken for granted."""

from __future__ import annotations

import json
import math
import os
import stat
from dataclasses import field
from pathlib import Path
from typing import Any

from tflint_gpu.lazy_dataclasses import dataclass

_LARGEST_RESULT = 64 << 20


@dataclass(frozen=True, slots=True)
class Result:
    """What a program wrote into its result file.

    Arguments:
        steps: seconds of each step, in order.
        blocks: seconds of a step in each block of steps, in order; none where there were no blocks.
        outputs: nested lists, a number or None.
        dtype: of the outputs, if there are any.
        devices: where operations ran, as TensorFlow names devices.
        notes: whatever else the program has to say.
    """

    steps: tuple[float, ...] = ()
    blocks: tuple[float, ...] = ()
    outputs: Any = None
    dtype: str | None = None
    devices: tuple[str, ...] = ()
    notes: dict[str, Any] = field(default_factory=dict)


def read_result(path: Path) -> tuple[Result | None, str]:
    """Return the result in a file and an empty text, or None and what is wrong with it.

    Arguments:
        path: of the file; it may be missing, a link or a pipe, and hold anything.
    """
    try:
        # Neither a link to elsewhere nor a pipe on which reading waits.
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except FileNotFoundError:
        return None, "it wrote no result"
    except OSError as error:
        return None, f"its result cannot be read: {error.strerror}"
    try:
        about = os.fstat(descriptor)
        if not stat.S_ISREG(about.st_mode):
            return None, "its result is not a file"
        if about.st_size > _LARGEST_RESULT:
            return None, f"its result is larger than {_LARGEST_RESULT >> 20} MiB"
        with os.fdopen(descriptor, "rb", closefd=False) as file:
            raw = file.read(_LARGEST_RESULT)
    finally:
        os.close(descriptor)
    try:
        data = json.loads(raw)
    except (ValueError, RecursionError) as error:
        return None, f"its result is not JSON: {error}"
    if not isinstance(data, dict):
        return None, "its result is not a JSON object"
    return _validated(data)


def _validated(data: dict[str, Any]) -> tuple[Result | None, str]:
    steps, outputs, dtype = data.get("steps"), data.get("outputs"), data.get("dtype")
    devices, notes = data.get("devices", []), data.get("notes", {})
    if not isinstance(steps, list) or not all(_is_duration(step) for step in steps):
        return None, "its result has no list of seconds as `steps`"
    blocks = data.get("blocks", [])
    if not isinstance(blocks, list) or not all(_is_duration(block) for block in blocks):
        return None, "its result has no list of seconds as `blocks`"
    if not (outputs is None or isinstance(outputs, (list, int, float))):
        return None, "its result has neither nested lists nor null as `outputs`"
    if not (dtype is None or isinstance(dtype, str)):
        return None, "its result has neither text nor null as `dtype`"
    if not isinstance(devices, list) or not all(isinstance(device, str) for device in devices):
        return None, "its result has no list of texts as `devices`"
    if not isinstance(notes, dict):
        return None, "its result has no object as `notes`"
    times = tuple(float(step) for step in steps)
    return Result(times, tuple(float(block) for block in blocks), outputs, dtype, tuple(devices), notes), ""


def _is_duration(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value) and value >= 0
