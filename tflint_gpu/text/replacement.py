"""Putting data in the place of a file, whole or not at all."""

from __future__ import annotations

import contextlib
import os
import stat
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

_one_at_a_time = threading.Lock()
_ending = threading.Event()
_PATIENCE = 10.0
"""Seconds to wait at most for a file: a disk can hang."""


def replace_file(path: Path, data: bytes, done: Callable[[], object] = lambda: None) -> None:
    """Give a file another content, or make it.

    The mode and, where we may, the owner stay. If the path is a symbolic link, the file that it leads
    to is replaced. What is no file, such as `/dev/stdout` or a named pipe, is written to and stays what it is.

    Arguments:
        path: of the file.
        data: its new content.
        done: called as soon as a regular file has been replaced, before `no_file_half_replaced` stops waiting for it.

    Raises:
        OSError: the file cannot be written; it is as it was.
    """
    try:
        status = path.stat()
    except FileNotFoundError:
        status = None
    if status is not None and not stat.S_ISREG(status.st_mode):
        path.write_bytes(data)
        return
    with _one_at_a_time:
        if not _ending.is_set():
            _replace(path.resolve(), data, status)
            done()
            return
    threading.Event().wait()  # the process ends, and no further file is begun


@contextlib.contextmanager
def no_file_half_replaced() -> Iterator[None]:
    """Wait for the replacement that another thread is at, and let none begin: so the process can end."""
    _ending.set()
    is_ours = _one_at_a_time.acquire(timeout=_PATIENCE)
    try:
        yield
    finally:
        if is_ours:
            _one_at_a_time.release()


def _replace(real: Path, data: bytes, status: os.stat_result | None) -> None:
    import tempfile  # most runs replace nothing, and it takes milliseconds to import

    handle, name = tempfile.mkstemp(dir=real.parent, prefix=f".{real.name}.")
    temporary = Path(name)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        if status is not None:
            with contextlib.suppress(OSError, AttributeError):  # only root may give files away
                os.chown(temporary, status.st_uid, status.st_gid)
        temporary.chmod(_usual_mode() if status is None else status.st_mode & 0o7777)
        temporary.replace(real)
    except BaseException:
        with contextlib.suppress(OSError):
            temporary.unlink()
        raise


def _usual_mode() -> int:
    """The mode of a new file. The mask can only be read by setting it."""
    mask = os.umask(0o077)
    os.umask(mask)
    return 0o666 & ~mask
