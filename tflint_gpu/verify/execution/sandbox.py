"""What a program that verify runs may see, use and reach: its environment, its limits, and what confines it.

That is bubblewrap where it works, else Landlock. On macOS there is neither, nor a watch over memory (no `/proc`), and
a program outlives a verify that is killed by SIGKILL: `missing_mechanisms` says so. Nowhere is the number of processes
limited (the system counts those of a user), nor the sum of all files, only each.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import os
import re
import shutil
import site
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import field
from pathlib import Path
from typing import Literal

from tflint_gpu.lazy_dataclasses import dataclass
from tflint_gpu.verify.execution import landlock

RESULT_VARIABLE = "TFLINT_GPU_RESULT"
"""The environment variable that tells a program where to write its result."""

DROPPED_VARIABLES = ("XLA_FLAGS", "TF_XLA_FLAGS", "KERAS_BACKEND", "OMP_NUM_THREADS", "PYTHONPATH")
"""What changes a measurement and does not reach the programs, unless it is handed on by name."""

_KEPT_VARIABLES = ("PATH", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "CUDA_HOME")
_GPU_DEVICES = ("nvidia*", "dri", "kfd", "dxg")
_DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/tty", "/dev/shm")
_KERNEL = ("/proc/sys", "/proc/sysrq-trigger", "/proc/irq", "/proc/bus")
_THREADS = "/proc/self/task"  # CUDA names its threads there, and does not start where it may not (error 304)
_SOCKETS_OF_SERVICES = ("/run/docker.sock", "/run/containerd/containerd.sock", "/run/podman/podman.sock")
_TRIAL_SECONDS = 20
_ENTRY = r"(?:\d+|GPU-[\w-]+|MIG-[\w/-]+)"
_TEMPORARY = "/tmp"

# Runs in the new process, before the program, and becomes it. Not `preexec_fn`, which may deadlock with threads.
_LAUNCHER = """
import os, resource, sys
rest = sys.argv.index("--")
for setting in sys.argv[2:rest]:
    name, value = setting.split("=")
    kind = getattr(resource, name)
    ceiling = resource.getrlimit(kind)[1]
    within = int(value) if ceiling == resource.RLIM_INFINITY else min(int(value), ceiling)
    resource.setrlimit(kind, (within, within if name != "RLIMIT_CPU" else ceiling))
try:
    os.setpriority(os.PRIO_PROCESS, 0, -10)
    with open("/proc/self/autogroup", "w") as file:  # where Linux weighs sessions and not processes
        file.write("-10")
except OSError:
    pass
if sys.platform == "linux":
    try:
        with open("/proc/self/oom_score_adj", "w") as file:
            file.write("1000")
        import ctypes
        ctypes.CDLL(None).prctl(1, 9)
    except (OSError, ImportError, AttributeError):
        pass
    if os.getppid() != int(sys.argv[1]):  # who would have been waited for is dead already
        os._exit(1)
