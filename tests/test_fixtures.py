"""The fixture programs: what is annotated is found, and nothing else; their clean twins are clean."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from warm import Warm, as_text

FIXTURES = Path(__file__).parent.parent / "fixtures"
_MEMORY = "--gpu-memory=4GiB"  # the card of those who ask
_EXPECTED = re.compile(r"# expect: ([TFG\d ]+)$")


Place = tuple[str, int, int, str]
"""A file, the cell of a notebook (else 0), a row and a code."""


def _programs() -> list[Path]:
    return [path for ending in ("py", "ipynb") for path in FIXTURES.rglob(f"*.{ending}")]


def _texts(path: Path) -> list[tuple[int, str]]:
    """A program's texts, with the cells' numbers for a notebook."""
    if path.suffix == ".py":
        return [(0, path.read_text("utf-8"))]
    cells = json.loads(path.read_text("utf-8"))["cells"]
    return [(number, "".join(cell["source"])) for number, cell in enumerate(cells, 1)]


def _annotated() -> set[Place]:
    expected = set()
    for path in _programs():
        for cell, text in _texts(path):
            for row, line in enumerate(text.splitlines(), 1):
                if match := _EXPECTED.search(line):
                    expected |= {(path.relative_to(FIXTURES).as_posix(), cell, row, code) for code in match[1].split()}
    return expected


@pytest.fixture(scope="module")
def reported(commands: Warm) -> set[Place]:
    """What the command reports for all fixtures, as a user would run it."""
    options = ["--isolated", "--no-cache", _MEMORY, "--output-format", "json"]
    result = as_text(commands.run("tflint_gpu", "check", *options, ".", cwd=FIXTURES))
    assert result.returncode == 1, result.stderr
    found = [(d["code"], d) for d in json.loads(result.stdout)]
    # What holds for a project is one finding.
    found += [(code, r) for code, d in found for r in d["related"] if r["message"] == "here, too"]
    return {
        (Path(at["filename"]).relative_to(FIXTURES).as_posix(), at["cell"] or 0, at["location"]["row"], code)
        for code, at in found
    }


def test_every_annotated_mistake_is_found(reported: set[Place]) -> None:
    """Protects recall: each program makes the mistake that its author asks about."""
    assert sorted(_annotated() - reported) == []


def test_nothing_else_is_found(reported: set[Place]) -> None:
    """Protects precision: clean twins and the rest of each program stay silent."""
    assert sorted(reported - _annotated()) == []


def test_each_rule_has_at_least_three_places() -> None:
    """Protects the fixtures from shrinking to one form of each mistake."""
    codes = [code for *_, code in _annotated()]
    assert {code: codes.count(code) for code in set(codes) if codes.count(code) < 3} == {}


def test_each_program_has_a_clean_twin() -> None:
    """Protects the pairing by which precision is tested."""
    programs = {p for p in _programs() if "_clean" not in str(p.relative_to(FIXTURES))}
    for program in programs:
        relative = program.relative_to(FIXTURES)
        beside = program.with_name(f"{program.stem}_clean{program.suffix}")
        folder = FIXTURES / relative.parts[0] / f"{relative.parts[1]}_clean"
        assert beside.exists() or folder.is_dir(), relative


@pytest.mark.slow
@pytest.mark.parametrize("folder", sorted(p.name for p in FIXTURES.iterdir() if p.is_dir()))
def test_fixes_are_those_beside_the_programs(folder: str, commands: Warm) -> None:
    """Protects the text of every fix, safe and unsafe: `fixes.diff` in each folder of questions.

    A wanted change: `cd fixtures && tflint-gpu check --isolated --no-cache --diff --unsafe-fixes FOLDER > FOLDER/fixes.diff`.
    """
    options = ["--isolated", "--no-cache", "--diff", "--unsafe-fixes"]
    result = as_text(commands.run("tflint_gpu", "check", *options, folder, cwd=FIXTURES))
    assert result.stdout == (FIXTURES / folder / "fixes.diff").read_text("utf-8")
