"""Protects from what is checked: none of it is run, whatever it is called; and code comes from installed packages only."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tflint_gpu.plugins import installed_rules, wrong_names
from tflint_gpu.settings.config import SettingsResolver
from tflint_gpu.settings.options import Options, SettingsError, parse_options

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "examples" / "acme_rules"
TRAP = "import tensorflow as tf\nopen({sprung!r}, 'a').write(__file__)\nwith tf.device('/GUP:0'):\n    pass\n"
TRAPS = (
    "__init__.py", "__main__.py", "conftest.py", "setup.py", "sitecustomize.py", "usercustomize.py", "libcst.py", "click.py",
    "tomllib.py", "importlib.py", "json.py", "tensorflow/__init__.py", "tflint_gpu/__init__.py", "tflint_gpu_rules.py",
    "evil_rules/__init__.py", "evil_rules/evil.py", "pkg/__init__.py", "pkg/conftest.py", "__pycache__/x.py",
)  # fmt: skip
WATCHED = """
import os, sys
told = open(sys.argv[1], "a", buffering=1)
folder = os.path.realpath(os.getcwd())
def below(path):
    if not isinstance(path, (str, bytes)):
        return False
    real = os.path.realpath(os.fsdecode(path))
    return real.startswith(folder + os.sep) and os.path.exists(real)  # what is made of a text is called `<string>`
def watch(event, arguments):
    if event == "exec" and below(arguments[0].co_filename):
        told.write(f"exec {arguments[0].co_filename}\\n")
    elif event == "import" and (below(arguments[1]) if arguments[1] else False):
        told.write(f"import {arguments[:2]}\\n")
    elif event.startswith(("subprocess.", "os.system", "os.exec", "os.posix_spawn", "os.spawn", "socket.connect", "socket.bind", "socket.getaddrinfo", "ctypes.dlopen", "pty.")):
        told.write(f"{event} {arguments!r}\\n")
    elif event == "open" and below(arguments[0]) and "w" in str(arguments[1] or ""):
        told.write(f"{event} {arguments!r}\\n")
sys.addaudithook(watch)
from tflint_gpu.cli import main
main(sys.argv[2:])
"""


def booby_trapped(folder: Path) -> Path:
    """A project in which whatever Python could be made to run leaves a trace; returns where."""
    sprung = folder.parent / "sprung"
    for name in TRAPS:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(TRAP.format(sprung=str(sprung)))
    (folder / "x.pth").write_text(f"import os; open({str(sprung)!r}, 'a').write('pth')\n")
    cell = {"cell_type": "code", "metadata": {}, "outputs": [], "execution_count": None}
    cells = [{**cell, "source": f"!touch {sprung}\n%run setup.py\n{TRAP.format(sprung=str(sprung))}"}]
    notebook = {"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
    (folder / "book.ipynb").write_text(json.dumps(notebook))
    for kind in ("evil.dist-info", "evil.egg-info"):
        (folder / kind).mkdir()
        (folder / kind / "METADATA").write_text("Metadata-Version: 2.1\nName: evil\nVersion: 1\n")
        (folder / kind / "entry_points.txt").write_text(
            "[tflint_gpu.rules]\nevl101_evil = evil_rules.evil\n[flake8.extension]\nEVL = evil_rules.evil:X\n"
        )
    (folder / "pyproject.toml").write_text(
        '[build-system]\nrequires = []\nbuild-backend = "setup"\nbackend-path = ["."]\n'
        '[project]\nname = "trap"\nversion = "1"\n[project.entry-points."tflint_gpu.rules"]\nevl101_evil = "evil_rules.evil"\n'
        '[tool.tflint-gpu]\nextend-exclude = ["!reboot", "$(touch sprung)"]\n'
    )
    return sprung


@pytest.mark.slow
@pytest.mark.parametrize("jobs", [1, 2])
def test_checking_never_executes_what_it_checks(jobs: int, tmp_path: Path) -> None:
    project = tmp_path / "project"
    project.mkdir()
    sprung, told = booby_trapped(project), tmp_path / "told"
    arguments = [
        "check",
        "--select",
        "ALL",
        "--extend-select",
        "TFG001",
        "--jobs",
        str(jobs),
        "--output-format",
        "json",
    ]
    done = subprocess.run(
        [sys.executable, "-c", WATCHED, str(told), *arguments, "--no-cache", "--diff", "."],
        cwd=project, capture_output=True, text=True, timeout=600, env={**os.environ, "PYTHONSAFEPATH": "1"},
    )  # fmt: skip
    assert "Traceback" not in done.stderr and done.returncode in (0, 1), done.stderr
    assert (sprung.exists(), told.read_text()) == (False, "")
    assert "evl101" not in done.stdout.lower()


@pytest.mark.slow
def test_the_folder_that_python_puts_on_its_path_is_not_run(tmp_path: Path) -> None:
    """`python -m tflint_gpu` in a project; a folder `tflint_gpu` there would be what Python starts."""
    project = tmp_path / "project"
    project.mkdir()
    sprung = booby_trapped(project)
    shutil.rmtree(project / "tflint_gpu")
    (project / "importlib.py").unlink()
    done = subprocess.run(
        [sys.executable, "-m", "tflint_gpu", "check", "--select", "ALL", "--output-format", "json", "--no-cache", "."],
        cwd=project, capture_output=True, text=True, timeout=600, env={**os.environ, "PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    assert done.returncode == 1 and len(json.loads(done.stdout)) > 10, done.stderr
    assert not sprung.exists()


@pytest.mark.parametrize("key", ["plugins", "rules", "import", "load-plugins", "python", "pre-hook"])
def test_no_setting_names_code(key: str, tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=f"unknown key `{key}`"):
        parse_options({key: ["os:system"]}, "x")
    (tmp_path / "tflint-gpu.toml").write_text(f'{key} = "os.system"\n')
    with pytest.raises(SettingsError, match="unknown key"):
        SettingsResolver(Options(), None, False, tmp_path).for_directory(tmp_path)


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The example package of the documentation, installed by pip into a folder."""
    folder = tmp_path_factory.mktemp("acme")
    shutil.copytree(EXAMPLE, folder / "source", ignore=shutil.ignore_patterns("build", "*.egg-info"))
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-index", "--no-build-isolation", "--no-deps"]
    subprocess.run([*command, "--target", folder / "site", folder / "source"], check=True, timeout=600)
    return folder / "site"


