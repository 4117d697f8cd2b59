"""Landlock: a process that forbids itself and all that it starts to write elsewhere, with Linux's own means (5.13 on).

As a script, for any Python 3, `python landlock.py WRITABLE... -- COMMAND...` confines itself and becomes the command.
It needs no rights and no package. Numbers and layouts are those of the kernel's `include/uapi/linux/landlock.h`.
"""

import contextlib
import ctypes
import os
import stat
import sys

_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446  # the same on all architectures
_ASK_VERSION, _BENEATH_PATH, _NO_NEW_PRIVILEGES = 1, 1, 38
_WRITE_FILE, _REFER, _TRUNCATE = 1 << 1, 1 << 13, 1 << 14
_CHANGE_FOLDERS = sum(1 << bit for bit in range(4, 13))  # remove and make entries of each kind
_BIND_AND_CONNECT_TCP = 3
_ABSTRACT_SOCKETS_AND_SIGNALS = 3
NETWORK_SINCE = 4
"""The version of Landlock from which on it can forbid TCP."""


class _Ruleset(ctypes.Structure):
    _fields_ = [("files", ctypes.c_uint64), ("network", ctypes.c_uint64), ("scoped", ctypes.c_uint64)]


class _Beneath(ctypes.Structure):
    _pack_ = 1
    _fields_ = [("allowed", ctypes.c_uint64), ("folder", ctypes.c_int32)]


def version() -> int:
    """The version of Landlock that this kernel has; 0 where it has none, or has it switched off."""
    if sys.platform != "linux":
        return 0
    try:
        return max(0, int(_libc().syscall(_CREATE_RULESET, None, ctypes.c_size_t(0), ctypes.c_uint32(_ASK_VERSION))))
    except (OSError, AttributeError):
        return 0


def confine(writable: "list[str]") -> None:
    """Forbid this process to write but below some paths, and to open TCP connections; reading stays allowed.

    Arguments:
        writable: folders and device files; those that are missing are passed over. `/proc/self` is this process, and
            so the command's, too, but none that it starts.

    Raises:
        OSError: the kernel refuses.
    """
    known = version()
    files = _WRITE_FILE | _CHANGE_FOLDERS | (_REFER if known >= 2 else 0) | (_TRUNCATE if known >= 3 else 0)
    ruleset = _Ruleset(
        files,
        _BIND_AND_CONNECT_TCP if known >= NETWORK_SINCE else 0,
        _ABSTRACT_SOCKETS_AND_SIGNALS if known >= 6 else 0,
    )
    size = 8 if known < NETWORK_SINCE else 16 if known < 6 else 24
    rules = _call(_CREATE_RULESET, ctypes.byref(ruleset), ctypes.c_size_t(size), ctypes.c_uint32(0))
    for path in writable:
        with contextlib.suppress(FileNotFoundError):
            _allow(rules, path, files)
    if _libc().prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0):
        raise OSError(ctypes.get_errno(), "prctl")
    _call(_RESTRICT_SELF, ctypes.c_int(rules), ctypes.c_uint32(0))
    os.close(rules)


def _allow(rules: int, path: str, files: int) -> None:
    descriptor = os.open(path, os.O_PATH)
    is_kept = path.startswith("/proc/")  # with an entry that nobody has open, the kernel forgets what is allowed there
    try:
        os.set_inheritable(descriptor, is_kept)
        allowed = files if stat.S_ISDIR(os.fstat(descriptor).st_mode) else files & (_WRITE_FILE | _TRUNCATE)
        beneath = _Beneath(allowed, descriptor)
        _call(_ADD_RULE, ctypes.c_int(rules), _BENEATH_PATH, ctypes.byref(beneath), ctypes.c_uint32(0))
    finally:
        if not is_kept:
            os.close(descriptor)


def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


def _call(number: int, *arguments: object) -> int:
    done = int(_libc().syscall(number, *arguments))
    if done < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return done


if __name__ == "__main__":
    rest = sys.argv.index("--")
    confine(sys.argv[1:rest])
    os.execv(sys.argv[rest + 1], sys.argv[rest + 1 :])
