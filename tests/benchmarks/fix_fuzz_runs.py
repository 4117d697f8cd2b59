"""Programs of the fuzzer of fixes, run with TensorFlow in forks of one process, and what differs between two runs."""

from __future__ import annotations

import gc
import os
import random
import re
import signal
import sys
import tempfile
import time
import types
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from multiprocessing.connection import Connection, Pipe
from pathlib import Path
from typing import Any

os.environ.update(TF_CPP_MIN_LOG_LEVEL="3", CUDA_VISIBLE_DEVICES="-1", TF_ENABLE_ONEDNN_OPTS="0")
os.environ.update(TF_NUM_INTEROP_THREADS="1", TF_NUM_INTRAOP_THREADS="1", OMP_NUM_THREADS="1")  # one core is enough
import numpy as np
import tensorflow as tf
from tensorflow.python.eager.polymorphic_function import polymorphic_function, tracing_compilation

from tflint_gpu.model.tensorflow.execution.contexts import PAYS_FROM

Program = Mapping[str, str]
"""Texts of files by their names."""

MAIN = "train.py"
_LIMIT = 40.0
_PROGRAMS_PER_FORK = 40
# What a process may do only once, or for good.
_FOR_GOOD = re.compile(
    r"tf\.config\.(?!run_functions|list_)|\.set_(?:virtual|logical|visible|memory)_|enable_debug_mode|determinism"
    r"|Strategy|compat\.v1"
)
_PROGRESS = re.compile(r"^.*(?:\x08|\r|/step|━).*$\n?", re.MULTILINE)
_NUMBER = re.compile(r"-?\d+(?:\.\d*)?(?:e[-+]?\d+)?")
_MODULES = ("keras", "tensorflow", "numpy")


@dataclass(frozen=True)
class Run:
    """What came of a program.

    Arguments:
        raised: the exception; empty if there was none.
        printed: without progress bars.
        left: what the names of its module hold at the end, as plain data.
        traces: of each function that `tf.function` traced, by its name.
        calls: of each of them.
        seconds: by the clock, without TensorFlow's start.
        processor: seconds of all threads.
    """

    raised: str = ""
    printed: str = ""
    left: dict[str, Any] = field(default_factory=dict)
    traces: Counter[str] = field(default_factory=Counter)
    calls: Counter[str] = field(default_factory=Counter)
    seconds: float = 0.0
    processor: float = 0.0


class Forks:
    """Runs programs one after the other. This process imports TensorFlow and never computes, so that it can be forked."""

    def __init__(self, limit: float = _LIMIT) -> None:
        self._limit = limit
        self._child = 0
        self._connection: Connection | None = None
        self._left = 0

    def run(self, program: Program) -> Run:
        """Run a program in a namespace of its own."""
        with tempfile.TemporaryDirectory(prefix="fix-fuzz-") as folder:
            for name, text in program.items():
                Path(folder, name).write_text(text, "utf-8")
            is_for_good = any(map(_FOR_GOOD.search, program.values()))
            if is_for_good or not self._left:
                self.close()
                self._open(warm=not is_for_good)
            self._left = 0 if is_for_good else self._left - 1
            return self._answer(folder)

    def _answer(self, folder: str) -> Run:
        assert self._connection is not None
        self._connection.send(folder)
        try:
            if self._connection.poll(self._limit):
                run: Run = self._connection.recv()
                return run
            raised = f"TimeoutError: more than {self._limit:.0f} s"
        except EOFError:
            raised = "SystemError: the process died"
        self.close()
        return Run(raised=raised, seconds=self._limit)

    def _open(self, *, warm: bool) -> None:
        ours, theirs = Pipe()
        sys.stdout.flush()
        self._child = os.fork()
        if self._child == 0:
            ours.close()
            _serve(theirs, warm)
            os._exit(0)
        theirs.close()
        self._connection, self._left = ours, _PROGRAMS_PER_FORK

    def close(self) -> None:
        """End the fork that waits for programs."""
        if self._connection is not None:
            self._connection.close()
            os.kill(self._child, signal.SIGKILL)
            os.waitpid(self._child, 0)
        self._connection, self._left = None, 0


