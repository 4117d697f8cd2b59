"""Protects who reads the site: in a real browser, from the disk, without a network, and on a telephone."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import pytest
from browsers import browser

NARROW, WIDE = 400, 1280

_SEEN = """
const wide = element => {
  for (let above = element; above && above !== document.body; above = above.parentElement)
    if (["auto", "scroll"].includes(getComputedStyle(above).overflowX)) return false;
  return element.getBoundingClientRect().right > arguments[0] + 1;
};
return {
  title: document.title,
  width: document.documentElement.scrollWidth,
  overflowing: [...document.querySelectorAll("article *")].filter(wide).map(element => element.outerHTML.slice(0, 200)),
  ids: [...document.querySelectorAll("[id]")].map(element => element.id),
  links: [...document.querySelectorAll("a[href]")].map(element => element.href),
  loaded: [...document.querySelectorAll("script[src], link[rel=stylesheet], img")].map(part => part.src || part.href),
  broken: [...document.images].filter(image => image.complete && !image.naturalWidth).map(image => image.src),
};
"""


@pytest.fixture(scope="module", name="browser")
def shared_browser() -> Iterator[Any]:
    """Chromium without a window."""
    with browser(WIDE, 900) as window:
        yield window


def resize(browser: Any, width: int) -> None:
    metrics = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 600}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)


@pytest.fixture(scope="module")
def pages(browser: Any, site: Path) -> dict[Path, dict[str, Any]]:
    """What the browser sees of each page on a narrow screen, and what its console says."""
    resize(browser, NARROW)
    seen = {}
    for path in sorted(set(site.rglob("*.html")) - {site / "404.html"}):  # whose addresses begin at a server's root
        browser.get(path.as_uri())
        seen[path] = {**browser.execute_script(_SEEN, NARROW), "console": browser.get_log("browser")}
    return seen


def test_every_page_loads_without_an_error(pages: dict[Path, dict[str, Any]]) -> None:
    assert len(pages) > 100
    for path, page in pages.items():
        assert page["title"].endswith("tflint-gpu"), path
        assert (page["console"], page["broken"]) == ([], []), path


def test_nothing_is_loaded_from_elsewhere(pages: dict[Path, dict[str, Any]]) -> None:
    assert {
        address for page in pages.values() for address in page["loaded"] if not address.startswith("file:")
    } == set()


def test_no_link_inside_of_the_site_is_dead(site: Path, pages: dict[Path, dict[str, Any]]) -> None:
    reached = set()
    for path, page in pages.items():
        for link in page["links"]:
            parts = urlsplit(link)
            if parts.scheme != "file":
                assert parts.scheme == "https", f"{path}: {link}"
                continue
            target = Path(unquote(parts.path))
            assert target.is_file(), f"{path}: {link}"
            assert not parts.fragment or unquote(parts.fragment) in pages[target]["ids"], f"{path}: {link}"
            reached.add(target)
    assert set(pages) <= reached, "each page can be reached"


def test_nothing_is_cut_off_on_a_narrow_screen(pages: dict[Path, dict[str, Any]]) -> None:
    """Code and tables may be scrolled by themselves."""
    for path, page in pages.items():
        assert (page["width"] <= NARROW, page["overflowing"]) == (True, []), path


def test_what_is_wrong_would_be_seen(browser: Any, site: Path) -> None:
    """Protects the tests above from a style that hides what sticks out, and from a console that says nothing."""
    resize(browser, NARROW)
    browser.get((site / "index.html").as_uri())
    browser.execute_script("document.querySelector('article h1').style.width = '500px'")
    assert browser.execute_script(_SEEN, NARROW)["overflowing"] != []
    browser.get((site / "404.html").as_uri())
    assert browser.get_log("browser") != []
    browser.get("about:blank")  # what that page still asks for belongs to no other test
    browser.get_log("browser")


@pytest.mark.parametrize("width", [NARROW, WIDE])
@pytest.mark.parametrize(("words", "rule"), [("prefetch", "TFG301"), ("memory growth", "TFG401")])
def test_the_search_finds_rules_by_words(width: int, words: str, rule: str, browser: Any, site: Path) -> None:
    resize(browser, width)
    browser.get((site / "index.html").as_uri())
    if width == NARROW:
        browser.execute_script("document.querySelector('label.md-header__button[for=__search]').click()")
    field = browser.find_element("css selector", "input.md-search__input")
    browser.execute_script("arguments[0].focus()", field)
    field.send_keys(words)
    links: list[str] = []
    until = time.monotonic() + 120
    while not any(f"rules/{rule}.html" in link for link in links) and time.monotonic() < until:
        time.sleep(0.1)
        links = browser.execute_script(
            "return [...document.querySelectorAll('.md-search-result__link')].map(link => link.href)"
        )
    assert any(f"rules/{rule}.html" in link for link in links)
    assert browser.get_log("browser") == []
