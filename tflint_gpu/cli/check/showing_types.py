"""`check --show-types LINE`: what the model knows of each name, for tests and for people."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import click

from tflint_gpu.checking.engine import Engine
from tflint_gpu.checking.stack import with_large_stack
from tflint_gpu.cli.commands import tell
from tflint_gpu.settings.config import SettingsResolver
from tflint_gpu.settings.files import FileToCheck
from tflint_gpu.text.source import UnreadableSource


def show_types(resolver: SettingsResolver, files: Sequence[FileToCheck], line: str) -> int:
    """Print "FILE:ROW:COLUMN: NAME: TYPE" for the names of some files, of one line or of all.

    Returns:
        The exit code: 2 where a file could not be read.
    """
    if line != "all" and not line.isdecimal():
        raise click.BadParameter(f"{line!r} is neither the number of a line nor `all`", param_hint="--show-types")
    engine = Engine(resolver, resolver.working_directory)
    codes = [with_large_stack(partial(_show, engine, file, line)) for file in files]
    return max(codes, default=0)


def _show(engine: Engine, file: FileToCheck, line: str) -> int:
    from tflint_gpu.model import types_in

    try:
        model = engine.model_of(file)
    except (OSError, UnreadableSource) as error:
        tell(f"error: {file.name}: {error}")
        return 2
    for shown in types_in(model) if model is not None else ():
        if line == "all" or shown.location.row == int(line):
            click.echo(f"{file.name}:{shown.location}: {shown.name}: {shown.text}")
    return 0
