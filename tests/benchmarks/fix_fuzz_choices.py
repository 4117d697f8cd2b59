"""What the grammars of the fuzzer of fixes draw their programs with."""

from __future__ import annotations

import random
import textwrap
from collections.abc import Mapping
from typing import TypeVar

_Option = TypeVar("_Option")


class Choices:
    """What a program is made of: each choice has a label, and is drawn from the seed and that label alone.

    Arguments:
        seed: of all draws.
        version: of TensorFlow.
        plainest: the labels of which the first option is taken.
    """

    def __init__(self, seed: str, version: str = "2.21", plainest: frozenset[str] = frozenset()) -> None:
        self.seed, self.version, self._plainest = seed, version, plainest
        self._made: dict[str, str] = {}

    def one(self, label: str, *options: _Option) -> _Option:
        """One of some options, the plainest of which is the first."""
        index = 0 if label in self._plainest else random.Random(f"{self.seed}-{label}").randrange(len(options))
        if options[index] == options[0]:
            self._made.pop(label, None)
        else:
            self._made[label] = str(options[index])
        return options[index]

    def special(self) -> Mapping[str, str]:
        """The choices that were made and are not the plainest."""
        return dict(self._made)

    def plain(self, label: str) -> Choices:
        """The same choices, but for one label the plainest."""
        return Choices(self.seed, self.version, self._plainest | {label})


def indented(text: str, depth: int = 1) -> str:
    return textwrap.indent(text, "    " * depth)
