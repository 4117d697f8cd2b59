"""Protects `# noqa`: a comment silences what it names, where it stands, and nothing else."""

from __future__ import annotations

from pathlib import Path

import pytest

from tflint_gpu.diagnostics import Diagnostic, Location
from tflint_gpu.text.scripts import readable
from tflint_gpu.text.source import SourceFile
from tflint_gpu.text.suppressions import Suppressions, noqa_row, removal, suppression


def hidden(text: str, row: int, code: str = "TFG101") -> bool:
    source = SourceFile(Path("x.py"), "x.py", text)
    place = Location(row, 1)
    diagnostic = Diagnostic(code, "numpy-in-call", "m", "x.py", place, place, noqa_row(source, row), "warning")
    return Suppressions(source).hides(diagnostic)


@pytest.mark.parametrize(
    ("comment", "expected"),
    [
        ("# noqa", True), ("# NoQA", True), ("#noqa", True), ("# noqa: TFG101", True), ("# noqa:TFG101", True),
        ("# noqa: E501,TFG101", True), ("# noqa: E501, tfg101", True), ("# noqa: E501 TFG101", True),
        ("# noqa: TFG1", True), ("# noqa: TFG102", False), ("# noqa: E501", False), ("# noqa: TFG1011", False),
        ("# type: ignore # noqa: TFG101", True), ("# noqa : E501", True), ("# no qa", False), ("noqa", False),
        ("# noqa: TFG101 because of x", True), ("# noqa because", True), ("# noqa: numpy-in-call", True),
        ("# noqa: E501, Numpy-In-Call", True), ("# noqa: numpy-in-calls", False), ("# noqa: misspelt", False),
        ("# noqa:", False), ("# noqa:  TFG101", True),
    ],
)  # fmt: skip
def test_inline(comment: str, expected: bool) -> None:
    assert hidden(f"a = 1\nb = 2  {comment}\n", 2) is expected
    assert not hidden(f"a = 1\nb = 2  {comment}\n", 1)


def test_anywhere_in_the_statement() -> None:
    text = "f(\n  1,\n  2,  # noqa: TFG101\n)\nwith a(\n  b\n):  # noqa\n    c()\n"
    assert all(hidden(text, row) for row in (1, 2, 3, 4, 5, 6, 7))
    assert not hidden(text, 8), "a block's header says nothing about its body"


def test_behind_a_string_of_several_rows() -> None:
    text = 'f("""\nx\n""")  # noqa\ng()\n'
    assert hidden(text, 1)
    assert not hidden(text, 4)


@pytest.mark.parametrize(
    ("line", "code", "expected"),
    [
        ("# tflint-gpu: noqa", "TFG101", True), ("# tflint-gpu: noqa: TFG1", "TFG101", True),
        ("# tflint-gpu: noqa: TFG2, TFG101", "TFG101", True), ("# tflint-gpu: noqa: TFG2", "TFG101", False),
        ("# flake8: noqa", "TFG101", True), ("# FLAKE8: NOQA", "TFG101", True),
        ("# flake8: noqa: E501", "TFG101", False), ("x = 1  # tflint-gpu: noqa", "TFG101", False),
        ("# ruff: noqa", "TFG101", False),
    ],
)  # fmt: skip
def test_whole_file(line: str, code: str, expected: bool) -> None:
    assert hidden(f"a = 1\n\n{line}\n", 1, code) is expected


def test_text_that_does_not_tokenize_still_has_its_rows() -> None:
    text = "a = (((\nb = 'x\n$$ f()  # noqa\n"
    assert hidden(text, 3)


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("b = 2", "b = 2  # noqa: TFG101"),
        ("b = 2   ", "b = 2  # noqa: TFG101"),
        ("b = 2  # why", "b = 2  # why  # noqa: TFG101"),
        ("b = 2  # noqa: E501", "b = 2  # noqa: E501, TFG101"),
        ("b = 2  # noqa:E501 W1 because", "b = 2  # noqa:E501 W1, TFG101 because"),
        ("b = 2  # type: ignore # NOQA: E501", "b = 2  # type: ignore # NOQA: E501, TFG101"),
        ("b = '# noqa: E501'", None),  # flake8 would read the string first
        ('b = """', 'b = """'),
    ],
)
def test_where_a_new_comment_goes(line: str, expected: str | None) -> None:
    end = '\r\n"""' if line.endswith('"""') else ""
    source = SourceFile(Path("x.py"), "x.py", f"a = 1\r\n{line}{end}\r\nc = 3\r\n")
    place = Location(2, 1)
    diagnostic = Diagnostic("TFG101", "n", "m", "x.py", place, place, noqa_row(source, 2), "warning")
    edit = suppression(source, diagnostic)
    if expected is None:
        assert edit is None
        return
    assert edit is not None
    text = source.text[: edit.start] + edit.content + source.text[edit.end :]
    expected += f"{end}  # noqa: TFG101" if end else ""
    assert text == f"a = 1\r\n{expected}\r\nc = 3\r\n"
    assert hidden(text, 2)


