"""Checking on a Ray cluster: files go out in groups, results come back as they are made.

Each machine of the cluster needs tflint-gpu of this version and the files at the same place, as on a shared disk.
"""

from __future__ import annotations

import contextlib
import importlib.util
import os
import sys
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any

from tflint_gpu.checking.engine import Batch, Engine
from tflint_gpu.checking.engine.collector import collector_held_off
from tflint_gpu.checking.processes import crashed
from tflint_gpu.checking.stack import with_large_stack
from tflint_gpu.settings.files import FileToCheck

_LARGEST_GROUP = 64
_GROUPS_FOR_A_CORE = 4
_TRIES = 3


class NoCluster(Exception):
    """Ray is not installed, or there is no cluster where the user says; the message says what to do."""


def check_on_ray(engine: Engine, files: Sequence[FileToCheck]) -> Iterator[Batch]:
    """Check files on the cluster that RAY_ADDRESS names, else on one of this machine's own; results in any order.

    What a worker had that is lost is done again. A file that ends a worker by itself is reported.

    Raises:
        NoCluster: Ray cannot be used.
    """
    with contextlib.redirect_stdout(sys.stderr):  # for what Ray prints in Python
        yield from _checked(connected(), engine, files)


def _checked(ray: Any, engine: Engine, files: Sequence[FileToCheck]) -> Iterator[Batch]:
    shared = ray.put(engine)
    task = ray.remote(_check_group)
    usual = task.options(max_retries=_TRIES, retry_exceptions=False)
    alone = task.options(max_retries=0)
    pending = {
        usual.remote(shared, group): group for group in _groups(files, int(ray.cluster_resources().get("CPU", 1)))
    }
    while pending:
        done, _ = ray.wait(list(pending), num_returns=1)
        group = pending.pop(done[0])
        try:
            yield ray.get(done[0])
        except ray.exceptions.WorkerCrashedError:
            if len(group) == 1:
                yield Batch((crashed(group[0]),))
            else:  # one of them ended every worker that had it
                pending |= {alone.remote(shared, [file]): [file] for file in group}


def keep_standard_output() -> None:
    """Keep standard output for the report, until the process ends: Ray's lines, also late ones, go to standard error.

    Ray's own code and the processes that it starts write to the file descriptor, past Python's `sys.stdout`.
    """
    sys.stdout.flush()
    try:
        descriptor = sys.stdout.fileno()
        kept = os.dup(descriptor)
        os.dup2(sys.stderr.fileno(), descriptor)
    except (OSError, ValueError):  # no file: nothing but Python can write to it
        return
    sys.stdout = os.fdopen(kept, "w", encoding=sys.stdout.encoding, errors=sys.stdout.errors)


def require_ray() -> None:
    """Ask for Ray without importing it, which takes seconds.

    Raises:
        NoCluster: Ray is not installed.
    """
    if importlib.util.find_spec("ray") is None:
        raise NoCluster(
            "ray is not installed: run `pip install 'tflint-gpu[ray]'` "
            "(in a checkout of tflint-gpu: `pip install '.[ray]'`)"
        )


def connected() -> Any:
    """Ray, connected to the cluster that RAY_ADDRESS names, else to one of this machine's own.

    Raises:
        NoCluster: Ray cannot be used.
    """
    require_ray()
    import ray

    if not ray.is_initialized():
        address = os.environ.get("RAY_ADDRESS")
        try:
            ray.init(
                address=address,
                log_to_driver=False,
                logging_level="error",
                include_dashboard=False if not address else None,
            )
        except Exception as error:  # a node that starts too slowly is a plain one
            raise NoCluster(f"no Ray cluster at {address or 'this machine'}: {error}") from error
    return ray


def _groups(files: Sequence[FileToCheck], cores: int) -> Iterator[list[FileToCheck]]:
    """Files of one project together, since they import each other; some groups for each core."""
    size = max(1, min(_LARGEST_GROUP, len(files) // (cores * _GROUPS_FOR_A_CORE)))
    for _, of_project in groupby(files, key=lambda file: file.root):
        listed = list(of_project)
        yield from (listed[start : start + size] for start in range(0, len(listed), size))


def _check_group(engine: Engine, files: list[FileToCheck]) -> Batch:
    def check() -> Batch:
        with collector_held_off():
            return Batch.of(engine, files)

    return with_large_stack(check)
