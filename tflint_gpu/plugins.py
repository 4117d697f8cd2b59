"""Rules of others: what installed packages name under the entry point `tflint_gpu.rules`; nothing is imported here.

A package is installed if its metadata lie on Python's path, except in the working directory: `python -m` adds that, and
what is checked must not be run.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

from tflint_gpu.lazy_dataclasses import dataclass
from tflint_gpu.lazy_patterns import regex

GROUP = "tflint_gpu.rules"
OURS = "TFG"
"""How the codes of our own rules begin."""
_NAME = regex(r"([a-z]{2,8}\d{3})_([a-z0-9_]+?)(__opt_in)?")
_METADATA = (".dist-info", ".egg-info")


class WrongPlugin(Exception):
    """A package that names its rules in a way in which they cannot be used."""


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


def installed_rules() -> Iterator[InstalledRule]:
    """The rules of all installed packages.

    Raises:
        WrongPlugin: a package names one in another way than it must, or two name the same code.
    """
    metadata = list(_metadata_that_mention())
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
                raise WrongPlugin(
                    f"the installed package {package} names a rule {point.name!r} = {point.value!r}; it must be like "
                    f"`abc101_name_of_rule = package.module`, and {OURS} is for the rules of tflint-gpu; "
                    "fix or uninstall it"
                )
            code = match[1].upper()
            other = owners.setdefault(code, package)
            if other != package:
                raise WrongPlugin(f"the installed packages {other} and {package} both name {code}; uninstall one")
            yield InstalledRule(code, match[2].replace("_", "-"), match[3] is not None, point.value, package)


def _metadata_that_mention() -> Iterator[Path]:
    """The metadata of packages that name rules. Their bytes are searched: to parse all takes ten times as long."""
    here = os.path.realpath(".")
    for place in dict.fromkeys(sys.path):
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
