"""Runs a function of your code eagerly and traced, and tells what each does; see `tflint_measure`."""

from __future__ import annotations

import atexit
import concurrent.futures
import functools
import gc
import inspect
import os
import sys
import time
import traceback
from collections.abc import Callable
from typing import Any, NoReturn

from tflint_outcome import finish, synchronize, write

# isort: split
import numpy
import tensorflow as tf
from tflint_data import random_tensor

_CALLS_BEFORE, _CALLS_TIMED = 5, 10


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
        self.takes_any = any(parameter.kind is inspect.Parameter.VAR_KEYWORD for parameter in self.parameters.values())
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
        write(self.times, self.outputs, (), self.notes)

    def _finish(self, **notes: Any) -> None:
        finish(self.times, self.outputs, **self.notes, **notes)

    def _end(self) -> None:
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
        write(self.times, self.outputs, (), {**self.notes, "raised_in": where})
        end_with_error(error)


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
    models = (
        get_object
        for get_object in gc.get_objects()
        if isinstance(get_object, tf.keras.Model) and get_object is not layer
    )
    for model in models:
        if any(flatten_layer is layer for flatten_layer in model._flatten_layers()):
            shapes = [tensor.shape for tensor in getattr(model, "inputs", None) or ()]
            # A Sequential model whose building failed knows its input layer only.
            shapes = shapes or [
                flatten_layer.batch_shape
                for flatten_layer in model._flatten_layers()
                if hasattr(flatten_layer, "batch_shape")
            ]
            rows = [random_tensor([4, *(side or 4 for side in shape[1:])]) for shape in shapes]
            model.compile("sgd", lambda truth, predicted: tf.reduce_mean(predicted))
            model.fit(rows if len(rows) > 1 else rows[0], tf.zeros((4, 1)), batch_size=4, verbose=0)
            return


def end_with_error(error: BaseException) -> NoReturn:
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
            end_with_error(error)

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
        for _ in range(_CALLS_BEFORE + _CALLS_TIMED):
            began = time.perf_counter()
            function(*arguments[0], **arguments[1])
            synchronize()
            times.append(time.perf_counter() - began)
    except Exception as error:
        return arguments, [], None, {"eager": f"raises {type(error).__name__}: {error}"}
    first = tf.nest.flatten(result)[0]
    outputs = numpy.asarray(first) if tf.is_tensor(first) or isinstance(first, numpy.ndarray) else None
    return arguments, times[_CALLS_BEFORE:], outputs, {"eager": "works", "gradient": "None" if lost else "there"}


def _trace(function: Callable[..., Any], arguments: Any) -> None:
    flat = tf.nest.flatten(arguments)
    is_tensor = [isinstance(part, tf.Tensor) for part in flat]

    @tf.function
    def traced_call(*tensors: Any) -> Any:
        given = iter(tensors)
        parts = [next(given) if given_as_tensor else part for part, given_as_tensor in zip(flat, is_tensor)]
        args, kwargs = tf.nest.pack_sequence_as(arguments, parts)
        return tf.nest.map_structure(lambda part: part if tf.is_tensor(part) else 0, function(*args, **kwargs))

    traced_call(*(part for part, given_as_tensor in zip(flat, is_tensor) if given_as_tensor))


def _concrete(value: Any) -> Any:
    """A tensor with values for one that has none; everything else as it is."""
    if not _is_symbolic(value):
        return value
    return random_tensor([4 if side is None else int(side) for side in value.shape], value.dtype)


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
