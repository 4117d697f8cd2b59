"""Protects suppressions and noqa_row from misreading where lines begin and end."""

from __future__ import annotations

import io
import tokenize
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import tflint_gpu
from tflint_gpu.text.lexical import Lines, without_prose
from tflint_gpu.text.source import SourceFile
from tflint_gpu.text.suppressions import noqa_row


def logical_ends(text: str) -> set[int]:
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    return {token.start[0] for token in tokens if token.type == tokenize.NEWLINE}


@pytest.mark.parametrize("path", sorted(Path(tflint_gpu.__file__).parent.glob("*.py")), ids=lambda path: path.name)
def test_agrees_with_tokenize(path: Path) -> None:
    text = path.read_text()
    assert logical_ends(text) <= set(Lines.of(text).logical)
    for end in logical_ends(text):
        assert end in Lines.of(text).logical_rows(end)


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
def test_rows_of_a_statement(newline: str) -> None:
    text = newline.join(["a = 1", "f(", "    '#(',  # (", "    2)", "b = \\", "  3", 's = """', '"""', "c = 4"])
    lines = Lines.of(text)
    groups = {row: list(lines.logical_rows(row)) for row in range(1, 10)}
    assert groups[1] == [1]
    assert groups[2] == groups[4] == [2, 3, 4]
    assert groups[5] == groups[6] == [5, 6]
    assert groups[7] == groups[8] == [7, 8]
    assert groups[9] == [9]


@pytest.mark.parametrize(("row", "expected"), [(1, 1), (2, 3), (3, 3), (4, 6), (5, 6), (7, 7)])
def test_a_comment_goes_where_one_may_stand(row: int, expected: int) -> None:
    text = 'f(1,\n  2 + \\\n  3)\ns = """a\nb\nc"""\ng()\n'
    assert noqa_row(SourceFile(Path("x.py"), "x.py", text), row) == expected


@pytest.mark.slow
@given(st.text(alphabet="a\"'#()[]\\\n\r ", max_size=60))
def test_survives_any_text(text: str) -> None:
    lines, source = Lines.of(text), SourceFile(Path("x.py"), "x.py", text)
    count = len(source.line_starts)
    for row in range(1, count + 1):
        assert row in lines.logical_rows(row)
        assert noqa_row(source, row) >= row
        # What goes on is one statement.
        assert row not in source.continued_rows or row + 1 in lines.logical_rows(row)


@pytest.mark.parametrize(
    "text",
    [
        '"""Call `.fit(`."""\nimport a\n',
        "# .fit(\nimport a\n",
        'def f():\n    """Call `.fit(`.\n\n    ...\n    """\n',
        "class A:\n\n    r'''.fit('''\n",
    ],
)
def test_what_is_written_for_readers_is_no_code(text: str) -> None:
    """Protects the speed of checks: a library whose docstrings name a method does not call it."""
    assert ".fit(" not in without_prose(text)
    assert without_prose(text.replace(".fit(", "")) == without_prose(text)


@pytest.mark.parametrize(
    "text",
    [
        'run("""model.fit(x)""")\n',
        'code = """model.fit(x)"""\n',
        'run(\n    """model.fit(x)"""\n)\n',
        "def f():\n    model.fit(x)  # trains\n",
        'def f():\n    """Train."""\n    model.fit(x)\n',
    ],
)
def test_other_texts_stay(text: str) -> None:
    assert "model.fit(x)" in without_prose(text)
