"""Protects `--diff-base`: what counts as changed is what git says, for every file that git can have.

Each test makes real repositories and asks the real git.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import checkout
import pytest

from tflint_gpu.diagnostics import Diagnostic, Location
from tflint_gpu.narrowing.changes import ChangedLines
from tflint_gpu.narrowing.git import GitError

Git = Callable[..., str]


def git_in(directory: Path) -> Git:
    """Git in a directory, as nobody in particular."""

    return partial(checkout.git, directory)


@pytest.fixture
def git(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Git:
    """An empty repository in the test's directory, on a branch `main`."""
    for name in [name for name in os.environ if name.startswith("GIT_")]:
        monkeypatch.delenv(name)
    run = git_in(tmp_path)
    run("init", "--quiet", "--initial-branch=main")
    return run


def commit(git: Git, message: str = "state") -> None:
    git("add", "--all")
    git("commit", "--quiet", "--message", message)


def at(name: str, first: int, last: int | None = None, code: str = "C1") -> Diagnostic:
    end = Location(last or first, 5)
    return Diagnostic(code, "n", "m", name, Location(first, 1), end, first, "error")


def touched(directory: Path, *places: Any, base: str = "HEAD", texts: dict[str, str] | None = None) -> list[Any]:
    """Which (file, first row, last row) lie on lines that changed since a revision."""
    contents = {name: text.encode() for name, text in (texts or {}).items()}
    found = ChangedLines.since(base, directory).touched([at(*place) for place in places], directory, contents)
    return [(one.filename, one.location.row, one.end_location.row) for one in found]


def rows(directory: Path, name: str, base: str = "HEAD", text: str | None = None, count: int = 12) -> list[int]:
    """The changed rows of a file."""
    texts = None if text is None else {name: text}
    return [
        row for _, row, _ in touched(directory, *((name, row) for row in range(1, count + 1)), base=base, texts=texts)
    ]


def numbered(*new: str, upto: int = 9) -> str:
    return "".join(f"line {number}\n" for number in range(1, upto + 1)) + "".join(f"{line}\n" for line in new)


def test_edited_added_and_appended_lines_committed_or_not(tmp_path: Path, git: Git, write_files: Any) -> None:
    write_files({"a.py": numbered(), "same.py": numbered()})
    commit(git)
    text = numbered("new").replace("line 2", "edited").replace("line 5", "inserted\nline 5")
    write_files({"a.py": text})
    assert rows(tmp_path, "a.py") == [2, 5, 11]
    assert rows(tmp_path, "same.py") == []
    git("add", "a.py")
    assert rows(tmp_path, "a.py") == [2, 5, 11], "staged"
    commit(git)
    assert rows(tmp_path, "a.py") == []
    assert rows(tmp_path, "a.py", "HEAD~1") == [2, 5, 11], "committed"


def test_a_finding_of_several_rows_counts_if_one_of_them_changed(tmp_path: Path, git: Git, write_files: Any) -> None:
    write_files({"a.py": numbered()})
    commit(git)
    write_files({"a.py": numbered().replace("line 5", "edited")})
    places = [("a.py", 1, 4), ("a.py", 3, 5), ("a.py", 4, 7), ("a.py", 6, 9)]
    assert touched(tmp_path, *places) == places[1:3]


def test_an_end_at_the_start_of_a_row_is_the_end_of_the_row_above(tmp_path: Path, git: Git, write_files: Any) -> None:
    write_files({"a.py": numbered()})
    commit(git)
    write_files({"a.py": numbered().replace("line 5", "edited")})
    one = Diagnostic("C1", "n", "m", "a.py", Location(4, 1), Location(5, 1), 4, "error")
    assert ChangedLines.since("HEAD", tmp_path).touched([one], tmp_path, {}) == []


def test_what_was_removed_from_between_the_rows_of_a_finding_changes_it(
    tmp_path: Path, git: Git, write_files: Any
) -> None:
    write_files({"a.py": numbered()})
    commit(git)
    write_files({"a.py": numbered().replace("line 5\n", "")})
    places = [("a.py", 3, 4), ("a.py", 4, 5), ("a.py", 5, 6), ("a.py", 4, 4)]
    assert touched(tmp_path, *places) == [("a.py", 4, 5)]


