"""Putting a site in its folder: whole or not at all, and never over something else."""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Mapping
from pathlib import Path

MARK = ".tflint-gpu-site"
"""A file that lists the files of a site, so that the next one may take its place."""


class NotOurs(Exception):
    """A folder that holds something else than a site of ours; the message says what."""


def write_site(folder: Path, files: Mapping[str, str]) -> None:
    """Write a site next to its folder, and move it there when it is whole.

    Arguments:
        folder: is made; if it is there, it must be empty or a site of ours.
        files: the texts by their names.

    Raises:
        NotOurs: something else is in the folder, which stays as it is.
        OSError: it cannot be written; what was there is as it was.
    """
    folder = folder.resolve()
    _must_be_ours(folder)
    folder.parent.mkdir(parents=True, exist_ok=True)
    new, old = (
        folder.with_name(f".{folder.name}.{word}-{os.getpid()}-{secrets.token_hex(4)}") for word in ("new", "old")
    )
    try:
        new.mkdir()
        for name, text in {**files, MARK: "".join(f"{name}\n" for name in sorted(files))}.items():
            (new / name).write_text(text, "utf-8", newline="\n")
        if folder.exists():
            folder.rename(old)
        try:
            new.rename(folder)
        except OSError:
            if old.exists():
                old.rename(folder)
            raise
    finally:
        shutil.rmtree(new, ignore_errors=True)
    shutil.rmtree(old, ignore_errors=True)


def _must_be_ours(folder: Path) -> None:
    if not folder.exists():
        return
    if not folder.is_dir():
        raise NotOurs(f"{folder} is no folder")
    there = {path.name for path in folder.iterdir()}
    try:
        listed = {MARK, *(folder / MARK).read_text("utf-8").splitlines()}
    except (OSError, UnicodeDecodeError):
        listed = set()
    others = sorted(there - listed)
    if others:
        shown = ", ".join(others[:3]) + (", ..." if len(others) > 3 else "")
        raise NotOurs(f"{folder} has files that are not of a site of tflint-gpu, and would be lost: {shown}")
