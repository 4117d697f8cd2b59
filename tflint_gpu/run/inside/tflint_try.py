"""One setting of a training changed from outside: `tflint-gpu run --try` runs the program with it and without it.

A module is changed when its import has ended, so that the program itself says when and how TensorFlow starts. Without a
setting nothing is changed, and the same is told: batch sizes, and the loss after how many samples.
"""

from __future__ import annotations

import contextlib
import functools
import importlib.machinery
import inspect
import json
import math
import os
import sys
import types
from typing import TYPE_CHECKING, Any, Callable

if TYPE_CHECKING or __package__:
    from tflint_gpu.run.inside.tflint_frames import is_own
else:
    from tflint_frames import is_own

VARIABLE = "TFLINT_GPU_TRY"
Tell = Callable[[str, Any], None]
Place = Any  # a file and a row
_KERAS = ("keras", "tf_keras")
_DEEPEST = 40


def begin(tell: Tell) -> None:
    """Change what the environment asks for, as soon as it is imported.

    Arguments:
        tell: gets "changed" for a change and "same" for what the program has already, "batch" with a size, "batched"
            with the file and row that say it, and "loss" with samples and loss.
    """
    name, value, batched = json.loads(os.environ.pop(VARIABLE))
    sys.meta_path.insert(0, _AfterImport(Changes(name, value, batched, tell).of))


class _AfterImport:
    """A finder that hands on modules once they are imported."""

    def __init__(self, change: Callable[[str, Any], None]) -> None:
        self.change = change

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        """The spec of the other finders, whose loader tells when it is done."""
        if name not in (*_KERAS, "tensorflow"):
            return None
        spec = importlib.machinery.PathFinder.find_spec(name, path, target)
        if spec is not None and spec.loader is not None:
            execute: Any = spec.loader.exec_module
            # An attribute of this loader alone: each module has its own.
            spec.loader.exec_module = functools.partial(self._execute, execute)  # type: ignore[method-assign]
        return spec

    def _execute(self, execute: Callable[[Any], None], module: Any) -> None:
        execute(module)
        self.change(module.__name__, module)