def test_untracked_and_ignored_files_are_new_as_a_whole(tmp_path: Path, git: Git, write_files: Any) -> None:
    write_files({"old.py": numbered(), ".gitignore": "ignored.py\n"})
    commit(git)
    write_files({"new.py": numbered(), "ignored.py": numbered(), "there/too.py": numbered(), "empty.py": ""})
    places = [("new.py", 9), ("ignored.py", 1), ("there/too.py", 3), ("empty.py", 1)]
    assert [place[:2] for place in touched(tmp_path, *places, ("old.py", 1))] == places
    git("add", "--intent-to-add", "new.py")
    assert rows(tmp_path, "new.py", count=9) == [*range(1, 10)]


def test_a_renamed_file_keeps_its_old_lines(tmp_path: Path, git: Git, write_files: Any) -> None:
    write_files({"old name.py": numbered()})
    commit(git)
    git("mv", "old name.py", "new name.py")
    assert rows(tmp_path, "new name.py") == []
    write_files({"new name.py": numbered().replace("line 3", "edited")})
    assert rows(tmp_path, "new name.py") == [3]
    commit(git)
    assert rows(tmp_path, "new name.py", "HEAD~1") == [3]


STRANGE = ["a b.py", "é.py", 'q"uote.py', "tab\tname.py", "back\\slash.py", "b/b.py", "-dash.py", "*.py", ":(top)x.py", "new\nline.py"]  # fmt: skip


def test_any_name_that_a_file_can_have(tmp_path: Path, git: Git, write_files: Any) -> None:
    write_files({name: numbered() for name in STRANGE})
    write_files({"other.py": numbered()})
    commit(git)
    write_files({name: numbered().replace("line 4", "edited") for name in STRANGE})
    assert {name: rows(tmp_path, name) for name in STRANGE} == {name: [4] for name in STRANGE}
    assert rows(tmp_path, "other.py") == []
    raw = os.fsdecode(b"latin-\xe9.py")
    write_files({raw: numbered()})
    commit(git)
    write_files({raw: numbered().replace("line 6", "edited")})
    assert rows(tmp_path, raw) == [6]


def test_many_files_are_asked_about_in_parts(tmp_path: Path, git: Git, write_files: Any) -> None:
    names = [f"f{number}.py" for number in range(120)]
    write_files({name: numbered(name) for name in names})
    commit(git)
    write_files({name: numbered(name).replace("line 4", "edited") for name in names})
    assert touched(tmp_path, *((name, 4) for name in names), *((name, 5) for name in names)) == [
        (name, 4, 4) for name in names
    ]


@pytest.mark.parametrize(
    "key, value",
    [
        ("diff.noprefix", "true"), ("diff.mnemonicPrefix", "true"), ("color.ui", "always"), ("core.quotePath", "false"),
        ("diff.external", "false"), ("diff.relative", "true"), ("diff.renames", "false"), ("diff.interHunkContext", "9"),
        ("diff.context", "7"), ("diff.srcPrefix", "x/"), ("diff.wordRegex", "."), ("diff.submodule", "diff"),
    ],
)  # fmt: skip
def test_what_users_configure_does_not_matter(key: str, value: str, tmp_path: Path, git: Git, write_files: Any) -> None:
    write_files({"d/é.py": numbered(), "d/b.py": numbered()})
    commit(git)
    git("config", key, value)
    git("mv", "d/b.py", "d/c.py")
    twice = numbered().replace("line 4", "edited").replace("line 7", "edited")
    write_files({"d/é.py": twice, "d/c.py": numbered().replace("line 7", "edited")})
    assert rows(tmp_path / "d", "é.py") == [4, 7]
    assert rows(tmp_path / "d", "c.py") == [7]


def test_lines_that_look_like_a_patch(tmp_path: Path, git: Git, write_files: Any) -> None:
    write_files({"a.py": numbered("++ b/other.py", "@@ -1 +1 @@", upto=3), "z.py": numbered()})
    commit(git)
    text = numbered("++ b/z.py", "@@ -1 +1,9 @@", "-- a/z.py", "\\ No newline", upto=3)
    write_files({"a.py": text})
    assert rows(tmp_path, "a.py") == [4, 5, 6, 7]
    assert rows(tmp_path, "z.py") == []


