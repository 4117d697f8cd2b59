"""Protects that code scanning services can read our SARIF: the published schema, real consumers, true places."""

from __future__ import annotations

import csv
import json
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import unquote_to_bytes, urljoin

import jsonschema
import pytest
from findings import ODD_FIXED, ODD_NAME, ODD_TEXT, Hard, finding, schema

from tflint_gpu.diagnostics import Diagnostic, Location
from tflint_gpu.reports import View
from tflint_gpu.reports.formats.sarif import render
from tflint_gpu.reports.summary import summary
from tflint_gpu.rule import entries, load
from tflint_gpu.text.source import SourceFile


def run_of(diagnostics: list[Diagnostic], view: View) -> dict[str, Any]:
    log = json.loads(render(diagnostics, view))
    jsonschema.Draft4Validator(schema("sarif-2.1.0.json")).validate(log)
    assert log["version"] == "2.1.0"
    [run] = log["runs"]
    return run  # type: ignore[no-any-return]


def resolved(artifact: dict[str, Any], run: dict[str, Any]) -> str:
    """The absolute URI, by the procedure of the standard (3.4.4)."""
    base = run["originalUriBaseIds"][artifact["uriBaseId"]]["uri"] if "uriBaseId" in artifact else ""
    return urljoin(base, artifact["uri"])


def fixed(text: str, fix: dict[str, Any]) -> str:
    """Apply a fix as the standard says: regions of the unmodified text, in code points, the end excluded."""
    lines = text.splitlines(keepends=True)

    def offset(row: int, column: int) -> int:
        return sum(len(line) for line in lines[: row - 1]) + column - 1

    [change] = fix["artifactChanges"]
    for one in reversed(change["replacements"]):
        region = one["deletedRegion"]
        start = offset(region["startLine"], region["startColumn"])
        end = offset(region["endLine"], region["endColumn"])
        text = text[:start] + one["insertedContent"]["text"] + text[end:]
    return text


def test_verdicts_are_counted_apart() -> None:
    """Protects who reads how many predictions held: what is weaker than predicted is not among the confirmed."""
    verdicts = ("confirmed", "weaker than predicted", "confirmed", "")
    run = run_of([replace(finding(), verdict=verdict) for verdict in verdicts], View(Path("/p")))
    assert run["properties"] == {"verdicts": {"confirmed": 2, "weaker than predicted": 1}}
    assert [result.get("properties", {}).get("verdict", "") for result in run["results"]] == list(verdicts)
    said = list(summary([replace(finding(), verdict=verdict) for verdict in verdicts], 0, False, False))
    assert "Measured: 2 confirmed, 1 weaker than predicted." in said


def test_hard_findings_follow_the_schema(hard: Hard) -> None:
    run = run_of(hard.diagnostics, hard.view)
    assert [result["level"] for result in run["results"]] == ["error", "error", "note", "warning", "warning", "warning"]
    assert run["results"][0]["properties"]["prediction"]["basis"] == "measured on a T4 | twice"


def test_no_findings_are_a_valid_log(tmp_path: Path) -> None:
    run = run_of([], View(tmp_path))
    assert (run["results"], run["tool"]["driver"]["rules"]) == ([], [])


def test_uris_lead_to_the_files(hard: Hard) -> None:
    run = run_of(hard.diagnostics, hard.view)
    artifacts = [result["locations"][0]["physicalLocation"]["artifactLocation"] for result in run["results"]]
    assert all(re.fullmatch(r"[!-~]+", artifact["uri"]) and "\\" not in artifact["uri"] for artifact in artifacts)
    assert artifacts[0] == {"uri": "dir%20with%20space/50%25%2C%20%C3%A9%3A%23%3F.py", "uriBaseId": "%SRCROOT%"}
    path = Path(unquote_to_bytes(resolved(artifacts[0], run).removeprefix("file://")).decode())
    assert path.read_text("utf-8") == ODD_TEXT
    assert artifacts[2] == {"uri": "-", "description": {"text": "standard input"}}
    assert artifacts[3]["uri"].startswith("file:///")
    assert artifacts[3]["uri"].endswith("/out%20side.py")
    assert "uriBaseId" not in artifacts[3]
    assert artifacts[4]["uri"] == "a%FF.py"
    related = run["results"][0]["relatedLocations"]
    assert [place["physicalLocation"]["artifactLocation"]["uri"] for place in related][
        1
    ] == "file:///elsewhere/b%20c.py"
    assert [place["id"] for place in related] == [0, 1], "what a message could link to"
    assert [place["message"]["text"] for place in related] == ["traced\nfrom here", "and [there](1)"]


