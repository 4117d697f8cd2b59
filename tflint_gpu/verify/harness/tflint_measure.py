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
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any

# Before TensorFlow, which reads the level of its log when it is imported.
from tflint_outcome import (
    MEASURED,
    QUESTIONS,
    EmptyData,
    ask,
    finish,
    keep_first,
    keep_weights,
    synchronize,
)
from tflint_outcome import note_early as note_early

# isort: split
import numpy
import tensorflow as tf
from tflint_data import keras_dataset as keras_dataset
from tflint_data import random_tensor as random_tensor
from tflint_data import synthetic as synthetic
from tflint_devices import available as available
from tflint_devices import grow_memory as grow_memory
from tflint_devices import log_devices as log_devices
from tflint_devices import placed as placed
from tflint_devices import placed_strategy as placed_strategy
from tflint_examine import examine as examine
from tflint_examine import uncaught as uncaught

WARM_UP, FEWEST_WARM = 5, 2  # the second where steps take so long that caches and branches do not matter
LEAST_FALL = 0.95  # of the steps before: as long as steps become faster than that, the program warms up
MOST_SECONDS_OF_WARM_UP, MOST_SECONDS_OF_SHAPES = 6.0, 20.0
BLOCK_SECONDS, MOST_SECONDS_OF_PASS = 0.05, 4.0
FEWEST_STEPS, STEPS_OF_EPOCH = 10, 200
FEWEST_BLOCKS, MOST_BLOCKS = 5, 40
LEAST_SECONDS, MOST_SECONDS = 1.0, 8.0
MOST_SHAPES = 64  # where there are more, each step may have another one, and that is how the program runs
COMPARED_ITERATION = 4  # three iterations are over then: what only tracing freezes shows in the second and third
ROWS = 1024
SHORTEST_CONSUMER = 0.002


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
        self.iterations = 0
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
        self.iterations += 1
        if self.iterations == COMPARED_ITERATION:
            keep_weights()
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
        """Between two blocks: wait until the next one may begin, or end."""
        if QUESTIONS:
            is_over = bool(ask("block") != "go")
        else:
            enough = len(self.blocks) >= FEWEST_BLOCKS and self.measuring > LEAST_SECONDS
            is_over = enough or len(self.blocks) >= MOST_BLOCKS or self.measuring > MOST_SECONDS
        self.last = time.perf_counter()
        MEASURED.setdefault("from", time.monotonic())
        return is_over

    def finish(self, **notes: Any) -> None:
        """End the program with the times of its blocks."""
        finish(self.times, blocks=self.blocks, once=self.once, **notes)

    @property
    def once(self) -> float:
        """Seconds that the steps before took longer than later ones: tracing, compiling, looking for kernels."""
        usual = self.samples * statistics.median(self.times) if self.times else statistics.median(self.warm or [0.0])
        return sum(max(0.0, seconds - usual) for seconds in (*self.warm, *self.dropped))


def steps(iterable: Iterable[Any], samples: int = 1, reads: bool = False) -> Iterator[Any]:
    """Give a loop its elements again and again, and end the program when enough iterations were timed.

    Arguments:
        samples: how many one iteration handles; times are per sample.
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


def iterates(samples: int = 1) -> bool:
    """The condition of a `while` loop whose iterations are timed."""
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


def eager(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function or model as it is; what it computes first is kept."""
    return lambda *args, **kwargs: keep_first(function(*args, **kwargs))


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
    clock = _Clock()
    for element in dataset.repeat():
        keep_first(element)
        if CONSUMER_SECONDS is not None:
            time.sleep(CONSUMER_SECONDS)
        if clock.tick():
            break
    if not clock.iterations:
        raise EmptyData("the dataset has no element")
    clock.finish(producer=max(statistics.median(clock.blocks or clock.warm), SHORTEST_CONSUMER))


def reached(hold: float = 0.0) -> None:
    """End the program here: the flagged statement ran without an exception."""
    synchronize()
    time.sleep(hold)
    finish()


def unchanged(name: str, before: Any, after: Any, method: Callable[..., Any]) -> None:
    """End the program after a statement that throws a dataset away: is the variable still the old dataset?"""
    element = [str(spec) for spec in tf.nest.flatten(after.element_spec)]
    if after is before:
        finish(wrong=f"after `{method}`, `{name}` is still the same {type(after).__name__}", elements=element)
    finish(elements=element)
