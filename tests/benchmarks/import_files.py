"""Imports Python files of the working folder, each in a separate process that has TensorFlow loaded already.

    python tests/benchmarks/import_files.py SECONDS FILE [FILE ...]

Prints one line of JSON: for each file what its import came to. `error` is the exception that it raised, "" for none,
`at` the top-level statement that raised it (its first line), `names` the public names of the module. The limit counts
processor time. Keras's data sets are small arrays from a seed, because nothing is downloaded; packages that are not installed
are stand-ins, so that what comes after their import runs. `fix_all.py` runs it.
"""

from __future__ import annotations

import ast
import contextlib
import importlib.util
import json
import os
import re
import resource
import signal
import sys
import time
from abc import ABCMeta
from collections.abc import Callable, MutableSequence, Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import FrameType, ModuleType, TracebackType
from typing import Any
from unittest.mock import MagicMock

__all__: list[str] = []

_PLACES = re.compile(r"0x[0-9a-f]{6,}|(?<=, line )\d+")
_LOADED = "matplotlib.pyplot pandas scipy.stats sklearn skimage.transform cv2 PIL.Image tf_keras tensorflow_probability".split()
_IMAGES = {"mnist": (28, 28), "fashion_mnist": (28, 28), "cifar10": (32, 32, 3), "cifar100": (32, 32, 3)}


class _TooLong(BaseException):
    """The limit is reached. No program catches it as an `Exception`."""


class _StandInType(ABCMeta):
    """Every attribute of a class that stands in for another is one, too: `nn` and `Module` of `torch.nn.Module`."""

    def __getattr__(cls, name: str) -> object:
        if name.startswith("__"):
            raise AttributeError(name)
        return _stand_in(name, cls.__module__)


def _stand_in(name: str, module: str) -> _StandInType:
    return _StandInType(name, (MagicMock,), {"__module__": module})


class _StandInModule(ModuleType):
    """Every name of a package that is not there is a class that can be called, derived from and asked for anything."""

    __path__: MutableSequence[str] = []

    def __getattr__(self, name: str) -> object:
        if name.startswith("__"):
            raise AttributeError(name)
        made = _stand_in(name, self.__name__)
        setattr(self, name, made)
        return made