os.execv(sys.argv[rest + 1], sys.argv[rest + 1:])
"""


Kind = Literal["bwrap", "landlock", "none"]


class SandboxUnavailable(Exception):
    """What was demanded, or anything that confines a program, does not work here; the text says why."""


@dataclass(frozen=True, slots=True)
class Limits:
    """What one program may use.

    Arguments:
        seconds: of wall time, from its start to its end; for a program that tells when it has imported TensorFlow, from
            then on.
        import_seconds: that it may take until it tells that.
        cpu_seconds: of processor time, of each of its processes; None for no limit but the wall time.
        memory_bytes: resident memory of all its processes together; None for no limit. It is looked at twenty times
            a second, so a program can exceed it for a moment. Address space is not limited: TensorFlow
            maps much more than it uses.
        file_bytes: size of each file that it writes; writing more raises OSError in it.
        output_bytes: how much of the end of its output, and of its errors, is kept. The rest is read and dropped.
    """

    seconds: float = 60.0
    import_seconds: float = 0.0
    cpu_seconds: int | None = None
    memory_bytes: int | None = 8 << 30
    file_bytes: int = 1 << 30
    output_bytes: int = 64 << 10

    def within(self, seconds: float) -> Limits:
        """The same, so that it ends within some seconds of wall time."""
        least = max(0.1, min(self.seconds, seconds))
        return dataclasses.replace(
            self, seconds=least, import_seconds=max(0.0, min(self.import_seconds, seconds - least))
        )


@dataclass(frozen=True, slots=True)
class Sandbox:
    """How programs are shut in.

    Arguments:
        kind: "bwrap" (no network, a read-only file system but for the scratch folder, a /tmp of its own), "landlock"
            (no TCP, a read-only file system but for the scratch folder) or "none".
        note: a sentence for the user: what is used and why.
        executable: path of bubblewrap.
        variables: what the programs' environment has besides.
    """

    kind: Kind
    note: str
    executable: str | None = None
    variables: Mapping[str, str] = field(default_factory=dict)

    def wrap(self, command: Sequence[str], scratch: Path, device: str) -> list[str]:
        """Return the command that runs another one inside the sandbox.

        Arguments:
            command: the program with its arguments, an absolute path first.
            scratch: the only folder that can be written to; also where the command starts.
            device: "cpu" or "gpu:N"; with a GPU the device files of the cards can be reached, and the
                driver's cache of compiled kernels, if there is one, can be written.
        """
        if self.kind == "landlock":
            cards = [*_card_files(), _THREADS] if device != "cpu" else []
            writable = [str(scratch), *_DEVICES, *cards, *filter(None, [_kernel_cache()])]
            return [command[0], "-I", "-S", landlock.__file__, *writable, "--", *command]
        if self.executable is None:
            return list(command)
        arguments = [self.executable, "--die-with-parent", "--unshare-pid", "--unshare-net", "--unshare-ipc"]
        arguments += ["--cap-drop", "ALL", "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc"]
        for path in filter(os.path.exists, _KERNEL):  # a program of root's could write them without any right
            arguments += ["--ro-bind", path, path]
        arguments += ["--tmpfs", _TEMPORARY, *_reopened(command)]
        if Path("/run/user").is_dir():
            arguments += ["--tmpfs", "/run/user"]
        for path in filter(os.path.exists, _SOCKETS_OF_SERVICES):  # a socket works on a read-only file system too
            arguments += ["--ro-bind", "/dev/null", path]
        if device != "cpu":
            _make_memory_device()
            for path in _card_files():
                arguments += ["--dev-bind", path, path]
            if cache := _kernel_cache():
                arguments += ["--bind", cache, cache]
        arguments += ["--bind", str(scratch), str(scratch), "--chdir", str(scratch)]
        return [*arguments, "--", *command]


def _card_files() -> list[str]:
    """The device files of the cards."""
    return sorted(str(path) for pattern in _GPU_DEVICES for path in Path("/dev").glob(pattern))


NO_SANDBOX = Sandbox("none", "programs run without a sandbox")


def _reopened(command: Sequence[str]) -> list[str]:
    """What a program needs of the system's /tmp: it gets an empty one of its own, which it can write to."""
    needed = (Path(part) for part in (*command, sys.prefix, sys.base_prefix))
    inside = (path for path in needed if Path(_TEMPORARY) in path.parents)
    folders = dict.fromkeys(Path(*path.parts[:3]) for path in inside)
    return [argument for path in folders if path.is_dir() for argument in ("--ro-bind", str(path), str(path))]


def _make_memory_device() -> None:
    """Have the driver make /dev/nvidia-uvm, which CUDA needs: what makes it otherwise has no rights in the sandbox."""
    maker = shutil.which("nvidia-modprobe")
    if maker and Path("/dev/nvidiactl").exists() and not Path("/dev/nvidia-uvm").exists():
        with contextlib.suppress(OSError, subprocess.TimeoutExpired):
            subprocess.run(
                [maker, "-c", "0", "-u"], stdin=subprocess.DEVNULL, capture_output=True, timeout=_TRIAL_SECONDS
            )


