"""The files that `verify` writes: whether they can be written is known before anything is measured."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from tflint_gpu.text.replacement import replace_file


def try_outputs(given: dict[str, Any]) -> None:
    """Make sure, before anything runs, that what is measured can be written."""
    from tflint_gpu.verify.experiments.archive import must_be_writable

    for option in ("output", "keep"):
        path: Path | None = given[option]
        if path is None:
            continue
        try:
            must_be_writable(path, is_folder=option == "keep")
        except OSError as error:
            raise click.ClickException(f"--{option} {path}: cannot be written: {error.strerror or error}") from error


def write_output(output: Path, text: str) -> None:
    """Write a report to a file, whole or not at all, or to a device.

    Raises:
        click.ClickException: it cannot be written.
    """
    try:
        if output.is_file():
            replace_file(output, text.encode("utf-8", "backslashreplace"))
        else:
            output.write_text(text, encoding="utf-8", errors="backslashreplace")
    except OSError as error:
        raise click.ClickException(f"{output}: cannot be written: {error.strerror}") from error
