"""A process with all that descends from it: how much memory they hold together, and how none of them is left.

Without `/proc` (macOS) only the process group is known: it can be killed, its memory cannot be watched.
"""

from __future__ import annotations

import contextlib
import os
import signal
import time

from tflint_gpu.gpu.processes import PROC, living, members_of

_SECONDS_TO_DIE = 5.0
_SECONDS_BETWEEN_SCANS = 0.25


class Family:
    """The processes of one session, those that they started in other sessions, and who carries their mark.

    Arguments:
        leader: number of a process that leads a session, and so a process group, of its own.
        mark: `NAME=value`, an environment variable of the leader that no other process has. It finds
            those that left the session and whose parent is gone, unless they cleared their environment.
    """

    def __init__(self, leader: int, mark: str) -> None:
        self.leader = leader
        self._mark = os.fsencode(mark)
        self._known = {leader}
        self._next_scan = 0.0

    def members(self) -> frozenset[int]:
        """Return the numbers of the processes that live now; only the leader's where there is no `/proc`."""
        members = members_of(self.leader, self._known)
        self._known = {*members, self.leader}
        return members

    def memory(self) -> int | None:
        """Return the resident memory of all members in bytes, or None where it cannot be known.

        Pages that two members share count twice. New members are looked for four times a second only, since
        that reads all of `/proc` during a measurement.
        """
        now = time.monotonic()
        if now >= self._next_scan:
            self.members()
            self._next_scan = now + _SECONDS_BETWEEN_SCANS
        sizes = [size for pid in self._known if (size := _resident(pid)) is not None]
        return sum(sizes) if sizes else None

    def kill(self) -> bool:
        """Kill every member, with SIGKILL, and return whether all are gone.

        It waits for up to five seconds: a process that the kernel holds, say in a driver, dies late.
        """
        deadline = time.monotonic() + _SECONDS_TO_DIE
        while True:
            # PermissionError: on macOS, if only zombies are in the group.
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self.leader, signal.SIGKILL)
            remaining = (self.members() | self._marked()) if PROC.joinpath("self", "stat").exists() else frozenset()
            if not remaining:
                return True
            for pid in remaining:
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.kill(pid, signal.SIGKILL)
            if time.monotonic() > deadline:
                return False
            time.sleep(0.005)

    def _marked(self) -> frozenset[int]:
        return frozenset(pid for pid, _, _ in living() if self._mark in _environment(pid))


def _resident(pid: int) -> int | None:
    try:
        pages = (PROC / str(pid) / "statm").read_bytes().split()[1]
    except (OSError, IndexError):
        return None
    return int(pages) * os.sysconf("SC_PAGE_SIZE")


def _environment(pid: int) -> list[bytes]:
    try:
        return (PROC / str(pid) / "environ").read_bytes().split(b"\0")
    except OSError:  # it ended, or is another user's
        return []
