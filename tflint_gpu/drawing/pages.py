"""HTML pages that need no network: the frame of a page, and the parts that several have."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from html import escape
from pathlib import Path

from tflint_gpu.reports.display import printable

# Not even a text that found a way past the escapes may load or run anything.
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"


def style_sheet() -> str:
    """The CSS that all pages have."""
    return Path(__file__).with_name("page.css").read_text(encoding="utf-8")


def page(title: str, css: str, body: Iterable[str]) -> str:
    """A whole page.

    Arguments:
        title: as text.
        css: the style sheet.
        body: HTML, in pieces that each become a line.
    """
    parts = [
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">',
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<title>{as_text(title)}</title>",
        f"<style>\n{css}</style>\n</head>\n<body>",
        *body,
        "</body>\n</html>",
    ]
    return "\n".join(parts) + "\n"


def head(title: str, remarks: Iterable[str], facts: Mapping[str, str]) -> Iterator[str]:
    """The heading, what is to be known first, and a list of facts by name; those without a text are left out."""
    yield f"<h1>{as_text(title)}</h1>"
    yield from (f'<p class="remark">{as_text(remark)}</p>' for remark in remarks)
    rows = "".join(f"<dt>{as_text(name)}</dt><dd>{as_text(what)}</dd>" for name, what in facts.items() if what)
    yield f"<dl>{rows}</dl>"


def drawings(drawn: Mapping[str, str]) -> str:
    """Plots as SVG below their captions, side by side; empty if there are none."""
    shown = [
        f"<figure><figcaption>{as_text(caption)}</figcaption>\n{svg}</figure>" for caption, svg in drawn.items() if svg
    ]
    return f'<div class="plots">{"".join(shown)}</div>' if shown else ""


def as_text(text: str) -> str:
    """A text in HTML, on one line."""
    return escape(printable(" ".join(text.split())))
