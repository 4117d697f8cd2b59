"""Samples the stacks of the process that it is in, from a thread: `tflint-gpu run` puts it into your program.

What the main thread computes is told by its processor time (`tflint_processor`), what it waits for by this thread.

Every 20 ms (at most) the thread looks at the stacks of all Python threads and writes, for the main thread, the lines of
your own files on its stack, what Keras or TensorFlow does there (the phase), and what it waits for; of other threads
and of the Python processes that your program starts, the line of yours that runs. Nothing of Keras or TensorFlow is
imported; all but the training steps, for which lookups of some functions are noted (`tflint_steps`), is read off the
stacks. What was seen goes through a pipe at once, so nothing is lost when a program crashes.

Messages are lines of JSON: ["P", process, number, file, row, function, first row, last row], a place;
["S", process, number, places], a stack of places, the innermost first; ["T", process, seconds, span, stack, phase,
waits, feeding stacks], a sample; ["M", process, bytes in use, most bytes in use], TensorFlow's memory on the card;
["G", process, number], the GPUs that TensorFlow started with; ["I", process, stack, phase, share], how much of what is
executed there waits for input; ["B", process, kind, place, seconds, duration], a training step, with the line that
calls it (`tflint_steps`); ["V", process, name, value], what a changed setting tells (`tflint_try`); ["X", process,
facts], the profile of some steps (`tflint_trace`).
"""

from __future__ import annotations

import contextlib
import gc
import json
import os
import random
import signal
import sys
import threading
import time
import types
from itertools import chain, compress, starmap
from operator import attrgetter, itemgetter
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING or __package__:
    from tflint_gpu.run.inside.tflint_frames import HERE, Shown, is_own, read
    from tflint_gpu.run.inside.tflint_input import PHASES, InputShare
    from tflint_gpu.run.inside.tflint_processor import ProcessorTime
    from tflint_gpu.run.inside.tflint_steps import Steps
    from tflint_gpu.run.inside.tflint_trace import StepTrace
else:
    from tflint_frames import HERE, Shown, is_own, read
    from tflint_input import PHASES, InputShare
    from tflint_processor import ProcessorTime
    from tflint_steps import Steps
    from tflint_trace import StepTrace

MOST_KNOWN = 20000  # places, stacks, code objects that are remembered
PIPE_WIDTH = 4000  # what is written at once stays together, also with forked processes: less than PIPE_BUF
MEMORY_EVERY = 1.0
STATES_EVERY = 0.1
OWED = 0.5  # seconds that are computed without a stack that says where
LOCK_IS_FREE = 0.002  # seconds of waiting for Python's lock: less than another thread that computes keeps it
OWED_IDLE = 0.2  # seconds that are waited without a stack that waits


_HAS_LINES = hasattr(types.CodeType, "co_lines")
_LOOK_AT = attrgetter("f_code", "f_lasti" if _HAS_LINES else "f_lineno")
_LOOK = attrgetter("f_back", "f_code", "f_lasti" if _HAS_LINES else "f_lineno")
_BACK = itemgetter(0)
_ONCE = ((),)  # a call without arguments


class Code(Shown):
    """What the stack sampler wants to know of a code object."""

    __slots__ = ("code", "rows")

    def __init__(self, code: types.CodeType) -> None:
        super().__init__(code.co_filename, code.co_name)
        self.code = code  # keeps it alive, so that nothing else gets its id
        self.rows: dict[int, int] = {}

    def row(self, at: int) -> int:
        """The row of what a frame tells of its place."""
        if not _HAS_LINES:
            return at
        if at not in self.rows:
            rows = (row for start, end, row in self.code.co_lines() if start <= at < end)
            self.rows[at] = next(rows, None) or self.code.co_firstlineno
        return self.rows[at]


