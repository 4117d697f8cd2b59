"""The other files of a project: where an import leads, and the models of those files."""

from __future__ import annotations

import hashlib
import re
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from tflint_gpu.text.source import SourceFile, UnreadableSource

if TYPE_CHECKING:
    import libcst as cst

    from tflint_gpu.model.model import Model
    from tflint_gpu.model.python.tree import Binding
    from tflint_gpu.targets import Target

_OUTSIDE = frozenset(sys.stdlib_module_names) | frozenset(
    (
        "tf keras tensorflow numpy np scipy pandas sklearn matplotlib absl torch jax flax PIL cv2 six tqdm "
        "yaml requests tensorflow_datasets tensorflow_probability tensorflow_hub tensorflow_addons "
        "transformers h5py gin"
    ).split()
)
_IMPORT = re.compile(
    rb"^[ \t]*(?:from[ \t]+([.\w]+)[ \t]+import[ \t]*(\([^)]*\)|[^\n#;]*)|import[ \t]+([^\n#;]+))",
    re.MULTILINE,
)
_MATTERING = (b"tensorflow", b"keras", b"numpy", b"tf.", b"tfds")
_KEPT_CHARACTERS = 3_000_000
_REEXPORT_LIMIT = 6


@dataclass(frozen=True, slots=True)
class Definition:
    """A name of some file of the project: the file's model and the binding that defines it."""

    model: Model
    binding: Binding


class Sources:
    """Where a project has its files' bytes and syntax trees from: the disk and the parser.

    An editor has newer texts than the disk, and can keep trees from one check to the next.
    """

    def read(self, path: Path) -> bytes:
        """The bytes of a file. Raises OSError if there are none."""
        return path.read_bytes()

    def parse(self, path: Path, text: str) -> cst.Module:
        """The tree of a file's text. Raises what libcst's parser does."""
        import libcst

        return libcst.parse_module(text)


