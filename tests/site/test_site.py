"""Protects the catalogue's pages: each rule has one, all of it can be read and found without a network."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from tflint_gpu.doctor.diagnosis import known
from tflint_gpu.rule import entries, load
from tflint_gpu.site.pages import RulePage

ENTRIES = entries()
DIAGNOSES = known()
CODES = [*(entry.code for entry in ENTRIES), *DIAGNOSES]
_VOID = {"meta", "link", "input", "br", "hr", "img"}
_SITE = ("rule", "--all", "--output-format", "site", "-o")


class Reader(HTMLParser):
    """Reads a page and notes what is wrong with it, and what is in it."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.wrong: list[str] = []
        self.tags: Counter[str] = Counter()
        self.links: list[str] = []
        self.ids: list[str] = []
        self.items: list[str] = []
        self.text = ""
        self.feed(text)
        self.close()
        self.wrong += [f"<{tag}> is not closed" for tag in self.open]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        self.tags[tag] += 1
        self.links += [given[name] for name in ("href", "src", "action", "srcset") if name in given]
        self.ids += [given["id"]] if "id" in given else []
        self.items += [given["data-code"]] if "data-code" in given else []
        self.wrong += [f"{name}= in <{tag}>" for name in given if name == "style" or name.startswith("on")]
        if tag not in _VOID:
            if tag in ("p", "a", "h1", "h2", "li", "tr", "td") and self.open[-1:] == [tag]:
                self.wrong.append(f"<{tag}> in <{tag}>")
            if "p" in self.open and tag in ("p", "div", "ul", "pre", "table", "section", "h1", "h2"):
                self.wrong.append(f"<{tag}> in <p>")
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if self.open[-1:] != [tag]:
            self.wrong.append(f"</{tag}> closes {self.open[-1:]}")
        else:
            self.open.pop()
            self.text += " " if tag in ("td", "th") else ""

    def handle_data(self, data: str) -> None:
        self.text += data


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A site, written as users do."""
    folder = tmp_path_factory.mktemp("work") / "a b" / "site"
    command = [sys.executable, "-m", "tflint_gpu", *_SITE, str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == f"{len(CODES)} pages: {folder / 'index.html'}\n"
    return folder


@pytest.fixture(scope="module")
def pages(site: Path) -> dict[str, Reader]:
    """Its pages by their files' names."""
    return {path.name: Reader(path.read_text("utf-8")) for path in site.glob("*.html")}


def test_every_rule_has_a_page_and_nothing_else_is_there(site: Path, pages: dict[str, Reader]) -> None:
    assert set(pages) == {"index.html", *(f"{code}.html" for code in CODES)}
    listed = (site / ".tflint-gpu-site").read_text().splitlines()
    assert {path.name for path in site.iterdir()} == {".tflint-gpu-site", *listed}
    assert pages["index.html"].items == CODES
    assert pages["index.html"].tags["h2"] == len({entry.theme for entry in ENTRIES}) + 1


def test_the_pages_are_valid(site: Path, pages: dict[str, Reader]) -> None:
    for name, page in pages.items():
        text = (site / name).read_text("utf-8")
        assert page.wrong == [], name
        assert text.startswith('<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n')
        assert (page.tags["title"], page.tags["h1"], page.tags["main"]) == (1, 1, 1), name
        assert len(set(page.ids)) == len(page.ids), name


def test_all_links_lead_somewhere_and_none_leaves(site: Path, pages: dict[str, Reader]) -> None:
    """Protects readers without a network, and those with one from being counted by others."""
    for name, page in pages.items():
        for link in page.links:
            file, _, fragment = link.partition("#")
            assert re.fullmatch(r"[\w.-]+", file) and (site / file).is_file(), f"{name}: {link}"
            assert not fragment or fragment in pages[file].ids, f"{name}: {link}"
    reached, queue = {"index.html"}, ["index.html"]
    while queue:
        new = {link for link in pages[queue.pop()].links if link.endswith(".html")} - reached
        reached |= new
        queue += new
    assert reached == set(pages)
    for path in site.iterdir():
        if path.suffix in (".css", ".js") and path.name != "search-index.js":
            assert not re.search(r"url\(|@import|//\w|fetch|XMLHttpRequest|import\(", path.read_text("utf-8")), (
                path.name
            )


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.code)
def test_a_page_says_all_that_is_known(entry: Any, pages: dict[str, Reader]) -> None:
    [rule] = load([entry.code])
    page = pages[f"{entry.code}.html"]
    text = " ".join(page.text.split())
    assert f"{rule.code} {rule.name}" in text
    for heading in ("Example", "Use instead"):
        if f"\n{heading}:\n" in rule.documentation():
            assert rule.example(heading) in page.text
    prose = rule.documentation("").partition("\nExample:")[0]
    words = set(re.findall(r"\w+", prose.partition("\n")[2])) - {"Measured", "Evidence", "See", "see"}
    missing = {word for word in words if word not in text and word.capitalize() not in text}
    assert missing == set()
    assert {"fix", "versions", "settings"} <= set(page.ids)
    for result in RulePage.of(entry, rule).results:
        for figure in result["figures"]:
            assert f"{figure['ratio']:.2f}" in text and f"{figure['low']:.2f} to {figure['high']:.2f}" in text
    assert ("--unsafe-fixes" in text) == (rule.fixable == "unsafe" or "--unsafe-fixes" in prose)


