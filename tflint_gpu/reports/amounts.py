"""Amounts as people write them, for reports of all kinds."""

from __future__ import annotations


def digits(number: float) -> str:
    """Three digits, or all of those before the point."""
    return f"{number:,.0f}" if abs(number) >= 999.5 else f"{number:.3g}"


def duration(seconds: float) -> str:
    """Seconds, with the prefix that fits."""
    for least, scale, unit in ((1.0, 1.0, "s"), (1e-3, 1e3, "ms")):
        if seconds >= least:
            return f"{digits(seconds * scale)} {unit}"
    return f"{digits(seconds * 1e6)} us"