def test_a_new_comment_behind_a_shell_lines_quotes() -> None:
    """Protects the editor's "Suppress here": what a shell line opens makes no string of the comments below it."""
    text = "!echo ''' (\nb = 2  # noqa: E501\ns = '''\n'''\n"
    source = readable(SourceFile(Path("x.py"), "x.py", text))
    place = Location(2, 1)
    diagnostic = Diagnostic("TFG101", "n", "m", "x.py", place, place, noqa_row(source, 2), "warning")
    assert noqa_row(source, 2) == 2
    edit = suppression(source, diagnostic)
    assert edit is not None
    assert text[: edit.start] + edit.content + text[edit.end :] == text.replace("E501", "E501, TFG101")


def listed(text: str) -> list[tuple[str, list[str], bool]]:
    """Each comment with codes: its text, the codes, whether it is for the whole file."""
    source = readable(SourceFile(Path("x.py"), "x.py", text))
    return [
        (text[one.start : one.end], [code.text for code in one.codes], one.whole_file)
        for one in Suppressions(source).directives
    ]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("b = 2  # noqa: TFG101, e501 because", [("# noqa: TFG101, e501", ["TFG101", "E501"], False)]),
        ("b = 2  # type: ignore # noqa:TFG1", [("# noqa:TFG1", ["TFG1"], False)]),
        ("  # flake8: noqa: TFG101", [("# flake8: noqa: TFG101", ["TFG101"], True)]),
        ("b = 2  # noqa", []),
        ("# tflint-gpu: noqa", []),
        ("b = 2  # tflint-gpu: noqa: TFG101", []),
        ("b = '# noqa: TFG101'", []),
        ("b = '# noqa: TFG101'  # noqa: TFG102", []),  # only the first of a row is looked at
        ("b = 2  # noqa: TFG101  # noqa: TFG102", [("# noqa: TFG101", ["TFG101"], False)]),
        ("!ls  # noqa: TFG101", []),
    ],
)
def test_comments_that_list_codes(line: str, expected: list[object]) -> None:
    assert listed(f"a = 1\r\n{line}\r\nc = 3\r\n") == expected


def test_what_silences_a_finding() -> None:
    """Protects the truth about comments that do nothing: each code that matches does something, but the file's wins."""
    text = "f(  # noqa: TFG1, TFG101, TFG2\n  1)  # noqa: TFG101, E501\n"
    source = SourceFile(Path("x.py"), "x.py", text)
    place = Location(1, 1)
    diagnostic = Diagnostic("TFG101", "n", "m", "x.py", place, place, 1, "warning")

    def suppressing(text: str) -> list[str]:
        comments = Suppressions(SourceFile(Path("x.py"), "x.py", text))
        return [text[at : at + 6].rstrip(", E") for at in comments.suppressing_codes(diagnostic)]

    assert [source.text[at : at + 4] for at in Suppressions(source).suppressing_codes(diagnostic)] == [
        "TFG1",
        "TFG1",
        "TFG1",
    ]
    assert suppressing(text) == ["TFG1, ".rstrip(", "), "TFG101", "TFG101"]
    assert suppressing(text + "# tflint-gpu: noqa: TFG10\n") == ["TFG10\n"]
    assert suppressing(text + "# tflint-gpu: noqa\n") == []


