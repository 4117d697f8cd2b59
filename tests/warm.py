"""Commands run in forks of one process that has imported them: what a start imports takes longer than most tests' work.

That the real start works is what `tests/cli/test_start.py` and all tests with a process of their own show.
"""

from __future__ import annotations

import array
import contextlib
import io
import json
import os
import socket
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

_SERVER = """
import gc, json, os, runpy, socket, sys
{imports}
gc.freeze()
requests = socket.socket(fileno=int(sys.argv[1]))
while True:
    data, files, _, _ = socket.recv_fds(requests, 1 << 20, 3)
    if not data:
        sys.exit()
    child = os.fork()
    if child == 0:
        break
    for file in files:
        os.close(file)
    requests.send(b"%d" % os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
requests.close()
words, folder, environment = json.loads(data)
for number, file in enumerate(files):
    os.dup2(file, number)
    os.close(file)
os.environ.clear()
os.environ.update(environment)
os.chdir(folder)
sys.argv = words
sys.path[0] = folder
runpy.run_module(words[0], run_name="__main__", alter_sys=True)
"""

WITH_ALL_RULES = """
from tflint_gpu.rule import UNREADABLE_FILE, entries, load
load(entry.code for entry in entries() if entry.code != UNREADABLE_FILE)
"""


HAS_FORKS = sys.platform == "linux"
"""Elsewhere each command is a process of its own: Windows has no fork, and macOS no sockets that keep packets apart."""


class Warm:
    """Runs `python -m` one after the other.

    Arguments:
        imports: statements that import what it needs.
        environment: more variables for the interpreter.
    """

    def __init__(self, imports: str, environment: Mapping[str, str] | None = None) -> None:
        environment = {**os.environ, **(environment or {})}
        self._environment = _of_the_interpreter(environment)
        if not HAS_FORKS:
            return
        self._requests, others = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with others:
            command = [sys.executable, "-c", _SERVER.format(imports=imports), str(others.fileno())]
            self._process = subprocess.Popen(
                command,
                pass_fds=[others.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                env=environment,
            )  # pipes, as the commands have them: an interpreter asks once whether it writes to a terminal
        self._requests.settimeout(600)

    def run(
        self, *words: str, cwd: Path, stdin: bytes | None = None, environment: Mapping[str, str] | None = None
    ) -> subprocess.CompletedProcess[bytes]:
        """`python -m` with these words; a variable that the interpreter itself reads needs a process of its own."""
        environment = dict(os.environ if environment is None else environment)
        if not HAS_FORKS or _of_the_interpreter(environment) != self._environment:
            command = [sys.executable, "-m", *words]
            return subprocess.run(command, cwd=cwd, input=stdin, capture_output=True, timeout=600, env=environment)
        with contextlib.ExitStack() as stack:
            given, out, err = (stack.enter_context(tempfile.TemporaryFile()) for _ in range(3))
            given.write(stdin or b"")
            given.seek(0)
            request = json.dumps([words, str(cwd), environment]).encode()
            descriptors = array.array("i", [given.fileno(), out.fileno(), err.fileno()])
            self._requests.sendmsg([request], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, descriptors)])
            code = int(self._requests.recv(100))
            out.seek(0)
            err.seek(0)
            return subprocess.CompletedProcess(words, code, out.read(), err.read())

    def close(self) -> None:
        """End the process."""
        if HAS_FORKS:
            self._requests.close()
            self._process.communicate(timeout=600)


def as_text(done: subprocess.CompletedProcess[bytes]) -> subprocess.CompletedProcess[str]:
    """What a command said, as `subprocess` decodes it."""
    out, err = (io.TextIOWrapper(io.BytesIO(data)).read() for data in (done.stdout, done.stderr))
    return subprocess.CompletedProcess(done.args, done.returncode, out, err)


def _of_the_interpreter(environment: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in environment.items() if name.startswith(("PYTHON", "LC_", "LANG"))}
