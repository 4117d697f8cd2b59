"""What the programs of `tflint-gpu verify` measure with; a copy lies next to each of them.

A program is a piece of your own code in which a few calls of this module were put: around the loop, the call or the
pipeline that a finding is about. They run it for a while, take the times, write them, and end the program there. Run
by hand (`python program.py`) it prints what it would have written.

Times are those of blocks of steps: the device's work is finished (a result is fetched) when a block begins and when it
ends, and within it the program goes on as it always does. Steps are dropped until every shape was seen and they no
longer become faster. Seeds are set, so that both variants of a program see the same numbers.

While `verify` compares two programs on a CPU, both live at the same time and alternate, a block each, so that what
else the machine does meets both. TensorFlow is imported once for several rounds: each is a fork of the process at the
end of that import, before anything of the program ran.
"""

from __future__ import annotations

import itertools
import statistics
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any

# Before TensorFlow, which reads the level of its log when it is imported.
from tflint_outcome import EmptyData, keep_first
from tflint_outcome import finish as finish
from tflint_outcome import note_early as note_early

# isort: split
import numpy
import tensorflow as tf
from tflint_building import build_outside as build_outside
from tflint_clock import Clock
from tflint_clock import expect as expect
from tflint_clock import passed as passed
from tflint_data import keras_dataset as keras_dataset
from tflint_data import random_tensor as random_tensor
from tflint_data import synthetic as synthetic
from tflint_devices import available as available
from tflint_devices import grow_memory as grow_memory
from tflint_devices import log_devices as log_devices
from tflint_devices import placed as placed
from tflint_devices import placed_strategy as placed_strategy
from tflint_examine import examine as examine
from tflint_examine import reached as reached
from tflint_examine import uncaught as uncaught
from tflint_examine import unchanged as unchanged
from tflint_whole import LONGEST_WAIT, Whole
from tflint_whole import around as around
from tflint_whole import whole_run as whole_run

STEPS_OF_EPOCH = 200
MOST_SHAPES = 64  # where there are more, each step may have another one, and that is how the program runs
ROWS = 1024
SHORTEST_CONSUMER = 0.002


def steps(iterable: Iterable[Any], samples: int = 1, reads: bool = False) -> Iterator[Any]:
    """Give a loop its elements again and again, and end the program when enough iterations were timed.

    A loop that is left before that, as an episode is when it is over, goes on counting when it is run again.

    Arguments:
        samples: how many one iteration handles; times are per sample.
        reads: whether getting the next element is part of what is measured; else a few are kept and repeated, but all
            of a range, whose numbers say how far the program is.
    """
    frame = sys._getframe(1)
    place = frame.f_code, frame.f_lineno
    if place not in _LOOPS:
        _LOOPS[place] = Clock(samples), set()
    return _steps(iterable, reads, *_LOOPS[place])


def _steps(iterable: Iterable[Any], reads: bool, clock: Clock, known: set[Any]) -> Iterator[Any]:
    kept, data = 0, iterable
    if not reads:
        iterable = iterable if isinstance(iterable, range) else list(itertools.islice(iterable, KEPT))
        kept = min(len(iterable), KEPT)
        if not kept:
            raise EmptyData("the loop iterates over nothing")
    clock.resume(_until_all_shapes(itertools.islice(iterable, kept)) if kept else 0)
    counts = is_new = False
    for element, is_first in _endless(iterable, reads):
        was_new = is_new
        shapes = _shapes(element)
        is_new = shapes not in known and len(known) < MOST_SHAPES
        known.add(shapes)
        if clock.tick(counts, cut=is_new or is_first, fresh=was_new):
            break
        clock.alternates = kept if kept and len(known) > 1 else 1
        counts = not (is_new or is_first)
        clock.since_new = 0 if is_new else clock.since_new
        yield element
    yield from _in_the_end(Whole(data, kept or KEPT, _shapes), clock, known)


