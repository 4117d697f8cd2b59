"""`tflint-gpu config`: what each setting means."""

from __future__ import annotations

import json

import click

from tflint_gpu.cli.commands import GroupedCommand, format_option
from tflint_gpu.settings.options import SettingsError, nearest
from tflint_gpu.settings.table import SETTINGS


@click.command(cls=GroupedCommand, context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("key", required=False)
@format_option("text", "json")
@click.option("--schema", is_flag=True, help="Print the JSON schema of the settings.")
def command(key: str | None, output_format: str, schema: bool) -> int:
    """Explain the setting KEY, or list all settings.

    `check --show-settings` prints the values that apply to a file.
    """
    from tflint_gpu.settings import reference

    if schema and key is not None:
        raise click.UsageError("--schema covers all settings: leave out the key")
    if key is not None and key not in SETTINGS:
        raise SettingsError(f"unknown setting `{key}`{nearest(key, SETTINGS, '`tflint-gpu config`')}")
    if schema:
        click.echo(reference.schema_text(), nl=False)
    elif output_format == "json":
        every = [reference.described(name) for name in SETTINGS]
        click.echo(json.dumps(every if key is None else reference.described(key), indent=2))
    elif key is None:
        click.echo("\n".join(f"{name}: {setting.meaning}" for name, setting in SETTINGS.items()))
    else:
        click.echo(reference.as_text(key))
    return 0
