"""Protects VS Code's extension: it is built from what npm's registry has, and works in VS Code (with `-m campaign`)."""

from __future__ import annotations

import base64
import json
import os
import re
import shutil
import struct
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from browsers import browser
from code_server import Window, vs_code

import tflint_gpu
from tflint_gpu.integrations.jupyter import SCHEMA

pytestmark = pytest.mark.slow

SOURCE = Path(__file__).parents[2] / "editors" / "vscode"
PACKAGE = json.loads((SOURCE / "package.json").read_text("utf-8"))
ICON = SOURCE / "icon.png"
OLDEST_NODE = 20
NO_NETWORK = re.compile("ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ECONNRESET|ETIMEDOUT|ENETUNREACH")


def test_the_extension_and_the_package_are_of_one_version() -> None:
    assert PACKAGE["version"] == tflint_gpu.__version__


def test_the_settings_are_those_of_every_editor() -> None:
    settings = PACKAGE["contributes"]["configuration"]["properties"]
    own = {"tflint-gpu.path", "tflint-gpu.trace.server"}
    shared = {key: {**setting} for key, setting in settings.items() if key not in own}
    assert {setting.pop("scope") for setting in shared.values()} == {"resource"}, "each folder may have its own"
    assert shared == json.loads(SCHEMA.read_text())["properties"]
    assert own < set(settings)


def test_the_commands_are_there() -> None:
    text = (SOURCE / "src" / "extension.ts").read_text("utf-8")
    registered = re.findall(r'registerCommand\("([^"]+)"', text)
    assert sorted(registered) == sorted(one["command"] for one in PACKAGE["contributes"]["commands"])


def test_the_icon() -> None:
    """A PNG, as VS Code wants it, of the drawing beside it."""
    assert PACKAGE["icon"] == ICON.name
    if "TFLINT_PICTURES" in os.environ:
        with browser(400, 400) as page:
            page.get("data:text/html,<body style='margin: 0'></body>")
            page.execute_script("document.body.innerHTML = arguments[0]", ICON.with_suffix(".svg").read_text())
            transparent = {"color": {"r": 0, "g": 0, "b": 0, "a": 0}}
            page.execute_cdp_cmd("Emulation.setDefaultBackgroundColorOverride", transparent)
            clip = {"x": 0, "y": 0, "width": 128, "height": 128, "scale": 1}
            picture = page.execute_cdp_cmd("Page.captureScreenshot", {"format": "png", "clip": clip})
        ICON.write_bytes(base64.b64decode(picture["data"]))
    signature, size = ICON.read_bytes()[:8], ICON.read_bytes()[16:24]
    assert signature == b"\x89PNG\r\n\x1a\n" and struct.unpack(">II", size) == (128, 128)


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


@pytest.fixture(scope="module")
def vsix(extension: Path) -> Path:
    """The extension as it is installed."""
    done = npm(extension, "run", "package")
    assert done.returncode == 0, done.stdout + done.stderr
    return extension / "tflint-gpu.vsix"


def test_the_extension_is_packaged(vsix: Path) -> None:
    with zipfile.ZipFile(vsix) as archive:
        names = set(archive.namelist())
        shipped = json.loads(archive.read("extension/package.json"))
        program = archive.read("extension/dist/extension.js").decode()
    assert {name for name in names if "node_modules" in name or name.endswith((".ts", ".mjs"))} == set()
    assert names >= {"extension.vsixmanifest", "extension/LICENSE.txt", "extension/readme.md", "extension/icon.png"}
    assert f"extension/{shipped['main'].removeprefix('./')}" in names
    assert "notebookDocument/didOpen" in program, "the client's library is part of the bundle"


def test_the_server_and_a_client_like_that_of_vs_code(extension: Path) -> None:
    done = npm(extension, "test")
    assert done.returncode == 0, done.stdout + done.stderr
    assert re.search(r"pass 9\b", done.stdout), done.stdout


IMPORTS = "import numpy as np\nimport tensorflow as tf\n"
LAYER = "class Gate(tf.keras.layers.Layer):\n    def call(self, x):\n        return np.sign(x)\n"
RULE = "A NumPy function gets a symbolic tensor in code that TensorFlow traces."
HOVER = "return [...document.querySelectorAll('.monaco-hover')].map((hover) => hover.innerText).join()"
USE = "from gates import Gate\n\nprint(Gate)\n"
FOUND = """
return vscode.languages.getDiagnostics().flatMap(([uri, found]) => found
  .filter((finding) => finding.source === "tflint-gpu")
  .map(({ code, severity }) => [uri.path.split("/").at(-1), code?.value ?? code, vscode.DiagnosticSeverity[severity]]));
"""
CELLS = "return vscode.window.activeNotebookEditor.notebook.getCells().map((cell) => cell.document.getText())"
WRITE_NUMPY = """
const cell = vscode.window.activeNotebookEditor.notebook.cellAt(2).document;
const edit = new vscode.WorkspaceEdit();
edit.replace(cell.uri, new vscode.Range(0, 0, cell.lineCount, 0), cell.getText().replace("tf.sign", "np.sign"));
await vscode.workspace.applyEdit(edit);
"""
OURS = "tflint-gpu.tflint-gpu"
IS_ACTIVE = "return vscode.extensions.getExtension('{}').isActive"


def write_notebook(path: Path, *cells: str) -> None:
    """Write a notebook with a title and cells of code."""
    title = {"cell_type": "markdown", "metadata": {}, "source": "# Gates"}
    code: dict[str, object] = {"cell_type": "code", "metadata": {}, "execution_count": None, "outputs": []}
    metadata = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
    parts = [title, *({**code, "source": text} for text in cells)]
    path.write_text(json.dumps({"cells": parts, "metadata": metadata, "nbformat": 4, "nbformat_minor": 4}))


