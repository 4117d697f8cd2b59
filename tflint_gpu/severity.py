"""How severe findings are."""

from typing import Literal

Severity = Literal["error", "warning", "advice"]

WORST_FIRST: tuple[Severity, ...] = ("error", "warning", "advice")
