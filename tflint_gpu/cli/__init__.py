"""The command line: a module or a room a command, imported when it is called; `commands` is what they share."""

from __future__ import annotations

import errno
import importlib
import os
import signal
import sys
import threading
from collections.abc import Sequence
from functools import partial
from types import FrameType
from typing import NoReturn, TextIO

import click

from tflint_gpu import __version__
from tflint_gpu.cli.commands import FAILED, INTERRUPTED, described, interruption, tell
from tflint_gpu.plugins import WrongPlugin
from tflint_gpu.reports.display import colour_of
from tflint_gpu.settings.files import NoSuchPath
from tflint_gpu.settings.options import SettingsError, nearest
from tflint_gpu.text.replacement import no_file_half_replaced

__all__ = ["main"]

_NO_ROOM = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EBADF}
_COMMANDS = {
    "check": "Find mistakes in TensorFlow code, and fix them.",
    "rule": "Explain a rule, or list all rules.",
    "config": "Explain a setting, or list all settings.",
    "verify": "Run the flagged and the fixed code, and measure the difference.",
    "run": "Run a program, and say which lines leave the GPU idle.",
    "doctor": "Say why TensorFlow does not use the GPU of this machine.",
    "server": "Run the language server for an editor.",
    "clean": "Remove the cache.",
    "version": "Print the version.",
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

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The command that is called; an unknown one is told with the nearest, a path with the command for it."""
        name = args[0]
        if name in _COMMANDS or name.startswith("-"):
            return super().resolve_command(ctx, args)
        path = f"; did you mean `tflint-gpu check {name}`?" if os.path.exists(name) else None  # noqa: PTH110
        raise click.UsageError(f"no such command `{name}`{path or nearest(name, _COMMANDS)}", ctx)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(_COMMANDS.items()))


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, "-V", "--version", message="tflint-gpu %(version)s")
def _commands() -> None:
    """Finds TensorFlow and Keras code that leaves the GPU idle or fails on it."""


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run a command and exit: 0 nothing to fail for, 1 findings, 2 the work could not be done."""
    sys.stdout, sys.stderr = sys.stdout or _nowhere(), sys.stderr or _nowhere()
    for stream in (sys.stdout, sys.stderr):
        _never_fail_to_print(stream)
    _end_as_on_ctrl_c()
    try:
        code = _commands.main(arguments, prog_name="tflint-gpu", standalone_mode=False, color=colour_of(os.environ))
        sys.stdout.flush()
    except click.ClickException as error:
        tell(described(error))
        code = FAILED
    except (SettingsError, NoSuchPath, WrongPlugin) as error:
        tell(f"error: {error}")
        code = FAILED
    except (click.Abort, KeyboardInterrupt) as error:
        _leave(INTERRUPTED[interruption(error)])
    except BrokenPipeError:  # the reader, such as `head`, has gone
        _leave(FAILED)
    except Exception as error:
        if isinstance(error, OSError) and error.errno in _NO_ROOM and error.filename is None:
            print(f"error: the report cannot be printed: {error.strerror}", file=sys.stderr, flush=True)
            _leave(FAILED)  # else the interpreter tries again
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


def _nowhere() -> TextIO:
    """A replacement for a standard stream that was closed before this process began."""
    return open(os.devnull, "w")  # noqa: PTH123


def _end_as_on_ctrl_c() -> None:
    """Handle the signals that end a process as Ctrl-C: no process stays, and no file is half-written."""
    if threading.current_thread() is not threading.main_thread():
        return
    for name in INTERRUPTED:
        number = getattr(signal, name, None)  # the key has its own way; Windows has no SIGHUP
        if number is not None and signal.getsignal(number) is signal.SIG_DFL:
            signal.signal(number, partial(_interrupt, os.getpid()))


def _interrupt(process: int, number: int, _: FrameType | None) -> NoReturn:
    """Interrupt this process; one that was forked from it, and has no handler of its own yet, just ends."""
    if os.getpid() != process:
        os._exit(128 + number)
    raise KeyboardInterrupt(signal.Signals(number).name)


def _leave(code: int) -> NoReturn:
    """Exit without waiting for threads, which may be deep in the parser, or for closed pipes."""
    with no_file_half_replaced():
        os._exit(code)