def _serve(connection: Connection, warm: bool) -> None:
    shown = tempfile.TemporaryFile("w+", newline="")  # noqa: SIM115 - it lives as long as the process
    os.dup2(shown.fileno(), 1)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
    traces, calls = Counter[str](), Counter[str]()
    _count_traces(traces)
    _count_calls(calls)
    if warm:
        _warm_up()
    gc.freeze()  # what TensorFlow's modules hold
    while True:
        try:
            folder = connection.recv()
        except EOFError:
            return
        if warm:
            _reset()
        shown.seek(0)
        shown.truncate()
        traces.clear()
        calls.clear()
        run = _run(Path(folder))
        sys.stdout.flush()
        shown.seek(0)
        printed = _PROGRESS.sub("", shown.read())
        connection.send(replace(run, printed=printed, traces=Counter(traces), calls=Counter(calls)))


def is_keras_2() -> bool:
    """Whether `tf.keras` is Keras 2."""
    return int(tf.__version__.split(".")[1]) < 16


def _count_traces(traces: Counter[str]) -> None:
    create = tracing_compilation._create_concrete_function

    def counted(function_type: Any, type_context: Any, func_graph: Any, tracing_options: Any) -> Any:
        traces[tracing_options.name] += 1
        return create(function_type, type_context, func_graph, tracing_options)

    tracing_compilation._create_concrete_function = counted


def _count_calls(calls: Counter[str]) -> None:
    call = polymorphic_function.Function.__call__

    def counted(self: Any, *args: Any, **kwargs: Any) -> Any:
        calls[self._name] += 1
        return call(self, *args, **kwargs)

    polymorphic_function.Function.__call__ = counted


def _warm_up() -> None:
    """Do what is done once a process, so that runs differ by their programs only."""
    model = tf.keras.Sequential([tf.keras.layers.Dense(2)])
    optimizer = tf.keras.optimizers.SGD()

    @tf.function
    def step(x: Any) -> None:
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(model(x))
        weights = model.trainable_variables
        optimizer.apply_gradients(zip(tape.gradient(loss, weights), weights, strict=True))

    step(tf.ones((2, 3)))
    list(tf.data.Dataset.range(3).map(lambda x: x + 1))


def _reset() -> None:
    tf.config.run_functions_eagerly(False)
    tf.keras.backend.set_floatx("float32")
    tf.keras.mixed_precision.set_global_policy("float32")
    tf.keras.backend.clear_session()
    gc.collect()


def _run(folder: Path) -> Run:
    os.chdir(folder)
    sys.path.insert(0, str(folder))
    kept = set(sys.modules)
    module = types.ModuleType("__main__")
    module.__file__ = str(folder / MAIN)
    sys.modules["__main__"] = module
    random.seed(1)
    tf.keras.utils.set_random_seed(1)
    raised = ""
    text = (folder / MAIN).read_text("utf-8")
    processor, began = time.process_time(), time.perf_counter()
    try:
        exec(compile(text, module.__file__, "exec", dont_inherit=True), module.__dict__)
    except BaseException as error:
        raised = f"{type(error).__name__}: {error}"
    seconds, processor = time.perf_counter() - began, time.process_time() - processor
    left = {}
    for name, value in module.__dict__.items():
        if not name.startswith("_") and (plain := plain_of(value)) is not None:
            left[name] = plain
    sys.path.remove(str(folder))
    for name in set(sys.modules) - kept:
        if (getattr(sys.modules[name], "__file__", None) or "").startswith(str(folder)):
            del sys.modules[name]
    return Run(raised[:2000], left=left, seconds=seconds, processor=processor)


