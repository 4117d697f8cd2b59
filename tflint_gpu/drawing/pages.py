"""HTML pages that need no network, made of templates that escape whatever they are given."""

from __future__ import annotations

import base64
import hashlib
import re
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape

from tflint_gpu.reports.display import printable, printable_lines

_HERE = Path(__file__).parent
_CODE = re.compile(r"`([^`]+)`")


def rendered(folder: Path, **values: object) -> str:
    """The page that `page.html` of a folder makes of values, with uPlot where the folder has a script that draws.

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
    script = _script(folder / "page.js")
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    source = f"script-src 'sha256-{digest}'; " if script else ""
    return environment.get_template("page.html").render(values, script=Markup(script), script_source=source)


def _script(own: Path) -> str:
    """The script of a page, after the library that it draws with; empty where it has none."""
    if not own.exists():
        return ""
    kept = _HERE / "uplot"
    licence, library = ((kept / name).read_text("utf-8") for name in ("LICENSE", "uPlot.iife.min.js"))
    return f"/*\n{licence}\n*/\n{library}\n{own.read_text('utf-8')}"


def _line(text: str) -> str:
    return printable(" ".join(text.split()))


def _prose(text: str) -> Markup:
    return Markup(_CODE.sub(r"<code>\1</code>", str(escape(_line(text)))))
