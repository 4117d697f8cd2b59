"""Texts as they become while somebody types: by chance, and the same each time."""

from __future__ import annotations

import random
from collections.abc import Iterator


def edited_again(text: str, seed: int, count: int) -> Iterator[str]:
    """A text, and then each time another one with a change in it; what was broken is taken back after a while."""
    chance = random.Random(seed)
    whole = text
    yield text
    for number in range(1, count):
        if number % 4 == 0:
            text = whole
        lines = text.splitlines(keepends=True)
        text = "".join(_changed(lines, chance, number))
        yield text


def _changed(lines: list[str], chance: random.Random, number: int) -> list[str]:
    start = chance.randrange(len(lines))
    end = start + chance.randrange(1, 6)
    before, some, after = lines[:start], lines[start:end], lines[end:]
    kind = chance.choice(["delete", "repeat", "insert", "comment", "change", "indent", "double"])
    if kind == "delete":
        return before + after
    if kind == "repeat":
        return before + some + some + after
    if kind == "insert":
        return [*before, f"x_{number} = {number}\n", *some, *after]
    if kind == "comment":
        return [*before, f"# {number}\n", *some, *after]
    if kind == "change":
        return [*before, *(line.replace("=", "= 1 +", 1) for line in some), *after]
    if kind == "indent":
        return [*before, *(f"    {line}" for line in some), *after]
    return [*lines, "\n", *lines]
