"""What shuts a program in: the command line of bubblewrap, what it then cannot do, and what is said where it cannot be had."""

from __future__ import annotations

import socket
import sys
from pathlib import Path

import pytest

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
AVAILABLE = choose_sandbox("auto")


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
    """Protects that "auto" tries before it relies, says why it falls back, and that "bwrap" never falls back."""
    if script is not None:
        fake = tmp_path / "bwrap"
        fake.write_text(f"#!/bin/sh\n{script}\n")
        fake.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    chosen = choose_sandbox("auto")
    assert chosen.kind == "none"
    assert chosen.note.startswith("programs run without a sandbox: ")
    assert reason in chosen.note
    with pytest.raises(SandboxUnavailable, match=r"bubblewrap"):
        choose_sandbox("bwrap")


@pytest.mark.skipif(AVAILABLE.kind == "none", reason=AVAILABLE.note)
def test_what_the_sandbox_forbids(tmp_path: Path) -> None:
    """Protects the user's files and network from the user's code, with the real bubblewrap."""
    program = tmp_path / "program.py"
    outside = tmp_path / "outside"
    with socket.create_server(("127.0.0.1", 0)) as server:
        program.write_text(f"""
import ctypes, json, os, socket
notes = {{}}
def attempt(name, action):
    try:
        action()
        notes[name] = "done"
    except OSError as error:
        notes[name] = "refused"
attempt("network", lambda: socket.create_connection(("127.0.0.1", {server.getsockname()[1]}), timeout=5))
attempt("outside", lambda: open({str(outside)!r}, "w"))
attempt("inside", lambda: open("inside", "w"))
attempt("temporary", lambda: open("/tmp/tflint-gpu-test-of-the-sandbox", "w"))
def remount():
    if ctypes.CDLL(None).mount(None, b"/", None, 32 | 4096, None):  # MS_REMOUNT | MS_BIND: writable again
        raise OSError
attempt("remount", remount)
notes["processes"] = sum(name.isdigit() for name in os.listdir("/proc"))
with open(os.environ["TFLINT_GPU_RESULT"], "w") as file:
    json.dump({{"steps": [], "notes": notes}}, file)
""")
        outcome = run_program(program, place=Place(sandbox=AVAILABLE))
    assert outcome.result is not None, outcome
    assert outcome.result.notes == {
        "network": "refused", "outside": "refused", "inside": "done", "temporary": "done", "remount": "refused",
        "processes": 2,
    }  # fmt: skip
    assert not Path("/tmp/tflint-gpu-test-of-the-sandbox").exists()
    assert not outside.exists()


def test_what_is_missing_is_said() -> None:
    """Protects honesty: Linux has every mechanism, other systems name what they lack."""
    assert (missing_mechanisms() == ()) == (sys.platform == "linux")
