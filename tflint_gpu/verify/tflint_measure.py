"""What the programs of `tflint-gpu verify` measure with; a copy lies beside each of them.

A program is a piece of your own code in which a few calls of this module were put: around the loop, the call or the
pipeline that a finding is about. They run it for a while, take the times, write them, and end the program there. Run
by hand (`python program.py`) it prints what it would have written.

Times are taken with the device's work finished: a result is fetched before each clock is read. The first steps are
dropped. Seeds are set, so that both variants of a program see the same numbers.
"""

from __future__ import annotations

import concurrent.futures
import functools
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

SEED = 1
WARM_UP = 3
FEWEST_STEPS, MOST_STEPS = 10, 200
LEAST_SECONDS, MOST_SECONDS = 0.5, 8.0
MOST_SHAPES = 64  # where there are more, each step may have another one, and that is how the program runs
ROWS = 1024
SHORTEST_CONSUMER = 0.002

random.seed(SEED)
numpy.random.seed(SEED)
tf.keras.utils.set_random_seed(SEED)
sys.argv[1:] = []


def finish(times: Sequence[float] = (), outputs: Any = None, devices: Sequence[str] = (), **notes: Any) -> NoReturn:
    """Write what was measured, in seconds, and end the program: what comes after is not needed."""
    _write(times, _FIRST.get("outputs") if outputs is None else outputs, devices, notes)
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)


def _write(times: Sequence[float], outputs: Any, devices: Sequence[str], notes: dict[str, Any]) -> None:
    array = None if outputs is None else numpy.asarray(outputs)
    result = {
        "steps": [float(t) for t in times],
        "outputs": None if array is None else array.tolist(),
        "dtype": None if array is None else str(array.dtype),
        "devices": list(devices),
        "notes": {**notes, **_TOLD, "gpus": [device.name for device in tf.config.list_logical_devices("GPU")]},
    }
    if RESULT:
        with open(RESULT, "w") as file:
            json.dump(result, file)
        return
    if result["steps"]:
        print(f"median of {len(times)} steps: {statistics.median(times) * 1000:.4g} ms")
    print({key: value for key, value in result.items() if key not in ("steps", "dtype") and value})


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


class _Clock:
    """Takes the times of steps until there are enough of them."""

    def __init__(self, samples: int = 1) -> None:
        self.samples, self.seen = samples, 0
        self.times: list[float] = []
        self.began: float | None = None
        self.last: float | None = None
        self.dropped: list[float] = []

    def tick(self, counts: bool = True) -> bool:
        """A step is over. Those that do not count are kept apart: the first ones, and those that trace a new shape."""
        synchronize()
        now = time.perf_counter()
        if self.last is not None:
            self.seen += counts
            if counts and self.seen > WARM_UP:
                self.began = self.last if self.began is None else self.began
                self.times.append((now - self.last) / self.samples)
            else:
                self.dropped.append(now - self.last)
        self.last = time.perf_counter()
        return self.is_done(now)

    @property
    def once(self) -> float:
        """Seconds that the steps before took longer than later ones: tracing, compiling, looking for kernels."""
        usual = self.samples * statistics.median(self.times) if self.times else 0.0
        return sum(max(0.0, seconds - usual) for seconds in self.dropped)

    def is_done(self, now: float) -> bool:
        if self.began is None:
            return False
        spent, count = now - self.began, len(self.times)
        return count >= MOST_STEPS or spent > MOST_SECONDS or (count >= FEWEST_STEPS and spent > LEAST_SECONDS)


def steps(iterable: Iterable[Any], samples: int = 1, reads: bool = False) -> Iterator[Any]:
    """Give a loop its elements again and again, and end the program when enough turns were timed.

    Arguments:
        samples: how many one turn handles; times are per sample.
        reads: whether getting the next element is part of what is measured; else a few are kept and repeated.
    """
    clock = _Clock(samples)
    known: set[Any] = set()
    is_known = True
    for element, is_first in _endless(iterable, reads):
        if clock.tick(is_known and not is_first):
            finish(clock.times, once=clock.once)
        shapes = _shapes(element)
        is_known = shapes in known or len(known) >= MOST_SHAPES
        known.add(shapes)
        yield element


