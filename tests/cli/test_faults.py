"""Protects users' files and their time when the world fails: full disks, folders that cannot be written, files that
change or vanish, signals, odd names, damaged caches, a clock that goes back."""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from fixing import fix

from tflint_gpu.checking.added_suppressions import add_suppressions
from tflint_gpu.checking.engine import Engine
from tflint_gpu.checking.workers import check_files
from tflint_gpu.cli.check.fixing import Fixing
from tflint_gpu.reports import View
from tflint_gpu.reports.formats import renderer
from tflint_gpu.rule import Finding
from tflint_gpu.settings.config import SettingsResolver
from tflint_gpu.settings.files import Discovery
from tflint_gpu.settings.kinds import OUTPUT_FORMATS

TF = "import tensorflow as tf\n"
CODE = "TFG502"
WRONG = "import tensorflow as tf\n\nwith tf.device('/GUP:0'):\n    x = tf.ones(3)\n"
FIXABLE = "import tensorflow as tf\n\nds = tf.data.Dataset.range(9)\nds.batch(3)\nmodel = tf.keras.Sequential()\nmodel.fit(ds)\n"
ODD_NAMES = (
    "with space.py",
    "line\nbreak.py",
    "\U0001f600.py",
    "tab\t'\"`$&|.py",
    os.fsdecode(b"\xff\xfe.py"),
    "-n.py",
)
Limit = Callable[[], object]
linux = pytest.mark.skipif(sys.platform != "linux", reason="limits and signals as Linux has them")


def tflint(
    folder: Path, *arguments: str, limit: Limit | None = None, **streams: Any
) -> subprocess.CompletedProcess[bytes]:
    command = [sys.executable, "-m", "tflint_gpu", "check", "--isolated", *arguments]
    streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **streams}
    return subprocess.run(command, cwd=folder, preexec_fn=limit, timeout=600, **streams)


def no_file_may_grow() -> None:
    """A full disk, for one process: what it writes to files fails, what it writes to pipes does not."""
    import resource

    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))


def obey_modes() -> None:
    """Root may write where the mode says no; after this its new process may not."""
    if os.geteuid() == 0:
        libc = ctypes.CDLL(None)
        for capability in (1, 2, 3):  # CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH, CAP_FOWNER
            libc.prctl(24, capability, 0, 0, 0)  # PR_CAPBSET_DROP


@contextlib.contextmanager
def read_only(folder: Path) -> Iterator[None]:
    folder.chmod(0o555)
    try:
        yield
    finally:
        folder.chmod(0o755)


def names_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