@pytest.mark.slow
def test_the_example_package_brings_its_rule(installed: Path, tmp_path: Path) -> None:
    def tflint(*arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "tflint_gpu", *arguments],
            cwd=tmp_path, capture_output=True, text=True, timeout=600,
            env={**os.environ, "PYTHONPATH": f"{ROOT}{os.pathsep}{installed}"},
        )  # fmt: skip

    program = "import tensorflow as tf\n\nds = tf.data.Dataset.range(9).take(-1)\nmodel = tf.keras.Sequential([tf.keras.layers.Dense(1)])\nmodel.fit(ds.batch(3))\n"
    (tmp_path / "a.py").write_text(program)
    (tmp_path / "b.py").write_text(program.replace("take(-1)", "take(-1)  # noqa: ACM101"))
    found = tflint("check", "--select", "ACM", "--output-format", "concise")
    assert (found.returncode, found.stderr) == (1, "")
    assert (
        found.stdout.startswith("a.py:3:31: warning: ACM101 `take(-1)` does nothing\n")
        and found.stdout.count("ACM101") == 1
    )
    assert tflint("check", "--select", "ACM", "--output-format", "concise").stdout == found.stdout, "from the cache"
    assert "ACM101" in tflint("check", "--output-format", "sarif").stdout
    assert "`take(-1)` takes every element" in tflint("rule", "ACM101").stdout
    assert "unknown rule `ACM102`" in tflint("check", "--select", "ACM102").stderr
    rule = installed / "acme_rules" / "noop_take.py"
    whole = rule.read_text()
    rule.write_text(whole.replace("does nothing", "does nothing at all"))
    assert "does nothing at all" in tflint("check", "--select", "ACM", "--output-format", "concise").stdout, "not stale"
    rule.write_text("raise SystemError('broken')\n")
    broken = tflint("check", "--select", "ACM101,TFG201,TFG401", "--no-cache")
    named = "ACM101 of the package acme-rules"
    assert broken.returncode == 2 and f"error: a.py: {named} failed: SystemError: broken" in broken.stderr
    assert "TFG401" in broken.stdout, "the other rules go on"
    catalogue = tflint("rule", "--all")
    assert f"warning: {named} cannot be imported: SystemError: broken" in catalogue.stderr
    assert (catalogue.returncode, "TFG101 numpy-in-call" in catalogue.stdout) == (0, True)
    alone = tflint("rule", "ACM101")
    assert (alone.returncode, alone.stderr.startswith(f"error: {named} cannot be imported")) == (2, True)
    rule.write_text(
        whole.replace("def check", "def check(self, model):\n        raise ValueError('no')\n\n    def before")
    )
    broken = tflint("check", "--select", "ACM101,TFG401", "--no-cache")
    assert f"error: a.py: {named} failed: ValueError: no" in broken.stderr and "TFG401" in broken.stdout
    rule.write_text("import sys\nsys.exit(0)\n")
    broken = tflint("check", "--select", "ACM101,TFG401", "--no-cache")
    assert broken.returncode == 2 and f"{named} failed: SystemExit: 0" in broken.stderr and "TFG401" in broken.stdout
    rule.write_text(whole)


