"""Protects the pre-commit hooks: the real pre-commit installs and runs them on commits of a real repository."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from checkout import ROOT, copy_checkout, git

pytestmark = pytest.mark.slow

HOOKS = {hook["id"]: hook for hook in yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text("utf-8"))}
CODE = "TFG302"
SETTINGS = f"""\
[tool.tflint-gpu]
select = ["{CODE}"]
target-tensorflow = "2.9"
extend-exclude = ["generated.py"]
"""  # from 2.11 on it is advice
TRAIN = """\
import tensorflow as tf

def train(model, xs):
    ds = tf.data.Dataset.from_tensor_slices(xs)
    ds = ds.prefetch(1).map(lambda x: tf.io.decode_png(x)).batch(32)
    model.fit(ds, epochs=2)
"""
FIXED = TRAIN.replace(
    ".prefetch(1).map(lambda x: tf.io.decode_png(x)).batch(32)",
    ".map(lambda x: tf.io.decode_png(x)).batch(32).prefetch(1)",
)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A repository with settings, one excluded file, and nothing to complain about."""
    project = tmp_path / "project"
    project.mkdir()
    git(project, "init", "--quiet", "--initial-branch=main")
    git(project, "config", "user.name", "nobody")
    git(project, "config", "user.email", "nobody@example.org")
    (project / "pyproject.toml").write_text(SETTINGS)
    (project / "generated.py").write_text(TRAIN)
    (project / "README.md").write_text(TRAIN)
    git(project, "add", "--all")
    git(project, "commit", "--quiet", "--message", "start")
    return project


@pytest.fixture(scope="module")
def hooks(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The repository with the hooks; what pre-commit installs of it lies beside it, for all tests."""
    return copy_checkout(tmp_path_factory.mktemp("pre-commit") / "hooks")


@pytest.fixture(autouse=True)
def own_files(hooks: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What pre-commit installs lies in the tests' directory; a repository around the tests is none of its business."""
    for name in [name for name in os.environ if name.startswith("GIT_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("PRE_COMMIT_HOME", str(hooks.parent / "home"))
    monkeypatch.setenv("PRE_COMMIT_COLOR", "never")


def run(directory: Path, *command: str) -> tuple[int, str]:
    """A command as a user types it: its exit code and all that it prints."""
    done = subprocess.run(
        command, cwd=directory, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=600
    )
    return done.returncode, done.stdout


def pre_commit(directory: Path, *arguments: str) -> tuple[int, str]:
    return run(directory, sys.executable, "-m", "pre_commit", *arguments)


def test_hooks_that_are_tried(project: Path, hooks: Path) -> None:
    """`try-repo` runs both: one reports the finding, the other one fixes it and does not print it again."""
    (project / "train.py").write_text(TRAIN)
    (project / "paper.qmd").write_text(f"```{{python}}\n{TRAIN}```\n")
    (project / "lab.md").write_text(f"---\njupytext: {{}}\n---\n\n```python\n{TRAIN}```\n")
    git(project, "add", "--all")
    code, output = pre_commit(project, "try-repo", str(hooks), "--all-files", "--verbose")
    assert code == 1, output
    assert f"[{CODE} " in output
    assert output.count("--> train.py:5:13") == 1
    assert f"\N{MULTIPLICATION SIGN} {CODE}" in output, "the hook that fixes says what it fixed"
    assert output.count("Fixed 3 problems") == 1
    assert "files were modified by this hook" in output
    assert "generated.py" not in output, "an excluded file is not checked, though pre-commit names it"
    assert "README.md" not in output
    assert (project / "train.py").read_text() == FIXED
    assert FIXED in (project / "paper.qmd").read_text() and FIXED in (project / "lab.md").read_text()


def test_a_commit_is_refused_and_another_one_passes(project: Path, hooks: Path) -> None:
    revision = git(hooks, "rev-parse", "HEAD").strip()
    (project / ".pre-commit-config.yaml").write_text(
        yaml.safe_dump({"repos": [{"repo": str(hooks), "rev": revision, "hooks": [{"id": "tflint-gpu"}]}]})
    )
    code, output = pre_commit(project, "install", "--install-hooks")
    assert code == 0, output

    (project / "train.py").write_text(TRAIN)
    git(project, "add", "--all")
    code, output = run(project, "git", "commit", "--message", "refused")
    assert (code, "--> train.py:5:13" in output) == (1, True), output
    assert git(project, "log", "--format=%s").split() == ["start"]
    assert (project / "train.py").read_text() == TRAIN, "the hook that checks changes nothing"

    (project / "train.py").write_text(FIXED)
    git(project, "add", "--all")
    code, output = run(project, "git", "commit", "--message", "passed")
    assert (code, "Passed" in output) == (0, True), output
    assert git(project, "log", "--format=%s").split() == ["passed", "start"]
    assert git(project, "status", "--short") == "", "the cache is no part of the project"


def test_advice_lets_a_commit_pass_unless_the_settings_or_the_hook_say_otherwise(project: Path, hooks: Path) -> None:
    """Protects commits from being refused for advice, which is counted; the hook obeys the same setting as the command."""
    revision = git(hooks, "rev-parse", "HEAD").strip()

    def tried(*arguments: str, settings: str = "") -> tuple[int, bool]:
        hook = {"id": "tflint-gpu", "args": list(arguments), "verbose": True}
        (project / ".pre-commit-config.yaml").write_text(
            yaml.safe_dump({"repos": [{"repo": str(hooks), "rev": revision, "hooks": [hook]}]})
        )
        (project / "pyproject.toml").write_text(SETTINGS.replace("2.9", "2.21").replace(CODE, CODE[:4]) + settings)
        git(project, "add", "--all")
        code, output = pre_commit(project, "run", "--all-files")
        assert "1 piece of advice" in output
        return code, "--> train.py:5:13" in output

    (project / "train.py").write_text(TRAIN)
    assert tried() == (0, False)
    assert tried("--show-advice") == (0, True)
    assert tried(settings='fail-on = "advice"\n') == (1, True)
    assert tried("--fail-on=advice") == (1, True)
    assert tried("--fail-on=warning", settings='fail-on = "advice"\n') == (0, False)


def test_pre_commit_accepts_the_list_of_hooks() -> None:
    code, output = pre_commit(ROOT, "validate-manifest", ".pre-commit-hooks.yaml")
    assert code == 0, output


def test_both_hooks_take_python_and_notebooks_and_obey_exclusions() -> None:
    assert set(HOOKS) == {"tflint-gpu", "tflint-gpu-fix"}
    for hook in HOOKS.values():
        assert hook["types_or"] == ["python", "jupyter", "markdown", "quarto"]
        assert "--force-exclude" in hook["entry"].split()
        assert hook["require_serial"], "it starts its own processes, and several would check each other's files"