def _in_the_end(whole: Whole, clock: Clock, known: set[Any]) -> Iterator[Any]:
    """Steps of other shapes; whatever comes of them, what was measured is written then."""

    is_first = threading.Lock()

    def finish(*error: Any) -> None:
        with is_first:
            clock.finish(**whole.note(clock.fresh, clock.usual, clock.samples))

    sys.excepthook = finish
    timer = threading.Timer(LONGEST_WAIT, finish)
    timer.daemon = True
    timer.start()
    try:
        yield from whole.unseen(known, clock.fresh)
    finally:
        finish()


_LOOPS: dict[Any, tuple[Clock, set[Any]]] = {}
KEPT = 8


def _shapes(element: Any) -> Any:
    """What a step that is traced for each kind of arguments is traced for."""
    parts = tf.nest.flatten(element)
    return tuple((tuple(part.shape), str(part.dtype)) if hasattr(part, "shape") else type(part) for part in parts)


def _until_all_shapes(elements: Iterable[Any]) -> int:
    """How many elements it takes to see all shapes: slow steps are not repeated for those that show nothing new."""
    shapes = [_shapes(element) for element in elements]
    return 1 + max(map(shapes.index, shapes))


def iterates(goes_on: Any = True, samples: int = 1) -> bool:
    """The condition of a `while` loop whose iterations are timed.

    Arguments:
        goes_on: what the program says; a loop that is left is counted on when it is run again, in blocks that hold
            all that happens from one time to the next.
        samples: as for `steps`.
    """
    if samples not in _WHILE:
        _WHILE[samples] = Clock(samples)
    clock = _WHILE[samples]
    if clock.tick() if goes_on else clock.leave():
        clock.finish()
    return bool(goes_on)


_WHILE: dict[int, Clock] = {}


def lasting(iterable: Iterable[Any]) -> Iterator[Any]:
    """What the loop around a measured one goes over, from the beginning again when it is over."""
    has_elements = True
    while has_elements:
        has_elements = False
        for element in iterable:
            has_elements = True
            yield element


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


def again(condition: Any) -> Any:
    """The condition of a `while` loop that only lies on the way: it is left after some iterations, all together."""
    frame = sys._getframe(1)
    place = frame.f_code, frame.f_lineno
    _PASSED[place] = _PASSED.get(place, 0) + 1
    return condition if _PASSED[place] <= _MOST_PASSED else False


_PASSED: dict[Any, int] = {}
_MOST_PASSED = 100  # an agent's memory holds a batch then


def _endless(iterable: Iterable[Any], reads: bool) -> Iterator[tuple[Any, bool]]:
    if reads and hasattr(iterable, "repeat"):
        iterable = iterable.repeat()
    if reads and iter(iterable) is not iterable:
        for _ in itertools.count():
            index = -1
            for index, element in enumerate(iterable):
                yield element, index == 0
            if index < 0:
                raise EmptyData("the loop iterates over nothing")
    else:
        kept = iterable if isinstance(iterable, range) else list(itertools.islice(iterable, KEPT))
        if not kept:
            raise EmptyData("the loop iterates over nothing")
        for index in itertools.count():
            yield kept[index % len(kept)], index == 0


