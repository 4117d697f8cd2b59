"""Protects the rules' pages: each rule has one, all that is known of it can be read and found there."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from tflint_gpu.doctor.diagnosis import known
from tflint_gpu.rule import entries, load
from tflint_gpu.rule.evidence import recorded
from tflint_gpu.text.toml import loads

pytestmark = pytest.mark.slow

ENTRIES = [entry for entry in entries() if entry.module.startswith("tflint_gpu.")]
DIAGNOSES = known()
CODES = [*(entry.code for entry in ENTRIES), *DIAGNOSES]
ROOT = Path(__file__).parents[2]


class Reader(HTMLParser):
    """A page's own part: what is between the navigation and the footer."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.text = ""
        self.links: list[str] = []
        self.headings: list[str] = []
        self.feed(text.partition("<article")[2].partition("</article>")[0].partition(">")[2])

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        self.links += [given["href"]] if "href" in given else []
        self.headings += [given["id"]] if tag in ("h1", "h2") else []
        self.text += " " if tag in ("td", "th") else ""

    def handle_data(self, data: str) -> None:
        self.text += data


@pytest.fixture(scope="module")
def pages(site: Path) -> dict[str, Reader]:
    """The pages of rules and diagnoses by their codes."""
    return {path.stem: Reader(path.read_text("utf-8")) for path in (site / "rules").glob("TFG*.html")}


def test_every_rule_and_every_diagnosis_has_a_page_and_is_listed(site: Path, pages: dict[str, Reader]) -> None:
    """`documentation-url` leads to `rules/TFG101.html`."""
    assert set(pages) == set(CODES)
    listed = Reader((site / "rules" / "index.html").read_text("utf-8"))
    assert set(CODES) <= {link.removesuffix(".html") for link in listed.links}


def test_the_questions_name_rules_that_exist_as_they_are_called() -> None:
    """Protects who follows a question; a new rule need not be named here, since all are listed by theme."""
    text = (ROOT / "docs" / "rules" / "index.md").read_text("utf-8")
    named = set(re.findall(r"(TFG\d{3}) ([a-z\d]+-[a-z\d-]+)", text))
    assert len(named) > 50
    assert named <= {(entry.code, entry.name) for entry in ENTRIES}


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.code)
def test_a_page_says_all_that_is_known(entry: Any, pages: dict[str, Reader]) -> None:
    [rule] = load([entry.code])
    page = pages[entry.code]
    text = " ".join(page.text.split())
    assert f"{rule.code} {rule.name}" in text
    for heading in ("Example", "Use instead"):
        if f"\n{heading}:\n" in rule.documentation():
            assert rule.example(heading) in page.text
    prose = rule.documentation("").partition("\nExample:")[0]
    words = set(re.findall(r"\w+", prose.partition("\n")[2])) - {"Measured", "Evidence", "See", "see"}
    assert {word for word in words if word not in text and word.capitalize() not in text} == set()
    assert {"fix", "versions", "settings"} <= set(page.headings)
    assert f"{', '.join((rule.severity, *rule.tags()))}, since {rule.version()}" in text
    for result in recorded(rule.code):
        for figure in result["figures"]:
            assert f"{figure['ratio']:.2f}" in text and f"{figure['low']:.2f} to {figure['high']:.2f}" in text
    assert ("--unsafe-fixes" in text) == (rule.fixable == "unsafe" or "--unsafe-fixes" in prose)


def test_what_doctor_finds_has_pages_too(pages: dict[str, Reader]) -> None:
    for code, diagnosis in DIAGNOSES.items():
        text = pages[code].text.replace("`", "")
        for key in ("name", "severity", "means", "remedy"):
            assert diagnosis[key].replace("`", "") in text, (code, key)


def test_renamed_names_are_in_a_table(pages: dict[str, Reader]) -> None:
    text = " ".join(pages["TFG707"].text.split())
    assert "tf.data.experimental.AUTOTUNE tf.data.AUTOTUNE 2.4" in text
    assert "Model.fit(workers=, use_multiprocessing=, max_queue_size=)" in pages["TFG705"].text


def test_rules_that_are_named_are_links(site: Path, pages: dict[str, Reader]) -> None:
    assert any(re.fullmatch(r"TFG\d{3}\.html", link) for page in pages.values() for link in page.links)
    assert [code for code, page in pages.items() if f"{code}.html" in page.links] == [], "none to itself"
    idle = Reader((site / "idle" / "during-validation.html").read_text("utf-8"))
    assert "../rules/TFG207.html" in idle.links


@pytest.mark.parametrize("entry", [entry for entry in ENTRIES if entry.theme != "tool"], ids=lambda entry: entry.code)
def test_a_page_leads_to_the_documentation_of_tensorflow_or_keras(entry: Any, pages: dict[str, Reader]) -> None:
    links = [link for link in pages[entry.code].links if link.startswith("https://")]
    assert [link for link in links if not re.match(r"https://(www\.tensorflow\.org|keras\.io)/", link)] == []
    assert links and len(links) == len(set(links))


def test_the_names_that_pages_lead_to_are_in_tensorflow() -> None:
    """Protects from addresses that are not there: TensorFlow's own are made of its names."""
    tf = pytest.importorskip("tensorflow")
    table = loads((ROOT / "docs" / "hooks" / "references.toml").read_text("utf-8"))
    names = {page for page in table["api"].values() if not page.startswith("https://")}
    assert len(names) > 30 and all(name.startswith("tf.") for name in names)
    for name in names:
        value = tf
        for part in name.split(".")[1:]:
            value = getattr(value, part)
    prose = "".join(load([entry.code])[0].documentation("").partition("\nExample:\n")[0] for entry in ENTRIES)
    assert [word for word in table["api"] if f"`{word}" not in prose and f"`@{word}" not in prose] == [], (
        "no dead words"
    )


@pytest.mark.parametrize("query", ["prefetch", "memory growth", "gradienttape", "sandbox"])
def test_the_search_knows_the_words(query: str, site: Path, tflint: Any) -> None:
    """The index that the browser searches has all pages, those of rules among them."""
    index = json.loads((site / "search" / "search_index.json").read_text("utf-8"))["docs"]
    places = {page["location"] for page in index if all(word in page["text"].lower() for word in query.split())}
    by_command = tflint("rule", "--search", query, "--output-format", "json")
    expected = [rule["code"] for rule in json.loads(by_command.stdout)] if by_command.returncode == 0 else []
    assert places and [code for code in expected if not any(code in place for place in places)] == []