def plain_of(value: Any, depth: int = 5) -> Any:
    """A value as arrays, numbers, texts, lists and dictionaries; None where it is nothing to compare."""
    if value is None or isinstance(value, bool | int | float | complex | str | bytes):
        return value
    if depth == 0 or isinstance(value, type | types.ModuleType | types.FunctionType | tf.GradientTape):
        return None
    if isinstance(value, tuple | list | set):
        return [plain_of(item, depth - 1) for item in value]
    if isinstance(value, dict):
        return {str(key): plain_of(item, depth - 1) for key, item in value.items()}
    if isinstance(value, np.ndarray | np.generic):
        return value if value.dtype != object else [plain_of(item, depth - 1) for item in value]
    if isinstance(value, tf.data.Dataset | tf.data.Iterator):
        return None
    if isinstance(value, tf.RaggedTensor):
        return [plain_of(row, depth - 1) for row in value]
    if isinstance(value, tf.keras.metrics.Metric):
        return {"result": plain_of(value.result(), depth - 1)}
    if isinstance(value, tf.keras.optimizers.Optimizer):
        return {name: plain_of(getattr(value, name, None), depth - 1) for name in ("iterations", "learning_rate")}
    if hasattr(value, "numpy"):
        try:
            return np.asarray(value.numpy())
        except Exception as error:
            return f"<{type(error).__name__}>"
    if tf.is_tensor(value):
        return "<a symbolic tensor>"
    return _plain_object(value, depth)


def _plain_object(value: Any, depth: int) -> Any:
    found: dict[str, Any] = {}
    if isinstance(value, tf.Module | tf.keras.layers.Layer):
        weights = _weights(value)
        found["weights"] = [np.asarray(weight) for weight in weights]
        found["trainable"] = [bool(weight.trainable) for weight in weights]
    if not type(value).__module__.startswith(_MODULES):
        for name, item in getattr(value, "__dict__", {}).items():
            if not name.startswith("_") and (plain := plain_of(item, depth - 1)) is not None:
                found[name] = plain
    return found or None


def _weights(value: Any) -> Any:
    """The variables of a module, layer or model; none before it is built, for which Keras 2 raises."""
    try:
        return getattr(value, "weights", None) or value.variables
    except ValueError:
        return ()


@dataclass(frozen=True)
class Difference:
    """One thing in which two runs differ.

    Arguments:
        what: the kind of thing, without numbers, e.g. `weights of model`.
        text: what each run has.
        cause: the beginning of what is raised, by which one reason is known from another.
    """

    what: str
    text: str
    cause: str = ""


def differences(before: Run, after: Run, allowed: frozenset[str], tolerance: float = 1e-3) -> Iterator[Difference]:
    """What a fix changed that it may not change.

    Arguments:
        allowed: of "raised" (a program that raised may go on, but not raise something else), "raised otherwise" (it
            may do that, too), "numbers", "shapes" and "printed".
        tolerance: relative, of numbers.
    """
    if before.raised.startswith("TimeoutError"):
        return
    if before.raised or after.raised:
        old, new = _kind(before.raised), _kind(after.raised)
        is_mended = before.raised and "raised" in allowed
        is_right = new in (_NOTHING, old, *_GONE) or "raised otherwise" in allowed
        if not (is_right if is_mended else (old == _NOTHING) == (new == _NOTHING)):
            yield Difference(
                f"raises {new} instead of {old}",
                f"{before.raised!r} -> {after.raised!r}",
                after.raised.partition("(")[0][:60],
            )
        return
    if "printed" not in allowed and (text := _different_text(before.printed, after.printed, allowed, tolerance)):
        yield Difference("printed text", text)
    if "shapes" not in allowed:
        for name in sorted(before.left.keys() & after.left.keys()):
            if text := _different(before.left[name], after.left[name], "numbers" in allowed, tolerance, name):
                yield Difference(re.sub(r"\[\d+\]", "[]", text.partition(":")[0]), text)
    for name, count in after.traces.items():
        if count > max(before.traces[name] + 2, _TRACES):
            yield Difference("traces", f"{name}: {before.traces[name]} -> {count}")


_NOTHING = "nothing"
_GONE = ("AttributeError", "ImportError", "ModuleNotFoundError")
"""What the next old name of a program raises, when one has been replaced."""
_TRACES = 5
"""Traces that are no mistake: training and validation, each with a smaller last batch, and one for new variables."""


def _kind(raised: str) -> str:
    return raised.partition(":")[0] or _NOTHING


def _different_text(before: str, after: str, allowed: frozenset[str], tolerance: float) -> str:
    if _NUMBER.sub("0", before) != _NUMBER.sub("0", after):
        return f"{before[-300:]!r} -> {after[-300:]!r}"
    old, new = (np.array(_NUMBER.findall(text), "float64") for text in (before, after))
    if "numbers" in allowed or np.allclose(old, new, tolerance, tolerance / 10, equal_nan=True):
        return ""
    return f"{before[-300:]!r} -> {after[-300:]!r}"


