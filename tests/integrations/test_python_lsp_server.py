"""Protects the findings in editors that use python-lsp-server: the real server, spoken to as an editor does."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from queue import Queue
from typing import Any

import pytest
from checkout import needs_installation
from linting import CODE, FLAGGED


class Editor:
    """As much of a client of the language server protocol as opens and changes a document."""

    def __init__(self, workspace: Path) -> None:
        scripts = Path(sys.executable).parent  # the server starts the first `flake8` on the PATH
        self._server = subprocess.Popen(
            [sys.executable, "-m", "pylsp"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={**os.environ, "PATH": f"{scripts}{os.pathsep}{os.environ.get('PATH', '')}"},
        )
        self._received: Queue[dict[str, Any]] = Queue()
        threading.Thread(target=self._listen, daemon=True).start()
        folder = {"processId": os.getpid(), "rootUri": workspace.as_uri(), "capabilities": {}}
        self.ask("initialize", folder)
        self.tell("initialized", {})

    def tell(self, method: str, parameters: dict[str, Any] | None, **more: Any) -> None:
        """Send a notification."""
        message = {"jsonrpc": "2.0", "method": method, "params": parameters, **more}
        data = json.dumps(message).encode()
        assert self._server.stdin is not None
        self._server.stdin.write(b"Content-Length: %d\r\n\r\n%s" % (len(data), data))
        self._server.stdin.flush()

    def ask(self, method: str, parameters: dict[str, Any] | None) -> None:
        """Send a request and wait for the answer."""
        self.tell(method, parameters, id=1)
        while self._received.get(timeout=600).get("id") != 1:
            pass

    def diagnostics(self, uri: str) -> list[dict[str, Any]]:
        """The next diagnostics that the server publishes for a document."""
        while True:
            message = self._received.get(timeout=600)
            if message.get("method") == "textDocument/publishDiagnostics" and message["params"]["uri"] == uri:
                found: list[dict[str, Any]] = message["params"]["diagnostics"]
                return found

    def leave(self) -> int:
        """End the server as the protocol says."""
        self.ask("shutdown", None)
        self.tell("exit", None)
        return self._server.wait(timeout=600)

    def kill(self) -> None:
        """End the server whatever it does."""
        self._server.kill()
        self._server.communicate()

    def _listen(self) -> None:
        stream = self._server.stdout
        assert stream is not None
        while header := stream.readline():
            length = int(header.removeprefix(b"Content-Length: "))
            while stream.readline().strip():
                pass
            self._received.put(json.loads(stream.read(length)))


@pytest.fixture
def editor(tmp_path: Path) -> Iterator[Editor]:
    """An editor that has turned flake8 on in its settings, as python-lsp-server demands."""
    needs_installation()
    client = Editor(tmp_path)
    linters = {name: {"enabled": False} for name in ("pycodestyle", "pyflakes", "mccabe", "pylint")}
    plugins = {**linters, "flake8": {"enabled": True}}
    client.tell("workspace/didChangeConfiguration", {"settings": {"pylsp": {"plugins": plugins}}})
    yield client
    client.kill()


@pytest.mark.slow
def test_an_open_document_gets_the_findings_of_its_unsaved_text(tmp_path: Path, editor: Editor) -> None:
    path = tmp_path / "train.py"
    path.write_text("")
    document = {"uri": path.as_uri(), "languageId": "python", "version": 1, "text": FLAGGED}
    editor.tell("textDocument/didOpen", {"textDocument": document})
    [found] = [one for one in editor.diagnostics(path.as_uri()) if one["code"].startswith("TFG")]
    assert (found["code"], found["source"], found["severity"]) == (CODE, "flake8", 2)
    assert found["range"]["start"] == {"line": 5, "character": 12}
    assert found["message"].startswith(f"{CODE} `prefetch` comes before `map`")
    changed = {
        "textDocument": {"uri": path.as_uri(), "version": 2},
        "contentChanges": [{"text": FLAGGED.replace(".prefetch(1)", "")}],
    }
    editor.tell("textDocument/didChange", changed)
    assert editor.diagnostics(path.as_uri()) == []
    assert editor.leave() == 0
