"""Device strings as TensorFlow reads them (`DeviceSpecV2.from_string`, tensorflow/python/framework/device_spec.py)."""

from __future__ import annotations

import re

from tflint_gpu.lazy_dataclasses import dataclass
from tflint_gpu.lazy_patterns import regex

_TYPES = frozenset(["CPU", "GPU", "TPU", "TPU_SYSTEM", "XLA_CPU", "XLA_GPU", "XLA_CPU_JIT", "XLA_GPU_JIT", "CUSTOM"])
# Types that plug-ins register: valid where the plug-in is installed.
_PLUGGABLE = regex(r"[xnhimdv]pu|dml|mps|mlu|gcu|sycl|ve|metal|my_device|.*custom.*|opencl", re.IGNORECASE)
_KEYS = frozenset(["job", "replica", "task"])


@dataclass(frozen=True, slots=True)
class DeviceSpec:
    """What a device string names. `unknown` is the attribute that TensorFlow stumbles over, if any."""

    kind: str | None = None
    index: int | None = None
    unknown: str | None = None
    bad_number: str | None = None

    @property
    def is_gpu(self) -> bool:
        """Whether a GPU is asked for."""
        return self.kind == "GPU" and self.unknown is None and self.bad_number is None


def parse_device(text: str) -> DeviceSpec:
    """Read a device string: "/GPU:0", "/job:worker/task:1/device:GPU:0", "gpu:1"."""
    kind: str | None = None
    index: int | None = None
    for part in text.split("/"):
        pieces = part.split(":")
        if len(pieces) == 2 and pieces[0] in _KEYS:
            if pieces[0] != "job" and not pieces[1].isdigit():
                return DeviceSpec(bad_number=pieces[1])
            continue
        if len(pieces) <= 2 and pieces[0].upper() in _TYPES:
            kind, number = pieces[0].upper(), pieces[1] if len(pieces) == 2 else "*"
        elif len(pieces) == 3 and pieces[0] == "device":
            kind, number = pieces[1].upper(), pieces[2]
        elif pieces[0] == "":
            continue
        else:
            return DeviceSpec(unknown=pieces[0])
        if number != "*":
            if not re.fullmatch(r"[+-]?\d+", number):
                return DeviceSpec(bad_number=number)
            index = int(number)
    return DeviceSpec(kind, index)


def is_pluggable(kind: str) -> bool:
    """Whether a device plug-in may have registered a type of this name."""
    return _PLUGGABLE.fullmatch(kind) is not None


def device_problem(text: str) -> tuple[str, str] | None:
    """A device string and why it does not parse, None where it does or where a plug-in may know it."""
    spec = parse_device(text)
    if spec.bad_number is not None:
        return text, f"`{spec.bad_number}` is no number"
    if spec.unknown is not None and not is_pluggable(spec.unknown):
        return text, f"unknown attribute `{spec.unknown}`"
    return None
