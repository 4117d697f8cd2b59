"""Results of earlier checks, kept on disk and believed only while everything they rest on is unchanged.

One file holds the results of all files that share their settings' folder, and which file asked for which other one:
a file is looked at once, however many results rest on it. A file with the times, size and number that it had is taken
to hold the same bytes, unless it was written in the second before the results were: then, and if they differ, its
bytes are compared.
"""

from __future__ import annotations

import functools
import json
import os
import sys
from collections.abc import Iterable, Iterator
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

import tflint_gpu
from tflint_gpu.dependencies import Dependencies, Stamp, State, digest_of, stamp_from, stamp_of, state_of
from tflint_gpu.diagnostics import Diagnostic, Edit, Fix, Location, OnCpu, Prediction, Related
from tflint_gpu.lazy_dataclasses import dataclass
from tflint_gpu.lazy_patterns import regex
from tflint_gpu.plugins import installed_rules, wrong_names

DIRECTORY = ".tflint_gpu_cache"
_TAG = "Signature: 8a477f597d28d172789f06886806bc55\n# Made by tflint-gpu; it can be deleted.\n"
_LABELS = ((".gitignore", "# Made by tflint-gpu.\n*\n"), ("CACHEDIR.TAG", _TAG))
_RESULTS = regex(r"[0-9a-f]{32}\.json")
_DOUBTFUL = 1_000_000_000
"""Nanoseconds within which two changes of a file may get the same time."""


_NOTHING = "nothing"
"""In the place of a key: the file has nothing to do with TensorFlow."""


def clear(directory: Path) -> int:
    """Remove what any version of this program kept in a directory, and the directory if it then is empty.

    Returns:
        The number of files with results that were removed.

    Raises:
        OSError: something cannot be removed.
    """
    results = [path for path in directory.glob("*/*.json") if _RESULTS.fullmatch(path.name)]
    for path in results:
        path.unlink()
    ours = [directory / name for name, text in _LABELS if _has_text(directory / name, text)]
    for path in ours:
        path.unlink()
    for folder in (*{path.parent for path in results}, *([directory] if ours else [])):
        if not any(folder.iterdir()):
            folder.rmdir()
    return len(results)


def _has_text(path: Path, text: str) -> bool:
    return path.is_file() and path.read_bytes() == text.encode()


@functools.cache
def rules_fingerprint() -> str:
    """Changes whenever a file of this program does: a new rule must not meet old results."""
    parts = [f"{tflint_gpu.__version__} {sys.version_info[:3]}", *(wrong.mistake for wrong in wrong_names())]
    for place in _program_places():
        parts += [f"{path} {written} {size}" for path, (written, _, size, _) in sorted(_program_files(place))]
    return digest_of("\n".join(parts).encode("utf-8", "surrogateescape"))


def _program_files(directory: str) -> Iterator[tuple[str, Stamp]]:
    if (file := Path(directory)).is_file():
        yield directory, stamp_from(file.stat())
        return
    with os.scandir(directory) as scan:
        for entry in scan:
            if entry.is_dir():
                yield from _program_files(entry.path)
            elif entry.name.endswith((".py", ".toml")):
                yield entry.path, stamp_from(entry.stat())


def _program_places() -> list[str]:
    from importlib.util import find_spec

    places = [str(Path(tflint_gpu.__file__).parent)]
    others = sorted({rule.module.partition(".")[0] for rule in installed_rules()})
    for package in ("tflint_gpu.rules", "libcst", *others):
        spec = find_spec(package)
        if spec is not None and spec.submodule_search_locations:
            place = Path(next(iter(spec.submodule_search_locations)))
            # Of libcst, whose files are many, the version is enough: pip writes it into a name.
            places += [str(place)] if package != "libcst" else sorted(map(str, place.parent.glob("libcst-*.dist-info")))
        elif spec is not None and spec.origin is not None:
            places.append(spec.origin)
    return places


@dataclass(frozen=True, slots=True)
class Kept:
    """What is kept of a result, as `FileResult` has it."""

    diagnostics: tuple[Diagnostic, ...]
    used_suppressions: tuple[tuple[str, int], ...] = ()
    is_whole: bool = True
    bounds: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()


