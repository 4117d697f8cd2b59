"""Protects annotations on pull requests: what GitHub's runner decodes is what we meant, and nothing is dropped unsaid."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from findings import Hard, finding

from tflint_gpu.diagnostics import Location
from tflint_gpu.reports import View
from tflint_gpu.reports.display import printable_lines
from tflint_gpu.reports.formats.github import render

VIEW = View(Path("/p"))


def decoded(line: str) -> tuple[str, dict[str, str], str]:
    """A command as the runner reads it: command, properties, message."""
    assert line.startswith("::")
    head, _, data = line[2:].partition("::")
    command, _, listed = head.partition(" ")
    properties = dict(part.split("=", 1) for part in listed.split(","))
    for key, value in properties.items():
        properties[key] = _unescaped(value.replace("%3A", ":").replace("%2C", ","))
    return command, properties, _unescaped(data)


def _unescaped(text: str) -> str:
    return text.replace("%0D", "\r").replace("%0A", "\n").replace("%25", "%")


def test_the_runner_reads_what_was_meant(hard: Hard) -> None:
    lines = render(hard.diagnostics, hard.view).split("\n")
    assert lines.pop() == ""
    assert len(lines) == len(hard.diagnostics)
    command, properties, message = decoded(lines[0])
    assert command == "error"
    # No columns: the runner refuses them where the rows differ.
    assert properties == {
        "title": "tflint-gpu (TFG101)",
        "file": str(hard.view.working_directory / hard.odd.filename),
        "line": "3",
        "endLine": "5",
    }
    assert printable_lines(hard.odd.message) in message
    assert message.endswith("help: do `x = y || z`, too")


def test_a_command_is_one_line_and_escaped() -> None:
    one = finding(message="50% slower:\r\nréally", filename="dir,1/x:y%2C.py", help="help, too")
    assert render([one], VIEW) == (
        "::warning title=tflint-gpu (TFG101),file=/p/dir%2C1/x%3Ay%252C.py,line=3,col=5,endLine=3,endColumn=9"
        "::dir,1/x:y%252C.py:3:5: TFG101 50%25 slower:%0Aréally%0A  help: help, too\n"
    )


@pytest.mark.parametrize("severity, command", [("error", "error"), ("warning", "warning"), ("advice", "notice")])
def test_ten_of_each_kind_are_annotated(severity: str, command: str) -> None:
    found = [finding(severity=severity, location=Location(row, 1)) for row in range(1, 12)]
    assert render(found[:10], VIEW).count(f"::{command} ") == 10
    assert "more problem" not in render(found[:10], VIEW)
    *commands, last = render(found, VIEW).splitlines()
    assert [decoded(line)[1]["line"] for line in commands] == [str(row) for row in range(1, 11)]
    assert last.startswith("1 more problem not annotated: ")


def test_the_worst_come_first_and_the_rest_is_counted() -> None:
    kinds = ["advice", "warning", "error"]
    found = [finding(severity=kinds[row % 3], location=Location(row + 1, 1)) for row in range(45)]
    *commands, last = render(found, VIEW).splitlines()
    assert [decoded(line)[0] for line in commands] == ["error"] * 10 + ["warning"] * 10 + ["notice"] * 10
    assert [decoded(line)[1]["line"] for line in commands[:2]] == ["3", "6"], "in the given order"
    assert last.startswith("15 more problems not annotated: ")


def test_names_of_windows_and_standard_input(windows: Hard) -> None:
    assert decoded(render(windows.diagnostics, windows.view))[1]["file"] == "C:\\my project\\sub dir\\é.py"
    assert decoded(render([finding(filename="-")], VIEW))[1]["file"] == "-"


def test_no_findings_are_no_output() -> None:
    assert render([], VIEW) == ""


def test_nothing_in_a_message_starts_another_command() -> None:
    evil = replace(finding(), message="x\n::error::y", help="\r::stop-commands::z")
    assert len(render([evil], VIEW).splitlines()) == 1
