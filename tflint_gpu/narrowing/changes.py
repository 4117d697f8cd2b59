"""Which lines of files changed since a revision, as git tells it, and which findings lie on them."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field
from difflib import SequenceMatcher
from pathlib import Path

from tflint_gpu.catalogue import UNREADABLE_FILE
from tflint_gpu.diagnostics import Diagnostic
from tflint_gpu.lazy_dataclasses import dataclass
from tflint_gpu.lazy_patterns import regex
from tflint_gpu.narrowing.git import GitError, former_names, parse_patch, resolve
from tflint_gpu.narrowing.git import run as run_git

_PATHS_AT_ONCE = 50
_NEWLINE = regex(rb"\r\n|\r|\n")
_DIFF = ("diff", "--find-renames", "--no-color", "--no-ext-diff", "--no-textconv", "--ignore-submodules=all")
_PATCH = ("--text", "--unified=0", "--inter-hunk-context=0", "--src-prefix=a/", "--dst-prefix=b/")
_GITLINK = b"160000"


@dataclass(frozen=True, slots=True)
class Rows:
    """Rows of a text (from 1) that are new, and rows below which something was removed."""

    new: frozenset[int] = frozenset()
    removed_below: frozenset[int] = frozenset()
    all_new: bool = False

    def __bool__(self) -> bool:
        return self.all_new or bool(self.new) or bool(self.removed_below)

    def touch(self, first: int, last: int) -> bool:
        """Whether something was changed in the rows `first` to `last`, or removed from between them."""
        if self.all_new:
            return True
        return not self.new.isdisjoint(range(first, last + 1)) or not self.removed_below.isdisjoint(range(first, last))


ALL_NEW = Rows(all_new=True)


@dataclass(slots=True)
class ChangedLines:
    """The lines that differ between a revision and the files on the disk, committed or not.

    Files that git does not track are new from their first line to their last. Only `since` makes one.

    Arguments:
        revision: the commit, resolved; None if all lines count as changed.
        name: how the user called it.
        top: of the working tree.
        environment: for git, if not this process's own.
    """

    revision: str | None
    name: str
    top: Path
    environment: Mapping[str, str] | None = None
    _tracked: frozenset[bytes] = frozenset()
    _modules: dict[Path, ChangedLines | None] = field(default_factory=dict)
    _changed: dict[bytes, bytes] = field(default_factory=dict)
    _rows: dict[Path, Rows] = field(default_factory=dict)
    _contents: dict[Path, bytes] = field(default_factory=dict)

    @classmethod
    def since(cls, revision: str, directory: Path) -> ChangedLines:
        """The changes of the repository that a directory belongs to.

        Arguments:
            revision: as `tflint_gpu.narrowing.git.resolve` has it.
            directory: somewhere in the working tree.

        Raises:
            GitError: no git, no repository, no such revision.
        """
        top = Path(os.fsdecode(run_git(directory, "rev-parse", "--show-toplevel").removesuffix(b"\n"))).resolve()
        return cls(resolve(directory, revision), revision, top)._prepared()

    def _prepared(self) -> ChangedLines:
        """With the list of files that git tracks, and of those that changed."""
        tracked = set()
        for entry in self._git("ls-files", "--stage", "-z").split(b"\0")[:-1]:
            facts, _, path = entry.partition(b"\t")
            tracked.add(path)
            if facts.startswith(_GITLINK):
                self._modules[self.top / os.fsdecode(path)] = None
        self._tracked = frozenset(tracked)
        if self.revision is not None:
            self._changed = dict(former_names(self._git(*_DIFF, "--name-status", "-z", self.revision, "--")))
        return self

    def must_hold(self, paths: Iterable[Path]) -> None:
        """Raise GitError for the first file that does not lie in the working tree."""
        for path in paths:
            if self.top not in path.resolve().parents:
                raise GitError(
                    f"{path}: not in the repository {self.top}, so what changed in it since {self.name!r} is unknown; "
                    "leave it out with --extend-exclude, or check it without --diff-base"
                )

    def touched(
        self, diagnostics: Sequence[Diagnostic], directory: Path, contents: Mapping[str, bytes]
    ) -> list[Diagnostic]:
        """The diagnostics whose own rows were changed.

        A file that cannot be analysed counts if any of its lines changed: where the parser gives up
        need not be where the mistake is.

        Arguments:
            diagnostics: of any files in the working tree.
            directory: what their relative names start from.
            contents: what is not (or differently) on the disk, by the names that the diagnostics use.

        Raises:
            GitError: a file outside the working tree, or git cannot compare one.
        """
        paths = {diagnostic.filename: (directory / diagnostic.filename).resolve() for diagnostic in diagnostics}
        self.must_hold(paths.values())
        self._learn(paths.values())
        rows = {name: self._rows_now(path, contents.get(name)) for name, path in paths.items()}
        return [diagnostic for diagnostic in diagnostics if _concerns(rows[diagnostic.filename], diagnostic)]

    def _learn(self, paths: Iterable[Path]) -> None:
        """Ask git about files that it was not asked about yet."""
        own: list[bytes] = []
        for path in sorted(set(paths) - set(self._rows)):
            module = self._module_of(path)
            if module is not None:
                module._learn([path])
                self._rows[path] = module._rows[path]
                self._contents[path] = module._contents[path]
                continue
            name = os.fsencode(path.relative_to(self.top).as_posix())
            self._contents[path] = _content(path)
            new = self.revision is None or name not in self._tracked
            self._rows[path] = ALL_NEW if new else Rows()
            if not new and name in self._changed:
                own.append(name)
        for start in range(0, len(own), _PATHS_AT_ONCE):
            self._compare(own[start : start + _PATHS_AT_ONCE])

    def _compare(self, names: Sequence[bytes]) -> None:
        both = sorted({os.fsdecode(name) for new in names for name in (new, self._changed[new])})
        for name, hunks in parse_patch(self._git(*_DIFF, *_PATCH, self.revision or "", "--", *both)):
            path = self.top / os.fsdecode(name)
            if path in self._contents:
                self._rows[path] = _rows(hunks, self._contents[path])

    def _rows_now(self, path: Path, content: bytes | None) -> Rows:
        """The changed rows of a file as it is now: fixes may have changed it since git was asked."""
        rows, before = self._rows[path], self._contents[path]
        after = _content(path) if content is None else content
        return rows if rows.all_new or after == before else _carried(rows, before, after)

    def _module_of(self, path: Path) -> ChangedLines | None:
        """The changes of the submodule that a file lies in."""
        for place in path.parents:
            if place in self._modules:
                module = self._modules[place]
                if module is None:
                    module = self._modules[place] = self._open_module(place)
                return module
        return None

    def _open_module(self, place: Path) -> ChangedLines:
        # Git tells hooks where its own repository is, by variables that must not reach another one.
        local = self._git("rev-parse", "--local-env-vars").decode().split()
        environment = {name: value for name, value in os.environ.items() if name not in local}
        commit = None
        if self.revision is not None:
            entry = self._git("ls-tree", "-z", self.revision, "--", place.relative_to(self.top).as_posix())
            commit = entry.split()[2].decode() if entry.startswith(_GITLINK) else None
        if commit is not None and not run_git(place, "cat-file", "-t", commit, environment=environment, may_fail=True):
            raise GitError(f"submodule {place}: commit {commit} of {self.name!r} does not exist here; fetch it")
        return ChangedLines(commit, self.name, place, environment)._prepared()

    def _git(self, *arguments: str) -> bytes:
        return run_git(self.top, *arguments, environment=self.environment)


def _rows(hunks: Sequence[tuple[int, int]], content: bytes) -> Rows:
    """Git's lines, which end with LF only, as rows of a file, which may end with CR, too."""
    starts = [1, 1]  # the row with which each line starts; lines count from 1, and 0 is the place above the first
    for line in content.split(b"\n"):
        starts.append(starts[-1] + 1 + line.removesuffix(b"\r").count(b"\r"))

    def start(line: int) -> int:
        return starts[min(line, len(starts) - 1)]

    new = {row for line, count in hunks for row in range(start(line), start(line + count)) if count}
    removed = {start(line + 1) - 1 for line, count in hunks if not count}
    return Rows(frozenset(new), frozenset(removed))


def _carried(rows: Rows, before: bytes, after: bytes) -> Rows:
    """Changed rows of a file as rows of a later state of it, with what is new in that."""
    old, new = _NEWLINE.split(before), _NEWLINE.split(after)
    changed: set[int] = set()
    removed: set[int] = set()
    for kind, first, last, new_first, new_last in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if kind == "equal":
            shift = new_first - first
            changed |= {row + shift for row in rows.new if first < row <= last}
            removed |= {row + shift for row in rows.removed_below if first < row <= last}
        elif kind == "delete":
            removed.add(new_first)
        else:
            changed |= set(range(new_first + 1, new_last + 1))
    return Rows(frozenset(changed), frozenset(removed))


def _content(path: Path) -> bytes:
    """What a file says; nothing if it is not there: standard input may have the name of a file that is to be."""
    try:
        return path.read_bytes()
    except OSError:
        return b""


def _concerns(rows: Rows, diagnostic: Diagnostic) -> bool:
    if diagnostic.code == UNREADABLE_FILE:
        return bool(rows)
    first, end = diagnostic.location.file_row, diagnostic.end_location
    last = end.file_row - (end.column == 1)  # an end at the start of a row is the end of the one above
    return rows.touch(first, max(first, last))
