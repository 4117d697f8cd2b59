"""Protects readers of README and documentation: what is printed there is what the tool prints, and what it takes."""

from __future__ import annotations

import importlib
import json
import re
import subprocess
import sys
from dataclasses import fields
from html import unescape
from pathlib import Path
from typing import Any

import pytest
import yaml
from checkout import ROOT, copy_checkout, needs_installation
from printed import Block, blocks, pages

from tflint_gpu import cli
from tflint_gpu.settings.options import Options

pytestmark = pytest.mark.slow

PAGES = pages()
BLOCKS = [block for page in PAGES for block in blocks(page) if block.is_steady]
SNIPPETS = [
    (page, kind, text)
    for page in PAGES
    for kind, text in re.findall(
        r"^```(toml|ini|yaml|python|json)\n(.*?)^```$", page.read_text("utf-8"), re.DOTALL | re.MULTILINE
    )
]
HOOKS = ROOT / "docs" / "hooks"


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A checkout in which a reader types the commands."""
    needs_installation()
    return copy_checkout(tmp_path_factory.mktemp("checkout"))


@pytest.mark.parametrize("block", BLOCKS, ids=lambda block: f"{block.page.name}: {next(iter(block.commands))}")
def test_what_is_printed_is_real(block: Block, checkout: Path) -> None:
    assert block.today(checkout) == block.text, "run: python tests/printed.py"


def test_the_blocks_are_found() -> None:
    """Protects the test above from a form of blocks that it does not see."""
    commands = [line for page in PAGES for line in re.findall(r"^\$ .*", page.read_text("utf-8"), re.MULTILINE)]
    assert len(commands) == sum(len(block.commands) for page in PAGES for block in blocks(page)) > 20
    assert len(BLOCKS) > 10


def test_the_picture_is_current(monkeypatch: pytest.MonkeyPatch) -> None:
    """By its words: how it is drawn is up to the version of Rich."""
    monkeypatch.syspath_prepend(str(HOOKS))
    import picture

    svg = picture.PICTURE.read_text("utf-8")
    drawn = "".join(re.findall(r"<text [^>]*>(.*?)</text>", svg, re.DOTALL))
    plain = re.sub(r"\x1b\[[\d;]*m", "", picture.shown())
    assert "".join(unescape(drawn).split()) == "".join(f"${picture.COMMAND}{plain}".split()), (
        "run: python docs/hooks/picture.py"
    )
    assert plain.count("-->") == 2 and "http" not in svg.replace("http://www.w3.org/", ""), "nothing is loaded"
    assert f"/{picture.COMMAND}" in (ROOT / "README.md").read_text("utf-8"), "it is what the first command ends with"


def test_what_installs_from_the_index_says_what_works_today() -> None:
    """The package is on no index yet: who names it there names the command of a checkout, too."""
    paths = [*PAGES, *(ROOT / "tflint_gpu").rglob("*.py"), *(ROOT / "editors" / "vscode" / "src").glob("*.ts")]
    texts = {path.relative_to(ROOT): " ".join(path.read_text("utf-8").split()) for path in paths}
    silent = [
        path
        for path, text in texts.items()
        for match in re.finditer(r"install \W?tflint-gpu", text)
        if "in a checkout" not in text[match.end() : match.end() + 100]
    ]
    assert silent == [] and len(texts) > 500


def test_the_readme_is_a_door() -> None:
    """Protects who comes for the first time: what it is and its picture at once, then the commands, and not many lines."""
    text = (ROOT / "README.md").read_text("utf-8")
    lines = text.splitlines()
    assert len(lines) <= 200
    assert any("](docs/finding.svg)" in line for line in lines[:12])
    headings = [line for line in lines if line.startswith("#")]
    assert headings[:3] == ["# tflint-gpu", "## Try it", "## My GPU is idle"]
    assert "--fix" in "".join(lines[:20]) and text.index("tflint-gpu check examples/train.py") < 3000
    assert headings[-1] == "## Contribute" and text.index(".venv/bin/pytest -n auto") > text.index(headings[-1])
    assert headings[4:7] == ["### In your editor", "### Before each commit", "### In each pull request"]


def test_the_picture_can_be_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("rich")
    monkeypatch.syspath_prepend(str(HOOKS))
    import picture

    assert "</svg>" in picture.drawn("\x1b[1;31merror\x1b[0m[TFG402]") and "#" in picture.drawn("x")


def test_nothing_shows_how_fixtures_are_tested() -> None:
    shown = [*PAGES, ROOT / "docs" / "finding.svg", *(path for path in (ROOT / "examples").iterdir() if path.is_file())]
    assert [path.name for path in shown if re.search(r"# (expect|runs):", path.read_text("utf-8"))] == []


def test_the_idle_pages_walk_through_every_folder_of_fixtures() -> None:
    text = "".join(page.read_text("utf-8") for page in PAGES if page.parent.name == "idle")
    folders = [path.name for path in (ROOT / "fixtures").iterdir() if path.is_dir()]
    assert len(folders) == 6 and all(f"fixtures/{name}" in text for name in folders)


def test_every_file_that_is_named_is_there() -> None:
    for page in PAGES:
        text = page.read_text("utf-8")
        for name in re.findall(r"\b(?:fixtures|examples|tests|tflint_gpu|docs)/[\w/.-]+\.\w+", text):
            assert (ROOT / name).is_file() or name.startswith("tests/GPU"), f"{page.name}: {name}"
        for link in re.findall(r"\]\(([^)#:\s]+)(?:#[^)]*)?\)", text):
            assert (page.parent / link).exists(), f"{page.name}: {link}"


def test_every_option_that_is_named_is_one() -> None:
    """Protects readers from options that were renamed: in a command of this tool or by themselves."""
    commands = [importlib.import_module(f"tflint_gpu.cli.{name}").command for name in cli._COMMANDS]
    known = {
        name for command in commands for option in command.params for name in (*option.opts, *option.secondary_opts)
    }
    known |= {"--help", "--version"}
    ours = ("--", "tflint-gpu ", ".venv/bin/tflint-gpu ", *(f"{name} " for name in cli._COMMANDS))
    for page in PAGES:
        spans = re.findall(r"`([^`\n]*)`|^\$ (tflint-gpu .*)$", page.read_text("utf-8"), re.MULTILINE)
        for span in (inline or printed for inline, printed in spans):
            if span.startswith(ours):
                named = {word.partition("=")[0] for word in re.findall(r"(?<!\S)--[a-z][\w-]*", span)}
                assert named <= known, f"{page.name}: {span}"


@pytest.mark.parametrize(("page", "kind", "text"), SNIPPETS, ids=lambda value: getattr(value, "name", None))
def test_a_snippet_is_taken(page: Path, kind: str, text: str, tmp_path: Path, tflint: Any) -> None:
    (tmp_path / "train.py").write_text((ROOT / "examples" / "train.py").read_text())
    if kind == "toml":
        (tmp_path / "pyproject.toml").write_text(text)
        done = tflint("check", "--show-settings", "train.py")
        assert (done.returncode, done.stderr) == (0, "")
        if "[tool.tflint-gpu]" in text:
            assert "2.15" in done.stdout and "TFG401" in done.stdout
    elif kind == "ini":
        needs_installation()
        (tmp_path / ".flake8").write_text(text.replace("TFG401", "TFG403"))
        command = [sys.executable, "-m", "flake8", "--select=TFG", "train.py"]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=600)
        assert re.findall(r"TFG\d+", done.stdout) == ["TFG202"] and done.stderr == ""
    elif kind == "python":
        compile(text, str(page), "exec")
    elif kind == "json":
        assert isinstance(json.loads(text), dict)
    else:
        assert is_known(yaml.safe_load(text))


def test_settings_that_are_named_in_a_sentence_are_taken(tmp_path: Path, tflint: Any) -> None:
    """`extend = "../pyproject.toml"` and the like, each in a file of its own."""
    keys = {option.name.replace("_", "-") for option in fields(Options)} | {"extend"}
    tried = set()
    for page in PAGES:
        for key, value in re.findall(r"`(?:--config ')?([a-z-]+) = ([^`']+)'?`", page.read_text("utf-8")):
            if key in keys:
                tried.add(key)
                folder = tmp_path / key
                folder.mkdir(exist_ok=True)
                (tmp_path / "pyproject.toml").write_text("[tool.tflint-gpu]\n")
                (folder / "train.py").write_text("import tensorflow\n")
                (folder / "tflint-gpu.toml").write_text(f"{key} = {value}\n")
                done = tflint("check", "--show-settings", str(folder))
                assert (done.returncode, done.stderr) == (0, ""), f"{page}: {key} = {value}"
    assert {"extend", "documentation-url", "fail-on"} <= tried


def is_known(document: Any) -> bool:
    """Whether hooks, inputs of the Action and commands are those of this repository."""
    if isinstance(document, list):  # steps of a job
        inputs = yaml.safe_load((ROOT / "action.yml").read_text())["inputs"]
        [step] = [step for step in document if "tflint_gpu@" in step["uses"]]
        return step["with"].keys() <= inputs.keys()
    if "repos" in document:
        hooks = {hook["id"] for hook in yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())}
        return {hook["id"] for repo in document["repos"] for hook in repo["hooks"]} == hooks
    return "tflint-gpu check --output-format gitlab >" in document["tflint-gpu"]["script"]


def test_the_settings_of_a_language_server_are_json() -> None:
    [text] = re.findall(r'`(\{"pylsp".*?\})`', (ROOT / "docs" / "editors.md").read_text("utf-8"))
    assert json.loads(text)["pylsp"]["plugins"]["flake8"]["enabled"] is True
