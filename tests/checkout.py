"""The repository as it is now, in another place: what others install it from may build and write there."""

from __future__ import annotations

import shutil
import subprocess
import sys
from importlib.metadata import distributions
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


def is_installed() -> bool:
    """Whether this environment has the package; its sources at hand are no installation."""
    elsewhere = [folder for folder in sys.path if Path(folder).resolve() != ROOT]
    return any(distributions(name="tflint-gpu", path=elsewhere))


def needs_installation() -> None:
    """Skip a test of what only an installation has: the program `tflint-gpu`, and what other programs find by its name."""
    if not is_installed():
        pytest.skip("tflint-gpu is not installed here: these are its sources only")


def git(directory: Path, *arguments: str) -> str:
    """Run git as nobody in particular; the test is skipped where there is none."""
    if shutil.which("git") is None:
        pytest.skip("git is not installed")
    identity = ("-c", "user.name=nobody", "-c", "user.email=nobody@example.org", "-c", "protocol.file.allow=always")
    command = ["git", *identity, *arguments]
    return subprocess.run(command, cwd=directory, check=True, capture_output=True, text=True, timeout=600).stdout


def copy_checkout(place: Path) -> Path:
    """A repository with one commit of all files of this one, committed or not, except the ignored ones."""
    for name in _files():
        if (ROOT / name).is_file():
            (place / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, place / name)
    git(place, "init", "--quiet", "--initial-branch=main")
    git(place, "add", "--all", "--force")
    git(place, "commit", "--quiet", "--message", "tflint_gpu")
    return place


def _files() -> list[str]:
    """The names of all files that belong to this repository; an sdist holds no others, but has no `.git` to say so."""
    if not (ROOT / ".git").exists():
        left_out = {"__pycache__", ".tflint_gpu_cache", ".pytest_cache", ".hypothesis", "build", "dist", "node_modules"}
        below = (path.relative_to(ROOT) for path in ROOT.rglob("*") if path.is_file())
        return [str(path) for path in below if not left_out & {*path.parts}]
    listed = git(ROOT, "ls-files", "-z", "--cached", "--others", "--exclude-standard")
    return [name for name in listed.split("\0") if name]
