"""Which files to check: arguments, directories, exclusions, `.gitignore`, and the search by bytes."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import field
from pathlib import Path
from typing import TYPE_CHECKING

from tflint_gpu.lazy_dataclasses import dataclass
from tflint_gpu.lazy_patterns import regex
from tflint_gpu.settings.config import Settings, SettingsResolver
from tflint_gpu.text.bytesearch import (
    ENDINGS,
    JUPYTEXT_ENDING,
    NOTEBOOK_ENDING,
    is_jupytext,
    mentions_tensorflow,
    runs_something,
)
from tflint_gpu.text.import_search import Asked, ImportSearch

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec

_CELL_LINE = regex(rb'\n[ \t]*"')  # what comes before the code in a line of a notebook's cell
ROOT_MARKERS = ("pyproject.toml", "setup.py", "setup.cfg", ".git")


def is_marked(directory: Path) -> bool:
    """Whether a directory has something which only a project's root has."""
    return any((directory / name).exists() for name in ROOT_MARKERS)


class NoSuchPath(Exception):
    """A path given by the user that is not there, or cannot be looked at."""


@dataclass(frozen=True, slots=True)
class FileToCheck:
    """A file and how it is to be checked.

    Arguments:
        path: absolute, symbolic links not resolved.
        name: how reports call it.
        settings: what holds for it.
        root: of the project that it belongs to.
        content: its bytes if they are not those on the disk (standard input).
    """

    path: Path
    name: str
    settings: Settings
    root: Path
    content: bytes | None = None

    def read(self) -> bytes:
        """The bytes to check.

        Raises:
            OSError: the file cannot be read.
        """
        return self.path.read_bytes() if self.content is None else self.content

    def may_matter(self, data: bytes, imports: ImportSearch | None = None, asked: Asked | None = None) -> bool:
        """Whether its bytes mention TensorFlow, a program's imports do, or it is JSON with escapes for letters.

        Arguments:
            imports: what other files of the run are asked with, too.
            asked: gets the paths of files on which the answer rests, by the files that lead to them.
        """
        if self.path.suffix == JUPYTEXT_ENDING and not is_jupytext(data):
            return False
        if mentions_tensorflow(data):
            return True
        code = _CELL_LINE.sub(b"\n", data) if self.path.suffix == NOTEBOOK_ENDING else data
        if runs_something(code) and (imports or ImportSearch()).mentions_tensorflow(code, self.path, self.root, asked):
            return True
        return self.path.suffix == NOTEBOOK_ENDING and (b"\\u006" in data or b"\\u007" in data)


@dataclass(slots=True)
class Discovery:
    """Finds the files below the paths of a command line.

    Arguments:
        resolver: gives the settings of each directory.
        working_directory: what relative paths start from.
        warnings: filled with what could not be looked at.
    """

    resolver: SettingsResolver
    working_directory: Path = field(default_factory=Path.cwd)
    warnings: list[str] = field(default_factory=list)
    _roots: dict[tuple[Path, Path], Path] = field(default_factory=dict)
    _marks: dict[Path, Path | None] = field(default_factory=dict)

    def find(self, paths: Iterable[str]) -> list[FileToCheck]:
        """All files to check, each once, in the order of the paths and then by name.

        Raises:
            NoSuchPath: a path does not exist, or is a pipe or a device.
            SettingsError: a settings file on the way is wrong.
        """
        arguments = [self._absolute(path) for path in paths]
        for given, path in zip(paths, arguments, strict=True):
            if not path.exists():
                broken = " (a broken symbolic link)" if path.is_symlink() else ""
                raise NoSuchPath(f"{given}: no such file or directory{broken}")
            if not path.is_dir() and not path.is_file():  # a file is read more than once, a pipe can be read once
                raise NoSuchPath(f"{given}: not a regular file; pass its text on standard input: `tflint-gpu check -`")
        fallback = common_folder(arguments)
        checks: dict[str, FileToCheck] = {}
        for argument in arguments:
            real = os.path.realpath(argument)
            for path in self._below(argument):
                identity = os.path.realpath(path) if path.is_symlink() else str(path)
                if real != str(argument) and not path.is_symlink():
                    # Below an argument no link to a directory is followed, so that only its last part can be one.
                    identity = str(Path(real) / path.relative_to(argument))
                if identity not in checks:
                    checks[identity] = self.describe(path, fallback)
        return list(checks.values())

    def describe(self, path: Path, fallback: Path, content: bytes | None = None) -> FileToCheck:
        """What is to be known of one file before it is checked."""
        name = shown_name(path, self.working_directory)
        folder = path.parent
        return FileToCheck(
            path, name, self.resolver.for_directory(folder), self.project_root(folder, fallback), content
        )

    def project_root(self, directory: Path, fallback: Path) -> Path:
        """The nearest directory upwards that looks like a project's; else the fallback."""
        key = directory, fallback
        if key not in self._roots:
            inside = fallback == directory or fallback in directory.parents
            self._roots[key] = self._marked(directory) or (fallback if inside else directory)
        return self._roots[key]

    def _marked(self, directory: Path) -> Path | None:
        """The nearest directory upwards that has something which only a project's root has."""
        if directory not in self._marks:
            if is_marked(directory):
                self._marks[directory] = directory
            else:
                self._marks[directory] = None if directory.parent == directory else self._marked(directory.parent)
        return self._marks[directory]

    def _absolute(self, path: str) -> Path:
        return Path(os.path.normpath(self.working_directory / path))

    def _below(self, argument: Path) -> Iterator[Path]:
        if self.resolver.for_file(argument).force_exclude and is_excluded(argument, self.resolver):
            return
        if argument.is_dir():
            yield from self._walk(argument)
        else:
            yield argument

    def _walk(self, top: Path) -> Iterator[Path]:
        """Files in a directory and below. Links to directories are not followed: they may be loops."""
        ignored = GitIgnores(top)
        pending = [top]
        while pending:
            directory = pending.pop()
            settings = self.resolver.for_directory(directory)
            excluded, hides = settings.exclude.match, ignored.hides if settings.respect_gitignore else _hides_nothing
            try:
                with os.scandir(directory) as scan:
                    children = sorted(scan, key=lambda entry: entry.name)
            except OSError as error:
                self.warnings.append(f"{directory}: cannot be listed: {error.strerror or error}")
                continue
            below: list[Path] = []
            for entry in children:
                is_directory = entry.is_dir(follow_symlinks=False)
                if not is_directory and not (entry.name.endswith(ENDINGS) and _is_file(entry)):
                    continue
                if excluded(_with_slashes(entry.path)) or hides(directory, entry.name, is_directory):
                    continue
                if is_directory:
                    below.append(directory / entry.name)
                else:
                    yield directory / entry.name
            pending += reversed(below)


