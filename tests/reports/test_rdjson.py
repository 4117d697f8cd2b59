"""Protects reviewdog's comments: its schema, columns in bytes, suggestions that fix the file when accepted."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from findings import ODD_FIXED, ODD_NAME, ODD_TEXT, Hard, edit, finding, schema

from tflint_gpu.diagnostics import Diagnostic, Fix, Location
from tflint_gpu.reports import View
from tflint_gpu.reports.formats.rdjson import render
from tflint_gpu.text.source import SourceFile


def result_of(diagnostics: list[Diagnostic], view: View) -> list[dict[str, Any]]:
    result = json.loads(render(diagnostics, view))
    jsonschema.Draft4Validator(schema("rdjson.json")).validate(result)
    assert result["source"] == {"name": "tflint-gpu"}
    return result["diagnostics"]  # type: ignore[no-any-return]


def cut(data: bytes, place: dict[str, Any]) -> tuple[int, int]:
    """Where a range starts and ends in the bytes of a file, as the format's description has it."""
    lines = data.splitlines(keepends=True)

    def offset(position: dict[str, int]) -> int:
        return sum(map(len, lines[: position["line"] - 1])) + position["column"] - 1

    return offset(place["start"]), offset(place["end"])


def accepted(text: str, suggestion: dict[str, Any]) -> str:
    data = text.encode()
    start, end = cut(data, suggestion["range"])
    return (data[:start] + suggestion["text"].encode() + data[end:]).decode()


def test_hard_findings_follow_the_schema(hard: Hard) -> None:
    results = result_of(hard.diagnostics, hard.view)
    assert [one["severity"] for one in results[:4]] == ["ERROR", "ERROR", "INFO", "WARNING"]
    assert [one["location"]["path"] for one in results[:3]] == [ODD_NAME, "latin.py", "-"]
    assert results[5]["code"] == {"value": "ABC999", "url": "https://example.org/ABC999"}
    assert [related["message"] for related in results[0]["related_locations"]] == [
        "traced\nfrom here",
        "and [there](1)",
    ]


def test_no_findings_are_a_valid_result(hard: Hard) -> None:
    assert result_of([], hard.view) == []


def test_columns_count_bytes(hard: Hard) -> None:
    odd, _, piped, *_ = result_of(hard.diagnostics, hard.view)
    data = ODD_TEXT.encode()
    start, end = cut(data, odd["location"]["range"])
    assert data[start:end].decode() == "'\U0001f600é' + f(\n    BAD,\n) + '\U00010400' + "
    assert piped["location"]["range"] == {"start": {"line": 3, "column": 5}, "end": {"line": 3, "column": 13}}


def test_a_file_that_cannot_be_read_has_no_columns(hard: Hard) -> None:
    unreadable = result_of(hard.diagnostics, hard.view)[1]
    assert unreadable["location"]["range"] == {"start": {"line": 2}, "end": {"line": 2}}


def test_accepting_the_suggestion_is_the_whole_fix(hard: Hard) -> None:
    [suggestion] = result_of(hard.diagnostics, hard.view)[0]["suggestions"]
    assert accepted(ODD_TEXT, suggestion) == ODD_FIXED


@pytest.mark.parametrize(
    ("text", "old", "new"),
    [
        ("a = '\U0001f600' + BAD\n", "BAD", "GOOD"),
        ("BAD\n", "BAD\n", ""),
        ("one\ntwo", "", "zero\n"),
        ("one\nBAD(\n\n)\n", "BAD(\n\n)", "two"),
    ],
)
def test_single_edits(text: str, old: str, new: str) -> None:
    only = edit(text, old, new)
    one = finding(fix=Fix("f", "safe", (only,)), location=only.location, end_location=only.end_location)
    view = View(Path("/p"), sources={"a.py": SourceFile(Path("a.py"), "a.py", text)})
    [result] = result_of([one], view)
    [suggestion] = result["suggestions"]
    assert accepted(text, suggestion) == text.replace(old, new, 1)
    assert result["location"]["range"] == suggestion["range"]


def test_an_insertion_at_the_end_of_the_file() -> None:
    text = "one\n"
    end = edit(text + "END", "END", "")
    fix = Fix("f", "safe", (replace(end, end=end.start, end_location=end.location, content="two\n"),))
    view = View(Path("/p"), sources={"a.py": SourceFile(Path("a.py"), "a.py", text)})
    [suggestion] = result_of([finding(fix=fix)], view)[0]["suggestions"]
    assert suggestion["range"]["start"] == suggestion["range"]["end"] == {"line": 2, "column": 1}
    assert accepted(text, suggestion) == "one\ntwo\n"


def test_no_suggestion_without_the_text_or_for_unsafe_fixes(hard: Hard) -> None:
    assert hard.odd.fix is not None
    gone = replace(hard.odd, filename="gone.py")
    unsafe = replace(hard.odd, fix=replace(hard.odd.fix, applicability="unsafe"))
    assert [one["suggestions"] for one in result_of([gone, unsafe], hard.view)] == [[], []]
    hard.view.unsafe_fixes = True
    assert len(result_of([unsafe], hard.view)[0]["suggestions"]) == 1


def test_names_of_windows(windows: Hard) -> None:
    [one] = result_of(windows.diagnostics, windows.view)
    assert one["location"]["path"] == "sub dir/é.py"
    assert one["related_locations"][0]["location"]["path"] == "D:/x/y.py"
    assert one["location"]["range"]["start"] == {"line": 3, "column": 5}
    assert Location(3, 5) == windows.odd.location
