"""The pages as HTML: templates by Jinja, text by markdown-it, code by Pygments (the extra `site`)."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markdown_it import MarkdownIt
from markdown_it.token import Token
from markupsafe import Markup
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import PythonLexer

from tflint_gpu import __version__
from tflint_gpu.site.pages import Page

_CODE = re.compile(r"\bTFG\d{3}\b")
_HERE = Path(__file__).parent
_PLAIN = ("site.css", "search.js")


def rendered(pages: Sequence[Page]) -> dict[str, str]:
    """The site's files by their names: an index, a page a rule, what the search needs, and the style sheet."""
    markdown = _Markdown(frozenset(page.code for page in pages))
    environment = Environment(
        loader=FileSystemLoader(_HERE), autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters |= {"markdown": markdown.block, "inline": markdown.inline, "python": _python}
    environment.globals["version"] = __version__
    themes: dict[str, list[Page]] = {}
    for page in pages:
        themes.setdefault(page.theme, []).append(page)
    index = json.dumps({page.code: page.words for page in pages}, indent=0)
    files = {name: (_HERE / name).read_text("utf-8") for name in _PLAIN}
    files["search-index.js"] = f"const SEARCH_INDEX = {index};\n"
    files["index.html"] = environment.get_template("index.html").render(themes=themes, number=len(pages))
    around = [None, *pages, None]
    for number, page in enumerate(pages):
        template = environment.get_template(page.template)
        files[page.file] = template.render(page=page, before=around[number], after=around[number + 2])
    return files


@dataclass(frozen=True)
class _Markdown:
    """Turns text into HTML; a rule that is named becomes a link.

    Arguments:
        known: the codes that have pages.
    """

    known: frozenset[str]

    def block(self, text: str, code: str = "") -> Markup:
        """Paragraphs.

        Arguments:
            code: of the page itself, which gets no link.
        """
        return Markup(self._parser(code).render(text))

    def inline(self, text: str) -> Markup:
        """A line, without links: it may be inside of one."""
        return Markup(MarkdownIt("commonmark", {"html": False}).renderInline(text))

    def _parser(self, code: str) -> MarkdownIt:
        def text(_: Any, tokens: Sequence[Token], index: int, options: Any, env: Any) -> str:
            return _CODE.sub(linked, str(Markup.escape(tokens[index].content)))

        def linked(match: re.Match[str]) -> str:
            is_link = match[0] in self.known and match[0] != code
            return f'<a href="{match[0]}.html">{match[0]}</a>' if is_link else match[0]

        parser = MarkdownIt("commonmark", {"html": False})
        parser.add_render_rule("text", text)
        return parser


def _python(text: str) -> Markup:
    return Markup(highlight(text, PythonLexer(), HtmlFormatter(nowrap=True)))
