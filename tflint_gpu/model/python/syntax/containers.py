"""Methods of Python's containers."""

from __future__ import annotations

CHANGES = frozenset(
    (
        "append appendleft extend insert add update setdefault pop popleft popitem remove discard clear sort reverse"
    ).split()
)
"""Methods that change a container in place."""