@pytest.mark.slow
@linux
def test_on_a_full_disk_files_stay_as_they_were_and_the_findings_are_told(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text(FIXABLE)
    done = tflint(tmp_path, "--select", "TFG308", "--fix", "--unsafe-fixes", limit=no_file_may_grow)
    assert (done.returncode, (tmp_path / "a.py").read_text()) == (2, FIXABLE)
    assert b"error: a.py: TFG308 not fixed: " in done.stderr and b"Traceback" not in done.stderr
    assert names_in(tmp_path) == [".tflint_gpu_cache", "a.py"], "no temporary file stays"
    assert not list((tmp_path / ".tflint_gpu_cache").rglob("*.json")), "no entry that is half a result"
    for option in ("--output-file=r.txt", "--write-baseline=b.json"):
        (tmp_path / option.partition("=")[2]).write_text("{}" if "json" not in option else "")
        done = tflint(tmp_path, "--select", "TFG308", option, limit=no_file_may_grow)
        assert done.returncode == 2 and b"Traceback" not in done.stderr, done.stderr
    assert (tmp_path / "r.txt").read_text() == "{}"


@pytest.mark.slow
@linux
def test_where_nothing_can_be_printed_there_is_one_plain_error(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text(WRONG)
    with Path("/dev/full").open("wb") as full:
        done = tflint(tmp_path, "--select", CODE, stdout=full)
    assert done.returncode == 2
    assert done.stderr == b"error: the report cannot be printed: No space left on device\n"
    closed = tflint(tmp_path, "--select", CODE, stdout=None, stderr=None, limit=lambda: (os.close(1), os.close(2)))
    assert closed.returncode == 1, "the exit code speaks alone"


@pytest.mark.slow
@linux
def test_a_report_goes_into_devices_and_pipes_and_replaces_none(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text(WRONG)
    os.mkfifo(tmp_path / "pipe")
    keep = os.open(tmp_path / "pipe", os.O_RDWR)
    done = tflint(tmp_path, "--select", CODE, "--output-format", "concise", "-o", "pipe")
    assert (done.returncode, (tmp_path / "pipe").is_fifo()) == (1, True)
    assert os.read(keep, 10_000).startswith(b"a.py:3:16: error: TFG502 ")
    os.close(keep)
    assert b"a.py:3:16" in tflint(tmp_path, "--select", CODE, "--output-format", "concise", "-o", "/dev/stdout").stdout


@pytest.mark.slow
@linux
@pytest.mark.parametrize("name", ["pipe.py", "link.py", "/dev/null", "/dev/stdin"])
def test_a_pipe_or_device_is_refused_and_never_waited_for(name: str, tmp_path: Path) -> None:
    """Protects from waiting for ever, and from "All checks passed!" for a text that can be read only once."""
    os.mkfifo(tmp_path / "pipe.py")
    (tmp_path / "link.py").symlink_to("pipe.py")
    done = tflint(tmp_path, name, input=WRONG.encode())
    assert (done.returncode, done.stdout) == (2, b"")
    assert done.stderr.decode() == (
        f"error: {name}: not a regular file; pass its text on standard input: `tflint-gpu check -`\n"
    )
    (tmp_path / "a.py").write_text(f"import pipe\n{WRONG}")
    assert b"a.py:4:16" in tflint(tmp_path, "--output-format", "concise", ".").stdout, "in a folder it is left out"


@pytest.mark.slow
@linux
def test_what_may_not_be_written_or_read_is_told_and_the_rest_is_done(tmp_path: Path) -> None:
    closed, opened, hidden = (tmp_path / name for name in ("closed", "open", "hidden"))
    for folder in (closed, opened, hidden):
        folder.mkdir()
        (folder / "a.py").write_text(FIXABLE)
    (opened / "secret.py").write_text(FIXABLE)
    (opened / "secret.py").chmod(0)
    hidden.chmod(0)
    with read_only(closed), read_only(tmp_path):
        done = tflint(tmp_path, "--select", "TFG308,TFG000", "--fix", "--unsafe-fixes", limit=obey_modes)
    hidden.chmod(0o755)
    assert (done.returncode, (closed / "a.py").read_text()) == (2, FIXABLE)
    assert (opened / "a.py").read_text() == FIXABLE.replace("ds.batch", "ds = ds.batch")
    told = done.stderr.decode()
    assert "closed/a.py: TFG308 not fixed: " in told and "Permission denied" in told and "Traceback" not in told
    assert "hidden: cannot be listed: Permission denied" in told
    assert b"cannot be read: Permission denied" in done.stdout
    assert names_in(closed) == ["a.py"] and not (tmp_path / ".tflint_gpu_cache").exists()


def test_a_file_that_somebody_changes_meanwhile_keeps_the_change(
    tmp_path: Path, write_files: Any, make_rule: Any
) -> None:
    """The user saves in the editor between the check and the moment in which the fixed text would be written."""
    one, two = write_files({"a.py": TF + "BAD\n", "b.py": TF + "BAD\n"})

    class Saves(type(make_rule())):  # type: ignore[misc]
        def check(self, model: Any) -> Iterator[Finding]:
            if model.source.path == one and "GOOD" in model.source.text:
                one.write_text(TF + "BAD  # saved by the user\n")
            yield from super().check(model)

    fixing = fix(tmp_path, Saves())
    assert [path.read_text() for path in (one, two)] == [TF + "BAD  # saved by the user\n", TF + "GOOD\n"]
    assert [failure.detail for failure in fixing.failures] == ["not fixed: the file was changed meanwhile; run again"]
    assert names_in(tmp_path) == ["a.py", "b.py"]


@pytest.mark.parametrize("moment", ["checked", "mended", "reported"])
def test_a_file_that_vanishes_stays_gone(moment: str, tmp_path: Path, write_files: Any, make_rule: Any) -> None:
    gone, left = write_files({"a.py": TF + "BAD\n", "b.py": TF + "BAD\n"})
    resolver = SettingsResolver(working_directory=tmp_path)
    files = Discovery(resolver, tmp_path).find(["."])
    engine = Engine(resolver, tmp_path, [make_rule()])
    if moment == "checked":
        gone.unlink()
        [first, second] = check_files(engine, files, 1)
        assert [one.message for one in first.diagnostics] == ["cannot be read: No such file or directory"]
        assert [one.code for one in second.diagnostics] == ["TFG901"]
        return
    found = [one for result in check_files(engine, files, 1) for one in result.diagnostics]
    gone.unlink()
    if moment == "mended":
        assert [failure.filename for failure in add_suppressions(found, tmp_path).failures] == ["a.py"]
        assert (gone.exists(), left.read_text()) == (False, TF + "BAD  # noqa: TFG901\n")
        return
    for output_format in OUTPUT_FORMATS:
        assert "TFG901" in renderer(output_format)(found, View(tmp_path))


INTERRUPTED_WRITING = """
import os, signal, sys, threading
import tflint_gpu.cli as cli
from tflint_gpu.text import replacement
sync = os.fsync
def slow(handle):
    os.kill(os.getpid(), getattr(signal, sys.argv[1]))
    replacement._ending.wait(60)
    sync(handle)
replacement.os.fsync = slow
cli.main(["check", "--isolated", "--no-cache", "--select", "TFG308", "--unsafe-fixes", "--fix", "."])
"""


@pytest.mark.slow
@linux
@pytest.mark.parametrize(("name", "code"), [("SIGINT", 130), ("SIGTERM", 143), ("SIGHUP", 129)])
def test_who_ends_a_run_that_mends_finds_whole_files_and_no_others(name: str, code: int, tmp_path: Path) -> None:
    """The signal comes while a mended file is being written."""
    for file in ("a.py", "b.py"):
        (tmp_path / file).write_text(FIXABLE)
    command = [sys.executable, "-c", INTERRUPTED_WRITING, name]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=600)
    assert (done.returncode, done.stderr.strip()) == (code, "Interrupted: fixed 1 file.")
    assert names_in(tmp_path) == ["a.py", "b.py"]
    texts = [(tmp_path / file).read_text() for file in ("a.py", "b.py")]
    assert texts == [FIXABLE.replace("ds.batch", "ds = ds.batch"), FIXABLE]


ENDED_PARENT = """
import os
from multiprocessing import active_children
from tflint_gpu.checking import engine, processes
engine.Engine.examine = lambda self, file: os.read(0, 1)
def told(worker, stretches, go_on=processes._Worker.go_on):
    go_on(worker, stretches)
    print(*(process.pid for process in active_children()), flush=True)
processes._Worker.go_on = told
from tflint_gpu.cli import main
main(["check", "--isolated", "--no-cache", "--jobs", "2", "."])
"""


@pytest.mark.slow
@linux
@pytest.mark.parametrize("name", ["SIGKILL", "SIGTERM"])
def test_no_worker_outlives_the_run_that_started_it(name: str, tmp_path: Path) -> None:
    for number in range(2):
        (tmp_path / f"f{number}.py").write_text(WRONG)
    reading, writing = os.pipe()  # the workers wait for a byte that never comes
    with subprocess.Popen(
        [sys.executable, "-c", ENDED_PARENT],
        cwd=tmp_path,
        stdin=reading,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        os.close(reading)
        assert process.stdout is not None and process.stderr is not None
        process.stdout.readline()
        assert len(process.stdout.readline().split()) == 2
        process.send_signal(getattr(signal, name))
        # The workers hold these streams, too: they end when the last of them has ended.
        rest, errors = process.stdout.read(), process.stderr.read()
    os.close(writing)
    assert process.returncode == {"SIGKILL": -9, "SIGTERM": 143}[name]
    assert (rest, errors.strip()) == (b"", b"")


@pytest.mark.slow
def test_odd_names_are_checked_told_mended_and_remembered(tmp_path: Path, tflint: Any) -> None:
    odd = tmp_path / "odd"
    odd.mkdir()
    for name in ODD_NAMES:
        (odd / name).write_text(FIXABLE)
    told = tflint("check", "--isolated", "--select", "TFG308", "--output-format", "json")
    names = [one["filename"] for one in json.loads(told.stdout)]
    assert sorted(names) == sorted(str(odd / name) for name in ODD_NAMES)
    warm = tflint("check", "--isolated", "--select", "TFG308", "--output-format", "json")
    assert (warm.returncode, warm.stdout) == (1, told.stdout)
    written = tflint("check", "--isolated", "--select", "TFG308", "--write-baseline=b.json")
    assert (written.returncode, written.stderr) == (
        0,
        f"b.json: {len(ODD_NAMES)} known problems ({len(ODD_NAMES)} added, 0 dropped).\n",
    )
    assert tflint("check", "--isolated", "--select", "TFG308", "--baseline=b.json").returncode == 0
    mended = tflint("check", "--isolated", "--select", "TFG308", "--unsafe-fixes", "--fix")
    assert (mended.returncode, mended.stderr) == (0, "")
    assert {(odd / name).read_text() for name in ODD_NAMES} == {FIXABLE.replace("ds.batch", "ds = ds.batch")}


def test_loops_of_links_end(tmp_path: Path, tflint: Any) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "b.py").write_text(WRONG + "import a.loop.a.b\nfrom .again import x\n")
    (tmp_path / "a" / "loop").symlink_to(tmp_path)
    (tmp_path / "a" / "again.py").symlink_to("b.py")
    (tmp_path / "a" / "self.py").symlink_to("self.py")
    (tmp_path / "self").symlink_to("self")
    for arguments in ((".",), ("a/loop", ".")):
        done = tflint("check", "--isolated", "--select", CODE, "--output-format", "concise", *arguments)
        assert (done.returncode, done.stderr, done.stdout.count(CODE)) == (1, "", 1)


@pytest.mark.slow
def test_two_runs_share_a_cache(tmp_path: Path) -> None:
    for number in range(6):
        (tmp_path / f"f{number}.py").write_text(WRONG)
    command = [sys.executable, "-m", "tflint_gpu", "check", "--isolated", "--select", CODE, "--output-format", "json"]
    runs = [subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE) for _ in range(2)]
    told = [run.communicate(timeout=600) for run in runs]
    assert {run.returncode for run in runs} == {1}
    assert {told[0]} == set(told) and told[0][1] == b"" and len(json.loads(told[0][0])) == 6
    assert not list((tmp_path / ".tflint_gpu_cache").rglob(".new-*"))


@pytest.mark.parametrize(
    "damage",
    [
        lambda data: data[: len(data) // 2],
        lambda data: data.replace(b'"row":3', b'"row":"3"'),
        lambda data: data.replace(b'"row":3', b'"row":7'),
        lambda data: data.replace(b"tf.device", b"tf.devise").replace(b"GUP", b"GAP"),
        lambda data: b"[" * 100_000,
        lambda data: b"null",
        lambda data: os.urandom(len(data)),
    ],
)  # fmt: skip
def test_a_damaged_cache_changes_no_finding(damage: Callable[[bytes], bytes], tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text(WRONG)
    resolver = SettingsResolver(working_directory=tmp_path)
    files = Discovery(resolver, tmp_path).find(["."])
    first = check_files(Engine(resolver, tmp_path, use_cache=True), files, 1)
    assert CODE in {one.code for one in first[0].diagnostics}
    [entry] = (tmp_path / ".tflint_gpu_cache").rglob("*.json")
    whole = entry.read_bytes()
    entry.write_bytes(damage(whole))
    assert entry.read_bytes() != whole
    assert check_files(Engine(resolver, tmp_path, use_cache=True), files, 1) == first
    assert entry.read_bytes() == whole, "and is mended"


def test_a_cache_of_another_version_is_not_believed(tmp_path: Path, monkeypatch: Any) -> None:
    (tmp_path / "a.py").write_text(WRONG)
    resolver = SettingsResolver(working_directory=tmp_path)
    files = Discovery(resolver, tmp_path).find(["."])
    first = check_files(Engine(resolver, tmp_path, use_cache=True), files, 1)
    [entry] = (tmp_path / ".tflint_gpu_cache").rglob("*.json")
    old = entry.read_bytes()
    monkeypatch.setattr("tflint_gpu.__version__", "99.0")
    moved = tmp_path / ".tflint_gpu_cache" / "99.0" / entry.parent.name / entry.name
    moved.parent.mkdir(parents=True)
    moved.write_bytes(old.replace(b"GUP", b"GAP"))
    assert check_files(Engine(resolver, tmp_path, use_cache=True), files, 1) == first
    assert entry.read_bytes() == old, "the other version's entry is its own"


def test_a_clock_that_goes_back_hides_no_change(tmp_path: Path) -> None:
    """The file has the size and an older time than before: only what is in it counts."""
    path = tmp_path / "a.py"
    path.write_text(WRONG)
    resolver = SettingsResolver(working_directory=tmp_path)
    files = Discovery(resolver, tmp_path).find(["."])
    assert check_files(Engine(resolver, tmp_path, use_cache=True), files, 1)[0].diagnostics
    path.write_text(WRONG.replace("GUP", "GPU"))
    os.utime(path, (0, 0))
    found = check_files(Engine(resolver, tmp_path, use_cache=True), files, 1)
    assert CODE not in {one.code for result in found for one in result.diagnostics}


@pytest.mark.campaign
def test_ten_thousand_findings_of_one_file_are_reported_fixed_and_suppressed(
    tmp_path: Path, write_files: Any, make_rule: Any
) -> None:
    """Protects from work that grows with the square: each of these took minutes, or would."""
    text = TF + "BAD\n" * 10_000
    [path] = write_files({"a.py": text})
    resolver = SettingsResolver(working_directory=tmp_path)
    rule = make_rule()
    [result] = check_files(Engine(resolver, tmp_path, [rule]), Discovery(resolver, tmp_path).find(["."]), 1)
    found = [replace(one, severity="advice") for one in result.diagnostics]
    assert len(found) == 10_000
    for output_format in OUTPUT_FORMATS:
        assert renderer(output_format)(found, View(tmp_path, show_advice=True))
    assert len(add_suppressions(found, tmp_path).suppressed) == 10_000
    assert path.read_text() == TF + "BAD  # noqa: TFG901\n" * 10_000
    path.write_text(text)
    fixing: Fixing = fix(tmp_path, rule)
    assert len(fixing.fixed) == 10_000
    assert path.read_text() == TF + "GOOD\n" * 10_000
