"""Protects the command as users meet it: arguments, exit codes, streams, fixes, bad input."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib
from pathlib import Path
from typing import Any

import pytest

from tflint_gpu.rule import entries

FIXABLE = """\
import tensorflow as tf

def train(model, xs):
    ds = tf.data.Dataset.from_tensor_slices(xs)
    ds = ds.prefetch(1).map(lambda x: tf.io.decode_png(x)).batch(32)  # why
    model.fit(ds, epochs=2)
"""
CODE = "TFG302"  # the examples of this file speak about one real rule: misplaced-prefetch
CHOSEN = ("--select", CODE, "--target-tensorflow", "2.9")  # from 2.11 on it is advice
FIXED = FIXABLE.replace(
    ".prefetch(1).map(lambda x: tf.io.decode_png(x)).batch(32)",
    ".map(lambda x: tf.io.decode_png(x)).batch(32).prefetch(1)",
)

pytestmark = pytest.mark.skipif(CODE not in {entry.code for entry in entries()}, reason="that rule is gone")


def test_findings_exit_with_1_and_clean_code_with_0(tmp_path: Path, tflint: Any) -> None:
    (tmp_path / "a.py").write_text(FIXABLE)
    done = tflint("check", *CHOSEN, "--output-format", "concise")
    assert done.returncode == 1
    assert done.stdout.startswith(f"a.py:5:13: warning: {CODE} [*] ")
    assert done.stdout.endswith("Found 1 problem.\n[*] 1 fixable with the --fix option.\n")
    assert done.stderr == ""
    assert tflint("check", *CHOSEN, "--exit-zero").returncode == 0
    (tmp_path / "a.py").write_text(FIXED)
    done = tflint("check", *CHOSEN)
    assert (done.returncode, done.stdout) == (0, "All checks passed!\n")


def test_what_cannot_be_done_exits_with_2(tmp_path: Path, tflint: Any) -> None:
    (tmp_path / "a.py").write_text(FIXABLE)
    for arguments, words in [
        (["nowhere.py"], "nowhere.py"),
        (["--select", "TFG"[:2]], "TF"),
        (["--select", "E501"], "unknown rule `E501` in `select`; it is a code of pycodestyle"),
        (["--ignore", "numpy-in-cal"], "did you mean `numpy-in-call`?"),
        (["--target-tensorflow", "latest"], "target-tensorflow"),
        (["--target-tensorflow", "9.9"], "`target-tensorflow` must be a TensorFlow version from 1.0 to"),
        (["--config", "nowhere.toml"], "nowhere.toml"),
        (["--per-file-ignores", "a.py"], "per-file-ignores"),
        (["--no-such-option"], "--no-such-option"),
        (["--isolated", "--config", "x.toml"], "--isolated"),
        (["--jobs", "0"], "--jobs"),
        (["-", "a.py"], "standard input"),
    ]:
        done = tflint("check", *arguments)
        assert (done.returncode, done.stdout) == (2, ""), arguments
        assert words in done.stderr
        assert "Traceback" not in done.stderr


def test_a_directory_without_python(tmp_path: Path, tflint: Any) -> None:
    done = tflint("check")
    assert (done.returncode, done.stdout) == (0, "All checks passed!\n")
    assert "No Python files found under the given path(s)" in done.stderr


@pytest.mark.slow
def test_options_reach_the_selection(tmp_path: Path, tflint: Any) -> None:
    (tmp_path / "a.py").write_text(FIXABLE)
    (tmp_path / "pyproject.toml").write_text(f'[tool.tflint-gpu]\nselect = ["{CODE}"]\ntarget-tensorflow = "2.9"\n')
    assert tflint("check").returncode == 1
    assert tflint("check", "--isolated", "--ignore", "TFG").returncode == 0
    assert tflint("check", "--ignore", CODE).returncode == 0
    assert tflint("check", "--per-file-ignores", f"a.py:{CODE},b.py:ALL").returncode == 0
    assert tflint("check", "--per-file-ignores", f"b.py:{CODE}").returncode == 1
    assert tflint("check", "--exclude", "a.py").returncode == 0
    assert tflint("check", "--ignore", "TFG3", "--extend-select", CODE).returncode == 1


def test_noqa(tmp_path: Path, tflint: Any) -> None:
    (tmp_path / "a.py").write_text(FIXABLE.replace("# why", f"# noqa: {CODE}"))
    assert tflint("check", *CHOSEN).returncode == 0
    assert tflint("check", *CHOSEN, "--ignore-noqa").returncode == 1


@pytest.mark.slow
def test_fix_diff_and_fix_only(tmp_path: Path, tflint: Any) -> None:
    path = tmp_path / "a.py"
    data = FIXABLE.replace("\n", "\r\n").encode()
    path.write_bytes(data)
    shown = tflint("check", *CHOSEN, "--diff")
    assert (shown.returncode, path.read_bytes()) == (1, data)
    assert "+    ds = ds.map(lambda x: tf.io.decode_png(x)).batch(32).prefetch(1)  # why" in shown.stdout
    assert shown.stderr == "Would fix 1 problem.\n"
    done = tflint("check", *CHOSEN, "--fix")
    assert (done.returncode, done.stdout) == (0, "Found 1 problem (1 fixed, 0 remaining).\n")
    assert path.read_bytes() == FIXED.replace("\n", "\r\n").encode()
    again = tflint("check", *CHOSEN, "--fix")
    assert (again.returncode, again.stdout) == (0, "All checks passed!\n")
    path.write_bytes(data)
    only = tflint("check", *CHOSEN, "--fix-only")
    assert (only.returncode, only.stdout) == (0, "Fixed 1 problem.\n")
    path.write_bytes(data)
    assert tflint("check", *CHOSEN, "--fix", "--exit-non-zero-on-fix").returncode == 1
    clean = tflint("check", *CHOSEN, "--diff")
    assert (clean.returncode, clean.stdout) == (0, "")


def test_a_directory_that_cannot_be_written_is_reported(tmp_path: Path, tflint: Any) -> None:
    if not hasattr(os, "geteuid") or os.geteuid() == 0:
        pytest.skip("root may write everywhere, and so does Windows, which knows no such folder")
    (tmp_path / "d").mkdir()
    (tmp_path / "d" / "a.py").write_text(FIXABLE)
    (tmp_path / "d").chmod(0o555)
    done = tflint("check", *CHOSEN, "--fix", "--no-cache")
    assert done.returncode == 2
    assert "not fixed" in done.stderr


def test_standard_input(tmp_path: Path, tflint: Any) -> None:
    done = tflint("check", *CHOSEN, "--output-format", "json", "-", stdin=FIXABLE)
    assert [one["filename"] for one in json.loads(done.stdout)] == ["-"]
    done = tflint("check", *CHOSEN, "--stdin-filename", "in/b.py", "-", stdin=FIXABLE)
    assert " --> in/b.py:5:13" in done.stdout
    assert "5 |     ds = ds.prefetch(1)" in done.stdout
    done = tflint("check", *CHOSEN, "--fix", "-", stdin=FIXABLE)
    assert (done.returncode, done.stdout) == (0, FIXED)
    assert "1 fixed" in done.stderr
    assert not (tmp_path / ".tflint_gpu_cache").exists()


@pytest.mark.slow
def test_bad_input_is_never_a_traceback(tmp_path: Path, tflint: Any) -> None:
    (tmp_path / "good.py").write_text(FIXABLE)
    lure = b"import tensorflow as tf\ntf.data.Dataset.range(3).prefetch(1).map(f).batch(2)\nmodel.fit(GPU)\n"
    bad = {
        "syntax.py": lure + b"x = (\n",
        "latin.py": lure + b"x = '\xe9'\n",
        "python2.py": lure + b"print 'a'\n",
        "nul.py": lure + b"\0",
        "utf16.py": "import tensorflow".encode("utf-16"),
        "mixed.py": b"\xef\xbb\xbf# coding: latin-1\n" + lure,
        "empty.py": b"",
        "nested.py": lure + b"x = " + b"[" * 500 + b"]" * 500,
        "large.py": lure + b"x = 1\n" * 20_000,
    }
    for name, data in bad.items():
        (tmp_path / name).write_bytes(data)
    (tmp_path / "broken.py").symlink_to("nowhere.py")
    done = tflint("check", "--output-format", "json", "--no-cache")
    assert (done.returncode, done.stderr) == (1, "")
    codes: dict[str, set[str]] = {}
    for one in json.loads(done.stdout):
        codes.setdefault(Path(one["filename"]).name, set()).add(one["code"])
    assert CODE in codes["good.py"]
    for name in ("syntax.py", "latin.py", "python2.py", "nul.py", "mixed.py", "nested.py"):
        assert codes[name] == {"TFG000"}, name
    assert "empty.py" not in codes
    assert "TFG000" not in codes.get("large.py", set())


@pytest.mark.parametrize("old, new", [(b"\n", b"\r"), (b"tf.data", b"\x0ctf.data")])
def test_old_line_ends_and_form_feeds(old: bytes, new: bytes, tmp_path: Path, tflint: Any) -> None:
    (tmp_path / "a.py").write_bytes(FIXABLE.encode().replace(old, new) + new.replace(b"tf.data", b"def f():\n  pass\n"))
    done = tflint("check", *CHOSEN, "--output-format", "concise", "--no-cache")
    assert (done.returncode, done.stderr) == (1, "")
    assert f"a.py:5:13: warning: {CODE}" in done.stdout


@pytest.mark.slow
def test_results_come_from_the_cache_and_are_never_stale(tmp_path: Path, tflint: Any) -> None:
    path = tmp_path / "a.py"
    path.write_text(FIXABLE)
    first = tflint("check", *CHOSEN)
    entries_before = set((tmp_path / ".tflint_gpu_cache").rglob("*.json"))
    assert len(entries_before) == 1
    assert tflint("check", *CHOSEN).stdout == first.stdout
    assert set((tmp_path / ".tflint_gpu_cache").rglob("*.json")) == entries_before
    assert tflint("check", "--ignore", "TFG").returncode == 0, "other settings, other results"
    path.write_text(FIXED)
    assert tflint("check", *CHOSEN).returncode == 0
    path.write_text(FIXABLE)
    moved = tflint("check", *CHOSEN, "--cache-dir", "elsewhere")
    assert (moved.stdout, (tmp_path / "elsewhere" / "CACHEDIR.TAG").exists()) == (first.stdout, True)


@pytest.mark.slow
def test_bounds_that_were_met_are_told(tmp_path: Path) -> None:
    """Protects the word about what was not looked at: a value behind more calls than are told apart."""
    ring = "".join(f"def f{i}(x):\n    return f{i + 1}(x)\n" for i in range(9))
    code = f"import tensorflow as tf\n{ring}def f9(x):\n    return x\nds = f0(tf.data.Dataset.range(9)).batch(1)\n"
    (tmp_path / "deep.py").write_text(code + "model = tf.keras.Sequential()\nmodel.fit(ds)\n")
    command = [sys.executable, "-m", "tflint_gpu", "check", "--isolated", "--no-cache", "--verbose", "."]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=600)
    assert "deep.py: the analysis stopped at 8 nested calls whose" in done.stderr


def test_files_to_check_are_not_imported(tmp_path: Path) -> None:
    """Protects from the user's modules: with `python -m`, a `random` in the working directory would come before Python's."""
    for name in ("random", "tempfile", "click", "json", "tokenize"):  # and none that `python -m` imports itself
        (tmp_path / f"{name}.py").write_text("import tensorflow as tf\nraise SystemError('imported')\n")
    command = [sys.executable, "-m", "tflint_gpu", "check", "--isolated", "--no-cache", "."]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=600)
    assert (done.returncode, "imported" in done.stderr) == (0, False), done.stderr


def test_a_file_without_tensorflow_costs_no_import(tmp_path: Path) -> None:
    (tmp_path / "x.py").write_text("import os\n")
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "tflint_gpu", "check", "x.py"],
        cwd=tmp_path, capture_output=True, text=True, timeout=600,
    )  # fmt: skip
    imported = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}
    assert "tflint_gpu.checking.engine" in imported
    assert not {name for name in imported if name.partition(".")[0] in ("libcst", "tensorflow", "keras", "numpy")}
    assert not {name for name in imported if name.startswith(("tflint_gpu.rules", "tflint_gpu.model"))}


def test_colour_only_where_it_is_seen(tmp_path: Path, tflint: Any) -> None:
    (tmp_path / "a.py").write_text(FIXABLE)
    assert "\x1b[" not in tflint("check", *CHOSEN).stdout
    assert "\x1b[" in tflint("check", *CHOSEN, FORCE_COLOR="1").stdout


def test_shown_files_and_settings(tmp_path: Path, tflint: Any) -> None:
    (tmp_path / "a.py").write_text("")
    assert tflint("check", "--show-files").stdout == f"{tmp_path / 'a.py'}\n"


def test_shown_settings_are_toml_and_name_their_origin(tmp_path: Path, tflint: Any) -> None:
    """Protects the answer to "why does it say that here?": each value, who said it, and the TensorFlow that is assumed."""
    (tmp_path / "a.py").write_text("")
    (tmp_path / "requirements.txt").write_text("numpy\ntensorflow==2.9.1\n")
    table = (
        '[tool.tflint-gpu]\nselect = ["TFG2"]\nper-file-ignores = {"b.py" = ["TFG201"]}\nextend-ignore = ["TFG202"]\n'
    )
    (tmp_path / "pyproject.toml").write_text(table)
    text = tflint("check", "--show-settings", "--fix", "--extend-ignore", "TFG207").stdout
    said = tomllib.loads(text)
    assert said["select"] == ["TFG2"]
    assert said["fix"] is True
    assert said["extend-ignore"] == ["TFG202", "TFG207"]
    assert said["per-file-ignores"] == {"b.py": ["TFG201"]}
    assert said["output-format"] == "full"
    assert 'fail-on = "warning"  # default' in text
    assert "fix = true  # command line" in text
    assert f'select = ["TFG2"]  # {tmp_path / "pyproject.toml"}' in text
    pin = tmp_path / "requirements.txt"
    assert f"# checked as code for TensorFlow 2.9 with Keras 2 ({pin}, line 2)" in text
    (tmp_path / "pyproject.toml").write_text("")
    pin.unlink()
    text = tflint("check", "--show-settings").stdout
    assert tomllib.loads(text)["fix"] is False
    assert "(nothing pins a version: the newest)" in text
    text = tflint("check", "--show-settings", "--target-tensorflow", "2.9").stdout
    assert 'target-tensorflow = "2.9"  # command line' in text
    assert "TensorFlow 2.9 with Keras 2 (`target-tensorflow`)" in text


def test_quiet_and_statistics(tmp_path: Path, tflint: Any) -> None:
    (tmp_path / "a.py").write_text(FIXABLE)
    quiet = tflint("check", *CHOSEN, "--quiet", "--output-format", "concise").stdout
    assert quiet.count("\n") == 1
    counted = tflint("check", *CHOSEN, "--statistics", "--quiet").stdout
    assert counted.startswith(f"1\t{CODE}\t[*] ")


@pytest.mark.slow
def test_a_rule_that_fails_exits_with_2_and_names_file_and_rule(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text(FIXABLE)
    script = (
        "import sys, tflint_gpu.rule as r\n"
        f"rule = r.load(['{CODE}'])[0]\n"
        "def check(self, model): raise ValueError('oops')\n"
        "type(rule).check = check\n"
        "from tflint_gpu.cli import main\n"
        "main(['check', '--no-cache'])\n"
    )
    done = subprocess.run([sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True, timeout=600)
    assert done.returncode == 2
    assert f"error: a.py: {CODE} failed: ValueError: oops" in done.stderr


@pytest.mark.slow
def test_several_processes_end_quietly(tmp_path: Path, tflint: Any) -> None:
    for number in range(6):
        (tmp_path / f"f{number}.py").write_text(FIXABLE)
    for _ in range(5):
        done = tflint("check", *CHOSEN, "--no-cache", "--jobs", "2", "--output-format", "concise")
        assert (done.returncode, done.stderr) == (1, "")
        assert [line.partition(":")[0] for line in done.stdout.splitlines()[:6]] == [f"f{n}.py" for n in range(6)]


WAITING = """
import sys, types
from tflint_gpu.cli import main
class Input:
    def __init__(self, real):
        self.real = real
    def read(self):
        print("reading", flush=True)
        return self.real.read()