def test_the_documentation_shows_that_package_whole() -> None:
    page = (ROOT / "docs" / "writing-a-rule.md").read_text("utf-8")
    assert f"```toml\n{(EXAMPLE / 'pyproject.toml').read_text()}```" in page
    rule = (EXAMPLE / "acme_rules" / "noop_take.py").read_text()
    assert f"```python\n{rule.replace('ACM101', 'TFG399')}```" in page


def named(folder: Path, package: str, *points: str) -> None:
    place = folder / f"{package}-1.dist-info"
    place.mkdir(parents=True)
    (place / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1\n")
    (place / "entry_points.txt").write_text("[tflint_gpu.rules]\n" + "\n".join(points))


@pytest.mark.parametrize(
    "point", ["noop = a.b", "tfg999_mine = a.b", "acm101 = a.b", "acm101_x = a.b:C", "acm101_x = os;x"]
)
def test_a_rule_that_is_named_wrongly_is_told_with_its_package(point: str, tmp_path: Path, monkeypatch: Any) -> None:
    named(tmp_path, "acme", point)
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    assert list(installed_rules()) == []
    [wrong] = wrong_names()
    assert wrong.package == "acme" and wrong.mistake.startswith("it names a rule ")


@pytest.mark.slow
def test_a_package_that_names_its_rule_wrongly_stops_no_other(tmp_path: Path) -> None:
    named(tmp_path / "site", "acme", "noop = a.b")
    (tmp_path / "a.py").write_text("import tensorflow as tf\nwith tf.device('/GUP:0'):\n    x = tf.ones(3)\n")

    def run(program: str, *arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", program, *arguments], cwd=tmp_path, capture_output=True, text=True, timeout=600,
            env={**os.environ, "PYTHONPATH": f"{ROOT}{os.pathsep}{tmp_path / 'site'}"},
        )  # fmt: skip

    checked = run("tflint_gpu", "check", "--output-format", "concise", "a.py")
    assert (checked.returncode, checked.stdout.partition(": ")[0]) == (2, "a.py:2:16")
    assert "error: a.py: the package acme failed: it names a rule 'noop' = 'a.b'" in checked.stderr
    assert "report this to the authors of the package" in checked.stderr
    catalogue = run("tflint_gpu", "rule", "--all")
    assert catalogue.returncode == 0 and "warning: the package acme failed: it names a rule" in catalogue.stderr
    linted = run("flake8", "--select", "TFG", "a.py")
    assert "a.py:2:16: TFG502" in linted.stdout and "TFG000 the package acme failed" in linted.stdout


def test_two_packages_with_one_code_are_told(tmp_path: Path, monkeypatch: Any) -> None:
    named(tmp_path, "acme", "acm101_one = a.b")
    named(tmp_path, "other", "acm101_two = c.d")
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    assert [rule.package for rule in installed_rules()] == ["acme"]
    [wrong] = wrong_names()
    assert (wrong.package, wrong.mistake) == ("other", "it names ACM101, and so does the package acme; uninstall one")


def test_metadata_in_the_working_directory_are_no_installed_package(tmp_path: Path, monkeypatch: Any) -> None:
    named(tmp_path, "acme", "acm101_one = a.b")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path, "", str(tmp_path)])
    assert list(installed_rules()) == []
    monkeypatch.chdir("/")
    assert [rule.code for rule in installed_rules()] == ["ACM101"]
