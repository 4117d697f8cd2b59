"""Protects the README's promises, and the rooms of the code; `tests/site` protects what the documentation prints."""

from __future__ import annotations

import ast
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from import_graph import circles, graph_of_rooms, imports, modules_per_room

from tflint_gpu.text.toml import loads

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text("utf-8")


def test_ci_runs_exactly_the_second_command() -> None:
    commands = re.findall(r"```sh\n(.*?)\n```", README, re.DOTALL)
    assert len(commands) == 2
    run = (ROOT / ".ci" / "run").read_text().splitlines()
    install, quick = commands[1].rsplit(" && ", 1)
    assert run[-6:] == [
        f"{install} || exit",
        "times # of CPU: the second line is that of all programs so far",
        f"{quick} || failed=1",
        "times",
        f'{quick} -m "slow and not campaign" || failed=1',
        'exit "${failed:-0}"',
    ]


def test_ci_goes_on_where_nothing_can_be_installed(tmp_path: Path) -> None:
    """Protects CI on a machine whose package manager fails, or that has none: browsers are for some tests only."""
    for name, text in {"id": "echo 0", "apt-get": "echo asked; exit 1", "python3": "echo tests; exit 1"}.items():
        (tmp_path / name).write_text(f"#!/bin/sh\n{text}\n")
        (tmp_path / name).chmod(0o755)
    (tmp_path / "dirname").symlink_to(shutil.which("dirname") or "")
    for has_packages in (True, False):
        done = subprocess.run(
            ["/bin/sh", ROOT / ".ci" / "run"], env={"PATH": str(tmp_path)}, capture_output=True, text=True, timeout=60
        )
        said = done.stdout.splitlines()
        assert (said[-1], done.returncode) == ("tests", 1)
        assert ("asked" in said, "not installed: chromium" in said) == (has_packages, has_packages)
        (tmp_path / "apt-get").unlink(missing_ok=True)


def test_the_readme_fits_on_some_screens_and_shows_its_picture_on_the_first() -> None:
    lines = README.splitlines()
    assert len(lines) <= 200
    [picture] = [number for number, line in enumerate(lines) if "](docs/finding.svg)" in line]
    assert picture < 10


def test_every_package_is_shipped() -> None:
    listed = loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]["packages"]
    machine = {path.parent for path in (ROOT / "tflint_gpu").rglob("__init__.py")}
    rules = {path.parent for path in (ROOT / "rules").rglob("__init__.py")}
    names = {".".join(path.relative_to(ROOT).parts) for path in machine}
    names |= {".".join(("tflint_gpu", *path.relative_to(ROOT).parts)) for path in rules}
    assert names == set(listed)


def test_the_machine_names_no_rule() -> None:
    """TFG9 are no rules: `doctor` finds them on a machine. The table of settings names some in its examples."""
    named = {
        f"{path.relative_to(ROOT)}: {code}"
        for path in {*(ROOT / "tflint_gpu").rglob("*.py")} - {ROOT / "tflint_gpu" / "settings" / "table.py"}
        for code in re.findall(r"TFG[0-8]\d\d", re.sub(r'""".*?"""|#.*', "", path.read_text(), flags=re.DOTALL))
    }
    assert named == {"tflint_gpu/catalogue.py: TFG000", "tflint_gpu/catalogue.py: TFG001"}


@pytest.mark.slow
def test_the_catalogue_is_what_the_rules_say() -> None:
    command = [sys.executable, "-m", "tflint_gpu", "rule", "--all", "--output-format", "markdown"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=600, check=True)
    assert (ROOT / "rules" / "README.md").read_text("utf-8") == done.stdout, f"run: {' '.join(command[1:])}"


# The rooms from the ground floor up: a room may import what is on the lines before its own, and no room of its own line.
FLOORS = """
    lazy_dataclasses lazy_patterns
    bounds severity dependencies plugins gpu price ratios
    diagnostics
    text
    targets
    catalogue
    model
    rule
    rules settings requirements
    narrowing
    checking
    reports
    drawing
    doctor verify run
    integrations
    cli
"""


