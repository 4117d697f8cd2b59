"""The options of a command line that a command must have to do the same again."""

from __future__ import annotations

import click
from click.core import ParameterSource

_NOT_REPEATED = (
    "select",
    "ignore",
    "extend_select",
    "at",
    "order",
    "measured",
    "output_format",
    "output",
    "keep",
    "fix",
    "diff",
)


def given_options(context: click.Context | None) -> tuple[str, ...]:
    """The options that were typed and hold for a repetition, too, as words of a command line.

    Arguments:
        context: of the command; None: it was called as a function.
    """
    if context is None:
        return ()
    words: list[str] = []
    for option in context.command.params:
        typed = context.get_parameter_source(option.name or "") is ParameterSource.COMMANDLINE
        if not isinstance(option, click.Option) or not typed or option.name in _NOT_REPEATED:
            continue
        value = context.params[option.name or ""]
        if option.is_flag:
            words.append(option.opts[-1] if value else (option.secondary_opts or option.opts)[-1])
            continue
        for item in value if isinstance(value, list | tuple) else (value,):
            words += [option.opts[-1], str(item)]
    return tuple(words)
