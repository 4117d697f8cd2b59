"""The options of a command line that a command must have to do the same again."""

from __future__ import annotations

from collections.abc import Collection

import click
from click.core import ParameterSource


def given_options(context: click.Context | None, without: Collection[str]) -> tuple[str, ...]:
    """The options that were typed, as words of a command line.

    Arguments:
        context: of the command; None: it was called as a function.
        without: names of parameters that are left out.
    """
    if context is None:
        return ()
    words: list[str] = []
    for option in context.command.params:
        typed = context.get_parameter_source(option.name or "") is ParameterSource.COMMANDLINE
        if not isinstance(option, click.Option) or not typed or option.name in without:
            continue
        value = context.params[option.name or ""]
        if option.is_flag:
            words.append(option.opts[-1] if value else (option.secondary_opts or option.opts)[-1])
            continue
        for item in value if isinstance(value, list | tuple) else (value,):
            words += [option.opts[-1], str(item)]
    return tuple(words)
