"""Protects baselines: which findings stay known, which are new, and that the file is never lost or half-written."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from tflint_gpu.diagnostics import Diagnostic, Location
from tflint_gpu.narrowing.baselines import Baseline, BaselineError, Entry
from tflint_gpu.reports import View


def at(name: str, row: int, code: str = "C1") -> Diagnostic:
    return Diagnostic(code, "n", "m", name, Location(row, 1), Location(row, 3), row, "error")


def find(directory: Path, *names: str) -> list[Diagnostic]:
    """A finding for each row that says `bad`."""
    return [
        at(name, row)
        for name in names
        for row, line in enumerate((directory / name).read_text().split("\n"), start=1)
        if "bad" in line
    ]


def known(path: Path, directory: Path, *names: str) -> Baseline:
    """A baseline of what is in some files now, written and read again."""
    Baseline(path).renewed(find(directory, *names), directory, View(directory).line, lambda _: True).write()
    return Baseline.read(path)


def told(baseline: Baseline, directory: Path, *names: str) -> tuple[list[int], list[str]]:
    """Rows of new findings, and lines that are gone."""
    matched = baseline.match(find(directory, *names), directory, View(directory).line)
    return [one.location.row for one in matched.new], [entry.line for entry in matched.unmet]


@pytest.fixture
def project(tmp_path: Path) -> Path:
    project = tmp_path / "project"
    project.mkdir()
    (project / "a.py").write_text("bad(1)\ngood(2)\nbad(3)\n")
    return project


def test_known_findings_stay_known_wherever_they_move(project: Path) -> None:
    baseline = known(project / "known.json", project, "a.py")
    assert told(baseline, project, "a.py") == ([], [])
    (project / "a.py").write_text("import os\n\nif os:\n    bad(3)\nbad(1)\n")
    assert told(baseline, project, "a.py") == ([], [])


def test_an_edited_line_is_new_and_the_old_one_gone(project: Path) -> None:
    baseline = known(project / "known.json", project, "a.py")
    (project / "a.py").write_text("bad(1)\nbad(2)\nbad(4)\n")
    assert told(baseline, project, "a.py") == ([2, 3], ["bad(3)"])


def test_another_code_or_file_is_another_finding(project: Path) -> None:
    baseline = known(project / "known.json", project, "a.py")
    (project / "b.py").write_text("bad(1)\n")
    assert told(baseline, project, "a.py", "b.py") == ([1], [])
    matched = baseline.match([at("a.py", 1, "C2")], project, View(project).line)
    assert len(matched.new) == 1


def test_as_many_alike_as_were_known(project: Path) -> None:
    (project / "a.py").write_text("bad()\nbad()\n")
    baseline = known(project / "known.json", project, "a.py")
    (project / "a.py").write_text("bad()\nbad()\nbad()\n")
    assert told(baseline, project, "a.py") == ([3], [])
    (project / "a.py").write_text("bad()\n")
    assert told(baseline, project, "a.py") == ([], ["bad()"])


def test_where_the_command_is_run_does_not_matter(project: Path, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    baseline = known(project / "known.json", project, "a.py")
    assert told(baseline, tmp_path, "project/a.py") == ([], [])
    assert told(baseline, tmp_path / "elsewhere", "../project/a.py") == ([], [])
    assert told(baseline, tmp_path, str(project / "a.py")) == ([], [])
    assert baseline.entries[0].file == "a.py"
    beside = known(tmp_path / "elsewhere" / "known.json", project, "a.py")
    assert {beside.file_of(entry) for entry in beside.entries} == {project / "a.py"}


def test_the_file_is_the_same_for_the_same_findings_and_has_a_line_for_each(project: Path) -> None:
    path = project / "known.json"
    (project / "b.py").write_text("bad('é \u2028')\n")
    first = known(path, project, "a.py", "b.py")
    text = path.read_text("utf-8")
    known(path, project, "b.py", "a.py")
    assert path.read_text("utf-8") == text
    assert [line.count('"file"') for line in text.split("\n")].count(1) == len(first.entries) == 3
    assert "é" in text, "readable"
    (project / "a.py").write_text("# above\n" + (project / "a.py").read_text())
    known(path, project, "a.py", "b.py")
    assert path.read_text("utf-8") == text, "rows are no part of it"
    (project / "b.py").write_text("")
    known(path, project, "a.py", "b.py")
    assert set(path.read_text("utf-8").replace("},", "}").split("\n")) < set(text.replace("},", "}").split("\n"))


def test_names_that_are_no_text(project: Path) -> None:
    name = os.fsdecode(b"latin-\xe9.py")
    (project / name).write_text("bad()\n")
    baseline = known(project / "known.json", project, name)
    assert told(baseline, project, name) == ([], [])


def test_a_renewed_baseline_keeps_what_this_run_could_not_find(project: Path) -> None:
    (project / "b.py").write_text("bad(7)\nbad(8)\n")
    baseline = known(project / "known.json", project, "a.py", "b.py")
    (project / "a.py").write_text("bad(1)\nbad(9)\n")

    def gone(entry: Entry) -> bool:
        return entry.file == "a.py"

    renewed = baseline.renewed(find(project, "a.py"), project, View(project).line, gone)
    assert [entry.line for entry in renewed.entries] == ["bad(1)", "bad(9)", "bad(7)", "bad(8)"]


@pytest.mark.parametrize(
    "content, words",
    [
        ("", "line 1, column 1"),
        ('{\n"a": 1,}', "line 2"),
        ("[]", "tflint-gpu-baseline"),
        ("{}", "tflint-gpu-baseline"),
        ("[" * 100_000, "nested too deeply"),
        ('{"tflint-gpu-baseline": 99, "findings": []}', "version 99"),
        ('{"tflint-gpu-baseline": 1}', "`findings` must be a list"),
        ('{"tflint-gpu-baseline": 1, "findings": {}}', "`findings` must be a list"),
        ('{"tflint-gpu-baseline": 1, "findings": [{"file": "a.py"}]}', "finding 1"),
        (
            '{"tflint-gpu-baseline": 1, "findings": [{"file": 1, "code": "", "line": "", "fingerprint": ""}]}',
            "finding 1",
        ),
        ("<<<<<<< HEAD\n{}", "line 1"),
    ],
)
def test_a_broken_baseline_is_named_with_the_place_and_a_way_out(content: str, words: str, tmp_path: Path) -> None:
    path = tmp_path / "known.json"
    path.write_text(content)
    with pytest.raises(BaselineError) as caught:
        Baseline.read(path)
    assert str(path) in str(caught.value)
    assert words in str(caught.value)
    assert "--write-baseline" in str(caught.value)


def test_what_is_no_baseline_is_not_overwritten(tmp_path: Path) -> None:
    """`--write-baseline train.py` is a slip that must cost nobody a program."""
    (tmp_path / "train.py").write_text("bad()\n")
    for path, words in [(tmp_path / "train.py", "not a baseline"), (tmp_path, "a directory")]:
        with pytest.raises(BaselineError, match=words):
            Baseline.to_renew(path)
    assert Baseline.to_renew(tmp_path / "new.json").entries == ()


def test_a_baseline_of_another_version_can_be_written_anew(tmp_path: Path) -> None:
    path = tmp_path / "known.json"
    path.write_text(json.dumps({"tflint-gpu-baseline": 99, "findings": "anything"}))
    assert Baseline.to_renew(path).entries == ()


def test_a_missing_baseline_tells_how_to_make_it(tmp_path: Path) -> None:
    with pytest.raises(BaselineError, match="create it with --write-baseline"):
        Baseline.read(tmp_path / "known.json")


def failing(*_: object) -> None:
    raise OSError(28, "No space left on device")


@pytest.mark.parametrize("broken", ["os.fsync", "pathlib.Path.replace"])
def test_a_write_that_fails_leaves_the_old_file(broken: str, project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = project / "known.json"
    baseline = known(path, project, "a.py")
    before = path.read_bytes()
    fail: Callable[..., None] = failing
    monkeypatch.setattr(broken, fail)
    with pytest.raises(BaselineError, match="No space left"):
        Baseline(path, baseline.entries[:1]).write()
    assert path.read_bytes() == before
    assert sorted(item.name for item in project.iterdir()) == ["a.py", "known.json"], "nothing lies about"


def test_the_mode_of_the_file(project: Path) -> None:
    mask = os.umask(0o027)
    try:
        path = project / "known.json"
        known(path, project, "a.py")
        assert path.stat().st_mode & 0o777 == 0o640, "a new file has the usual one"
        path.chmod(0o600)
        known(path, project, "a.py")
        assert path.stat().st_mode & 0o777 == 0o600, "an old file keeps its own"
    finally:
        os.umask(mask)
