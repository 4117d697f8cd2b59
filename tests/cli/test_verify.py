"""`tflint-gpu verify` as a user runs it, on the CPU, with the installed TensorFlow."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

DEVICE = """
import tensorflow as tf

with tf.device("/GPU:0"):
    product = tf.linalg.matmul(tf.ones((4, 4)), tf.ones((4, 4)))
"""
LOOP = """
import tensorflow as tf

model = tf.keras.Sequential([tf.keras.layers.Dense(8, activation="relu"), tf.keras.layers.Dense(1)])
optimizer = tf.keras.optimizers.Adam()
data = tf.data.Dataset.from_tensors((tf.ones((16, 4)), tf.ones((16, 1)))).repeat(50)


def train(data):
    for x, y in data:
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(model(x, training=True) - y))
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables))


train(data)
"""
COMMAND = [sys.executable, "-m", "tflint_gpu", "verify", "--device", "cpu", "--isolated"]


def run(folder: Path, *arguments: str, command: list[str] = COMMAND) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*command, *arguments], cwd=folder, capture_output=True, text=True, timeout=1200, stdin=subprocess.DEVNULL
    )


def results(done: subprocess.CompletedProcess[str]) -> list[dict[str, object]]:
    found: list[dict[str, object]] = json.loads(done.stdout)["results"]
    return found


def test_a_silent_cpu_is_confirmed_and_every_line_says_that_it_was_the_cpu(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(DEVICE)
    done = run(tmp_path, "--yes", "--runs", "2", "--select", "TFG501", ".")
    assert done.returncode == 1, done.stderr
    line = next(line for line in done.stdout.splitlines() if "train.py:4" in line)
    assert "confirmed" in line and "CPU" in line
    assert "nothing about a GPU" in done.stdout


def test_code_is_not_run_without_consent(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(DEVICE)
    done = run(tmp_path, "--select", "TFG501", ".")
    assert done.returncode == 2
    assert "train.py:4:16 TFG501" in done.stderr and "--yes" in done.stderr and done.stdout == ""


def test_one_finding_is_measured_again_by_its_place(tmp_path: Path) -> None:
    """Protects the command that a report prints for each finding."""
    (tmp_path / "train.py").write_text(DEVICE + DEVICE)
    for place in ("9:16", "train.py:9:16", "9"):
        done = run(tmp_path, "--select", "TFG501", "--at", place, "train.py")
        assert "train.py:9:16" in done.stderr and "train.py:4:16" not in done.stderr
    missing = run(tmp_path, "--select", "TFG501", "--at", "5:1", "train.py")
    assert missing.returncode == 2 and "findings are at train.py:4:16, train.py:9:16" in missing.stderr


def test_what_needs_a_gpu_is_not_run_and_that_is_exit_code_3(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(
        "import tensorflow as tf\n\nmodel = tf.keras.Sequential([tf.keras.layers.Dense(1)])\n"
        'model.compile(loss="mse")\nmodel.fit(tf.ones((64, 2)), tf.ones((64, 1)))\n'
    )
    done = run(tmp_path, "--yes", "--output-format", "json", ".")
    assert done.returncode == 3, done.stderr
    (result,) = results(done)
    assert (result["code"], result["verdict"]) == ("TFG401", "not run") and "GPU" in str(result["reason"])


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("import sys; sys.exit(3)", "exit code 3"),
        ("import a_module_that_nobody_has as missing; width = missing.width", "a_module_that_nobody_has"),
        ('import numpy as np; width = np.load("rows.npy")', "input=(32, 128) float32"),
    ],
    ids=["sys.exit", "missing module", "missing file"],
)
def test_a_program_that_does_not_get_there_is_not_run_with_the_reason(tmp_path: Path, line: str, reason: str) -> None:
    code = DEVICE.replace("\nwith", f"\nwidth = 4\n{line.replace('; ', chr(10))}\nwith").replace(
        "(4, 4)", "(4, width)", 1
    )
    (tmp_path / "train.py").write_text(code.replace("sys.exit(3)", "width = sys.exit(3)"))
    done = run(tmp_path, "--yes", "--select", "TFG501", "--output-format", "json", ".")
    assert done.returncode == 3, done.stderr
    (result,) = results(done)
    assert result["verdict"] == "not run" and reason in str(result["reason"])


# A clock that is past every budget as soon as the first finding has been measured, however long that took.
@pytest.mark.campaign
def test_when_the_budget_ends_what_was_measured_is_reported(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text(DEVICE)
    (tmp_path / "b.py").write_text(LOOP)
    done = run(
        tmp_path,
        "--yes",
        "--select",
        "TFG501,TFG202",
        "--budget",
        "40s",
        "--runs",
        "40",
        "--output-format",
        "json",
        ".",
    )
    first, second = results(done)
    assert (first["code"], second["code"]) == ("TFG501", "TFG202")
    assert "budget" in str(first["reason"]) and "budget" in str(second["reason"])
    assert "budget of 40 s" in json.loads(done.stdout)["interrupted"]


def test_after_ctrl_c_no_process_is_left_and_the_report_is_written(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text(DEVICE)
    (tmp_path / "b.py").write_text(LOOP)
    report = tmp_path / "report.json"
    arguments = ["--yes", "--select", "TFG501,TFG202", "--runs", "2", "--keep", "kept", "--output-format", "json"]
    arguments += ["--budget", "2h"]
    started = subprocess.Popen(
        [*COMMAND, *arguments, "-o", str(report), "."],
        cwd=tmp_path,
        stdin=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    # The programs of the second finding are written before they run, and import TensorFlow twice before there is a round.
    while not list(tmp_path.glob("kept/b.py/*_TFG202/after/*.py")) and started.poll() is None:
        time.sleep(0.02)
    started.send_signal(signal.SIGINT)
    assert started.wait() == 130
    first, second = json.loads(report.read_text())["results"]
    assert first["verdict"] == "confirmed" and len(first["measured"]["before"]) == 2
    assert (second["verdict"], second["reason"]) == ("not run", "Ctrl-C")
    assert not [pid for pid in _descendants(started.pid) if Path(f"/proc/{pid}").exists()]


def _descendants(parent: int) -> list[int]:
    """Processes whose environment names the scratch folder of a verify run by `parent` are all gone with it."""
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[1]) == parent:
            found.append(int(path.parent.name))
    return found


def test_an_interpreter_without_tensorflow_is_named_with_the_remedy(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(DEVICE)
    bare = tmp_path / "python"
    bare.write_text(f'#!/bin/sh\nexec {sys.executable} -I -S "$@"\n')
    bare.chmod(0o755)
    done = run(tmp_path, "--yes", "--python", str(bare), ".")
    assert done.returncode == 2 and str(bare) in done.stderr and "pip install tensorflow" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--device", "tpu"), "auto, cpu, gpu or gpu:N"),
        (("--device", "gpu:7"), "--device cpu"),
        (("--budget", "soon"), "120s"),
        (("no_such_folder",), "no_such_folder"),
        (("--python", "/no/such/python"), "/no/such/python"),
    ],
)
def test_a_wrong_option_is_told_with_exit_code_2(tmp_path: Path, arguments: tuple[str, ...], message: str) -> None:
    (tmp_path / "train.py").write_text(DEVICE)
    done = run(tmp_path, "--yes", *arguments, *([] if "no_such_folder" in arguments else ["."]))
    assert done.returncode == 2 and message in done.stderr and "Traceback" not in done.stderr


def test_a_broken_file_of_measurements_is_told(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(LOOP)
    (tmp_path / "m.json").write_text("{}")
    check = [sys.executable, "-m", "tflint_gpu", "check", "--isolated"]
    done = run(tmp_path, "--verified", "m.json", "train.py", command=check)
    assert done.returncode == 2 and "verify --output-format json" in done.stderr


def test_kept_programs_run_by_hand(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(LOOP)
    done = run(tmp_path, "--yes", "--select", "TFG202", "--runs", "1", "--keep", "kept", ".")
    assert done.returncode in (0, 1), done.stderr
    (folder,) = (tmp_path / "kept" / "train.py").iterdir()
    assert "@tf.function" in (folder / "after" / "train.py").read_text()
    environment = {**os.environ, "CUDA_VISIBLE_DEVICES": "-1"}
    by_hand = subprocess.run(
        [sys.executable, "train.py"],
        cwd=folder / "before",
        capture_output=True,
        text=True,
        timeout=600,
        env=environment,
    )
    assert "median of" in by_hand.stdout and by_hand.returncode == 0, by_hand.stderr[-2000:]


def test_synthetic_workloads_run_nothing_of_the_checked_code(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(
        DEVICE.replace("\nwith", '\nopen("ran", "w").close()\nraise SystemExit("user code")\nwith')
    )
    done = run(tmp_path, "--yes", "--runs", "2", "--select", "TFG501", "--synthetic", "--output-format", "json", ".")
    assert done.returncode == 0, done.stderr
    assert results(done)[0]["verdict"] is None and not (tmp_path / "ran").exists()


def test_where_only_workloads_of_rules_can_be_run_none_of_the_code_was_measured(tmp_path: Path) -> None:
    """Protects from exit code 1 and "confirmed" for a file of which nothing was run."""
    (tmp_path / "place.py").write_text(
        "import tensorflow as tf\n\nwith tf.device('/gpuu:3'):\n    z = tf.ones((2, 2))\n"
    )
    done = run(tmp_path, "--yes", "--select", "TFG502", "--keep", "kept", ".")
    assert done.returncode == 3, done.stderr
    assert "workloads of the rules, and none of the checked code" in done.stderr
    assert "your code was not measured" in done.stdout and "1 reference." in done.stdout
    assert "confirmed" not in done.stdout
    (folder,) = (tmp_path / "kept" / "place.py").iterdir()
    assert "\nreference: the rule's own workload, not this code" in (folder / "README.txt").read_text()


FAKE_CARD = """
import os, sys
from tflint_gpu.gpu import cards
os.environ.pop("CUDA_VISIBLE_DEVICES", None)
card = cards.Gpu(0, "Fake", "GPU-0", "580", 80 << 30, 70 << 30)
cards.survey = lambda nvml=None: cards.Survey("ready", (card,))
from tflint_gpu.cli import main
main(sys.argv[1:])
"""


@pytest.mark.campaign
def test_a_gpu_that_was_asked_for_and_is_not_used_is_exit_code_2_with_doctors_reason(tmp_path: Path) -> None:
    """Protects against "confirmed on the GPU" from a TensorFlow that computes on the CPU."""
    (tmp_path / "train.py").write_text(LOOP)
    (tmp_path / "driver.py").write_text(FAKE_CARD)
    options = ["--device", "gpu", "--isolated", "--select", "TFG202", "--runs", "1"]
    command = [sys.executable, "driver.py", "verify", *options]
    done = run(tmp_path, "--yes", "train.py", command=command)
    assert done.returncode == 2, done.stdout + done.stderr
    found = re.search(r"TensorFlow does not use it: (TFG9\d\d) ", done.stderr)
    assert found and "confirmed" not in done.stdout
    assert found[1] == code_of_run(tmp_path, command=[sys.executable, "driver.py", "run", "--isolated"])


def test_a_gpu_that_is_asked_for_and_not_there_is_explained_by_doctors_codes(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(DEVICE)
    done = run(tmp_path, "--yes", "--device", "gpu", ".")
    found = re.search(r"--device gpu: (TFG9\d\d) [a-z-]+: ", done.stderr)
    assert done.returncode == 2 and found, done.stderr
    assert found[1] == code_of_run(tmp_path, command=[sys.executable, "-m", "tflint_gpu", "run", "--isolated"])


@pytest.mark.campaign
def test_what_the_program_hides_has_the_same_code_in_verify_and_run(tmp_path: Path) -> None:
    """Protects from looking for a fault of the machine where the program's own line is it."""
    hiding = 'import os\nos.environ["CUDA_VISIBLE_DEVICES"] = "-1"\n'
    (tmp_path / "train.py").write_text(hiding + LOOP)
    (tmp_path / "driver.py").write_text(FAKE_CARD)
    options = ["--device", "gpu", "--isolated", "--select", "TFG202", "--runs", "1"]
    done = run(tmp_path, "--yes", "train.py", command=[sys.executable, "driver.py", "verify", *options])
    assert done.returncode == 2 and "TFG922 hidden-by-program: train.py:2: " in done.stderr, done.stderr
    command = [sys.executable, "driver.py", "run", "--isolated"]
    assert code_of_run(tmp_path, hiding, command=command) == "TFG922"


STARTED = """
import sys, time, types
module = sys.modules["tensorflow.python.eager.context"] = types.ModuleType("context")
module._context = types.SimpleNamespace(_logical_devices=[], _context_handle=1)
time.sleep(0.3)
"""


def code_of_run(folder: Path, text: str = "", *, command: list[str]) -> str:
    """The first code that `run` names for a program in which a TensorFlow has started without a GPU."""
    (folder / "started.py").write_text(text + STARTED)
    run(folder, "--output-format", "json", "-o", "run.json", "started.py", command=command)
    found = json.loads((folder / "run.json").read_text())["gpu_unused"]["diagnoses"]
    return str(found[0]["code"])
