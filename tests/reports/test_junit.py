"""Protects servers that show test results: Jenkins' schema, and a real reader."""

from __future__ import annotations

from pathlib import Path

import xmlschema
from findings import ODD_NAME, SCHEMAS, Hard, finding
from junitparser import JUnitXml, TestCase, TestSuite

from tflint_gpu.diagnostics import Diagnostic
from tflint_gpu.reports import View
from tflint_gpu.reports.display import printable_lines
from tflint_gpu.reports.formats.junit import render

TestCase.__test__ = TestSuite.__test__ = False  # these are no tests of ours


def suites_of(diagnostics: list[Diagnostic], view: View) -> list[TestSuite]:
    text = render(diagnostics, view)
    assert text.isascii(), "the declared encoding has to be true on any standard output"
    xmlschema.XMLSchema(SCHEMAS / "junit-10.xsd").validate(text)
    report = JUnitXml.fromstring(text.encode())
    failures = sum(diagnostic.severity != "advice" for diagnostic in diagnostics)
    assert (report.tests, report.failures, report.errors) == (len(diagnostics) or 1, failures, 0)
    return list(report)


def test_hard_findings_follow_the_schema(hard: Hard) -> None:
    suites = suites_of(hard.diagnostics, hard.view)
    assert [suite.name for suite in suites[:3]] == [ODD_NAME, "latin.py", "-"]
    assert [(suite.tests, suite.failures) for suite in suites] == [(1, 1), (1, 1), (1, 0), (1, 1), (1, 1), (1, 1)]
    [case] = suites[0]
    [failure] = case.result
    assert (case.name, failure.type) == ("TFG101 numpy-in-call 3:5", "error")
    shown = printable_lines(hard.odd.message)
    assert failure.message == shown
    assert shown in failure.text
    assert "predicted: slowdown by a factor of 1.5 to 2" in failure.text
    assert failure.text.endswith("help: do `x = y || z`, too")
    assert suites[4].name == "a\\u{dcff}.py"


def test_advice_is_a_test_that_passed_and_says_what_it_advises(hard: Hard) -> None:
    """Protects builds from failing for advice, which lets `check` itself exit with 0."""
    [suite] = suites_of([finding(severity="advice", message="share it", help="write this")], hard.view)
    [case] = suite
    assert case.is_passed
    assert "TFG101 share it" in case.system_out and "help: write this" in case.system_out


def test_a_file_is_one_suite(hard: Hard) -> None:
    found = [finding(filename="b.py"), finding(filename="b.py", code="TFG102"), finding(filename="c.py")]
    suites = suites_of(found, hard.view)
    assert [(suite.name, [case.classname for case in suite]) for suite in suites] == [
        ("b.py", ["b", "b"]),
        ("c.py", ["c"]),
    ]


def test_no_findings_are_a_test_that_passed(hard: Hard) -> None:
    [suite] = suites_of([], hard.view)
    [case] = suite
    assert case.is_passed


def test_names_of_windows(windows: Hard) -> None:
    [suite] = suites_of(windows.diagnostics, windows.view)
    assert suite.name == "sub dir/é.py"


def test_a_message_of_all_characters_is_legal_xml() -> None:
    every = "".join(map(chr, [*range(0x200), 0xD800, 0xDFFF, 0xFFFD, 0xFFFE, 0xFFFF, 0x10000, 0x10FFFF]))
    suites_of([finding(message=every, name=every.replace("\0", ""), filename=every[1:47])], View(Path("/p")))
