"""Looking at a machine: real probes in processes of their own, none of which can hang the command."""

from __future__ import annotations

import ast
import dataclasses
import datetime
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from fake_nvml import NOT_SUPPORTED, FakeNvml

from tflint_gpu.doctor import examination
from tflint_gpu.doctor.compatibility import builds, least_driver, release, runs_on, table
from tflint_gpu.doctor.environment import look
from tflint_gpu.doctor.examination import Answer, Patience, _survey, examine, run
from tflint_gpu.doctor.facts import Facts, Setting
from tflint_gpu.doctor.machine_report import report_on
from tflint_gpu.doctor.probes.cards import forbidden
from tflint_gpu.gpu.cards import survey

pytestmark = pytest.mark.slow

Doctor = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def doctor(tmp_path: Path) -> Doctor:
    """Run the command in the test's own directory, for as long as a busy machine needs to import TensorFlow."""

    def run_it(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "tflint_gpu", "doctor", *arguments]
        return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=600, check=False)

    return run_it


@pytest.fixture(scope="module")
def facts() -> Facts:
    """What is seen of this machine and of the TensorFlow that runs the tests."""
    return examine(Path(sys.executable), [Setting("XLA_FLAGS", "--xla_dump_to=/tmp", "train.py", 1)])


def test_the_installed_tensorflow_is_seen(facts: Facts) -> None:
    import tensorflow as tf

    assert facts.tensorflow is not None
    assert facts.tensorflow.version == tf.__version__
    assert facts.tensorflow.gpus == tuple(gpu.name for gpu in tf.config.list_physical_devices("GPU"))
    assert facts.tensorflow.keras == tf.keras.__version__
    assert facts.installation.packages["keras"] == tf.keras.__version__
    assert facts.installation.python == ".".join(map(str, sys.version_info[:2]))
    assert facts.silent == ()


def test_the_table_has_the_installed_build() -> None:
    """Protects compatibility.toml from rows that are not true: its row of this TensorFlow is its build information."""
    import tensorflow as tf

    build = dict(tf.sysconfig.get_build_info())
    row = builds()[release(tf.__version__)]
    if build["is_cuda_build"]:
        assert (row.cuda, row.cudnn) == (build["cuda_version"], build["cudnn_version"])
        assert row.capabilities == tuple(build["cuda_compute_capabilities"])
    assert ".".join(map(str, sys.version_info[:2])) in row.python


def test_every_row_of_the_table_says_where_and_when_it_was_read() -> None:
    """Protects compatibility.toml from gaps and from facts of nobody."""
    rows = {key: row for key, row in table().items() if key[0].isdigit()}
    assert [release(key) for key in rows] == [(2, minor) for minor in range(4, 4 + len(rows))] and len(rows) >= 18
    for key, row in rows.items():
        assert row["wheel"].startswith(f"tensorflow-{key}.") and row["python"] and row["cudnn"] and row["capabilities"]
        assert least_driver(row["cuda"]), key
        assert not row.get("wants") or any(name.startswith("nvidia-cudnn-cu") for name in row["wants"])
    for row in [*rows.values(), *table()["drivers"].values(), table()["windows"]]:
        assert datetime.date.fromisoformat(row["read"]) and (row.get("wheel") or row["source"])


def test_code_for_a_card() -> None:
    """Protects TFG904: code of one generation runs on the later cards of it; what is no code yet, on all later ones."""
    built = ("sm_60", "sm_70", "compute_80")
    assert [runs_on(built, card) for card in ((5, 2), (6, 1), (7, 5), (8, 0), (9, 0), (3, 7))] == [
        False, True, True, True, True, False,
    ]  # fmt: skip
    assert runs_on((), (3, 0))


def test_a_probe_that_hangs_is_ended() -> None:
    """Protects the command from a driver that never answers; what was printed before is kept."""
    code = "import json, time; print(json.dumps({'a': 1}), flush=True); time.sleep(3600)"
    answer = run([sys.executable, "-c", code], seconds=5)
    assert (answer.status, answer.lines) == ("out of time", ({"a": 1},))


def test_a_probe_that_crashes_says_how() -> None:
    answer = run([sys.executable, "-c", "raise SystemExit('no good')"], seconds=60)
    assert (answer.status, answer.reason) == ("failed", "failed: no good")
    killed = run([sys.executable, "-c", "import os, signal; os.kill(os.getpid(), signal.SIGKILL)"], seconds=60)
    assert killed.reason == "failed: exit code -9"
    assert run(["/no/such/python"], seconds=60).status == "failed"


def test_a_python_that_hangs_gives_a_picture_all_the_same(tmp_path: Path) -> None:
    """Protects the report: each look that fails is told of, and the others go on."""
    python = tmp_path / "python"
    python.write_text("#!/bin/sh\nexec sleep 3600\n")
    python.chmod(0o755)
    facts = examine(python, patience=Patience(quick=1, tensorflow=1, operations=1))
    assert "TensorFlow" in [what for what, _ in facts.silent]
    assert facts.tensorflow is not None
    assert "did not end in time" in facts.tensorflow.error


