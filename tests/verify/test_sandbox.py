"""What shuts a program in: the command line of bubblewrap, what it then cannot do, and what is said where it cannot be had."""

from __future__ import annotations

import os
import socket
import sys
from pathlib import Path
from typing import Any

import pytest

from tflint_gpu.verify.execution import landlock
from tflint_gpu.verify.execution.sandbox import (
    Sandbox,
    SandboxUnavailable,
    choose_sandbox,
    clean_environment,
    missing_mechanisms,
    protection_of,
)
from tflint_gpu.verify.execution.worker import Place, run_program

BWRAP = Sandbox("bwrap", "", "/usr/bin/bwrap")


def sandboxes() -> list[Any]:
    """Those that confine, each skipped where the system does not have it."""
    params = []
    for kind in ("bwrap", "landlock"):
        try:
            params.append(pytest.param(choose_sandbox(kind), id=kind))
        except SandboxUnavailable as error:
            params.append(pytest.param(None, id=kind, marks=pytest.mark.skip(reason=str(error))))
    return params


def test_the_command_line(tmp_path: Path) -> None:
    """Protects the promise: no network, nothing to write but the scratch folder, no rights, no survivors."""
    command = BWRAP.wrap(["/usr/bin/python3", "a.py"], tmp_path, "cpu")
    line = " ".join(command)
    assert line.startswith("/usr/bin/bwrap --die-with-parent --unshare-pid --unshare-net --unshare-ipc --cap-drop ALL ")
    assert " --ro-bind / / --dev /dev --proc /proc " in line
    assert line.endswith(f" --bind {tmp_path} {tmp_path} --chdir {tmp_path} -- /usr/bin/python3 a.py")
    assert command.count("--bind") == 1
    assert "--dev-bind" not in command


def test_tmp_is_private_and_has_what_the_program_needs() -> None:
    """Protects programs that write to /tmp, and what others have there from being read."""
    command = ["/tmp/venv/bin/python", "/tmp/programs-1/before/pkg/train.py"]
    folders = ("/tmp/venv", "/tmp/programs-1")
    arguments = BWRAP.wrap(command, Path("/tmp/scratch"), "cpu")
    line = " ".join(arguments)
    assert " --tmpfs /tmp " in line and line.index("--tmpfs /tmp") < line.index("--bind /tmp/scratch")
    for folder in folders:
        assert (f" --ro-bind {folder} {folder} " in line) == Path(folder).is_dir()


def test_the_folder_of_a_program_below_tmp_is_seen(tmp_path: Path) -> None:
    script = tmp_path / "train.py"
    top = Path(*tmp_path.parts[:3])
    line = " ".join(BWRAP.wrap(["/usr/bin/python3", str(script)], tmp_path / "scratch", "cpu"))
    assert (f" --ro-bind {top} {top} " in line) == (Path("/tmp") in tmp_path.parents)


