"""Protects comments on pull requests: a Markdown reader sees a table with our words, and nothing else happens."""

from __future__ import annotations

import html
import re
from pathlib import Path

import pytest
from findings import ODD_NAME, Hard, finding
from markdown_it import MarkdownIt
from markdown_it.token import Token

from tflint_gpu.diagnostics import Diagnostic, Location
from tflint_gpu.reports import View
from tflint_gpu.reports.formats.markdown import render

VIEW = View(Path("/p"))


def tokens_of(text: str) -> list[Token]:
    return MarkdownIt("gfm-like", {"html": True, "linkify": False}).parse(text)


def rows_of(text: str) -> list[list[str]]:
    """The cells of the table's body as a reader sees them, with line breaks as newlines."""
    rows: list[list[str]] = []
    kind = ""
    for token in tokens_of(text):
        kind = token.type if token.type in ("td_open", "th_open") else kind
        if token.type == "tr_open":
            rows.append([])
        elif token.type == "inline" and rows and kind == "td_open":
            rows[-1].append("".join(_seen(child) for child in token.children or []))
    return rows[1:]


def _seen(token: Token) -> str:
    if token.type == "html_inline":
        assert token.content == "<br>", "no HTML but our own line break"
        return "\n"
    assert token.type in ("text", "code_inline", "text_special", "softbreak"), token.type
    return token.content


def message_of(one: Diagnostic) -> str:
    return rows_of(render([one], VIEW))[0][4]


def test_the_table(hard: Hard) -> None:
    rows = rows_of(render(hard.diagnostics, hard.view))
    assert [row[0] for row in rows] == ["error", "error", "warning", "warning", "warning", "advice"], "the worst first"
    severity, name, place, rule, words, predicted = rows[0]
    assert (severity, name, place, rule) == ("error", ODD_NAME, "3:5", "TFG101 numpy-in-call")
    assert words == (
        "50% <b>slower</b>; [see] a|b ]]> and, more: réally \U0001f600 {0} ␛[31m @tf.function a_b_c\ndo x = y || z, too"
    )
    assert predicted == "slowdown by a factor of 1.5 to 2 (gpu, tensorflow<2.11); measured on a T4 | twice"
    assert [row[1] for row in rows[1:3]] == ["latin.py", str(hard.view.working_directory.parent / "out side.py")]
    assert rows[5][1:3] == ["-", "3:5"]


def test_the_summary() -> None:
    text = render([finding(severity="error"), finding(filename="b.py"), finding(severity="advice")], VIEW)
    assert text.startswith("**tflint-gpu** found 3 problems in 2 files: 1 error, 1 warning, 1 piece of advice.\n\n|")
    assert render([finding()], VIEW).startswith("**tflint-gpu** found 1 problem in 1 file: 1 warning.\n\n|")


def test_the_summary_counts_fixes(hard: Hard) -> None:
    assert render([hard.odd], hard.view).partition("\n")[0].endswith(": 1 error. `--fix` fixes 1 of them.")


def test_no_findings() -> None:
    assert render([], VIEW) == "**tflint-gpu** found no problems.\n"


@pytest.mark.parametrize(
    "text",
    [
        "a_b_c *d* ~~e~~ **f** `g",
        "<script>x</script> &lt; <!-- c -->",
        "[a](b) ![c](d) a\\|b a\\b \\` | x",
        "# not a heading",
        "- not a list",
        "1 || 2 | 3",
        "``` x",
    ],
)
def test_words_stay_words(text: str) -> None:
    assert message_of(finding(message=text)) == text
    assert (
        html.unescape(MarkdownIt("gfm-like", {"linkify": False}).render(render([finding(message=text)], VIEW))).count(
            "<tr>"
        )
        == 2
    )


@pytest.mark.parametrize("name", ["a`b.py", "a``b`.py", "a|b.py", "a\\|b.py", " a.py", "`", "x_y_z.py", "<a>.py"])
def test_names_are_shown_as_they_are(name: str) -> None:
    assert rows_of(render([finding(filename=name)], VIEW))[0][1].strip() == name.strip()


def test_code_stays_code_and_nobody_is_called() -> None:
    text = render([finding(message="`a_b` and @somebody, x@y")], VIEW)
    codes = [
        child.content for token in tokens_of(text) for child in token.children or [] if child.type == "code_inline"
    ]
    assert codes[-2:] == ["a_b", "@somebody"]


def test_a_comment_is_never_too_long_and_says_what_it_leaves_out() -> None:
    found = [finding(message="x" * 500, location=Location(row, 1)) for row in range(1, 301)]
    text = render([*found, finding(severity="error", message="the worst")], VIEW)
    assert len(text) < 65_536
    shown = rows_of(text)
    assert shown[0][4] == "the worst"
    match = re.search(r"\n\n(\d+) more problems not shown", text)
    assert match is not None
    assert len(shown) + int(match[1]) == 301


def test_names_of_windows(windows: Hard) -> None:
    assert rows_of(render(windows.diagnostics, windows.view))[0][1] == "sub dir/é.py"