class Cache:
    """The results of the files of one folder, in a file of a directory.

    Arguments:
        directory: where to keep them.
        base: the folder.
    """

    def __init__(self, directory: Path, base: Path) -> None:
        self.directory = directory
        name = digest_of(os.fsencode(base))
        self._file = directory / tflint_gpu.__version__ / f"{name}.json"
        self._states: dict[str, State] = {}
        self._asked: dict[str, set[str]] = {}
        self._askers: dict[str, list[str]] | None = None
        self._entries: dict[str, tuple[str, Any]] = {}
        self._sound: set[str] = set()
        self._stale: set[str] = set()
        self._sure_until = 0
        self._is_new = False
        try:
            self._read()
        except (OSError, ValueError, TypeError, KeyError, IndexError, AttributeError, RecursionError):
            self._states, self._asked, self._entries = {}, {}, {}  # absent, or not (any more) what we wrote

    @classmethod
    def below(cls, configured: Path | None, base: Path) -> Cache:
        """The cache that the settings name, or the usual one next to the settings file."""
        return cls(configured or base / DIRECTORY, base)

    def load(self, path: str, key: str) -> Kept | None:
        """What is stored for a file under this key, if it and all files that the result rests on are unchanged."""
        known = self._entries.get(path)
        if known is None or known[0] != key or not self._is_sound(path):
            return None
        try:
            return known[1] if isinstance(known[1], Kept) else _kept(known[1])
        except (ValueError, TypeError, KeyError, AttributeError):
            return None

    def has_nothing(self, path: str) -> bool:
        """Whether a file is unchanged of which it is stored that it has nothing to do with TensorFlow."""
        known = self._entries.get(path)
        return known is not None and known[0] == _NOTHING and self._is_sound(path)

    def store(self, path: str, key: str, kept: Kept) -> None:
        """Keep a result, after `learn` got the file and what the result rests on."""
        self._put(path, (key, kept))

    def store_nothing(self, path: str) -> None:
        """Keep that a file has nothing to do with TensorFlow, after `learn` as before."""
        self._put(path, (_NOTHING, None))

    def learn(self, dependencies: Dependencies) -> None:
        """Take in what the results rest on that are stored next."""
        for path, state in dependencies.states.items():
            known = self._states.get(path)
            if known is not None and known.digest != state.digest:
                self._mark_changed(path)
            self._states[path] = state
        for path, asked in dependencies.asked.items():
            # What the file asked for earlier stays: results that are not checked again may rest on it.
            new = {*asked} - self._asked.setdefault(path, set())
            self._asked[path] |= new
            if self._askers is not None:
                for entry in new:
                    self._askers.setdefault(entry, []).append(path)
        self._is_new = True

    def write(self) -> None:
        """Keep all on the disk. A cache that cannot be written is no reason to complain."""
        if not self._is_new:
            return
        from tflint_gpu.text.replacement import replace_file

        entries = {path: entry for path, entry in self._entries.items() if path not in self._stale}
        entries = {path: entry for path, entry in entries.items() if self._held(path)}
        reached = self._reached(entries)
        numbers = {path: number for number, path in enumerate(reached)}
        edges = [
            (path, [dependency for dependency in self._asked.get(path, ()) if dependency in numbers])
            for path in reached
        ]
        content = {
            "made_by": rules_fingerprint(),
            "files": [[path, (state := self._states[path]).digest, state.stamp] for path in reached],
            "asked": [
                [numbers[path], sorted(numbers[dependency] for dependency in asked)] for path, asked in edges if asked
            ],
            "results": [[numbers[path], key, kept] for path, (key, kept) in entries.items() if path in numbers],
        }
        try:
            self._prepare(self._file.parent)
            written = json.dumps(content, default=_plain, separators=(",", ":")).encode("ascii")
            replace_file(self._file, _digest_of(written) + b"\n" + written)
        except (OSError, ValueError):
            return
        self._is_new = False

    def _read(self) -> None:
        data = self._file.read_bytes()
        self._sure_until = self._file.stat().st_mtime_ns - _DOUBTFUL
        digest, _, written = data.partition(b"\n")
        if digest != _digest_of(written):
            return
        content = json.loads(written)
        if content["made_by"] != rules_fingerprint():
            return
        files: list[str] = [path for path, _, _ in content["files"]]
        for path, digest, stamp in content["files"]:
            self._states[path] = State(digest, None if stamp is None else (stamp[0], stamp[1], stamp[2], stamp[3]))
        for number, asked in content["asked"]:
            self._asked[files[number]] = {files[other] for other in asked}
        for number, key, kept in content["results"]:
            self._entries[files[number]] = (key, kept)

    def _put(self, path: str, entry: tuple[str, Kept | None]) -> None:
        self._entries[path] = entry
        self._stale.discard(path)
        self._is_new = True

    def _is_sound(self, path: str) -> bool:
        """Whether a file and all that its result rests on, directly or through others, are as they were."""
        seen: set[str] = set()
        pending = [path]
        while pending:
            place = pending.pop()
            if place in self._stale:
                return False
            if place in seen or place in self._sound:
                continue
            if not self._is_unchanged(place):
                self._mark_changed(place)
                return False
            seen.add(place)
            pending += self._asked.get(place, ())
        self._sound |= seen
        return True

    def _is_unchanged(self, path: str) -> bool:
        known = self._states.get(path)
        if known is None:
            return False
        stamp = stamp_of(path)
        if stamp is not None and stamp == known.stamp and max(stamp[0], stamp[1]) < self._sure_until:
            return True
        if stamp is None and known.digest is None:
            return True
        now = self._states[path] = state_of(path)
        self._is_new |= now != known  # the next time its stamp will do
        return now.digest == known.digest

    def _mark_changed(self, path: str) -> None:
        """What rests on a file that changed is not to be believed until it is checked again."""
        if self._askers is None:
            self._askers = {}
            for asker, asked in self._asked.items():
                for place in asked:
                    self._askers.setdefault(place, []).append(asker)
        names: set[str] = set()
        pending = [path]
        while pending:
            place = pending.pop()
            if place not in names:
                names.add(place)
                pending += self._askers.get(place, ())
        self._stale |= names
        self._sound -= names
        self._asked.pop(path, None)

    def _reached(self, entries: Iterable[str]) -> list[str]:
        """The files with a result, and those that results rest on."""
        names: dict[str, None] = dict.fromkeys(entries)
        pending = list(names)
        while pending:
            for place in self._asked.get(pending.pop(), ()):
                if place not in names:
                    names[place] = None
                    pending.append(place)
        return [path for path in names if path in self._states]

    def _held(self, path: str) -> bool:
        """Whether there was a file when it was checked."""
        state = self._states.get(path)
        return state is not None and state.digest is not None

    def _prepare(self, directory: Path) -> None:
        if directory.is_dir():
            return
        directory.mkdir(parents=True, exist_ok=True)
        for name, text in _LABELS:
            if not (self.directory / name).exists():
                (self.directory / name).write_text(text)


