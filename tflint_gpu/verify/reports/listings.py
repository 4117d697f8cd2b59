"""The two programs of an experiment line by line, with what differs marked."""

from __future__ import annotations

from collections.abc import Iterator
from difflib import SequenceMatcher

from tflint_gpu.lazy_dataclasses import dataclass
from tflint_gpu.rule.experiment import HARNESS_PREFIX
from tflint_gpu.verify.slicing.extract import Pair


@dataclass(frozen=True, slots=True)
class Line:
    """A line without its end, and whether the other program has it too."""

    text: str
    differs: bool


@dataclass(frozen=True, slots=True)
class Listing:
    """One file of both programs."""

    name: str
    before: tuple[Line, ...]
    after: tuple[Line, ...]


def listings(pair: Pair) -> Iterator[Listing]:
    """The file that is run, and then the others that differ."""
    before, after = pair.before.files, pair.after.files
    entry = pair.before.entry
    for name in sorted(before.keys() | after.keys(), key=lambda name: (name != entry, name)):
        old, other = before.get(name, ""), after.get(name, "")
        if name == entry or (old != other and not name.startswith(HARNESS_PREFIX)):
            yield _listing(name, old.splitlines(), other.splitlines())


def _listing(name: str, before: list[str], after: list[str]) -> Listing:
    matches = SequenceMatcher(None, before, after, autojunk=False).get_matching_blocks()
    same_before = {row for match in matches for row in range(match.a, match.a + match.size)}
    same_after = {row for match in matches for row in range(match.b, match.b + match.size)}
    return Listing(
        name,
        tuple(Line(text, row not in same_before) for row, text in enumerate(before)),
        tuple(Line(text, row not in same_after) for row, text in enumerate(after)),
    )