def test_the_device_that_cuda_needs_is_made_before_the_sandbox_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Protects from "no CUDA-capable device" in bubblewrap after a boot: in it nothing may make device files."""
    asked = tmp_path / "asked"
    maker = tmp_path / "nvidia-modprobe"
    maker.write_text(f'#!/bin/sh\necho "$@" > {asked}\n')
    maker.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    exists = Path.exists
    monkeypatch.setattr(Path, "exists", lambda self: str(self) == "/dev/nvidiactl" or exists(self))
    BWRAP.wrap(["python"], tmp_path, "cpu")
    assert not asked.is_file()
    BWRAP.wrap(["python"], tmp_path, "gpu:0")
    assert asked.read_text() == "-c 0 -u\n"


def test_who_is_asked_is_told_what_protects_the_home_folder() -> None:
    assert str(Path.home()) in protection_of(choose_sandbox("none"))
    assert "home" not in protection_of(Sandbox("bwrap", "programs run in bubblewrap", "/usr/bin/bwrap"))
    assert "home" not in protection_of(Sandbox("landlock", "programs run under Landlock"))


def test_variables_that_are_handed_on_win(tmp_path: Path) -> None:
    handed_on = {"OMP_NUM_THREADS": "3", "PYTHONHASHSEED": "7"}
    environment = clean_environment(tmp_path, tmp_path / "result", "cpu", handed_on)
    assert environment.items() >= handed_on.items() and environment["LANG"] == "C.UTF-8"


def test_a_gpu_stays_reachable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Protects measuring on a card in the sandbox: its device files, and the driver's cache of compiled kernels."""
    cache = tmp_path / "cache"
    cache.mkdir()
    monkeypatch.setenv("CUDA_CACHE_PATH", str(cache))
    cards = [Path("/dev/nvidia0"), Path("/dev/nvidiactl")]
    monkeypatch.setattr(Path, "glob", lambda self, pattern: iter(cards if pattern == "nvidia*" else []))
    line = " ".join(BWRAP.wrap(["python"], tmp_path, "gpu:0"))
    assert " --dev-bind /dev/nvidia0 /dev/nvidia0 --dev-bind /dev/nvidiactl /dev/nvidiactl " in line
    assert f" --bind {cache} {cache} " in line
    assert clean_environment(tmp_path, tmp_path / "result", "gpu:0")["CUDA_CACHE_PATH"] == str(cache)


@pytest.mark.parametrize(
    ("device", "visible"),
    [
        ("cpu", "-1"),
        ("gpu:0", "0"),
        ("gpu:12", "12"),
        ("gpu:GPU-1a-b,GPU-2", "GPU-1a-b,GPU-2"),
        ("gpu:MIG-7f", "MIG-7f"),
    ],
)
def test_visible_devices(tmp_path: Path, device: str, visible: str) -> None:
    """Protects that the card which runs the program is the one that NVML watches under the same number."""
    environment = clean_environment(tmp_path, tmp_path / "result", device)
    assert environment["CUDA_VISIBLE_DEVICES"] == visible
    assert environment["CUDA_DEVICE_ORDER"] == "PCI_BUS_ID"


@pytest.mark.parametrize("device", ["gpu", "gpu:", "gpu:-1", "GPU:0", "auto", "", "gpu:UUID", "gpu:0;1"])
def test_no_device(tmp_path: Path, device: str) -> None:
    """Protects against a typing mistake that would hide or show all cards."""
    with pytest.raises(ValueError, match="no device"):
        clean_environment(tmp_path, tmp_path / "result", device)


def test_no_sandbox_wanted() -> None:
    """Protects that "none" means none, also where bubblewrap works."""
    assert choose_sandbox("none").wrap(["python", "a.py"], Path("/tmp"), "cpu") == ["python", "a.py"]


@pytest.mark.parametrize(
    ("script", "reason"),
    [
        (None, "bubblewrap (bwrap) is not installed"),
        (
            "echo 'bwrap: No permissions to create new namespace' >&2; exit 1",
            "bwrap: No permissions to create new namespace",
        ),
        ("exit 7", "exit code 7"),
    ],
    ids=["missing", "forbidden", "silent"],
)
def test_a_bubblewrap_that_does_not_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str | None, reason: str
) -> None:
    """Protects that "auto" tries before it relies, and that neither "auto" nor "bwrap" runs code unconfined by silence."""
    if script is not None:
        fake = tmp_path / "bwrap"
        fake.write_text(f"#!/bin/sh\n{script}\n")
        fake.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(landlock, "version", lambda: 3)
    chosen = choose_sandbox("auto")
    assert (chosen.kind, chosen.executable) == ("landlock", None)
    assert reason in chosen.note and "the network is open" in chosen.note, "what it does not block is said"
    with pytest.raises(SandboxUnavailable, match=r"bubblewrap"):
        choose_sandbox("bwrap")
    monkeypatch.setattr(landlock, "version", lambda: 0)
    for wanted in ("auto", "landlock"):
        with pytest.raises(SandboxUnavailable, match="no Landlock"):
            choose_sandbox(wanted)  # type: ignore[arg-type]