sys.stdin = types.SimpleNamespace(buffer=Input(sys.stdin.buffer))
main(["check", "-"])
"""


@pytest.mark.skipif(sys.platform == "win32", reason="Windows sends no SIGINT to one process")
def test_interrupting_exits_with_130(tmp_path: Path) -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", WAITING],
        cwd=tmp_path, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    assert process.stdout is not None
    assert process.stdout.readline() == b"reading\n"
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=600)
    assert process.returncode == 130
    assert b"Traceback" not in errors


UNNEEDED = (
    "multiprocessing",
    "concurrent",
    "asyncio",
    "tempfile",
    "traceback",
    "tflint_gpu.checking.fixes",
    "tflint_gpu.rules.tool",
)
"""What a check of one file has no use for, whatever the file is."""
PARSING = ("libcst", "hashlib", "tomllib", "tomli", "tflint_gpu.model", "tflint_gpu.rule", "tflint_gpu.checking")
"""What a check needs only for code that may have to do with TensorFlow, or with settings to read."""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("code", "forbidden"),
    [("import json\n", (*UNNEEDED, *PARSING)), ("import tensorflow as tf\ntf.function(print)\n", UNNEEDED)],
)
def test_a_check_of_standard_input_imports_what_it_needs(code: str, forbidden: tuple[str, ...], tmp_path: Path) -> None:
    """Protects the editor's pause: the imports are most of what a check of one file takes."""
    command = [sys.executable, "-X", "importtime", "-m", "tflint_gpu", "check", "--no-cache", "-"]
    done = subprocess.run(command, cwd=tmp_path, input=code, capture_output=True, text=True, timeout=60, check=True)
    imported = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines() if line.startswith("import time:")}
    assert "click" in imported
    assert [name for name in forbidden if name in imported] == []


