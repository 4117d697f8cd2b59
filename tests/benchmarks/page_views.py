"""How an HTML report looks: pictures of it at two widths, light and dark, and what a browser finds wrong.

    python tests/benchmarks/page_views.py PAGE.html [FOLDER] [--browser /usr/bin/chromium]

Needs playwright (`pip install playwright`) and a Chromium; neither is needed for anything else here. It prints, for each
view, by how many pixels the page is wider than the window, which texts run over their own plot, what the browser's
console says and what the page tried to load; a page that is in order has none of these.
"""

from __future__ import annotations

import argparse
from pathlib import Path

WIDTHS = (1280, 420)
SCHEMES = ("light", "dark")
# A text of a plot that is drawn outside of its SVG is cut off.
CUT_OFF = """
[...document.querySelectorAll('svg')].flatMap(svg => {
  const frame = svg.getBoundingClientRect();
  return [...svg.querySelectorAll('text')].filter(text => {
    const box = text.getBoundingClientRect();
    return box.left < frame.left - 1 || box.right > frame.right + 1 || box.top < frame.top - 1 || box.bottom > frame.bottom + 1;
  }).map(text => text.textContent.trim());
})
"""
TOO_WIDE = "document.documentElement.scrollWidth - document.documentElement.clientWidth"


def main() -> None:
    """Take the pictures and print what is wrong."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("page", type=Path)
    parser.add_argument("folder", type=Path, nargs="?", default=Path())
    parser.add_argument("--browser", default="/usr/bin/chromium")
    given = parser.parse_args()
    from playwright.sync_api import sync_playwright

    given.folder.mkdir(parents=True, exist_ok=True)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=given.browser, args=["--no-sandbox"])
        for width in WIDTHS:
            for scheme in SCHEMES:
                context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
                view, said, loaded = context.new_page(), [], []
                view.on("console", lambda message, said=said: said.append(message.text))
                view.on("request", lambda request, loaded=loaded: loaded.append(request.url))
                view.goto(given.page.resolve().as_uri())
                picture = given.folder / f"{given.page.stem}-{width}-{scheme}.png"
                view.screenshot(path=picture, full_page=True)
                wide, cut = view.evaluate(TOO_WIDE), view.evaluate(CUT_OFF)
                print(f"{width} {scheme}: {wide} px too wide, cut off {cut}, console {said}, loaded {loaded[1:]}")
                context.close()
        browser.close()


if __name__ == "__main__":
    main()
