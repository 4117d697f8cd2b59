"""Protects issues in Azure Pipelines: what its agent decodes is what we meant."""

from __future__ import annotations

import re

from findings import ODD_NAME, Hard, finding

from tflint_gpu.reports.display import printable_lines
from tflint_gpu.reports.formats.azure import render


def decoded(line: str) -> tuple[dict[str, str], str]:
    """A command as the agent reads it (`Command.TryParse`): properties and message."""
    match = re.fullmatch(r"##vso\[task\.logissue ([^\]]*)\](.*)", line)
    assert match is not None, line
    parts = [part for part in match[1].split(";") if part]
    properties = {key: _unescaped(value) for key, value in (part.split("=", 1) for part in parts)}
    return properties, _unescaped(match[2])


def _unescaped(text: str) -> str:
    for character, mapped in {";": "%3B", "\r": "%0D", "\n": "%0A", "]": "%5D", "%": "%AZP25"}.items():
        text = text.replace(mapped, character)
    return text


def test_the_agent_reads_what_was_meant(hard: Hard) -> None:
    lines = render(hard.diagnostics, hard.view).split("\n")
    assert lines.pop() == ""
    assert len(lines) == len(hard.diagnostics)
    advice = [line for line in lines if not line.startswith("##vso")]
    assert advice == ["-:3:5: advice: TFG401 it is slow"], "advice is no issue of a run"
    properties, message = decoded(lines[0])
    assert properties == {
        "type": "error",
        "sourcepath": ODD_NAME,
        "linenumber": "3",
        "columnnumber": "5",
        "code": "TFG101",
    }
    assert message == f"{printable_lines(hard.odd.message)}\n  help: {hard.odd.help}"
    issues = [decoded(line)[0]["type"] for line in lines if line not in advice]
    assert issues == [one.severity for one in hard.diagnostics if one.severity != "advice"]


def test_names_with_what_ends_a_property(hard: Hard) -> None:
    odd = "a;b]c%3B%d.py"
    assert decoded(render([finding(filename=odd)], hard.view).rstrip("\n"))[0]["sourcepath"] == odd


def test_names_of_windows(windows: Hard) -> None:
    assert decoded(render(windows.diagnostics, windows.view).rstrip("\n"))[0]["sourcepath"] == "sub dir/é.py"


def test_no_findings_are_no_output(hard: Hard) -> None:
    assert render([], hard.view) == ""