class Project:
    """The files below one root. Opened models are kept while they are small enough together.

    Arguments:
        root: no file outside of it is read.
        target: the TensorFlow version that the project runs on.
        sources: gives the files' bytes and trees.
    """

    def __init__(self, root: Path, target: Target, sources: Sources | None = None) -> None:
        self.root = root
        self.target = target
        self.sources = sources or Sources()
        self.current: Model | None = None
        self._asked: dict[Path, set[Path]] = {}
        self._models: dict[Path, Model | None] = {}
        self._modules: dict[tuple[Path, str], tuple[tuple[Path, Path], Path | None]] = {}
        self._folders: dict[tuple[Path, str], bool] = {}
        self._located: dict[tuple[str, str], tuple[Path, str] | None] = {}
        self._mentions: dict[tuple[Path, bytes], bool] = {}
        self._data: dict[Path, bytes | None] = {}
        self._imports: dict[Path, tuple[Path, ...]] = {}

    def open(self, source: SourceFile) -> Model:
        """Parse a file that is to be checked.

        Raises:
            UnreadableSource: it does not parse.
        """
        from tflint_gpu.model.model import Model

        if sum(len(m.source.text) for m in self._models.values() if m is not None) > _KEPT_CHARACTERS:
            self.let_go()
        known = self._models.get(source.path)
        if known is None or not known.source.equals(source):
            known = self._models[source.path] = Model.parse(source, self)
        self.current = known
        return known

    def let_go(self) -> None:
        """Let all models go at once: they know each other, so none may outlive another."""
        for model in self._models.values():
            if model is not None:
                model.close()
        self._models.clear()
        self.current = None

    def consulted_by(self, asker: Path) -> dict[Path, bytes | None]:
        """The other files on which the answers about one file rest."""
        result: dict[Path, bytes | None] = {}
        queue = list(self._asked.get(asker, ()))
        while queue:
            path = queue.pop()
            if path in result or path == asker:
                continue
            data = self._read(path)
            result[path] = None if data is None else hashlib.blake2b(data, digest_size=16).digest()
            queue.extend(self._asked.get(path, ()))
        return result

    def definition(self, model: Model, dotted: str, constants: bool = False) -> Definition | None:
        """What a dotted import name such as ".layers.Block" or "utils.setup" is defined as in the project.

        Arguments:
            constants: look into files, too, that mention neither TensorFlow nor NumPy.
        """
        for _ in range(_REEXPORT_LIMIT):
            located = self._locate(model, dotted)
            if located is None:
                return None
            path, rest = located
            if not rest or not (constants or self._may_matter(path)):
                return None
            other = self._model(path)
            if other is None:
                return None
            name, _, tail = rest.partition(".")
            bindings = other.tree.root.bindings.get(name, ())
            if not bindings:
                return None
            binding = bindings[-1]
            if binding.kind == "import":
                model, dotted = other, binding.target + ("." + tail if tail else "")
                continue
            return None if tail else Definition(other, binding)
        return None

    def imported(self, model: Model, dotted: str) -> tuple[Model, str] | None:
        """The project's file from which an imported name comes, and what it is called there; "" for the file itself."""
        located = self._locate(model, dotted)
        other = self._model(located[0]) if located is not None else None
        return (other, located[1].partition(".")[0]) if other is not None and located is not None else None

    def imports_mention(self, path: Path, data: bytes, markers: Iterable[bytes]) -> bool:
        """Whether a file of the project that the file imports directly has one of some byte strings."""
        return any(self._mentions_in(found, marker) for found in self._imported_paths(path, data) for marker in markers)

    def leads_to(self, model: Model, dotted: str | None, markers: Iterable[bytes]) -> bool:
        """Whether what an imported name means may have to do with some byte strings; True for names of the file itself.

        Spares a parse: the file that defines the name, or one that it imports, must have one of them.
        """
        located = self._locate(model, dotted) if dotted is not None else None
        if located is None:
            return True
        path, data = located[0], self._read(located[0]) or b""
        return any(self._mentions_in(path, marker) for marker in markers) or self.imports_mention(path, data, markers)

    def imports_of(self, path: Path, data: bytes | None = None) -> tuple[Path, ...]:
        """The files of the project that a file imports directly.

        Arguments:
            path: of the file.
            data: its code, if that is not what the file's bytes are.
        """
        return self._imported_paths(path, self._read(path) or b"" if data is None else data)

    def program_mentions(self, source: SourceFile, markers: Iterable[bytes]) -> bool:
        """Whether a file, or one of the project's files that its imports reach, has one of some byte strings."""
        own = source.text.encode("utf-8", "replace")
        if any(marker in own for marker in markers):
            return True
        seen = {source.path}
        queue = list(self._imported_paths(source.path, own))
        while queue:
            path = queue.pop()
            if path in seen:
                continue
            seen.add(path)
            if any(self._mentions_in(path, marker) for marker in markers):
                return True
            queue.extend(self._imported_paths(path, self._read(path) or b""))
        return False

    def _may_matter(self, path: Path) -> bool:
        """Whether a file has more to say than constants; the others are not worth a parse."""
        return any(self._mentions_in(path, marker) for marker in _MATTERING) or path.name == "__init__.py"

    def _mentions_in(self, path: Path, marker: bytes) -> bool:
        key = (path, marker)
        if key not in self._mentions:
            self._mentions[key] = marker in (self._read(path) or b"")
        return self._mentions[key]

    def _imported_paths(self, path: Path, data: bytes) -> tuple[Path, ...]:
        """The files that a file's imports name; through a package's `__init__`, the file that defines the name."""
        if path not in self._imports:
            found: dict[Path, None] = {}
            for dotted in _imported_names(data):
                located = self._locate_from(path, dotted)
                if located is not None:
                    found[located[0]] = None
                    if located[0].name == "__init__.py" and located[1]:
                        found.update(dict.fromkeys(self._re_exported(located[0], located[1])))
            self._imports[path] = tuple(found)
        return self._imports[path]

    def _re_exported(self, package: Path, name: str) -> Iterator[Path]:
        for dotted in _imported_names(self._read(package) or b""):
            if dotted.endswith(f".{name}"):
                located = self._locate_from(package, dotted)
                if located is not None:
                    yield located[0]

    def _locate(self, model: Model, dotted: str) -> tuple[Path, str] | None:
        key = (model.source.name, dotted)
        if key not in self._located:
            self._located[key] = self._locate_from(model.source.path, dotted)
        return self._located[key]

    def _locate_from(self, path: Path, dotted: str) -> tuple[Path, str] | None:
        """The file that the longest prefix of `dotted` means, and the rest of the name."""
        if dotted.startswith("."):
            name = dotted.lstrip(".")
            folder = path.parent
            for _ in range(len(dotted) - len(name) - 1):
                folder = folder.parent
            return self._descend(path, folder, name) if self._is_inside(folder) else None
        top = dotted.partition(".")[0]
        if not top or top in _OUTSIDE:
            return None
        folder = path.parent
        while self._is_inside(folder):
            if self._module_file(path, folder, top) is not None or self._is_folder(folder, top):
                return self._descend(path, folder, dotted)
            if folder == self.root:
                break
            folder = folder.parent
        source_folder = self.root / "src"
        return self._descend(path, source_folder, dotted) if self._is_folder(source_folder, top) else None

    def _descend(self, asker: Path, folder: Path, dotted: str) -> tuple[Path, str] | None:
        parts = dotted.split(".") if dotted else []
        found: tuple[Path, str] | None = None
        initial = folder / "__init__.py"
        if not parts or self._module_file(asker, folder, parts[0]) is None:
            found = (initial, dotted) if initial.is_file() else None
        for index, part in enumerate(parts):
            file = self._module_file(asker, folder, part)
            if file is not None:
                found = (file, ".".join(parts[index + 1 :]))
            if not self._is_folder(folder, part):
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
        self._asked.setdefault(asker, set()).update(known[0])
        return known[1]

    def _is_folder(self, folder: Path, name: str) -> bool:
        key = (folder, name)
        if key not in self._folders:
            self._folders[key] = (folder / name).is_dir()
        return self._folders[key]

    def _is_inside(self, folder: Path) -> bool:
        return folder == self.root or self.root in folder.parents

    def _read(self, path: Path) -> bytes | None:
        if path not in self._data:
            try:
                self._data[path] = self.sources.read(path)
            except OSError:
                self._data[path] = None
        return self._data[path]

    def _model(self, path: Path) -> Model | None:
        from tflint_gpu.model.model import Model

        data = self._read(path)
        if path in self._models:
            return self._models[path]
        model: Model | None = None
        if data is not None:
            try:
                model = Model.parse(SourceFile.decode(data, path, self._display_name(path)), self)
            except (UnreadableSource, RecursionError):
                model = None
        self._models[path] = model
        return model

    def _display_name(self, path: Path) -> str:
        try:
            return str(path.relative_to(Path.cwd()))
        except ValueError:
            return str(path)


def _imported_names(data: bytes) -> Iterator[str]:
    """Every dotted name that a file's import statements may load, read from its bytes alone."""
    for match in _IMPORT.finditer(data):
        package, names, plain = match.groups()
        if plain is not None:
            for item in plain.split(b","):
                if words := item.split():
                    yield words[0].decode("ascii", "replace")
            continue
        base = package.decode("ascii", "replace")
        separator = "" if base.endswith(".") else "."
        for item in names.strip(b"() \t\r\n").replace(b"\\", b"").split(b","):
            words = item.split()
            if words and words[0] != b"*":
                yield base + separator + words[0].decode("ascii", "replace")
        yield base