@pytest.mark.slow
def test_what_is_known_is_not_shared_out(tmp_path: Path, tflint: Any) -> None:
    """Protects a warm check from losing time by more processes: it starts none."""
    for number in range(20):
        (tmp_path / f"m{number}.py").write_text("import tensorflow as tf\n")
    assert tflint("check", "--jobs", "2").returncode == 0
    program = (
        "import multiprocessing.process as p\n"
        "def start(self):\n    raise SystemExit('a process was started')\n"
        "p.BaseProcess.start = start\n"
        "from tflint_gpu.cli import main; main(['check', '--jobs', '2'])"
    )
    done = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")


def test_settings_on_the_command_line(tmp_path: Path, tflint: Any) -> None:
    """Protects `--config KEY=VALUE`: a setting for one run, beaten by the option of its name."""
    shown = tflint("check", "--config", "jobs = 7", "--config", 'severity.TFG000 = "advice"', "--show-settings").stdout
    assert "jobs = 7" in shown and '"TFG000" = "advice"' in shown
    assert "jobs = 2" in tflint("check", "--config", "jobs=7", "-j", "2", "--show-settings").stdout
    wrong = tflint("check", "--config", "job=7")
    assert wrong.returncode == 2 and "--config: unknown key `job`; did you mean `jobs`?" in wrong.stderr
    assert "neither a file nor a setting in TOML" in tflint("check", "--config", "jobs=").stderr
    rows = ("--config", 'severity.TFG101 = "advice"', "--config", 'severity.TFG102 = "error"')
    assert '"TFG101" = "advice", "TFG102" = "error"' in tflint("check", *rows, "--show-settings").stdout
    extending = tflint("check", "--config", 'extend = "absent.toml"')
    assert extending.returncode == 2 and "`extend` is for settings files" in extending.stderr