class Changes:
    """What a setting changes.

    Arguments:
        name: "xla", "mixed_precision", "batch", "workers" or "prefetch"; empty: nothing.
        value: of it; may be empty.
        batched: where the dataset that is trained on is batched; None: not known.
    """

    def __init__(self, name: str, value: str, batched: Place, tell: Tell) -> None:
        self.name = name
        self.value = value
        self.batched = batched
        self.tell = tell
        self.samples = 0
        self.batch = 0
        self.places: dict[int, Place] = {}  # of the calls that made datasets, which are kept alive below
        self.made: list[Any] = []

    def of(self, module: str, imported: Any) -> None:
        """Change a module that has been imported."""
        if module == "tensorflow":
            dataset = imported.data.Dataset
            for name, change in (("map", self._map), ("__iter__", self._iterate)):
                self._wrap(dataset, name, change)
            self._wrap_batch(dataset)
            self._wrap(imported, "function", self._function)
            return
        self._wrap_compile(imported.Model)
        self._wrap(imported.Model, "fit", functools.partial(self._fit, imported))
        if self.name == "mixed_precision":
            imported.mixed_precision.set_global_policy(self.value or "mixed_float16")
            self.tell("changed", True)

    def _wrap(self, owner: Any, name: str, change: Callable[[Any, Any], None]) -> None:
        """Let the arguments of a function be changed, where the user's own code calls it."""
        function = getattr(owner, name)
        signature = inspect.signature(function)

        @functools.wraps(function)
        def changed(*args: Any, **keywords: Any) -> Any:
            if not is_own(sys._getframe(1).f_code.co_filename):
                return function(*args, **keywords)
            try:
                bound = signature.bind(*args, **keywords)
            except TypeError:
                return function(*args, **keywords)
            change(bound.arguments, bound)
            return function(*bound.args, **bound.kwargs)

        setattr(owner, name, changed)

    def _wrap_batch(self, dataset: Any) -> None:
        """Remember which line batches a dataset, and change the size there."""
        function = dataset.batch

        @functools.wraps(function)
        def batch(source: Any, batch_size: Any, *args: Any, **keywords: Any) -> Any:
            place = _own_line(sys._getframe(1))
            if self.name == "batch" and place is not None and place == self.batched:
                batch_size = self._wanted(batch_size, int(self.value))
            made = function(source, batch_size, *args, **keywords)
            self.places[id(made)] = place
            self.made.append(made)
            return made

        dataset.batch = batch

    def _wrap_compile(self, model: Any) -> None:
        """Compile as the program does; XLA is switched afterwards, where Keras has not chosen the same by itself."""
        function = model.compile

        @functools.wraps(function)
        def compiled(model: Any, *args: Any, **keywords: Any) -> Any:
            result = function(model, *args, **keywords)
            if self.name == "xla" and is_own(sys._getframe(1).f_code.co_filename):
                wanted = self.value != "off"
                has_it = bool(getattr(model, "jit_compile", getattr(model, "_jit_compile", False)))
                if self._wanted(has_it, wanted) != has_it:
                    return function(model, *args, **{**keywords, "jit_compile": wanted})
            return result

        model.compile = compiled

    def _wanted(self, has: Any, wanted: Any) -> Any:
        """A setting's value, told as a change or as what the program has."""
        self.tell("same" if has == wanted else "changed", True)
        return wanted

    def _map(self, arguments: Any, _: Any) -> None:
        if self.name == "workers":
            arguments["num_parallel_calls"] = self._wanted(arguments.get("num_parallel_calls"), int(self.value))

    def _iterate(self, arguments: Any, bound: Any) -> None:
        self._knows(arguments["self"], 1)
        if self.name == "prefetch":
            arguments["self"] = self._wanted(None, arguments["self"].prefetch(-1))

    def _function(self, arguments: Any, _: Any) -> None:
        if self.name == "xla" and arguments.get("jit_compile") is None:
            arguments["jit_compile"] = self._wanted(None, self.value != "off")

    def _fit(self, keras: Any, arguments: Any, bound: Any) -> None:
        x = arguments.get("x")
        together = int(getattr(arguments["self"], "steps_per_execution", None) or 1)
        if hasattr(x, "shape") or isinstance(x, (list, tuple, dict)):
            if self.name == "batch":
                arguments["batch_size"] = self._wanted(arguments.get("batch_size") or 32, int(self.value))
            self._has_batches(int(arguments.get("batch_size") or 32) * together)
        else:
            self._knows(x, together)
        if self.name == "prefetch" and hasattr(x, "prefetch"):
            arguments["x"] = self._wanted(None, x.prefetch(-1))
        elif self.name == "workers" and hasattr(x, "workers"):
            x.workers = self._wanted(x.workers, int(self.value))
        elif self.name == "workers" and "workers" in bound.signature.parameters and hasattr(x, "__getitem__"):
            arguments["workers"] = self._wanted(arguments.get("workers"), int(self.value))
        self._follow(keras, arguments)

    def _knows(self, dataset: Any, together: int) -> None:
        """Tell the size and the line of the batches of a dataset that is trained on: the outermost that it has."""
        for _ in range(_DEEPEST):
            size = getattr(dataset, "_batch_size", None)
            if size is not None:
                with contextlib.suppress(Exception):  # a size that is computed in a graph
                    self._has_batches(int(size) * together)
                if self.places.get(id(dataset)) is not None:
                    self.tell("batched", self.places[id(dataset)])
                return
            dataset = getattr(dataset, "_input_dataset", None)
            if dataset is None:
                return

    def _has_batches(self, size: int) -> None:
        self.batch = size
        self.tell("batch", size)

    def _follow(self, keras: Any, arguments: Any) -> None:
        """Have the loss told."""
        given = arguments.get("callbacks")
        if hasattr(given, "append") and hasattr(given, "callbacks"):  # a list of Keras's own kind
            given.append(self._losses(keras))
            return
        listed = list(given) if isinstance(given, (list, tuple)) else [] if given is None else [given]
        arguments["callbacks"] = [*listed, self._losses(keras)]

    def _losses(self, keras: Any) -> Any:
        changes = self

        class Losses(keras.callbacks.Callback):  # type: ignore[misc]
            async_safe = True

            def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
                changes.samples += changes.batch or 1
                with contextlib.suppress(TypeError, ValueError):  # a loss of several numbers, or none
                    loss = float((logs or {})["loss"]) if "loss" in (logs or {}) else math.nan
                    if math.isfinite(loss):
                        changes.tell("loss", [changes.samples, loss])

        return Losses()


def _own_line(frame: types.FrameType | None) -> Place:
    """The innermost line of the user's own code; None: there is none."""
    for _ in range(_DEEPEST):
        if frame is None:
            return None
        if is_own(frame.f_code.co_filename):
            return [frame.f_code.co_filename, frame.f_lineno]
        frame = frame.f_back
    return None
