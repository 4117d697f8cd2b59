"""Methods of Python's containers."""

from __future__ import annotations

COMPUTING = frozenset(
    "zip len range enumerate list tuple dict set isinstance reversed sum min max abs map all any sorted".split()
)
"""Python's own functions that only compute, whatever they are given."""
CHANGES = frozenset(
    (
        "append appendleft extend extendleft insert add update setdefault pop popleft popitem remove discard clear "
        "sort reverse rotate move_to_end difference_update intersection_update symmetric_difference_update "
        "__setitem__ __delitem__ __iadd__ __ior__"
    ).split()
)
"""Methods that change a container in place."""
