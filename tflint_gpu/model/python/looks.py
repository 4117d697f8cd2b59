"""A first look at a file and at what it reaches, before libcst parses anything: which code may run from where."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

from tflint_gpu.model.python.sketches import Region, Sketch


@dataclass(frozen=True, slots=True)
class Place:
    """A region of one of the files that a look sees."""

    sketch: Sketch
    region: Region


class Look:
    """A first look at a file, and at those of the project that its imports reach.

    Arguments:
        own: the sketch of the file.
        near: gives the sketches of the others.
    """

    def __init__(self, own: Sketch, near: Callable[[], Collection[Sketch]]) -> None:
        self.own = own
        self._near = near

    @cached_property
    def near(self) -> Collection[Sketch]:
        """The sketches of the files that its imports reach."""
        return self._near()

    @cached_property
    def all(self) -> list[Sketch]:
        """Its sketch and theirs."""
        return [self.own, *self.near]

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