@pytest.mark.parametrize("sandbox", sandboxes())
def test_what_the_sandbox_forbids(tmp_path: Path, sandbox: Sandbox) -> None:
    """Protects the user's files and network from the user's code, with the real bubblewrap and the real Landlock."""
    program = tmp_path / "program.py"
    outside = tmp_path / "outside"
    kept = tmp_path / "kept"
    kept.write_text("whole")
    with socket.create_server(("127.0.0.1", 0)) as server:
        program.write_text(f"""
import ctypes, json, multiprocessing, os, socket, subprocess, sys
notes = {{}}
def attempt(name, action):
    try:
        action()
        notes[name] = "done"
    except (OSError, subprocess.CalledProcessError):
        notes[name] = "refused"
attempt("network", lambda: socket.create_connection(("127.0.0.1", {server.getsockname()[1]}), timeout=5))
attempt("outside", lambda: open({str(outside)!r}, "w"))
attempt("emptied", lambda: os.truncate({str(kept)!r}, 0))
attempt("removed", lambda: os.remove({str(kept)!r}))
attempt("child", lambda: subprocess.run([sys.executable, "-c", "open({str(outside)!r}, 'w')"], check=True, stderr=-3))
attempt("inside", lambda: open("inside", "w"))
attempt("nothing", lambda: open("/dev/null", "w"))
attempt("semaphore", multiprocessing.Lock)
attempt("temporary", lambda: open("/tmp/tflint-gpu-test-of-the-sandbox", "w"))
def remount():
    if ctypes.CDLL(None).mount(None, b"/", None, 32 | 4096, None):  # MS_REMOUNT | MS_BIND: writable again
        raise OSError
attempt("remount", remount)
notes["processes"] = sum(name.isdigit() for name in os.listdir("/proc"))
with open(os.environ["TFLINT_GPU_RESULT"], "w") as file:
    json.dump({{"steps": [], "notes": notes}}, file)
""")
        outcome = run_program(program, place=Place(sandbox=sandbox))
    assert outcome.result is not None, outcome
    notes = dict(outcome.result.notes)
    processes = notes.pop("processes")
    own = sandbox.kind == "bwrap"
    assert notes == {
        "network": "refused" if own or landlock.version() >= landlock.NETWORK_SINCE else "done",
        "outside": "refused", "emptied": "refused" if own or landlock.version() >= 3 else "done",
        "removed": "refused", "child": "refused", "inside": "done", "nothing": "done",
        "semaphore": "done", "temporary": "done" if own else "refused", "remount": "refused",
    }  # fmt: skip
    assert not own or processes == 2
    assert not Path("/tmp/tflint-gpu-test-of-the-sandbox").exists()
    assert not outside.exists() and kept.exists()


@pytest.mark.parametrize("sandbox", sandboxes())
@pytest.mark.parametrize("device", ["cpu", "gpu:0"])
def test_what_cuda_needs_to_start(tmp_path: Path, sandbox: Sandbox, device: str) -> None:
    """Protects every measurement on a GPU: CUDA names its threads in /proc and does not start where it may not."""
    program = tmp_path / "program.py"
    program.write_text("""
import json, os, threading
notes = {}
def attempt(name, path):
    try:
        with open(path) as file:
            text = file.read()
        with open(path, "w") as file:
            file.write(text)
        notes[name] = "done"
    except OSError:
        notes[name] = "refused"
def name_thread():
    attempt("thread", f"/proc/self/task/{threading.get_native_id()}/comm")
thread = threading.Thread(target=name_thread)
thread.start()
thread.join()
attempt("setting", "/proc/sys/vm/swappiness")
with open(os.environ["TFLINT_GPU_RESULT"], "w") as file:
    json.dump({"steps": [], "notes": notes}, file)
""")
    outcome = run_program(program, place=Place(device=device, sandbox=sandbox))
    assert outcome.result is not None, outcome
    may_name = sandbox.kind == "bwrap" or device != "cpu"
    assert outcome.result.notes == {"thread": "done" if may_name else "refused", "setting": "refused"}


