"""Protects the figures of README and the field results: they are sums of the rows that were written at each first run."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from checkout import ROOT

_BATCH = re.compile(r"^\| (\d+) \| [\d-]+ \| .* \| (\d+) \| (\d+) \| (\d+) \| [\d.]+ \| [\d.]+ \|$", re.MULTILINE)
_ROW = re.compile(r"^\| (\d[\d, to]*)(?::[^|]*)? \| (\d+) \| (\d+) \| (\d+) \| ([\d.]+) \| ([\d.]+) \|$", re.MULTILINE)
BATCHES = {
    int(number): tuple(map(int, figures))
    for number, *figures in _BATCH.findall((ROOT / "tests/FIELD.md").read_text("utf-8"))
}


@pytest.mark.parametrize(("page", "rows"), [("README.md", 5), ("docs/field-results.md", 5)])
def test_the_figures_are_those_of_the_batches(page: str, rows: int) -> None:
    printed = _ROW.findall(Path(ROOT, page).read_text("utf-8"))
    assert len(printed) == rows
    for named, *figures in printed:
        first, *last = map(int, re.findall(r"\d+", named))
        numbers = range(first, last[0] + 1) if " to " in named else [first, *last]
        noted, right, wrong = (sum(BATCHES[number][column] for number in numbers) for column in range(3))
        assert figures == [str(noted), str(right), str(wrong), f"{right / noted:.2f}", f"{right / (right + wrong):.2f}"]