@pytest.mark.parametrize(
    ("line", "gone", "expected"),
    [
        ("b = 2  # noqa: TFG101", "TFG101", "b = 2"),
        ("b = 2  # noqa: TFG101  ", "TFG101", "b = 2"),
        ("b = 2  # noqa: E501, TFG101", "TFG101", "b = 2  # noqa: E501"),
        ("b = 2  # noqa: TFG101,E501,TFG102 why", "TFG101 TFG102", "b = 2  # noqa: E501 why"),
        ("b = 2  # noqa: TFG101 E501 W1, TFG102", "TFG102", "b = 2  # noqa: TFG101, E501, W1"),
        ("b = 2  # noqa: tfg101 E501 W1", "TFG101", "b = 2  # noqa: E501 W1"),
        ("b = 2  # noqa: TFG101 because of x", "TFG101", "b = 2  # because of x"),
        ("b = 2  # noqa: TFG101  # type: ignore", "TFG101", "b = 2  # type: ignore"),
        ("b = 2  # type: ignore # noqa: TFG101", "TFG101", "b = 2  # type: ignore"),
        ("  # noqa: TFG101", "TFG101", None),
        ("# tflint-gpu: noqa: TFG101", "TFG101", None),
        ("# flake8: noqa: TFG101, E501", "TFG101", "# flake8: noqa: E501"),
    ],
)
def test_codes_are_removed_as_ruff_does(line: str, gone: str, expected: str | None) -> None:
    """Protects what else stands in a comment, and the rest of the line; None: the line goes."""
    source = SourceFile(Path("x.py"), "x.py", f"a = 1\r\n{line}\r\nc = 3\r\n")
    [directive] = Suppressions(source).directives
    edit = removal(source, directive, [code for code in directive.codes if code.text in gone.split()])
    assert edit is not None
    text = source.edited([edit]).text
    assert text == f"a = 1\r\n{'' if expected is None else expected + chr(13) + chr(10)}c = 3\r\n"


SWITCHED = """a = 1
# tflint-gpu: off
b = 2
# tflint-gpu: on
c = 3
# tflint-gpu: off: TFG101, eager-train-step
d = 4
# tflint-gpu: off: TFG3
e = 5
# tflint-gpu: on: TFG101
f = 6
"""


def test_from_a_comment_to_another() -> None:
    """Protects ranges: what is off, and only that, from `off` to `on` or to the end of the file."""

    def rows(code: str) -> list[int]:
        return [row for row in (1, 3, 5, 7, 9, 11) if hidden(SWITCHED, row, code)]

    assert (rows("TFG101"), rows("TFG301"), rows("TFG202")) == ([3, 7, 9], [3, 9, 11], [3])
    assert not hidden(f'"""\n{SWITCHED}"""\nx = 1\n', 4), "a text of comments is none"
    assert not hidden("x = 1  # tflint-gpu: off\ny = 2\n", 2), "as for a file, a line of its own"


NAMELESS = "{} names no rule, so it suppresses nothing"
NO_COMMENT = "{} must be `# tflint-gpu: noqa`, `off` or `on` on a separate line; it suppresses nothing"


@pytest.mark.parametrize(
    ("comment", "warning"),
    [
        ("# noqa: misspelt", NAMELESS), ("# noqa:", NAMELESS), ("# noqa: no-such-rule", NAMELESS),
        ("# noqa: TFG999", NAMELESS), ("# noqa: TFG101O", NAMELESS), ("# flake8: noqa: TFG9", NAMELESS),
        ("# tflint-gpu: noqa: x", NAMELESS), ("# tflint-gpu: off: misspelt", NAMELESS), ("# tflint-gpu: on:", NAMELESS),
        ("# tflint-gpu: off: numpy-in-cal", NAMELESS),
        ("# noqa: E501, numpy-in-cal", f"`numpy-in-cal` in {NAMELESS}"), ("# noqa: TFG999 E501", f"`TFG999` in {NAMELESS}"),
        ("# tflint-gpu: off: TFG101, TFG999", f"`TFG999` in {NAMELESS}"),
        ("# tflint-gpu: of", NO_COMMENT), ("# tflint-gpu : off", NO_COMMENT), ("#tflint-gpu:off because", NO_COMMENT),
        ("# noqa", ""), ("# noqa: E501", ""), ("# noqa: T201, W1", ""), ("# noqa: numpy-in-call", ""),
        ("# noqa: tfg1 well-known", ""), ("'# noqa: misspelt'", ""), ("# tflint-gpu: off", ""),
        ("# tflint-gpu: on: TFG1", ""), ("# tflint-gpu: noqa", ""), ("'# tflint-gpu: of'", ""),
        ("# tflint-gpu: input=(32, 128) float32", ""), ("#tflint-gpu:input = (3,) int32", ""),
    ],
)  # fmt: skip
def test_a_comment_that_names_no_rule_is_warned_of(comment: str, warning: str) -> None:
    source = SourceFile(Path("x.py"), "x.py", f"a = 1\n{comment}\n")
    warnings = list(Suppressions(source).warnings(["TFG101", "numpy-in-call"]))
    assert warnings == ([f"2: {warning.format(f'`{comment}`')}"] if warning else [])


def test_a_comment_for_lines_after_code_is_warned_of() -> None:
    source = SourceFile(Path("x.py"), "x.py", "a = 1  # tflint-gpu: off\n")
    assert list(Suppressions(source).warnings([])) == [f"1: {NO_COMMENT.format('`# tflint-gpu: off`')}"]
