"""A thread with a large stack: the parser and the model recurse, deeper than the main thread's stack allows."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from typing import TypeVar

Result = TypeVar("Result")

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
