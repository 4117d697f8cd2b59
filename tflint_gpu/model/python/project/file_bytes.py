"""The bytes of a project's files, each read once, with the stamp that shows whether a file has changed since."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol, TypeVar

from tflint_gpu.dependencies import Stamp, stamp_of

_T = TypeVar("_T")


class Keep(Protocol):
    """Gives what was found in a file's bytes, as it was kept if they are the same, or made now."""

    def __call__(self, path: Path, data: bytes, what: str, make: Callable[[], Any]) -> Any:
        """The answer.

        Arguments:
            what: names the question, since `make` is another function each time.
        """


class FileBytes:
    """What was read. A project and what answers for it share one, so that neither holds the other alive.

    Arguments:
        read: gives the bytes; it raises OSError where there are none.
        keep: gives what was found in them.
    """

    def __init__(self, read: Callable[[Path], bytes], keep: Keep) -> None:
        self._read = read
        self._keep = keep
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

    def ask(self, path: Path, what: str, analysis: Callable[[bytes], _T]) -> _T:
        """What an analysis finds in a file's bytes; in none where there are none.

        Arguments:
            what: names the analysis.
        """
        data = self.read(path) or b""
        answer: _T = self._keep(path, data, what, lambda: analysis(data))
        return answer

    def stamp(self, path: Path) -> Stamp | None:
        """What a file that was read looked like before."""
        return self._stamps.get(path)
