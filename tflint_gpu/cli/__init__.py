"""The command line: one module a command, imported when it is called."""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Sequence
from typing import NoReturn, TextIO

import click

from tflint_gpu import __version__
from tflint_gpu.settings.config import SettingsError
from tflint_gpu.settings.files import NoSuchPath

__all__ = ["main"]

FOUND, FAILED, INTERRUPTED = 1, 2, 130
_COMMANDS = {
    "check": "Find mistakes in TensorFlow code, and mend them.",
    "rule": "Explain a rule, or list all.",
    "verify": "Run what was flagged, and its repair, and measure the difference.",
    "run": "Run a program, and say where it leaves the GPU idle.",
    "doctor": "Say why TensorFlow does not use the GPU of this machine.",
    "server": "Serve an editor by the Language Server Protocol.",
}


class _Commands(click.Group):
    """Imports a command's module, `tflint_gpu.cli.<name>` with a function `command`, when it is used."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _COMMANDS:
            return None
        command: click.Command = importlib.import_module(f"{__name__}.{cmd_name}").command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(_COMMANDS.items()))


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, "-V", "--version", message="tflint-gpu %(version)s")
def _commands() -> None:
    """Finds TensorFlow and Keras code that leaves the GPU idle or breaks on it."""


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run a command and exit: 0 nothing to fail for, 1 findings, 2 the work could not be done."""
    for stream in (sys.stdout, sys.stderr):
        _never_fail_to_print(stream)
    try:
        code = _commands.main(arguments, prog_name="tflint-gpu", standalone_mode=False)
        sys.stdout.flush()
    except click.ClickException as error:
        error.show()
        code = FAILED
    except (SettingsError, NoSuchPath) as error:
        print(f"error: {error}", file=sys.stderr)
        code = FAILED
    except (click.Abort, KeyboardInterrupt):
        _leave(INTERRUPTED)
    except BrokenPipeError:  # the reader, such as `head`, has gone
        _leave(FAILED)
    except Exception:
        import traceback

        print("error: tflint-gpu failed; please report this:", file=sys.stderr)
        traceback.print_exc()
        code = FAILED
    if arguments is None and sys.argv[1:2] == ["check"]:
        sys.stderr.flush()
        _leave(code if isinstance(code, int) else 0)  # taking down all that was imported takes a tenth of the time
    sys.exit(code if isinstance(code, int) else 0)


def _never_fail_to_print(stream: TextIO) -> None:
    reconfigure = getattr(stream, "reconfigure", None)
    if reconfigure is not None:
        reconfigure(errors="backslashreplace")


def _leave(code: int) -> NoReturn:
    """Exit without waiting for threads, which may be deep in the parser, or for closed pipes."""
    os._exit(code)
