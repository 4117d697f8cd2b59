"""How severities look, and their order for formats that cannot show everything."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tflint_gpu.severity import WORST_FIRST

if TYPE_CHECKING:
    from tflint_gpu.diagnostics import Diagnostic

SEVERITY_STYLES = {"error": "red", "warning": "yellow", "advice": "cyan"}


def worst_first(diagnostics: Sequence[Diagnostic]) -> list[Diagnostic]:
    """Errors, then warnings, then advice; within each in the given order."""
    return sorted(diagnostics, key=lambda diagnostic: WORST_FIRST.index(diagnostic.severity))
