"""MkDocs' hooks: the pages that are made of the rules and of the records, and the links between all pages.

A page links to files of the repository as they lie there (`../tests/FIELD.md`), so that it reads well in a checkout,
too. On the site such a link leads to the page made of that file. A file without a page is named instead.
"""

from __future__ import annotations

import re
from pathlib import Path, PurePosixPath
from posixpath import normpath
from typing import Any
from xml.etree.ElementTree import Element

from markdown import Markdown
from markdown.extensions import Extension
from markdown.inlinepatterns import InlineProcessor
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page
from reference_pages import options, settings
from rule_pages import RulePage, rule_pages

ROOT = Path(__file__).parents[2]
RECORDS = {
    "rules/EVIDENCE.md": "records/evidence.md",
    "tests/GPU.md": "records/gpu.md",
    "fixtures/README.md": "records/fixtures.md",
    "CHANGELOG.md": "changelog.md",
    "rules/README.md": "rules/index.md",
    "README.md": "index.md",
}
"""Files of the repository, and the pages that stand for them. The long records in `tests` stay off the site."""
_COSTLY = "|".join(re.findall(r"TFG\d{3}", (ROOT / "docs/idle/index.md").read_text("utf-8")))
_SEARCH = {
    "records/|changelog": {"exclude": True},
    "continuous": {"boost": 3},
    "idle/index|doctor|command": {"boost": 3},
    "settings": {"boost": 1.5},
    f"rules/({_COSTLY})": {"boost": 2},
    "rules/(index|TFG[079])|architecture|bounds|writing|benchmarks|field": {"boost": 0.3},
    "rules/": {"boost": 1},
    "": {"boost": 1.2},
}
"""How the search ranks the pages whose names begin so; the first pattern that matches counts. The rules that cost users
most stand before the others."""
_MADE_HERE = ("rules/index.md", "index.md")
_LINK = re.compile(r"(!?)\[([^\]]*)\]\(([^)\s]+)\)")
_MESSAGES = re.compile(r"^```console(?=\n\$ (?:tflint-gpu check|flake8) )", re.MULTILINE)


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Let codes of rules be links."""
    config.markdown_extensions.append(_CodeLinks())
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages that are made, and the rules' to the navigation."""
    for source, page in RECORDS.items():
        if page not in _MADE_HERE:
            files.append(File.generated(config, page, abs_src_path=str(ROOT / source)))
    for page in rule_pages():
        files.append(File.generated(config, f"rules/{page.code}.md", content=page.markdown))
    [rules] = [entry["Rules"] for entry in config.nav or [] if "Rules" in entry]
    rules += [{theme: [f"rules/{page.code}.md" for page in pages]} for theme, pages in _themes().items()]
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Turn links to files of the repository into links to pages, wrap long messages, write the lists that are made."""
    uri = page.file.src_uri
    _CodeLinks.own_code = page.file.name
    page.meta["search"] = next(ranks for names, ranks in _SEARCH.items() if re.match(names, uri))
    there = {target: source for source, target in RECORDS.items() if target not in _MADE_HERE}.get(uri, f"docs/{uri}")
    markdown = _LINK.sub(lambda match: _relinked(match, there, uri), markdown)
    markdown = _MESSAGES.sub("``` { .console .wrapped }", markdown)
    return _LIST.sub(lambda match: _LISTS[match[1]](), markdown)


def _relinked(match: re.Match[str], source: str, uri: str) -> str:
    """A link as the page has it that is made of the file `source`."""
    address, hash_, anchor = match[3].partition("#")
    if not address or ":" in address or address.startswith("/"):
        return match[0]
    target = normpath(PurePosixPath(source).parent / address)
    page = RECORDS.get(target) or (target.removeprefix("docs/") if target.startswith("docs/") else None)
    if page is None:
        return match[2] if target in match[2] else f"{match[2]} (`{target}`)"
    return f"{match[1]}[{match[2]}](/{page}{hash_}{anchor})"


def _themes() -> dict[str, list[RulePage]]:
    themes: dict[str, list[RulePage]] = {}
    for page in rule_pages():
        themes.setdefault(page.theme.capitalize().replace("Gpu", "GPU"), []).append(page)
    return themes


def _rules_by_theme() -> str:
    lines: list[str] = []
    for theme, pages in _themes().items():
        lines += ["", f"## {theme}", "", "| rule | what it finds | severity |", "|---|---|---|"]
        for page in pages:
            link = f"[{page.code} {page.name}](/rules/{page.code}.md)"
            summary = page.summary.replace("|", "\\|")
            lines.append(f"| {link} | {summary} | {', '.join(trait for trait in page.traits if trait != 'default')} |")
    return "\n".join(lines)


_LISTS = {"the rules by theme": _rules_by_theme, "every setting": settings, "every option": options}
_LIST = re.compile(rf"<!-- ({'|'.join(_LISTS)}) -->")


class _CodeLink(InlineProcessor):
    """A rule's code in running text, as a link to its page."""

    ANCESTOR_EXCLUDES = ("a", "h1", "h2", "h3", "h4")

    def handleMatch(self, m: re.Match[str], data: str) -> tuple[Any, int | None, int | None]:  # noqa: N802
        if m[0] == _CodeLinks.own_code or m[0] not in _CodeLinks.codes:
            return None, None, None
        link = Element("a", href=f"/rules/{m[0]}.md")
        link.text = m[0]
        return link, m.start(0), m.end(0)


class _CodeLinks(Extension):
    """Python-Markdown's extension for `_CodeLink`.

    Class attributes:
        own_code: the name of the page that is being made, which needs no link to itself.
    """

    own_code = ""
    codes = frozenset(page.code for page in rule_pages())

    def extendMarkdown(self, md: Markdown) -> None:  # noqa: N802
        md.inlinePatterns.register(_CodeLink(r"\bTFG\d{3}\b", md), "rule", 70)
