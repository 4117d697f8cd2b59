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


def test_imports_run_one_way() -> None:
    """Rules know the model and the rule's interface; the model knows neither engine nor command; and so on upwards."""
    floors = ["bytesearch diagnostics experiment documentation json_strings lexical magics replacement patterns", "source decoding fingerprints measurements", "nesting notebooks targets", "model", "rule", "rules selection config suppressions files",
              "cache fixes reports", "engine verify", "workers importers git changes baselines", "cli integrations"]  # fmt: skip
    level = {name: height for height, names in enumerate(floors) for name in names.split()}
    wrong = []
    for folder, prefix in ((ROOT / "tflint_gpu", ""), (ROOT / "rules", "rules")):
        for path in folder.rglob("*.py"):
            own = prefix or path.relative_to(folder).parts[0].removesuffix(".py")
            if own.startswith("__"):
                continue
            for name in re.findall(r"^(?:from|import) tflint_gpu\.(\w+)", path.read_text(), re.MULTILINE):
                if level[name] > level[own]:
                    wrong.append(f"{path.relative_to(ROOT)} imports {name}")
    assert wrong == []


def test_rules_ask_the_model_only() -> None:
    allowed = ("tflint_gpu.model", "tflint_gpu.rule")
    for path in (ROOT / "rules").rglob("tfg*.py"):
        for module in re.findall(r"^(?:from|import) (tflint_gpu[\w.]*)", path.read_text(), re.MULTILINE):
            assert module.startswith(allowed), path


def test_lint_and_types_are_clean() -> None:
    for command in (["ruff", "check", "."], ["ruff", "format", "--check", "."], ["mypy"]):
        done = subprocess.run([sys.executable, "-m", *command], cwd=ROOT, capture_output=True, text=True, timeout=300)
        assert done.returncode == 0, done.stdout
