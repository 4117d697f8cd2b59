"""What the extra `dev` brings, for whoever has installed less: the extra `test`."""

from __future__ import annotations

import re
from functools import cache
from importlib.metadata import PackageNotFoundError, distribution, requires

__all__ = ["absent_module", "is_dev_installed"]

_ABSENT = re.compile(r"ModuleNotFoundError: No module named '([\w.]+)'")
_OF_DEV = re.compile(r"([\w.-]+)[^;]*;\s*extra == ['\"]dev['\"]")


def absent_module(error: str) -> str | None:
    """The module that is not there, by the text of an error of an import; None for other errors."""
    named = _ABSENT.search(error)
    return named[1] if named is not None else None


@cache
def is_dev_installed() -> bool:
    """Whether every package of the extra is there."""
    names = [named[1] for requirement in requires("tflint-gpu") or () if (named := _OF_DEV.match(requirement))]
    try:
        return all(distribution(name) for name in names)
    except PackageNotFoundError:
        return False
