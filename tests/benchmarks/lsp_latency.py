"""Milliseconds from a change in an editor to the diagnostics of the new text, with the server warm.

    python tests/benchmarks/lsp_latency.py [FILE] [--changes N]

Starts the real `tflint-gpu server`, opens FILE, and types into it: each change alters a line in the middle, and the next one
waits for the diagnostics of this one. Without FILE the text is 500 lines: programs of `fixtures/` one behind the other.
The server's own wait for a pause in the typing is part of what is measured.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import platform
import statistics
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from processes import seconds_so_far, tflint

__all__ = ["lines_of_fixtures", "measure"]
_WARMING = 3
_SERVER = tuple(tflint("server"))
_FIXTURES = Path(__file__).parents[2] / "fixtures"


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", nargs="?", type=Path)
    parser.add_argument("--changes", type=int, default=30)
    arguments = parser.parse_args()
    path = (arguments.file or _FIXTURES / "typed_here.py").resolve()
    text = path.read_text("utf-8") if arguments.file else lines_of_fixtures()
    found, waits, spent = asyncio.run(measure(path, text, arguments.changes))
    print(f"{platform.machine()}, Python {platform.python_version()}")
    print(f"{text.count(chr(10))} lines, {found} findings, {len(waits)} changes")
    print(f"diagnostics after {statistics.median(waits):.0f} ms (median), {max(waits):.0f} ms (longest)")
    if spent:
        print(f"the server's CPU time: {1000 * spent / len(waits):.0f} ms a change")


def lines_of_fixtures(count: int = 500) -> str:
    """A program of so many lines: those of `fixtures/` one behind the other, again and again."""
    texts = [
        path.read_text("utf-8") for path in sorted(_FIXTURES.rglob("*.py")) if "tensorflow" in path.read_text("utf-8")
    ]
    lines = "\n".join(text for text in texts if "from __future__" not in text).splitlines(keepends=True)
    lines *= count // len(lines) + 1
    end = next(row for row in range(count, 0, -1) if lines[row][0].isalnum())  # where a statement starts
    return "".join(lines[:end]) + "# filled up\n" * (count - end)


async def measure(
    path: Path, text: str, changes: int, command: Sequence[str] = _SERVER, *, pulls: bool = False
) -> tuple[int, list[float], float]:
    """How many findings the text has, the milliseconds of each change, and the server's CPU seconds.

    Arguments:
        command: which starts a language server.
        pulls: ask a server that can be asked for diagnostics, instead of waiting for what it publishes.
    """
    process = await asyncio.create_subprocess_exec(
        *command, stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.DEVNULL
    )
    editor = Editor(process)
    reading = asyncio.create_task(editor.read())
    root, uri = path.parent.as_uri(), path.as_uri()
    diagnostics = {"publishDiagnostics": {"versionSupport": True}, **({"diagnostic": {}} if pulls else {})}
    folders = [{"uri": root, "name": path.parent.name}]
    options = {"processId": os.getpid(), "rootUri": root, "workspaceFolders": folders}
    answer = await editor.ask("initialize", {**options, "capabilities": {"textDocument": diagnostics}})
    pulls = pulls and bool(answer["capabilities"].get("diagnosticProvider"))
    editor.tell("initialized", {})
    opened = {"uri": uri, "languageId": "python", "version": 0, "text": text}
    editor.tell("textDocument/didOpen", {"textDocument": opened})

    async def told(version: int) -> int:
        if not pulls:
            return await editor.published(version)
        report = await editor.ask("textDocument/diagnostic", {"textDocument": {"uri": uri}})
        return len(report.get("items", ()))

    count = await told(0)
    lines = text.splitlines(keepends=True)
    middle = len(lines) // 2
    waits: list[float] = []
    before = 0.0
    for version in range(1, changes + _WARMING + 1):
        if version == _WARMING + 1:
            before = seconds_so_far(process.pid)
        changed = "".join([*lines[:middle], f"# change {version}\n", *lines[middle:]])
        started = time.perf_counter()
        identifier = {"uri": uri, "version": version}
        editor.tell("textDocument/didChange", {"textDocument": identifier, "contentChanges": [{"text": changed}]})
        await told(version)
        waits.append(1000 * (time.perf_counter() - started))
        await asyncio.sleep(0.1)
    spent = seconds_so_far(process.pid) - before
    await editor.ask("shutdown", None)
    editor.tell("exit", None)
    await process.wait()
    reading.cancel()
    return count, waits[_WARMING:], spent


class Editor:
    """An editor for any server: lsprotocol 2025.0 cannot read what some of them say of notebooks (`cattrs`)."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        assert process.stdin is not None and process.stdout is not None
        self._to, self._from = process.stdin, process.stdout
        self._answers: dict[int, asyncio.Future[Any]] = {}
        self._published: asyncio.Queue[dict[str, Any]] = asyncio.Queue()

    def _send(self, message: dict[str, Any]) -> None:
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        self._to.write(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))

    def tell(self, method: str, params: Any) -> None:
        """Send a notification."""
        self._send({"method": method, **({} if params is None else {"params": params})})

    async def ask(self, method: str, params: Any) -> Any:
        """Send a request, and wait for its result."""
        number = len(self._answers)
        self._answers[number] = asyncio.get_running_loop().create_future()
        self._send({"id": number, "method": method, **({} if params is None else {"params": params})})
        return await asyncio.wait_for(self._answers[number], 60)

    async def published(self, version: int) -> int:
        """Wait for the diagnostics of a version; how many they are."""
        while True:
            params = await asyncio.wait_for(self._published.get(), 60)
            if params.get("version") in (version, None):
                return len(params["diagnostics"])

    async def read(self) -> None:
        """Take what the server says; what it asks is answered with nothing, so that its defaults hold."""
        while length := await self._from.readline():
            while (await self._from.readline()).strip():
                pass
            message = json.loads(await self._from.readexactly(int(length.split(b":")[1])))
            if "method" not in message:
                self._answers[message["id"]].set_result(message.get("result"))
            elif message["method"] == "textDocument/publishDiagnostics":
                self._published.put_nowait(message["params"])
            elif "id" in message:
                items = (
                    message.get("params", {}).get("items") if message["method"] == "workspace/configuration" else None
                )
                self._send({"id": message["id"], "result": [None for _ in items] if items else None})


if __name__ == "__main__":
    main()
