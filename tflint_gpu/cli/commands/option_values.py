"""Values of options as users write them: times, sizes, variables."""

from __future__ import annotations

import math
import os
import re

import click

from tflint_gpu.targets import memory_size


def seconds(_: click.Context, __: click.Parameter, value: str | None) -> float:
    """`120s`, `2m`, `1h` or plain seconds; not given and without a default: for ever."""
    if value is None:
        return math.inf
    match = re.fullmatch(r"(\d+(?:\.\d+)?)([smh]?)", value.strip())
    if match is None or float(match[1]) <= 0:
        raise click.BadParameter(f"{value!r} is not a time: write it as 120s, 10m or 1h")
    return float(match[1]) * {"": 1, "s": 1, "m": 60, "h": 3600}[match[2]]


def size(_: click.Context, __: click.Parameter, value: str) -> int:
    """`8GiB` or `500MB`, in bytes."""
    memory = memory_size(value)
    if not memory:
        raise click.BadParameter(f"{value!r} is not a size: write it as 500MB or 8GiB")
    return memory


_OWN_VARIABLES = ("CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER", "HOME", "TMPDIR", "TFLINT_GPU_RESULT", "TFLINT_GPU_SEED")


def environment(_: click.Context, __: click.Parameter, given: tuple[str, ...]) -> dict[str, str]:
    """Variables by their names: `NAME=VALUE`, or `NAME` for the value that it has."""
    names: dict[str, str] = {}
    for text in given:
        name, equals, value = text.partition("=")
        if not re.fullmatch(r"[A-Za-z_]\w*", name):
            raise click.BadParameter(f"{text!r} is not a valid variable: write it as NAME or NAME=VALUE")
        if name in _OWN_VARIABLES:
            raise click.BadParameter(f"{name} is set by verify itself; see --device and --seed")
        if not equals and name not in os.environ:
            raise click.BadParameter(f"{name} is not set here: write it as {name}=VALUE")
        names[name] = value if equals else os.environ[name]
    return names
