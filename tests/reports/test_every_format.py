"""Protects each format as the command prints it: real findings, on any standard output, with the same exit codes."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import jsonschema
import pytest
from findings import ODD_NAME, Hard, finding, schema
from markdown_it import MarkdownIt
from warm import Warm, as_text

from tflint_gpu.diagnostics import Location, Prediction, Related
from tflint_gpu.reports import View
from tflint_gpu.reports.formats import renderer
from tflint_gpu.settings.kinds import OUTPUT_FORMATS
from tflint_gpu.text.source import SourceFile

ROOT = Path(__file__).parents[2]
CODE = "TFG302"  # these tests speak about one real rule with a safe fix: misplaced-prefetch
BAD = """\
import tensorflow as tf

xs = '\U0001f600'; ds = tf.data.Dataset.range(9).prefetch(1).map(lambda x: tf.io.decode_png(x)).batch(32)
model.fit(ds)
"""


def read(output_format: str, text: str) -> int:
    """How many findings a report has, for a reader that knows nothing but the format's outer shape."""
    if output_format == "json-lines":
        return len([json.loads(line) for line in text.splitlines()])
    if output_format == "junit":
        return len(ElementTree.fromstring(text.encode()).findall("*/testcase/failure"))
    if output_format in ("json", "gitlab", "sarif", "rdjson"):
        document = json.loads(text)
        if output_format == "sarif":
            document = document["runs"][0]["results"]
        return len(document["diagnostics"] if output_format == "rdjson" else document)
    return sum(CODE in line or "TFG000" in line for line in text.splitlines())


@pytest.mark.slow
@pytest.mark.parametrize("output_format", OUTPUT_FORMATS)
def test_the_command_prints_it(output_format: str, tmp_path: Path, tflint: Any) -> None:
    (tmp_path / ODD_NAME).parent.mkdir()
    (tmp_path / ODD_NAME).write_text(BAD, "utf-8")
    (tmp_path / "latin.py").write_bytes(BAD.encode() + b"x = '\xe9'\n")
    # For TensorFlow 2.9: from 2.11 on it is advice.
    chosen = ("--select", CODE, "--target-tensorflow", "2.9", "--output-format", output_format, "--no-cache")
    done = tflint("check", *chosen, PYTHONIOENCODING="ascii")
    assert (done.returncode, done.stderr) == (1, "")
    assert read(output_format, done.stdout) == 2
    piped = tflint("check", *chosen, "-", stdin=BAD)
    assert (piped.returncode, piped.stderr) == (1, "")
    (tmp_path / ODD_NAME).unlink()
    (tmp_path / "latin.py").write_text("import tensorflow\n")
    clean = tflint("check", *chosen)
    assert (clean.returncode, clean.stderr) == (0, "")
    assert read(output_format, clean.stdout) == 0


@pytest.mark.parametrize("output_format", OUTPUT_FORMATS)
def test_hard_findings_can_be_written_in_any_format(output_format: str, hard: Hard, windows: Hard) -> None:
    render = renderer(output_format)
    for one in (hard, windows):
        text = render(one.diagnostics, one.view)
        assert text.endswith("\n")
        assert "\x1b" not in text, "what steers a terminal"
    assert render([], hard.view) == "" or render([], hard.view).endswith("\n")


@pytest.mark.parametrize("folder", ["no_longer_runs", pytest.param("", marks=pytest.mark.slow)])
def test_what_the_rules_find_in_the_fixtures_is_valid_sarif_and_rdjson(
    folder: str, commands: Warm, tmp_path: Path
) -> None:
    shutil.copytree(ROOT / "fixtures" / folder, tmp_path / "code")
    for output_format, name in [("sarif", "sarif-2.1.0.json"), ("rdjson", "rdjson.json")]:
        words = ("check", "code", "--isolated", "--unsafe-fixes", "--no-cache", "--output-format", output_format)
        done = as_text(commands.run("tflint_gpu", *words, cwd=tmp_path))
        jsonschema.Draft4Validator(schema(name)).validate(json.loads(done.stdout))
        assert read(output_format, done.stdout) > 20


