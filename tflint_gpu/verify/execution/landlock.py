"""Landlock: a process that forbids itself and all that it starts to write elsewhere, with Linux's own means (5.13 on).

As a script, for any Python 3, `python landlock.py WRITABLE... -- COMMAND...` confines itself and becomes the command.
It needs no rights and no package. Numbers and layouts are those of the kernel's `include/uapi/linux/landlock.h`,
`seccomp.h`, `filter.h` and its tables of system calls.

Landlock has no right for owners, permissions, times and attributes of files. A seccomp filter keeps those: it sees no
path, so calls that change them do nothing, wherever the file is, and succeed. To refuse them would end programs that
copy a file.
"""

import contextlib
import ctypes
import os
import platform
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
TRUNCATION_SINCE = 3
"""The version from which on it can forbid to empty a file."""

_GET_SECCOMP, _SET_SECCOMP, _WITH_FILTER = 21, 22, 2
_LOAD, _JUMP_IF_EQUAL, _JUMP_IF_AT_LEAST, _RETURN = 0x20, 0x15, 0x35, 0x06
_NUMBER, _ARCHITECTURE, _SECOND_ARGUMENT = 0, 4, 24  # where a call's data has them
_ALLOW, _PRETEND, _REFUSE = 0x7FFF0000, 0x00050000, 0x00050001  # the second: without an error, the third: EPERM
_FOREIGN = 0x40000000  # x86-64: calls of x32 have such numbers
_SET_FLAGS = (0x40086602, 0x401C5820)  # FS_IOC_SETFLAGS, FS_IOC_FSSETXATTR
_RING = 425  # io_uring_setup: what a ring is asked for, no filter sees
_NEW = (452, 463, 466, 469)  # fchmodat2, setxattrat, removexattrat, file_setattr: the same on all architectures
# The architecture, ioctl, and what changes modes, owners, times and extended attributes.
_CALLS = {
    "x86_64": (0xC000003E, 16, (*range(90, 95), 132, *range(188, 191), *range(197, 200), 235, 260, 261, 268, 280)),
    "aarch64": (0xC00000B7, 29, (*range(5, 8), *range(14, 17), *range(52, 56), 88)),
}


class _Ruleset(ctypes.Structure):
    _fields_ = [("files", ctypes.c_uint64), ("network", ctypes.c_uint64), ("scoped", ctypes.c_uint64)]


class _Beneath(ctypes.Structure):
    _pack_ = 1
    _fields_ = [("allowed", ctypes.c_uint64), ("folder", ctypes.c_int32)]


class _Instruction(ctypes.Structure):
    _fields_ = [
        ("code", ctypes.c_uint16),
        ("then", ctypes.c_uint8),
        ("otherwise", ctypes.c_uint8),
        ("k", ctypes.c_uint32),
    ]


class _Program(ctypes.Structure):
    _fields_ = [("length", ctypes.c_uint16), ("filter", ctypes.POINTER(_Instruction))]


def version() -> int:
    """The version of Landlock that this kernel has; 0 where it has none, or has it switched off."""
    if sys.platform != "linux":
        return 0
    try:
        return max(0, int(_libc().syscall(_CREATE_RULESET, None, ctypes.c_size_t(0), ctypes.c_uint32(_ASK_VERSION))))
    except (OSError, AttributeError):
        return 0


def keeps_attributes() -> bool:
    """Whether permissions, owners and times of files can be kept as they are: seccomp is there, its calls are known."""
    return platform.machine() in _CALLS and _libc().prctl(_GET_SECCOMP) >= 0


def confine(writable: "list[str]") -> None:
    """Forbid this process to write but below some paths, and to open TCP connections; reading stays allowed.

    Where `keeps_attributes`, permissions, owners and times of all files stay as they are.

    Arguments:
        writable: folders and device files; those that are missing are passed over. `/proc/self` is this process, and
            so the command's, too, but none that it starts.

    Raises:
        OSError: the kernel refuses.
    """
    known = version()
    files = (
        _WRITE_FILE | _CHANGE_FOLDERS | (_REFER if known >= 2 else 0) | (_TRUNCATE if known >= TRUNCATION_SINCE else 0)
    )
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
    if keeps_attributes():
        _keep_attributes()


def _keep_attributes() -> None:
    instructions = _filter(*_CALLS[platform.machine()])
    program = _Program(
        len(instructions), (_Instruction * len(instructions))(*(_Instruction(*fields) for fields in instructions))
    )
    if _libc().prctl(_SET_SECCOMP, _WITH_FILTER, ctypes.byref(program), 0, 0):
        raise OSError(ctypes.get_errno(), "prctl")


def _filter(architecture: int, ioctl: int, calls: "tuple[int, ...]") -> "list[tuple[int, int, int, int]]":
    """Pretend that these calls succeed, refuse rings and those of other architectures, and allow all else."""

    def returning(value: int, number: int, jump: int = _JUMP_IF_EQUAL) -> "list[tuple[int, int, int, int]]":
        return [(jump, 0, 1, number), (_RETURN, 0, 0, value)]

    rest = [(_LOAD, 0, 0, _SECOND_ARGUMENT)]
    for flag in _SET_FLAGS:
        rest += returning(_PRETEND, flag)
    made = [(_LOAD, 0, 0, _ARCHITECTURE), (_JUMP_IF_EQUAL, 1, 0, architecture), (_RETURN, 0, 0, _REFUSE)]
    made += [(_LOAD, 0, 0, _NUMBER), *returning(_REFUSE, _FOREIGN, _JUMP_IF_AT_LEAST), *returning(_REFUSE, _RING)]
    for call in (*calls, *_NEW):
        made += returning(_PRETEND, call)
    return [*made, (_JUMP_IF_EQUAL, 0, len(rest), ioctl), *rest, (_RETURN, 0, 0, _ALLOW)]


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