def test_an_unknown_command_is_told_with_what_was_meant(tmp_path: Path, tflint: Any) -> None:
    (tmp_path / "train.py").write_text("")
    assert "no such command `chekc`; did you mean `check`?" in tflint("chekc").stderr
    assert "did you mean `tflint-gpu check train.py`?" in tflint("train.py").stderr
    help_of_all = tflint("--help").stdout
    assert help_of_all.startswith("Usage: ") and tflint().stderr.strip() in ("", help_of_all.strip()), (
        "no command: help"
    )


def test_errors_have_one_form(tmp_path: Path, tflint: Any) -> None:
    """Protects who reads logs: `error:` begins the line, whoever refuses the work."""
    (tmp_path / "notes.txt").write_text("no report\n")
    (tmp_path / "train.py").write_text("")
    for arguments, message in (
        (("chekc",), "no such command `chekc`; did you mean `check`?"),
        (("check", "absent.py"), "absent.py: no such file or directory"),
        (("check", "--selct", "TFG"), "No such option"),
        (("check", "--output-file", "absent/a.txt", "train.py"), "absent/a.txt: No such file or directory"),
        (
            ("check", "--verified", "notes.txt"),
            "not a report of `verify`; write one with `verify --output-format json`",
        ),
    ):
        done = tflint(*arguments)
        *usage, last = done.stderr.splitlines()
        assert done.returncode == 2 and last.startswith("error: ") and message in last, done.stderr
        assert usage == [] or (usage[0].startswith("Usage: tflint-gpu ") and usage[-1] == "")


