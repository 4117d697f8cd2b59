"""py-spy as a process: it finds it, starts it, ends it, and says in words why it cannot read a program."""

from __future__ import annotations

import contextlib
import importlib.metadata
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from dataclasses import field
from pathlib import Path
from typing import Any

from tflint_gpu.gpu.processes import PROC
from tflint_gpu.lazy_dataclasses import dataclass
from tflint_gpu.run.outside.running import Running

_PATIENCE = 60.0
_PRIORITY = -10
_SYS_PTRACE = 1 << 19  # of the kernel's include/uapi/linux/capability.h
_SIGNALS = {signal.SIGINT, signal.SIGTERM, signal.SIGHUP}


class CannotWatch(Exception):
    """A process cannot be watched; the text says why, and what is needed."""


def find() -> str:
    """The program `py-spy`, of the package that is installed beside this one, or else in the search path.

    Raises:
        CannotWatch: there is none.
    """
    try:
        files = importlib.metadata.files("py-spy") or []
    except importlib.metadata.PackageNotFoundError:
        files = []
    installed = [str(file.locate()) for file in files if file.name in ("py-spy", "py-spy.exe")]
    path = next(filter(os.path.isfile, installed), None) or shutil.which("py-spy")
    if path is None:
        raise CannotWatch(
            "py-spy is not installed: pip install 'tflint-gpu[run]' (in a checkout of tflint-gpu: pip install '.[run]')"
        )
    return path


@dataclass(slots=True)
class Record:
    """py-spy while it records a process: for some seconds, or until it is stopped.

    The process is not paused, apart from native stacks, which cannot be read otherwise.
    """

    process: subprocess.Popen[bytes]
    folder: tempfile.TemporaryDirectory[str] = field(repr=False)

    @classmethod
    def begin(cls, program: str, pid: int, seconds: int, rate: int, *options: str) -> Record:
        """Start it.

        Arguments:
            seconds: after which it ends by itself at the latest, whatever happens to this process.
            rate: samples per second.
        """
        folder = tempfile.TemporaryDirectory(prefix="tflint-gpu-")
        command = [program, "record", "--pid", str(pid), "--duration", str(seconds), "--rate", str(rate)]
        command += ["--format", "speedscope", "--output", str(Path(folder.name, "stacks.json")), *options]
        streams: dict[str, Any] = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE}
        # A session of its own: Ctrl-C is for us, who then tell it. We may hold signals back, which it must not.
        process = subprocess.Popen(command, start_new_session=True, preexec_fn=_prepare, **streams)
        return cls(process, folder)

    @property
    def has_ended(self) -> bool:
        """Whether it has written what it saw."""
        return self.process.poll() is not None

    def end(self) -> tuple[dict[str, Any] | None, str]:
        """What it saw until now, or None and why it saw nothing."""
        with self.folder:
            if not self.has_ended:
                self.process.send_signal(signal.SIGINT)
            try:
                _, error = self.process.communicate(timeout=_PATIENCE)
                seen: dict[str, Any] = json.loads(Path(self.folder.name, "stacks.json").read_bytes())
                return seen, ""
            except subprocess.TimeoutExpired:
                self.process.kill()
                return None, "py-spy does not stop"
            except (OSError, ValueError):
                return None, os.fsdecode(error)


def look(program: str, pid: int) -> tuple[list[dict[str, Any]], str]:
    """All threads of a process at one moment, or none and why not."""
    command = [program, "dump", "--pid", str(pid), "--nonblocking", "--json"]
    try:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, timeout=_PATIENCE)
        return list(json.loads(done.stdout)), ""
    except subprocess.TimeoutExpired:
        return [], "py-spy does not answer"
    except ValueError:
        return [], os.fsdecode(done.stderr)


def why_not(running: Running, error: str) -> str:
    """Why py-spy cannot read a process, in words, and what is needed.

    Arguments:
        error: what it said.
    """
    if not running.lives:
        return f"--pid {running.pid}: the process has ended"
    if "ermission" in error or "os error 1)" in error or "os error 13)" in error:
        return f"--pid {running.pid}: {may_not_read(running.pid)}"
    if "python version" in error:
        return f"--pid {running.pid}: py-spy finds no Python interpreter in {running.title}"
    said = error.partition("Stack backtrace")[0].replace("Error: ", "").strip()
    return f"--pid {running.pid}: py-spy cannot read {running.title}: {said}"


def may_not_read(pid: int) -> str:
    """What it takes that the system lets one process read another."""
    again = 'as root: sudo env "PATH=$PATH" tflint-gpu run --pid ' + str(pid)
    if sys.platform != "linux":
        return f"this system lets nobody but root read a process; run it {again}"
    needs = []
    scope = 0
    if _user_of(pid) not in (os.geteuid(), None):
        needs.append("the process belongs to another user")
    elif scope := _scope():
        needs.append(f"kernel.yama.ptrace_scope is {scope}: `sudo sysctl kernel.yama.ptrace_scope=0` allows it")
    if not _capabilities() & _SYS_PTRACE:
        needs.append(f"or run it {again}" if scope else f"run it {again}")
    needs.append(
        "in a container, start the container with --cap-add SYS_PTRACE (Kubernetes: `securityContext.capabilities.add`)"
    )
    return f"the system does not let this process read it; {'; '.join(needs)}"


def _prepare() -> None:
    """Let signals in, and ask for a higher priority, which not everybody gets.

    Where all processors are busy, py-spy would be let in when the program lets go of one, and see little else.
    """
    signal.pthread_sigmask(signal.SIG_UNBLOCK, _SIGNALS)
    with contextlib.suppress(OSError):
        os.setpriority(os.PRIO_PROCESS, 0, _PRIORITY)


def _user_of(pid: int) -> int | None:
    try:
        return (PROC / str(pid)).stat().st_uid
    except OSError:
        return None


def _scope() -> int:
    try:
        return int((PROC / "sys/kernel/yama/ptrace_scope").read_text())
    except (OSError, ValueError):
        return 0


def _capabilities() -> int:
    try:
        lines = (PROC / "self/status").read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1], 16) for line in lines if line.startswith("CapEff:")), 0)
