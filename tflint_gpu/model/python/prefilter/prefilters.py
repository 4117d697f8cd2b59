"""Prefilters of rules: what the summaries of a file and of its imports show before libcst parses anything."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeAlias, TypeVar

from tflint_gpu.lazy_dataclasses import dataclass
from tflint_gpu.model.python.prefilter.file_summaries import FileSummary, Region


@dataclass(frozen=True, slots=True)
class FileRegion:
    """A region of one of the files in a prefilter's scope."""

    summary: FileSummary
    region: Region


_T = TypeVar("_T")


class Lazy(Iterable[_T]):
    """What an iterator gives, as often as it is asked for, and no sooner."""

    def __init__(self, more: Iterator[_T]) -> None:
        self._more = more
        self._kept: list[_T] = []

    def __iter__(self) -> Iterator[_T]:
        index = 0
        while True:
            if index == len(self._kept):
                try:
                    self._kept.append(next(self._more))
                except StopIteration:
                    return
            yield self._kept[index]
            index += 1


class PrefilterScope:
    """What a prefilter sees: a file, and those of the project that its imports reach.

    Arguments:
        own: the summary of the file.
        near: the summaries of the others; each is made when it is needed.
        functions: gives the functions of the others, by their names.
    """

    def __init__(
        self,
        own: FileSummary,
        near: Iterable[FileSummary] = (),
        functions: Callable[[], FunctionsByName] | None = None,
    ) -> None:
        self.own = own
        self.near: Iterable[FileSummary] = Lazy(iter(near))
        self._found: dict[str, Lazy[Any]] = {}
        self._functions = functions or (lambda: functions_by_name(self.near))
        self._by_name: FunctionsByName | None = None

    @property
    def all(self) -> Iterator[FileSummary]:
        """Its summary, then theirs: a prefilter that is decided by the first needs no other."""
        yield self.own
        yield from self.near

    def any(self, fact: Callable[[FileSummary], bool]) -> bool:
        """Whether a test holds for one of them."""
        return any(summary.holds(fact) for summary in self.all)

    def shared_search(self, what: str, search: Callable[[], Iterator[_T]]) -> Lazy[_T]:
        """What a search finds, for several prefilters: it goes on from where the last one had enough."""
        if what not in self._found:
            self._found[what] = Lazy(search())
        return self._found[what]

    def close(self) -> None:
        """Drop what was found: a search that did not end and this scope hold each other, and both the project."""
        self._found.clear()
        self._by_name = None
        self._functions = dict
        self.near = ()

    def reached(self, regions: Iterable[Region], words: Iterable[str] = ()) -> Iterator[FileRegion]:
        """Some regions of the file, and all functions whose names are in one of them, or among some words, and so on.

        The functions of the file come first, so that a search that ends in them needs no other file.
        """
        seen: set[int] = set()
        known_words: set[str] = set(words)
        for region in regions:
            seen.add(id(region))
            known_words |= region.words
            yield FileRegion(self.own, region)
        for in_file_alone in (True, False):
            new_words = set(known_words)
            while new_words:
                reached = self._own_called(new_words) if in_file_alone else self._called(new_words)
                reached = [code for code in reached if id(code.region) not in seen]
                reached = list({id(code.region): code for code in reached}.values())
                seen.update(id(code.region) for code in reached)
                yield from reached
                new_words = set().union(*(code.region.words for code in reached)) - known_words
                known_words |= new_words

    def _own_called(self, words: set[str]) -> list[FileRegion]:
        by_name = self.own.by_name
        return [FileRegion(self.own, region) for name in by_name.keys() & words for region in by_name[name]]

    def _called(self, words: set[str]) -> list[FileRegion]:
        if self._by_name is None:
            self._by_name = self._functions()
        elsewhere = (code for name in self._by_name.keys() & words for code in self._by_name[name])
        return [*self._own_called(words), *elsewhere]


def functions_by_name(summaries: Iterable[FileSummary]) -> FunctionsByName:
    """The functions of some files, by their names."""
    functions: FunctionsByName = {}
    for summary in summaries:
        for name, regions in summary.by_name.items():
            functions.setdefault(name, []).extend([FileRegion(summary, region) for region in regions])
    return functions


FunctionsByName: TypeAlias = dict[str, list[FileRegion]]
Prefilter: TypeAlias = Callable[[PrefilterScope], bool]
"""A test of a rule: whether there may be something for it in the file; False only if there must be nothing."""
