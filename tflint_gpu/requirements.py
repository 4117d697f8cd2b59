"""What must be in a file for a rule to find something there, known of our own rules without importing them.

A rule imports libcst and the analyses that it asks: most of the time that a small file takes, and most rules are ruled
out by the file's bytes. So `rules/requirements.json` repeats what the rules' classes say, and

    python -m tflint_gpu.requirements > rules/requirements.json

writes it. A rule that is not in it, or whose file is another one than then, is imported as before.
"""

from __future__ import annotations

import json
import sys
import zlib
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tflint_gpu.catalogue import RuleEntry, entries
from tflint_gpu.lazy_dataclasses import dataclass
from tflint_gpu.plugins import OURS

if TYPE_CHECKING:
    from tflint_gpu.rule import Rule

_FILE = "requirements.json"
_OF_RULES = "tflint_gpu.rules."
_FLAGS = ("loops_nearby", "skips_tests", "needs_gpu_memory")


@dataclass(frozen=True, slots=True)
class Requirements:
    """What a rule says of the files in which it may find something; as the attributes of `Rule` of the same names."""

    code: str
    opt_in: bool
    least_tensorflow: tuple[int, int]
    required_substrings: tuple[tuple[bytes, ...], ...]
    nearby_substrings: tuple[bytes, ...]
    loops_nearby: bool
    skips_tests: bool
    needs_gpu_memory: bool

    @classmethod
    def read(cls, entry: RuleEntry, said: Mapping[str, Any]) -> Requirements:
        """What the file says of a rule."""
        major, minor = said.get("least_tensorflow", (0, 0))
        return cls(
            entry.code,
            entry.opt_in,
            (major, minor),
            tuple(map(_substrings, said.get("required_substrings", ()))),
            _substrings(said.get("nearby_substrings", ())),
            "loops_nearby" in said,
            "skips_tests" in said,
            "needs_gpu_memory" in said,
        )


@cache
def known_requirements() -> dict[str, Requirements]:
    """The requirements of our rules by code, as far as they are known and the rules' files are still the same."""
    folder = Path(import_module("tflint_gpu.rules").__path__[0])
    try:
        said = json.loads((folder / _FILE).read_text("utf-8"))
    except (OSError, ValueError):
        return {}
    digests: dict[str, int] = {}
    known = {}
    for entry in entries():
        if entry.code in said and entry.module.startswith(_OF_RULES):
            if entry.module not in digests:
                digests[entry.module] = _digest(folder, entry)
            if said[entry.code]["digest"] == digests[entry.module]:
                known[entry.code] = Requirements.read(entry, said[entry.code])
    return known


def written(rules: Iterable[Rule]) -> str:
    """The file for some rules; those of others are left out."""
    folder = Path(import_module("tflint_gpu.rules").__path__[0])
    by_code = {entry.code: entry for entry in entries()}
    ours = [rule for rule in rules if rule.code.startswith(OURS)]
    said = {rule.code: {"digest": _digest(folder, by_code[rule.code]), **_said_by(rule)} for rule in ours}
    lines = [f" {json.dumps(code)}: {json.dumps(what)}" for code, what in said.items()]
    return "{\n" + ",\n".join(lines) + "\n}\n"


def _said_by(rule: Rule) -> dict[str, Any]:
    said: dict[str, Any] = {
        "least_tensorflow": rule.least_tensorflow,
        "required_substrings": [_texts(group) for group in rule.required_substrings],
        "nearby_substrings": _texts(rule.nearby_substrings),
        **{flag: True for flag in _FLAGS if getattr(rule, flag)},
    }
    return {name: value for name, value in said.items() if value not in ([], (0, 0))}


def _texts(group: Iterable[bytes]) -> list[str]:
    return [substring.decode("latin-1") for substring in group]


def _substrings(said: Sequence[str]) -> tuple[bytes, ...]:
    return tuple(part.encode("latin-1") for part in said)


def _digest(folder: Path, entry: RuleEntry) -> int:
    """Of the file that defines a rule, and of the table next to it."""
    theme, _, stem = entry.module.removeprefix(_OF_RULES).rpartition(".")
    file = folder / theme / f"{stem}.py"
    digest = zlib.crc32(file.read_bytes())
    table = file.with_suffix(".toml")
    return zlib.crc32(table.read_bytes(), digest) if table.exists() else digest


if __name__ == "__main__":
    from tflint_gpu.rule import load

    sys.stdout.write(written(load(entry.code for entry in entries())))