def test_a_last_line_without_an_end(tmp_path: Path, git: Git, write_files: Any) -> None:
    write_files({"a.py": "one\ntwo", "b.py": "one\ntwo\n"})
    commit(git)
    write_files({"a.py": "zero\none\ntwo\nthree", "b.py": "one\ntwo"})
    assert rows(tmp_path, "a.py") == [1, 3, 4]
    assert rows(tmp_path, "b.py") == [2]


@pytest.mark.parametrize("newline", ["\r\n", "\r"])
def test_other_line_ends(newline: str, tmp_path: Path, git: Git, write_files: Any) -> None:
    text = numbered().replace("\n", newline)
    write_files({"a.py": text})
    commit(git)
    write_files({"a.py": text.replace("line 4", "edited")})
    # To git a file whose lines end with CR is one line.
    assert rows(tmp_path, "a.py", count=9) == ([4] if newline == "\r\n" else [*range(1, 10)])


def test_what_git_takes_for_binary_is_compared_too(tmp_path: Path, git: Git, write_files: Any) -> None:
    write_files({"a.py": numbered(), ".gitattributes": "*.py binary\n"})
    commit(git)
    write_files({"a.py": numbered().replace("line 4", "edited")})
    assert rows(tmp_path, "a.py") == [4]


def test_a_text_that_is_not_on_the_disk(tmp_path: Path, git: Git, write_files: Any) -> None:
    """Standard input, and what fixes have made of a file since git was asked."""
    write_files({"a.py": numbered()})
    commit(git)
    write_files({"a.py": numbered().replace("line 4\n", "edited\n").replace("line 8\n", "")})
    unsaved = (tmp_path / "a.py").read_text().replace("line 2\n", "line 2\nunsaved\n").replace("line 6\n", "other\n")
    assert rows(tmp_path, "a.py", text=unsaved) == [3, 5, 7]
    assert touched(tmp_path, ("a.py", 8, 9), texts={"a.py": unsaved}) == [("a.py", 8, 9)], "the removed line"
    shorter = (tmp_path / "a.py").read_text().replace("line 2\n", "")
    assert touched(tmp_path, ("a.py", 1, 2), texts={"a.py": shorter}) == [("a.py", 1, 2)], "removed, but not saved"
    assert rows(tmp_path, "new.py", text="one\n", count=1) == [1]


def test_a_file_fixed_on_the_disk_has_its_changes_where_they_have_moved_to(
    tmp_path: Path, git: Git, write_files: Any
) -> None:
    write_files({"a.py": numbered()})
    commit(git)
    write_files({"a.py": numbered().replace("line 4", "edited")})
    changed = ChangedLines.since("HEAD", tmp_path)
    found = [at("a.py", row) for row in range(1, 10)]
    assert [one.location.row for one in changed.touched(found, tmp_path, {})] == [4]
    write_files({"a.py": "import x\n" + (tmp_path / "a.py").read_text()})
    assert [one.location.row for one in changed.touched(found, tmp_path, {})] == [1, 5]


def test_a_broken_file_counts_wherever_it_was_changed(tmp_path: Path, git: Git, write_files: Any) -> None:
    write_files({"a.py": numbered(), "b.py": numbered()})
    commit(git)
    write_files({"a.py": numbered().replace("line 4", "(")})
    assert touched(tmp_path, ("a.py", 9, 9, "TFG000"), ("b.py", 9, 9, "TFG000")) == [("a.py", 9, 9)]


def test_a_link_is_the_file_that_it_leads_to(tmp_path: Path, git: Git, write_files: Any) -> None:
    write_files({"a.py": numbered()})
    (tmp_path / "link.py").symlink_to("a.py")
    commit(git)
    write_files({"a.py": numbered().replace("line 4", "edited")})
    assert rows(tmp_path, "link.py") == [4]


def test_below_the_top_of_the_repository(tmp_path: Path, git: Git, write_files: Any) -> None:
    write_files({"src/deep/a.py": numbered(), "src/a.py": numbered()})
    commit(git)
    write_files({"src/deep/a.py": numbered().replace("line 4", "edited"), "src/deep/new.py": "x\n"})
    assert rows(tmp_path / "src" / "deep", "a.py") == [4]
    assert rows(tmp_path / "src" / "deep", "new.py", count=1) == [1]
    assert rows(tmp_path / "src" / "deep", "../a.py") == []