@pytest.mark.parametrize("sandbox", sandboxes())
def test_permissions_owners_and_times_of_files_stay_as_they_are(tmp_path: Path, sandbox: Sandbox) -> None:
    """Protects "read-only file system": Landlock knows neither; and programs that copy a file, which sets both."""
    secret, folder = tmp_path / "secret", tmp_path / "folder"
    secret.write_text("whole")
    folder.mkdir()
    for path in (secret, folder):
        path.chmod(0o700)
        os.utime(path, (1_000_000, 1_000_000))
    program = tmp_path / "program.py"
    program.write_text(f"""
import contextlib, ctypes, fcntl, json, os, shutil, subprocess, sys
secret, folder = {str(secret)!r}, {str(folder)!r}
descriptor = os.open(secret, os.O_RDONLY)
libc = ctypes.CDLL(None, use_errno=True)
attempts = [
    lambda: os.chmod(secret, 0o777), lambda: os.chmod(folder, 0), lambda: os.fchmod(descriptor, 0o777),
    lambda: os.chown(secret, 12, 12), lambda: os.lchown(folder, 12, 12), lambda: os.fchown(descriptor, 12, 12),
    lambda: os.utime(secret), lambda: os.utime(folder, (5, 5)), lambda: os.utime(descriptor, (5, 5)),
    lambda: os.setxattr(secret, "user.mine", b"1"),
    lambda: libc.syscall(452, -100, secret.encode(), 0o777, 0),  # fchmodat2
    lambda: fcntl.ioctl(descriptor, 0x40086602, (64).to_bytes(8, "little")),  # FS_IOC_SETFLAGS: no dump
    lambda: subprocess.run([sys.executable, "-c", f"import os; os.chmod({{secret!r}}, 0o777)"], check=True, stderr=-3),
]
for attempt in attempts:
    with contextlib.suppress(OSError, subprocess.CalledProcessError):
        attempt()
shutil.copy2(secret, "copy")
flags = bytearray(8)
with contextlib.suppress(OSError):
    fcntl.ioctl(descriptor, 0x80086601, flags)
notes = {{"copy": open("copy").read(), "no dump": bool(flags[0] & 64), "ring": libc.syscall(425, 1, None)}}
with open(os.environ["TFLINT_GPU_RESULT"], "w") as file:
    json.dump({{"steps": [], "notes": notes}}, file)
""")
    outcome = run_program(program, place=Place(sandbox=sandbox))
    assert outcome.result is not None, outcome
    assert outcome.result.notes == {"copy": "whole", "no dump": False, "ring": -1}
    for path in (secret, folder):
        about = path.stat()
        assert (about.st_mode & 0o777, about.st_mtime, about.st_uid) == (0o700, 1_000_000, os.getuid()), path.name
    assert not os.listxattr(secret)


def test_what_landlock_cannot_forbid_here_is_said_before_anything_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(landlock, "version", lambda: 2)
    monkeypatch.setattr(landlock, "keeps_attributes", lambda: False)
    said = (
        "read-only file system, except that files can be truncated and permissions and times of files can be changed, "
        "the network is open"
    )
    assert said in choose_sandbox("landlock").note
    monkeypatch.setattr(landlock, "version", lambda: 6)
    monkeypatch.setattr(landlock, "keeps_attributes", lambda: True)
    assert choose_sandbox("landlock").note.endswith("read-only file system, no TCP (UDP is open)")


def test_what_is_missing_is_said() -> None:
    """Protects honesty: Linux has every mechanism, other systems name what they lack."""
    assert (missing_mechanisms() == ()) == (sys.platform == "linux")
