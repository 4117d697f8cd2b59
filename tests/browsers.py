"""A real browser without a window, for tests that look at pages."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

_ARGUMENTS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--force-color-profile=srgb",
)


@contextmanager
def browser(width: int, height: int) -> Iterator[Any]:
    """Debian's chromium, driven by selenium; the test is skipped where one of the two is missing."""
    webdriver = pytest.importorskip("selenium.webdriver", reason="selenium is not installed")
    chromium, driver = shutil.which("chromium"), shutil.which("chromedriver")
    if chromium is None or driver is None:
        pytest.skip("chromium and its driver are not installed (Debian: chromium, chromium-driver)")
    options = webdriver.ChromeOptions()
    for argument in (*_ARGUMENTS, f"--window-size={width},{height}"):
        options.add_argument(argument)
    options.binary_location = chromium
    window = webdriver.Chrome(options, webdriver.ChromeService(driver))
    try:
        yield window
    finally:
        window.quit()


PATIENCE = 120
"""Seconds that something in a browser may take; no test waits for as long where it works."""


def wait_for(condition: Callable[[], object], what: str, more: Callable[[], str] = str) -> None:
    """Wait for something, but not for ever; elements of a page that are drawn again meanwhile are asked for again.

    Arguments:
        more: what a failure says in addition.
    """
    until = time.monotonic() + PATIENCE
    while time.monotonic() < until:
        try:
            if condition():
                return
        except Exception as error:
            if type(error).__name__ != "StaleElementReferenceException":
                raise
        time.sleep(0.1)
    pytest.fail(f"waited {PATIENCE} s for {what}{more()}")


_CUT_OFF = """
const hidden = element => {
  for (let above = element.parentElement; above && above !== document.body; above = above.parentElement)
    if (["auto", "scroll"].includes(getComputedStyle(above).overflowX)) return false;
  const drawing = element.closest("svg"), place = element.getBoundingClientRect();
  const page = {left: 0, right: arguments[0], top: -Infinity, bottom: Infinity};
  const around = drawing && drawing !== element ? drawing.getBoundingClientRect() : page;
  return place.width > 0 && (place.left < around.left - 1 || place.right > around.right + 1
    || place.top < around.top - 1 || place.bottom > around.bottom + 1);
};
const clips = element => element.closest("[clip-path], defs, clipPath, symbol") !== null;
return [...document.querySelectorAll("body *")].filter(element => !clips(element) && hidden(element))
  .map(element => element.outerHTML.slice(0, 200));
"""


def cut_off(window: Any, width: int) -> list[str]:
    """What a page as wide as a screen does not show whole; what can be scrolled by itself, and drawn lines, may go on."""
    metrics = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 600}
    window.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
    found: list[str] = window.execute_script(_CUT_OFF, width)
    return found


def scrolled(window: Any) -> list[str]:
    """The tables of a page that a narrow screen shows only in part."""
    script = "return [...document.querySelectorAll('.wide')].filter(part => part.scrollWidth > part.clientWidth + 1)"
    tables: list[str] = window.execute_script(f"{script}.map(part => part.innerText.slice(0, 200))")
    return tables
