"""IPython's additions to Python, put out of the way: magics, shell lines, help.

What is not Python becomes a comment, or a name and a comment, of the same length, so that every offset stays. The
syntax is that of IPython's `inputtransformer2`; `tests/text/test_magics.py` compares the two.
"""

from __future__ import annotations

import ast
import re
import warnings

from tflint_gpu.lazy_patterns import regex
from tflint_gpu.text.lexical import bare_code, end_of_logical_line

STAND_IN = "\N{LATIN LETTER RETROFLEX CLICK}"
"""A name of one letter that no program uses: a magic's value is unknown, and `!` is as long."""

_PYTHON_BODIES = frozenset(
    (
        "capture debug heat ipytest lprun memit mprun prun pyinstrument scalene snakeviz tflint_run time timeit wandb"
    ).split()
)
_PYTHON_ARGUMENTS = frozenset("memit prun time timeit".split())
_NEWLINE = r"(?:\r\n|\r|\n)"
_CELL_MAGIC = regex(rf"(?:[ \t]*(?:#[^\r\n]*)?{_NEWLINE})*[ \t]*%%(?P<name>\w+)[^\r\n]*")
_LINE = regex(r"[^\r\n]([^\r\n]*)")
_INDENTED_LINE = regex(rf"([ \t\f]*)((?:\\{_NEWLINE}|[^\r\n])*)")
_ESCAPES = tuple("%!?;,/")
_CERTAIN = regex(
    r"!(?!=)|%%?[A-Za-z]|\?{1,2}[A-Za-z_%*]|(?:pip|conda|mamba|micromamba|uv)[ \t]+(?:pip[ \t]+)?install\b"
    r"|(?:cd|cat|cp|ls|ll|mkdir|mv|rm|rmdir|run)[ \t]+(?:--?[A-Za-z]|[~/.])"
    r"|(?:load_ext|reload_ext|matplotlib)[ \t]+[A-Za-z]"
)
_CERTAIN_HELP = regex(r"[ \t]*(?:[^\s=]+[ \t]*=[ \t]*)?[^\s=?]+\?{1,2}")
_ASSIGNED = regex(r"(?:[^=#'\"(\r\n]|'[^'\r\n]*'|\"[^\"\r\n]*\")+(?<![!<>:+\-*/%&|^@])=[ \t]*(?=!|%[A-Za-z])")
_ARGUMENTS = regex(r"%?(?P<name>\w+)(?:[ \t]+-{1,2}[A-Za-z]\w*(?:[ \t]+\d+)?)*[ \t]+(?P<code>\S.*)", re.DOTALL)
_AUTOMAGIC = regex(
    r"(?:pip|conda|mamba|micromamba|uv|cd|cat|cp|ls|ll|mkdir|mv|rm|rmdir|man|env|run|load|load_ext|reload_ext|matplotlib"
    r"|memit|prun|time|timeit)[ \t]+(?!(?:and|as|for|if|in|is|not|or)\b)[\w~/.]"
    r"|(?:cat|cp|ls|ll|memit|mkdir|mv|prun|rm|rmdir|run|timeit)[ \t]+(?:--?[A-Za-z]|\*)"
)


def python_start(cell: str) -> int | None:
    """Where the Python of a cell starts: after cell magics that run it. None if it is another language's."""
    position = 0
    while match := _CELL_MAGIC.match(cell, position):
        if match["name"] not in _PYTHON_BODIES:
            return None
        position = match.end()
    return position


def python_of(cell: str) -> str:
    """A cell without IPython's additions, as long as before; it may still not parse.

    Arguments:
        cell: one for which `python_start` is not None.
    """
    position = python_start(cell) or 0
    pieces = [comment_out(cell[:position])]
    while position < len(cell):
        pieces.append(python_line(cell, position))
        position += len(pieces[-1])
    return "".join(pieces)


def python_line(cell: str, position: int, only_certain: bool = False) -> str:
    """What starts at an offset, a logical line of Python or a magic, as Python of the same length.

    Arguments:
        cell: the text that it is in.
        position: the offset.
        only_certain: leave what may as well be broken Python, such as a line that starts with a comma.
    """
    match = _INDENTED_LINE.match(cell, position)
    indentation, line = match.groups() if match is not None else ("", "")
    is_magic = _is_certain(line) if only_certain else line.startswith(_ESCAPES) or _AUTOMAGIC.match(line) is not None
    # What brackets and quotes a shell line opens, no later line closes: its logical line is not looked for.
    logical = "" if is_magic else cell[position : end_of_logical_line(cell, position)]
    if is_magic or _asks_for_help(logical, only_certain):
        return indentation + _without_magic(line, needed=indentation != "")
    if assigned := _ASSIGNED.match(line):
        magic = line[assigned.end() :]
        return indentation + assigned[0] + _without_magic(magic, needed=True, assigned=True)
    return logical


def comment_out(text: str) -> str:
    """The text with `#` for the first character of each line."""
    return _LINE.sub(r"#\1", text)


def parse(code: str) -> None:
    """Let Python's parser read some code.

    Raises:
        SyntaxError, ValueError, RecursionError, MemoryError: it does not parse.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ast.parse(code)


def _is_certain(line: str) -> bool:
    """Whether a line starts as IPython's do, and as nothing that a mistake leaves of Python or prose."""
    if line[:1] == "%" and _AUTOMAGIC.match(line[1:].lstrip(" \t")):  # `% matplotlib inline`
        return True
    return _CERTAIN.match(line) is not None


def _asks_for_help(logical: str, only_certain: bool) -> bool:
    """`name?`, `name??` in a logical line: a question mark is nowhere in Python but in strings and comments.

    Arguments:
        logical: the line.
        only_certain: whether it must not be prose.
    """
    bare = bare_code(logical).rstrip(" \t\r\n;") if "?" in logical else ""
    if not bare.endswith("?") or "\n" in bare:
        return False
    return not only_certain or _CERTAIN_HELP.fullmatch(bare) is not None


def _without_magic(text: str, needed: bool, assigned: bool = False) -> str:
    """What is left of a magic: the Python that it runs, if it is one of those, else a stub or nothing.

    Arguments:
        text: of the magic.
        needed: whether something must be there: a block may have nothing else, and an assignment has a value.
        assigned: whether its value is.
    """
    match = _ARGUMENTS.match(text)
    if match is not None and match["name"] in _PYTHON_ARGUMENTS:
        length, code = match.start("code"), match["code"]
        # Only `%time` gives the value of what it runs.
        lead = " " * length if assigned and match["name"] == "time" else STAND_IN.ljust(length - 1) + ";"
        try:
            parse(f"x = {code}" if lead.isspace() else f"{STAND_IN};{code}")
            return lead + code
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            pass
    return STAND_IN + comment_out(text[1:]) if needed else comment_out(text)