@pytest.mark.slow
def test_severities_and_warnings_of_comments(tmp_path: Path, tflint: Any) -> None:
    (tmp_path / "a.py").write_text("import tensorflow\nx = (\n")
    assert tflint("check", "a.py").returncode == 1
    assert tflint("check", "--config", 'severity.TFG000 = "advice"', "a.py").returncode == 0
    (tmp_path / "b.py").write_text("import tensorflow as tf\nwith tf.device('/GUP:0'):  # noqa: oops\n    pass\n")
    for _ in range(2):  # fresh, and from the cache
        assert "b.py:2: `# noqa: oops` names no rule, so it suppresses nothing" in tflint("check", "b.py").stderr


@pytest.mark.parametrize("selected", [(), ("--select", "TFG101"), ("--select", "gpu-config-too-late")])
def test_a_file_that_does_not_parse_is_told_whatever_is_selected(
    selected: tuple[str, ...], tmp_path: Path, tflint: Any
) -> None:
    """Protects from "All checks passed!" for a file in which no rule's word stands."""
    (tmp_path / "a.py").write_text("import tensorflow\nx = (\n")
    done = tflint("check", "--isolated", *selected, "a.py")
    assert done.returncode == 1 and "error[TFG000 unreadable-file]: does not parse" in done.stdout