def eager(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function or model as it is; what it computes first is kept."""
    return lambda *args, **kwargs: keep_first(function(*args, **kwargs))


def traced(function: Callable[..., Any], **options: Any) -> Any:
    """The function or model under `tf.function` with some options, the same object for each call.

    A model gets a list of texts or numbers as a tensor, as `predict` of Keras 2 hands it on.
    """
    key = (id(getattr(function, "__self__", None)), id(getattr(function, "__func__", function)))
    if key not in _TRACED:
        run = eager(tf.function(function, **options))
        is_model = hasattr(function, "predict_on_batch")
        _TRACED[key] = (function, (lambda *args, **kwargs: run(*map(_array, args), **kwargs)) if is_model else run)
    return _TRACED[key][1]


def _array(value: Any) -> Any:
    is_list = isinstance(value, list) and all(isinstance(v, (str, int, float)) for v in tf.nest.flatten(value))
    return tf.constant(value) if is_list else value


_TRACED: dict[Any, Any] = {}


def handed(*values: Any) -> Any:
    """What a traced function is to get for values of Python's: it would be traced again for each new number.

    So numbers with a point, and arrays of twice their precision, become tensors of the type that they take in a
    calculation with weights, and so do lists of many numbers. What is true or false, and whole numbers as long as they
    are few, are what they were.
    """
    return tf.nest.map_structure(_handed, tuple(map(_rows, values)))


def _rows(value: Any) -> Any:
    """A list of many numbers as an array."""
    numbers = tf.nest.flatten(value) if isinstance(value, list) else []
    is_long = len(numbers) > _FEW and all(isinstance(n, (int, float, numpy.number)) for n in numbers)
    return tf.constant(value) if is_long else value


def number(value: Any) -> Any:
    """What is only calculated with, as TensorFlow takes it eagerly: an array has the type of what it meets there."""
    is_other = isinstance(value, numpy.ndarray) and value.dtype.kind in "biu"
    return tf.constant(value, tf.keras.backend.floatx()) if is_other else value


_WHOLE: set[int] = set()
_FEW = 16


def _handed(value: Any) -> Any:
    if isinstance(value, (bool, numpy.bool_)):
        return bool(value)
    if isinstance(value, (float, numpy.floating)):
        return tf.constant(value, tf.keras.backend.floatx())
    if isinstance(value, (int, numpy.integer)):
        _WHOLE.add(int(value))
        return int(value) if len(_WHOLE) <= _FEW else tf.constant(value)
    is_double = isinstance(value, numpy.ndarray) and value.dtype == numpy.float64
    return tf.constant(value, tf.keras.backend.floatx()) if is_double else value


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
    names = [name for name in ("x", "y", "sample_weight") if kwargs.get(name) is not None]
    parts = [part for name in names for part in tf.nest.flatten(kwargs[name])]
    if parts and all(isinstance(part, (numpy.ndarray, tf.Tensor)) for part in parts):
        times = max(1, -(-ROWS // max(len(parts[0]), 1)))
        for name in names:
            kwargs[name] = tf.nest.map_structure(
                lambda part: numpy.concatenate([numpy.asarray(part)] * times), kwargs[name]
            )


def _must_have_rows(data: Any) -> None:
    if isinstance(data, tf.data.Dataset):
        is_empty = not any(True for _ in data.take(1))
    else:
        is_empty = isinstance(data, (numpy.ndarray, tf.Tensor)) and not len(data)
    if is_empty:
        raise EmptyData("`fit` is given no data")


def _clock_of_batches(samples: int, data: Any) -> Any:
    clock = Clock(samples, _least(data))

    class Batches(tf.keras.callbacks.Callback):
        def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
            count = (self.params or {}).get("steps")
            if clock.tick(counts=batch != 0 or count == 1, cut=batch + 1 == count):
                clock.finish()

    return Batches()


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


def consume(dataset: Any, optimized: bool = True) -> None:
    """Read a pipeline with a consumer that takes a set time per element, as a device does, and end the program.

    The time is `CONSUMER_SECONDS`; where that is None, it measures how long the pipeline takes for an element.

    Arguments:
        optimized: False turns off tf.data's default optimizations, and the prefetch that newer versions inject.
    """
    if not optimized:
        options = tf.data.Options()
        options.experimental_optimization.apply_default_optimizations = False
        dataset = dataset.with_options(options)
    clock = Clock()
    for element in dataset.repeat():
        keep_first(element)
        if CONSUMER_SECONDS is not None:
            time.sleep(CONSUMER_SECONDS)
        if clock.tick():
            break
    if not clock.iterations:
        raise EmptyData("the dataset has no element")
    clock.finish(producer=max(statistics.median(clock.blocks or clock.warm), SHORTEST_CONSUMER))
