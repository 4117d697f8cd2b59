"""`tflint-gpu server`: the language server for editors."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import click

from tflint_gpu.cli.commands import FAILED, GroupedCommand
from tflint_gpu.integrations import NEEDED


@click.command(cls=GroupedCommand, context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--verified", metavar="FILE", help="Show what `verify --output-format json` measured.")
def command(verified: str | None) -> int:
    """Serve an editor over standard input and output, by the Language Server Protocol.

    An editor starts this; there is nothing to see on a terminal. It needs the extra `lsp`.
    """
    missing = [name for name in NEEDED if importlib.util.find_spec(name) is None]
    if missing:
        click.echo(
            f"error: the language server needs {' and '.join(missing)}: run `pip install 'tflint-gpu[lsp]'` "
            "in the environment of tflint-gpu",
            err=True,
        )
        return FAILED
    from tflint_gpu.integrations.lsp import serve
    from tflint_gpu.narrowing.measurements import MeasurementError, read_measurements

    if verified is None:
        return serve({})
    try:
        return serve(read_measurements(Path(verified)))
    except MeasurementError as error:
        raise click.ClickException(f"--verified {error}") from error
