"""Which rules there are, by the names of their files: nothing is imported."""

from __future__ import annotations

import importlib
import os
import re
from functools import cache
from pathlib import Path
from typing import Any

from tflint_gpu.lazy_dataclasses import dataclass
from tflint_gpu.lazy_patterns import regex
from tflint_gpu.plugins import OURS, installed_rules

UNREADABLE_FILE, UNUSED_SUPPRESSION = "TFG000", "TFG001"
"""What the engine itself reports."""
_RULE_FILE = regex(r"(tfg\d{3})_(\w+?)(__opt_in)?\.py")
_ROW = regex(r'^\[(TFG\d{3})\]\nname = "([^"]+)"$', re.MULTILINE)


@dataclass(frozen=True, slots=True)
class RuleEntry:
    """A rule as the file system shows it: known without importing the rule or libcst."""

    code: str
    name: str
    theme: str
    module: str
    opt_in: bool = False


@cache
def entries() -> tuple[RuleEntry, ...]:
    """All rules, by code.

    A rule's file is called after its code and name: `tfg101_numpy_in_call.py`. Rules that differ only in data are rows
    of a table, `renames.toml`, from which the module next to it, `renames.py`, makes its `RULES`. The rules of
    installed packages are added; their theme is the package's name.
    """
    package = importlib.import_module("tflint_gpu.rules")
    entries = []
    for theme in (entry for place in package.__path__ for entry in os.scandir(place) if entry.is_dir()):
        for file in os.scandir(theme.path):
            dotted = f"tflint_gpu.rules.{theme.name}.{file.name.rpartition('.')[0]}"
            if match := _RULE_FILE.fullmatch(file.name):
                code, name = match[1].upper(), match[2].replace("_", "-")
                entries.append(RuleEntry(code, name, theme.name, dotted, match[3] is not None))
            elif file.name.endswith(".toml"):
                # A TOML parser is imported for a rule of the table only.
                rows = _ROW.findall(Path(file.path).read_text("utf-8"))
                entries += (RuleEntry(code, name, theme.name, dotted) for code, name in rows)
    entries += (RuleEntry(rule.code, rule.name, rule.package, rule.module, rule.opt_in) for rule in installed_rules())
    return tuple(sorted(entries, key=lambda entry: entry.code))


def with_package(code: str) -> str:
    """A code, and for a rule of others the package that brings it: `ACM101 of the package acme-rules`."""
    packages = (entry.theme for entry in entries() if entry.code == code and not code.startswith(OURS))
    return " of the package ".join([code, *packages])


@cache
def rule_words() -> frozenset[str]:
    """The codes and names of all rules, such as `TFG101` and `numpy-in-call`."""
    return frozenset(word for entry in entries() for word in (entry.code, entry.name))


@cache
def table_of(path: Path) -> dict[str, dict[str, Any]]:
    """The rules of a table, by code: each has a `name`, and what else its module makes a rule of."""
    from tflint_gpu.text.toml import loads

    return loads(path.read_text("utf-8"))