def _hides_nothing(directory: Path, name: str, is_directory: bool) -> bool:
    return False


def _with_slashes(path: str) -> str:
    return path if os.sep == "/" else path.replace(os.sep, "/")


def common_folder(paths: Iterable[Path]) -> Path:
    """The folder that all paths of a command line lie in, or are."""
    return Path(os.path.commonpath([path if path.is_dir() else path.parent for path in paths]))


def _is_file(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_file()
    except OSError:  # a link that leads back to itself
        return False


def is_excluded(path: Path, resolver: SettingsResolver) -> bool:
    """Whether the settings exclude a file or a directory above it, up to the folder of the settings."""
    settings = resolver.for_file(path)
    above = [path, *path.parents]
    return any(
        settings.exclude.match(place.as_posix())
        for place in above
        if settings.base in place.parents or (place == path and settings.base not in path.parents)
    )


def shown_name(path: Path, working_directory: Path) -> str:
    """How reports call a file: from here if it is below here, else absolute."""
    name, start = str(path), str(working_directory)
    start = start if start.endswith(os.sep) else start + os.sep
    return name[len(start) :] if name.startswith(start) else name


class GitIgnores:
    """The `.gitignore` files that hold below a directory: those in it, and those of its repository.

    A directory that was asked for is checked even if a `.gitignore` above it hides it.
    """

    def __init__(self, top: Path) -> None:
        self._top = top
        self._specs: dict[Path, GitIgnoreSpec | None] = {}
        self._places: dict[Path, list[Path]] = {}
        self._repository = next((place for place in (top, *top.parents) if (place / ".git").exists()), top)
        above = [place for place in top.parents if self._repository in (place, *place.parents)]
        self._above = [place for place in above if not self._says(place, top, True)]

    def hides(self, directory: Path, name: str, is_directory: bool) -> bool:
        """Whether git would ignore what has a name in a directory; the nearest file that says something decides."""
        for place in self._places_for(directory):
            verdict = self._says(place, directory / name, is_directory)
            if verdict is not None:
                return verdict
        return False

    def _places_for(self, directory: Path) -> list[Path]:
        """Directories whose ignore files hold in a directory and are there, the nearest first."""
        if directory not in self._places:
            here = [directory] if self._spec(directory) is not None else []
            if directory == self._top:
                higher = [place for place in self._above if self._spec(place) is not None]
            else:
                higher = self._places_for(directory.parent)
            self._places[directory] = here + higher
        return self._places[directory]

    def _says(self, place: Path, path: Path, is_directory: bool) -> bool | None:
        spec = self._spec(place)
        if spec is None:
            return None
        relative = path.as_posix()[len(place.as_posix().rstrip("/")) + 1 :]
        return spec.check_file(f"{relative}/" if is_directory else relative).include

    def _spec(self, place: Path) -> GitIgnoreSpec | None:
        if place not in self._specs:
            lines: list[str] = []
            names = [".gitignore"]
            if place == self._repository:
                names.insert(0, ".git/info/exclude")
            for name in names:
                try:
                    lines += (place / name).read_text("utf-8", "replace").splitlines()
                except OSError:
                    continue
            self._specs[place] = _compile(lines) if lines else None
        return self._specs[place]


def _compile(lines: list[str]) -> GitIgnoreSpec | None:
    from pathspec import GitIgnoreSpec  # only where there is a .gitignore: it takes 20 ms to import

    good: list[str] = []
    for line in lines:
        try:
            GitIgnoreSpec.from_lines([line])
        except ValueError:  # a pattern that git, too, passes over
            continue
        good.append(line)
    return GitIgnoreSpec.from_lines(good)
