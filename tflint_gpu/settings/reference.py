"""The reference of the settings, made from their table: as text, JSON, Markdown and a JSON schema.

`tflint-gpu config --schema > tflint_gpu/settings/schema.json` writes the schema that is shipped.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tflint_gpu.settings.config import DEFAULT_EXCLUDE, Settings
from tflint_gpu.settings.options import TABLE
from tflint_gpu.settings.selection import selectable
from tflint_gpu.settings.table import SETTINGS

_DEFAULTS = Settings(None, Path())
_EMPTY: dict[str, object] = {"array": [], "object": {}}


def default_of(key: str) -> Any:
    """The value that holds where nobody has set one; None where there is no value for that."""
    default = DEFAULT_EXCLUDE if key == "exclude" else getattr(_DEFAULTS, key.replace("-", "_"), None)
    if default not in (None, ()):
        return default
    return None if SETTINGS[key].unset else _EMPTY[SETTINGS[key].kind.schema["type"]]


def described(key: str) -> dict[str, Any]:
    """What is known of a setting, as JSON."""
    setting = SETTINGS[key]
    return {
        "key": key,
        "meaning": " ".join(filter(None, (setting.meaning, setting.more))),
        "type": setting.kind.name,
        "values": list(setting.kind.choices),
        "default": default_of(key),
        "unset": setting.unset,
        "example": f"{key} = {as_toml(setting.example)}",
    }


def as_text(key: str) -> str:
    """The entry of a setting for a terminal."""
    entry = described(key)
    lines = [key, "=" * len(key), entry["meaning"], ""]
    lines += [f"Type: {entry['type']}", f"Default: {_default_text(entry)}", "", "Example:", ""]
    return "\n".join([*lines, f"    [tool.{TABLE}]", f"    {entry['example']}"])


def as_markdown() -> str:
    """A section for each setting."""
    return "\n\n".join(map(_section, SETTINGS))


def _section(key: str) -> str:
    entry = described(key)
    default = _default_text(entry) if entry["default"] is None else f"`{_default_text(entry)}`"
    facts = f"- Type: {entry['type']}\n- Default: {default}"
    return f"### `{key}`\n\n{entry['meaning']}\n\n{facts}\n\n```toml\n[tool.{TABLE}]\n{entry['example']}\n```"


def _default_text(entry: dict[str, Any]) -> str:
    return str(entry["unset"]) if entry["default"] is None else as_toml(entry["default"])


def as_toml(value: object) -> str:
    """A value as TOML writes it; strings, numbers, lists and one table a line are all that settings have."""
    if isinstance(value, tuple) and value and isinstance(value[0], tuple):
        value = dict(value)
    if isinstance(value, dict):
        pairs = ", ".join(f"{json.dumps(key)} = {as_toml(item)}" for key, item in value.items())
        return f"{{ {pairs} }}" if pairs else "{}"
    return json.dumps(value, ensure_ascii=False)


def schema(_: str = "") -> dict[str, Any]:
    """The JSON schema of the table of settings; validate-pyproject calls this with the table's name."""
    words = selectable()
    codes = [word for word in words if word.isupper()]
    prefixes = {code[:length] for code in codes for length in range(len(code.rstrip("0123456789")), len(code))}
    properties = {}
    for key, setting in SETTINGS.items():
        properties[key] = {"description": setting.meaning, **setting.kind.schema, "examples": [setting.example]}
        if (default := default_of(key)) is not None:
            properties[key]["default"] = default
    return {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "$id": f"https://{TABLE}.invalid/settings.json",  # a name: nothing is read from there
        "title": f"The settings of {TABLE}: the table `tool.{TABLE}` of pyproject.toml, or the file {TABLE}.toml",
        "type": "object",
        "additionalProperties": False,
        "properties": properties,
        "definitions": {
            "selector": {
                "description": "A rule's code or name, a prefix of codes, or ALL.",
                "anyOf": [
                    {"enum": ["ALL", *sorted(prefixes), *words]},
                    {"description": "of the package that brings the rule", "pattern": "^(?!TFG)[A-Z]{2,8}[0-9]{0,3}$"},
                ],
            }
        },
    }


def schema_text() -> str:
    """The schema as its file has it."""
    return json.dumps(schema(), indent=2) + "\n"
