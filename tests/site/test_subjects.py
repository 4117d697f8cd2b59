"""Protects who looks for a subject on the site: it has a page, and MkDocs makes all pages from the sources of today."""

from __future__ import annotations

import re
from html import unescape
from pathlib import Path

import pytest
from checkout import ROOT
from printed import pages

SUBJECTS = {
    "getting-started": "Getting started",
    "idle/index": "My GPU is idle",
    "rules/index": "The rules",
    "settings": "Settings",
    "editors": "Editors",
    "continuous-integration": "Continuous integration",
    "verify": "verify",
    "run": "run",
    "doctor": "doctor",
    "writing-a-rule": "Writing a rule",
    "architecture": "Architecture",
    "benchmarks": "What a check costs",
    "field-results": "Field results",
}
_HEADING = re.compile(r"<h1[^>]*>(.*?)(?:<a |</h1>)", re.DOTALL)


def heading(page: Path) -> str:
    """The first heading of a page without its markup."""
    return unescape(re.sub(r"<[^>]+>", "", _HEADING.findall(page.read_text("utf-8"))[0])).strip()


def links(page: Path) -> set[str]:
    """The addresses that a page leads to."""
    return set(re.findall(r'<a href="([\w/-]+\.html)"', page.read_text("utf-8")))


@pytest.mark.parametrize(("name", "title"), SUBJECTS.items())
def test_each_subject_has_a_page_two_clicks_from_the_first(name: str, title: str, site: Path) -> None:
    assert heading(site / f"{name}.html") == title
    first = links(site / "index.html")
    assert f"{name}.html" in first.union(*(links(site / page) for page in first if "/" not in page))


def test_each_question_has_a_page_of_its_own(site: Path) -> None:
    """README, the list of the questions and the site have the same ones."""
    readme = re.findall(r"\]\(docs/idle/([\w-]+)\.md\)", (ROOT / "README.md").read_text("utf-8"))
    listed = re.findall(r"^\|.*\]\(([\w-]+)\.md\) \|$", (ROOT / "docs/idle/index.md").read_text("utf-8"), re.MULTILINE)
    built = {path.stem for path in (site / "idle").glob("*.html")} - {"index", "worked-example"}
    assert sorted(readme) == sorted(listed) == sorted(built) and len(built) == 7


def test_mkdocs_makes_every_page(site: Path) -> None:
    """Protects from a second generator beside it: each page says who made it, and was made of a page here or of a rule."""
    built = {path.relative_to(site) for path in site.rglob("*.html")}
    unsigned = [path for path in built if 'name="generator" content="mkdocs-' not in (site / path).read_text("utf-8")]
    assert unsigned == []
    written = {path.relative_to(ROOT / "docs").with_suffix(".html") for path in pages() if path.name != "README.md"}
    made = {path for path in built - written if path.parts[0] not in ("records", "rules")}
    assert (written - built, made) == (set(), {Path("404.html"), Path("changelog.html")})
    tracked = [path for folder in ("tflint_gpu", "docs", "rules") for path in (ROOT / folder).rglob("*.py")]
    assert [path for path in tracked if "</html>" in path.read_text("utf-8")] == []
