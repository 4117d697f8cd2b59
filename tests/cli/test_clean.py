"""Protects `clean` and `version`: the cache goes, what the user keeps there stays, and both say what they are asked."""

from __future__ import annotations

import json
import platform
from pathlib import Path
from typing import Any

import pytest

from tflint_gpu import __version__

FLAGGED = "import tensorflow as tf\n\nwith tf.device('/GUP:0'):\n    x = tf.ones(3)\n"


def files_in(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


def test_the_caches_of_a_folder_and_of_those_below_are_removed(tmp_path: Path, tflint: Any) -> None:
    for folder in (tmp_path, tmp_path / "inner"):
        folder.mkdir(exist_ok=True)
        (folder / "pyproject.toml").write_text("[tool.tflint-gpu]\n")
        (folder / "a.py").write_text(FLAGGED)
    tflint("check")
    assert len([name for name in files_in(tmp_path) if name.endswith(".json")]) == 2
    done = tflint("clean")
    inner = str(Path("inner", ".tflint_gpu_cache"))
    assert (done.returncode, done.stdout, done.stderr) == (
        0,
        f"Removed 1 file from .tflint_gpu_cache.\nRemoved 1 file from {inner}.\n",
        "",
    )
    assert not [*tmp_path.rglob(".tflint_gpu_cache")]
    done = tflint("clean")
    assert (done.returncode, done.stdout) == (0, "There is no cache.\n")


def test_what_lies_in_the_folder_of_a_cache_stays(tmp_path: Path, tflint: Any) -> None:
    """Protects a folder that the settings name and that others use, too."""
    kept = tmp_path / "kept"
    kept.mkdir()
    (kept / "mine.json").write_text("{}")
    (kept / ".gitignore").write_text("*.log\n")
    (kept / "old").mkdir()
    (kept / "old" / "notes.json").write_text("{}")
    (tmp_path / "a.py").write_text(FLAGGED)
    (tmp_path / "tflint-gpu.toml").write_text('cache-dir = "kept"\n')
    tflint("check")
    assert len(files_in(kept)) > 4
    assert tflint("clean").stdout == "Removed 1 file from kept.\n"
    assert files_in(kept) == [".gitignore", "mine.json", str(Path("old", "notes.json"))]


@pytest.mark.parametrize("words", [("version",), ("--version",)])
def test_the_version(words: tuple[str, ...], tflint: Any) -> None:
    assert tflint(*words).stdout == f"tflint-gpu {__version__}\n"


def test_the_version_for_programs(tflint: Any) -> None:
    told = json.loads(tflint("version", "--output-format", "json").stdout)
    assert (told["version"], told["python"]) == (__version__, platform.python_version())
    assert told["libcst"][0].isdigit()
