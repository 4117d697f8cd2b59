"""Protects VS Code's extension: it is built from what npm's registry has, and the server answers a client like VS Code's."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

import tflint_gpu
from tflint_gpu.integrations.jupyter import SCHEMA

SOURCE = Path(__file__).parents[2] / "editors" / "vscode"
PACKAGE = json.loads((SOURCE / "package.json").read_text("utf-8"))
OLDEST_NODE = 20
NO_NETWORK = re.compile("ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ECONNRESET|ETIMEDOUT|ENETUNREACH")


def test_the_extension_and_the_package_are_of_one_version() -> None:
    assert PACKAGE["version"] == tflint_gpu.__version__


def test_the_settings_are_those_of_every_editor() -> None:
    settings = PACKAGE["contributes"]["configuration"]["properties"]
    own = {"tflint-gpu.path", "tflint-gpu.trace.server"}
    assert {key: one for key, one in settings.items() if key not in own} == json.loads(SCHEMA.read_text())["properties"]
    assert own < set(settings)


def test_the_commands_are_there() -> None:
    text = (SOURCE / "src" / "extension.ts").read_text("utf-8")
    registered = re.findall(r'registerCommand\("([^"]+)"', text)
    assert sorted(registered) == sorted(one["command"] for one in PACKAGE["contributes"]["commands"])


def npm(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "TFLINT_GPU_PYTHON": sys.executable, "NO_COLOR": "1"}
    return subprocess.run(["npm", *arguments], cwd=folder, env=environment, capture_output=True, text=True, timeout=900)


@pytest.fixture(scope="module")
def extension(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The extension's folder with what it needs of npm's registry."""
    if shutil.which("node") is None or shutil.which("npm") is None:
        pytest.skip("node and npm are not installed")
    version = subprocess.run(["node", "--version"], capture_output=True, text=True, timeout=60).stdout.strip()
    if int(version.lstrip("v").partition(".")[0]) < OLDEST_NODE:
        pytest.skip(f"node {version} is older than {OLDEST_NODE}")
    folder = tmp_path_factory.mktemp("vscode")
    shutil.copytree(SOURCE, folder, dirs_exist_ok=True, ignore=shutil.ignore_patterns("node_modules", "dist", "*.vsix"))
    done = npm(folder, "ci", "--no-audit", "--no-fund")
    if done.returncode != 0 and NO_NETWORK.search(done.stderr):
        pytest.skip(f"npm's registry does not answer: {done.stderr[-200:]}")
    assert done.returncode == 0, done.stderr
    return folder


def test_the_extension_is_packaged(extension: Path) -> None:
    done = npm(extension, "run", "package")
    assert done.returncode == 0, done.stdout + done.stderr
    with zipfile.ZipFile(extension / "tflint-gpu.vsix") as archive:
        names = set(archive.namelist())
        shipped = json.loads(archive.read("extension/package.json"))
        program = archive.read("extension/dist/extension.js").decode()
    assert {name for name in names if "node_modules" in name or name.endswith((".ts", ".mjs"))} == set()
    assert names >= {"extension.vsixmanifest", "extension/LICENSE.txt", "extension/readme.md"}
    assert f"extension/{shipped['main'].removeprefix('./')}" in names
    assert "notebookDocument/didOpen" in program, "the client's library is part of the bundle"


def test_the_server_and_a_client_like_that_of_vs_code(extension: Path) -> None:
    done = npm(extension, "test")
    assert done.returncode == 0, done.stdout + done.stderr
    assert re.search(r"pass 8\b", done.stdout), done.stdout
