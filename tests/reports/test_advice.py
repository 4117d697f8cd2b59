"""Protects advice in reports for people: it comes last, equal advice is one line, and nothing that is said is untrue."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from findings import finding

from tflint_gpu.diagnostics import Diagnostic, Edit, Fix, Location
from tflint_gpu.reports import View
from tflint_gpu.reports.advice import fold
from tflint_gpu.reports.formats import concise, full
from tflint_gpu.reports.summary import summary

VIEW = View(Path("/p"))
EDIT = Edit(0, 1, Location(1, 1), Location(1, 2), "x")


def advice(row: int = 1, **attributes: Any) -> Diagnostic:
    return finding(**{"severity": "advice", "message": "share it", "location": Location(row, 5)} | attributes)


def test_errors_and_warnings_come_first_in_their_order() -> None:
    found = [finding(severity=one, filename=f"{one}.py") for one in ("advice", "warning", "error", "warning")]
    assert [one.severity for one in fold(found, VIEW)[0]] == ["warning", "error", "warning", "advice"]
    every = View(Path("/p"), show_advice=True)
    assert [one.severity for one in fold(found, every)[0]] == ["warning", "error", "warning", "advice"]


def test_what_is_worse_is_never_folded() -> None:
    found = [finding(severity=severity) for severity in ("error", "warning") for _ in range(5)]
    assert fold(found, VIEW) == (found, [])


def test_one_piece_of_advice_is_shown_whole() -> None:
    """Protects its source line and help: there is nothing that it could be folded with."""
    text = full.render([advice(help="do this"), advice(code="TFG402", name="other", help="do that")], VIEW)
    assert ("help: do this" in text, "help: do that" in text, "--show-advice" in text) == (True, True, False)


@pytest.mark.parametrize(("number", "places"), [(2, "a.py:1:5, a.py:2:5"), (3, "a.py:1:5, a.py:2:5, a.py:3:5")])
def test_dots_stand_for_places_only(number: int, places: str) -> None:
    found = [advice(row) for row in range(1, number + 1)]
    line = f"advice[TFG101 numpy-in-call]: share it ({number} times: {places}; --show-advice lists all)\n\n"
    assert full.render(found, VIEW) == line
    assert full.render([*found, advice(8), advice(9)], VIEW).count("a.py:") == 3
    assert ", ...; " in full.render([*found, advice(8), advice(9)], VIEW)


def test_a_line_for_each_rule() -> None:
    found = [advice(row, code=code, name=code.lower()) for row in range(1, 5) for code in ("TFG402", "TFG401")]
    lines = full.render(found, VIEW).splitlines()
    assert [line.partition(":")[0] for line in lines] == ["advice[TFG401 tfg401]", "advice[TFG402 tfg402]", ""]
    assert all("(4 times: a.py:1:5, a.py:2:5, a.py:3:5, ...;" in line for line in lines[:2])
    assert concise.render(found, VIEW).splitlines() == [
        f"a.py:1:5: advice: {code} share it (4 times, also a.py:2:5, a.py:3:5, ...; --show-advice lists all)"
        for code in ("TFG401", "TFG402")
    ]


def test_a_rule_that_says_several_things_is_not_quoted_as_if_it_said_one() -> None:
    found = [advice(1, message="before `map`"), advice(2, message="before `batch`")]
    assert ": before `map`, and the like (2 times: " in full.render(found, VIEW)
    assert concise.render(found, VIEW).startswith(
        "a.py:1:5: advice: TFG101 before `map`, and the like (2 times, also a.py:2:5;"
    )


def test_a_measurement_is_never_folded_away() -> None:
    """Protects what `verify` took minutes to find out: it belongs to one place."""
    found = [advice(row) for row in range(1, 5)]
    found[1] = replace(found[1], measured="1.5 times on a T4: confirmed")
    text = full.render(found, VIEW)
    assert "measured: 1.5 times on a T4: confirmed" in text
    assert "(3 times: a.py:1:5, a.py:3:5, a.py:4:5;" in text
    lines = concise.render(found, VIEW).splitlines()
    assert lines[0] == "a.py:2:5: advice: TFG101 share it; measured: 1.5 times on a T4: confirmed"
    assert "(3 times, also a.py:3:5, a.py:4:5;" in lines[1]


def test_the_mark_says_that_some_can_be_mended() -> None:
    """Protects `[*] 2 fixable`: a reader looks for the marks that are meant."""
    safe, unsafe = Fix("a fix", "safe", (EDIT,)), Fix("a fix", "unsafe", (EDIT,))
    for render in (full.render, concise.render):
        assert "[*] share it" in render([advice(1), advice(2, fix=safe)], VIEW)
        assert "[*]" not in render([advice(1), advice(2, fix=unsafe)], VIEW)
        assert "[*] share it" in render([advice(1), advice(2, fix=unsafe)], View(Path("/p"), unsafe_fixes=True))


def test_a_folded_line_steers_no_terminal_and_knows_cells() -> None:
    found = [
        advice(message="\x1b[31m"),
        advice(filename="b.ipynb", location=Location(2, 3, cell=4), message="\x1b[31m"),
    ]
    for render in (full.render, concise.render):
        text = render(found, VIEW)
        assert "\x1b" not in text
        assert "b.ipynb:cell 4:2:3" in text
        assert "\x1b[" in render(found, View(Path("/p"), colour=True))


def test_the_count_tells_advice_apart() -> None:
    """Protects the closing line: it counts what is folded, too, and says why a run with findings may pass."""
    worse = [finding(severity="error"), finding(), finding()]
    assert list(summary(worse, 0, False, False)) == ["Found 3 problems."]
    assert list(summary([*worse, advice(), advice()], 0, False, False)) == [
        "Found 5 problems: 1 error, 2 warnings, 2 pieces of advice."
    ]
    assert list(summary([advice()], 2, True, False)) == ["Found 3 problems (2 fixed, 1 remaining: 1 piece of advice)."]