def test_nothing_of_the_users_folder_is_imported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Protects a folder with a `json.py` of its own, which is looked at and not run."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "json.py").write_text("raise RuntimeError('the users own')\n")
    facts = examine(Path("/no/such/python"))
    assert "the GPUs" not in dict(facts.silent)


@pytest.mark.parametrize(
    ("nvml", "parts", "mode"),
    [
        (FakeNvml(), None, "shared"),
        (FakeNvml(parts={0: (0, 1)}), ("MIG-00-abc", "MIG-01-abc"), "shared"),
        (FakeNvml(mig=1), (), "shared"),
        (FakeNvml(mig=1, refuses={"parts": NOT_SUPPORTED}), None, "shared"),
        (FakeNvml(mode=3), None, "exclusive"),
        (FakeNvml(mode=2), None, "prohibited"),
        (FakeNvml(refuses={"mode": NOT_SUPPORTED}), None, "shared"),
    ],
)
def test_what_nvml_tells_of_parts_and_of_who_may_compute(nvml: FakeNvml, parts: tuple[str, ...], mode: str) -> None:
    (gpu,) = survey(nvml).gpus
    assert (gpu.mig_parts, gpu.mode) == (parts, mode)
    again = _survey(Answer("answered", (json.loads(json.dumps(dataclasses.asdict(survey(nvml)))),)))
    assert again.gpus == (gpu,)


def test_files_that_cannot_be_opened_are_found(tmp_path: Path) -> None:
    for name in ("nvidia0", "nvidia-caps"):
        (tmp_path / name).mkdir()  # a folder lets itself be written to by its mode, and cannot be opened so
    (tmp_path / "nvidiactl").write_text("")
    assert forbidden(tmp_path) == ["/dev/nvidia0"]


def test_environment_of_a_container_below_windows(tmp_path: Path) -> None:
    """Protects what is read of files, with a root of our own."""
    for name, text in {
        "proc/version": "Linux version 5.15.90.1-microsoft-standard-WSL2",
        "proc/driver/nvidia/version": "NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.54.03  Tue Jun  6\n",
        "proc/1/cgroup": "0::/kubepods/besteffort/pod1\n",
        "sys/bus/pci/devices/0000:01:00.0/vendor": "0x10de\n",
        "sys/bus/pci/devices/0000:01:00.0/class": "0x030200\n",
        "sys/bus/pci/devices/0000:01:00.1/vendor": "0x10de\n",
        "sys/bus/pci/devices/0000:01:00.1/class": "0x040300\n",
        "dev/nvidia0": "",
        "dev/nvidia-caps": "",
        "usr/lib/wsl/lib/libcuda.so.1": "",
    }.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    (tmp_path / "sys/bus/pci/drivers/nouveau").mkdir(parents=True)
    (tmp_path / "sys/bus/pci/devices/0000:01:00.0/driver").symlink_to("../../drivers/nouveau")
    found = look(tmp_path, {"CUDA_VISIBLE_DEVICES": "", "HOME": "/root"}, ("Linux", "x86_64"))
    assert (found.cards, found.kernel_driver, found.container) == (1, "535.54.03", "kubernetes")
    assert found.pci_devices == 2
    assert found.bound == ("nouveau",)
    assert (found.wsl, found.wsl_driver) == (True, True)
    assert found.device_files == (("/dev/nvidia0", True),)
    assert found.variables == {"CUDA_VISIBLE_DEVICES": ""}


def test_a_package_that_is_not_installed_looks_at_the_cards(tmp_path: Path) -> None:
    """Protects `python -m tflint_gpu doctor` in a checkout; `-S` leaves out the file of an editable installation."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(entry for entry in sys.path if "site-packages" in entry)}
    probe = str(Path(examination.__file__).parent / "probes" / "cards.py")
    command = [sys.executable, "-S", probe]
    done = subprocess.run(
        command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=600, check=False
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["state"]


def test_the_command_without_tensorflow(tmp_path: Path, doctor: Doctor) -> None:
    """Protects the commonest first question, and the exit code."""
    done = doctor("--python", sys.executable, "--output-format", "json")
    found = json.loads(done.stdout)
    assert done.returncode == found["exit_code"]
    assert found["facts"]["tensorflow"]["version"]
    bare = tmp_path / "bare"
    bare.write_text(f'#!/bin/sh\nexec "{sys.executable}" -S "$@"\n')
    bare.chmod(0o755)
    done = doctor("--python", str(bare))
    assert done.returncode == 1
    assert "TFG909" in done.stdout
    assert done.stdout.rstrip().splitlines()[-1].startswith("Next: ")
    assert doctor("--python", "/no/such/python").returncode == 2
    assert doctor("--python", "/bin/ls").returncode == 2, "nothing could be seen"


@pytest.mark.parametrize("flags", ["--tf_xla_min_cluster_size=few", "--tf_xla_atuo_jit=2", "flags.txt"])
def test_flags_that_end_the_import_are_the_cause(flags: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Protects who is told to install a TensorFlow that is there, with the real one and what it logs."""
    monkeypatch.setenv("TF_XLA_FLAGS", flags)
    found = report_on(examine(Path(sys.executable), tries_operations=False))
    assert found.diagnoses[0].code == "TFG935"
    assert "TF_XLA_FLAGS" in found.diagnoses[0].seen and flags in found.diagnoses[0].seen
    assert not {"TFG909", "TFG930"} & {one.code for one in found.diagnoses}
    assert found.next_step.startswith("unset TF_XLA_FLAGS")


