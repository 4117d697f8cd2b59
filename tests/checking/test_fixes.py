"""Protects users' files: a fix changes its own characters, all of them or none, and nothing else."""

from __future__ import annotations

import os
import stat
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tflint_gpu.checking.fixes import FixError, apply, difference, fix_source, wanted, write
from tflint_gpu.diagnostics import Diagnostic, Edit, Fix
from tflint_gpu.text.source import SourceFile


def source(text: str, **attributes: Any) -> SourceFile:
    return SourceFile(Path("x.py"), "x.py", text, **attributes)


def finding(file: SourceFile, *edits: tuple[int, int, str], applicability: Any = "safe") -> Diagnostic:
    placed = tuple(Edit(start, end, file.locate(start), file.locate(end), text) for start, end, text in edits)
    place = placed[0].location
    return Diagnostic(
        "TFG901", "n", "m", "x.py", place, place, place.row, "warning", fix=Fix("f", applicability, placed)
    )


def each(file: SourceFile, word: str, replacement: str) -> list[Diagnostic]:
    """A finding with a fix for each occurrence of a word."""
    starts = [n for n in range(len(file.text)) if file.text.startswith(word, n)]
    return [finding(file, (n, n + len(word), replacement)) for n in starts]


def test_edits_apply_together() -> None:
    file = source("a = BAD  # é BAD\r\nBAD()\n")
    changed, applied = apply(file, each(file, "BAD", "OK"))
    assert (changed.text, len(applied)) == ("a = OK  # é OK\r\nOK()\n", 3)


def test_the_first_of_two_that_touch_wins_and_the_other_waits() -> None:
    file = source("abcdef")
    first, second = finding(file, (0, 3, "x")), finding(file, (2, 4, "y"))
    third, whole = finding(file, (5, 6, "z")), finding(file, (1, 2, "q"), (5, 6, "r"))
    changed, applied = apply(file, [second, third, whole, first])
    assert (changed.text, applied) == ("xdez", [first, third])


def test_a_shared_insertion_is_made_once() -> None:
    file = source("a\nb\n")
    one = finding(file, (0, 0, "import x\n"), (0, 1, "A"))
    two = finding(file, (0, 0, "import x\n"), (2, 3, "B"))
    changed, applied = apply(file, [two, one])
    assert (changed.text, applied) == ("import x\nA\nB\n", [one, two])


def test_edits_for_another_text_are_left_out() -> None:
    diagnostic = finding(source("a\nb = BAD\n"), (6, 9, "OK"))
    changed, applied = apply(source("a = BAD\n"), [diagnostic])
    assert (changed.text, applied) == ("a = BAD\n", [])


def test_no_code_becomes_a_comment() -> None:
    """Protects programs from a fix that takes out a line break behind a comment: what is left parses."""
    file = source("rows = (\n    made()  # all of them\n    .cached().batched()\n)\n")
    line_break = file.text.index("\n    .cached")
    wrong = finding(file, (line_break, file.text.index(".batched"), ""))
    with pytest.raises(FixError, match=r"TFG901 would move code into a comment: # all of them\.batched"):
        fix_source(file, [wrong], lambda changed: [])
    right = finding(file, (file.text.index(".cached"), file.text.index(".batched"), ""))
    assert (
        fix_source(file, [right], lambda changed: []).source.text
        == "rows = (\n    made()  # all of them\n    .batched()\n)\n"
    )
    noted = finding(file, (line_break, line_break, "  # noqa: TFG304"))
    assert fix_source(file, [noted], lambda changed: []).fixed == (noted,)


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
def test_line_endings_are_the_files_own(newline: str) -> None:
    file = source(f"a{newline}b{newline}")
    assert apply(file, [finding(file, (0, 1, "x\ny\r\nz"))])[0].text == newline.join(["x", "y", "z", "b", ""])


def test_only_wanted_fixes() -> None:
    file = source("a")
    unsafe = finding(file, (0, 1, "b"), applicability="unsafe")
    assert not wanted(unsafe, unsafe=False)
    assert wanted(unsafe, unsafe=True)
    assert fix_source(file, [unsafe], lambda _: []).source.text == "a"


def test_passes_until_nothing_changes() -> None:
    file = source("x = 1  # AAA\n")

    def recheck(changed: SourceFile) -> list[Diagnostic]:
        return each(changed, "AA", "A")[:1]

    result = fix_source(file, recheck(file), recheck)
    assert (result.source.text, len(result.fixed), result.remaining) == ("x = 1  # A\n", 2, ())


def test_at_most_ten_passes_and_no_endless_swapping() -> None:
    def grow(changed: SourceFile) -> Sequence[Diagnostic]:
        return [finding(changed, (0, 0, "#"))]

    assert fix_source(source("\n"), grow(source("\n")), grow).source.text == "#" * 10 + "\n"

    def swap(changed: SourceFile) -> Sequence[Diagnostic]:
        return each(changed, "a", "b") + each(changed, "b", "a")

    assert fix_source(source("a\n"), swap(source("a\n")), swap).source.text == "b\n"


@pytest.mark.parametrize("broken", ["(", "'", "(" * 3000 + ")" * 3000, "1 2"])
def test_a_result_that_does_not_parse_is_refused(broken: str) -> None:
    file = source("x = BAD\n")
    with pytest.raises(FixError, match="TFG901 would produce code that does not parse"):
        fix_source(file, each(file, "BAD", broken), lambda _: [])


def test_a_character_that_the_encoding_lacks_is_refused() -> None:
    file = source("# coding: latin-1\nx = BAD\n", encoding="latin-1")
    with pytest.raises(FixError, match="latin-1"):
        fix_source(file, each(file, "BAD", "'Ω'"), lambda _: [])


@given(st.lists(st.text(alphabet="a\r\n é\t", min_size=1, max_size=9), max_size=9))
def test_everything_else_stays(pieces: list[str]) -> None:
    text = "B".join(pieces)
    file = source(text)
    assert apply(file, each(file, "B", "c"))[0].text == text.replace("B", "c")


def test_writing_keeps_bytes_mode_and_links(tmp_path: Path) -> None:
    real, link = tmp_path / "real.py", tmp_path / "link.py"
    data = b"\xef\xbb\xbf# coding: utf-8\r\nx = '\xc3\xa9'\r\ny = BAD\n"
    real.write_bytes(data)
    real.chmod(0o754)
    link.symlink_to("real.py")
    file = SourceFile.decode(link.read_bytes(), link)
    write(fix_source(file, each(file, "BAD", "OK"), lambda _: []).source, link, data)
    assert real.read_bytes() == data.replace(b"BAD", b"OK")
    assert stat.S_IMODE(real.stat().st_mode) == 0o754
    assert link.is_symlink()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["link.py", "real.py"]


def test_a_write_that_fails_leaves_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.py"
    path.write_text("old")

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space"):
        write(SourceFile(path, "a.py", "new"), path, path.read_bytes())
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_the_difference_can_be_applied(tmp_path: Path) -> None:
    before, after = source("a\r\nb\nc"), source("a\r\nB\nc")
    assert difference(before, after) == (
        "--- x.py\n+++ x.py\n@@ -1,3 +1,3 @@\n a\r\n-b\n+B\n c\n\\ No newline at end of file\n"
    )
