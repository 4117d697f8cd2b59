"""`tflint-gpu server`: the language server for editors."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import click

from tflint_gpu.cli.commands import FAILED, GroupedCommand
from tflint_gpu.integrations import NEEDED


@click.command(cls=GroupedCommand, context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--verified", metavar="FILE", help="Show what `verify --output-format json` measured for each finding.")
def command(verified: str | None) -> int:
    """Run the language server over standard input and output.

    Editors start this command; a terminal shows nothing. It needs the extra `lsp`.
    """
    missing = [name for name in NEEDED if importlib.util.find_spec(name) is None]
    if missing:
        click.echo(
            f"error: the language server needs {' and '.join(missing)}: run `pip install 'tflint-gpu[lsp]'` "
            "(in a checkout of tflint-gpu: `pip install '.[lsp]'`)",
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
