"""Records TensorFlow's own profile of some steps: `tflint-gpu run --trace` asks for it.

It begins when training is under way and ends after as many steps as were asked for. Where the program begins a profile
itself meanwhile, this one ends: TensorFlow has one at a time.
"""

from __future__ import annotations

import glob
import os
import sys
import threading
import time
from typing import TYPE_CHECKING, Any, Callable

if TYPE_CHECKING or __package__:
    from tflint_gpu.run.inside.tflint_steps import WARM_UP
else:
    from tflint_steps import WARM_UP

LONGEST = 300.0  # seconds; a profile grows with every operation
_PROFILER = "tensorflow.python.profiler.profiler_v2"


class StepTrace:
    """A profile of so many steps, in the layout in which TensorBoard looks for profiles.

    Arguments:
        steps: how many at least.
        folder: into which it is written.
    """

    def __init__(self, steps: int, folder: str) -> None:
        self.steps = steps
        self.folder = folder
        self.session: Any = None
        self.is_done = False
        self.first = self.finished = 0
        self.why = ""
        self.told: dict[str, Any] | None = None
        self.mutex = threading.Lock()

    def tick(self, finished: Callable[[], int]) -> dict[str, Any] | None:
        """What was recorded, once, when it has ended.

        Arguments:
            finished: how many steps have ended by now; steps go on while TensorFlow begins the profile.
        """
        self.finished = finished()
        if self.session is not None:
            is_long = time.monotonic() > self.began + LONGEST
            if self.finished >= self.first + self.steps or is_long:
                self.end("it took longer than five minutes" if is_long else "")
        elif not self.is_done and self.finished >= WARM_UP:
            self._begin(finished)
        told, self.told = self.told, None
        return told

    def stop(self) -> dict[str, Any] | None:
        """What there is at the end of the program."""
        if self.session is not None:
            self.end("the program ended")
        if not self.is_done:
            self.is_done = True
            if "tensorflow" not in sys.modules:
                self.why = "the program did not import TensorFlow"
            self.told = {"steps": 0, "finished": self.finished, "seconds": 0.0, "profile": "", "why": self.why}
        told, self.told = self.told, None
        return told

    def forget(self) -> None:
        """Leave it to the process that this one was forked off."""
        if self.session is not None:
            self.session = None
            self._unlock()
        self.is_done = True

    def end(self, why: str) -> None:
        """End it, and write what there is.

        Arguments:
            why: it ends before all steps are done.
        """
        with self.mutex:
            if self.session is None:
                return
            seconds = time.monotonic() - self.began
            session, self.session, self.is_done = self.session, None, True
            self.told = {"steps": self.finished - self.first, "finished": self.finished, "seconds": round(seconds, 4)}
            try:
                session.export_to_tb()
                self.told.update(profile=max(set(self._profiles()) - self.before), why=why)
            except Exception as error:  # of TensorFlow, of the folder
                self.told.update(profile="", why=str(error))
            self._unlock()

    def _begin(self, finished: Callable[[], int]) -> None:
        profiler: Any = sys.modules.get(_PROFILER)
        if profiler is None:
            self.why = "TensorFlow's profiler is missing"
            return
        try:
            lock = profiler._profiler_lock
            if not lock.acquire(blocking=False):
                return
            if profiler._profiler is not None:
                self.why = "the program's own profile was running"
                lock.release()
                return
        except Exception as error:  # another TensorFlow, or what stands in for its lock
            self.why, self.is_done = f"{type(error).__name__}: {error}", True
            return
        self.profiler, self.lock = profiler, lock
        try:
            session = profiler._pywrap_profiler.ProfilerSession()
            self.before = set(self._profiles())
            session.start(self.folder, {})  # the host's operations and the GPU's, nothing of Python: its defaults
        except Exception as error:  # somebody else's profiler
            self.why = str(error)
            lock.release()
            return
        self.session, self.began = session, time.monotonic()
        self.first = self.finished = finished()
        profiler._profiler_lock = _GivesWay(lock, self)

    def _unlock(self) -> None:
        self.profiler._profiler_lock = self.lock
        self.lock.release()

    def _profiles(self) -> list[str]:
        return glob.glob(os.path.join(glob.escape(self.folder), "plugins", "profile", "*", "*.xplane.pb"))


class _GivesWay:
    """Stands for the lock of TensorFlow's profiler: whoever wants to begin or end a profile of his own ends ours."""

    def __init__(self, lock: Any, trace: StepTrace) -> None:
        self.lock = lock
        self.trace = trace

    def __enter__(self) -> None:
        self.trace.end("the program used TensorFlow's profiler itself")
        self.lock.acquire()

    def __exit__(self, *error: Any) -> None:
        self.lock.release()

    def acquire(self, blocking: bool = True) -> bool:
        """Wait for the lock, or see that it is taken."""
        if blocking:
            self.__enter__()
        return blocking
