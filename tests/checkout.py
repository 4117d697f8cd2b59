"""The repository as it is now, in another place: what others install it from may build and write there."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

ROOT = Path(__file__).parents[1]


def git(directory: Path, *arguments: str) -> str:
    """Run git as nobody in particular."""
    identity = ("-c", "user.name=nobody", "-c", "user.email=nobody@example.org", "-c", "protocol.file.allow=always")
    command = ["git", *identity, *arguments]
    return subprocess.run(command, cwd=directory, check=True, capture_output=True, text=True, timeout=600).stdout


def copy_checkout(place: Path) -> Path:
    """A repository with one commit of all files of this one, committed or not, except the ignored ones."""
    listed = git(ROOT, "ls-files", "-z", "--cached", "--others", "--exclude-standard").split("\0")
    for name in filter(None, listed):
        if (ROOT / name).is_file():
            (place / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, place / name)
    git(place, "init", "--quiet", "--initial-branch=main")
    git(place, "add", "--all", "--force")
    git(place, "commit", "--quiet", "--message", "tflint_gpu")
    return place
