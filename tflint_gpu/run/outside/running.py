"""A process that runs already: what it was started with, and which folders hold what is installed for it."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import time
from collections.abc import Iterator, Mapping
from dataclasses import field
from pathlib import Path

from tflint_gpu.gpu.processes import PROC, living
from tflint_gpu.lazy_dataclasses import dataclass
from tflint_gpu.run.process import BOUND

_FRAMES = Path(__file__).resolve().parents[1] / "inside" / "tflint_frames.py"
_PATIENCE = 60.0


@dataclass(frozen=True, slots=True)
class Running:
    """A process, of which another system than Linux tells the number alone.

    Arguments:
        words: its command.
        here: the folder that it is in.
        began: when, in the kernel's ticks, which tells it from a later process of the same number.
    """

    pid: int
    words: tuple[str, ...] = ()
    here: Path = field(default_factory=Path.cwd)
    environment: Mapping[str, str] = field(default_factory=lambda: dict(os.environ))
    began: str = ""

    @classmethod
    def of(cls, pid: int) -> Running:
        """A process by its number.

        Raises:
            ProcessLookupError: there is none.
            PermissionError: it is another user's.
        """
        folder = PROC / str(pid)
        if not PROC.joinpath("self").exists():
            os.kill(pid, 0)
            return cls(pid)
        if not (began := _began(pid)):
            raise ProcessLookupError(pid)
        try:
            pairs = os.fsdecode((folder / "environ").read_bytes()).split("\0")
            environment = dict(pair.split("=", 1) for pair in pairs if "=" in pair)
            return cls(pid, _command(pid), (folder / "cwd").readlink(), environment, began)
        except FileNotFoundError as error:
            raise ProcessLookupError(pid) from error

    @classmethod
    def started(cls, pid: int, python: str) -> Running:
        """A program that this process has just started, when this interpreter runs it."""
        words = _command(pid)
        while str(BOUND) in words and (now := _command(pid)):
            words = now
            time.sleep(0.005)
        return cls(pid, (python, *words[1:]), Path.cwd(), dict(os.environ), _began(pid))

    @property
    def since(self) -> float | None:
        """When it began, on the clock of files; None where the system does not tell."""
        if not self.began:
            return None
        return time.time() - time.clock_gettime(time.CLOCK_BOOTTIME) + int(self.began) / os.sysconf("SC_CLK_TCK")

    @property
    def title(self) -> str:
        """Its number and its command."""
        words = [Path(self.words[0]).name, *self.words[1:]] if self.words else []
        return f"process {self.pid} ({shlex.join(words)})" if words else f"process {self.pid}"

    @property
    def lives(self) -> bool:
        """Whether it still runs."""
        if self.began:
            return _began(self.pid) == self.began
        try:
            os.kill(self.pid, 0)
        except ProcessLookupError:
            return False
        except PermissionError:
            pass
        return True

    @property
    def has_children(self) -> bool:
        """Whether it started processes that live."""
        return bool(self.began) and any(parent == self.pid for _, parent, _ in living())

    def folders(self, otherwise: str) -> tuple[str, ...]:
        """The folders of Python and of what is installed for the interpreter that runs it.

        Arguments:
            otherwise: the interpreter that is asked where this one is not known, or not to be run from here.
        """
        for python in [*self._interpreters(), otherwise]:
            command = [python, str(_FRAMES)]
            try:
                done = subprocess.run(
                    command,
                    cwd=self.here,
                    env=self.environment,
                    stdin=subprocess.DEVNULL,
                    capture_output=True,
                    timeout=_PATIENCE,
                )
                return tuple(json.loads(done.stdout))
            except (OSError, ValueError, subprocess.TimeoutExpired):
                continue
        return ()

    def computing(self, threads: set[int]) -> int:
        """How many of its threads compute, or want to, other than these; -1 where that is not known."""
        count = 0
        try:
            for task in (PROC / str(self.pid) / "task").iterdir():
                if int(task.name) not in threads:
                    count += (task / "stat").read_bytes().rpartition(b") ")[2][:1] == b"R"
        except OSError:
            return -1
        return count

    def _interpreters(self) -> Iterator[str]:
        """Its interpreter by its name in the command, which tells the virtual environment, and by its file."""
        if not self.began:
            return
        file = PROC / str(self.pid) / "exe"
        by_name = shutil.which(self.words[0], path=self.environment.get("PATH")) if self.words else None
        for name in (self.here / self.words[0] if self.words else None, by_name):
            if name and Path(name).is_file() and Path(name).samefile(file):
                yield str(name)
        yield str(file.readlink())


def _command(pid: int) -> tuple[str, ...]:
    """The words that a process was started with; none where it has ended, or is not known."""
    try:
        text = os.fsdecode((PROC / str(pid) / "cmdline").read_bytes())
    except OSError:
        return ()
    return tuple(text.rstrip("\0").split("\0")) if text else ()


def _began(pid: int) -> str:
    """When a process began, in the kernel's ticks; empty where none of that number lives."""
    try:
        state, *rest = (PROC / str(pid) / "stat").read_text(errors="replace").rpartition(") ")[2].split()
    except OSError:
        return ""
    return "" if re.match("[ZX]", state) else rest[18]
