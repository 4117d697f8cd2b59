"""Milliseconds from a change in an editor to the diagnostics of the new text, with the server warm.

    python tests/benchmarks/lsp_latency.py [FILE] [--changes N]

Starts the real `tflint-gpu server`, opens FILE, and types into it: each change alters a line in the middle, and the next one
waits for the diagnostics of this one. Without FILE the text is 500 lines: programs of `fixtures/` one behind the other.
The server's own wait for a pause in the typing is part of what is measured.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import platform
import statistics
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from lsprotocol import types
from pygls.lsp.client import LanguageClient

__all__ = ["lines_of_fixtures", "measure"]
_WARMING = 3
_SERVER = (sys.executable, "-m", "tflint_gpu", "server")
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
        command: which starts the server.
        pulls: ask a server that can be asked for diagnostics, instead of waiting for what it publishes.
    """
    client = LanguageClient("latency", "1")
    arrived: asyncio.Queue[types.PublishDiagnosticsParams] = asyncio.Queue()
    client.feature(types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)(lambda params: arrived.put_nowait(params))
    client.feature(types.WORKSPACE_CONFIGURATION)(lambda params: [None for _ in params.items])
    client.feature(types.CLIENT_REGISTER_CAPABILITY)(lambda params: None)
    await client.start_io(*command)
    root, uri = path.parent.as_uri(), path.as_uri()
    asked = types.TextDocumentClientCapabilities(
        publish_diagnostics=types.PublishDiagnosticsClientCapabilities(version_support=True),
        diagnostic=types.DiagnosticClientCapabilities() if pulls else None,
    )
    initialized = await client.initialize_async(
        types.InitializeParams(
            types.ClientCapabilities(text_document=asked),
            root_uri=root,
            workspace_folders=[types.WorkspaceFolder(root, path.parent.name)],
        )
    )
    pulls = pulls and initialized.capabilities.diagnostic_provider is not None
    client.initialized(types.InitializedParams())
    client.text_document_did_open(types.DidOpenTextDocumentParams(types.TextDocumentItem(uri, "python", 0, text)))

    async def told(version: int) -> int:
        return await (_pulled(client, uri) if pulls else _published(arrived, version))

    found = await told(0)
    lines = text.splitlines(keepends=True)
    middle = len(lines) // 2
    waits: list[float] = []
    before = 0.0
    for version in range(1, changes + _WARMING + 1):
        if version == _WARMING + 1:
            before = _cpu_seconds(client)
        changed = "".join([*lines[:middle], f"# change {version}\n", *lines[middle:]])
        event = types.TextDocumentContentChangeWholeDocument(changed)
        started = time.perf_counter()
        client.text_document_did_change(
            types.DidChangeTextDocumentParams(types.VersionedTextDocumentIdentifier(version, uri), [event])
        )
        await told(version)
        waits.append(1000 * (time.perf_counter() - started))
        await asyncio.sleep(0.1)
    spent = _cpu_seconds(client) - before
    await client.shutdown_async(None)
    client.exit(None)
    await client.stop()
    return found, waits[_WARMING:], spent


def _cpu_seconds(client: LanguageClient) -> float:
    """What the server has used so far, in user and system mode; 0 where the system does not tell."""
    server = client._server
    status = Path(f"/proc/{server.pid}/stat") if server is not None else None
    if status is None or not status.exists():
        return 0.0
    user, system = status.read_text().rpartition(")")[2].split()[11:13]
    return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")


async def _published(arrived: asyncio.Queue[types.PublishDiagnosticsParams], version: int) -> int:
    while True:
        params = await asyncio.wait_for(arrived.get(), 60)
        if params.version in (version, None):
            return len(params.diagnostics)


async def _pulled(client: LanguageClient, uri: str) -> int:
    params = types.DocumentDiagnosticParams(types.TextDocumentIdentifier(uri))
    report = await asyncio.wait_for(client.text_document_diagnostic_async(params), 60)
    return len(report.items) if isinstance(report, types.RelatedFullDocumentDiagnosticReport) else 0


if __name__ == "__main__":
    main()