def test_what_doctor_finds_has_pages_too(pages: dict[str, Reader]) -> None:
    for code, diagnosis in DIAGNOSES.items():
        text = pages[f"{code}.html"].text.replace("`", "")
        for key in ("name", "severity", "means", "remedy"):
            assert diagnosis[key].replace("`", "") in text, (code, key)


def test_renamed_names_are_in_a_table(pages: dict[str, Reader]) -> None:
    text = " ".join(pages["TFG707.html"].text.split())
    assert "tf.data.experimental.AUTOTUNE tf.data.AUTOTUNE 2.4" in text
    assert "Model.fit(workers=, use_multiprocessing=, max_queue_size=)" in pages["TFG705.html"].text


def test_rules_that_are_named_are_links(site: Path) -> None:
    text = (site / "TFG001.html").read_text("utf-8")
    assert "`" not in re.sub(r"<pre.*?</pre>", "", text, flags=re.DOTALL)
    linking = [
        path.name
        for path in site.glob("TFG*.html")
        if re.search(r'<a href="TFG\d{3}.html">TFG\d{3}</a>', path.read_text("utf-8"))
    ]
    for name in linking:
        assert f'<a href="{name}">{name[:6]}</a>' not in (site / name).read_text("utf-8"), "not to itself"


def search_index(site: Path) -> dict[str, str]:
    text = (site / "search-index.js").read_text("utf-8")
    found: dict[str, str] = json.loads(text.removeprefix("const SEARCH_INDEX = ").removesuffix(";\n"))
    return found


def test_the_search_knows_every_word(site: Path) -> None:
    index = search_index(site)
    assert list(index) == CODES
    for entry in ENTRIES:
        [rule] = load([entry.code])
        words = f"{rule.code} {rule.name} {rule.documentation()}".lower().split()
        assert [word for word in words if word not in index[entry.code]] == []


@pytest.mark.parametrize("query", ["prefetch", "memory growth", "TFG3", "gradienttape", "input pipeline zebra"])
def test_the_search_finds_what_the_command_finds(query: str, site: Path, tflint: Any) -> None:
    words = query.lower().split()
    here = {code for code, text in search_index(site).items() if all(word in text for word in words)}
    found = tflint("rule", "--search", query, "--output-format", "json")
    assert here == ({one["code"] for one in json.loads(found.stdout)} if found.returncode == 0 else set())


def test_the_same_catalogue_gives_the_same_bytes(site: Path, tmp_path: Path, tflint: Any) -> None:
    assert tflint(*_SITE, "again").returncode == 0
    again = {path.name: path.read_bytes() for path in (tmp_path / "again").iterdir()}
    assert again == {path.name: path.read_bytes() for path in site.iterdir()}


def contrast(one: str, other: str) -> float:
    """WCAG's contrast of two colours."""

    def luminance(colour: str) -> float:
        digits = colour.lstrip("#")
        digits = "".join(digit * 2 for digit in digits) if len(digits) == 3 else digits
        parts = [int(digits[at : at + 2], 16) / 255 for at in (0, 2, 4)]
        red, green, blue = (p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts)
        return 0.2126 * red + 0.7152 * green + 0.0722 * blue

    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def palettes(css: str) -> Iterator[dict[str, str]]:
    for block in re.findall(r":root \{(.*?)\}", css, re.DOTALL):
        yield dict(re.findall(r"--(\w+): (#\w+)", block))


def test_text_can_be_read_in_light_and_dark(site: Path) -> None:
    light, dark = palettes((site / "site.css").read_text("utf-8"))
    assert light.keys() == dark.keys()
    for palette in (light, dark):
        for name in palette.keys() - {"paper", "panel", "grid"}:
            for ground in ("paper", "panel"):
                assert contrast(palette[name], palette[ground]) >= 4.5, (name, ground)


@pytest.mark.parametrize(
    "arguments",
    [
        ("--all", "--output-format", "site"),
        ("--all", "-o", "x"),
        ("TFG101", "--output-format", "site", "-o", "x"),
        ("--search", "prefetch", "--output-format", "site", "-o", "x"),
    ],
)
def test_a_site_is_all_or_nothing(arguments: tuple[str, ...], tmp_path: Path, tflint: Any) -> None:
    done = tflint("rule", *arguments)
    assert (done.returncode, done.stdout, list(tmp_path.iterdir())) == (2, "", [])
    assert "--all --output-format site -o DIR" in done.stderr


def test_without_the_libraries_the_remedy_is_told(tmp_path: Path) -> None:
    script = (
        "import importlib.util as u; f = u.find_spec\n"
        "u.find_spec = lambda n, p=None: None if n in ('jinja2', 'pygments') else f(n, p)\n"
        f"from tflint_gpu.cli import main; main({[*_SITE, 'x']!r})"
    )
    done = subprocess.run([sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True, timeout=600)
    assert (done.returncode, done.stdout, list(tmp_path.iterdir())) == (2, "", [])
    assert "a site needs jinja2 and pygments: run `pip install 'tflint-gpu[site]'`" in done.stderr