@pytest.mark.slow
def test_imports_run_one_way() -> None:
    """Rules know the model and the rule's interface; the model knows neither engine nor command; and so on upwards."""
    level = {name: height for height, names in enumerate(FLOORS.splitlines()) for name in names.split()}
    wrong = [
        f"{importer} imports {imported}"
        for importer, found in imports(ROOT).items()
        for imported in found
        if (own := importer.split(".")[1:2]) and not own[0].startswith("__")
        if (other := imported.split(".")[1]) != own[0] and level[other] >= level[own[0]]
    ]
    assert wrong == []


@pytest.mark.slow
def test_imports_between_rooms_run_one_way() -> None:
    """Inside of each package, too: who reads one room needs not the rooms above it."""
    assert circles(graph_of_rooms(ROOT)) == []


def test_a_room_has_at_most_twenty_modules() -> None:
    """Protects readers: a folder is seen at a glance. The rules' folders are themes, which are as large as they are."""
    counts = modules_per_room(ROOT)
    assert {room: count for room, count in counts.items() if room.startswith("tflint_gpu") and count > 20} == {}


@pytest.mark.slow
def test_no_import_goes_round_in_a_circle() -> None:
    """Protects the reading order: also imports for types only and those inside functions count."""
    assert circles(imports(ROOT)) == []


def test_rules_ask_the_face_of_the_model_only() -> None:
    """Protects who writes a rule from having to know the rooms of the model, and the rooms from being held by rules.

    Facts are asked where they stand: in the library's module of their field.
    """
    allowed = {
        "tflint_gpu.bounds",
        "tflint_gpu.lazy_dataclasses",
        "tflint_gpu.lazy_patterns",
        "tflint_gpu.model",
        "tflint_gpu.rule",
    }
    files = [*(ROOT / "rules").rglob("*.py")]
    asked = {
        f"{path.relative_to(ROOT)}: {module}"
        for path in files
        for module in re.findall(r"^\s*(?:from|import) (tflint_gpu[\w.]*)", path.read_text(), re.MULTILINE)
        if module not in allowed and not module.startswith("tflint_gpu.model.library.")
    }
    assert len(files) > 60 and asked == set()


def test_the_face_of_the_model_exports_what_it_says() -> None:
    """Protects the two lists of `tflint_gpu.model`: what type checkers see, and what is imported when it is named."""
    from tflint_gpu import model

    tree = ast.parse((ROOT / "tflint_gpu" / "model" / "__init__.py").read_text())
    typed = {
        (node.module or "", alias.name)
        for block in tree.body
        if isinstance(block, ast.If)
        for node in block.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    assert typed == {(f"tflint_gpu.model.{module}", name) for name, module in model._MODULES.items()}
    assert all(getattr(model, name) is not None for name in model.__all__)


def test_the_words_are_those_of_the_field() -> None:
    """Protects readers who know linters and TensorFlow from words that only this project would use."""
    private = re.compile(r"\b(mend|mends|mended|mending|anew|dearest)\b|\bturns? of (a|the) loop\b", re.IGNORECASE)
    files = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md"), *(ROOT / "rules").rglob("*.py")]
    files += [path for path in (ROOT / "tflint_gpu").rglob("*.*") if path.suffix in (".py", ".toml", ".html", ".js")]
    assert [f"{path}: {match[0]}" for path in files if (match := private.search(path.read_text("utf-8")))] == []


def test_variables_carry_their_noun() -> None:
    """Protects readers from `one` and `found` as names: they say nothing of what is held."""
    vague = []
    for path in [*(ROOT / "tflint_gpu").rglob("*.py"), *(ROOT / "rules").rglob("*.py")]:
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            name = node.arg if isinstance(node, ast.arg) else node.id if isinstance(node, ast.Name) else ""
            if name in ("one", "found"):
                vague.append(f"{path}:{node.lineno}: {name}")
    assert vague == []


@pytest.mark.slow
def test_lint_and_types_are_clean() -> None:
    for command in (["ruff", "check", "."], ["ruff", "format", "--check", "."], ["mypy"]):
        done = subprocess.run([sys.executable, "-m", *command], cwd=ROOT, capture_output=True, text=True, timeout=600)
        assert done.returncode == 0, done.stdout
