"""How `tflint-gpu verify` treats files, signals and questions; measuring itself is made up, so nothing needs TensorFlow."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from checkout import git
from click.testing import CliRunner
from verified import EAGER_STEP, MODEL_AND_DATA

from tflint_gpu.cli.verify import command as verify_command
from tflint_gpu.verify.slicing.extract import harness_modules

pytestmark = pytest.mark.slow

STEP = MODEL_AND_DATA + EAGER_STEP
DRIVER = """
import sys, time
from pathlib import Path
from tflint_gpu.verify.experiments import bench
from tflint_gpu.verify.experiments import scheduling
from tflint_gpu.verify.experiments import verification
from tflint_gpu.verify.statistics.outcomes import Run
from tflint_gpu.verify.statistics.statistics import Verdict
from tflint_gpu.cli.verify import consent

def measure(cases, setup, seconds):
    Path("began").touch()
    for number, case in enumerate(cases):
        sample = verification.Sample(Run(seconds=0.02), (0.02,), 9.0, {})
        verdict = Verdict("confirmed", f"seed {setup.sandbox.variables}, {setup.limits}, from {case.smallest_gain} on", 2.0, 1.5, 3.0)
        result = verification.Verification(case, verdict, "cpu", (sample,) * 3, (sample,) * 3)
        if setup.keep is not None:
            one = bench.Bench(case, setup, "cpu", Path("."), print)
            one._keep(case.pair)
        yield scheduling.Known(number, result, number + 1)
        if Path("wait").exists():
            Path("waiting").touch()
            time.sleep(600)