MISPLACED = "with tf.device('/GUP:0'):{comment}\n    x = tf.ones(3)\n"
NAME, NAMED = "invalid-device", "TFG502"


def rows_found(tflint: Any, *options: str) -> list[int]:
    done = tflint("check", "--output-format", "json", *options, "a.py")
    return [found["location"]["row"] for found in json.loads(done.stdout) if found["code"] == NAMED]


@pytest.mark.slow
@pytest.mark.parametrize("word", [NAME, NAMED])
def test_a_rule_goes_by_its_name_wherever_its_code_goes(word: str, tmp_path: Path, tflint: Any) -> None:
    path, settings = tmp_path / "a.py", tmp_path / "tflint-gpu.toml"
    path.write_text("import tensorflow as tf\n" + MISPLACED.format(comment=""))
    assert rows_found(tflint, "--select", word) == [2] == rows_found(tflint, "--ignore", "ALL", "--extend-select", word)
    assert rows_found(tflint, "--ignore", word) == [] == rows_found(tflint, "--per-file-ignores", f"a.py:{word}")
    for line in (f'ignore = ["{word}"]', f'per-file-ignores = {{"a.py" = ["{word}"]}}', 'select = ["numpy-in-call"]'):
        settings.write_text(line)
        assert rows_found(tflint) == [], line
    settings.write_text(f'select = ["{word}"]')
    assert rows_found(tflint) == [2]
    path.write_text(path.read_text().replace(":\n", f":  # noqa: {word}\n"))
    assert rows_found(tflint) == []
    path.write_text(f"# tflint-gpu: noqa: {word}\n" + path.read_text().replace("# noqa", "#"))
    assert rows_found(tflint) == []
    assert tflint("rule", word).stdout.startswith(f"{NAMED} {NAME}\n")