def test_the_fix_in_sarif_and_the_suggestion_are_what_the_command_does(tmp_path: Path, tflint: Any) -> None:
    path = tmp_path / "a.py"
    path.write_text(BAD, "utf-8")
    chosen = ("--select", CODE, "--no-cache")
    [result] = json.loads(tflint("check", *chosen, "--output-format", "sarif").stdout)["runs"][0]["results"]
    [diagnostic] = json.loads(tflint("check", *chosen, "--output-format", "rdjson").stdout)["diagnostics"]
    lines = BAD.splitlines(keepends=True)
    before, line = "".join(lines[:2]), lines[2]
    for one in reversed(result["fixes"][0]["artifactChanges"][0]["replacements"]):
        region = one["deletedRegion"]
        assert region["startLine"] == region["endLine"] == 3
        line = line[: region["startColumn"] - 1] + one["insertedContent"]["text"] + line[region["endColumn"] - 1 :]
    [suggestion] = diagnostic["suggestions"]
    start, end = suggestion["range"]["start"]["column"] - 1, suggestion["range"]["end"]["column"] - 1
    data = lines[2].encode()
    assert tflint("check", *chosen, "--fix").returncode == 0
    assert path.read_text("utf-8") == before + line + lines[3]
    assert path.read_bytes() == (
        before.encode() + data[:start] + suggestion["text"].encode() + data[end:] + lines[3].encode()
    )


EVIL = (
    "\x1b[31m", "\x9b31m", "\x1b]0;title\x07", "\r", "\b", "\u202e", "\u2066", "\u2028", "\x00", "\ufeff", "\udcff",
    "\n::error::pwned", "\r\n::set-output name=x::y", "##vso[task.setvariable variable=x]y", "##[add-mask]x",
    "<script>alert(1)</script>", "</failure>", "]]>", "&amp;", "-->", "| a | b |", "`", "[x](javascript:alert(1))", "![x](y)", "%0A", "%AZP0A",
)  # fmt: skip
STEERS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2066-\u2069\ufeff\ud800-\udfff]")
OWN_COMMAND = {"github": "::warning title=tflint-gpu ", "azure": "##vso[task.logissue type=warning;"}


@pytest.mark.parametrize("output_format", OUTPUT_FORMATS)
def test_nothing_of_what_is_checked_gets_out_of_its_place(output_format: str, tmp_path: Path) -> None:
    """Names of files, literals, source lines and messages steer no terminal, no CI system and no reader of a document."""
    name = "::warning::" + "".join(EVIL)
    words = "x".join(EVIL)
    evil = finding(
        message=words, filename=name, help=words, measured=words, prediction=Prediction("slowdown", (words,), 1.5, 2.0, words),
        related=(Related(name, Location(3, 1), Location(3, 5), words),),
    )  # fmt: skip
    source = SourceFile(tmp_path / "x.py", name, f"import tensorflow\n\n    {words.translate({10: 32, 13: 32})}\n")
    text = renderer(output_format)([evil], View(tmp_path, sources={name: source}, show_advice=True))
    assert STEERS.findall(text) == []
    lines = text.split("\n")
    own = OWN_COMMAND.get(output_format)
    # `full` writes `:::` before related places: no runner knows a command of such a name.
    commands = [line for line in lines if re.match(r"\s*::[^:]|.*##(vso)?\[", line)]
    assert len(commands) == (own is not None)
    for line in commands:
        assert own is not None and line.startswith(own)
        assert len(lines) == 2, "one command, one line"
    if output_format in ("json", "json-lines", "gitlab", "sarif", "rdjson"):
        assert json.dumps(words)[1:-1] in json.dumps(json.loads(text)), "a reader gets every character"
        assert read(output_format, text) == 1
    if output_format == "junit":
        tags = [element.tag for element in ElementTree.fromstring(text.encode()).iter()]
        assert tags == ["testsuites", "testsuite", "testcase", "failure"]
    if output_format == "markdown":
        inline = [
            one
            for token in MarkdownIt("gfm-like", {"linkify": False}).parse(text)
            for one in [token, *(token.children or ())]
        ]
        assert not {one.type for one in inline} & {"html_block", "link_open", "image", "heading_open", "fence"}
        assert {one.content for one in inline if one.type == "html_inline"} <= {"<br>"}
        assert len(lines) == len(renderer(output_format)([finding()], View(tmp_path)).split("\n"))


def test_errors_steer_no_terminal(tmp_path: Path, tflint: Any) -> None:
    (tmp_path / "tflint-gpu.toml").write_text('"k\\u001b[31m##vso[x]" = 1\n')
    for arguments in ((), ("--isolated", "no\x1b[31mwhere.py"), ("--isolated", "--diff-base", "\x1b[31m")):
        done = tflint("check", *arguments)
        assert done.returncode == 2
        assert "\x1b" not in done.stderr and "##vso[" not in done.stderr
