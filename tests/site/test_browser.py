"""Protects who reads the site: in a real browser, from the disk, without a network, and on a telephone."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterator
from html import unescape
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import pytest
from browsers import browser

pytestmark = pytest.mark.slow

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

_CUT_OFF = """
return [...document.querySelectorAll("article pre code, article img")]
  .filter(block => block.scrollWidth > block.clientWidth).map(block => block.innerText || block.src);
"""
_FAINT = r"""
const rgb = text => (text.match(/[\d.]+/g) || [0, 0, 0, 0]).map(Number);
const over = (top, below) => {
  const alpha = top.length > 3 ? top[3] : 1;
  return [0, 1, 2].map(part => top[part] * alpha + below[part] * (1 - alpha));
};
const light = colour => {
  const [red, green, blue] = colour.map(part => part / 255).map(
    part => part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4);
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
};
const ground = element => element === null ? [255, 255, 255]
  : over(rgb(getComputedStyle(element).backgroundColor), ground(element.parentElement));
const faint = [];
for (const element of document.querySelectorAll("article *")) {
  if (![...element.childNodes].some(node => node.nodeType === 3 && node.data.trim())) continue;
  if (!element.getClientRects().length || element.matches(".headerlink")) continue;
  const below = ground(element), style = getComputedStyle(element);
  const [high, low] = [light(over(rgb(style.color), below)), light(below)].sort((a, b) => b - a);
  const ratio = (high + 0.05) / (low + 0.05);
  if (ratio < (parseFloat(style.fontSize) >= 24 ? 3 : 4.5)) faint.push([ratio.toFixed(2), element.outerHTML.slice(0, 90)]);
}
return faint;
"""
"""The texts of a page that stand out from their ground by less than WCAG 2 asks for (level AA), with the ratios."""


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


def test_no_block_is_cut_off_on_a_wide_screen(browser: Any, site: Path) -> None:
    """Each page whose code is wider than the text of others."""
    resize(browser, WIDE)
    cut = {}
    for path in sorted(site.rglob("*.html")):
        code = re.sub("<[^>]+>", "", "".join(re.findall("<pre.*?</pre>", path.read_text("utf-8"), re.DOTALL)))
        if max(map(len, unescape(code).splitlines()), default=0) > 100:
            browser.get(path.as_uri())
            cut[path] = browser.execute_script(_CUT_OFF)
    assert len(cut) > 15 and {path: blocks for path, blocks in cut.items() if blocks} == {}


def test_the_picture_can_be_read_on_a_narrow_screen(browser: Any, site: Path) -> None:
    """As large as it must be; what does not fit can be scrolled."""
    resize(browser, NARROW)
    browser.get((site / "index.html").as_uri())
    width = browser.execute_script("return document.querySelector('article img').getBoundingClientRect().width")
    svg = (site / "finding.svg").read_text("utf-8")
    drawn, letters = (float(re.findall(what, svg)[0]) for what in (r'viewBox="0 0 (\d+)', r"font-size: (\d+)px"))
    assert width > NARROW and letters * width / drawn >= 10


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_texts_stand_out_from_their_ground(scheme: str, browser: Any, site: Path) -> None:
    preference = {"features": [{"name": "prefers-color-scheme", "value": scheme}]}
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", preference)
    faint = {}
    for page in ("index", "run", "settings", "editors", "rules/TFG202", "idle/worked-example"):
        browser.get((site / f"{page}.html").as_uri())
        browser.execute_script("localStorage.clear()")  # where a page keeps the scheme that was chosen first
        browser.refresh()
        assert browser.execute_script("return document.body.dataset.mdColorScheme === 'slate'") == (scheme == "dark")
        faint[page] = browser.execute_script(_FAINT)
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})
    assert {page: texts for page, texts in faint.items() if texts} == {}


def test_what_is_wrong_would_be_seen(browser: Any, site: Path) -> None:
    """Protects the tests above from a style that hides what sticks out, and from a console that says nothing."""
    resize(browser, NARROW)
    browser.get((site / "index.html").as_uri())
    browser.execute_script("document.querySelector('article h1').style.width = '500px'")
    assert browser.execute_script(_SEEN, NARROW)["overflowing"] != []
    browser.execute_script("document.querySelector('article p').style.color = '#777'")
    assert browser.execute_script(_FAINT) != []
    browser.get((site / "404.html").as_uri())
    assert browser.get_log("browser") != []
    browser.get("about:blank")  # what that page still asks for belongs to no other test
    browser.get_log("browser")


WANTED = {
    "OOM": "idle/out-of-memory",
    "out of memory": "idle/out-of-memory",
    "idle": "idle/index",
    "install": "getting-started",
    "noqa": "command-line",
    "ruff": "command-line",
    "baseline": "command-line|continuous-integration",
    "pre-commit": "continuous-integration",
    "settings": "settings",
    "vscode": "editors",
    "notebook": "notebooks",
    "NVML": "doctor",
    "TFG202": "rules/TFG202",
    "eager-train-step": "rules/TFG202",
    "tf.function": r"rules/TFG(202|203|204|210)",
    "eager": r"rules/TFG2(02|05|07|14)",
    "fit": r"rules/TFG\d+",
    "predict": "rules/TFG2(06|15)",
    "mixed precision": "rules/TFG603",
    "mixed_float16": "rules/TFG60[346]",
    "AUTOTUNE": "rules/TFG(303|707)",
    "prefetch": "rules/TFG30[12]",
    "memory growth": "rules/TFG40[13]",
    "retracing": "rules/TFG2(04|20)",
}
"""What users type, and the page that they want: a pattern of its address, where several answer."""
_SEARCH = """
const field = document.querySelector("input.md-search__input");
field.focus();
document.querySelector(".md-search-result__list").replaceChildren();
field.value = arguments[0];
field.dispatchEvent(new KeyboardEvent("keyup"));
"""


def first_result(browser: Any, words: str) -> str:
    """The page that the site's search names first for words that a user types."""
    browser.execute_script(_SEARCH, words)
    until = time.monotonic() + 60
    while time.monotonic() < until:
        link = browser.execute_script("return document.querySelector('.md-search-result__link')?.href")
        if link is not None:
            return str(link).partition("/site/")[2].partition(".html")[0]
        time.sleep(0.05)
    return ""


def open_search(browser: Any, site: Path, width: int) -> None:
    resize(browser, width)
    browser.get((site / "index.html").as_uri())
    if width == NARROW:
        browser.execute_script("document.querySelector('label.md-header__button[for=__search]').click()")


def test_the_search_names_first_what_a_user_wants(browser: Any, site: Path) -> None:
    """From the disk, without a network."""
    open_search(browser, site, WIDE)
    first = {words: first_result(browser, words) for words in WANTED}
    assert {words: page for words, page in first.items() if not re.fullmatch(WANTED[words], page)} == {}
    assert browser.get_log("browser") == []


def test_the_search_works_on_a_narrow_screen(browser: Any, site: Path) -> None:
    open_search(browser, site, NARROW)
    assert first_result(browser, "OOM") == WANTED["OOM"]


def test_records_are_not_searched(site: Path) -> None:
    index = json.loads((site / "search" / "search_index.json").read_text("utf-8"))["docs"]
    pages = {entry["location"].partition("#")[0] for entry in index}
    assert {"rules/TFG101.html", "run.html"} < pages
    assert [page for page in pages if page.startswith(("records/", "changelog"))] == []
