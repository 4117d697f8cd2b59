"""How names are written that differ in a part: `{a,b}.c` stands for `a.c` and `b.c`, `a{,_b}` for `a` and `a_b`."""

from __future__ import annotations

from collections.abc import Iterator


def spelled(patterns: str) -> frozenset[str]:
    """All the names that patterns stand for."""
    return frozenset(name for pattern in patterns.split() for name in names_of(pattern))


def names_of(pattern: str) -> Iterator[str]:
    """The names that one pattern stands for, in its order."""
    head, brace, rest = pattern.partition("{")
    if not brace:
        yield pattern
        return
    parts, _, tail = rest.partition("}")
    for part in parts.split(","):
        yield from names_of(f"{head}{part}{tail}")
