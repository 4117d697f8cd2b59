"""Where modules lie: the file of a project that a dotted import name means."""

from __future__ import annotations

import sys
from pathlib import Path

OUTSIDE = frozenset(sys.stdlib_module_names) | frozenset(
    (
        "tf keras tensorflow numpy np scipy pandas sklearn matplotlib absl torch jax flax PIL cv2 six tqdm "
        "yaml requests tensorflow_datasets tensorflow_probability tensorflow_hub tensorflow_addons "
        "transformers h5py gin"
    ).split()
)


class ModuleFiles:
    """The modules and packages below one root, as importers in its folders see them.

    Arguments:
        root: no file outside of it is looked at.
    """

    def __init__(self, root: Path) -> None:
        self.root = root
        self._asked: dict[Path, set[Path]] = {}
        self._new: dict[Path, set[Path]] = {}
        self._modules: dict[tuple[Path, str], tuple[tuple[Path, Path], Path | None]] = {}
        self._folders: dict[tuple[Path, str], bool] = {}

    def locate(self, path: Path, dotted: str) -> tuple[Path, str] | None:
        """The file that the longest prefix of `dotted` means, and the rest of the name."""
        if dotted.startswith("."):
            name = dotted.lstrip(".")
            folder = path.parent
            for _ in range(len(dotted) - len(name) - 1):
                folder = folder.parent
            return self._descend(path, folder, name) if self._is_inside(folder) else None
        top = dotted.partition(".")[0]
        if not top or top in OUTSIDE:
            return None
        folder = path.parent
        while self._is_inside(folder):
            if self._module_file(path, folder, top) is not None or self._is_folder(path, folder, top):
                return self._descend(path, folder, dotted)
            if folder == self.root:
                break
            folder = folder.parent
        source_folder = self.root / "src"
        return self._descend(path, source_folder, dotted) if self._is_folder(path, source_folder, top) else None

    def _descend(self, asker: Path, folder: Path, dotted: str) -> tuple[Path, str] | None:
        parts = dotted.split(".") if dotted else []
        found: tuple[Path, str] | None = None
        initial = folder / "__init__.py"
        if not parts or self._module_file(asker, folder, parts[0]) is None:
            self._note(asker, (initial,))
            found = (initial, dotted) if initial.is_file() else None
        for index, part in enumerate(parts):
            file = self._module_file(asker, folder, part)
            if file is not None:
                found = (file, ".".join(parts[index + 1 :]))
            if not self._is_folder(asker, folder, part):
                break
            folder = folder / part
        return found

    def _module_file(self, asker: Path, folder: Path, name: str) -> Path | None:
        """`folder/name/__init__.py` or `folder/name.py`, whichever is there."""
        key = (folder, name)
        known = self._modules.get(key)
        if known is None:
            candidates = (folder / name / "__init__.py", folder / f"{name}.py")
            found = next((path for path in candidates if path.is_file()), None)
            known = self._modules[key] = (candidates, found)
        self._note(asker, known[0])
        return known[1]

    def newly_asked(self) -> dict[Path, set[Path]]:
        """By the asking file, the paths that it asked for since the last time, whether a file was there or not."""
        new, self._new = self._new, {}
        return new

    def _note(self, asker: Path, paths: tuple[Path, ...]) -> None:
        asked = self._asked.setdefault(asker, set())
        for path in paths:
            if path not in asked:
                asked.add(path)
                self._new.setdefault(asker, set()).add(path)

    def _is_folder(self, asker: Path, folder: Path, name: str) -> bool:
        key = (folder, name)
        self._note(asker, (folder / name,))
        if key not in self._folders:
            self._folders[key] = (folder / name).is_dir()
        return self._folders[key]

    def _is_inside(self, folder: Path) -> bool:
        return folder == self.root or self.root in folder.parents
