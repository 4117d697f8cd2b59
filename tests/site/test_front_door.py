"""Protects `tests/FRONT_DOOR.md`: each promise to a user names a test that exists, or says why none can hold it."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest
from checkout import ROOT

from tflint_gpu.text.toml import loads

pytestmark = pytest.mark.slow

PAGE = ROOT / "tests" / "FRONT_DOOR.md"
_TEST = re.compile(r"`([\w./]+)::(\w+)`")
_WITHOUT = re.compile(r"no test: \w.*\.")


@dataclass(frozen=True)
class Promise:
    """One row: a statement, the tests that hold it, and what they need."""

    statement: str
    tests: str
    needs: str


def promises(text: str) -> list[Promise]:
    """The rows of all tables of the page."""
    rows = [line.strip("|").split(" | ") for line in text.splitlines() if line.startswith("| ")]
    return [Promise(*(cell.strip() for cell in row)) for row in rows if row[0].strip() != "statement"]


def faults(promise: Promise) -> list[str]:
    """What is wrong with a row."""
    named = _TEST.findall(promise.tests)
    if not named:
        return [] if _WITHOUT.fullmatch(promise.tests) else [f"neither a test nor a reason: {promise.tests}"]
    return [f"no such test: {file}::{name}" for file, name in named if name not in functions_of(ROOT / file)]


def functions_of(path: Path) -> set[str]:
    """The names of the test functions of a file."""
    if not path.is_file():
        return set()
    functions = (ast.FunctionDef, ast.AsyncFunctionDef)
    body = ast.parse(path.read_text("utf-8")).body
    return {node.name for node in body if isinstance(node, functions) and node.name.startswith("test_")}


PROMISES = promises(PAGE.read_text("utf-8"))


@pytest.mark.parametrize("promise", PROMISES, ids=lambda promise: promise.statement)
def test_each_promise_has_a_test_that_exists(promise: Promise) -> None:
    assert promise.statement.endswith(".") and faults(promise) == []


def test_all_rows_are_read() -> None:
    """Protects the test above from a row that it does not see."""
    text = PAGE.read_text("utf-8")
    assert text.count("::test_") == sum(len(_TEST.findall(promise.tests)) for promise in PROMISES)
    assert len({promise.statement for promise in PROMISES}) == len(PROMISES)


def test_what_a_test_needs_is_installed_in_ci() -> None:
    """Protects from a test that is skipped everywhere: `.ci/run` has the programs, the extra `dev` the packages."""
    extras = loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"]
    packages = {re.split(r"[<>=;\[ ]", requirement)[0] for requirement in extras["dev"] + extras["test"]}
    [programs] = re.findall(r"^ *for package in (.*); do$", (ROOT / ".ci" / "run").read_text("utf-8"), re.MULTILINE)
    needed = {name for promise in PROMISES for name in re.findall(r"`([^`]+)`", promise.needs)}
    assert needed - packages - set(programs.split()) == set()


def test_a_bare_machine_skips_what_needs_a_program_and_says_which(tmp_path: Path) -> None:
    """Protects `pytest` where neither a browser nor an editor is installed."""
    files = [
        "site/test_browser.py",
        "integrations/test_editors.py",
        "integrations/test_vscode.py",
        "cli/test_completion.py",
    ]
    options = ["-rs", "-m", "not campaign", "-p", "no:cacheprovider"]
    command = [sys.executable, "-m", "pytest", *options, *(f"tests/{file}" for file in files)]
    bare = {**os.environ, "PATH": str(tmp_path)}
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=1200, env=bare)
    assert done.returncode == 0, done.stdout[-3000:]
    skipped = re.findall(r"^SKIPPED .*", done.stdout, re.MULTILINE)
    for reason in ("chromium and its driver are", "Neovim is", "Emacs is", "node and npm are", "zsh is", "fish is"):
        assert any(f"{reason} not installed" in line for line in skipped), reason


@pytest.mark.parametrize(
    "tests",
    [
        "`tests/site/test_front_door.py::test_that_nobody_wrote`",
        "`tests/site/test_absent.py::test_all_rows_are_read`",
        "`tests/site/test_front_door.py::faults`",
        "see the tests",
        "",
    ],
)
def test_a_test_that_does_not_exist_would_be_seen(tests: str) -> None:
    [row] = promises(f"| statement | test | needs |\n|---|---|---|\n| It works. | {tests} | |\n")
    assert faults(row) != []