def _plain(value: object) -> dict[str, Any]:
    """For JSON: what dataclasses have in their slots."""
    if not is_dataclass(value):
        raise TypeError(type(value))
    return {part.name: getattr(value, part.name) for part in fields(value)}


def _kept(item: dict[str, Any]) -> Kept:
    return Kept(
        tuple(_diagnostic(entry) for entry in item["diagnostics"]),
        tuple((name, offset) for name, offset in item["used_suppressions"]),
        item["is_whole"],
        tuple(item["bounds"]),
        tuple(item["warnings"]),
    )


def _digest_of(written: bytes) -> bytes:
    """Stands before what is written: a disk may keep something else."""
    return digest_of(written).encode()


def _diagnostic(item: dict[str, Any]) -> Diagnostic:
    prediction, fix = item["prediction"], item["fix"]
    return Diagnostic(
        **{
            **item,
            "location": Location(**item["location"]),
            "end_location": Location(**item["end_location"]),
            "prediction": prediction and _prediction(prediction),
            "related": tuple(Related(**_with_locations(related)) for related in item["related"]),
            "fix": fix
            and Fix(
                fix["message"],
                fix["applicability"],
                tuple(Edit(**_with_locations(edit)) for edit in fix["edits"]),
                tuple(fix["defines"]),
            ),
        }
    )


def _prediction(item: dict[str, Any]) -> Prediction:
    on_cpu = item["on_cpu"]
    return Prediction(**{**item, "applies": tuple(item["applies"]), "on_cpu": on_cpu and OnCpu(**on_cpu)})


def _with_locations(item: dict[str, Any]) -> dict[str, Any]:
    return {
        **item,
        "location": Location(**item["location"]),
        "end_location": Location(**item["end_location"]),
    }
