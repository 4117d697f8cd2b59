"""Results of earlier checks, kept on disk and believed only while everything they rest on is unchanged."""

from __future__ import annotations

import contextlib
import functools
import hashlib
import json
import os
import sys
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import tflint_gpu
from tflint_gpu.diagnostics import Diagnostic, Edit, Fix, Location, Prediction, Related
from tflint_gpu.plugins import installed_rules

DIRECTORY = ".tflint_gpu_cache"
_TAG = "Signature: 8a477f597d28d172789f06886806bc55\n# Made by tflint-gpu; it can be deleted.\n"


Silencer = tuple[str, int]
"""A code in a comment that silenced a finding: the name of its file, and where it starts in the text."""


@functools.cache
def rules_fingerprint() -> str:
    """Changes whenever a file of this program does: a new rule must not meet old results."""
    digest = hashlib.blake2b(digest_size=16)
    digest.update(f"{tflint_gpu.__version__} {sys.version_info[:3]}".encode())
    for place in _program_places():
        below = (path for ending in ("py", "toml") for path in place.rglob(f"*.{ending}"))
        for path in [place] if place.is_file() else sorted(below):
            status = path.stat()
            digest.update(f"{path} {status.st_mtime_ns} {status.st_size}\n".encode())
    return digest.hexdigest()


def _program_places() -> list[Path]:
    from importlib.util import find_spec

    found = [Path(tflint_gpu.__file__).parent]
    others = sorted({rule.module.partition(".")[0] for rule in installed_rules()})
    for package in ("tflint_gpu.rules", "libcst", *others):
        spec = find_spec(package)
        if spec is not None and spec.submodule_search_locations:
            place = Path(next(iter(spec.submodule_search_locations)))
            # Of libcst, whose files are many, the version is enough: pip writes it into a name.
            found += [place] if package != "libcst" else sorted(place.parent.glob("libcst-*.dist-info"))
        elif spec is not None and spec.origin is not None:
            found.append(Path(spec.origin))
    return found


@dataclass(frozen=True, slots=True)
class Kept:
    """What is kept of a result, as `FileResult` has it."""

    diagnostics: tuple[Diagnostic, ...]
    silencers: tuple[Silencer, ...] = ()
    is_whole: bool = True


@dataclass(frozen=True, slots=True)
class Cache:
    """A directory with one JSON file for each file checked, overwritten when the file or its settings change."""

    directory: Path

    @classmethod
    def below(cls, configured: Path | None, base: Path) -> Cache:
        """The cache that the settings name, or the usual one beside the settings file."""
        return cls(configured or base / DIRECTORY)

    @staticmethod
    def key(data: bytes, *circumstances: object) -> str:
        """A name for everything that a result depends on, except other files."""
        digest = hashlib.blake2b(data, digest_size=20)
        digest.update(b"\0" + repr(circumstances).encode("utf-8", "surrogatepass"))
        return digest.hexdigest()

    def load(self, file: Path, key: str) -> Kept | None:
        """What is stored for a file under this key, if all other files it rests on are unchanged."""
        try:
            digest, _, written = self._path(file).read_bytes().partition(b"\n")
            if digest != _digest_of(written):
                return None
            entry = json.loads(written)
            if entry["key"] != key:
                return None
            for path, digest in entry["consulted"].items():
                if file_digest(Path(path)) != digest:
                    return None
            silencers = tuple((name, offset) for name, offset in entry["silencers"])
            return Kept(tuple(_diagnostic(item) for item in entry["diagnostics"]), silencers, entry["is_whole"])
        except (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError):
            return None  # absent, or not (any more) what we wrote

    def store(self, file: Path, key: str, kept: Kept, consulted: dict[Path, bytes | None]) -> None:
        """Keep a result. A cache that cannot be written is no reason to complain."""
        entry = {
            "key": key,
            "consulted": {str(path): None if digest is None else digest.hex() for path, digest in consulted.items()},
            **asdict(kept),
        }
        path = self._path(file)
        temporary = ""
        try:
            self._prepare(path.parent)
            handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=".new-")
            with os.fdopen(handle, "wb") as stream:
                written = json.dumps(entry).encode()
                stream.write(_digest_of(written) + b"\n" + written)
            Path(temporary).replace(path)
        except (OSError, ValueError):
            if temporary:
                with contextlib.suppress(OSError):
                    Path(temporary).unlink()

    def _path(self, file: Path) -> Path:
        name = hashlib.blake2b(os.fsencode(file), digest_size=16).hexdigest()
        return self.directory / tflint_gpu.__version__ / name[:2] / f"{name[2:]}.json"

    def _prepare(self, directory: Path) -> None:
        if directory.is_dir():
            return
        directory.mkdir(parents=True, exist_ok=True)
        for name, text in ((".gitignore", "# Made by tflint-gpu.\n*\n"), ("CACHEDIR.TAG", _TAG)):
            if not (self.directory / name).exists():
                (self.directory / name).write_text(text)


def file_digest(path: Path) -> str | None:
    """The digest of a file that a check consulted, as `Project.consulted` has it; None if absent."""
    try:
        return hashlib.blake2b(path.read_bytes(), digest_size=16).hexdigest()
    except OSError:
        return None


def _digest_of(written: bytes) -> bytes:
    """Stands before an entry: a disk may keep something else than what was written."""
    return hashlib.blake2b(written, digest_size=16).hexdigest().encode()


def _diagnostic(item: dict[str, Any]) -> Diagnostic:
    prediction, fix = item["prediction"], item["fix"]
    return Diagnostic(
        **{
            **item,
            "location": Location(**item["location"]),
            "end_location": Location(**item["end_location"]),
            "prediction": prediction and Prediction(**{**prediction, "applies": tuple(prediction["applies"])}),
            "related": tuple(Related(**_with_locations(related)) for related in item["related"]),
            "fix": fix
            and Fix(
                fix["message"],
                fix["applicability"],
                tuple(Edit(**_with_locations(edit)) for edit in fix["edits"]),
            ),
        }
    )


def _with_locations(item: dict[str, Any]) -> dict[str, Any]:
    return {
        **item,
        "location": Location(**item["location"]),
        "end_location": Location(**item["end_location"]),
    }
