"""Long work in the background of an event loop."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Callable
from typing import TypeVar

from tflint_gpu.checking.stack import with_large_stack

Result = TypeVar("Result")


async def in_background(work: Callable[[], Result]) -> Result:
    """Do something with a large stack, in a thread that does not keep the process from ending."""
    loop = asyncio.get_running_loop()
    future: asyncio.Future[Result] = loop.create_future()

    def succeed(result: Result) -> None:
        if not future.cancelled():
            future.set_result(result)

    def fail(error: BaseException) -> None:
        if not future.cancelled():
            future.set_exception(error)

    def body() -> None:
        with contextlib.suppress(RuntimeError):  # from a closed loop: nothing waits any more
            try:
                result = with_large_stack(work)
            except BaseException as error:
                loop.call_soon_threadsafe(fail, error)
            else:
                loop.call_soon_threadsafe(succeed, result)

    threading.Thread(target=body, daemon=True).start()
    return await future
