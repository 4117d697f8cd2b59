"""What one settings file or the command line may say, and its check."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

from tflint_gpu.lazy_dataclasses import dataclass
from tflint_gpu.lazy_patterns import regex
from tflint_gpu.settings.selection import code_of, owner_of, selectable, unknown_selector
from tflint_gpu.severity import WORST_FIRST, Severity

_ADDRESS = regex(r"((https?://[^\s/?#]|file:///)[^\s?#]*)?")
_CODE = regex(r"([A-Z]+)\d+", re.IGNORECASE)
_LETTERS, _LENGTH, _RESEMBLANCE = "TFG", 6, 0.6
TABLE = "tflint-gpu"
OUTPUT_FORMATS = (
    "full", "concise", "json", "json-lines", "sarif", "github", "gitlab", "azure", "junit", "rdjson", "pylint",
    "markdown",
)  # fmt: skip


class SettingsError(Exception):
    """A setting that cannot be obeyed; the message names the file or option, the key, and a way out."""


@dataclass(frozen=True, slots=True)
class Options:
    """What one place (a settings file, or the command line) says; None where it says nothing."""

    select: tuple[str, ...] | None = None
    ignore: tuple[str, ...] | None = None
    extend_select: tuple[str, ...] | None = None
    extend_ignore: tuple[str, ...] | None = None
    per_file_ignores: tuple[tuple[str, tuple[str, ...]], ...] | None = None
    extend_per_file_ignores: tuple[tuple[str, tuple[str, ...]], ...] | None = None
    exclude: tuple[str, ...] | None = None
    extend_exclude: tuple[str, ...] | None = None
    respect_gitignore: bool | None = None
    force_exclude: bool | None = None
    target_tensorflow: str | None = None
    gpu_memory: str | None = None
    output_format: str | None = None
    show_advice: bool | None = None
    show_fixes: bool | None = None
    progress: bool | None = None
    fail_on: Severity | None = None
    fix: bool | None = None
    unsafe_fixes: bool | None = None
    fixable: tuple[str, ...] | None = None
    unfixable: tuple[str, ...] | None = None
    extend_fixable: tuple[str, ...] | None = None
    extend_safe_fixes: tuple[str, ...] | None = None
    extend_unsafe_fixes: tuple[str, ...] | None = None
    cache_dir: str | None = None
    baseline: str | None = None
    documentation_url: str | None = None
    smallest_gain: float | None = None
    price_per_hour: str | None = None
    jobs: int | None = None
    severity: tuple[tuple[str, Severity], ...] | None = None
    extend: str | None = None


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
    if not isinstance(value, str) or not _ADDRESS.fullmatch(value):
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


_READERS: dict[str, Callable[[object], Any]] = {
    "select": _selectors,
    "ignore": _selectors,
    "extend-select": _selectors,
    "extend-ignore": _selectors,
    "per-file-ignores": _table,
    "extend-per-file-ignores": _table,
    "exclude": _strings,
    "extend-exclude": _strings,
    "respect-gitignore": _boolean,
    "force-exclude": _boolean,
    "target-tensorflow": _version,
    "gpu-memory": _memory,
    "output-format": _format,
    "show-advice": _boolean,
    "show-fixes": _boolean,
    "progress": _boolean,
    "fail-on": _severity,
    "fix": _boolean,
    "unsafe-fixes": _boolean,
    "fixable": _selectors,
    "unfixable": _selectors,
    "extend-fixable": _selectors,
    "extend-safe-fixes": _selectors,
    "extend-unsafe-fixes": _selectors,
    "cache-dir": _string,
    "baseline": _string,
    "documentation-url": _address,
    "smallest-gain": _factor,
    "price-per-hour": _price,
    "jobs": _positive,
    "severity": _severities,
    "extend": _string,
}


def parse_options(table: Mapping[str, object], origin: str) -> Options:
    """Check a table of settings.

    Raises:
        SettingsError: an unknown key, a malformed value or an unknown rule code.
    """
    values: dict[str, Any] = {}
    for key, value in table.items():
        if key not in _READERS:
            raise SettingsError(f"{origin}: unknown key `{key}`{nearest(key, _READERS)}")
        try:
            values[key.replace("-", "_")] = _READERS[key](value)
        except TypeError as error:
            raise SettingsError(f"{origin}: `{key}` must be {error}, not {value!r}") from None
    options = Options(**values)
    check_selectors(options, origin)
    return options


def check_selectors(options: Options, origin: str) -> None:
    """Raise SettingsError if a rule code or prefix in the options belongs to no rule."""
    places: list[tuple[str, tuple[str, ...] | None]] = [
        ("select", options.select),
        ("ignore", options.ignore),
        ("extend-select", options.extend_select),
        ("extend-ignore", options.extend_ignore),
        *(("per-file-ignores", codes) for _, codes in options.per_file_ignores or ()),
        *(("extend-per-file-ignores", codes) for _, codes in options.extend_per_file_ignores or ()),
        ("fixable", options.fixable),
        ("unfixable", options.unfixable),
        ("extend-fixable", options.extend_fixable),
        ("extend-safe-fixes", options.extend_safe_fixes),
        ("extend-unsafe-fixes", options.extend_unsafe_fixes),
        ("severity", tuple(rule for rule, _ in options.severity or ())),
    ]
    for key, selectors in places:
        for selector in selectors or ():
            if unknown_selector(selector):
                hint = hint_for_rule(selector, selectable())
                raise SettingsError(f"{origin}: unknown rule `{selector}` in `{key}`{hint}")


def hint_for_rule(word: str, known: Iterable[str]) -> str:
    """What to say of an unknown rule, as the end of a sentence: whose code it is, or what it was probably meant to be.

    Arguments:
        known: the codes and names of all rules.
    """
    owner = owner_of(word.upper())
    if owner:
        return f"; it is a code of {owner}"
    words = set(known)
    if word.upper() in words:
        return f"; did you mean `{word.upper()}`?"
    return nearest(word, sorted(words), "`tflint-gpu rule --all`")


def nearest(word: str, known: Iterable[str], listing: str = "") -> str:
    """What an unknown word was probably meant to be, as the end of a sentence.

    Codes are alike by their letters only: a number is like no other, and other letters are of other linters.

    Arguments:
        known: the words that there are.
        listing: what lists them, where they are too many to be named.
    """
    import difflib

    code = _CODE.fullmatch(word)
    resemblance = difflib.SequenceMatcher(None, code[1].upper(), _LETTERS).ratio() if code else 0
    is_misspelt = resemblance >= _RESEMBLANCE and (resemblance < 1 or len(word) > _LENGTH)
    words = {name.lower(): name for name in known if code is None or is_misspelt or not _CODE.fullmatch(name)}
    close = difflib.get_close_matches(word.lower(), words, n=1, cutoff=_RESEMBLANCE)
    if close:
        return f"; did you mean `{words[close[0]]}`?"
    return f"; {listing} lists them" if listing else f"; known: {', '.join(words.values())}"


def read_settings_file(path: Path) -> Options | None:
    """The options of a settings file; None for a pyproject.toml without our table.

    Raises:
        SettingsError: it cannot be read, is not TOML, or says something that it may not.
    """
    from tflint_gpu.text.toml import TOMLDecodeError, loads

    try:
        document = loads(path.read_bytes().decode("utf-8-sig"))
    except OSError as error:
        raise SettingsError(f"{path}: {error.strerror or error}") from None
    except (TOMLDecodeError, UnicodeDecodeError) as error:
        raise SettingsError(f"{path}: not valid TOML: {error}") from None
    table: object = document
    if path.name == "pyproject.toml":
        tools = document.get("tool")
        table = tools.get(TABLE) if isinstance(tools, dict) else None
        if table is None:
            return None
    if not isinstance(table, dict):
        raise SettingsError(f"{path}: `tool.{TABLE}` must be a table")
    return parse_options(table, str(path))


@dataclass(frozen=True, slots=True)
class Written:
    """What a settings file says.

    Arguments:
        path: of the file.
        base: what its paths are relative to.
    """

    path: Path
    base: Path
    options: Options


def read_settings_chain(path: Path, base: Path) -> tuple[Written, ...]:
    """The options of a settings file after those of the files that it extends.

    Arguments:
        base: what the paths of the file itself are relative to; those of others to their own folders.

    Raises:
        SettingsError: as `read_settings_file`; or `extend` names no file, or leads in a circle.
    """
    chain: list[Written] = []
    place: Path | None = path
    while place is not None:
        if any(written.path == place for written in chain):
            raise SettingsError(f"{path}: `extend` leads back to {place}")
        options = read_settings_file(place) or Options()
        chain.insert(0, Written(place, base if place == path else place.parent, options))
        if options.extend is None:
            break
        extended = Path(os.path.normpath(place.parent / os.path.expandvars(Path(options.extend).expanduser())))
        if not extended.is_file():
            raise SettingsError(f"{place}: `extend` names {extended}, which is not a file")
        place = extended
    return tuple(chain)


def layered(weak: Options, strong: Options) -> Options:
    """The options of two places in one: what the second says beats the first."""
    said = {field.name: value for field in fields(Options) if (value := getattr(strong, field.name)) is not None}
    return replace(weak, **said)