def _different(before: Any, after: Any, only_shapes: bool, tolerance: float, path: str) -> str:
    """Where two plain values differ; empty if nowhere."""
    if isinstance(before, dict) and isinstance(after, dict):
        for name in sorted(before.keys() & after.keys()):
            if text := _different(before[name], after[name], only_shapes, tolerance, f"{path}.{name}"):
                return text
        return ""
    if isinstance(before, list) and isinstance(after, list):
        if len(before) != len(after):
            return f"{path}: {len(before)} -> {len(after)} items"
        for number, (old, new) in enumerate(zip(before, after, strict=True)):
            if text := _different(old, new, only_shapes, tolerance, f"{path}[{number}]"):
                return text
        return ""
    if isinstance(before, str | bytes | None) or isinstance(after, str | bytes | None):
        return "" if before == after or only_shapes else f"{path}: {before!r} -> {after!r}"
    return _different_arrays(before, after, only_shapes, tolerance, path)


def _different_arrays(before: Any, after: Any, only_shapes: bool, tolerance: float, path: str) -> str:
    try:
        old, new = np.asarray(before), np.asarray(after)
    except ValueError as error:
        return f"{path}: {error}"
    if old.shape != new.shape:
        return f"{path}: shape {old.shape} -> {new.shape}"
    if only_shapes:
        return ""
    if old.dtype.kind not in "biufc" or new.dtype.kind not in "biufc":
        return "" if np.array_equal(old, new) else f"{path}: {old!r} -> {new!r}"[:600]
    if np.allclose(old.astype("complex"), new.astype("complex"), tolerance, tolerance / 10, equal_nan=True):
        return ""
    where = np.unravel_index(np.argmax(np.abs(old.astype("float64") - new)), old.shape) if old.shape else ()
    return f"{path}: {old[where]} -> {new[where]}"


def slower(forks: Forks, before: Program, after: Program, rounds: int = 5) -> float:
    """How many times as long a program takes with its fixes, by the shortest of runs that take turns.

    The program as it was runs twice in each round, as if it were two: where these differ as much, it is 1. The clock and
    the processor's time must both say that it takes longer, or it is 1.
    """
    if any(_FOR_GOOD.search(text) for text in (*before.values(), *after.values())):
        return 1.0  # each run starts TensorFlow
    old, new, again = runs = list[Run](), list[Run](), list[Run]()
    ratio = 1.0
    for _ in range(rounds):
        for program, of_program in zip((before, after, before), runs, strict=True):
            run = forks.run(program)
            if run.raised:
                return 1.0
            of_program.append(run)
        ratio = _ratio(old, new, again)
        if ratio < _SLOWER:
            break
    return ratio


def _ratio(old: Sequence[Run], new: Sequence[Run], again: Sequence[Run] = ()) -> float:
    """How many times as long the shortest run of a fixed program takes; 1 where that may be chance.

    Arguments:
        again: more runs of the program as it was, beside `old`.
    """
    return min(
        _times_as_long(*(min(map(of, runs)) for runs in (old, new, again or old)))
        for of in (lambda run: run.seconds, lambda run: run.processor)
    )


def _times_as_long(old: float, new: float, again: float) -> float:
    chance = max(_LEAST_SECONDS, abs(old - again))
    return new / max(old, again) if new - min(old, again) >= chance else 1.0


_SLOWER = 1.1
_LONG_ENOUGH = 0.5  # seconds, of some fifty small steps: the linter does not see how long made-up arrays are
_LEAST_SECONDS = 0.03


def looks_slower(before: Run, after: Run) -> bool:
    """Whether a fixed program is to be measured again: not one that took no longer than a few steps, which nobody need
    speed up, nor one whose new trace, or whose training, runs less often than the rules say that it pays.
    """
    new = [count for name, count in after.calls.items() if count > before.calls[name]]
    is_short = bool(after.calls) and (min(new) if new else max(after.calls.values())) < PAYS_FROM
    return before.seconds >= _LONG_ENOUGH and not is_short and _ratio([before], [after]) > _SLOWER
