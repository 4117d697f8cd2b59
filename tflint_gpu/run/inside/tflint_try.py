"""One setting of a training changed from outside: `tflint-gpu run --try` runs the program with it and without it.

A module is changed when its import has ended, so that the program itself says when and how TensorFlow starts. Without a
setting nothing is changed, and the same is told: batch sizes, and the loss after how many samples.
"""

from __future__ import annotations

import functools
import importlib.machinery
import inspect
import os
import sys
from typing import TYPE_CHECKING, Any, Callable

if TYPE_CHECKING or __package__:
    from tflint_gpu.run.inside.tflint_frames import is_own
else:
    from tflint_frames import is_own

VARIABLE = "TFLINT_GPU_TRY"
Tell = Callable[[str, Any], None]
_KERAS = ("keras", "tf_keras")


def begin(tell: Tell) -> None:
    """Change what the environment asks for, as soon as it is imported.

    Arguments:
        tell: gets "changed" for each change, "batch" with a size, and "loss" with samples and loss.
    """
    name, _, value = os.environ.pop(VARIABLE).partition("=")
    sys.meta_path.insert(0, _AfterImport(Changes(name, value, tell).of))


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
    """

    def __init__(self, name: str, value: str, tell: Tell) -> None:
        self.name = name
        self.value = value
        self.tell = tell
        self.samples = 0
        self.batch = 0

    def of(self, module: str, imported: Any) -> None:
        """Change a module that has been imported."""
        if module == "tensorflow":
            dataset = imported.data.Dataset
            for name, change in (("batch", self._batch), ("map", self._map), ("__iter__", self._iterate)):
                self._wrap(dataset, name, change)
            self._wrap(imported, "function", self._function)
            return
        self._wrap(imported.Model, "compile", self._compile)
        self._wrap(imported.Model, "fit", functools.partial(self._fit, imported))
        if self.name == "mixed_precision":
            imported.mixed_precision.set_global_policy(self.value or "mixed_float16")
            self.tell("changed", 1)

    def _wrap(self, owner: Any, name: str, change: Callable[[Any, Any], None]) -> None:
        """Let the arguments of a function be changed, where the user's own code calls it."""
        function = getattr(owner, name)
        signature = inspect.signature(function)

        @functools.wraps(function)
        def changed(*args: Any, **keywords: Any) -> Any:
            caller = sys._getframe(1).f_code
            if not is_own(caller.co_filename) and "dataset_from" not in caller.co_name:
                return function(*args, **keywords)
            try:
                bound = signature.bind(*args, **keywords)
            except TypeError:
                return function(*args, **keywords)
            change(bound.arguments, bound)
            return function(*bound.args, **bound.kwargs)

        setattr(owner, name, changed)

    def _set(self, arguments: Any, name: str, value: Any) -> None:
        if arguments.get(name) != value:
            arguments[name] = value
            self.tell("changed", 1)

    def _batch(self, arguments: Any, _: Any) -> None:
        size = arguments.get("batch_size")
        if isinstance(size, int):
            if self.name == "batch":
                self._set(arguments, "batch_size", int(self.value))
            self._has_batches(arguments["batch_size"])

    def _has_batches(self, size: int) -> None:
        self.batch = size
        self.tell("batch", size)

    def _map(self, arguments: Any, _: Any) -> None:
        if self.name == "workers":
            self._set(arguments, "num_parallel_calls", int(self.value))

    def _iterate(self, arguments: Any, bound: Any) -> None:
        if self.name == "prefetch":
            self._set(arguments, "self", arguments["self"].prefetch(-1))

    def _function(self, arguments: Any, _: Any) -> None:
        if self.name == "xla" and arguments.get("jit_compile") is None:
            self._set(arguments, "jit_compile", True)

    def _compile(self, arguments: Any, _: Any) -> None:
        if self.name == "xla":
            self._set(arguments, "jit_compile", True)

    def _fit(self, keras: Any, arguments: Any, bound: Any) -> None:
        x = arguments.get("x")
        is_array = hasattr(x, "shape") or isinstance(x, (list, tuple, dict))
        if is_array:
            if self.name == "batch":
                self._set(arguments, "batch_size", int(self.value))
            self._has_batches(arguments.get("batch_size") or 32)
        elif self.name == "prefetch" and hasattr(x, "prefetch"):
            self._set(arguments, "x", x.prefetch(-1))
        elif self.name == "workers" and hasattr(x, "workers"):
            x.workers = int(self.value)
            self.tell("changed", 1)
        elif self.name == "workers" and "workers" in bound.signature.parameters and hasattr(x, "__getitem__"):
            self._set(arguments, "workers", int(self.value))
        given = arguments.get("callbacks") or []
        arguments["callbacks"] = [*(given if isinstance(given, (list, tuple)) else [given]), self._losses(keras)]

    def _losses(self, keras: Any) -> Any:
        changes = self

        class Losses(keras.callbacks.Callback):  # type: ignore[misc]
            async_safe = True

            def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
                changes.samples += changes.batch or 1
                changes.tell("loss", [changes.samples, float((logs or {}).get("loss", "nan"))])

        return Losses()