scheduling.measure = measure
consent._import_seconds = lambda python: 4.0
from tflint_gpu.cli import main
main(sys.argv[1:])
"""


def run(folder: Path, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command(folder, *arguments),
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=200,
        stdin=subprocess.DEVNULL,
        env={**os.environ, **variables},
    )


def command(folder: Path, *arguments: str) -> list[str]:
    (folder / "driver.txt").write_text(DRIVER)
    options = ["verify", "--device", "cpu", "--isolated", "--yes", "--select", "TFG202"]
    return [sys.executable, "driver.txt", *options, *arguments]


@pytest.fixture
def train(tmp_path: Path) -> Path:
    path = tmp_path / "train.py"
    path.write_text(STEP)
    return path


def test_diff_shows_the_patch_and_its_commit_message_and_changes_nothing(train: Path) -> None:
    done = run(train.parent, "--diff", "train.py")
    assert done.returncode == 1, done.stderr
    assert "+@tf.function" in done.stdout and "--- train.py" in done.stdout
    assert "    Fix eager-train-step in train.py (TFG202)" in done.stdout and "with --fix" in done.stdout
    assert train.read_text() == STEP


def test_the_printed_patch_applies_and_gives_what_fix_writes(train: Path) -> None:
    git(train.parent, "init", "-q")
    shown = run(train.parent, "--diff", "train.py").stdout
    subprocess.run(["git", "apply", "-p0"], cwd=train.parent, input=shown, text=True, check=True)
    by_hand = train.read_text()
    train.write_text(STEP)
    done = run(train.parent, "--fix", "train.py")
    assert "Applied to train.py." in done.stdout
    assert train.read_text() == by_hand != STEP


def test_later_checks_tell_the_factor_until_the_code_is_edited(train: Path, tflint: Any) -> None:
    done = run(train.parent, "--output-format", "json", "-o", "m.json", "train.py")
    assert done.returncode == 1, done.stderr

    def told() -> str:
        options = ("--isolated", "--no-cache", "--output-format", "concise", "--select", "TFG202")
        text: str = tflint("check", *options, "--verified", "m.json", "train.py").stdout
        return text

    assert "times" in told() and "confirmed" in told()
    train.write_text("import os\n" + STEP.replace("repeat(50)", "repeat(60)"))
    assert "confirmed" in told(), "an edit elsewhere in the file keeps the result"
    train.write_text(STEP.replace("tf.square(", "tf.abs("))
    assert "TFG202" in told() and "confirmed" not in told(), "an edit of the step makes it another one"


def test_what_a_change_must_bring_is_a_setting_of_each_file(train: Path) -> None:
    for name, gain in (("slow", 1.25), ("fast", 1.02)):
        (train.parent / name).mkdir()
        (train.parent / name / "loop.py").write_text(STEP)
        (train.parent / name / "tflint-gpu.toml").write_text(f"smallest-gain = {gain}\n")
    arguments = [word for word in command(train.parent, "--output-format", "json", ".") if word != "--isolated"]
    done = subprocess.run(arguments, cwd=train.parent, capture_output=True, text=True, timeout=200)
    told = {Path(one["filename"]).parent.name: one["reason"] for one in json.loads(done.stdout)["results"]}
    assert "from 1.25 on" in told["slow"] and "from 1.02 on" in told["fast"], done.stderr
    assert "from 1.1 on" in told[train.parent.name]
    assert "from 1.5 on" in run(train.parent, "--smallest-gain", "1.5", "train.py").stdout
    assert run(train.parent, "--smallest-gain", "0.5", "train.py").returncode == 2


def test_patches_do_not_mix_with_a_report_for_programs(train: Path) -> None:
    assert "-o FILE" in refused("--diff", "--output-format", "json", str(train))
    done = run(train.parent, "--diff", "--output-format", "json", "-o", "r.json", "train.py")
    assert "+@tf.function" in done.stdout and json.loads((train.parent / "r.json").read_text())["results"]


@pytest.mark.parametrize(("number", "name"), [(signal.SIGTERM, "SIGTERM"), (signal.SIGHUP, "SIGHUP")])
def test_a_signal_ends_it_as_ctrl_c_does(train: Path, number: signal.Signals, name: str) -> None:
    (train.parent / "other.py").write_text(STEP)
    (train.parent / "wait").touch()
    arguments = ("--output-format", "json", "-o", "r.json", "other.py", "train.py", "--fix")
    with subprocess.Popen(command(train.parent, *arguments), cwd=train.parent) as started:
        while not (train.parent / "waiting").exists():
            assert started.poll() is None
            time.sleep(0.05)
        started.send_signal(number)
        assert started.wait(60) == 128 + number
    first, second = json.loads((train.parent / "r.json").read_text())["results"]
    assert first["verdict"] == "confirmed"
    assert (second["verdict"], second["reason"]) == ("not run", name)
    assert (train.parent / "other.py").read_text() == STEP, "who ends it did not ask for changes any more"


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (("-o", "missing/report.html", "--output-format", "markdown"), "missing/report.html"),
        (("-o", "locked/report.json", "--output-format", "json"), "locked"),
        (("--keep", "train.py/kept"), "train.py/kept"),
        (("--keep", "file"), "file"),
    ],
)
def test_what_cannot_be_written_is_an_error_before_anything_runs(
    train: Path, arguments: tuple[str, ...], named: str
) -> None:
    (train.parent / "file").touch()
    (train.parent / "locked").touch()
    done = run(train.parent, *arguments, "train.py")
    assert done.returncode == 2 and named in done.stderr and "Traceback" not in done.stderr
    assert not (train.parent / "began").exists()


def test_a_kept_experiment_has_all_that_is_needed_to_repeat_it(train: Path) -> None:
    limits = ("--time-limit", "2m", "--memory-limit", "2GiB")
    done = run(train.parent, "--keep", "kept", "--seed", "7", "--env", "OMP_NUM_THREADS=3", *limits, "train.py")
    assert done.returncode == 1, done.stderr
    told = " ".join(done.stdout.split())
    assert "seconds=120.0" in told and f"memory_bytes={2 << 30}" in told
    (folder,) = (train.parent / "kept" / "train.py").iterdir()
    assert folder.name == "9_14_TFG202"
    names = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}
    programs = {f"{variant}/{file}" for variant in ("before", "after") for file in ("train.py", *harness_modules())}
    assert names == {*programs, "README.txt", "result.json", "environment.json"}
    assert len(json.loads((folder / "result.json").read_text())["samples"]["before"]) == 3
    environment = json.loads((folder / "environment.json").read_text())
    assert environment["python"] == sys.executable
    assert environment["variables"]["TFLINT_GPU_SEED"] == "7" and environment["variables"]["OMP_NUM_THREADS"] == "3"
    by_hand = (folder / "README.txt").read_text()
    assert "cd before && env" in by_hand and "train.py)" in by_hand and "OMP_NUM_THREADS=3" in by_hand


def test_what_does_not_reach_the_programs_is_named_once(train: Path) -> None:
    done = run(train.parent, "--env", "XLA_FLAGS", "train.py", XLA_FLAGS="--a", TF_XLA_FLAGS="--b", OMP_NUM_THREADS="2")
    (line,) = (line for line in done.stderr.splitlines() if "environment" in line)
    assert "TF_XLA_FLAGS, OMP_NUM_THREADS" in line and " XLA_FLAGS" not in line and "--env TF_XLA_FLAGS" in line
    assert "'XLA_FLAGS': '--a'" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--env", "NOT_SET_ANYWHERE"), "NOT_SET_ANYWHERE=VALUE"),
        (("--env", "1=2"), "NAME=VALUE"),
        (("--env", "CUDA_VISIBLE_DEVICES=0"), "--device"),
        (("--memory-limit", "much"), "8GiB"),
        (("--time-limit", "0s"), "120s"),
        (("--seed", "-1"), "--seed"),
        (("--fix", "--diff"), "cannot be combined"),
    ],
)
def test_a_wrong_option_is_told(train: Path, arguments: tuple[str, ...], message: str) -> None:
    assert message in refused(*arguments, str(train))


def refused(*arguments: str) -> str:
    """What a wrong use of the command is told."""
    result = CliRunner().invoke(verify_command, ["--device", "cpu", "--isolated", *arguments])
    assert result.exit_code == 2
    return result.output


def test_severe_findings_come_first_if_that_is_wanted(train: Path) -> None:
    with_error = "import tensorflow as tf\n\nwith tf.device('gpu0'):\n    tf.ones(())\n"
    (train.parent / "z.py").write_text(with_error)
    arguments = ("--select", "TFG202,TFG502", "--output-format", "json", ".")
    for order, codes in (("file", ["TFG202", "TFG502"]), ("severity", ["TFG502", "TFG202"])):
        results = json.loads(run(train.parent, "--order", order, *arguments).stdout)["results"]
        assert [result["code"] for result in results] == codes


def test_before_it_runs_it_says_what_protects_nothing_and_how_long_it_takes(train: Path) -> None:
    (train.parent / "other.py").write_text(STEP)
    done = run(train.parent, "--sandbox", "none", "other.py", "train.py")
    told = " ".join(done.stderr.split())
    assert "the code can access your home folder" in told and "--sandbox help" in told
    assert (
        "12 to 160 runs of programs take 40 s to 27 min if importing TensorFlow takes 4 s, and at most the budget, 10 min"
        in told
    )


def test_how_long_a_single_finding_takes_is_said_too(train: Path) -> None:
    told = " ".join(run(train.parent, "train.py").stderr.split())
    assert (
        "6 to 80 runs of programs take 20 s to 13 min if importing TensorFlow takes 4 s, and at most the budget, 10 min"
        in told
    )


def test_nothing_runs_unconfined_by_silence(train: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Protects who says --yes in a script: where nothing confines the code, `--sandbox none` must be said, too."""
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.setattr("tflint_gpu.verify.execution.landlock.version", lambda: 0)
    monkeypatch.chdir(train.parent)
    arguments = ["--device", "cpu", "--isolated", "--yes", "--python", sys.executable, "train.py"]
    result = CliRunner().invoke(verify_command, arguments)
    assert result.exit_code == 1 and not list(train.parent.glob("scratch*"))
    assert "no Landlock" in result.output and "--sandbox none" in result.output


def test_sandbox_help_says_what_is_missing_and_what_else_helps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    result = CliRunner().invoke(verify_command, ["--sandbox", "help"])
    assert result.exit_code == 0 and "bubblewrap (bwrap) is not installed" in result.output
    assert "--synthetic" in result.output and "apt install bubblewrap" in result.output


def test_a_file_that_does_not_parse_is_told_of(train: Path) -> None:
    (train.parent / "broken.py").write_text("import tensorflow as tf\n\n\ndef f(:\n    pass\n")
    done = run(train.parent, ".")
    assert done.returncode == 1 and "broken.py:4" in done.stderr and "is skipped" in done.stderr
