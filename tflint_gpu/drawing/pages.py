"""HTML pages that need no network, made of templates that escape whatever they are given."""

from __future__ import annotations

import re
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape

from tflint_gpu.reports.display import printable, printable_lines

_HERE = Path(__file__).parent
_CODE = re.compile(r"`([^`]+)`")


def rendered(folder: Path, **values: object) -> str:
    """The page that `page.html` of a folder makes of values.

    Texts are escaped, and nothing in them steers a terminal. The filter `line` puts a text on one line, `prose` makes
    code of what it has between backticks, `code` keeps its lines; `Markup` goes in as it is.
    """
    environment = Environment(
        loader=FileSystemLoader([folder, _HERE]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters.update(line=_line, prose=_prose, code=printable_lines)
    return environment.get_template("page.html").render(values)


def _line(text: str) -> str:
    return printable(" ".join(text.split()))


def _prose(text: str) -> Markup:
    return Markup(_CODE.sub(r"<code>\1</code>", str(escape(_line(text)))))
