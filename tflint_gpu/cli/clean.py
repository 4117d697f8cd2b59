"""`tflint-gpu clean`: removes what checks keep between runs."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import click

from tflint_gpu.cli.commands import GroupedCommand
from tflint_gpu.reports.display import printable


@click.command(cls=GroupedCommand, context_settings={"help_option_names": ["-h", "--help"]})
def command() -> int:
    """Remove the cache of the current folder and the caches in the folders below.

    If `cache-dir` places the cache of the current folder elsewhere, it is removed there, too. Files that tflint-gpu did
    not create are kept.
    """
    from tflint_gpu.checking.cache import clear
    from tflint_gpu.reports.summary import plural
    from tflint_gpu.settings.files import shown_name

    here, count = Path.cwd(), 0
    for directory in dict.fromkeys(_caches(here)):
        try:
            removed = clear(directory)
        except OSError as error:
            raise click.ClickException(f"{error.filename}: {error.strerror or error}") from error
        if removed:
            click.echo(f"Removed {plural(removed, 'file')} from {printable(shown_name(directory, here))}.")
        count += removed
    if not count:
        click.echo("There is no cache.")
    return 0


def _caches(here: Path) -> Iterator[Path]:
    """Where checks keep results: as the settings here say, and in the folders below, except in excluded ones."""
    from tflint_gpu.checking.cache import DIRECTORY
    from tflint_gpu.settings.config import SettingsResolver
    from tflint_gpu.settings.files import is_excluded

    resolver = SettingsResolver(working_directory=here)
    settings = resolver.for_directory(here)
    yield settings.cache_dir or settings.base / DIRECTORY
    for folder, names, _ in os.walk(here):
        yield Path(folder, DIRECTORY)
        names[:] = [name for name in names if name != DIRECTORY and not is_excluded(Path(folder, name), resolver)]
