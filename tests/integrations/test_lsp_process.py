"""Protects the life of the language server as a process: it ends when it should, leaves nothing, and says what it lacks."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from editor import COMMAND, PATIENCE

pytestmark = pytest.mark.slow

Server = subprocess.Popen[bytes]
LONG = "import tensorflow as tf\n" + "".join(f"model{n}.fit(tf.abs({n}), batch_size=1)\n" for n in range(9000))


def started(folder: Path, capabilities: dict[str, Any]) -> tuple[Server, Any]:
    """The server as a process, greeted and not yet told to go; and its answer to the greeting."""
    process = subprocess.Popen(COMMAND, cwd=folder, stdin=-1, stdout=-1, stderr=-1)
    send(process, "initialize", {"processId": None, "rootUri": None, "capabilities": capabilities}, id=1)
    answer = receive(process)
    assert answer["id"] == 1
    return process, answer["result"]


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    """The server as a process that is ready."""
    process, _ = started(tmp_path, {})
    send(process, "initialized", {})
    yield process
    process.kill()
    process.wait()
    for stream in (process.stdin, process.stdout, process.stderr):
        assert stream is not None
        with contextlib.suppress(BrokenPipeError):
            stream.close()


def send(server: Server, method: str, params: Any = None, **more: Any) -> None:
    body = json.dumps({"jsonrpc": "2.0", "method": method, "params": params, **more}).encode()
    assert server.stdin is not None
    server.stdin.write(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
    server.stdin.flush()


def receive(server: Server) -> Any:
    assert server.stdout is not None
    length = 0
    while header := server.stdout.readline().strip():
        name, _, value = header.partition(b":")
        length = int(value) if name == b"Content-Length" else length
    return json.loads(server.stdout.read(length))


def open_document(server: Server, text: str) -> None:
    document = {"uri": "untitled:x", "languageId": "python", "version": 1, "text": text}
    send(server, "textDocument/didOpen", {"textDocument": document})


def farewell(server: Server) -> None:
    send(server, "shutdown", id=2)
    while receive(server).get("id") != 2:
        pass
    send(server, "exit")


@pytest.mark.parametrize("busy", [False, True])
def test_the_farewell(server: Server, busy: bool) -> None:
    if busy:
        open_document(server, LONG)
    farewell(server)
    assert server.wait(PATIENCE) == 0
    assert server.stderr is not None and server.stderr.read() == b""


def test_leaving_without_a_farewell(server: Server) -> None:
    send(server, "exit")
    assert server.wait(PATIENCE) == 1


@pytest.mark.parametrize("busy", [False, True])
def test_the_editor_is_gone(server: Server, busy: bool) -> None:
    """Both pipes break, as when the editor is killed, perhaps while a check is going on."""
    if busy:
        open_document(server, LONG)
    assert server.stdin is not None and server.stdout is not None
    server.stdin.close()
    server.stdout.close()
    assert server.wait(PATIENCE) == 0


def test_nonsense_does_not_end_it(server: Server) -> None:
    assert server.stdin is not None
    server.stdin.write(b"Content-Length: 5\r\n\r\n{no}!")
    send(server, "textDocument/didChange", {"textDocument": {"uri": "untitled:y", "version": 2}, "contentChanges": []})
    send(server, "textDocument/didOpen", {"textDocument": 3})
    send(server, "no/such/method", {}, id=7)
    open_document(server, "import tensorflow\n")
    told = []
    while not told or told[-1].get("method") != "textDocument/publishDiagnostics":
        told.append(receive(server))
    assert [one["error"]["code"] for one in told if one.get("id") == 7] == [-32601]
    assert "window/showMessage" not in {one.get("method") for one in told}, "the user is not interrupted"
    farewell(server)
    assert server.wait(PATIENCE) == 0


def test_notebooks_are_offered_to_editors_that_send_them(tmp_path: Path) -> None:
    server, answer = started(tmp_path, {"notebookDocument": {"synchronization": {}}})
    assert answer["capabilities"]["notebookDocumentSync"] == {
        "notebookSelector": [{"cells": [{"language": "python"}]}],
        "save": True,
    }
    farewell(server)
    server.communicate(timeout=PATIENCE)


def test_without_the_extra_it_says_what_to_install(tmp_path: Path) -> None:
    program = "import sys; sys.modules['pygls'] = None; from tflint_gpu.cli import main; main(['server'])"
    done = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, timeout=600)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        "error: the language server needs pygls: run `pip install 'tflint-gpu[lsp]'` (in a checkout of tflint-gpu: `pip install '.[lsp]'`)\n"
    )


def test_help_needs_no_extra(tflint: Any) -> None:
    assert "Run the language server for an editor." in tflint("--help").stdout
    assert tflint("server", "--help").stdout.startswith("Usage: tflint-gpu server")
