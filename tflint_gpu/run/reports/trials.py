"""How trials of settings are shown: a table for people, JSON for programs."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from pathlib import Path

from tflint_gpu.gpu.cards import gibibytes
from tflint_gpu.reports.display import printable, table
from tflint_gpu.run.reports import words
from tflint_gpu.run.trials import Tried


def full(tries: Sequence[Tried], largest: int | None, here: Path) -> str:
    """A table with a row for each setting, and what its numbers do not say."""
    samples = next((tried.samples for tried in tries if tried.samples), None)
    counted = _unit(tries).partition("/")[0]
    loss = "loss" if samples is None else f"loss after {samples:,} {counted}"
    speeds = _column([tried.seconds and 1 / tried.seconds for tried in tries])
    losses = _column([tried.loss for tried in tries])
    rows: list[tuple[str, ...]] = [("setting", _unit(tries), "speed-up (95% interval)", "peak memory", loss)]
    rows += [
        (
            str(tried.setting),
            speed,
            "" if tried.ratio is None else _interval(tried),
            "" if tried.memory is None else gibibytes(tried.memory, 2),
            its_loss,
        )
        for tried, speed, its_loss in zip(tries, speeds, losses, strict=True)
    ]
    return "\n".join([*table(rows), *_remarks(tries, largest, here)]) + "\n"


def as_json(tries: Sequence[Tried], largest: int | None, here: Path) -> str:
    """One object."""
    document = {
        "kind": "trials",
        "largest_batch": largest,
        "settings": [
            {
                "setting": str(tried.setting),
                "seconds_of_a_sample" if tried.batch else "seconds_of_a_step": tried.seconds,
                "batch": tried.batch,
                "times_as_fast": None if tried.ratio is None else _bounds(tried),
                "peak_memory": tried.memory,
                "loss": tried.loss,
                "samples": tried.samples,
                "has_it": tried.has_it,
                "failure": tried.failure,
                "change_at": [{"filename": place.file, "row": place.row} for place in tried.where],
            }
            for tried in tries
        ],
    }
    return json.dumps(document, indent=2, allow_nan=False) + "\n"


def _column(numbers: Sequence[float | None]) -> list[str]:
    """Numbers with the same decimals, as many as give the smallest one four digits; empty where there is none."""
    sizes = [abs(number) for number in numbers if number and math.isfinite(number)]
    decimals = max(0, 3 - math.floor(math.log10(min(sizes)))) if sizes else 0
    return ["" if number is None else f"{number:,.{decimals}f}" for number in numbers]


def _unit(tries: Sequence[Tried]) -> str:
    return "samples/s" if any(tried.batch for tried in tries) else "steps/s"


def _interval(tried: Tried) -> str:
    low, ratio, high = _bounds(tried)
    return f"{ratio:.3g}" if low is None else f"{ratio:.3g} ({low:.3g} to {high:.3g})"


def _bounds(tried: Tried) -> tuple[float | None, float, float | None]:
    ratio = tried.ratio
    assert ratio is not None
    return (None, ratio.ratio, None) if ratio.high == math.inf else (ratio.low, ratio.ratio, ratio.high)


def _remarks(tries: Sequence[Tried], largest: int | None, here: Path) -> Iterator[str]:
    if any(tried.ratio is not None and tried.ratio.high == math.inf for tried in tries):
        yield (
            "An interval needs three or more rounds in which both the setting and the unchanged program ran "
            "(`--rounds 3`)."
        )
    for tried in tries:
        if tried.failure:
            yield printable(f"{tried.setting}: {tried.failure}")
        elif tried.has_it:
            yield f"{tried.setting}: the program already uses this setting"
        elif tried.where:
            lines = ", ".join(words.place(place, here) for place in tried.where)
            why = "`run` cannot change this setting in this program"
            yield printable(f"{tried.setting}: {why}; change the code at {lines}")
    if largest is not None:
        how = "extrapolated from the two largest that were measured"
        yield f"The largest batch that fits this GPU: about {largest:,}, {how}."
