"""Which processes there are, and which of them descend from one: NVML lists the memory of each by its number.

Without `/proc` (macOS) only the process itself is known.
"""

from __future__ import annotations

from collections.abc import Iterator, Set
from pathlib import Path

PROC = Path("/proc")


def members_of(leader: int, known: Set[int]) -> frozenset[int]:
    """Those that live now of a session and of all that descends from it.

    Arguments:
        leader: of the session.
        known: what was found before, whose children belong to it, too.
    """
    if not PROC.joinpath("self", "stat").exists():
        return frozenset({leader})
    numbers: set[int] = set()
    for pid, parent, session in living():
        if session == leader or pid == leader or parent in known or parent in numbers:
            numbers.add(pid)
    return frozenset(numbers)


def descendants(leader: int) -> frozenset[int]:
    """The process, all that descends from it, and all of its session, as far as they live; it alone without `/proc`.

    In bubblewrap the program is a grandchild of the process that was started.
    """
    return members_of(leader, {leader}) | {leader}


def is_known(pid: int) -> bool:
    """Whether a process of this number can be seen from here; a container shows only its own."""
    return (PROC / str(pid)).exists()


def numbers(pid: int) -> tuple[int, ...]:
    """The numbers that a process has, from the outermost namespace that can be seen to its own.

    Linux tells them in `/proc/PID/status` as `NSpid` (proc(5), since 4.1); elsewhere a process has one number.
    """
    try:
        lines = (PROC / str(pid) / "status").read_bytes().splitlines()
    except OSError:
        return (pid,)
    numbers = next((line.split()[1:] for line in lines if line.startswith(b"NSpid:")), [])
    return tuple(int(number) for number in numbers) or (pid,)


def living() -> Iterator[tuple[int, int, int]]:
    """Yield number, parent and session of every process that is no zombie, older ones mostly first."""
    for folder in PROC.iterdir():
        if not folder.name.isdigit():
            continue
        try:
            stat = (folder / "stat").read_bytes()
        except OSError:  # it ended meanwhile
            continue
        state, parent, _, session = stat[stat.rindex(b")") + 2 :].split()[:4]
        if state not in (b"Z", b"X"):
            yield int(folder.name), int(parent), int(session)
