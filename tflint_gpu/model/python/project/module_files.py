"""Where modules lie: the file of a project that a dotted import name means."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import TypeAlias

OUTSIDE = frozenset(sys.stdlib_module_names) | frozenset(
    (
        "tf keras tensorflow numpy np scipy pandas sklearn matplotlib absl torch jax flax PIL cv2 six tqdm "
        "yaml requests tensorflow_datasets tensorflow_probability tensorflow_hub tensorflow_addons "
        "transformers h5py gin"
    ).split()
)
_MOST_FILES = 2_000  # their bytes are read in about a second, and only where a fix is made
_NOT_OWN = frozenset("site-packages node_modules build dist venv env".split())

Located: TypeAlias = tuple[Path, str]
"""The file that the longest prefix of a dotted name means, and the rest of the name."""


class ModuleFiles:
    """The modules and packages below one root, as importers in its folders see them.

    Arguments:
        root: no file outside of it is looked at.
    """

    def __init__(self, root: Path) -> None:
        self._root = str(root)
        self._inside = os.path.join(self._root, "")
        self._answers: dict[tuple[str, str], tuple[Located | None, frozenset[str]]] = {}
        self._paths: dict[str, Path] = {}  # one object a file: it is a key in many places
        self._files: dict[str, bool] = {}
        self._modules: dict[tuple[str, str], tuple[str | None, tuple[str, str]]] = {}
        self._folders: dict[str, bool] = {}
        self._asked: dict[str, set[str]] = {}
        self._new: dict[str, set[str]] = {}
        self._below: list[str] | None = None

    def locate(self, path: Path, dotted: str) -> Located | None:
        """The file that the longest prefix of `dotted` means to a file at `path`, and the rest of the name."""
        top = dotted.partition(".")[0]
        if not dotted or top in OUTSIDE:
            return None
        asker = str(path)
        key = (os.path.dirname(asker), dotted)
        known = self._answers.get(key)
        if known is None:
            looked_for: set[str] = set()
            known = self._answers[key] = self._search(*key, looked_for), frozenset(looked_for)
        self._note(asker, known[1])
        return known[0]

    def modules_of(self, path: Path, package: str) -> list[str]:
        """The dotted names of the modules in a package's folder, which a file at `path` may load."""
        looked_for, folder = set[str](), os.path.dirname(path)
        while self._is_inside(folder):
            inside = os.path.join(folder, *package.split("."))
            if self._is_folder(inside, looked_for):
                names = (name.removesuffix(".py") for name in sorted(os.listdir(inside)) if name.endswith(".py"))
                return [f"{package}.{name}" for name in names if "." not in name and name != "__init__"]
            folder = os.path.dirname(folder)
        return []

    def still_holds(self) -> bool:
        """Whether all files and folders that were looked for are there, or not there, as they were then."""
        files, folders = self._files.items(), self._folders.items()
        return all(os.path.isfile(path) is known for path, known in files) and all(
            os.path.isdir(path) is known for path, known in folders
        )

    def importable_by(self, asker: Path) -> Iterator[Path]:
        """The Python files below the root, the asking one left out; none where there are too many to look at."""
        if self._below is None:
            self._below = list(islice(_python_files(self._root), _MOST_FILES + 1))
        for name in self._below if len(self._below) <= _MOST_FILES else ():
            if name != str(asker):
                yield self._path(name)

    def note_asked(self, asker: Path, asked: Path) -> None:
        """Note that what is said of a file rests on another one that does not lie behind an import of it."""
        self._note(str(asker), frozenset([str(asked)]))

    def newly_asked(self) -> dict[str, set[str]]:
        """By the asking file, the paths that it asked for since the last time, whether a file was there or not."""
        new, self._new = self._new, {}
        return new

    def _note(self, asker: str, paths: frozenset[str]) -> None:
        asked = self._asked.setdefault(asker, set())
        if not paths <= asked:
            self._new.setdefault(asker, set()).update(paths - asked)
            asked |= paths

    def _search(self, folder: str, dotted: str, looked_for: set[str]) -> Located | None:
        if dotted.startswith("."):
            name = dotted.lstrip(".")
            for _ in range(len(dotted) - len(name) - 1):
                folder = os.path.dirname(folder)
            return self._descend(folder, name, looked_for) if self._is_inside(folder) else None
        top, *inner = dotted.split(".")
        nearest: Located | None = None
        while self._is_inside(folder):
            module = self._module_file(folder, top, looked_for)
            package = os.path.join(folder, top)
            if module is not None or self._is_folder(package, looked_for):
                if nearest is None or self._module_file(package, inner[0], looked_for) is not None:
                    nearest = self._descend(folder, dotted, looked_for)
                # `yolo/yolo.py` next to the asking file is not the package `yolo` that `yolo.layers.Block` is in
                if not inner or nearest is None or nearest != (self._path(package + ".py"), ".".join(inner)):
                    return nearest
            if folder == self._root:
                break
            folder = os.path.dirname(folder)
        if nearest is not None:
            return nearest
        source_folder = os.path.join(self._root, "src")
        if self._is_folder(os.path.join(source_folder, top), looked_for):
            return self._descend(source_folder, dotted, looked_for)
        return None

    def _descend(self, folder: str, dotted: str, looked_for: set[str]) -> Located | None:
        parts = dotted.split(".") if dotted else []
        located: Located | None = None
        initial = os.path.join(folder, "__init__.py")
        is_module = bool(parts) and self._module_file(folder, parts[0], looked_for) is not None
        if not is_module and self._is_file(initial, looked_for):
            located = self._path(initial), dotted
        for index, part in enumerate(parts):
            file = self._module_file(folder, part, looked_for)
            if file is not None:
                located = (self._path(file), ".".join(parts[index + 1 :]))
            folder = os.path.join(folder, part)
            if not self._is_folder(folder, looked_for):
                break
        return located

    def _module_file(self, folder: str, name: str, looked_for: set[str]) -> str | None:
        """`folder/name/__init__.py` or `folder/name.py`, whichever is there."""
        known = self._modules.get((folder, name))
        if known is None:
            package, module = os.path.join(folder, name, "__init__.py"), os.path.join(folder, f"{name}.py")
            is_package, is_module = self._is_file(package, looked_for), self._is_file(module, looked_for)
            file = package if is_package else module if is_module else None
            self._modules[folder, name] = file, (package, module)
            return file
        looked_for.update(known[1])
        return known[0]

    def _is_file(self, path: str, looked_for: set[str]) -> bool:
        looked_for.add(path)
        if path not in self._files:
            self._files[path] = os.path.isfile(path)
        return self._files[path]

    def _is_folder(self, path: str, looked_for: set[str]) -> bool:
        looked_for.add(path)
        if path not in self._folders:
            self._folders[path] = os.path.isdir(path)
        return self._folders[path]

    def _is_inside(self, folder: str) -> bool:
        return folder == self._root or folder.startswith(self._inside)

    def _path(self, path: str) -> Path:
        if path not in self._paths:
            self._paths[path] = Path(path)
        return self._paths[path]


def _python_files(root: str) -> Iterator[str]:
    """The Python files below a folder; not those of environments, of hidden folders and of what is built."""
    for folder, inner, names in os.walk(root):
        inner[:] = sorted(
            name
            for name in inner
            if not name.startswith((".", "__")) and name not in _NOT_OWN and "pyvenv.cfg" not in names
        )
        yield from (os.path.join(folder, name) for name in sorted(names) if name.endswith(".py"))