def test_names_of_windows(windows: Hard) -> None:
    run = run_of(windows.diagnostics, windows.view)
    [result] = run["results"]
    artifact = result["locations"][0]["physicalLocation"]["artifactLocation"]
    assert artifact["uri"] == "sub%20dir/%C3%A9.py"
    assert resolved(artifact, run) == "file:///C:/my%20project/sub%20dir/%C3%A9.py"
    assert result["relatedLocations"][0]["physicalLocation"]["artifactLocation"]["uri"] == "file:///D:/x/y.py"


def test_the_region_is_the_code_that_is_meant(hard: Hard) -> None:
    run = run_of(hard.diagnostics, hard.view)
    assert run["columnKind"] == "unicodeCodePoints"
    [result, *_] = run["results"]
    region = result["locations"][0]["physicalLocation"]["region"]
    lines = ODD_TEXT.splitlines()
    assert lines[region["startLine"] - 1][region["startColumn"] - 1 :] == "'\U0001f600é' + f("
    assert lines[region["endLine"] - 1][: region["endColumn"] - 1] == ") + '\U00010400' + "


def test_applying_the_fix_changes_the_file(hard: Hard) -> None:
    [result, *_] = run_of(hard.diagnostics, hard.view)["results"]
    assert fixed(ODD_TEXT, result["fixes"][0]) == ODD_FIXED
    [artifact] = [change["artifactLocation"] for change in result["fixes"][0]["artifactChanges"]]
    assert artifact == result["locations"][0]["physicalLocation"]["artifactLocation"]


def test_unsafe_fixes_only_for_who_wants_them(hard: Hard) -> None:
    assert hard.odd.fix is not None
    unsafe = replace(hard.odd, fix=replace(hard.odd.fix, applicability="unsafe"))
    assert "fixes" not in run_of([unsafe], hard.view)["results"][0]
    hard.view.unsafe_fixes = True
    [fix] = run_of([unsafe], hard.view)["results"][0]["fixes"]
    assert fix["properties"]["applicability"] == "unsafe"


def test_each_result_points_at_its_rule_and_the_rule_explains_itself(hard: Hard) -> None:
    run = run_of(hard.diagnostics, hard.view)
    rules = run["tool"]["driver"]["rules"]
    assert [rule["id"] for rule in rules] == ["ABC999", "TFG000", "TFG101", "TFG401"], "those that are reported, once"
    assert all(rules[result["ruleIndex"]]["id"] == result["ruleId"] for result in run["results"])
    assert rules[0] == {"id": "ABC999", "name": "of-somebody-else", "helpUri": "https://example.org/ABC999"}
    [known] = load(["TFG101"])
    assert rules[2]["name"] == known.name
    assert rules[2]["shortDescription"]["text"] == known.summary()
    assert rules[2]["defaultConfiguration"]["level"] == "error"
    assert "Example:" not in rules[2]["fullDescription"]["text"]
    assert known.example("Example") in rules[2]["help"]["markdown"]
    assert rules[2]["help"]["markdown"].count("```python") == 2


def test_every_rule_of_the_catalogue_can_be_described(tmp_path: Path) -> None:
    found = [finding(code=entry.code, name=entry.name) for entry in entries()]
    rules = run_of(found, View(tmp_path))["tool"]["driver"]["rules"]
    assert all({"shortDescription", "fullDescription", "help"} <= set(rule) for rule in rules)
    assert len(rules) == len(entries())


def test_fingerprints_do_not_change_with_lines_above() -> None:
    text = "fit(x)\nfit(x)\nfit(y)\n"

    def marks(above: str) -> list[str]:
        rows = range(above.count("\n") + 1, above.count("\n") + 4)
        found = [finding(location=Location(row, 1), end_location=Location(row, 4)) for row in rows]
        source = SourceFile(Path("a.py"), "a.py", above + text)
        results = run_of(found, View(Path("/p"), sources={"a.py": source}))["results"]
        return [result["partialFingerprints"]["tflintGpu/v1"] for result in results]

    assert marks("") == marks("import os\n\nimport sys\n")
    assert len(set(marks(""))) == 3


@pytest.mark.slow
def test_sarif_tools_reads_it(hard: Hard, tmp_path: Path) -> None:
    (tmp_path / "log.sarif").write_text(render(hard.diagnostics, hard.view), "utf-8")
    command = [sys.executable, "-m", "sarif", "csv", "--output", "issues.csv", "log.sarif"]
    subprocess.run(command, cwd=tmp_path, check=True, capture_output=True, timeout=600)
    with (tmp_path / "issues.csv").open(encoding="utf-8-sig", newline="") as file:
        issues = {
            (row["Severity"], row["Code"], unquote_to_bytes(row["Location"]), row["Line"])
            for row in csv.DictReader(file)
        }
    assert ("error", "TFG101", ODD_NAME.encode(), "3") in issues
    assert ("error", "TFG000", b"latin.py", "2") in issues
    assert ("note", "TFG401", b"-", "3") in issues
    assert len(issues) == len(hard.diagnostics)