@pytest.mark.campaign
def test_vs_code_where_tensorflow_or_tflint_gpu_is_missing(vsix: Path, tmp_path: Path) -> None:
    """A README starts nothing, Python without TensorFlow no server, and no server is no "nothing can be fixed"."""
    work = tmp_path / "work"
    work.mkdir()
    (work / "README.md").write_text("# How to install tensorflow and keras\n")
    (work / "plain.py").write_text("print('Hello')\n")
    (work / "node_modules").mkdir()
    (work / "node_modules" / "foreign.py").write_text(IMPORTS)
    with vs_code(tmp_path / "code", vsix, work, {}) as window:
        window.open(work / "README.md")
        window.wait_for(lambda: window.run(IS_ACTIVE.format("vscode.markdown-language-features")), "VS Code's own")
        assert not window.run(IS_ACTIVE.format(OURS))
        window.open(work / "plain.py")
        window.wait_for(lambda: window.run(IS_ACTIVE.format(OURS)), "the extension")
        assert len(window.run("return await vscode.workspace.findFiles('**/*.py')")) == 2, "the search is over"
        window.command("tflint-gpu.fixAll")
        window.wait_for(window.popups, "an answer")
        assert ["does not run here" in popup for popup in window.popups()] == [True]
        window.command("notifications.clearAll")
        assert window.log() == ""
        (work / "gates.py").write_text(IMPORTS + LAYER)
        window.open(work / "gates.py")
        window.wait_for(window.popups, "that tflint-gpu is not installed")
        window.command("notifications.clearAll")
        window.command("tflint-gpu.fixAll")
        window.wait_for(window.popups, "an answer")
        assert ["is not installed here" in popup for popup in window.popups()] == [True]


@pytest.mark.campaign
def test_vs_code_with_several_folders(vsix: Path, tmp_path: Path) -> None:
    """A server, an environment and settings for each folder that uses TensorFlow; notebooks are fixed, also on saving."""
    first, second, plain = (tmp_path / name for name in ("first", "second", "plain"))
    for folder in (first, second, plain):
        (folder / ".vscode").mkdir(parents=True)
        (folder / "use.py").write_text(USE)
    for folder in (first, second):
        (folder / "gates.py").write_text(IMPORTS + LAYER)
    write_notebook(first / "gates.ipynb", IMPORTS, LAYER, "Gate()(tf.ones(3))")
    python = tmp_path / "python"
    python.write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n')
    python.chmod(0o755)
    (second / ".vscode" / "settings.json").write_text(
        json.dumps({"python.defaultInterpreterPath": str(python), "tflint-gpu.severity": {"TFG101": "advice"}})
    )
    workspace = tmp_path / "all.code-workspace"
    workspace.write_text(json.dumps({"folders": [{"path": str(folder)} for folder in (first, second, plain)]}))
    settings = {
        "python.defaultInterpreterPath": sys.executable,
        "notebook.codeActionsOnSave": {"notebook.source.fixAll.tflintGpu": "explicit"},
    }
    with vs_code(tmp_path / "code", vsix, workspace, settings, "python") as window:
        window.open(plain / "use.py")
        window.open(first / "use.py")
        window.wait_for(
            lambda: starts(window) == [sys.executable], "a server, though this file does not name TensorFlow"
        )
        window.open(second / "gates.py")
        window.wait_for(lambda: starts(window) == [sys.executable, str(python)], "a server in the other environment")
        window.wait_for(lambda: window.run(FOUND) == [["gates.py", "TFG101", "Hint"]], "the folder's own settings")
        window.open(first / "gates.py")
        window.wait_for(lambda: ["gates.py", "TFG101", "Error"] in window.run(FOUND), "the user's settings")
        assert hover_text(window).count("gets a tensor in") == 1, "the message"
        check_notebook(window, first / "gates.ipynb")
        assert starts(window) == [sys.executable, str(python)], "none for the folder without TensorFlow"
        (second / ".vscode" / "settings.json").write_text(json.dumps({"tflint-gpu.severity": {"TFG101": "warning"}}))
        window.wait_for(lambda: starts(window)[2:] == [sys.executable], "that only this folder's server starts again")
        window.wait_for(
            lambda: ["gates.py", "TFG101", "Warning"] in window.run(FOUND), "findings in the new environment"
        )
        assert window.popups() == []


def starts(window: Window) -> list[str]:
    """The interpreters that the servers were started with."""
    return re.findall(r"starts (\S+) -m tflint_gpu server", window.log())


def hover_text(window: Window) -> str:
    """What VS Code shows where the mouse rests on a finding."""
    from selenium.webdriver import ActionChains

    window.wait_for(lambda: window.page.find_elements("css selector", ".squiggly-error"), "the squiggle")
    ActionChains(window.page).move_to_element(window.page.find_element("css selector", ".squiggly-error")).perform()
    window.wait_for(lambda: RULE in window.page.execute_script(HOVER), "the rule's text")
    shown: str = window.page.execute_script(HOVER)
    return shown


def check_notebook(window: Window, path: Path) -> None:
    """All fixes by the command, and again on saving, in a notebook that starts with a title."""
    window.open(path)
    window.wait_for(lambda: [code for name, code, _ in window.run(FOUND) if name == path.name] == ["TFG101"], "it once")
    window.command("tflint-gpu.fixAll")
    window.wait_for(lambda: "tf.sign" in window.run(CELLS)[2], "the fix")
    window.run(WRITE_NUMPY)
    window.wait_for(lambda: "np.sign" in window.run(CELLS)[2], "the mistake again")
    window.command("workbench.action.files.save")
    window.wait_for(lambda: "tf.sign" in path.read_text(), "the fix in the saved file")
