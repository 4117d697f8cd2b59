"""Protects the README's promises: its commands are the ones that CI runs and its output is what the tool prints."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from tflint_gpu.config import tomllib

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text("utf-8")


def test_ci_runs_exactly_the_second_command() -> None:
    commands = re.findall(r"```sh\n(.*?)\n```", README, re.DOTALL)
    assert len(commands) == 2
    assert (ROOT / ".ci" / "run").read_text().splitlines()[-1] == commands[1]


def test_the_output_in_the_readme_is_real() -> None:
    block = re.search(r"```console\n\$ tflint-gpu (.*?)\n(.*?)```", README, re.DOTALL)
    assert block is not None
    command = [sys.executable, "-m", "tflint_gpu", *block[1].split(), "--no-cache"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60, env={})
    assert done.stdout == block[2]


def test_every_package_is_shipped() -> None:
    listed = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]["packages"]
    machine = {path.parent for path in (ROOT / "tflint_gpu").rglob("__init__.py")}
    rules = {path.parent for path in (ROOT / "rules").rglob("__init__.py")}
    names = {".".join(path.relative_to(ROOT).parts) for path in machine}
    names |= {".".join(("tflint_gpu", *path.relative_to(ROOT).parts)) for path in rules}
    assert names == set(listed)


def test_the_machine_names_no_rule() -> None:
    named = {
        f"{path.relative_to(ROOT)}: {code}"
        for path in (ROOT / "tflint_gpu").rglob("*.py")
        for code in re.findall(r"TFG\d{3}", re.sub(r'""".*?"""|#.*', "", path.read_text(), flags=re.DOTALL))
    }
    assert named == {"tflint_gpu/rule.py: TFG000"}


def test_the_catalogue_is_what_the_rules_say() -> None:
    command = [sys.executable, "-m", "tflint_gpu", "rule", "--all", "--output-format", "markdown"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60, check=True)
    assert (ROOT / "rules" / "README.md").read_text("utf-8") == done.stdout, f"run: {' '.join(command[1:])}"
