"""The check of all files of a run, in one process or several."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace

from tflint_gpu.catalogue import UNUSED_SUPPRESSION
from tflint_gpu.checking.engine import Batch, Engine, FileResult
from tflint_gpu.checking.engine.collector import collector_held_off
from tflint_gpu.checking.known import Known
from tflint_gpu.checking.stack import with_large_stack
from tflint_gpu.diagnostics import Diagnostic
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
    importing: Sequence[FileToCheck] = (),
) -> list[FileResult]:
    """Check files, those without TensorFlow and those that are known at no cost; results are in the files' order.

    Arguments:
        engine: is copied into each process, if there are several.
        files: to check.
        jobs: number of processes; None for as many as the number of files is worth.
        tell: is called after each file, with the number of those done and of all.
        elsewhere: checks them on other machines, whatever `jobs` says; its errors are raised.
        importing: more files to check, of which only what they lead to in the files counts.
    """
    known = Known(engine)
    results, rest = known.told_apart([*files, *importing])
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
    order = {file.path: index for index, file in enumerate([*files, *importing])}
    results.sort(key=lambda result: order[result.file.path])
    if importing:
        results = _with_those_of_importing(results, files)
    settings = {id(file.settings): file.settings for file in files}
    if not any(for_folder.selection.names(UNUSED_SUPPRESSION) for for_folder in settings.values()):
        return results
    from tflint_gpu.checking.unused_suppressions import UnusedSuppressions

    comments = UnusedSuppressions(engine, files, results)
    return with_large_stack(comments.added) if comments.candidates else results


def _with_those_of_importing(results: Sequence[FileResult], files: Sequence[FileToCheck]) -> list[FileResult]:
    """The results of the files, each with what the check of others found in it: of the same, the first one's words."""
    named = {file.path for file in files}
    more: dict[str, dict[object, Diagnostic]] = {}
    for result in results:
        for diagnostic in result.diagnostics if result.file.path not in named else ():
            more.setdefault(diagnostic.filename, {}).setdefault(diagnostic.sort_key, diagnostic)
    own = {result.file.path: result for result in results if result.file.path in named}
    for file in files:
        if added := more.get(file.name):
            result = own.get(file.path, FileResult(file))
            merged = added | {diagnostic.sort_key: diagnostic for diagnostic in result.diagnostics}
            ordered = sorted(merged.values(), key=lambda diagnostic: diagnostic.sort_key)
            own[file.path] = replace(result, diagnostics=tuple(ordered))
    return [own[file.path] for file in files if file.path in own]


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
