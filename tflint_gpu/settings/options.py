"""What one settings file or the command line may say, and its check."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

from tflint_gpu.lazy_dataclasses import dataclass
from tflint_gpu.lazy_patterns import regex
from tflint_gpu.settings.selection import owner_of, selectable, unknown_selector
from tflint_gpu.settings.table import SETTINGS
from tflint_gpu.severity import Severity

_CODE = regex(r"([A-Z]+)\d+", re.IGNORECASE)
_LETTERS, _LENGTH, _RESEMBLANCE = "TFG", 6, 0.6
TABLE = "tflint-gpu"


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


def parse_options(table: Mapping[str, object], origin: str) -> Options:
    """Check a table of settings.

    Raises:
        SettingsError: an unknown key, a malformed value or an unknown rule code.
    """
    values: dict[str, Any] = {}
    for key, value in table.items():
        if key not in SETTINGS:
            raise SettingsError(f"{origin}: unknown key `{key}`{nearest(key, SETTINGS)}")
        try:
            values[key.replace("-", "_")] = SETTINGS[key].kind.read(value)
        except TypeError as error:
            raise SettingsError(f"{origin}: `{key}` must be {error}, not {value!r}") from None
    options = Options(**values)
    check_selectors(options, origin)
    return options


def check_selectors(options: Options, origin: str) -> None:
    """Raise SettingsError if a rule code or prefix in the options belongs to no rule."""
    for key, setting in SETTINGS.items():
        value = getattr(options, key.replace("-", "_"))
        for selector in setting.kind.selectors(value) if value else ():
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
    return nearest(word, sorted(words), "`tflint-gpu rule`")


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