def _stacks() -> dict[int, list[tuple[types.CodeType, int]]]:
    """The code and place of each frame of each thread, the innermost first.

    All are read by one call that runs no Python: a frame that goes on, or ends, while another thread follows its links
    has been seen to lead to memory that is something else by then. The garbage collector rests meanwhile: up to Python
    3.11 it may begin in there, and what it frees may wait for the lock that is held for the list of threads: for ever.
    """
    threads: dict[int, types.FrameType] = {}
    seen: list[tuple[types.FrameType | None, types.CodeType, int]] = []
    collects: list[bool] = []
    begin: Any = chain(
        map(collects.append, starmap(gc.isenabled, _ONCE)),
        starmap(gc.disable, _ONCE),
        map(threads.update, starmap(sys._current_frames, _ONCE)),
    )
    end: Any = starmap(gc.enable, compress(_ONCE, collects))
    # Round by round: first the frames that run, then those that called them, which are read off `seen` as it grows.
    frames = chain(filter(None, begin), threads.values(), filter(None, map(_BACK, seen)), filter(None, end))
    looks = map(_LOOK, frames)
    try:
        seen.extend(looks)
    except BaseException:
        list(end)
        raise
    stacks: dict[int, list[tuple[types.CodeType, int]]] = {thread: [] for thread in threads}
    this_round, reported = list(threads), iter(seen)
    threads.clear()
    while this_round:
        next_round = []
        for thread, (back, code, at) in zip(this_round, reported):
            stacks[thread].append((code, at))
            if back is not None:
                next_round.append(thread)
        this_round = next_round
    return stacks


