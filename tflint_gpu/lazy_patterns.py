"""Regular expressions that are compiled when they are first used.

A check of one file imports a hundred of them, which takes a twentieth of its time, and uses twenty.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

__all__ = ["regex"]

if TYPE_CHECKING:
    from re import compile as regex
else:

    class regex:  # noqa: N801  # to type checkers it is the function above
        """What `re.compile` gives, asked for when an attribute of it is."""

        def __init__(self, text: str | bytes, flags: int = 0) -> None:
            self._given = text, flags

        def __getattr__(self, name: str) -> Any:
            if name.startswith("_"):  # who copies it asks for methods that nothing has
                raise AttributeError(name)
            value = self.__dict__[name] = getattr(re.compile(*self._given), name)
            return value