class _StandIns(MetaPathFinder, Loader):
    """Finds what no other finder does: packages that are not installed and that files of a folder import."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.roots = set[str]()

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None, /
    ) -> ModuleSpec | None:
        root = fullname.partition(".")[0]
        if path is None and self._is_asked_by_project():
            self.roots.add(root)
        return ModuleSpec(fullname, self, is_package=True) if root in self.roots else None

    def _is_asked_by_project(self) -> bool:
        frame: FrameType | None = sys._getframe()
        while frame and (frame.f_code.co_filename == __file__ or "importlib" in frame.f_code.co_filename):
            frame = frame.f_back
        return frame is not None and Path(frame.f_code.co_filename).absolute().is_relative_to(self.home)

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return _StandInModule(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        """Do nothing: there is no code."""


def main() -> None:
    """Import them one by one."""
    import tensorflow as tf  # loaded once, as the others, for all of the processes that are forked

    for name in _LOADED:
        with contextlib.suppress(ImportError):
            importlib.import_module(name)
    _shrink_data(tf)
    limit, *files = sys.argv[1:]
    print(json.dumps({file: _imported(Path(file), int(limit)) for file in files}))


def _shrink_data(tf: Any) -> None:
    import numpy as np

    def given(shape: tuple[int, ...], classes: int, kind: str) -> Callable[..., Any]:
        def load_data(*_: object, **__: object) -> Any:
            random = np.random.default_rng(0)

            def part(count: int) -> Any:
                labels = random.integers(0, classes, (count, 1) if len(shape) == 3 else count)
                return (random.random((count, *shape)) * 255).astype(kind), labels.astype("uint8")

            return part(512), part(256)

        return load_data

    for name, shape in _IMAGES.items():
        classes = 100 if name == "cifar100" else 10
        getattr(tf.keras.datasets, name).load_data = given(shape, classes, "uint8")
    tf.keras.datasets.boston_housing.load_data = given((13,), 50, "float64")

    def load_texts(*_: object, num_words: int = 5000, **__: object) -> Any:
        random = np.random.default_rng(0)
        texts = np.empty(512, object)
        texts[:] = [random.integers(1, num_words or 5000, 20 + n % 80).tolist() for n in range(512)]
        labels = random.integers(0, 2, 512)
        return (texts[:256], labels[:256]), (texts[256:], labels[256:])

    tf.keras.datasets.imdb.load_data = load_texts
    tf.keras.datasets.reuters.load_data = load_texts


def _imported(path: Path, limit: int) -> dict[str, object]:
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.setsid()
        os.close(reading)
        _import(path, writing, limit)
    os.close(writing)
    end = time.monotonic() + 5 * limit + 10  # for one that waits
    while os.waitpid(child, os.WNOHANG) == (0, 0):
        if time.monotonic() > end:
            os.killpg(child, signal.SIGKILL)
            os.waitpid(child, 0)
            os.close(reading)
            return {"error": "takes too long", "at": "", "names": []}
        time.sleep(0.02)
    with os.fdopen(reading) as answers:
        answer = answers.read()
    return dict(json.loads(answer)) if answer else {"error": "the process ended", "at": "", "names": []}


def _stop(_number: int, frame: FrameType | None) -> None:
    raise _TooLong


def _import(path: Path, writing: int, limit: int) -> None:
    """In the child: import the file under its own name, as a neighbour would, and say how that went."""
    nothing = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(nothing, descriptor)
    home = Path.cwd()
    folders = [parent for parent in path.resolve().parents if parent.is_relative_to(home)]
    sys.path[:0] = map(str, folders)
    sys.meta_path.append(_StandIns(home))
    sys.argv = [str(path)]
    os.chdir(path.parent)
    signal.signal(signal.SIGXCPU, _stop)
    used = resource.getrusage(resource.RUSAGE_SELF)
    limit += int(used.ru_utime + used.ru_stime) + 1
    resource.setrlimit(resource.RLIMIT_CPU, (limit, limit + 10))
    error, at, names = "", "", list[str]()
    try:
        module = _module(Path(path.name).resolve())
        names = sorted(name for name in vars(module) if not name.startswith("_"))
    except BaseException as raised:  # also SystemExit
        at = _at(Path(path.name), raised.__traceback__)
        error = f"{type(raised).__name__}: {raised}" if not isinstance(raised, _TooLong) else "takes too long"
        error = _PLACES.sub("#", error).replace(str(home), ".").replace(os.environ["HOME"], "~")
    with os.fdopen(writing, "w") as answers:
        json.dump({"error": error[:2000], "at": at, "names": names}, answers)
    os._exit(0)


def _module(path: Path) -> ModuleType:
    """The module of a file: of a package under its full name, for relative imports need it."""
    name, folder = path.stem, path.parent
    while (folder / "__init__.py").exists():
        name, folder = f"{folder.name}.{name}", folder.parent
    if "." in name and path.stem != "__init__":
        sys.path.insert(0, str(folder))
        return importlib.import_module(name)
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def _at(path: Path, traceback: TracebackType | None) -> str:
    """The first line of the top-level statement of a file in which an exception was raised."""
    row = 0
    while traceback is not None:
        code = traceback.tb_frame.f_code
        if code.co_name == "<module>" and Path(code.co_filename).name == path.name:
            row = traceback.tb_lineno
        traceback = traceback.tb_next
    try:
        text = path.read_bytes()
        statements = ast.parse(text).body
    except (SyntaxError, ValueError):
        return ""
    lines = text.decode("utf-8", "replace").splitlines()
    around = [lines[one.lineno - 1] for one in statements if one.lineno <= row <= (one.end_lineno or 0)]
    return around[0].strip() if around else ""


if __name__ == "__main__":
    main()
