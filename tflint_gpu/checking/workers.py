"""The check of all files of a run, in one process or several."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence

from tflint_gpu.catalogue import UNUSED_SUPPRESSION
from tflint_gpu.checking.collector import collector_held_off
from tflint_gpu.checking.engine import Batch, Engine, FileResult
from tflint_gpu.checking.known import Known
from tflint_gpu.checking.stack import with_large_stack
from tflint_gpu.settings.files import FileToCheck

Elsewhere = Callable[[Engine, Sequence[FileToCheck]], Iterator[Batch]]
"""Checks files and returns the results in any order."""

WORTH_PROCESSES = 16
"""From so many TensorFlow files on, two processes are faster than one (measured)."""


def check_files(
    engine: Engine,
    files: Sequence[FileToCheck],
    jobs: int | None = None,
    tell: Callable[[int, int], None] = lambda done, total: None,
    elsewhere: Elsewhere | None = None,
) -> list[FileResult]:
    """Check files, those without TensorFlow and those that are known at no cost; results are in the files' order.

    Arguments:
        engine: is copied into each process, if there are several.
        files: to check.
        jobs: number of processes; None for as many as the number of files is worth.
        tell: is called after each file, with the number of those done and of all.
        elsewhere: checks them on other machines, whatever `jobs` says; its errors are raised.
    """
    known = Known(engine)
    results, rest = known.told_apart(files)
    if jobs is None:
        jobs = _cores() if len(rest) >= WORTH_PROCESSES else 1
    jobs = min(jobs, len(rest))
    total = len(results) + len(rest)

    def take(batches: Iterable[Batch]) -> None:
        for batch in batches:
            known.keep(batch.results, batch.dependencies)
            for result in batch.results:
                results.append(engine.wanted(result))
                tell(len(results), total)

    try:
        if elsewhere is not None and rest:
            take(elsewhere(engine, rest))
        elif jobs > 1:
            from tflint_gpu.checking.processes import in_processes

            take(in_processes(engine, rest, jobs))
        elif rest:
            with_large_stack(lambda: take(_one_by_one(engine, rest)))
    finally:
        known.write()
    order = {file.path: index for index, file in enumerate(files)}
    results.sort(key=lambda result: order[result.file.path])
    settings = {id(file.settings): file.settings for file in files}
    if not any(for_folder.selection.names(UNUSED_SUPPRESSION) for for_folder in settings.values()):
        return results
    from tflint_gpu.checking.unused_suppressions import UnusedSuppressions

    comments = UnusedSuppressions(engine, files, results)
    return with_large_stack(comments.added) if comments.candidates else results


def _one_by_one(engine: Engine, files: Sequence[FileToCheck]) -> Iterator[Batch]:
    with collector_held_off():
        for file in files:
            yield Batch.of(engine, [file])
        engine.forget_files()  # or the collector, when it is back, searches all trees before they are dropped


def _cores() -> int:
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not on macOS and Windows
        return os.cpu_count() or 1
