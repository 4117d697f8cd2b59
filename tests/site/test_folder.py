"""Protects folders: a site is there as a whole or not at all, and takes the place of nothing but a site."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from tflint_gpu.site.folder import MARK, NotOurs, write_site

FILES = {"index.html": "one", "a.html": "ä"}


def content(folder: Path) -> dict[str, str]:
    return {path.name: path.read_text("utf-8") for path in folder.iterdir() if path.name != MARK}


def test_a_new_folder_and_an_empty_one(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    for name in ("new", "deep/er", "empty"):
        write_site(tmp_path / name, FILES)
        assert content(tmp_path / name) == FILES
    assert sorted(path.name for path in tmp_path.iterdir()) == ["deep", "empty", "new"], "nothing else is left"
    assert (tmp_path / "new").stat().st_mode & 0o777 == 0o777 & ~_mask()


def _mask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def test_a_site_is_replaced_as_a_whole(tmp_path: Path) -> None:
    write_site(tmp_path / "site", FILES)
    write_site(tmp_path / "site", {"index.html": "two"})
    assert content(tmp_path / "site") == {"index.html": "two"}, "pages of rules that are gone go too"
    (tmp_path / "link").symlink_to("site")
    write_site(tmp_path / "link", FILES)
    assert (tmp_path / "link").is_symlink() and content(tmp_path / "site") == FILES


@pytest.mark.parametrize("mark", [None, "", "index.html\n", b"\xff"])
def test_what_is_not_ours_stays(mark: Any, tmp_path: Path) -> None:
    folder = tmp_path / "site"
    folder.mkdir()
    (folder / "thesis.txt").write_text("years of work")
    if mark is not None:
        (folder / MARK).write_bytes(mark if isinstance(mark, bytes) else mark.encode())
    with pytest.raises(NotOurs, match=r"thesis\.txt"):
        write_site(folder, FILES)
    assert content(folder) == {"thesis.txt": "years of work"}
    assert [path.name for path in tmp_path.iterdir()] == ["site"]


def test_a_file_of_that_name(tmp_path: Path) -> None:
    (tmp_path / "site").write_text("x")
    with pytest.raises(NotOurs, match="is no folder"):
        write_site(tmp_path / "site", FILES)
    assert (tmp_path / "site").read_text() == "x"


@pytest.mark.parametrize("step", ["write_text", "rename"])
@pytest.mark.parametrize("number", [1, 2])
def test_a_failure_leaves_the_old_site(step: str, number: int, tmp_path: Path, monkeypatch: Any) -> None:
    """Protects a site that is being served: a full disk must not leave half of the new one."""
    write_site(tmp_path / "site", FILES)
    real, calls = getattr(Path, step), []

    def fails(path: Path, *arguments: Any, **options: Any) -> Any:
        calls.append(path)
        if len(calls) == number:
            raise OSError(28, "No space left on device")
        return real(path, *arguments, **options)

    monkeypatch.setattr(Path, step, fails)
    with pytest.raises(OSError):
        write_site(tmp_path / "site", {"index.html": "two", "b.html": "three"})
    monkeypatch.undo()
    assert content(tmp_path / "site") == FILES
    assert [path.name for path in tmp_path.iterdir()] == ["site"]


def test_the_command_tells_what_stands_in_the_way(tmp_path: Path, tflint: Any) -> None:
    (tmp_path / "mine.txt").write_text("x")
    done = tflint("rule", "--all", "--output-format", "site", "-o", ".")
    assert (done.returncode, done.stdout) == (2, "")
    assert "would be lost: mine.txt" in done.stderr
    done = tflint("rule", "--all", "--output-format", "site", "-o", "mine.txt/site")
    assert (done.returncode, done.stdout) == (2, "")
    assert "Traceback" not in done.stderr
