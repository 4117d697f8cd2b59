"""Checking in several processes, each with a part of the files that lies together.

What lies together imports the same files, and a process parses each file once. So each process has a stretch of the
files in their order and takes from its front; one that has nothing left takes from the end of the longest stretch.
The parser can end its process: then a file that does so is found and reported.
"""

from __future__ import annotations

import contextlib
import gc
import multiprocessing
import os
import signal
import sys
import threading
from collections import deque
from collections.abc import Iterator, Sequence
from multiprocessing.connection import Connection, wait
from multiprocessing.context import BaseContext
from multiprocessing.process import BaseProcess
from typing import Any, TypeAlias, cast

from tflint_gpu.checking.engine import Batch, Engine, FileResult, unreadable
from tflint_gpu.checking.stack import with_large_stack
from tflint_gpu.settings.files import FileToCheck
from tflint_gpu.text.source import UnreadableSource

_BATCH = 4
"""So many files a process gets at once: enough to keep it busy meanwhile, few enough to share the last ones out."""
Stretch: TypeAlias = deque[FileToCheck]
_Connection: TypeAlias = "Connection[Any, Any]"


def in_processes(engine: Engine, files: Sequence[FileToCheck], jobs: int) -> Iterator[Batch]:
    """Check files in so many processes; results come in any order, none is missing."""
    if sys.platform == "linux":
        engine.import_rules(files[0])  # once before the fork instead of in each process
    yield from _shared_out(engine, _stretches(files, jobs))


def _stretches(files: Sequence[FileToCheck], count: int) -> list[Stretch]:
    """The files in their order, in parts of about the same size in bytes."""
    sizes = [_size(file) for file in files]
    stretches: list[Stretch] = [deque() for _ in range(count)]
    before, total = 0, max(sum(sizes), 1)
    for file, size in zip(files, sizes, strict=True):
        stretches[min((before + size // 2) * count // total, count - 1)].append(file)
        before += size
    return stretches


def _size(file: FileToCheck) -> int:
    try:
        return file.path.stat().st_size if file.content is None else len(file.content)
    except OSError:
        return 0


def _shared_out(engine: Engine, stretches: list[Stretch]) -> Iterator[Batch]:
    """Each process works on its own stretch, then helps with another's."""
    context = _context()
    workers = [_Worker(context, engine, own) for own in stretches]
    try:
        for worker in workers:
            worker.start([other.connection for other in workers])
        for worker in workers:
            worker.go_on(stretches)
        while busy := {worker.connection: worker for worker in workers if worker.connection and worker.files}:
            for connection in wait(busy):
                worker = busy[cast("_Connection", connection)]
                yield from worker.take([other.connection for other in workers])
                worker.go_on(stretches)
    finally:
        for worker in workers:
            worker.stop()


class _Worker:
    """One process, and a new one when it dies."""

    def __init__(self, context: BaseContext, engine: Engine, own: Stretch) -> None:
        self._context = context
        self._engine = engine
        self._own = own
        self.files: list[FileToCheck] = []
        self.connection: _Connection | None = None
        self._process: BaseProcess | None = None

    def start(self, others: Sequence[_Connection | None]) -> None:
        """Start the process.

        Arguments:
            others: ends of pipes that belong to this process, and of which a fork makes copies.
        """
        self.connection, theirs = self._context.Pipe()
        copied = [self.connection, *filter(None, others)] if self._context.get_start_method() == "fork" else []
        process = self._context.Process(target=_serve, args=(theirs, self._engine, copied), daemon=True)  # type: ignore[attr-defined]
        process.start()
        self._process = process
        theirs.close()

    def go_on(self, stretches: Sequence[Stretch]) -> None:
        """Get the next files, if there are any left."""
        if self._own:
            self.files = [self._own.popleft() for _ in range(min(_BATCH, len(self._own)))]
        else:
            longest = max(stretches, key=len)
            self.files = [longest.pop()] if longest else []
        if self.files:
            self._send(self.files)

    def take(self, others: Sequence[_Connection | None]) -> Iterator[Batch]:
        """What came of the files; if the process died, of each in a process of its own."""
        batch = self._received()
        if batch is not None:
            yield batch
            return
        for file in self.files:
            self._start_anew(others)
            self._send([file])
            yield self._received() or Batch((crashed(file),))
        self._start_anew(others)

    def stop(self) -> None:
        """End the process, whatever it does."""
        if self.connection is not None:
            self.connection.close()
            self.connection = None
        if self._process is not None:
            self._process.terminate()
            self._process.join()
            self._process = None

    def _start_anew(self, others: Sequence[_Connection | None]) -> None:
        before = self.connection
        self.stop()
        self.start([other for other in others if other is not before])

    def _send(self, files: list[FileToCheck]) -> None:
        if self.connection is not None:
            with contextlib.suppress(OSError):  # it has died: that shows when its answer is waited for
                self.connection.send(files)

    def _received(self) -> Batch | None:
        """None if the process died meanwhile."""
        try:
            answer = None if self.connection is None else self.connection.recv()
        except (EOFError, OSError):
            return None
        if isinstance(answer, BaseException):
            raise answer
        return cast("Batch | None", answer)


def _serve(connection: _Connection, engine: Engine, copied: Sequence[_Connection]) -> None:
    """In the process: check what comes, until nothing comes any more."""
    for copy in copied:
        copy.close()  # or this process would not see that the other has gone
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's to handle
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    threading.Thread(target=_end_with_the_parent, daemon=True).start()
    gc.disable()  # for all files of this process; the engine sweeps now and then
    with contextlib.suppress(EOFError, OSError):
        with_large_stack(lambda: _answer(connection, engine))


def _end_with_the_parent() -> None:
    """However the parent ends, also in the middle of a file."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _answer(connection: _Connection, engine: Engine) -> None:
    while True:
        files = connection.recv()
        try:
            connection.send(Batch.of(engine, files))
        except Exception as error:
            connection.send(error)


def crashed(file: FileToCheck) -> FileResult:
    """What is reported of a file that ends each process that parses it."""
    reason = UnreadableSource("the parser crashed on this file")
    return FileResult(file, (unreadable(file.name, reason),), is_whole=False)


def _context() -> BaseContext:
    """Fork where it is safe: it spares each process all imports."""
    return multiprocessing.get_context("fork" if sys.platform == "linux" else "spawn")