def test_a_misspelt_comment_suppresses_nothing_and_is_warned_of(tmp_path: Path, tflint: Any) -> None:
    (tmp_path / "a.py").write_text("import tensorflow as tf\n" + MISPLACED.format(comment="  # noqa: misspelt"))
    assert rows_found(tflint, "--isolated") == [2]
    told = tflint("check", "--isolated", "a.py").stderr
    assert told == "warning: a.py:2: `# noqa: misspelt` names no rule, so it suppresses nothing\n"


@pytest.mark.parametrize("word", ["", f": {NAME}", f": {NAMED}", ": TFG5"])
def test_a_range_is_suppressed_from_off_to_on(word: str, tmp_path: Path, tflint: Any) -> None:
    block = MISPLACED.format(comment="")
    switched = f"import tensorflow as tf\n{block}# tflint-gpu: off{word}\n{block}# tflint-gpu: on{word}\n{block}"
    (tmp_path / "a.py").write_text(switched)
    assert rows_found(tflint, "--isolated") == [2, 8]
    (tmp_path / "a.py").write_text(switched.replace(f": off{word}", ": off: numpy-in-call"))
    assert rows_found(tflint, "--isolated") == [2, 5, 8], "what is off is off, and nothing else"


@pytest.mark.slow
def test_a_team_chooses_the_severity_of_a_rule(tmp_path: Path, tflint: Any) -> None:
    """Protects `[tool.tflint-gpu.severity]`: it is shown, and it decides whether the command fails."""
    colours: dict[str, list[str]] = {}
    (tmp_path / "a.py").write_text("import tensorflow as tf\n" + MISPLACED.format(comment=""))
    for word, severity, code in ((NAME, "advice", 0), (NAMED, "warning", 1), ("TFG5", "advice", 0), (NAME, "error", 1)):
        (tmp_path / "pyproject.toml").write_text(f'[tool.tflint-gpu.severity]\n{word} = "{severity}"\n')
        done = tflint("check", "--show-advice", "--output-format", "concise", "a.py")
        assert (done.returncode, f"a.py:2:16: {severity}: {NAMED} " in done.stdout) == (code, True), word
        coloured = tflint("check", "--show-advice", "--output-format", "concise", "--color", "always", "a.py").stdout
        colours[severity] = re.findall(rf"\x1b\[([\d;]+)m{NAMED}", coloured)
    assert len({*map(str, colours.values())}) == 3 and all(colours.values()), "severities have colours of their own"


STEP = """import tensorflow as tf

model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
data = tf.data.Dataset.from_tensor_slices(rows).batch(32)
def once(x):
    model(x)
def often(x):
    model(x)
for x in data:
    once(x)
for epoch in range(90):
    for number in range(2):
        for x in data:
            often(x)
"""


@pytest.mark.slow
def test_an_estimate_counts_the_loops_of_callers_and_names_what_to_fix_first(tmp_path: Path, tflint: Any) -> None:
    """Protects who has an hour for ten findings: code in more loops comes first, loops of a few iterations do not count."""
    (tmp_path / "train.py").write_text(STEP)
    done = tflint("check", "--isolated", "--select", "TFG207", "--estimate", "--output-format", "json", "train.py")
    found = json.loads(done.stdout)
    assert [finding["location"]["row"] for finding in found] == [8, 6]
    assert (
        "in each iteration of the loop over the dataset at train.py:13, in the loop at train.py:11;"
        in found[0]["estimate"]
    )
    assert "in each iteration of the loop over the dataset at train.py:9;" in found[1]["estimate"]
    plain = tflint("check", "--isolated", "--select", "TFG207", "--output-format", "json", "train.py")
    assert [finding["location"]["row"] for finding in json.loads(plain.stdout)] == [6, 8]


