"""Which files of a run need no check, because what came of an earlier one is known."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import field, fields
from pathlib import Path

from tflint_gpu.checking.cache import Cache, Kept
from tflint_gpu.checking.engine import Engine, FileResult
from tflint_gpu.dependencies import Dependencies, State, digest_of, stamp_of, state_of
from tflint_gpu.lazy_dataclasses import dataclass
from tflint_gpu.settings.files import FileToCheck
from tflint_gpu.text.import_search import Asked, ImportSearch


@dataclass(frozen=True, slots=True)
class Known:
    """Looks results up, and keeps new ones.

    Arguments:
        engine: knows which rules and which TensorFlow a file is checked for, and whether results may be kept.
    """

    engine: Engine
    _caches: dict[Path, Cache] = field(default_factory=dict)
    _keys: dict[object, str] = field(default_factory=dict)

    def told_apart(self, files: Iterable[FileToCheck]) -> tuple[list[FileResult], list[FileToCheck]]:
        """The results that are known, and the files that are worth a check; others have nothing to do with us."""
        results: list[FileResult] = []
        rest: list[FileToCheck] = []
        imports = ImportSearch()
        for file in files:
            cache = self._cache_for(file)
            path = str(file.path)
            if cache is not None and cache.has_nothing(path):
                continue
            kept = None if cache is None else cache.load(path, self._key(file))
            if kept is not None:
                result = FileResult(file, **{field.name: getattr(kept, field.name) for field in fields(Kept)})
                results.append(self.engine.wanted(result))
            elif _matters(file, cache, imports):
                rest.append(file)
        return results, rest

    def keep(self, results: Sequence[FileResult], dependencies: Dependencies) -> None:
        """Remember what came of a check, and what that rests on."""
        for known in self._caches.values():
            known.learn(dependencies)
        for result in results:
            cache = self._cache_for(result.file)
            # Without a state the result is not of the file's bytes: they could not be read, or the parser crashed.
            is_of_bytes = str(result.file.path) in dependencies.states
            if cache is not None and is_of_bytes and not result.errors:
                kept = Kept(**{field.name: getattr(result, field.name) for field in fields(Kept)})
                cache.store(str(result.file.path), self._key(result.file), kept)

    def write(self) -> None:
        """Put on the disk what is new."""
        for cache in self._caches.values():
            cache.write()

    def _cache_for(self, file: FileToCheck) -> Cache | None:
        """None where results must not be kept: other rules than the catalogue's, standard input."""
        engine = self.engine
        if not engine.use_cache or engine.rules is not None or engine.ignore_noqa or file.content is not None:
            return None
        base = file.settings.base
        if base not in self._caches:
            self._caches[base] = Cache.below(file.settings.cache_dir, base)
        return self._caches[base]

    def _key(self, file: FileToCheck) -> str:
        """Everything that a result depends on, except files."""
        selected, target = self.engine.selected(file.path), self.engine.target_for(file)
        question = id(selected), target, file.root
        if question not in self._keys:
            asked = target, str(file.root), self.engine.tries_fixes
            circumstances = repr((sorted(selected.codes), sorted(selected.by_full_code), *asked))
            self._keys[question] = digest_of(circumstances.encode("utf-8", "surrogatepass"))
        return f"{self._keys[question]} {file.name}"


def _matters(file: FileToCheck, cache: Cache | None, imports: ImportSearch) -> bool:
    """Whether a file is worth a check; a cache learns on which files that rests."""
    path = str(file.path)
    stamp = None if cache is None else stamp_of(path)
    asked: Asked = {}
    try:
        data = file.read()
    except OSError:
        return True  # the engine says why
    matters = file.may_matter(data, imports, asked)
    if cache is not None:
        states = {place: state_of(place) for place in {*asked}.union(*asked.values())}
        states[path] = State(digest_of(data), stamp)
        cache.learn(Dependencies(asked, states))
        if not matters:
            cache.store_nothing(path)
    return matters
