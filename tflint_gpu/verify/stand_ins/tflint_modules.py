"""Stands for modules that a piece of your code imports and that are not here, and for what would act elsewhere.

`tflint-gpu verify` lays a copy next to each program. Much code imports more than what is flagged needs: a module or a
name that is not there may be imported, and using it is the error that importing it would have been. What was stood for
is reported in the result.
"""

from __future__ import annotations

import ast
import builtins
import contextlib
import importlib
import inspect
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import FrameType, FunctionType, ModuleType
from typing import Any

import numpy
import tensorflow as tf
from tflint_outcome import tell

_PROGRAM = os.path.dirname(os.path.abspath(__file__)) + os.sep
_NEEDED = ("tensorflow", "keras", "tf_keras")  # what of them is not there decides with which version the code runs


class _Recorder(ModuleType):
    """A module that keeps a record of experiments elsewhere, and all that comes of it: nothing is recorded."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return _Recorder(f"{self.__name__}.{name}")

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        is_decorator = len(args) == 1 and not kwargs and isinstance(args[0], FunctionType)
        return args[0] if is_decorator else _Recorder(self.__name__)

    def __mro_entries__(self, bases: object) -> tuple[type, ...]:
        return (tf.keras.callbacks.Callback,)  # of what they give, only this is made for others to extend

    def __enter__(self) -> Any:
        return self

    def __exit__(self, *_: object) -> None:
        """There is nothing to close."""

    def __setitem__(self, name: Any, value: Any) -> None:
        """Nothing is kept."""

    def __getitem__(self, name: Any) -> Any:
        return _Recorder(f"{self.__name__}.{name}")

    def __iter__(self) -> Iterator[Any]:
        return iter(())


class _Recorders(MetaPathFinder, Loader):
    """Finds recorders where modules are looked for, those within them, too."""

    def __init__(self, names: Sequence[str]) -> None:
        self.names = names

    def find_spec(self, fullname: str, path: object = None, target: object = None) -> ModuleSpec | None:
        is_known = fullname.partition(".")[0] in self.names
        return ModuleSpec(fullname, self, is_package=True) if is_known else None

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return _Recorder(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        """There is nothing in it."""


def record_nothing(*names: str) -> None:
    """Stand for modules that keep a record of experiments elsewhere, which this one is none of."""
    sys.meta_path.insert(0, _Recorders(names))
    for name in names:
        tell(f"`{name}`, which records nothing")


def plain_bars() -> None:
    """Stand for `tqdm.notebook`, whose bars need a notebook around them."""
    with contextlib.suppress(ImportError):
        tqdm: Any = importlib.import_module("tqdm")
        sys.modules["tqdm.notebook"] = tqdm.std
        tqdm.tqdm_notebook, tqdm.tnrange = tqdm.std.tqdm, tqdm.std.trange
        tell("bars of text for `tqdm.notebook`")


class _Absent(ModuleType):
    """A module or name that is not there, and whatever is read of it: code may name it, and use nothing of it."""

    def __init__(self, name: str, error: ImportError) -> None:
        super().__init__(name)
        self.__dict__["error"] = error

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return _Absent(f"{self.__name__}.{name}", self.error)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if not _is_being_imported(sys._getframe(1)):
            self._refuse()
        if len(args) == 1 and not kwargs and isinstance(args[0], FunctionType):  # what it decorates is not what it was
            return lambda *args, **kwargs: self._refuse()
        return args[0] if len(args) == 1 and isinstance(args[0], type) else self

    def __getitem__(self, name: Any) -> Any:
        return self if _is_being_imported(sys._getframe(1)) else self._refuse()

    def __bool__(self) -> bool:
        return not _is_asked_by_the_program(sys._getframe(1)) or self._refuse()

    def __eq__(self, other: object) -> bool:
        return self is other or (_is_asked_by_the_program(sys._getframe(1)) and self._refuse())

    __hash__ = ModuleType.__hash__

    def __or__(self, other: Any) -> Any:
        return self  # `absent.Kind | None`, of annotations

    __ror__ = __or__

    def __mro_entries__(self, bases: object) -> tuple[type, ...]:
        return (type("Absent", (), {"__init__": lambda *args, **kwargs: self._refuse()}),)

    def __instancecheck__(self, instance: object) -> bool:
        return False

    def __subclasscheck__(self, subclass: type) -> bool:
        return False

    def _refuse(self) -> Any:
        error = self.error
        raise type(error)(f"{error}, and the program uses `{self.__name__}`", name=error.name) from None


def _is_being_imported(frame: FrameType) -> bool:
    """Whether a frame runs a file or a class that is imported, and not the program itself or a function."""
    is_function = bool(frame.f_code.co_flags & inspect.CO_OPTIMIZED)
    return not is_function and frame.f_globals.get("__name__") != "__main__"


def _is_asked_by_the_program(frame: FrameType) -> bool:
    """Whether a frame runs code of the program, which decides by what it asks; Python's own compares annotations."""
    return frame.f_code.co_filename.startswith(_PROGRAM) and not _is_being_imported(frame)


class _Partly:
    """A module from which a program imports names, one of which is not there."""

    def __init__(self, module: Any) -> None:
        self._module = module

    def __getattr__(self, name: str) -> Any:
        if hasattr(self._module, name):
            return getattr(self._module, name)
        module = self._module.__name__
        tell(f"{name} of {module}, which does not exist")
        return _Absent(f"{module}.{name}", ImportError(f"cannot import name '{name}' from '{module}'", name=module))


