"""When each training step begins, told by Keras's batch hooks and by the calls of a loop that trains.

The functions that are looked up at these moments (`CallbackList.on_train_batch_begin`, a `tf.function`'s `__call__`,
an optimizer's `apply`) are put behind descriptors that note the time of the lookup and hand on the function itself:
nothing of this file is on any stack, and 0.3 microseconds are added. A loop trains where a gradient is applied below
its call, in each iteration or while the function is traced.
"""

from __future__ import annotations

import sys
import threading
import time
import types
from collections import deque
from typing import Any, Callable

WARM_UP = 10  # steps before training is steady, where an epoch has more
MOST_EVENTS = 65536
DEEPEST = 80
_OF_KERAS = (
    ("callbacks.callback_list", "CallbackList", "on_epoch_begin", "epoch"),
    ("callbacks.callback_list", "CallbackList", "on_train_batch_begin", "begin"),
    ("callbacks.callback_list", "CallbackList", "on_train_batch_end", "end"),
    ("callbacks.callback_list", "CallbackList", "on_epoch_end", "end of epoch"),
    ("models.model", "Model", "train_on_batch", "call"),
    ("optimizers.base_optimizer", "BaseOptimizer", "apply", "apply"),
    # Keras 2
    ("callbacks", "CallbackList", "on_epoch_begin", "epoch"),
    ("callbacks", "CallbackList", "on_train_batch_begin", "begin"),
    ("callbacks", "CallbackList", "on_train_batch_end", "end"),
    ("callbacks", "CallbackList", "on_epoch_end", "end of epoch"),
    ("engine.training", "Model", "train_on_batch", "call"),
    ("optimizers.optimizer", "Optimizer", "apply_gradients", "apply"),
    ("optimizers.legacy.optimizer_v2", "OptimizerV2", "apply_gradients", "apply"),
)
_HOOKS = (
    *[(keras + "." + module, *rest) for keras in ("keras.src", "tf_keras.src") for module, *rest in _OF_KERAS],
    ("tensorflow.python.eager.polymorphic_function.polymorphic_function", "Function", "__call__", "call"),
)

Line = Any  # a code object and what a frame of it tells of its place


class _Noted:
    """A function of a class that notes when it is looked up on an object: just before it is called."""

    def __init__(self, function: Any, note: Callable[[types.FrameType], None]) -> None:
        self.function = function
        self.note = note

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        if instance is not None:
            self.note(sys._getframe(1))
        return self.function.__get__(instance, owner)


class Steps:
    """The training steps of the main thread.

    Arguments:
        is_own: whether a file is the user's.
        line: what is kept of a frame.

    Attributes:
        finished: how many have ended.
    """

    def __init__(self, is_own: Callable[[str], bool], line: Callable[[types.FrameType], Line]) -> None:
        self.is_own = is_own
        self.line = line
        self.main = threading.main_thread().ident
        self.events: deque[tuple[str, Line, float]] = deque(maxlen=MOST_EVENTS)
        self.own: dict[types.CodeType, bool] = {}
        self.training: dict[tuple[types.CodeType, int], None] = {}
        self.last: dict[tuple[types.CodeType, int], float] = {}
        self.begun: tuple[Line, float] | None = None
        self.ended = 0.0
        self.installed: dict[tuple[str, str, str], Any] = {}
        self.finished = 0

    def install(self) -> None:
        """Note what is looked up in the modules that have been imported by now."""
        for module, name, function, event in _HOOKS:
            kept = getattr(sys.modules.get(module), name, None)
            original = None if kept is None else vars(kept).get(function)
            if isinstance(original, types.FunctionType):
                self.installed[module, name, function] = original
                setattr(kept, function, _Noted(original, self._noting(event)))

    def remove(self) -> None:
        """Leave the classes as they were."""
        for (module, name, function), original in self.installed.items():
            kept = getattr(sys.modules.get(module), name, None)
            if isinstance(vars(kept).get(function), _Noted) if kept is not None else False:
                setattr(kept, function, original)
        self.installed.clear()

    def _noting(self, event: str) -> Callable[[types.FrameType], None]:
        below = {"call": self._called, "apply": self._applied}.get(event)

        def noted(frame: types.FrameType) -> None:
            if threading.get_ident() != self.main:
                return
            if below is not None:
                below(frame)
                return
            at: types.FrameType | None = frame
            for _ in range(DEEPEST):
                if at is None or self._is_own(at.f_code):
                    break
                at = at.f_back
            if at is not None:
                self.events.append((event, self.line(at), time.monotonic()))

        return noted

    def _called(self, frame: types.FrameType) -> None:
        """A function is called that may train: by a line of the user's, nobody else."""
        if self._is_own(frame.f_code):
            self.events.append(("call", self.line(frame), time.monotonic()))

    def _applied(self, frame: types.FrameType) -> None:
        """A gradient is applied: all lines of the user's around it train, unless Keras's `fit` does."""
        lines = []
        at: types.FrameType | None = frame
        for _ in range(DEEPEST):
            if at is None:
                break
            if self._is_own(at.f_code):
                lines.append(self.line(at))
            elif at.f_code.co_name == "fit" and "keras" in at.f_code.co_filename:
                return
            at = at.f_back
        for line in lines:
            self.events.append(("trains", line, 0.0))
        if lines and (self._is_own(frame.f_code) or frame.f_code.co_name == "apply_gradients"):
            self.events.append(("call", lines[0], time.monotonic()))

    def _is_own(self, code: types.CodeType) -> bool:
        known = self.own.get(code)
        if known is None:
            if len(self.own) > MOST_EVENTS:
                self.own.clear()
            known = self.own[code] = self.is_own(code.co_filename)
        return known

    def told(self) -> list[tuple[str, Line, float, float]]:
        """Steps (`fit`, `loop`) that ended and epochs that began since it was asked: when, and for how many seconds."""
        told = []
        while self.events:
            event, line, now = self.events.popleft()
            if event == "trains":
                self.training[line] = None
            elif event == "call":
                if line in self.training:
                    if line in self.last:
                        told.append(("loop", line, self.last[line], now - self.last[line]))
                    self.last[line] = now
            else:
                told.extend(self._of_keras(event, line, now))
        self.finished += sum(kind != "epoch" for kind, *_ in told)
        return told

    def _of_keras(self, event: str, line: Line, now: float) -> list[tuple[str, Line, float, float]]:
        """A step lasts until the next one begins; the last of an epoch until it ends."""
        if event == "end":
            self.ended = now
            return []
        begun, self.begun = self.begun, ((line, now) if event == "begin" else None)
        if event == "begin":
            return [] if begun is None else [("fit", line, begun[1], now - begun[1])]
        last = [] if begun is None or self.ended < begun[1] else [("fit", line, begun[1], self.ended - begun[1])]
        return last + ([("epoch", line, now, 0.0)] if event == "epoch" else [])
