"""What a search in bytes tells before anything is imported or parsed.

flake8 loads this at each start, so it imports nothing that a Python process does not have anyway.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator

_RULE_FILE = re.compile(r"(tfg\d{3})_\w+\.py")
_OPT_IN = re.compile(rb"^    opt_in\b[^=\n]*= *True\b", re.MULTILINE)


def mentions_tensorflow(data: bytes) -> bool:
    """Whether a file can have anything to do with us: the words are in it."""
    return b"tensorflow" in data or b"keras" in data


def opt_in_codes(folders: Iterable[str]) -> Iterator[str]:
    """The codes of the rules below some folders that run only when they are asked for by name.

    Arguments:
        folders: each has a folder a theme, which has a file a rule, called after its code.
    """
    for folder in folders:
        for theme in os.scandir(folder):
            if not theme.is_dir():
                continue
            for entry in os.scandir(theme.path):
                match = _RULE_FILE.fullmatch(entry.name)
                if match is not None and _OPT_IN.search(_read(entry.path)):
                    yield match[1].upper()


def _read(path: str) -> bytes:
    with open(path, "rb") as stream:  # noqa: PTH123
        return stream.read()
