"""Putting data in the place of a file, whole or not at all."""

from __future__ import annotations

import contextlib
import os
import tempfile
from pathlib import Path


def replace_file(path: Path, data: bytes) -> None:
    """Give a file another content, or make it.

    The mode and, where we may, the owner stay. If the path is a symbolic link, the file that it leads
    to is replaced.

    Raises:
        OSError: the file cannot be written; it is as it was.
    """
    real = path.resolve()
    try:
        status = real.stat()
    except FileNotFoundError:
        status = None
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
