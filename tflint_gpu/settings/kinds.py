"""The types of settings: how a value is read, what it must be, and how JSON Schema describes it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import field
from typing import Any

from tflint_gpu.lazy_dataclasses import dataclass
from tflint_gpu.lazy_patterns import regex
from tflint_gpu.settings.selection import code_of
from tflint_gpu.severity import WORST_FIRST, Severity

_ADDRESS = r"((https?://[^\s/?#]|file:///)[^\s?#]*)?"
OUTPUT_FORMATS = (
    "full", "concise", "json", "json-lines", "sarif", "github", "gitlab", "azure", "junit", "rdjson", "pylint",
    "markdown",
)  # fmt: skip
SELECTOR = {"$ref": "#/definitions/selector"}
"""What stands for rules: a code, a name, a prefix, or ALL."""


def _no_selectors(_: object) -> tuple[str, ...]:
    return ()


@dataclass(frozen=True, slots=True)
class Kind:
    """A type of settings.

    Arguments:
        name: as the reference calls it.
        read: turns a value of TOML into the one that options have, or raises TypeError with what it must be.
        metavar: what help texts show in place of a value.
        schema: what JSON Schema says of the values of TOML.
        selectors: those that a value has, as options have it.
    """

    name: str
    read: Callable[[object], Any]
    metavar: str = ""
    schema: dict[str, Any] = field(default_factory=dict)
    selectors: Callable[[Any], Iterable[str]] = _no_selectors

    @property
    def choices(self) -> tuple[str, ...]:
        """The values, where these are a few words."""
        return tuple(self.schema.get("enum", ()))


def _string(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError("a string")
    return value


def _boolean(value: object) -> bool:
    if not isinstance(value, bool):
        raise TypeError("true or false")
    return value


def _selectors(value: object) -> tuple[str, ...]:
    return tuple(map(code_of, _strings(value)))


def _strings(value: object) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise TypeError("a list of strings")
    return tuple(value)


def _table(value: object) -> tuple[tuple[str, tuple[str, ...]], ...]:
    if not isinstance(value, dict):
        raise TypeError("a table of patterns with lists of rule codes")
    return tuple((pattern, _selectors(codes)) for pattern, codes in value.items())


def _positive(value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise TypeError("a number of at least 1")
    return value


def _factor(value: object) -> float:
    if not isinstance(value, int | float) or isinstance(value, bool) or not 1 <= value < math.inf:
        raise TypeError("a factor of at least 1, such as 1.1")
    return float(value)


def _format(value: object) -> str:
    if value not in OUTPUT_FORMATS:
        raise TypeError("one of " + ", ".join(OUTPUT_FORMATS))
    return str(value)


def _severity(value: object) -> Severity:
    for severity in WORST_FIRST:
        if value == severity:
            return severity
    raise TypeError("one of " + ", ".join(WORST_FIRST))


def _severities(value: object) -> tuple[tuple[str, Severity], ...]:
    if not isinstance(value, dict):
        raise TypeError("a table of rules with severities")
    severities = []
    for rule, severity in value.items():
        try:
            severities.append((code_of(rule), _severity(severity)))
        except TypeError as error:
            raise TypeError(f"{error} for `{rule}`") from None
    return tuple(severities)


def _address(value: object) -> str:
    if not isinstance(value, str) or not regex(_ADDRESS).fullmatch(value):
        raise TypeError('an address such as "https://example.org/tflint-gpu", or empty')
    return value


def _version(value: object) -> str:
    from tflint_gpu.targets import NEWEST

    newest = ".".join(map(str, NEWEST))
    parts = value.split(".") if isinstance(value, str) else []
    if not 2 <= len(parts) <= 3 or not all(part.isascii() and part.isdigit() for part in parts):
        raise TypeError(f'a TensorFlow version such as "{newest}"')
    if not (1, 0) <= (int(parts[0]), int(parts[1])) <= NEWEST:
        raise TypeError(f"a TensorFlow version from 1.0 to {newest}, the newest that the rules know")
    return ".".join(parts)


def _memory(value: object) -> str:
    from tflint_gpu.targets import memory_size

    if not isinstance(value, str) or memory_size(value) is None:
        raise TypeError('a size such as "24GiB" or "8GB"')
    return value.strip()


def _price(value: object) -> str:
    from tflint_gpu.price import Price

    text = str(value) if isinstance(value, int | float) and not isinstance(value, bool) else value
    if not isinstance(text, str) or Price.read(text) is None:
        raise TypeError('a price such as 2.49 or "2.49 EUR"')
    return text.strip()


BOOLEAN = Kind("true or false", _boolean, "", {"type": "boolean"})
SELECTORS = Kind("list of rules", _selectors, "CODES", {"type": "array", "items": SELECTOR}, iter)
PATTERNS = Kind("list of patterns", _strings, "PATTERNS", {"type": "array", "items": {"type": "string"}})
IGNORES = Kind(
    "table of patterns with lists of rules",
    _table,
    "PATTERN:CODES",
    {"type": "object", "additionalProperties": {"type": "array", "items": SELECTOR}},
    lambda rows: (selector for _, selectors in rows for selector in selectors),
)
SEVERITY = Kind("one of " + ", ".join(WORST_FIRST), _severity, "", {"enum": [*WORST_FIRST]})
SEVERITIES = Kind(
    "table of rules with severities",
    _severities,
    "",
    {"type": "object", "propertyNames": SELECTOR, "additionalProperties": SEVERITY.schema},
    lambda rows: (selector for selector, _ in rows),
)
FORMAT = Kind("one of " + ", ".join(OUTPUT_FORMATS), _format, "", {"enum": [*OUTPUT_FORMATS]})
VERSION = Kind(
    "version of TensorFlow", _version, "VERSION", {"type": "string", "pattern": r"^[12]\.[0-9]+(\.[0-9]+)?$"}
)
MEMORY = Kind("size", _memory, "SIZE", {"type": "string", "pattern": r"^\s*[0-9]+(\.[0-9]+)? ?[MGT]i?B\s*$"})
FILE = Kind("path", _string, "FILE", {"type": "string"})
FOLDER = Kind("path", _string, "DIR", {"type": "string"})
ADDRESS = Kind("address", _address, "URL", {"type": "string", "pattern": f"^{_ADDRESS}$"})
FACTOR = Kind("number of at least 1", _factor, "FACTOR", {"type": "number", "minimum": 1})
COUNT = Kind("whole number of at least 1", _positive, "N", {"type": "integer", "minimum": 1})
PRICE = Kind(
    "number, or text with a currency",
    _price,
    "PRICE",
    {"anyOf": [{"type": "number", "exclusiveMinimum": 0}, {"type": "string", "pattern": "^\\s*[0-9]"}]},
)
