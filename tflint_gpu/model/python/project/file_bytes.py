"""The bytes of a project's files, each read once, with the stamp that shows whether a file has changed since."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from tflint_gpu.dependencies import Stamp, stamp_of


class FileBytes:
    """What was read. A project and what answers for it share one, so that neither holds the other alive.

    Arguments:
        read: gives the bytes; it raises OSError where there are none.
    """

    def __init__(self, read: Callable[[Path], bytes]) -> None:
        self._read = read
        self._data: dict[Path, bytes | None] = {}
        self._stamps: dict[Path, Stamp | None] = {}

    def read(self, path: Path) -> bytes | None:
        """A file's bytes; None where there are none."""
        if path not in self._data:
            self._stamps[path] = stamp_of(str(path))  # before it is read: a change between the two shows
            try:
                self._data[path] = self._read(path)
            except OSError:
                self._data[path] = None
        return self._data[path]

    def stamp(self, path: Path) -> Stamp | None:
        """What a file that was read looked like before."""
        return self._stamps.get(path)