def _shapes(element: Any) -> Any:
    """What a step that is traced for each kind of arguments is traced for."""
    parts = tf.nest.flatten(element)
    return tuple((tuple(part.shape), str(part.dtype)) if hasattr(part, "shape") else type(part) for part in parts)


def turn(samples: int = 1) -> bool:
    """The condition of a `while` loop whose turns are timed."""
    clock = _TURNS.setdefault(samples, _Clock(samples))
    if clock.tick():
        finish(clock.times)
    return True


_TURNS: dict[int, _Clock] = {}


def endless(iterable: Any) -> Any:
    """What an iterator reads, again and again."""
    return iterable.repeat() if hasattr(iterable, "repeat") else itertools.cycle(iterable)


def few(iterable: Iterable[Any]) -> Iterator[Any]:
    """The first elements of a loop that only lies on the way to what is looked at."""
    return itertools.islice(iterable, 3)


def _endless(iterable: Iterable[Any], reads: bool) -> Iterator[tuple[Any, bool]]:
    if reads and hasattr(iterable, "repeat"):
        iterable = iterable.repeat()
    if reads and iter(iterable) is not iterable:
        for _ in itertools.count():
            for index, element in enumerate(iterable):
                yield element, index == 0
    else:
        kept = list(itertools.islice(iterable, 8))
        if not kept:
            raise ValueError("the loop has no element to run over")
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
        _lengthen(kwargs)
        kwargs.update(epochs=10_000, verbose=0, callbacks=[_clock_of_batches(samples)])
        method(**kwargs)

    return measured_fit


def _lengthen(kwargs: dict[str, Any]) -> None:
    """Epochs of many steps: the first step of an epoch is not measured."""
    data = kwargs.get("x")
    if isinstance(data, tf.data.Dataset):
        kwargs["x"] = data.repeat()
        kwargs["steps_per_epoch"] = MOST_STEPS + WARM_UP + 1
        return
    for name in ("x", "y", "sample_weight"):
        if isinstance(kwargs.get(name), (numpy.ndarray, tf.Tensor)):
            rows = len(kwargs[name])
            kwargs[name] = numpy.concatenate([numpy.asarray(kwargs[name])] * max(1, -(-ROWS // max(rows, 1))))


def _clock_of_batches(samples: int) -> Any:
    clock = _Clock(samples)

    class Clock(tf.keras.callbacks.Callback):
        def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
            if clock.tick(batch != 0):
                finish(clock.times)

    return Clock()


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
    produced = statistics.median(clock.times)
    finish(clock.times, producer=max(produced, SHORTEST_CONSUMER))


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
    """Stand for a function that TensorFlow traces: at its first call, run it eagerly, with gradients, and traced.

    What tracing raises ends the program, as it would end `fit`. Where the first call is traced already, it is the
    trace; where it is eager, `tf.function` traces the same call.
    """

    known = inspect.signature(function).parameters
    takes_any = any(one.kind is inspect.Parameter.VAR_KEYWORD for one in known.values())

    @functools.wraps(function)
    def examined(*args: Any, **kwargs: Any) -> NoReturn:
        # Keras 2 gives `training` to whatever takes any keyword.
        kwargs = {name: value for name, value in kwargs.items() if takes_any or name in known}
        # Keras and TensorFlow keep what they trace per thread: another thread is outside of it.
        outside = concurrent.futures.ThreadPoolExecutor(1).submit
        arguments, times, outputs, notes = outside(_run_eagerly, function, args, kwargs).result()
        if notes["eager"] != "works" and isinstance(args[0], tf.keras.layers.Layer):
            # While Keras builds a model its variables have no values yet: take a layer like it.
            fresh = outside(_built_like, args[0], args[1]).result()
            arguments, times, outputs, notes = outside(_run_eagerly, function, (fresh, *args[1:]), kwargs).result()
        _write(times, outputs, (), notes)
        try:
            if any(_is_symbolic(part) for part in tf.nest.flatten((args, kwargs))):
                function(*args, **kwargs)
            else:
                _trace(function, arguments)
        except Exception:
            _end_with_error()
        finish(times, outputs, **notes, traced="works")

    return examined


def _end_with_error() -> NoReturn:
    """End the program as an error does that nobody catches: Keras catches some, and tries again."""
    traceback.print_exc()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(1)


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