@pytest.mark.parametrize("place", ["path", "program"])
def test_files_that_stand_in_for_tensorflow_are_named_and_not_run(
    place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Protects from `Install it` where a file has the name of TensorFlow, or of a module that it imports."""
    folder = tmp_path / "own"
    (folder / "tensorflow").mkdir(parents=True)
    (folder / "tensorflow" / "__init__.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w')\n")
    (folder / "queue.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w')\n")
    (folder / "mathematics.py").write_text("")
    if place == "path":
        monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(folder), os.environ.get("PYTHONPATH", "")]))
    facts = examine(Path(sys.executable), tries_operations=False, folder=folder if place == "program" else tmp_path)
    found = report_on(facts)
    assert {(one.name, Path(one.path), one.is_beside) for one in facts.shadows} == {
        ("tensorflow", folder / "tensorflow" / "__init__.py", place == "program"),
        ("queue", folder / "queue.py", place == "program"),
    }
    assert not (tmp_path / "ran").exists()
    assert found.diagnoses[0].code == "TFG936" and found.exit_code == 1
    assert str(folder / "tensorflow") in found.verdict and "another name" in found.next_step
    assert facts.tensorflow is not None and facts.tensorflow.version, "the rest is looked at all the same"


def test_a_real_keras_and_tensorflow_beside_a_program_are_none(tmp_path: Path) -> None:
    """Protects a program that lies where its packages are."""
    for name, inside in (("tensorflow", "python"), ("keras", "src")):
        (tmp_path / name / inside).mkdir(parents=True)
        (tmp_path / name / "__init__.py").write_text("")
    assert examine(Path(sys.executable), tries_operations=False, folder=tmp_path).shadows == ()


@pytest.mark.parametrize("version", ["2.7", "3.6", "3.7"])
def test_old_pythons_are_named_by_their_version(version: str) -> None:
    """Protects who runs `python` and gets another one than was thought."""
    beside = Path(sys.base_prefix).parent  # where pyenv keeps its versions
    python = next((path / "bin" / "python" for path in sorted(beside.glob(f"{version}.*"))), None)
    if python is None or not python.exists():
        pytest.skip(f"no Python {version} here")
    found = report_on(examine(python))
    assert found.facts.installation.python == version
    assert found.facts.silent == ()
    assert [one.code for one in found.diagnoses][:1] == ["TFG921" if version == "2.7" else "TFG909"]
    assert version in found.diagnoses[0].seen or str(python) in found.diagnoses[0].seen


def test_the_probes_are_written_for_old_pythons() -> None:
    """Protects the answers of a Python 3.6 where there is none to try it."""
    for name in ("packages", "installed_tensorflow", "operations", "old_python"):
        text = (Path(examination.__file__).parent / "probes" / f"{name}.py").read_text()
        tree = ast.parse(text, feature_version=(3, 6))
        assert not any(isinstance(node, ast.ImportFrom) and node.module == "__future__" for node in tree.body)


PROGRAM = """\
import os
os.environ["CUDA_VISIBLE_DEVICES"] = "-1"
os.environ.setdefault("XLA_FLAGS", "--xla_dump_to=x")
os.environ["HOME"] = "/"
if flag:
    os.environ["TF_XLA_FLAGS"] = "x"
import tensorflow as tf
tf.config.set_visible_devices([], "GPU")
x = tf.ones(3)
"""


def test_what_a_program_sets_is_read_and_not_run(tmp_path: Path, doctor: Doctor) -> None:
    (tmp_path / "train.py").write_text(PROGRAM)
    done = doctor("train.py", "--output-format", "json")
    settings = json.loads(done.stdout)["facts"]["settings"]
    assert [(one["name"], one["value"], one["row"]) for one in settings] == [
        ("CUDA_VISIBLE_DEVICES", "-1", 2),
        ("XLA_FLAGS", "--xla_dump_to=x", 3),
        ("tf.config.set_visible_devices", "[]", 8),
    ]
    assert "TFG922" in [one["code"] for one in json.loads(done.stdout)["diagnoses"]]


def test_parts_of_a_card_come_through_the_probe() -> None:
    """Protects doctor's cards from being others than verify's: both are the same facts, once over JSON."""
    seen = survey(FakeNvml(free=(5, 9), parts={1: (0, 2)}))
    line = json.loads(json.dumps(dataclasses.asdict(seen)))
    assert examination._survey(Answer("answered", (line,))) == seen