def test_types_are_shown_of_a_line_or_of_all(tmp_path: Path, tflint: Any) -> None:
    """Protects `--show-types`: what it says, and that a wrong line or a broken file is an error and no traceback."""
    (tmp_path / "a.py").write_text("import tensorflow as tf\nrows = tf.zeros((8, 3))\nfirst, n = rows[0], 3\n")
    done = tflint("check", "--show-types", "3", "a.py")
    assert done.stdout == "a.py:3:1: first: Tensor float32 (3,)\na.py:3:12: rows: Tensor float32 (8, 3)\n"
    assert tflint("check", "--show-types", "all", "a.py").stdout.startswith("a.py:2:1: rows: Tensor float32")
    assert tflint("check", "--show-types", "x", "a.py").returncode == 2
    (tmp_path / "a.py").write_text("import tensorflow as tf\nrows = (\n")
    done = tflint("check", "--show-types", "all", "a.py")
    assert done.returncode == 2 and "a.py" in done.stderr and "Traceback" not in done.stderr


@pytest.mark.slow
def test_which_rules_are_fixed_is_chosen_as_in_ruff(tmp_path: Path, tflint: Any) -> None:
    """Protects who fixes one rule at a time: the finding stays, and nothing says that it can be fixed."""
    (tmp_path / "a.py").write_text(FIXABLE)
    for options in (["--unfixable", CODE], ["--fixable", "TFG1"], ["--fixable", "ALL", "--unfixable", "TFG3"]):
        done = tflint("check", *CHOSEN, "--fix", "--output-format", "concise", *options)
        assert (done.returncode, (tmp_path / "a.py").read_text()) == (1, FIXABLE), options
        assert "[*]" not in done.stdout and CODE in done.stdout
    (tmp_path / "tflint-gpu.toml").write_text(f'unfixable = ["{CODE}"]\n')
    assert "[*]" not in tflint("check", *CHOSEN, "--output-format", "concise").stdout
    for options in (["--fixable", "ALL"], ["--extend-fixable", CODE]):
        (tmp_path / "a.py").write_text(FIXABLE)
        tflint("check", *CHOSEN, "--fix", *options)
        assert (tmp_path / "a.py").read_text() == FIXED, options


@pytest.mark.slow
def test_settings_say_which_fixes_are_safe(tmp_path: Path, tflint: Any) -> None:
    (tmp_path / "a.py").write_text(FIXABLE)
    (tmp_path / "tflint-gpu.toml").write_text('extend-unsafe-fixes = ["TFG3"]\n')
    tflint("check", *CHOSEN, "--fix")
    assert (tmp_path / "a.py").read_text() == FIXABLE, "a safe fix counts as unsafe"
    tflint("check", *CHOSEN, "--fix", "--unsafe-fixes")
    assert (tmp_path / "a.py").read_text() == FIXED
    (tmp_path / "a.py").write_text(FIXABLE)
    (tmp_path / "tflint-gpu.toml").write_text(f'extend-unsafe-fixes = ["TFG3"]\nextend-safe-fixes = ["{CODE}"]\n')
    tflint("check", *CHOSEN, "--fix")
    assert (tmp_path / "a.py").read_text() == FIXED, "the more specific entry wins"


def test_ignores_by_file_are_added_to_those_of_the_settings(tmp_path: Path, tflint: Any) -> None:
    for name in ("a.py", "b.py", "c.py"):
        (tmp_path / name).write_text(FIXABLE)
    (tmp_path / "tflint-gpu.toml").write_text(f'per-file-ignores = {{"a.py" = ["{CODE}"]}}\n')
    chosen = ("check", *CHOSEN, "--output-format", "concise")
    done = tflint(*chosen, "--extend-per-file-ignores", f"b.py:{CODE}")
    assert "c.py:" in done.stdout and "a.py:" not in done.stdout and "b.py:" not in done.stdout
    done = tflint(*chosen, "--per-file-ignores", f"b.py:{CODE}")
    assert "a.py:" in done.stdout and "b.py:" not in done.stdout
    assert "extend-per-file-ignores" in tflint(*chosen, "--extend-per-file-ignores", "a.py").stderr