def test_three_dots_leave_out_what_the_other_branch_did_since(tmp_path: Path, git: Git, write_files: Any) -> None:
    write_files({"a.py": numbered()})
    commit(git)
    git("switch", "--quiet", "--create", "topic")
    write_files({"a.py": numbered().replace("line 8", "ours")})
    commit(git)
    git("switch", "--quiet", "main")
    write_files({"a.py": numbered().replace("line 2", "theirs")})
    commit(git)
    git("switch", "--quiet", "topic")
    assert rows(tmp_path, "a.py", "main") == [2, 8]
    assert rows(tmp_path, "a.py", "main...") == [8]


def test_a_submodule_is_compared_with_its_commit_of_then(tmp_path: Path, git: Git, write_files: Any) -> None:
    write_files({"a.py": numbered()})
    library = tmp_path.parent / f"{tmp_path.name}-library"
    library.mkdir()
    there = git_in(library)
    there("init", "--quiet", "--initial-branch=main")
    (library / "lib.py").write_text(numbered())
    commit(there)
    commit(git)
    git("submodule", "--quiet", "add", str(library), "third party")
    assert rows(tmp_path, "third party/lib.py", count=9) == [*range(1, 10)], "it was not there"
    commit(git)
    write_files({"third party/lib.py": numbered().replace("line 3", "edited"), "third party/new.py": "x\n"})
    assert rows(tmp_path, "third party/lib.py") == [3]
    assert rows(tmp_path, "third party/new.py", count=1) == [1]
    commit(git_in(tmp_path / "third party"))
    commit(git)
    assert rows(tmp_path, "third party/lib.py") == []
    assert rows(tmp_path, "third party/lib.py", "HEAD~1") == [3]
    assert rows(tmp_path / "third party", "lib.py", "HEAD~1") == [3], "from within"


def test_a_hook_may_ask(tmp_path: Path, git: Git, write_files: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Git tells its hooks where the repository is; a submodule is another one."""
    test_a_submodule_is_compared_with_its_commit_of_then(tmp_path, git, write_files)
    write_files({"a.py": numbered().replace("line 3", "edited"), "third party/lib.py": numbered("new")})
    monkeypatch.setenv("GIT_DIR", ".git")
    monkeypatch.setenv("GIT_INDEX_FILE", str(tmp_path / ".git" / "index"))
    assert rows(tmp_path, "a.py") == [3]
    assert rows(tmp_path, "third party/lib.py") == [3, 10]


@pytest.mark.parametrize("revision", ["nowhere", "--help", "", "main..HEAD", "nowhere...", "HEAD:a.py", "..."])
def test_an_unknown_revision_is_named(revision: str, tmp_path: Path, git: Git, write_files: Any) -> None:
    write_files({"a.py": numbered()})
    commit(git)
    with pytest.raises(GitError, match="unknown revision") as caught:
        ChangedLines.since(revision, tmp_path)
    assert repr(revision) in str(caught.value)


def test_branches_without_a_common_commit(tmp_path: Path, git: Git, write_files: Any) -> None:
    write_files({"a.py": numbered()})
    commit(git)
    git("switch", "--quiet", "--orphan", "other")
    write_files({"b.py": numbered()})
    commit(git)
    with pytest.raises(GitError, match="no commit in common"):
        ChangedLines.since("main...", tmp_path)


def test_outside_of_any_repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    with pytest.raises(GitError, match="not a git repository") as caught:
        ChangedLines.since("HEAD", tmp_path)
    assert str(tmp_path) in str(caught.value)


def test_a_file_of_another_place_is_named(tmp_path: Path, git: Git, write_files: Any) -> None:
    write_files({"inner/a.py": numbered()})
    commit(git)
    outside = tmp_path.parent / f"{tmp_path.name}.py"
    changed = ChangedLines.since("HEAD", tmp_path)
    changed.must_hold([tmp_path / "inner" / "a.py"])
    with pytest.raises(GitError, match="not in the repository") as caught:
        changed.must_hold([tmp_path / "inner" / "a.py", outside])
    assert str(outside) in str(caught.value)


def test_without_git(tmp_path: Path, git: Git, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(GitError, match="not installed"):
        ChangedLines.since("HEAD", tmp_path)
