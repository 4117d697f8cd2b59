"""Which TensorFlow a project runs on: by a setting, or by what the project pins."""

from __future__ import annotations

import ast
import json
import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from tflint_gpu.lazy_dataclasses import dataclass
from tflint_gpu.lazy_patterns import regex

NEWEST = (2, 21)
RELEASES = ((1, 15), *((2, minor) for minor in range(NEWEST[1] + 1)))
"""The minor releases that the rules know of; 1.15 means all of 1.x."""

_END_OF_NAME = r"\s*(?=[\[=<>~!;@\s(,]|$)"
_KERAS_RELEASES = (*((2, minor) for minor in range(2, 16)), *((3, minor) for minor in range(16)))


@dataclass(frozen=True, slots=True)
class _Package:
    """What a project may pin: the names of the packages, as lock files and as requirements write them."""

    names: tuple[str, ...]
    pattern: re.Pattern[str]
    releases: tuple[tuple[int, int], ...]


_TENSORFLOW = _Package(
    ("tensorflow", "tensorflow-cpu", "tensorflow-gpu", "tensorflow-intel", "tensorflow-macos"),
    re.compile(rf"tensorflow(?:[-_.](?:cpu|gpu|intel|macos))?{_END_OF_NAME}", re.IGNORECASE),
    RELEASES,
)
_KERAS = _Package(("keras",), re.compile(rf"keras{_END_OF_NAME}", re.IGNORECASE), _KERAS_RELEASES)
_KERAS_3_SINCE = (2, 16)


_Reader = Callable[[str, _Package], Iterable[str]]


@dataclass(frozen=True, slots=True)
class Target:
    """The TensorFlow that the code is meant for, and the GPU.

    Arguments:
        tensorflow: its minor release.
        keras: the major version of Keras that comes with it.
        source: "settings", the name of the file that pins it, or "newest".
        gpu_memory: the bytes of a GPU, where the settings name them.
        keras_release: the minor release of Keras 3, where the project pins one.
    """

    tensorflow: tuple[int, int] = NEWEST
    keras: int = 3
    source: str = "newest"
    gpu_memory: int | None = None
    keras_release: tuple[int, int] | None = None

    @property
    def pinned(self) -> bool:
        """Whether a setting or a file says so; else the newest is assumed."""
        return self.source != "newest"


def _target(release: tuple[int, int], source: str) -> Target:
    return Target(release, 3 if release >= _KERAS_3_SINCE else 2, source)


_MEMORY_UNITS = {
    **{f"{letter}B": 1000**power for power, letter in enumerate("MGT", 2)},
    **{f"{letter}iB": 1024**power for power, letter in enumerate("MGT", 2)},
}


