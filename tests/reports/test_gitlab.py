"""Protects GitLab's Code Quality widget: its parser's schema, the documented values, fingerprints that stay."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
from findings import ODD_NAME, Hard, finding, schema

from tflint_gpu.diagnostics import Diagnostic, Location
from tflint_gpu.reports import View
from tflint_gpu.reports.formats.gitlab import render
from tflint_gpu.text.source import SourceFile


def issues_of(diagnostics: list[Diagnostic], view: View) -> list[dict[str, Any]]:
    issues = json.loads(render(diagnostics, view))
    for issue in issues:
        jsonschema.validate(issue, schema("gitlab.json"))
        # What the documentation asks for, and the schema does not check.
        assert issue["severity"] in ("info", "minor", "major", "critical", "blocker")
        assert issue["check_name"]
        assert issue["location"]["path"]
        assert not issue["location"]["path"].startswith("./")
        assert issue["location"]["lines"]["begin"] >= 1
    return issues  # type: ignore[no-any-return]


def test_hard_findings_follow_the_schema(hard: Hard) -> None:
    issues = issues_of(hard.diagnostics, hard.view)
    assert [issue["severity"] for issue in issues[:4]] == ["critical", "critical", "info", "major"]
    assert [issue["location"]["path"] for issue in issues[:3]] == [ODD_NAME, "latin.py", "-"]
    assert issues[0]["location"]["lines"] == {"begin": 3, "end": 5}
    assert hard.odd.message in issues[0]["description"]


def test_no_findings_are_an_empty_array(hard: Hard) -> None:
    assert issues_of([], hard.view) == []


def test_names_of_windows(windows: Hard) -> None:
    assert issues_of(windows.diagnostics, windows.view)[0]["location"]["path"] == "sub dir/é.py"


def test_fingerprints_are_unique_and_do_not_change_with_lines_above(hard: Hard) -> None:
    def marks(above: str) -> list[str]:
        rows = range(above.count("\n") + 1, above.count("\n") + 4)
        found = [finding(location=Location(row, 1), end_location=Location(row, 4)) for row in rows]
        source = SourceFile(Path("a.py"), "a.py", above + "fit(x)\nfit(x)\nfit(y)\n")
        return [issue["fingerprint"] for issue in issues_of(found, View(Path("/p"), sources={"a.py": source}))]

    assert marks("") == marks("import os\n\nimport sys\n")
    assert len(set(marks(""))) == 3
    twice = hard.diagnostics + hard.diagnostics
    assert len({issue["fingerprint"] for issue in issues_of(twice, hard.view)}) == len(twice)
