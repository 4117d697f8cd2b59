"""Rules of others: what installed packages name under the entry point `tflint_gpu.rules`; nothing is imported here.

A package is installed if its metadata lie on Python's path, except in the working directory: `python -m` adds that, and
what is checked must not be run.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path

from tflint_gpu.lazy_dataclasses import dataclass
from tflint_gpu.lazy_patterns import regex

GROUP = "tflint_gpu.rules"
OURS = "TFG"
"""How the codes of our own rules begin."""
_NAME = regex(r"([a-z]{2,8}\d{3})_([a-z0-9_]+?)(__opt_in)?")
_METADATA = (".dist-info", ".egg-info")


class WrongPlugin(Exception):
    """A rule of a package that cannot be imported."""


@dataclass(frozen=True, slots=True)
class InstalledRule:
    """A rule that a package names.

    Arguments:
        code, name, opt_in: read from the entry point's name, which is written as the name of a rule's file.
        module: to import when the rule is to run.
        package: as its metadata call it.
    """

    code: str
    name: str
    opt_in: bool
    module: str
    package: str


@dataclass(frozen=True, slots=True)
class WrongName:
    """A rule that a package names in a way in which it cannot be used; all other rules go on.

    Arguments:
        package: as its metadata call it.
        mistake: what is wrong, as a sentence that begins with the package as `it`.
    """

    package: str
    mistake: str


def installed_rules() -> Iterator[InstalledRule]:
    """The rules of all installed packages that can be used; of two with one code the first."""
    yield from (rule for rule in _named_rules() if isinstance(rule, InstalledRule))


def wrong_names() -> Iterator[WrongName]:
    """What installed packages name so that it cannot be used."""
    yield from (rule for rule in _named_rules() if isinstance(rule, WrongName))


def _named_rules() -> tuple[InstalledRule | WrongName, ...]:
    return _read_names(os.path.realpath("."), tuple(dict.fromkeys(sys.path)))


@cache
def _read_names(here: str, places: tuple[str, ...]) -> tuple[InstalledRule | WrongName, ...]:
    return tuple(_names_in(list(_metadata_that_mention(here, places))))


def _names_in(metadata: Sequence[Path]) -> Iterator[InstalledRule | WrongName]:
    if not metadata:
        return
    from importlib.metadata import Distribution  # takes milliseconds; most have no rules of others

    owners: dict[str, str] = {}
    for folder in metadata:
        distribution = Distribution.at(folder)
        package = distribution.metadata["Name"]
        for point in distribution.entry_points:
            if point.group != GROUP:
                continue
            match = _NAME.fullmatch(point.name)
            if match is None or match[1].upper().startswith(OURS) or not point.value.replace(".", "_").isidentifier():
                yield WrongName(
                    package,
                    f"it names a rule {point.name!r} = {point.value!r}; it must be like "
                    f"`abc101_name_of_rule = package.module`, and {OURS} is for the rules of tflint-gpu; "
                    "fix or uninstall it",
                )
                continue
            code = match[1].upper()
            other = owners.setdefault(code, package)
            if other == package:
                yield InstalledRule(code, match[2].replace("_", "-"), match[3] is not None, point.value, package)
            else:
                yield WrongName(package, f"it names {code}, and so does the package {other}; uninstall one")


def _metadata_that_mention(here: str, places: Sequence[str]) -> Iterator[Path]:
    """The metadata of packages that name rules. Their bytes are searched: to parse all takes ten times as long."""
    for place in places:
        if os.path.realpath(place) == here:
            continue
        try:
            names = sorted(entry.name for entry in os.scandir(place) if entry.name.endswith(_METADATA))
        except OSError:  # a zip file, or nothing
            continue
        for name in names:
            try:
                with open(f"{place}/{name}/entry_points.txt", "rb") as file:  # noqa: PTH123 (twice as fast)
                    data = file.read()
            except OSError:
                continue
            if GROUP.encode() in data:
                yield Path(place, name)
