"""What the programs of `tflint-gpu verify` measure with; a copy lies beside each of them.

A program is a piece of your own code in which a few calls of this module were put: around the loop, the call or the
pipeline that a finding is about. They run it for a while, take the times, write them, and end the program there. Run
by hand (`python program.py`) it prints what it would have written.

Times are those of blocks of steps: the device's work is finished (a result is fetched) when a block begins and when it
ends, and within it the program goes on as it always does. Steps are dropped until every shape was seen and they no
longer become faster. Seeds are set, so that both variants of a program see the same numbers.

While `verify` compares two programs on a CPU, both live at the same time and take turns, a block each, so that what
else the machine does meets both. TensorFlow is imported once for several rounds: each is a fork of the process at the
end of that import, before anything of the program ran.
"""

from __future__ import annotations

import atexit
import concurrent.futures
import contextlib
import functools
import gc
import inspect
import itertools
import json
import os
import random
import statistics
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NoReturn

RESULT = os.environ.get("TFLINT_GPU_RESULT")
# TensorFlow tells the devices of operations in its log only, and reads the level when it is imported.
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "0" if RESULT else os.environ.get("TF_CPP_MIN_LOG_LEVEL", "2")

import numpy
import tensorflow as tf

SEED = int(os.environ.get("TFLINT_GPU_SEED", "1"))
WARM_UP, FEWEST_WARM = 5, 2  # the second where steps take so long that caches and branches do not matter
LEAST_FALL = 0.95  # of the steps before: as long as steps become faster than that, the program warms up
MOST_SECONDS_OF_WARM_UP, MOST_SECONDS_OF_SHAPES = 6.0, 20.0
BLOCK_SECONDS, MOST_SECONDS_OF_PASS = 0.05, 4.0
FEWEST_STEPS, STEPS_OF_EPOCH = 10, 200
FEWEST_BLOCKS, MOST_BLOCKS = 5, 40
LEAST_SECONDS, MOST_SECONDS = 1.0, 8.0
MOST_SHAPES = 64  # where there are more, each step may have another one, and that is how the program runs
COMPARED_TURN = 4  # three turns are over then: what only tracing freezes shows in the second and third
ROWS = 1024
SHORTEST_CONSUMER = 0.002

TURNS = os.environ.get("TFLINT_GPU_TURNS")


def _ask(what: str) -> str:
    """Ask `verify` through the folder of turns, and wait for what it says."""
    number = time.monotonic_ns()
    told = f"{TURNS}/told-{number}"
    with open(f"{told}.new", "w") as file:
        file.write(f"{number} {what}")
    os.replace(f"{told}.new", f"{TURNS}/asked")
    while not os.path.exists(told):
        time.sleep(0.001)
    with open(told) as file:
        return file.read()


def _fork_rounds() -> None:
    """Return in a fork of this process for each round; this process itself ends as the last of them did."""
    assert tf.keras.layers  # Keras is imported when it is first asked for
    while _ask("round") == "go":
        child = os.fork()
        if child == 0:
            return
        status = os.waitpid(child, 0)[1]
        if os.WIFSIGNALED(status):
            os.kill(os.getpid(), os.WTERMSIG(status))
        if os.WEXITSTATUS(status):
            os._exit(os.WEXITSTATUS(status))
    os._exit(0)


if TURNS:
    _fork_rounds()

random.seed(SEED)
numpy.random.seed(SEED)
tf.keras.utils.set_random_seed(SEED)
sys.argv[1:] = []


def finish(
    times: Sequence[float] = (),
    outputs: Any = None,
    devices: Sequence[str] = (),
    blocks: Sequence[float] = (),
    **notes: Any,
) -> NoReturn:
    """Write what was measured, in seconds, and end the program: what comes after is not needed."""
    _write(times, _FIRST.get("outputs") if outputs is None else outputs, devices, notes, blocks)
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)


def _write(
    times: Sequence[float], outputs: Any, devices: Sequence[str], notes: dict[str, Any], blocks: Sequence[float] = ()
) -> None:
    array = None if outputs is None else numpy.asarray(outputs)
    result = {
        "steps": [float(t) for t in times],
        "blocks": [float(t) for t in blocks],
        "outputs": None if array is None else array.tolist(),
        "dtype": None if array is None else str(array.dtype),
        "devices": list(devices),
        "notes": {**notes, **_TOLD, **_conditions()},
    }
    if RESULT:
        with open(RESULT, "w") as file:
            json.dump(result, file)
        return
    if blocks or times:
        of, what = (blocks, "blocks of steps") if blocks else (times, "steps")
        print(f"median of {len(of)} {what}: {statistics.median(of) * 1000:.4g} ms a step")
    print({key: value for key, value in result.items() if key not in ("steps", "blocks", "dtype") and value})