_import = builtins.__import__


def _import_what_is_there(
    name: str,
    globals: Mapping[str, Any] | None = None,
    locals: Mapping[str, Any] | None = None,
    fromlist: Sequence[str] | None = (),
    level: int = 0,
) -> Any:
    is_from_elsewhere = level or not str((globals or {}).get("__file__", "")).startswith(_PROGRAM) or _is_own(name)
    try:
        module = _import(name, globals, locals, fromlist or (), level)
    except Exception as error:
        if is_from_elsewhere or _is_about_keras(error) or _is_guarded(sys._getframe(1)):
            raise
        whole = name.partition(".")[0]
        tell(f"the module {whole}, which {_cannot(error)}")
        refused = error if isinstance(error, ImportError) else ImportError(f"{name} {_cannot(error)}", name=name)
        return _Absent(name if fromlist else whole, refused)
    if "scipy.misc" in (name, *(f"{name}.{each}" for each in fromlist or ())) and not is_from_elsewhere:
        _bring_back(sys.modules["scipy.misc"])
    missing = [each for each in fromlist or () if each != "*" and not hasattr(module, each)]
    if not missing or is_from_elsewhere or _is_guarded(sys._getframe(1)):
        return module
    return _Partly(module)


def _cannot(error: Exception) -> str:
    why = "" if isinstance(error, ImportError) else f" ({type(error).__name__}: {error})"
    return f"cannot be imported{why}"


def _is_about_keras(error: Exception) -> bool:
    """Whether a library cannot be imported because of the Keras that there is: with another one it may be."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    last = trace.tb_frame.f_code.co_filename if trace is not None else ""
    named = (getattr(error, "name", None) or "").partition(".")[0] in _NEEDED
    return named or "keras" in str(error) or any(f"{os.sep}{package}{os.sep}" in last for package in _NEEDED)


def _is_own(name: str) -> bool:
    """Whether a module is one of the program's own, or one that it cannot do without."""
    first = name.partition(".")[0]
    own = [path for path in sys.path if os.path.join(os.path.abspath(path or "."), "").startswith(_PROGRAM)]
    is_here = any(os.path.exists(os.path.join(path, each)) for path in own for each in (first, f"{first}.py"))
    return first in _NEEDED or is_here


def _is_guarded(frame: FrameType) -> bool:
    """Whether what a frame runs stands where an error is expected: in a `try`, or where one is suppressed."""
    try:
        with open(frame.f_code.co_filename, encoding="utf-8") as file:
            tree = ast.parse(file.read())
    except (OSError, SyntaxError, ValueError):
        return True
    blocks = [node.body for node in ast.walk(tree) if isinstance(node, ast.Try) and node.handlers]
    blocks += [node.body for node in ast.walk(tree) if isinstance(node, ast.With) and _suppresses(node)]
    rows = [[getattr(inner, "lineno", 0) for part in block for inner in ast.walk(part)] for block in blocks]
    return any(block[0].lineno <= frame.f_lineno <= max(known) for block, known in zip(blocks, rows))


def _suppresses(block: ast.With) -> bool:
    called = [node.func for item in block.items for node in ast.walk(item) if isinstance(node, ast.Call)]
    return any("suppress" in (getattr(function, "attr", ""), getattr(function, "id", "")) for function in called)


def _bring_back(misc: Any) -> None:
    """Give `scipy.misc` its functions on pictures again, made with Pillow: much code shows with them what it made."""
    for function in (toimage, imsave, imresize):
        if not hasattr(misc, function.__name__):
            setattr(misc, function.__name__, function)


def toimage(picture: Any, **options: Any) -> Any:
    """An image of numbers, whose least becomes black and whose largest white."""
    from PIL import Image

    tell("toimage of scipy.misc (before SciPy 1.3)")
    numbers = numpy.asarray(picture)
    if numbers.dtype != numpy.uint8:
        numbers = ((numbers - numbers.min()) / max(float(numbers.max() - numbers.min()), 1e-9) * 255).astype("uint8")
    return Image.fromarray(numbers)


def imsave(path: str, picture: Any, *args: Any) -> None:
    """Write an image."""
    toimage(picture).save(path)


def imresize(picture: Any, size: Any, *args: Any, **options: Any) -> Any:
    """An image of another size: a factor, or height and width."""
    tell("imresize of scipy.misc (before SciPy 1.3)")
    image = toimage(picture)
    height, width = size if isinstance(size, tuple) else (round(size * image.height), round(size * image.width))
    return numpy.asarray(image.resize((width, height)))


def left_out(function: Callable[..., Any]) -> Callable[..., Any]:
    """Stand for a function that starts other programs or loads weights: nothing happens."""
    return lambda *args, **kwargs: 0


def unshown(function: Callable[..., Any]) -> Callable[..., Any]:
    """Stand for a function that shows a window: there is none."""
    tell(f"`{getattr(function, '__name__', function)}`, which shows nothing")
    return lambda *args, **kwargs: 0


def refused(function: Callable[..., Any]) -> Callable[..., Any]:
    """Stand for a function that loads something from the network or starts another program: it says that it would."""

    def refuse(*args: Any, **kwargs: Any) -> Any:
        name = f"{getattr(function, '__module__', '')}.{getattr(function, '__qualname__', function)}"
        raise PermissionError(f"`{name}` would load data or start another program, which verify does not allow")

    return refuse


def measure() -> None:
    """From now on imports take no longer than they do."""
    builtins.__import__ = _import


builtins.__import__ = _import_what_is_there
