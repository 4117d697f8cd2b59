"""What all commands share: options under headings in the help, `--color`, messages and exit codes.

cloup and rich-click do the same; importing them would cost every check a sixth of `import click` and more, for a page
that is read now and then.
"""

from __future__ import annotations

import io
import sys
from collections.abc import Callable, Mapping
from typing import Any, TextIO

import click

from tflint_gpu.reports.display import printable_lines, styled

FOUND, FAILED = 1, 2
CTRL_C = "Ctrl-C"
INTERRUPTED = {CTRL_C: 130, "SIGTERM": 143, "SIGHUP": 129}
"""What ends a run early, and the exit code that says so, as shells have it."""
_REST = "Options"
_HEADING, _NAME = "bold", "cyan"
_LINE_STYLES = {"+": "green", "-": "red", "@": "cyan"}


def _choose_colour(context: click.Context, _: click.Parameter, choice: str) -> None:
    if choice != "auto":
        context.color = choice == "always"


class GroupedCommand(click.Command):
    """A command whose help shows the options under headings.

    Arguments:
        groups: the headings in their order, each with the names of its options; all others come last.
    """

    def __init__(self, *args: Any, groups: Mapping[str, str] | None = None, **settings: Any) -> None:
        super().__init__(*args, **settings)
        self.groups = {title: names.split() for title, names in (groups or {}).items()}
        self.params.append(
            click.Option(
                ["--color"],
                type=click.Choice(("auto", "always", "never")),
                default="auto",
                callback=_choose_colour,
                is_eager=True,
                expose_value=False,
                help="When to use colours; auto: on a terminal; NO_COLOR turns them off, FORCE_COLOR on.",
            )
        )

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options under their headings."""
        titles = {name: title for title, names in self.groups.items() for name in names}
        sections: dict[str, list[tuple[str, str]]] = {title: [] for title in (*self.groups, _REST)}
        for param in self.get_params(ctx):
            record = param.get_help_record(ctx) if isinstance(param, click.Option) else None
            if record is not None:
                names, text = record
                sections[titles.get(param.name or "", _REST)].append((styled(names, _NAME, is_coloured()), text))
        for title, records in sections.items():
            with formatter.section(styled(title, _HEADING, is_coloured())):
                formatter.write_dl(records)


def format_option(*formats: str, meaning: str = "The format of the output.") -> Callable[[Any], Any]:
    """The option `--output-format`; the first format is the default."""
    return click.option(
        "--output-format", type=click.Choice(formats), default=formats[0], show_default=True, help=meaning
    )


def python_option(meaning: str) -> Callable[[Any], Any]:
    """The option `--python`: an interpreter, by default the one that runs this program."""
    return click.option(
        "--python", default=sys.executable, show_default="the one that runs tflint-gpu", metavar="PATH", help=meaning
    )


def is_coloured(stream: TextIO | None = None) -> bool:
    """Whether to colour what goes to a stream, by default standard output: as `--color` or the environment says."""
    context = click.get_current_context(silent=True)
    if context is None or context.color is None:
        return (stream or sys.stdout).isatty()
    return context.color


def refuse_windows(command: str) -> None:
    """Raise ClickException on Windows, where a command that runs programs cannot watch them."""
    if sys.platform == "win32":
        raise click.ClickException(
            f"{command} runs on Linux, in WSL and on macOS; on Windows use WSL, which TensorFlow needs for a GPU too"
        )


def coloured_patch(text: str, colour: bool) -> str:
    """A patch with its added and removed lines in colours."""
    if not colour:
        return text
    return "".join(_coloured(line) for line in text.splitlines(keepends=True))


def _coloured(line: str) -> str:
    style = "bold" if line.startswith(("+++", "---")) else _LINE_STYLES.get(line[:1])
    content = line.rstrip("\r\n")
    return styled(content, style, True) + line[len(content) :] if style else line


def tell(text: str) -> None:
    """Print a message that is no finding; control characters in names and texts of checked files do not reach the
    terminal."""
    print(printable_lines(text), file=sys.stderr)


def described(error: click.ClickException) -> str:
    """An error of the command line in the form of all others, after the usage that click shows with it.

    Where no command is named click's error is the help.
    """
    shown = io.StringIO()
    error.show(shown)
    message = error.format_message()
    if message.startswith("Usage: "):
        return message
    return f"{shown.getvalue().rstrip().removesuffix(message).removesuffix('Error: ')}error: {message}"


def interruption(error: BaseException) -> str:
    """What interrupted the work, as `INTERRUPTED` has it."""
    said = str(error.__cause__ or error)  # click turns it into an error of its own
    return said if said in INTERRUPTED else CTRL_C