class EmptyData(ValueError):
    """There is nothing to run over, so nothing can be measured."""


_TOLD: dict[str, Any] = {}


def note_early(**notes: Any) -> None:
    """Write something for the result that is to be known even if the program ends with an error."""
    _TOLD.update(notes)
    if RESULT:
        told = {**_TOLD, "unfinished": True}
        with open(RESULT, "w") as file:
            json.dump({"steps": [], "outputs": None, "dtype": None, "devices": [], "notes": told}, file)


def synchronize() -> None:
    """Wait until the device has done its work: fetching a number waits for all that was started before it."""
    for device in tf.config.list_logical_devices("GPU"):
        with tf.device(device.name):
            (tf.zeros(()) + 1.0).numpy()


_MEASURED: dict[str, float] = {}  # since when, on the clock that all processes of a machine share


class _Clock:
    """Takes the times of steps: first until they are warm, then in blocks, until there are enough.

    Arguments:
        samples: how many one step handles; times are per sample.
        least: steps that there must be before anything is measured.
    """

    def __init__(self, samples: int = 1, least: int = 0) -> None:
        self.samples, self.least = samples, least
        self.alternates = 1  # steps until the same shapes come again
        self.warm: list[float] = []
        self.dropped: list[float] = []
        self.since_new = 0  # steps since a shape came that had not been seen
        self.turns = 0
        self.times: list[float] = []
        self.blocks: list[float] = []
        self.size = self.done = 0  # steps of a block: none while warming up; and those that it has
        self.spent = self.measuring = 0.0  # seconds of this block, and of all
        self.is_remote = bool(tf.config.list_logical_devices("GPU"))
        self.singles = FEWEST_STEPS if self.is_remote else 0
        self.last: float | None = None

    def tick(self, counts: bool = True, cut: bool = False) -> bool:
        """A step is over; return whether there were enough.

        Arguments:
            counts: False sets the step apart: the first one, or one that traces a new shape.
            cut: the next one will not count.
        """
        if self.done + 1 >= self.size or cut or not counts or self.singles:
            synchronize()
        now = time.perf_counter()
        seconds = None if self.last is None else now - self.last
        self.last = now
        self.turns += 1
        if self.turns == COMPARED_TURN:
            _keep_weights()
            self.last = time.perf_counter()
        if seconds is None:
            return False
        if not counts:
            self.dropped.append(seconds)
            return False
        self.since_new += 1
        return self._rest() if self._ends_block(seconds) else False

    def _ends_block(self, seconds: float) -> bool:
        """Count a step, and return whether the next one begins a block."""
        if not self.size:
            self.warm.append(seconds)
            if self._is_warm():
                self._set_size()
            return self.size > 0
        if self.singles or not self.is_remote:
            # Where a card computes, the time of a step without a fetch is that of starting it.
            self.times.append(seconds / self.samples)
        if self.singles:
            self.singles -= 1
            return False
        self.done += 1
        self.spent += seconds
        if self.done < self.size:
            return False
        self.blocks.append(self.spent / self.done / self.samples)
        self.measuring += self.spent
        self.done, self.spent = 0, 0.0
        return True

    def _is_warm(self) -> bool:
        """Whether all that must be seen was seen, and steps take no less time than those before them."""
        spent, seen = sum(self.warm) + sum(self.dropped), len(self.warm)
        window = max(WARM_UP if spent < MOST_SECONDS_OF_WARM_UP else FEWEST_WARM, self.alternates)
        if seen + len(self.dropped) < max(self.least, window) or self.since_new < window:
            return spent > MOST_SECONDS_OF_SHAPES
        if spent > MOST_SECONDS_OF_WARM_UP or seen < 2 * window:
            return spent > MOST_SECONDS_OF_WARM_UP
        latest, before = self.warm[-window:], self.warm[-2 * window : -window]
        return statistics.median(latest) >= LEAST_FALL * statistics.median(before)

    def _set_size(self) -> None:
        step = statistics.fmean(self.warm[-max(WARM_UP, self.alternates) :])
        self.size = max(1, round(BLOCK_SECONDS / max(step, 1e-9)))
        if self.alternates * step <= MOST_SECONDS_OF_PASS:
            self.size = -(-self.size // self.alternates) * self.alternates

    def _rest(self) -> bool:
        """Between two blocks: wait for the next turn, or end."""
        if TURNS:
            is_over = _ask("turn") != "go"
        else:
            enough = len(self.blocks) >= FEWEST_BLOCKS and self.measuring > LEAST_SECONDS
            is_over = enough or len(self.blocks) >= MOST_BLOCKS or self.measuring > MOST_SECONDS
        self.last = time.perf_counter()
        _MEASURED.setdefault("from", time.monotonic())
        return is_over

    def finish(self, **notes: Any) -> NoReturn:
        """End the program with the times of its blocks."""
        finish(self.times, blocks=self.blocks, once=self.once, **notes)

    @property
    def once(self) -> float:
        """Seconds that the steps before took longer than later ones: tracing, compiling, looking for kernels."""
        usual = self.samples * statistics.median(self.times) if self.times else statistics.median(self.warm or [0.0])
        return sum(max(0.0, seconds - usual) for seconds in (*self.warm, *self.dropped))


def steps(iterable: Iterable[Any], samples: int = 1, reads: bool = False) -> Iterator[Any]:
    """Give a loop its elements again and again, and end the program when enough turns were timed.

    Arguments:
        samples: how many one turn handles; times are per sample.
        reads: whether getting the next element is part of what is measured; else a few are kept and repeated.
    """
    kept = 0
    if not reads:
        iterable = list(itertools.islice(iterable, KEPT))
        kept = len(iterable)
        if not kept:
            raise EmptyData("what the loop runs over has no element")
    clock = _Clock(samples, kept)
    known: set[Any] = set()
    counts = False
    for element, is_first in _endless(iterable, reads):
        shapes = _shapes(element)
        is_new = shapes not in known and len(known) < MOST_SHAPES
        known.add(shapes)
        if clock.tick(counts, cut=is_new or is_first):
            clock.finish()
        clock.alternates = kept if kept and len(known) > 1 else 1
        counts = not (is_new or is_first)
        clock.since_new = 0 if is_new else clock.since_new
        yield element


KEPT = 8


def _shapes(element: Any) -> Any:
    """What a step that is traced for each kind of arguments is traced for."""
    parts = tf.nest.flatten(element)
    return tuple((tuple(part.shape), str(part.dtype)) if hasattr(part, "shape") else type(part) for part in parts)


def turn(samples: int = 1) -> bool:
    """The condition of a `while` loop whose turns are timed."""
    clock = _WHILE.setdefault(samples, _Clock(samples))
    if clock.tick():
        clock.finish()
    return True


_WHILE: dict[int, _Clock] = {}


def endless(iterable: Any) -> Any:
    """What an iterator reads, again and again."""
    return iterable.repeat() if hasattr(iterable, "repeat") else itertools.cycle(iterable)


def counted(numbers: range) -> Iterator[int]:
    """A loop over numbers that goes on with new ones, and is timed as `steps` does it: none comes a second time."""
    for index, _ in enumerate(steps([None])):
        yield numbers.start + index * numbers.step


def few(iterable: Iterable[Any]) -> Iterator[Any]:
    """The first elements of a loop that only lies on the way to what is looked at."""
    return itertools.islice(iterable, 3)


def _endless(iterable: Iterable[Any], reads: bool) -> Iterator[tuple[Any, bool]]:
    if reads and hasattr(iterable, "repeat"):
        iterable = iterable.repeat()
    if reads and iter(iterable) is not iterable:
        for _ in itertools.count():
            index = -1
            for index, element in enumerate(iterable):
                yield element, index == 0
            if index < 0:
                raise EmptyData("what the loop runs over has no element")
    else:
        kept = list(itertools.islice(iterable, KEPT))
        if not kept:
            raise EmptyData("what the loop runs over has no element")
        for index in itertools.count():
            yield kept[index % len(kept)], index == 0


_FIRST: dict[str, Any] = {}
MOST_NUMBERS = 10_000


def _keep_first(result: Any) -> Any:
    """Keep the first numbers that were computed, so that both variants can be compared; give the result back."""
    if "outputs" not in _FIRST:
        _FIRST["outputs"] = None
        for part in tf.nest.flatten(result):
            if tf.is_tensor(part) and hasattr(part, "numpy") and part.dtype.is_floating:
                _FIRST["outputs"] = part.numpy().ravel()[:MOST_NUMBERS]
                break
    return result


def _keep_weights() -> None:
    """Keep numbers of the weights as some turns have left them, where no result of the program's own is kept."""
    if _FIRST.get("outputs") is not None:
        return
    kinds = (one for one in gc.get_objects() if issubclass(type(one), tf.Variable))
    weights = sorted((one for one in kinds if one.trainable and one.dtype.is_floating), key=_age)
    numbers = [_first_numbers(one, max(1, MOST_NUMBERS // len(weights))) for one in weights]
    if numbers:
        _FIRST["outputs"] = numpy.concatenate(numbers)


def _age(variable: Any) -> int:
    """Variables that are made in the same order have growing numbers at the end of their names."""
    return int(variable._unique_id.rpartition("_")[2])


def _first_numbers(variable: Any, count: int) -> Any:
    return tf.cast(tf.reshape(variable, [-1])[:count], tf.float32).numpy()


def eager(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function or model as it is; what it computes first is kept."""
    return lambda *args, **kwargs: _keep_first(function(*args, **kwargs))


def traced(function: Callable[..., Any]) -> Any:
    """The function or model under `tf.function`, the same object for each call."""
    key = (id(getattr(function, "__self__", None)), id(getattr(function, "__func__", function)))
    if key not in _TRACED:
        _TRACED[key] = (function, eager(tf.function(function)))
    return _TRACED[key][1]


_TRACED: dict[Any, Any] = {}


def fit(method: Callable[..., Any], samples: int = 1) -> Callable[..., Any]:
    """Stand for `model.fit`: the same training, long enough to be measured, without validation or output."""

    def measured_fit(*args: Any, **kwargs: Any) -> None:
        names = ("x", "y", "batch_size", "epochs", "verbose", "callbacks", "validation_split", "validation_data")
        kwargs.update(zip(names, args))
        for name in ("validation_split", "validation_data", "validation_steps", "validation_freq", "initial_epoch"):
            kwargs.pop(name, None)
        clock = _clock_of_batches(samples, kwargs.get("x"))
        _lengthen(kwargs)
        _must_have_rows(kwargs.get("x"))
        kwargs.update(epochs=10_000, verbose=0, callbacks=[clock])
        method(**kwargs)

    return measured_fit


def _lengthen(kwargs: dict[str, Any]) -> None:
    """Epochs of many steps: the first step of an epoch is not measured."""
    data = kwargs.get("x")
    if isinstance(data, tf.data.Dataset):
        kwargs["x"] = data.repeat()
        kwargs["steps_per_epoch"] = STEPS_OF_EPOCH
        return
    for name in ("x", "y", "sample_weight"):
        if isinstance(kwargs.get(name), (numpy.ndarray, tf.Tensor)):
            rows = len(kwargs[name])
            kwargs[name] = numpy.concatenate([numpy.asarray(kwargs[name])] * max(1, -(-ROWS // max(rows, 1))))


def _must_have_rows(data: Any) -> None:
    if isinstance(data, tf.data.Dataset):
        is_empty = not any(True for _ in data.take(1))
    else:
        is_empty = isinstance(data, (numpy.ndarray, tf.Tensor)) and not len(data)
    if is_empty:
        raise EmptyData("what `fit` gets has no element")


def _clock_of_batches(samples: int, data: Any) -> Any:
    clock = _Clock(samples, _least(data))

    class Clock(tf.keras.callbacks.Callback):
        def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
            count = (self.params or {}).get("steps")
            if clock.tick(counts=batch != 0 or count == 1, cut=batch + 1 == count):
                clock.finish()

    return Clock()


def _least(data: Any) -> int:
    """Elements of a dataset that must be seen before all shapes were: none where only the last batch differs."""
    if not isinstance(data, tf.data.Dataset):
        return 0
    shapes = [getattr(part, "shape", None) for part in tf.nest.flatten(data.element_spec)]
    is_known = all(shape is not None and shape.rank and shape[1:].is_fully_defined() for shape in shapes)
    return 0 if is_known else max(0, int(data.cardinality()))


def brief(method: Callable[..., Any]) -> Callable[..., Any]:
    """Stand for a training that is only passed on the way: one epoch of two steps."""

    def short_fit(*args: Any, **kwargs: Any) -> Any:
        names = ("x", "y", "batch_size", "epochs", "verbose")
        kwargs.update(zip(names, args[:5]))
        if len(args) > 5:
            return method(*args, **kwargs)
        kwargs.update(epochs=1, steps_per_epoch=2, verbose=0)
        if isinstance(kwargs.get("x"), tf.data.Dataset):
            kwargs["x"] = kwargs["x"].repeat()
        return method(**kwargs)

    return short_fit


CONSUMER_SECONDS: float | None = None


def consume(dataset: Any, optimized: bool = True) -> NoReturn:
    """Read a pipeline with a consumer that takes a set time per element, as a device does, and end the program.

    The time is `CONSUMER_SECONDS`; where that is None, it measures how long the pipeline takes for an element.

    Arguments:
        optimized: False turns off tf.data's default optimizations, and the prefetch that newer versions inject.
    """
    if not optimized:
        options = tf.data.Options()
        options.experimental_optimization.apply_default_optimizations = False
        dataset = dataset.with_options(options)
    clock = _Clock()
    for element in dataset.repeat():
        _keep_first(element)
        if CONSUMER_SECONDS is not None:
            time.sleep(CONSUMER_SECONDS)
        if clock.tick():
            break
    if not clock.turns:
        raise EmptyData("the dataset has no element")
    clock.finish(producer=max(statistics.median(clock.blocks or clock.warm), SHORTEST_CONSUMER))


def placed(scope: Callable[[str], Any]) -> type:
    """Stand for `tf.device`: run the block, and tell on which devices its operations ran."""

    class Placed:
        def __init__(self, name: str) -> None:
            self.name, self.scope = name, scope(name)

        def __enter__(self) -> Any:
            _log_placement()
            return self.scope.__enter__()

        def __exit__(self, kind: Any, error: Any, trace: Any) -> Any:
            if kind is not None:
                return self.scope.__exit__(kind, error, trace)
            (tf.ones(()) + 1.0).numpy()  # a block that only defines something computes here
            finish(devices=_logged_placement(), asked=self.name)

        def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
            def inside(*args: Any, **kwargs: Any) -> Any:
                with self:
                    return function(*args, **kwargs)

            return inside

    return Placed


def placed_strategy(strategy: Callable[..., Any]) -> Callable[..., Any]:
    """Stand for `tf.distribute.OneDeviceStrategy`: tell where it runs an operation."""

    def measured_strategy(name: str, *args: Any, **kwargs: Any) -> NoReturn:
        made = strategy(name, *args, **kwargs)
        _log_placement()
        made.run(lambda: tf.ones(()) + 1.0)
        finish(devices=_logged_placement(), asked=name)

    return measured_strategy


def available(name: str) -> str:
    """The device, or the CPU where there is no such device: what a guard in the program would choose."""
    wanted = tf.DeviceSpec.from_string(name if name.startswith("/") else f"/{name}")
    for device in tf.config.list_logical_devices(wanted.device_type or "CPU"):
        if wanted.device_index in (None, tf.DeviceSpec.from_string(device.name).device_index):
            return name
    return "/CPU:0"


_LOG = tempfile.TemporaryFile()
_ERRORS = -1


def log_devices() -> None:
    """Let TensorFlow tell each operation's device; only before the first operation can this be turned on."""
    tf.debugging.set_log_device_placement(True)


def _log_placement() -> None:
    """TensorFlow writes each operation's device to the standard error stream: read it instead of showing it."""
    global _ERRORS
    sys.stderr.flush()
    _ERRORS = os.dup(2)
    os.dup2(_LOG.fileno(), 2)


def _logged_placement() -> list[str]:
    os.dup2(_ERRORS, 2)
    _LOG.seek(0)
    text = _LOG.read().decode(errors="replace")
    found = (word for word in text.split() if "/device:" in word)
    return sorted({word[word.index("/device:") :].rstrip(",.;)'\"") for word in found})


def examine(function: Callable[..., Any]) -> Callable[..., Any]:
    """Stand for a function that TensorFlow traces: at its first call it is run eagerly, with gradients.

    Where that call is symbolic it is then traced, as it is, and the program ends there if that works. Where it raises,
    the error takes its way: mostly it ends the program. Keras catches some while it builds a model; then the program
    goes on to what it does with the model, and at its end a model that holds the layer is fitted. Where the program
    calls the function with values only, `tf.function` traces it in the end. The note `raised_in` tells both.
    """
    examination = _Examination(function)

    @functools.wraps(function)
    def examined(*args: Any, **kwargs: Any) -> Any:
        return examination.call(args, kwargs)

    return examined


class _Examination:
    """What is known of one function."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function
        self.parameters = inspect.signature(function).parameters
        self.takes_any = any(one.kind is inspect.Parameter.VAR_KEYWORD for one in self.parameters.values())
        self.calls = 0
        self.times: list[float] = []
        self.outputs: Any = None
        self.notes: dict[str, Any] = {}
        self.layer: Any = None
        self.arguments: Any = None
        self.error: Exception | None = None

    def call(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        # Keras 2 gives `training` to whatever takes any keyword.
        kwargs = {name: value for name, value in kwargs.items() if self.takes_any or name in self.parameters}
        self.calls += 1
        if self.calls == 1:
            self._run_eagerly(args, kwargs)
            _at_the_end(self._end)
        if not any(_is_symbolic(part) for part in tf.nest.flatten((args, kwargs))):
            if self.calls > MOST_EAGER_CALLS:
                self._end()
            return self.function(*args, **kwargs)
        try:
            self.function(*args, **kwargs)
        except Exception as error:
            self.error = error
            raise
        self._finish(traced="works")

    def _run_eagerly(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        # Keras and TensorFlow keep what they trace per thread: another thread is outside of it.
        outside = concurrent.futures.ThreadPoolExecutor(1).submit
        known = outside(_run_eagerly, self.function, args, kwargs).result()
        if args and isinstance(args[0], tf.keras.layers.Layer):
            self.layer = args[0]
            inputs = [*args[1:], *kwargs.values()]
            if known[-1]["eager"] != "works" and inputs:
                # While Keras builds a model its variables have no values yet: take a layer like it.
                fresh = outside(_built_like, args[0], inputs[0]).result()
                known = outside(_run_eagerly, self.function, (fresh, *args[1:]), kwargs).result()
        self.arguments, self.times, self.outputs, self.notes = known
        _write(self.times, self.outputs, (), self.notes)

    def _finish(self, **notes: Any) -> NoReturn:
        finish(self.times, self.outputs, **self.notes, **notes)

    def _end(self) -> NoReturn:
        """The program has not ended by an error of the function: trace it as training does."""
        where = "tf.function" if self.error is None else "fit"
        try:
            if self.error is None:
                _trace(self.function, self.arguments)
            else:
                _fit_around(self.layer)
        except Exception as error:
            self._raise(error, where)
        if self.error is not None:
            self._raise(self.error, "caught")
        self._finish(traced="works")

    def _raise(self, error: Exception, where: str) -> NoReturn:
        _write(self.times, self.outputs, (), {**self.notes, "raised_in": where})
        _end_with_error(error)


MOST_EAGER_CALLS = 3


def _at_the_end(function: Callable[[], Any]) -> None:
    """Call a function when the program has run through: not when an error ends it."""
    ended_by_error = sys.excepthook

    def excepthook(*error: Any) -> None:
        atexit.unregister(function)
        ended_by_error(*error)

    sys.excepthook = excepthook
    atexit.register(function)


def _fit_around(layer: Any) -> None:
    """Fit a model that holds a layer, on random numbers, for one step; without one nothing happens."""
    models = (one for one in gc.get_objects() if isinstance(one, tf.keras.Model) and one is not layer)
    for model in models:
        if any(one is layer for one in model._flatten_layers()):
            shapes = [one.shape for one in getattr(model, "inputs", None) or ()]
            # A Sequential model whose building failed knows its input layer only.
            shapes = shapes or [one.batch_shape for one in model._flatten_layers() if hasattr(one, "batch_shape")]
            rows = [random_tensor([4, *(side or 4 for side in shape[1:])]) for shape in shapes]
            model.compile("sgd", lambda truth, predicted: tf.reduce_mean(predicted))
            model.fit(rows if len(rows) > 1 else rows[0], tf.zeros((4, 1)), batch_size=4, verbose=0)
            return


def _end_with_error(error: BaseException) -> NoReturn:
    """End the program as an error does that nobody catches."""
    traceback.print_exception(type(error), error, error.__traceback__)
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(1)


def uncaught(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function; an error of it ends the program, also where the program would catch it."""

    def called(*args: Any, **kwargs: Any) -> Any:
        try:
            return function(*args, **kwargs)
        except Exception as error:
            _end_with_error(error)

    return called


def _built_like(layer: Any, inputs: Any) -> Any:
    try:
        fresh = type(layer).from_config(layer.get_config())
        fresh.build(inputs.shape)
        return fresh
    except Exception:
        return layer


def _is_symbolic(value: Any) -> bool:
    return hasattr(value, "shape") and hasattr(value, "dtype") and not hasattr(value, "numpy") and not _is_numpy(value)


def _is_numpy(value: Any) -> bool:
    return isinstance(value, (numpy.ndarray, numpy.generic))


def _run_eagerly(
    function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[Any, list[float], Any, dict[str, Any]]:
    arguments = tf.nest.map_structure(_concrete, (args, kwargs))
    tensors = [part for part in tf.nest.flatten(arguments) if isinstance(part, tf.Tensor) and part.dtype.is_floating]
    times = []
    try:
        with tf.GradientTape(persistent=True) as tape:
            tape.watch(tensors)
            result = function(*arguments[0], **arguments[1])
        floats = [r for r in tf.nest.flatten(result) if tf.is_tensor(r) and r.dtype.is_floating]
        gradients = [tape.gradient(r, tensors) for r in floats] if tensors else []
        lost = bool(tensors) and all(g is None for several in gradients for g in several)
        for _ in range(WARM_UP + FEWEST_STEPS):
            began = time.perf_counter()
            function(*arguments[0], **arguments[1])
            synchronize()
            times.append(time.perf_counter() - began)
    except Exception as error:
        return arguments, [], None, {"eager": f"raises {type(error).__name__}: {error}"}
    first = tf.nest.flatten(result)[0]
    outputs = numpy.asarray(first) if tf.is_tensor(first) or isinstance(first, numpy.ndarray) else None
    return arguments, times[WARM_UP:], outputs, {"eager": "works", "gradient": "None" if lost else "there"}


def _trace(function: Callable[..., Any], arguments: Any) -> None:
    flat = tf.nest.flatten(arguments)
    is_tensor = [isinstance(part, tf.Tensor) for part in flat]

    @tf.function
    def traced_call(*tensors: Any) -> Any:
        given = iter(tensors)
        parts = [next(given) if one else part for part, one in zip(flat, is_tensor)]
        args, kwargs = tf.nest.pack_sequence_as(arguments, parts)
        return tf.nest.map_structure(lambda part: part if tf.is_tensor(part) else 0, function(*args, **kwargs))

    traced_call(*(part for part, one in zip(flat, is_tensor) if one))


def _concrete(value: Any) -> Any:
    """A tensor with values for one that has none; everything else as it is."""
    if not _is_symbolic(value):
        return value
    return random_tensor([4 if side is None else int(side) for side in value.shape], value.dtype)


def random_tensor(shape: Sequence[int], dtype: Any = "float32") -> Any:
    """Numbers from the seed: normal, or small whole ones."""
    dtype = tf.as_dtype(dtype)
    if dtype.is_floating:
        return tf.cast(tf.random.stateless_normal(shape, seed=(SEED, 0)), dtype)
    whole = tf.random.stateless_uniform(shape, seed=(SEED, 0), maxval=2, dtype=tf.int32)
    return tf.cast(whole, dtype)


def synthetic(*specs: Any) -> Any:
    """Arrays in the place of data that is not here.

    Arguments:
        specs: (shape, dtype) of each; a shape without rows gets some.
    """
    arrays = [random_tensor(shape, dtype).numpy() for shape, dtype in specs]
    return arrays[0] if len(arrays) == 1 else tuple(arrays)


def keras_dataset(name: str) -> Any:
    """What `tf.keras.datasets.NAME.load_data()` gives, with the shapes and types of its documentation, fewer rows."""
    shape, classes, columns = {
        "mnist": ((28, 28), 10, 0),
        "fashion_mnist": ((28, 28), 10, 0),
        "cifar10": ((32, 32, 3), 10, 1),
        "cifar100": ((32, 32, 3), 100, 1),
    }[name]
    draw = numpy.random.default_rng(SEED)

    def part(rows: int) -> Any:
        labels = draw.integers(0, classes, (rows, 1) if columns else (rows,)).astype("uint8")
        return draw.integers(0, 256, (rows, *shape)).astype("uint8"), labels

    return part(2 * ROWS), part(ROWS)


def reached(hold: float = 0.0) -> NoReturn:
    """End the program here: the flagged statement ran without an exception."""
    synchronize()
    time.sleep(hold)
    finish()


def unchanged(name: str, before: Any, after: Any, method: Callable[..., Any]) -> NoReturn:
    """End the program behind a statement that throws a dataset away: is the variable still the old dataset?"""
    element = [str(spec) for spec in tf.nest.flatten(after.element_spec)]
    if after is before:
        finish(wrong=f"behind `{method}`, `{name}` is still the same {type(after).__name__}", elements=element)
    finish(elements=element)


def grow_memory() -> None:
    """Take memory as it is needed, on every GPU."""
    for gpu in tf.config.list_physical_devices("GPU"):
        tf.config.experimental.set_memory_growth(gpu, True)


def _conditions() -> dict[str, Any]:
    """What the numbers depend on: the devices that there are and that were used, the time, versions and settings."""
    gpus = [device.name for device in tf.config.list_logical_devices("GPU")]
    build = tf.sysconfig.get_build_info() if hasattr(tf, "sysconfig") else {}
    versions = {
        "python": sys.version.split()[0],
        "tensorflow": tf.__version__,
        "keras": getattr(tf.keras, "__version__", None) or getattr(sys.modules.get("keras"), "__version__", None),
        "numpy": numpy.__version__,
        "cuda": build.get("cuda_version"),
        "cudnn": build.get("cudnn_version"),
    }
    measured = [_MEASURED["from"], time.monotonic()] if "from" in _MEASURED else None
    return {
        "gpus": gpus,
        "ran_on": _used_devices(),
        "memory": {name: held for name in gpus if (held := _allocated(name)) is not None},
        "measured": measured,
        "versions": {name: str(version) for name, version in versions.items() if version},
        "settings": _settings(),
        "seed": SEED,
    }


def _used_devices() -> dict[str, int]:
    """How many of the tensors and variables that the program still has lie on which device."""
    devices: dict[str, int] = {}
    kinds: dict[type, bool] = {}
    for one in gc.get_objects():
        kind = type(one)
        if kind not in kinds:
            kinds[kind] = issubclass(kind, (tf.Tensor, tf.Variable)) and hasattr(kind, "numpy")
        if not kinds[kind]:
            continue
        try:
            name = getattr(one, "backing_device", None) or one.device
        except Exception:  # a variable of a graph, or one that is gone on the device
            continue
        if isinstance(name, str) and "device:" in name:
            short = name.rpartition("device:")[2]
            devices[short] = devices.get(short, 0) + 1
    return devices


def _allocated(name: str) -> dict[str, int] | None:
    """Bytes of a card that TensorFlow's allocator has given out, now and at most."""
    try:
        return {key: int(held) for key, held in tf.config.experimental.get_memory_info(name.lstrip("/")).items()}
    except Exception:  # before 2.5, and for some allocators
        return None


def _settings() -> dict[str, str]:
    """What changes how fast TensorFlow computes: of the environment, and of what the program set itself."""
    names = ("XLA_FLAGS", "TF_XLA_FLAGS", "TF_ENABLE_ONEDNN_OPTS", "TF_USE_LEGACY_KERAS", "KERAS_BACKEND")
    found = {name: os.environ[name] for name in names if name in os.environ}
    questions: dict[str, Callable[[], Any]] = {
        "XLA": tf.config.optimizer.get_jit,
        "TF32": tf.config.experimental.tensor_float_32_execution_enabled,
        "precision": lambda: tf.keras.mixed_precision.global_policy().name,
        "threads of an operation": tf.config.threading.get_intra_op_parallelism_threads,
        "threads between operations": tf.config.threading.get_inter_op_parallelism_threads,
    }
    for name, question in questions.items():
        with contextlib.suppress(Exception):  # an older version has another name for it
            if answer := question():
                found[name] = "on" if answer is True else str(answer)
    return found