def choose_sandbox(wanted: Literal["auto", "bwrap", "landlock", "none"]) -> Sandbox:
    """Return the sandbox to use: with "auto" bubblewrap if a trial run with it succeeds, else Landlock, saying why.

    Raises:
        SandboxUnavailable: what is wanted cannot be had; with "auto" neither.
    """
    if wanted == "none":
        return NO_SANDBOX
    executable = shutil.which("bwrap")
    reason = _reason_against(executable) if executable else "bubblewrap (bwrap) is not installed"
    if wanted != "landlock" and reason is None:
        return Sandbox("bwrap", "programs run in bubblewrap: no network, read-only file system", executable)
    if wanted == "bwrap":
        raise SandboxUnavailable(reason)
    known = landlock.version()
    if not known:
        without = "this system has no Landlock"
        raise SandboxUnavailable(without if wanted == "landlock" else f"{reason}, and {without}")
    network = "no TCP (UDP is open)" if known >= landlock.NETWORK_SINCE else "the network is open"
    emptied = [] if known >= landlock.TRUNCATION_SINCE else ["files can be truncated"]
    changed = [] if landlock.keeps_attributes() else ["permissions and times of files can be changed"]
    gaps = " and ".join([*emptied, *changed])
    files = f"read-only file system, except that {gaps}" if gaps else "read-only file system"
    why = f"; {reason}" if wanted == "auto" else ""
    return Sandbox("landlock", f"programs run under Landlock: {files}, {network}{why}")


@functools.cache
def _reason_against(executable: str) -> str | None:
    """Run the interpreter as programs will be run: containers often forbid what bubblewrap needs."""
    with tempfile.TemporaryDirectory(prefix="tflint-gpu-") as folder:
        trial = Sandbox("bwrap", "", executable).wrap([sys.executable, "-I", "-S", "-c", ""], Path(folder), "cpu")
        try:
            done = subprocess.run(trial, stdin=subprocess.DEVNULL, capture_output=True, timeout=_TRIAL_SECONDS)
        except (OSError, subprocess.TimeoutExpired) as error:
            return f"bubblewrap does not work here: {error}"
    if done.returncode == 0:
        return None
    said = done.stderr.decode(errors="replace").strip().splitlines()
    return f"bubblewrap does not work here: {said[-1] if said else f'exit code {done.returncode}'}"


def launch_command(command: Sequence[str], limits: Limits, python: str) -> list[str]:
    """Return the command that sets the limits of the kernel on its own process and then becomes another one.

    That process also asks to come before others on the processor, so that they disturb its times less (only some users
    may), to be the first to die when the system runs out of memory, and, on Linux, to die with the thread that started
    it.
    """
    settings = [f"RLIMIT_FSIZE={limits.file_bytes}", "RLIMIT_CORE=0"]
    if limits.cpu_seconds is not None:
        settings.append(f"RLIMIT_CPU={limits.cpu_seconds}")
    return [python, "-I", "-S", "-c", _LAUNCHER, str(os.getpid()), *settings, "--", *command]


def clean_environment(
    scratch: Path, result: Path, device: str, variables: Mapping[str, str] | None = None
) -> dict[str, str]:
    """Return the environment of a program: little from the user's, so that two machines measure the same.

    Arguments:
        scratch: folder that is home and holds temporary files.
        result: the file that the program is to write.
        device: "cpu" hides all GPUs; "gpu:N" leaves the card that NVML and nvidia-smi call N, "gpu:UUID" that card or
            part of a card.
        variables: what it has besides, and instead.

    Raises:
        ValueError: if the device is neither.
    """
    environment = {name: os.environ[name] for name in _KEPT_VARIABLES if name in os.environ}
    environment.setdefault("PATH", os.defpath)
    if site.ENABLE_USER_SITE:  # else packages installed with `pip install --user` vanish with the home folder
        environment["PYTHONUSERBASE"] = site.getuserbase()
    if device != "cpu" and (cache := _kernel_cache()):
        environment["CUDA_CACHE_PATH"] = cache
    return environment | {
        "HOME": str(scratch),
        "TMPDIR": str(scratch),
        "LANG": "C.UTF-8",
        "PYTHONHASHSEED": "0",
        "TF_CPP_MIN_LOG_LEVEL": "2",
        "CUDA_DEVICE_ORDER": "PCI_BUS_ID",
        "CUDA_VISIBLE_DEVICES": visible_devices(device),
        RESULT_VARIABLE: str(result),
        **(variables or {}),
    }


