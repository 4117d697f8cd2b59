"""Protects advice in reports for people: it comes last, and is only counted where nobody asked for it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from findings import finding

from tflint_gpu.diagnostics import Diagnostic, Edit, Fix, Location
from tflint_gpu.reports.advice import apart
from tflint_gpu.reports.summary import summary

EDIT = Edit(0, 1, Location(1, 1), Location(1, 2), "x")


def advice(row: int = 1, **attributes: Any) -> Diagnostic:
    return finding(**{"severity": "advice", "message": "share it", "location": Location(row, 5)} | attributes)


def test_what_nobody_asked_for_is_counted_and_the_rest_comes_last() -> None:
    found = [finding(severity=one, filename=f"{one}.py") for one in ("advice", "warning", "error", "advice")]
    listed, counted = apart(found, lambda diagnostic: False)
    assert ([one.severity for one in listed], counted) == (["warning", "error"], [found[0], found[3]])
    listed, counted = apart(found, lambda diagnostic: True)
    assert ([one.severity for one in listed], counted) == (["warning", "error", "advice", "advice"], [])


@pytest.mark.parametrize("attribute", ["measured", "estimate"])
def test_a_measurement_is_never_only_counted(attribute: str) -> None:
    """Protects what `verify` and `run` took minutes to find out: it belongs to one place."""
    found = [advice(row) for row in range(1, 4)]
    found[1] = replace(found[1], **{attribute: "1.5 times on a T4"})
    assert apart(found, lambda diagnostic: False) == ([found[1]], [found[0], found[2]])


def test_what_a_fix_would_change_is_counted_though_it_is_not_listed() -> None:
    """Protects `[*] 2 fixable`: `--fix` changes what is advised, too."""
    fixable = advice(2, fix=Fix("a fix", "safe", (EDIT,)))
    lines = list(summary([finding()], 0, False, False, [fixable]))
    assert lines == [
        "Found 1 problem.",
        "1 piece of advice (TFG101): --show-advice",
        "[*] 1 fixable with the --fix option.",
    ]


def test_the_count_tells_advice_apart() -> None:
    """Protects the closing line: it says why a run with findings may pass."""
    worse = [finding(severity="error"), finding(), finding()]
    assert list(summary(worse, 0, False, False)) == ["Found 3 problems."]
    assert list(summary([*worse, advice(), advice()], 0, False, False)) == [
        "Found 5 problems: 1 error, 2 warnings, 2 pieces of advice."
    ]
    assert list(summary([], 0, False, False, [advice(code="TFG401"), advice()])) == [
        "All checks passed!",
        "2 pieces of advice (TFG101, TFG401): --show-advice",
    ]
    assert list(summary([advice()], 2, True, False)) == ["Found 3 problems (2 fixed, 1 remaining: 1 piece of advice)."]