def memory_size(text: str) -> int | None:
    """The bytes that a setting such as "24GiB" or "7.5 GB" means; None where it means none."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?) ?([MGT]i?B)", text.strip())
    size = round(float(match[1]) * _MEMORY_UNITS[match[2]]) if match is not None else 0
    return size or None


@dataclass(frozen=True, slots=True)
class Pin:
    """Where a project says which TensorFlow it runs on; rows from 1."""

    path: Path
    row: int


class Pins:
    """What projects pin. A folder is listed and a file read once, however many files below are asked for."""

    def __init__(self) -> None:
        self._files: dict[Path, list[tuple[Path, _Reader]]] = {}
        self._releases: dict[tuple[Path, str], tuple[int, int] | None] = {}

    def target(self, setting: str | None, directory: Path, folder: Path | None = None) -> Target:
        """The target for the files of a directory: the setting, else the nearest pin up to the repository's root.

        Arguments:
            setting: such as "2.10" or "2.10.1", already known to have that form.
            directory: where the files are.
            folder: where the settings file is that says so; a pin that is nearer, as a package of a monorepo has it,
                beats it. None where nothing beats the setting.
        """
        if setting is not None and not self._has_nearer_pin(directory, folder):
            major, minor = (int(part) for part in setting.split(".")[:2])
            return _target((1, 15) if major < 2 else (major, minor), "settings")
        files = self._deciding(directory)
        tensorflow, keras = self._first(files, _TENSORFLOW), self._first(files, _KERAS)
        target = _target(NEWEST, "newest") if tensorflow is None else _target(tensorflow[1], tensorflow[0].name)
        is_of_its_own = keras is not None and keras[1][0] == target.keras == 3
        return replace(target, keras_release=keras[1]) if is_of_its_own and keras is not None else target

    def reason(self, target: Target, directory: Path, name: Callable[[Path], str] = str) -> str:
        """What makes a target that of a directory's files, for readers.

        Arguments:
            target: as `target` has it.
            name: how to call the file that pins it.
        """
        if target.source == "settings":
            return "`target-tensorflow`"
        pin = self._place(directory)
        return "nothing pins a version: the newest" if pin is None else f"{name(pin.path)}, line {pin.row}"

    def _place(self, directory: Path) -> Pin | None:
        """What decides about the files of a directory, where no setting does."""
        first = self._first(self._deciding(directory), _TENSORFLOW)
        if first is None:
            return None
        path, release = first
        return Pin(path, _pinning_row(path.read_text("utf-8-sig", "replace").splitlines(), release))

    def _has_nearer_pin(self, directory: Path, folder: Path | None) -> bool:
        """Whether a pin is in a part of the repository that has the directory, and not the folder."""
        pin = None if folder is None else self._first(self._deciding(directory), _TENSORFLOW)
        if pin is None or folder is None:
            return False
        above = {directory, *directory.parents}
        shared = next((place for place in (folder, *folder.parents) if place in above), None)
        return shared in pin[0].parent.parents

    def paths(self, directory: Path) -> list[Path]:
        """The files on which the target of a directory's files rests, where no setting decides."""
        return [path for path, _ in self._deciding(directory)]

    def _deciding(self, directory: Path) -> list[tuple[Path, _Reader]]:
        """The files that may pin a version, those that decide first.

        A part of a repository often has a `setup.py` of its own and its pin above, and a downloaded archive has
        no `.git`: so that only a `.git` ends the search.
        """
        above = [directory, *directory.parents]
        root = next((number for number, place in enumerate(above) if (place / ".git").exists()), len(above))
        return [file for place in above[: root + 1] for file in self._files_in(place)]

    def _files_in(self, place: Path) -> list[tuple[Path, _Reader]]:
        if place not in self._files:
            try:
                names = sorted(os.listdir(place))  # noqa: PTH208
            except OSError:
                names = []
            names = [name for name in names if name.startswith(_BEGINNINGS)]
            self._files[place] = [
                (place / name, read) for pattern, read in _READERS for name in names if fnmatchcase(name, pattern)
            ]
        return self._files[place]

    def _first(self, files: Sequence[tuple[Path, _Reader]], package: _Package) -> tuple[Path, tuple[int, int]] | None:
        for path, read in files:
            key = path, package.names[0]
            if key not in self._releases:
                self._releases[key] = _newest_pinned(path, read, package)
            release = self._releases[key]
            if release is not None and not (release < (2, 0) and _is_one_of_several(path, package, files)):
                return path, release
        return None


_INSTALL = regex(
    r"^[ \t]*[!%]{0,2}[ \t]*(?:sudo[ \t]+)?(?:\S*python[\d.]*[ \t]+-m[ \t]+|uv[ \t]+)?"
    r"(?:pip[\d.]*|conda|mamba)[ \t]+install\b(.*)",
    re.MULTILINE,
)
_PREVIEW = regex(r"tf-nightly(?:-gpu)?-2\.0-preview\b")


def target_of_notebook(data: bytes, name: str) -> Target | None:
    """What the code cells of a notebook install for themselves, the last time: `!pip install tensorflow-gpu==2.0.0`.

    Arguments:
        data: the file.
        name: of the file.
    """
    if b"install" not in data:
        return None
    try:
        cells = json.loads(data)["cells"]
        code = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
    except (ValueError, TypeError, KeyError, RecursionError):
        return None  # what cannot be read is reported elsewhere
    release = None
    for line in (match[1] for cell in code for match in _INSTALL.finditer(cell)):
        words = re.sub(r"['\"]", "", line).replace(" ==", "==").split()
        versions = [newest_allowed(specifiers) for specifiers in _specifiers(words, _TENSORFLOW)]
        versions += [(2, 0)] if _PREVIEW.search(line) else []
        release = max(filter(None, versions), default=release)
    return _target(release, name) if release is not None else None


def _newest_pinned(path: Path, read: _Reader, package: _Package) -> tuple[int, int] | None:
    """The newest release that one of the requirements of a file still allows and bounds."""
    versions = (newest_allowed(requirement, package.releases) for requirement in _requirements(path, read, package))
    return max(filter(None, versions), default=None)


