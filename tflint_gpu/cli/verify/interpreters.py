"""The interpreter that runs checked programs: its TensorFlow, and why that uses no GPU."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from pathlib import Path

import click

_SECONDS_TO_ANSWER = 60


def version_of_tensorflow(python: str) -> str:
    """The version of the TensorFlow that the programs will use.

    Raises:
        click.ClickException: there is no such interpreter, or it has no TensorFlow.
    """
    code = (
        "try: import importlib.metadata as m\n"
        "except ImportError: import importlib_metadata as m\n"  # Python 3.7, where TensorBoard needs it
        "for name in ('tensorflow', 'tensorflow-cpu', 'tf-nightly', 'tensorflow-macos', 'tensorflow-rocm'):\n"
        "    try: print(m.version(name)); break\n"
        "    except m.PackageNotFoundError: pass\n"
    )
    try:
        done = subprocess.run(
            [python, "-c", code], capture_output=True, text=True, timeout=_SECONDS_TO_ANSWER, stdin=subprocess.DEVNULL
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise click.ClickException(f"--python {python}: cannot be run: {error}") from error
    version = done.stdout.strip()
    if not version:
        raise click.ClickException(
            f"{python} has no TensorFlow: install it there (`pip install tensorflow`), "
            "or name the interpreter that has it with --python"
        )
    return version


def why_unused(python: str, programs: Sequence[Path] = ()) -> str:
    """What `doctor` finds first, and what to do about it.

    Arguments:
        programs: those that used none, of which each may hide the cards by itself.
    """
    from tflint_gpu.doctor import absence
    from tflint_gpu.doctor.program import read_settings
    from tflint_gpu.gpu.cards import survey

    settings = [setting for program in programs if program.is_file() for setting in read_settings(program, Path.cwd())]
    return absence.why_unused(survey(), python, settings).sentence
