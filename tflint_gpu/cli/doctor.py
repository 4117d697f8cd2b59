"""`tflint-gpu doctor`: why TensorFlow does not use the GPU, as far as machine and installation are to blame."""

from __future__ import annotations

import shutil
from pathlib import Path

import click

from tflint_gpu.cli.commands import GroupedCommand, format_option, is_coloured, python_option
from tflint_gpu.settings.options import SettingsError


@click.command(cls=GroupedCommand, context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("program", required=False, type=click.Path(dir_okay=False, path_type=Path))
@format_option("full", "json", "markdown", meaning="The format of the report.")
@python_option("The interpreter that runs your programs.")
def command(program: Path | None, output_format: str, python: str) -> int:
    """Say whether TensorFlow can use a GPU on this machine, and if not, why and what to do.

    With PROGRAM, also read which environment variables and devices that program sets; it is not run. Exit codes: 0 if
    a GPU works, 1 if something is wrong, 2 if doctor failed, 3 if there is no GPU and no error.
    """
    from tflint_gpu.doctor import reports
    from tflint_gpu.doctor.examination import examine
    from tflint_gpu.doctor.machine_report import report_on
    from tflint_gpu.doctor.program import read_settings

    interpreter = shutil.which(python)
    if interpreter is None:
        raise SettingsError(f"--python {python}: no such program; name the interpreter that has TensorFlow")
    settings = read_settings(program, Path.cwd()) if program is not None else ()
    folder = program.parent if program is not None else Path.cwd()
    report = report_on(examine(Path(interpreter), settings, folder=folder))
    if output_format == "json":
        text = reports.as_json(report)
    elif output_format == "markdown":
        text = reports.as_markdown(report)
    else:
        text = reports.as_text(report, is_coloured())
    click.echo(text, nl=False)
    return report.exit_code