def _is_one_of_several(path: Path, package: _Package, files: Iterable[tuple[Path, _Reader]]) -> bool:
    """Whether a file pins TensorFlow 1 for some installations only, and others of the project may have 2.

    So does an extra beside another one, and `requirements-tf1.txt` beside a `setup.py` with `tensorflow>=2.4`. A name
    without a version, in another file, says nothing, unless the pin is in one of several lists of requirements.
    """
    if path.name in _LOCKS:
        return False
    is_variant = path.name.startswith("requirements") and path.name != "requirements.txt"
    return any(
        _allows_2(requirement) and (bool(requirement) or other == path or is_variant)
        for other, read in files
        if other.parent == path.parent and other.name not in _LOCKS
        for requirement in _requirements(other, read, package)
    )


def _allows_2(specifiers: str) -> bool:
    """Whether a requirement leaves TensorFlow 2 open."""
    bounded = newest_allowed(specifiers)
    return bounded >= (2, 0) if bounded is not None else _BOUNDED.search(specifiers) is None


def _requirements(path: Path, read: _Reader, package: _Package) -> list[str]:
    """What a file asks for of a package, the version parts only."""
    try:
        text = path.read_text("utf-8-sig", "replace")
        # A project without the word is the common case, and spared all parsing.
        return list(read(text, package)) if package.names[0] in text.lower() else []
    except (OSError, ValueError, TypeError, AttributeError, KeyError, SyntaxError, RecursionError):
        return []  # somebody else's file, in a shape that its own tool would refuse


_BOUNDED = regex(r"==|~=|<")
_NAME = r"(?<![\w.-])tensorflow(?:[-_.](?:cpu|gpu|intel|macos))?(?![\w.-])"
_SPECIFIED = regex(rf"{_NAME}(?:\[[^\]]*\])?[\s(]*((?:[=<>~!]=?=?\s*[\w.*]+[\s,]*)+)", re.IGNORECASE)
_NAMED = tuple(
    regex(rf"{before}{_NAME}{after}", re.IGNORECASE)
    for before, after in (('(?:name = |\\s*)"', '"'), (r"\W*", ""), (".*", ""))
)
"""How lines begin that are about TensorFlow: in a lock file; in Poetry's table, or a list for conda; in all others."""


def _pinning_row(lines: Iterable[str], release: tuple[int, int]) -> int:
    """The first line with specifiers that allow this release at most; without any, the first one with the name."""

    def rank(line: str) -> int:
        if any(newest_allowed(match[1]) == release for match in _SPECIFIED.finditer(line)):
            return 0
        return next((place for place, named in enumerate(_NAMED, 1) if named.match(line)), len(_NAMED) + 1)

    code = ((rank(line.partition("#")[0]), row) for row, line in enumerate(lines, 1))
    return min(code, default=(0, 1))[1]


def newest_allowed(specifiers: str, releases: Sequence[tuple[int, int]] = RELEASES) -> tuple[int, int] | None:
    """The newest known release that version specifiers allow; None if they set no upper bound.

    Arguments:
        specifiers: as in a requirement, such as `>=2.4,<2.11`, `~=2.10.0` or `==2.15.*`.
        releases: those that are known, the oldest first.
    """
    if not _BOUNDED.search(specifiers):
        return None
    from packaging.specifiers import InvalidSpecifier, SpecifierSet  # takes milliseconds; most set no upper bound

    try:
        allowed = SpecifierSet(specifiers)
    except InvalidSpecifier:
        return None
    for version in allowed:
        if version.operator in ("==", "===") and (exact := re.match(r"(\d+)\.(\d+)", version.version)):
            release = (int(exact[1]), int(exact[2]))
            return (1, 15) if release < (2, 0) else min(release, releases[-1])
    for major, minor in reversed(releases):
        candidates = [f"{major}.{minor}.{patch}" for patch in range(10)]
        if (major, minor) == (1, 15):
            candidates += [f"1.{old}.0" for old in range(15)]
        if any(allowed.contains(candidate, prereleases=True) for candidate in candidates):
            return (major, minor)
    return None


def _specifiers(requirements: Iterable[object], package: _Package) -> Iterator[str]:
    """The version part of those requirements that are for a package."""
    for requirement in requirements:
        if isinstance(requirement, str) and (match := package.pattern.match(requirement.strip())):
            rest = requirement.strip()[match.end() :].partition(";")[0].partition("#")[0]
            rest = re.sub(r"^\[[^\]]*\]|\s--.*$", "", rest).strip(" ()\\")
            if not rest or rest[0] in "=<>~!@":  # else it is a sentence, as a description
                yield rest