class Sampler:
    """Samples the stacks of its process in a thread and writes them down a pipe, from `begin` to `stop`.

    Arguments:
        interval: seconds from one sample to the next.
        asks_memory: whether TensorFlow should be asked for its memory on the card.
        trace: what records a profile of some steps.
    """

    def __init__(self, interval: float, asks_memory: bool, trace: StepTrace | None = None) -> None:
        self.interval = interval
        self.asks_memory = asks_memory
        self.is_stopped = True
        self.processor = ProcessorTime(_LOOK_AT)
        self.input = InputShare()
        self.steps = Steps(is_own, _LOOK_AT)
        self.trace = trace
        self.asks_input = True

    def begin(self, pipe: int, is_main: bool = True) -> None:
        """Sample from now on.

        Arguments:
            pipe: file descriptor.
            is_main: whether this is the program itself, and no process that it started.
        """
        self.pipe = pipe
        self.pipe_is = os.fstat(pipe)
        self.is_stopped = False
        self.restart(is_main)

    @property
    def has_pipe(self) -> bool:
        """Whether the pipe is still there: a program may close it, and another file may get its number."""
        try:
            now = os.fstat(self.pipe)
        except OSError:
            return False
        return (now.st_dev, now.st_ino) == (self.pipe_is.st_dev, self.pipe_is.st_ino)

    def restart(self, is_main: bool = False) -> None:
        """Begin in this process, which may be a forked one: a thread does not come along."""
        if self.is_stopped:
            return
        self.process = os.getpid()
        self.is_main = is_main
        self.codes: dict[int, Code] = {}
        self.places: dict[tuple[str, int, int], int] = {}
        self.stacks: dict[tuple[int, ...], int] = {}
        self.last_at: set[tuple[int, int, int]] = set()
        self.lines: list[bytes] = []
        self.next_memory = self.next_states = 0.0
        self.is_still = self.is_waiting = self.is_last = False
        self.last_wait: tuple[int, str, str, list[int]] | None = None
        self.asks_gpus = is_main
        self.main = threading.main_thread().ident
        self.owed = 0.0
        self.owed_idle: dict[tuple[int, str, str], float] = {}
        self.last: tuple[int, str, str] = 0, "", ""
        self.input.forget()
        self.input = InputShare()
        self.steps.remove()
        self.steps = Steps(is_own, _LOOK_AT)
        if self.trace is not None and not is_main:
            self.trace.forget()
            self.trace = None
        if is_main:
            self.processor.begin()
        self.thread = threading.Thread(target=self._run, name="tflint-gpu", daemon=True)
        self.thread.start()

    def stop(self) -> None:
        """Take no more samples, of this process or of later ones."""
        self.is_stopped = True
        self.thread.join()
        if self.is_main:
            self.processor.stop()
        self.steps.remove()
        self.input.stop()
        if self.trace is not None:
            self._tell_trace(self.trace.stop())
            with contextlib.suppress(OSError):
                self._flush()
        self.codes.clear()

    def _run(self) -> None:
        # The signals of the program are for its own threads.
        if hasattr(signal, "pthread_sigmask"):
            signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
        self.own = threading.get_ident()
        last = time.monotonic()
        draw = random.Random(0).uniform
        try:
            while not self.is_last:
                pause = self.interval * draw(0.6, 1.4)  # a program whose steps are as long would be seen at one place
                time.sleep(pause)
                self.is_last = self.is_stopped  # what happened during the sample before, too, is told
                now = time.monotonic()
                self.is_waiting = now < last + pause + LOCK_IS_FREE
                with contextlib.suppress(AttributeError, TypeError, ValueError, LookupError):
                    self._sample(now, now - last)
                last = now
        except OSError:  # the reader has gone
            return

    def _sample(self, now: float, span: float) -> None:
        # The last sample is of a program that has ended: what it did until then is where it was seen before.
        stack, phase, waits = self.last if self.is_last else (0, "", "")
        feeding: list[int] = []
        at: list[tuple[int, int, int]] = []
        for thread, frames in () if self.is_last else _stacks().items():
            if thread == self.main:
                stack, phase, waits, feeds = self._read(frames)
            elif thread != self.own:
                number, _, _, feeds = self._read(frames)
                if feeds and number:
                    feeding.append(number)
                    at.append((thread, id(frames[0][0]), frames[0][1]))
        if waits == "execute" and feeding and self._stands_still(now, at):
            waits = "feed"
        if self.is_main and self.processor.is_running:
            self._share_out(now, span, stack, phase, waits, feeding)
        elif self.is_main or stack:
            self._write(["T", self.process, round(now, 4), round(span, 4), stack, phase, waits, feeding])
        self.last = stack, phase, waits
        if self.is_main:
            if self.asks_input:
                self._ask_for_input(now, stack, phase, waits)
            self._ask_for_steps()
        if self.is_main and now >= self.next_memory:
            self.next_memory = now + MEMORY_EVERY
            self._ask_tensorflow()
        self._flush()

    def _share_out(self, now: float, span: float, stack: int, phase: str, waits: str, feeding: list[int]) -> None:
        """Charge what was computed to the stacks that the processor's timer saw, and the rest to where it was waited.

        A sample is of a wait where the thread is in an operation, computed next to nothing meanwhile, or does not hold
        Python's lock. What was waited between two of these is halved between them.
        """
        computed = min(span, self.processor.since())
        before = (span - computed) / 2 if self.last_wait is not None else 0.0
        self.owed += computed
        self.owed_idle[stack, phase, waits] = self.owed_idle.get((stack, phase, waits), 0.0) + span - computed
        idle = sum(self.owed_idle.values())
        at = now - self.owed - idle
        no_feeding: list[int] = []
        stacks = [self._read(frames) for frames in self.processor.stacks()]
        parts = [
            (self.owed / len(stacks), number, its_phase, does, no_feeding) for number, its_phase, does, _ in stacks
        ]
        if not parts and (self.owed > OWED or self.is_last):
            parts.append((self.owed, stack, phase, waits, feeding))
        if parts:
            self.owed = 0.0
        is_wait = bool(waits) or computed < 0.1 * span or self.is_waiting
        if is_wait:
            waits = waits or "blocked"
            self.owed_idle = {(stack, phase, waits): idle - before}
            if self.last_wait is not None:
                parts.append((before, *self.last_wait))
        self.last_wait = (stack, phase, waits, feeding) if is_wait else None
        if is_wait or idle > OWED_IDLE or self.is_last:
            parts.extend((seconds, *doing, feeding) for doing, seconds in self.owed_idle.items())
            self.owed_idle = {}
        for seconds, number, its_phase, does, fed in parts:
            at += seconds
            if seconds > 0:
                self._write(["T", self.process, round(at, 4), round(seconds, 5), number, its_phase, does, fed])

    def _ask_for_input(self, now: float, stack: int, phase: str, waits: str) -> None:
        """How much of a step waits for input, where the stacks cannot show it."""
        told = self.input.tick(now, (stack, phase), waits in ("execute", "feed") and phase in PHASES)
        if told is not None:
            (its_stack, its_phase), share = told
            self._write(["I", self.process, its_stack, its_phase, round(share, 3)])

    def _ask_for_steps(self) -> None:
        """The training steps that have ended since."""
        self.steps.install()
        self._tell_steps()
        if self.trace is not None:
            self._tell_trace(self.trace.tick(self._tell_steps))

    def _tell_steps(self) -> int:
        """Write those that have ended since; how many have by now."""
        for kind, (code, at), began, duration in self.steps.told():
            place = self._place(self._code(code), at)
            self._write(["B", self.process, kind, place, round(began, 5), round(duration, 6)])
        return self.steps.finished

    def _tell_trace(self, told: dict[str, Any] | None) -> None:
        if told is not None:
            self._write(["X", self.process, told])

    def _read(self, frames: list[tuple[types.CodeType, int]]) -> tuple[int, str, str, bool]:
        """The stack's number, its phase, what the thread waits for, and whether it works for an input pipeline."""
        own, phase, waits, feeds = read((self._code(code), at) for code, at in frames)
        return self._stack(tuple(self._place(code, at) for code, at in own)), phase, waits, feeds

    def _code(self, code: types.CodeType) -> Code:
        known = self.codes.get(id(code))
        if known is None:
            if len(self.codes) > MOST_KNOWN:
                self.codes.clear()
            known = self.codes[id(code)] = Code(code)
        return known

    def _place(self, known: Code, at: int) -> int:
        code, row = known.code, known.row(at)
        key = (code.co_filename, row, code.co_firstlineno)
        number = self.places.get(key)
        if number is None:
            if len(self.places) > MOST_KNOWN:
                return 0
            number = self.places[key] = len(self.places) + 1
            inner = [constant for constant in code.co_consts if isinstance(constant, types.CodeType)]
            last = max(row, *map(_last_row, [code, *inner]))
            path = os.path.normpath(os.path.join(HERE, code.co_filename))[:2000]
            self._write(["P", self.process, number, path, row, code.co_name[:200], code.co_firstlineno, last])
        return number

    def _stack(self, places: tuple[int, ...]) -> int:
        if not places:
            return 0
        number = self.stacks.get(places)
        if number is None:
            if len(self.stacks) > MOST_KNOWN:
                return self.stacks.get(places[:1], 0)
            number = self.stacks[places] = len(self.stacks) + 1
            self._write(["S", self.process, number, places])
            self._stack(places[:1])
        return number

    def _stands_still(self, now: float, at: list[tuple[int, int, int]]) -> bool:
        """Whether no thread computes, so that TensorFlow can only wait for its input.

        A thread is seen as computing while it wants a processor, which is asked of the kernel now and then. One may do
        so while the threads of the input pipeline move on: Python's lock lets one of them.
        """
        if now < self.next_states:
            return self.is_still
        self.next_states = now + STATES_EVERY
        is_moving = not self.last_at.issuperset(at)
        self.last_at = set(at)
        try:
            running = 0
            for task in os.listdir("/proc/self/task"):
                if task != str(threading.get_native_id()):
                    with open("/proc/self/task/" + task + "/stat", "rb") as file:
                        running += file.read().rpartition(b") ")[2][:1] == b"R"
        except OSError:
            running = 2
        self.is_still = running <= is_moving
        return self.is_still

    def _ask_tensorflow(self) -> None:
        """Which GPUs it started with, and what it holds on the first; nothing before it has started by itself."""
        context: Any = getattr(sys.modules.get("tensorflow.python.eager.context"), "_context", None)
        devices = getattr(context, "_logical_devices", None)
        if getattr(context, "_context_handle", None) is None or devices is None:
            return
        if self.asks_gpus:
            self.asks_gpus = False
            self._write(["G", self.process, sum(device.device_type == "GPU" for device in devices)])
        if not self.asks_memory:
            return
        try:
            known = context.get_memory_info("GPU:0")
            self._write(["M", self.process, int(known["current"]), int(known["peak"])])
        except Exception:  # no GPU, or an older TensorFlow
            self.asks_memory = False

    def tell(self, name: str, value: Any) -> None:
        """Write down what another part of the program's side says."""
        self._write(["V", os.getpid(), name, value])

    def _write(self, message: list[Any]) -> None:
        self.lines.append((json.dumps(message, separators=(",", ":")) + "\n").encode("utf-8", "replace"))

    def _flush(self) -> None:
        """Write whole lines, as many at once as a pipe keeps together."""
        if not self.has_pipe:
            raise OSError("the program has closed the pipe, and its number is another file's now")
        lines, self.lines = self.lines, []
        part = b""
        for line in lines:
            if len(part) + len(line) > PIPE_WIDTH:
                os.write(self.pipe, part)
                part = b""
            part += line
        if part:
            os.write(self.pipe, part)


def _last_row(code: types.CodeType) -> int:
    rows = [at[2] for at in code.co_lines() if at[2]] if hasattr(code, "co_lines") else []
    return max([code.co_firstlineno, *rows])
