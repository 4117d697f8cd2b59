"""Protects programs that read pylint's lines: a real reader finds each finding at its row."""

from __future__ import annotations

from diff_cover.violationsreporters.violations_reporter import PylintDriver
from findings import Hard, finding

from tflint_gpu.reports.formats.pylint import render


def test_the_form_that_ruff_and_flake8_print(hard: Hard) -> None:
    assert render([finding(message="m: [n]")], hard.view) == "a.py:3: [TFG101] m: [n]\n"
    assert render([], hard.view) == ""


def test_diff_quality_reads_it(hard: Hard) -> None:
    # It takes no colon in a name, and turns backslashes.
    text = render(
        [one for one in hard.diagnostics if ":" not in one.filename and one.filename.isprintable()], hard.view
    )
    read = PylintDriver().parse_reports([text])
    assert {name: [violation.line for violation in found] for name, found in read.items()} == {
        "latin.py": [2],
        "-": [3],
        str(hard.view.working_directory.parent / "out side.py"): [3],
        "gone.py": [3],
    }
    assert read["latin.py"][0].message == "TFG000: cannot be decoded"


def test_a_finding_is_one_line(hard: Hard) -> None:
    assert len(render([hard.odd], hard.view).splitlines()) == 1
