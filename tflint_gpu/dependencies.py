"""What the answers about files rest on: which paths were asked for, and what these held."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterable, Mapping
from dataclasses import field

from tflint_gpu.lazy_dataclasses import dataclass

Stamp = tuple[int, int, int, int]
"""When a file was written and when anything of it was changed (in nanoseconds), its size and its number."""


@dataclass(frozen=True, slots=True)
class State:
    """What a path held when it was asked for.

    Arguments:
        digest: of the file's bytes, or a word for a folder; None if there was nothing.
        stamp: of the file, taken before it was read.
    """

    digest: str | None
    stamp: Stamp | None = None


@dataclass(frozen=True, slots=True)
class Dependencies:
    """The paths that files ask for by their imports, whether they are there or not.

    Arguments:
        asked: by the asking file, what it asks for itself; answers rest on what those ask for, too.
        states: of all paths that are named.
    """

    asked: Mapping[str, Iterable[str]] = field(default_factory=dict)
    states: Mapping[str, State] = field(default_factory=dict)


def stamp_of(path: str) -> Stamp | None:
    """What tells a file from what it was before, without reading it; None if there is none."""
    try:
        return stamp_from(os.stat(path))  # noqa: PTH116  # asked of thousands of paths: a Path costs more than the rest
    except OSError:
        return None


def stamp_from(status: os.stat_result) -> Stamp:
    """The stamp of a file of which the status is known."""
    return status.st_mtime_ns, status.st_ctime_ns, status.st_size, status.st_ino


def read_bytes(path: str) -> bytes:
    """The bytes of a regular file or a link to one.

    Raises:
        OSError: there is none; a pipe would be waited for until somebody writes to it.
    """
    mode = os.stat(path).st_mode  # noqa: PTH116  # as above
    if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
        raise OSError(errno.EINVAL, "not a regular file", path)
    with open(path, "rb") as file:  # noqa: PTH123  # as above
        return file.read()


def digest_of(data: bytes) -> str:
    """A name for a file's bytes."""
    import hashlib  # OpenSSL comes with it, in milliseconds

    return hashlib.blake2b(data, digest_size=16).hexdigest()


def state_of(path: str) -> State:
    """The state of a path now."""
    stamp = stamp_of(path)
    try:
        return State(digest_of(read_bytes(path)), stamp)
    except IsADirectoryError:
        return State("folder")
    except OSError:
        return State(None)
