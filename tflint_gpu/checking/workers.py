"""Where checking is done: in a thread with a large stack, in one process or several.

The parser and the model recurse, so the stack must be larger than the main thread's. And the
parser can end its process, so with several processes a file that does is found out and told of.
"""

from __future__ import annotations

import contextlib
import gc
import multiprocessing
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from multiprocessing.context import BaseContext
from typing import TypeVar

from tflint_gpu.checking.engine import Engine, FileResult, collector_held_off, unreadable
from tflint_gpu.checking.unused_suppressions import UnusedSuppressions
from tflint_gpu.settings.files import FileToCheck
from tflint_gpu.text.source import UnreadableSource

Result = TypeVar("Result")
Elsewhere = Callable[[Engine, Sequence[FileToCheck]], Iterator[FileResult]]
"""Checks files and returns the results in any order."""

WORTH_PROCESSES = 16
"""From so many TensorFlow files on, two processes are faster than one (measured)."""
_STACK_SIZES = (256, 128, 64, 32)
_RECURSION_LIMIT = 10_000


def with_large_stack(work: Callable[[], Result]) -> Result:
    """Do something in a thread whose stack is as large as the system allows, and wait for it."""
    outcome: list[Result] = []
    failure: list[BaseException] = []

    def body() -> None:
        try:
            outcome.append(work())
        except BaseException as error:
            failure.append(error)

    recursion_limit, stack_size = sys.getrecursionlimit(), threading.stack_size()
    sys.setrecursionlimit(max(recursion_limit, _RECURSION_LIMIT))
    try:
        # A daemon, so that Ctrl-C does not wait for the parser.
        thread = _start(body)
        thread.join()
    finally:
        threading.stack_size(stack_size)
        sys.setrecursionlimit(recursion_limit)
    if failure:
        raise failure[0]
    return outcome[0]


def _start(body: Callable[[], None]) -> threading.Thread:
    for mebibytes in _STACK_SIZES:
        try:
            threading.stack_size(mebibytes << 20)
            thread = threading.Thread(target=body, daemon=True)
            thread.start()
            return thread
        except (RuntimeError, ValueError):  # more than the system or a memory limit allows
            continue
    threading.stack_size(0)
    thread = threading.Thread(target=body, daemon=True)
    thread.start()
    return thread


def check_files(
    engine: Engine,
    files: Sequence[FileToCheck],
    jobs: int | None = None,
    tell: Callable[[int, int], None] = lambda done, total: None,
    elsewhere: Elsewhere | None = None,
) -> list[FileResult]:
    """Check files, those without TensorFlow at no cost, and return results in the order of the files.

    Arguments:
        engine: is copied into each process, if there are several.
        files: to check.
        jobs: number of processes; None for as many as the number of files is worth.
        tell: is called after each file, with the number of those done and of all.
        elsewhere: checks them on other machines, whatever `jobs` says; its errors are raised.
    """
    relevant = [file for file in files if _is_relevant(file)]
    if jobs is None:
        jobs = _cores() if len(relevant) >= WORTH_PROCESSES else 1
    jobs = min(jobs, len(relevant))
    results: list[FileResult] = []

    def take(checked: Iterable[FileResult]) -> None:
        for result in checked:
            results.append(result)
            tell(len(results), len(relevant))

    if elsewhere is not None and relevant:
        take(elsewhere(engine, relevant))
    elif jobs > 1:
        take(_in_processes(engine, relevant, jobs))
    elif relevant:
        with_large_stack(lambda: take(_one_by_one(engine, relevant)))
    order = {file.path: index for index, file in enumerate(relevant)}
    results.sort(key=lambda result: order[result.file.path])
    comments = UnusedSuppressions(engine, files, results)
    return with_large_stack(comments.added) if comments.candidates else results


def _one_by_one(engine: Engine, files: Sequence[FileToCheck]) -> Iterator[FileResult]:
    with collector_held_off():
        for file in files:
            yield engine.check(file)
        engine.forget_files()  # or the collector, when it is back, searches all trees before they are dropped


def _is_relevant(file: FileToCheck) -> bool:
    try:
        return file.may_matter(file.read())
    except OSError:
        return True  # the engine says why


def _cores() -> int:
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not on macOS and Windows
        return os.cpu_count() or 1


def _context() -> BaseContext:
    """Fork where it is safe: it spares each process all imports."""
    return multiprocessing.get_context("fork" if sys.platform == "linux" else "spawn")


# Of a worker process, set once when it starts: the executor hands tasks nothing else to hold on to.
_engine: Engine | None = None


def _begin(engine: Engine) -> None:
    global _engine
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's to handle
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    threading.Thread(target=_end_with_the_parent, daemon=True).start()
    gc.disable()  # for all files of this process; the engine sweeps now and then
    _engine = engine


def _end_with_the_parent() -> None:
    """However the parent ends: who waits for work from it would wait for ever."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _check_one(file: FileToCheck) -> FileResult:
    engine = _engine
    if engine is None:
        raise RuntimeError("a worker process without an engine")
    return with_large_stack(lambda: engine.check(file))


def _in_processes(engine: Engine, files: Sequence[FileToCheck], jobs: int) -> Iterator[FileResult]:
    remaining = {file.path: file for file in files}
    if sys.platform == "linux":
        engine.import_rules(files[0])  # once before the fork instead of in each process
    try:
        for result in _pool(engine, files, jobs):
            del remaining[result.file.path]
            yield result
        # Only after a process died: the others' files were lost with it, so each gets its own now.
        for file in remaining.values():
            again = list(_pool(engine, [file], 1))
            yield again[0] if again else crashed(file)
    except BaseException:
        for process in multiprocessing.active_children():
            process.terminate()
        raise


def _pool(engine: Engine, files: Sequence[FileToCheck], jobs: int) -> Iterator[FileResult]:
    """Results in any order; those of a process that died, and what waited, are missing."""
    executor = ProcessPoolExecutor(jobs, mp_context=_context(), initializer=_begin, initargs=(engine,))
    try:
        # Submitting fails, too, once a process has died.
        with contextlib.suppress(BrokenProcessPool):
            for future in as_completed([executor.submit(_check_one, file) for file in files]):
                with contextlib.suppress(BrokenProcessPool):
                    yield future.result()
    except BaseException:
        executor.shutdown(wait=False, cancel_futures=True)
        raise
    executor.shutdown()


def crashed(file: FileToCheck) -> FileResult:
    """What is told of a file that ends each process that parses it."""
    reason = UnreadableSource("the parser crashed on this file")
    return FileResult(file, (unreadable(file.name, reason),), is_whole=False)