def _requirements_txt(text: str, package: _Package) -> Iterator[str]:
    return _specifiers(text.splitlines(), package)


def _setup_py(text: str, package: _Package) -> Iterator[str]:
    tree = ast.parse(text)
    words = [node.value for node in ast.walk(tree) if isinstance(node, ast.keyword) and node.arg in _FOR_READERS]
    told = {id(node) for word in words for node in ast.walk(word)}
    strings = (node.value for node in ast.walk(tree) if isinstance(node, ast.Constant) and id(node) not in told)
    return _specifiers(strings, package)


_FOR_READERS = ("name", "description", "keywords")
"""Of `setup`'s arguments those that may name a package without asking for it."""


def _pyproject(text: str, package: _Package) -> Iterator[str]:
    from tflint_gpu.text.toml import loads

    document: dict[str, Any] = loads(text)
    project = document.get("project", {})
    yield from _specifiers(project.get("dependencies", ()), package)
    for group in (
        *project.get("optional-dependencies", {}).values(),
        *document.get("dependency-groups", {}).values(),
    ):
        yield from _specifiers(group, package)
    poetry = document.get("tool", {}).get("poetry", {})
    groups = [poetry, *poetry.get("group", {}).values()]
    for name, version in (item for group in groups for item in group.get("dependencies", {}).items()):
        if name.lower().replace("_", "-") in package.names:
            text = version.get("version", "") if isinstance(version, dict) else version
            yield _from_poetry(text) if isinstance(text, str) else ""


def _from_poetry(version: str) -> str:
    """Poetry's `^2.4` and `~2.4` and bare `2.4` in the words of everybody else."""
    version = version.strip()
    if match := re.fullmatch(r"([\^~]?)\s*(\d+)(?:\.(\d+))?(\S*)", version):
        operator, major, minor, rest = match.groups()
        number = f"{major}.{minor or 0}{rest}"
        if operator == "^":
            return f">={number},<{int(major) + 1}"
        if operator == "~":
            return f">={number},<{major}.{int(minor or 0) + 1}"
        return f"=={number}"
    return version


def _setup_cfg(text: str, package: _Package) -> Iterator[str]:
    import configparser

    parser = configparser.ConfigParser(interpolation=None)
    try:
        parser.read_string(text)
    except configparser.Error as error:
        raise ValueError(str(error)) from None
    if parser.has_option("options", "install_requires"):
        yield from _specifiers(parser.get("options", "install_requires").splitlines(), package)
    if parser.has_section("options.extras_require"):
        for _, extra in parser.items("options.extras_require"):
            yield from _specifiers(extra.splitlines(), package)


def _toml_lock(text: str, package: _Package) -> Iterator[str]:
    from tflint_gpu.text.toml import loads

    for locked in loads(text).get("package", ()):
        if locked.get("name") in package.names:
            yield f"=={locked['version']}"


def _pipfile_lock(text: str, package: _Package) -> Iterator[str]:
    document = json.loads(text)
    for section in ("default", "develop"):
        for name, locked in document.get(section, {}).items():
            if name in package.names:
                yield locked["version"]


def _environment_yml(text: str, package: _Package) -> Iterator[str]:
    """conda's `- tensorflow=2.10`, which means the release as a whole, and what pip gets below `- pip:`."""
    for line in re.findall(r"^\s*-\s*[\"']?(?:[\w.-]+::)?([^\s#\"'][^#\"'\n]*)", text, re.MULTILINE):
        if match := re.fullmatch(r"([\w.-]+)\s*=\s*(\d[\d.]*\d|\d)(?:\.?\*)?(?:=\S+)?\s*", line):
            if match[1].lower() in package.names:
                yield f"=={match[2]}.*"
        else:
            yield from _specifiers([line], package)


# What is locked is what runs, so locks come first.
_READERS: tuple[tuple[str, _Reader], ...] = (
    ("uv.lock", _toml_lock),
    ("poetry.lock", _toml_lock),
    ("Pipfile.lock", _pipfile_lock),
    ("pyproject.toml", _pyproject),
    ("setup.cfg", _setup_cfg),
    ("setup.py", _setup_py),
    ("requirements*.txt", _requirements_txt),
    ("environment*.y*ml", _environment_yml),
)
_LOCKS = frozenset(["uv.lock", "poetry.lock", "Pipfile.lock"])
PINNING_FILES = tuple(pattern for pattern, _ in _READERS)
"""The files that may pin a version, as patterns of names."""
_BEGINNINGS = tuple(pattern.partition("*")[0] for pattern in PINNING_FILES)
