"""Options of the command line that stand for settings: lists of codes, `--config`, and what they override."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

import click

from tflint_gpu.settings.config import Settings
from tflint_gpu.settings.kinds import BOOLEAN, IGNORES, PATTERNS, SELECTORS
from tflint_gpu.settings.options import Options, SettingsError, layered, parse_options
from tflint_gpu.settings.table import SETTINGS

_DEFAULTS = Settings(None, Path())
_COMMAND_LINE = "the command line"


def _codes(_: click.Context, __: click.Parameter, values: Sequence[str]) -> tuple[str, ...] | None:
    """Options that take a list: separated by commas, or given several times."""
    parts = [part.strip() for value in values for part in value.split(",")]
    return tuple(filter(None, parts)) if values else None


def list_option(name: str, description: str, metavar: str = SELECTORS.metavar) -> Callable[[Any], Any]:
    """An option that takes codes or the like: separated by commas, or given several times."""
    return click.option(name, multiple=True, callback=_codes, metavar=metavar, help=description)


def setting_option(key: str, *short: str, **given: Any) -> Callable[[Any], Any]:
    """The option with the name of a setting, as the table of settings has it.

    Arguments:
        short: more names of it.
        given: what click is to have in another way.
    """
    setting = SETTINGS[key]
    kind, default = setting.kind, getattr(_DEFAULTS, key.replace("-", "_"), None)
    if kind in (SELECTORS, PATTERNS, IGNORES):
        return list_option(f"--{key}", setting.meaning, kind.metavar)
    addition = " (default)" if default is True else f" (default: {default})" if default else ""
    text = f"{setting.meaning.removesuffix('.')}{addition}."
    if kind is BOOLEAN:
        return click.option(f"--{key}/--no-{key}", default=None, help=text)
    shown = {"type": click.Choice(kind.choices)} if kind.choices else {"metavar": kind.metavar}
    return click.option(*short, f"--{key}", help=text, **shown, **given)


def _config(_: click.Context, __: click.Parameter, values: Sequence[str]) -> tuple[str | None, dict[str, object]]:
    """The settings file that `--config FILE` names, and the settings of `--config KEY=VALUE`."""
    if not values:
        return None, {}
    from tflint_gpu.text.toml import TOMLDecodeError, loads

    files = [value for value in values if "=" not in value or Path(value).is_file()]
    table: dict[str, object] = {}
    for pair in (value for value in values if value not in files):
        try:
            said = loads(pair)
        except TOMLDecodeError as error:
            raise click.BadParameter(f"{pair!r} is neither a file nor a setting in TOML: {error}") from None
        if "extend" in said:
            raise click.BadParameter("`extend` is for settings files: name the file instead, --config FILE")
        for key, value in said.items():  # of a table each row may be given by itself
            known = table.get(key)
            table[key] = {**known, **value} if isinstance(known, dict) and isinstance(value, dict) else value
    if len(files) > 1:
        raise click.BadParameter(f"only one settings file can be read, not {' and '.join(files)}")
    return (files[0] if files else None), table


config_option = click.option(
    "--config",
    multiple=True,
    callback=_config,
    metavar="FILE|KEY=VALUE",
    help="The only settings file to read, or one setting: 'fail-on = \"error\"'.",
)


def refuse_isolated_config(given: dict[str, Any]) -> None:
    """Raise UsageError where a settings file is named and none is to be read."""
    if given["isolated"] and given["config"][0] is not None:
        raise click.UsageError("--config FILE and --isolated cannot be combined")


def overrides(given: dict[str, Any]) -> Options:
    """The options that are settings too, checked as a file's settings are; they beat those of `--config KEY=VALUE`."""
    table: dict[str, object] = {}
    for option in fields(Options):
        value = given.get(option.name)
        if value is None:
            continue
        if option.name.endswith("per_file_ignores"):
            value = _pairs(value, option.name.replace("_", "-"))
        elif isinstance(value, tuple):
            value = list(value)
        table[option.name.replace("_", "-")] = value
    return layered(parse_options(given["config"][1], "--config"), parse_options(table, _COMMAND_LINE))


def settings_file(given: dict[str, Any], here: Path) -> Path | None:
    """The settings file that `--config` names."""
    name: str | None = given["config"][0]
    return None if name is None else here / name


def _pairs(parts: Sequence[str], key: str) -> dict[str, list[str]]:
    """`a.py:TFG1,TFG2,b/*:ALL` as patterns with codes."""
    pairs: dict[str, list[str]] = {}
    pattern = ""
    for part in parts:
        before, colon, code = part.rpartition(":")
        pattern = before if colon else pattern
        if not pattern or not code:
            raise SettingsError(f"{_COMMAND_LINE}: `{key}` must be PATTERN:CODE, not {part!r}")
        pairs.setdefault(pattern.strip(), []).append(code.strip())
    return pairs
