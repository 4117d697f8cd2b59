"""Protects the pre-commit hooks: the real pre-commit installs and runs them on commits of a real repository."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from checkout import ROOT, copy_checkout, git

HOOKS = {hook["id"]: hook for hook in yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text("utf-8"))}
CODE = "TFG302"
SETTINGS = f'[tool.tflint-gpu]\nselect = ["{CODE}"]\nextend-exclude = ["generated.py"]\n'
TRAIN = """\
import tensorflow as tf

def train(model, xs):
    ds = tf.data.Dataset.from_tensor_slices(xs)
    ds = ds.prefetch(1).map(lambda x: x + 1).batch(32)
    model.fit(ds, epochs=2)
"""
FIXED = TRAIN.replace(".prefetch(1).map(lambda x: x + 1).batch(32)", ".map(lambda x: x + 1).batch(32).prefetch(1)")


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


def run(project: Path, *command: str) -> tuple[int, str]:
    """A command as a user types it, with pre-commit's own files in the test's directory."""
    inherited = {key: value for key, value in os.environ.items() if not key.startswith("GIT_")}
    done = subprocess.run(
        command, cwd=project, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=600,
        env={**inherited, "PRE_COMMIT_HOME": str(project.parent / "pre-commit"), "PRE_COMMIT_COLOR": "never"},
    )  # fmt: skip
    return done.returncode, done.stdout


def pre_commit(project: Path, *arguments: str) -> tuple[int, str]:
    return run(project, sys.executable, "-m", "pre_commit", *arguments)


def test_hooks_that_are_tried(project: Path, tmp_path: Path) -> None:
    """`try-repo` runs both: one tells, the other one mends."""
    hooks = copy_checkout(tmp_path / "hooks")
    (project / "train.py").write_text(TRAIN)
    git(project, "add", "--all")
    code, output = pre_commit(project, "try-repo", str(hooks), "--all-files", "--verbose")
    assert code == 1, output
    assert f"error[{CODE} " in output or f"warning[{CODE} " in output or f"advice[{CODE} " in output, output
    assert "--> train.py:5:13" in output
    assert "files were modified by this hook" in output
    assert "generated.py" not in output, "an excluded file is not checked, though pre-commit names it"
    assert "README.md" not in output
    assert (project / "train.py").read_text() == FIXED


def test_a_commit_is_refused_and_another_one_passes(project: Path, tmp_path: Path) -> None:
    hooks = copy_checkout(tmp_path / "hooks")
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


def test_both_hooks_take_python_and_notebooks_and_obey_exclusions() -> None:
    assert set(HOOKS) == {"tflint-gpu", "tflint-gpu-fix"}
    for hook in HOOKS.values():
        assert hook["types_or"] == ["python", "jupyter"]
        assert "--force-exclude" in hook["entry"].split()
        assert hook["require_serial"], "it starts its own processes, and several would check each other's files"
