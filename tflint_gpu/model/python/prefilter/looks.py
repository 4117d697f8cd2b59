"""A first look at a file and at what it reaches, before libcst parses anything: which code may run from where."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias, TypeVar

from tflint_gpu.model.python.prefilter.sketches import Region, Sketch


@dataclass(frozen=True, slots=True)
class Place:
    """A region of one of the files that a look sees."""

    sketch: Sketch
    region: Region


_T = TypeVar("_T")


class Found(Iterable[_T]):
    """What an iterator gives, as often as it is asked for, and no sooner."""

    def __init__(self, more: Iterator[_T]) -> None:
        self._more = more
        self._kept: list[_T] = []

    def __iter__(self) -> Iterator[_T]:
        place = 0
        while True:
            if place == len(self._kept):
                try:
                    self._kept.append(next(self._more))
                except StopIteration:
                    return
            yield self._kept[place]
            place += 1


class Look:
    """A first look at a file, and at those of the project that its imports reach.

    Arguments:
        own: the sketch of the file.
        near: the sketches of the others; each is asked for when it is needed.
    """

    def __init__(self, own: Sketch, near: Iterable[Sketch] = ()) -> None:
        self.own = own
        self.near: Iterable[Sketch] = Found(iter(near))
        self._found: dict[str, Found[Any]] = {}

    @property
    def all(self) -> Iterator[Sketch]:
        """Its sketch, then theirs: a question that is answered by the first asks for no other."""
        yield self.own
        yield from self.near

    def any(self, fact: Callable[[Sketch], bool]) -> bool:
        """Whether something is so in one of them."""
        return any(sketch.holds(fact) for sketch in self.all)

    def found(self, what: str, search: Callable[[], Iterator[_T]]) -> Found[_T]:
        """What a search finds, which several questions ask for: it goes on from where the last one had enough."""
        if what not in self._found:
            self._found[what] = Found(search())
        return self._found[what]

    def close(self) -> None:
        """Drop what was found: a search that did not end and the look hold each other, and both the project."""
        self._found.clear()
        self.near = ()

    def reached(self, regions: Iterable[Region], words: Iterable[str] = ()) -> Iterator[Place]:
        """Some regions of the file, and all functions whose names stand in one of them, or among some words, and so on.

        The functions of the file come first, so that who finds what he looks for in them asks for no other file.
        """
        seen: set[int] = set()
        heard: set[str] = set(words)
        for region in regions:
            seen.add(id(region))
            heard |= region.words
            yield Place(self.own, region)
        fresh = set(heard)
        while fresh:  # first in the file alone
            found = list(self._called(self.own, fresh, seen))
            yield from found
            fresh = {word for place in found for word in place.region.words} - heard
            heard |= fresh
        fresh = set(heard)
        while fresh:
            found = [place for sketch in self.all for place in self._called(sketch, fresh, seen)]
            yield from found
            fresh = {word for place in found for word in place.region.words} - heard
            heard |= fresh

    @staticmethod
    def _called(sketch: Sketch, words: set[str], seen: set[int]) -> Iterator[Place]:
        by_name = sketch.by_name
        for name in by_name.keys() & words:
            for region in by_name[name]:
                if id(region) not in seen:
                    seen.add(id(region))
                    yield Place(sketch, region)


Question: TypeAlias = Callable[[Look], bool]
"""What a rule asks of a first look: whether there may be something for it in the file."""
