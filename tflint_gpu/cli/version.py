"""`tflint-gpu version`: what a report of a problem should say."""

from __future__ import annotations

import json
import platform
from importlib.metadata import version

import click

from tflint_gpu import __version__
from tflint_gpu.cli.commands import GroupedCommand, format_option


@click.command(cls=GroupedCommand, context_settings={"help_option_names": ["-h", "--help"]})
@format_option("text", "json", meaning="The format of the output; json also has the versions of Python and libcst.")
def command(output_format: str) -> int:
    """Print the version of tflint-gpu."""
    if output_format == "text":
        click.echo(f"tflint-gpu {__version__}")
    else:
        versions = {"version": __version__, "python": platform.python_version(), "libcst": version("libcst")}
        click.echo(json.dumps(versions, indent=2))
    return 0
