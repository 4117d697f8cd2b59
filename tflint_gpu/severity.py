"""How grave findings are. Apart from them, as settings and options name it where nothing is found."""

from typing import Literal

Severity = Literal["error", "warning", "advice"]

WORST_FIRST: tuple[Severity, ...] = ("error", "warning", "advice")
