"""A diagnosis: what was seen, what it means, and what to do."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any, Literal

from tflint_gpu.doctor.facts import Facts
from tflint_gpu.lazy_dataclasses import dataclass

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

Severity = Literal["error", "warning", "info"]


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """One thing that was found.

    Arguments:
        code: of `diagnoses.toml`.
        seen: on this machine, in one sentence.
        command: that fixes it, empty where none does.
        todo: what to do here, where that is more than the code's own remedy and no command does it.
        filename: where a program's own line is to blame, else empty; `row` goes with it.
    """

    code: str
    seen: str
    command: str = ""
    filename: str = ""
    row: int = 0
    todo: str = ""

    @property
    def name(self) -> str:
        """ "no-driver"."""
        return str(known()[self.code]["name"])

    @property
    def severity(self) -> Severity:
        """How bad it is."""
        severity: Severity = known()[self.code]["severity"]
        return severity

    @property
    def means(self) -> str:
        """Why TensorFlow does not use the GPU then."""
        return str(known()[self.code]["means"])

    @property
    def remedy(self) -> str:
        """What to do, where no command does it."""
        return self.todo or str(known()[self.code]["remedy"])


Check = Callable[[Facts], Iterator[Diagnosis]]


@cache
def known() -> dict[str, dict[str, Any]]:
    """All diagnoses by code."""
    return tomllib.loads(Path(__file__).with_name("diagnoses.toml").read_text("utf-8"))
