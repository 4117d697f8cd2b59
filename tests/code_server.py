"""VS Code in a browser: code-server runs the extension for real, and a second extension hands it what a test wants to know.

To install code-server where GitHub cannot be reached: `npm install --ignore-scripts code-server@4.93.1`, then in
`node_modules/code-server/lib/vscode` `npm install --legacy-peer-deps --omit=dev --ignore-scripts`, and `npm rebuild` of
what is native there (@parcel/watcher, @vscode/spdlog, @vscode/deviceid, native-watchdog, node-pty, kerberos with Debian's
libkrb5-dev) and of argon2 with `--build-from-source`; Debian's `rg` stands in as `@vscode/ripgrep/bin/rg`, and a link
`node_modules.asar` leads to `node_modules`.
"""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import urllib.request
import zipfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from browsers import PATIENCE, browser, wait_for

from tflint_gpu.lazy_dataclasses import dataclass

EXTENSIONS = Path(__file__).parents[1] / "editors" / "vscode" / "test"
SETTINGS = {
    "files.autoSave": "off",  # in a browser, it is on
    "security.workspace.trust.enabled": False,
    "telemetry.telemetryLevel": "off",
    "workbench.startupEditor": "none",
}


@dataclass(frozen=True, slots=True)
class Window:
    """A window of VS Code.

    Arguments:
        page: what the user sees, driven by selenium.
        driver: the address that takes scripts.
        logs: the folder where VS Code's logs are.
    """

    page: Any
    driver: str
    logs: Path

    def run(self, script: str) -> Any:
        """What a script returns that has VS Code's API as `vscode`."""
        with urllib.request.urlopen(self.driver, script.encode(), timeout=PATIENCE) as answer:
            result = json.loads(answer.read())
        assert "error" not in result, result["error"]
        return result["value"]

    def open(self, path: Path) -> None:
        """Show a file, or a notebook."""
        uri = f"vscode.Uri.file({json.dumps(str(path))})"
        if path.suffix == ".ipynb":
            notebook = f"await vscode.workspace.openNotebookDocument({uri})"
            self.run(f"await vscode.window.showNotebookDocument({notebook})")
        else:
            self.run(f"await vscode.window.showTextDocument({uri})")

    def command(self, name: str) -> None:
        """Run a command to its end."""
        self.run(f"await vscode.commands.executeCommand({json.dumps(name)})")

    def popups(self) -> list[str]:
        """The messages that pop up now."""
        return [popup.text for popup in self.page.find_elements("css selector", ".notification-toast")]

    def log(self) -> str:
        """What the extension has logged."""
        return "".join(path.read_text() for path in self.logs.rglob("tflint-gpu.log"))

    def wait_for(self, condition: Callable[[], object], what: str) -> None:
        """Wait until something is so; elements that are drawn again meanwhile are asked for again."""
        wait_for(condition, what, lambda: f"; the extension says {self.log()!r}; popups: {self.popups()}")


def free_port() -> int:
    """A port that nothing listens on."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        number: int = free.getsockname()[1]
        return number


def can_answer(address: str) -> bool:
    """Whether something answers at an address."""
    try:
        with urllib.request.urlopen(address, timeout=5):
            return True
    except OSError:
        return False


@contextmanager
def vs_code(place: Path, vsix: Path, target: Path, settings: Mapping[str, object], *others: str) -> Iterator[Window]:
    """A window of VS Code with the extension, which finds no tflint-gpu in its PATH.

    Arguments:
        place: an empty folder for what VS Code writes.
        vsix: the extension.
        target: the folder or the `.code-workspace` that is open.
        settings: of the user.
        others: folders in editors/vscode/test with more extensions.
    """
    program = shutil.which("code-server")
    if program is None:
        pytest.skip("code-server is not installed: tests/code_server.py says how")
    extensions = place / "extensions"
    for name in ("driver", *others):
        shutil.copytree(EXTENSIONS / name, extensions / name)
    with zipfile.ZipFile(vsix) as archive:
        archive.extractall(place / "unpacked")
    shutil.move(place / "unpacked" / "extension", extensions / "tflint-gpu")
    user = place / "data" / "User"
    user.mkdir(parents=True)
    (user / "settings.json").write_text(json.dumps({**SETTINGS, **settings}))
    ports = free_port(), free_port()
    folders = [folder for folder in os.environ["PATH"].split(os.pathsep) if not (Path(folder) / "tflint-gpu").exists()]
    environment = {**os.environ, "DRIVER_PORT": str(ports[0]), "HOME": str(place), "PATH": os.pathsep.join(folders)}
    options = [f"--bind-addr=127.0.0.1:{ports[1]}", "--auth=none", f"--config={place / 'config.yaml'}"]
    options += [f"--user-data-dir={place / 'data'}", f"--extensions-dir={extensions}"]
    options += ["--disable-telemetry", "--disable-update-check", "--disable-getting-started-override"]
    with (place / "log").open("wb") as log:
        server = subprocess.Popen([program, *options], cwd=place, env=environment, stdout=log, stderr=log)
    address, driver = f"http://127.0.0.1:{ports[1]}", f"http://127.0.0.1:{ports[0]}"
    try:
        with browser(1200, 800) as page:
            window = Window(page, driver, place / "data" / "logs")
            window.wait_for(lambda: can_answer(f"{address}/healthz"), "code-server")
            kind = "workspace" if target.suffix == ".code-workspace" else "folder"
            page.get(f"{address}/?{kind}={target}")
            window.wait_for(lambda: can_answer(driver), "VS Code")
            yield window
    finally:
        server.terminate()
        server.wait()
