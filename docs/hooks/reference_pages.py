"""What pages have of options and settings: made from the commands themselves and from the table of settings."""

from __future__ import annotations

from collections.abc import Iterator
from inspect import cleandoc
from typing import Any

import click

from tflint_gpu.cli import _commands
from tflint_gpu.settings import reference
from tflint_gpu.settings.table import SETTINGS

settings = reference.as_markdown


def options() -> str:
    """A section for each command, with a table for each heading of its help."""
    root = click.Context(_commands, info_name="tflint-gpu")
    sections = []
    for name in _commands.list_commands(root):
        command = _commands.get_command(root, name)
        assert command is not None
        context = click.Context(command, info_name=name, parent=root, **command.context_settings)
        sections += [f"## {name}", f"`tflint-gpu {' '.join([name, *command.collect_usage_pieces(context)])}`"]
        sections += [cleandoc(command.help or ""), *_tables(command, context)]
    return "\n\n".join(sections)


def _tables(command: Any, context: click.Context) -> Iterator[str]:
    titles = {name: title for title, names in command.groups.items() for name in names}
    rows: dict[str, list[str]] = {title: [] for title in (*command.groups, "Options")}
    for option in command.get_params(context):
        if isinstance(option, click.Option):
            rows[titles.get(option.name or "", "Options")].append(_row(option))
    for title, lines in rows.items():
        yield "\n".join(
            [
                f"### {context.info_name}: {title}",
                "",
                "| option | value | default | meaning |",
                "|---|---|---|---|",
                *lines,
            ]
        )


def _row(option: click.Option) -> str:
    names = ", ".join(f"`{name}`" for name in (*option.opts, *option.secondary_opts))
    return f"| {names} | {_value(option)} | {_default(option)} | {option.help} |"


def _value(option: click.Option) -> str:
    if isinstance(option.type, click.Choice):
        return ", ".join(f"`{choice}`" for choice in option.type.choices)
    return "" if option.is_flag else f"`{option.metavar}`"


def _default(option: click.Option) -> str:
    """The default as a cell; of an option that is a setting too, what the setting says."""
    if isinstance(option.show_default, str):
        return option.show_default
    default = option.to_info_dict()["default"]
    key = option.opts[-1].removeprefix("--")
    if default is None:
        return f"setting [`{key}`](/settings.md#{key})" if key in SETTINGS else ""
    return "" if default is False else f"`{default}`"