def visible_devices(device: str) -> str:
    """Return the value of `CUDA_VISIBLE_DEVICES` for "cpu", "gpu:N", "gpu:UUID" or, for several, "gpu:N,M".

    A UUID means the same card whatever the order and whichever of them answer.

    Raises:
        ValueError: if the device is none of these.
    """
    if device == "cpu":
        return "-1"
    match = re.fullmatch(rf"gpu:({_ENTRY}(?:,{_ENTRY})*)", device)
    if match is None:
        raise ValueError(f"no device: {device!r}; it must be 'cpu', 'gpu:N' or 'gpu:UUID'")
    return match[1]


def protection_of(sandbox: Sandbox) -> str:
    """A sentence for who is asked whether code may run: what keeps it from the user's files and the network."""
    if sandbox.kind != "none":
        return sandbox.note
    home = Path.home()
    return f"{sandbox.note}, so the code can access your home folder ({home}) and the network (`--sandbox help`)"


def sandbox_help() -> str:
    """How a sandbox is had, and what to do without one."""
    executable = shutil.which("bwrap")
    reason = _reason_against(executable) if executable else "bubblewrap (bwrap) is not installed"
    return _HELP.format(
        state="Bubblewrap works here." if reason is None else f"Here: {reason}.",
        landlock="This kernel has Landlock." if landlock.version() else "This kernel does not have Landlock.",
    )


_HELP = """\
verify runs code from the checked files. In bubblewrap the code has no network and no privileges, and the file system is
read-only except for its scratch folder and /tmp. {state}
Where bubblewrap does not work, the Linux kernel's Landlock (5.13 or newer) confines the code: the file system is
read-only except for the scratch folder, and from Linux 6.7 on there is no TCP. Landlock needs no installation. Under it
`chmod`, `chown`, `utime` and similar calls do nothing. {landlock}

To get bubblewrap:
  Debian, Ubuntu      apt install bubblewrap
  Fedora              dnf install bubblewrap
  "No permissions to create new namespace": the system forbids user namespaces. On Ubuntu from 23.10 on (AppArmor):
                      sysctl kernel.apparmor_restrict_unprivileged_userns=0
  in Docker           docker run --security-opt seccomp=unconfined --security-opt apparmor=unconfined ...

Without bubblewrap and Landlock:
  --synthetic         runs the rules' own workloads and nothing of the checked code
  a container, a virtual machine or a separate user account with nothing to protect
  --sandbox none      runs the code unconfined; without this option verify then runs nothing
"""


def missing_mechanisms() -> tuple[str, ...]:
    """Return a sentence for each protection that this system does not offer."""
    missing = []
    if not Path("/proc/self/statm").exists():
        missing.append("memory is not limited: this system has no /proc to watch it")
        missing.append("a process that leaves its process group cannot be ended: this system has no /proc")
    if sys.platform != "linux":
        missing.append("no bubblewrap and no Landlock: programs reach the network and the user's files")
        missing.append("programs keep running if tflint-gpu itself is killed by SIGKILL")
    return tuple(missing)


def _kernel_cache() -> str | None:
    """The driver's cache of compiled kernels: without it each process may compile for minutes."""
    path = Path(os.environ.get("CUDA_CACHE_PATH") or Path.home() / ".nv" / "ComputeCache")
    return str(path) if path.is_dir() else None
