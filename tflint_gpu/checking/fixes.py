"""Fixing files: which edits go together, passes until nothing changes, and safe writing."""

from __future__ import annotations

import ast
import difflib
import textwrap
import warnings
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

from tflint_gpu.diagnostics import Diagnostic, Edit
from tflint_gpu.lazy_dataclasses import dataclass
from tflint_gpu.lazy_patterns import regex
from tflint_gpu.text.lexical import comments
from tflint_gpu.text.nesting import check_nesting
from tflint_gpu.text.replacement import replace_file
from tflint_gpu.text.source import SourceFile, UnreadableSource

MAX_PASSES = 10
_NEWLINE = regex(r"\r\n|\r|\n")
_DEFINED = regex(r"\bdef (\w+)\(")


class FixError(Exception):
    """Fixes of a file that could not be used; the file stays as it was."""


@dataclass(frozen=True, slots=True)
class Fixed:
    """A file's text with fixes.

    Arguments:
        source: with the new text.
        fixed: the diagnostics whose fixes were applied, in the order of application.
        remaining: what a check of the new text still finds.
    """

    source: SourceFile
    fixed: tuple[Diagnostic, ...]
    remaining: tuple[Diagnostic, ...]


def wanted(diagnostic: Diagnostic, unsafe: bool) -> bool:
    """Whether a diagnostic has a fix that may be applied."""
    fix = diagnostic.fix
    return fix is not None and not fix.is_untried and (unsafe or fix.applicability == "safe")


def fix_source(
    source: SourceFile,
    diagnostics: Sequence[Diagnostic],
    recheck: Callable[[SourceFile], Sequence[Diagnostic]],
    unsafe: bool = False,
) -> Fixed:
    """Apply fixes in passes until none is left or ten passes are over.

    Arguments:
        source: the file as it was checked.
        diagnostics: what was found in it.
        recheck: finds what a changed text still has.
        unsafe: apply unsafe fixes too.

    Raises:
        FixError: a result that does not parse or cannot be encoded.
    """
    from tflint_gpu.text.scripts import readable  # only to fix: it takes milliseconds to import

    source = readable(source)
    fixed: list[Diagnostic] = []
    seen = {source.text}
    for _ in range(MAX_PASSES):
        changed, applied = apply(source, [diagnostic for diagnostic in diagnostics if wanted(diagnostic, unsafe)])
        if not applied or changed.text in seen:  # nothing to do, or two fixes that undo each other
            break
        seen.add(changed.text)
        must_parse(changed, [diagnostic.code for diagnostic in applied], len(source.refusals))
        _must_keep_comments(source, changed, applied)
        source = changed
        fixed += applied
        diagnostics = recheck(source)
    try:
        source.encode()
    except UnicodeEncodeError as error:
        raise FixError(f"the fixed text cannot be encoded as {source.encoding}: {error.reason}") from None
    return Fixed(source, tuple(fixed), tuple(diagnostics))


def apply(source: SourceFile, diagnostics: Iterable[Diagnostic]) -> tuple[SourceFile, list[Diagnostic]]:
    """One pass: the file with its new text, and the diagnostics whose fixes are in it.

    Fixes are taken in the order of their places. One that touches what an earlier one changes waits for the
    next pass, except that an edit which is there already (two fixes that add the same import) is shared. One that
    defines what an earlier one defines in another way waits, too: in the next pass it finds the name taken.
    """
    accepted: set[Edit] = set()
    defined: set[str] = set()
    taken: dict[tuple[int, int], list[Edit]] = {}
    applied: list[Diagnostic] = []
    for diagnostic in sorted(diagnostics, key=_place_of_fix):
        fix = _edits(diagnostic)
        if not all(is_still_there(edit, source) for edit in fix):
            continue
        new = [edit for edit in fix if edit not in accepted]
        if any(touch(edit, other) for edit in new for row in _rows(edit) for other in taken.get(row, ())):
            continue
        defines = diagnostic.fix.defines if diagnostic.fix is not None else ()
        if any(f"def {name}(" in edit.content for name in defined.intersection(defines) for edit in new):
            continue
        defined.update(defines)
        accepted.update(new)
        for edit in new:
            for row in _rows(edit):
                taken.setdefault(row, []).append(edit)
        applied.append(diagnostic)
    edits = sorted(accepted, key=lambda edit: (edit.start, edit.end))
    if any(edit.end > after.start for edit, after in pairwise(edits)):  # a mistake of their rule
        raise FixError("a fix has edits that overlap")
    return written(source, edits), applied


def written(source: SourceFile, edits: Iterable[Edit]) -> SourceFile:
    """The file with edits that are in order and do not overlap, with its own line endings."""
    newline = newline_of(source.text)
    return source.edited(replace(edit, content=_NEWLINE.sub(lambda _: newline, edit.content)) for edit in edits)


def _edits(diagnostic: Diagnostic) -> tuple[Edit, ...]:
    return diagnostic.fix.edits if diagnostic.fix is not None else ()


def _place_of_fix(diagnostic: Diagnostic) -> tuple[int, int, str]:
    edits = _edits(diagnostic)
    return min(edit.start for edit in edits), max(edit.end for edit in edits), diagnostic.code


def _rows(edit: Edit) -> list[tuple[int, int]]:
    """The cell and row of each place of an edit: two that touch have one in common."""
    first, last = edit.location, edit.end_location
    return [(first.cell, row) for row in range(first.row, last.row + 1)]


def touch(edit: Edit, other: Edit) -> bool:
    """Whether two edits change the same text, or texts without anything between them."""
    return edit.start <= other.end and other.start <= edit.end


def conflict(edits: Iterable[Edit], accepted: Collection[Edit]) -> bool:
    """Whether edits cannot be made besides accepted ones: they change the same text, or define the same function.

    Functions and other whole statements may be put at the same place.
    """
    defined = {name for edit in accepted for name in _DEFINED.findall(edit.content)}
    return any(
        not defined.isdisjoint(_DEFINED.findall(edit.content))
        or any(touch(edit, other) and not _are_stacked(edit, other) for other in accepted)
        for edit in edits
    )


def _are_stacked(edit: Edit, other: Edit) -> bool:
    is_one_place = edit.start == edit.end == other.start == other.end
    return is_one_place and _has_whole_statements(edit.content) and _has_whole_statements(other.content)


def _has_whole_statements(text: str) -> bool:
    try:
        return text.endswith("\n") and bool(ast.parse(textwrap.dedent(text)).body)
    except SyntaxError:  # a decorator belongs to what follows
        return False


def is_still_there(edit: Edit, source: SourceFile) -> bool:
    """Whether an edit was made for this text: a file may change while others are being checked."""
    return (
        source.is_writable(edit.start, edit.end)
        and source.locate(edit.start) == edit.location
        and source.locate(edit.end) == edit.end_location
    )


def newline_of(text: str) -> str:
    """The line ending of a text: its first one."""
    match = _NEWLINE.search(text)
    return match[0] if match else "\n"


def must_parse(source: SourceFile, applied: Iterable[str], refused: int) -> None:
    """Raise FixError if libcst refuses the text, or if more parts of it were refused than before.

    Arguments:
        applied: the codes of the findings whose fixes made the text.
        refused: how many parts of the text before were refused.
    """
    import libcst

    try:
        if len(source.refusals) > refused:
            raise source.refusals[-1]
        check_nesting(source.code)
        libcst.parse_module(_as_parsed(source.code))
    except (libcst.ParserSyntaxError, UnreadableSource, RecursionError) as error:
        codes = ", ".join(sorted(set(applied)))
        reason = str(error).splitlines()[0]
        raise FixError(f"the fixes of {codes} would produce code that does not parse: {reason}") from None


def _must_keep_comments(before: SourceFile, after: SourceFile, applied: Sequence[Diagnostic]) -> None:
    """Raise FixError if code became part of a comment: the text still parses, and does something else."""
    written = (edit.content for diagnostic in applied for edit in _edits(diagnostic))
    known = {comment for text in (before.text, *written) for comment in comments(text)}
    for comment in (new for new in comments(after.text) if new not in known):
        longest = max((old for old in known if comment.startswith(old)), key=len, default="")
        added = comment[len(longest) :].lstrip()
        if longest.strip("# ") and added and not added.startswith("#"):
            codes = ", ".join(sorted({diagnostic.code for diagnostic in applied}))
            raise FixError(f"the fixes of {codes} would move code into a comment: {comment}")


def _as_parsed(code: str) -> str:
    """What libcst can read of a text: its indentation expanded where tabs and spaces are mixed as Python allows."""
    from tflint_gpu.model.python.parsing.indentation import (
        expand_indentation,  # only to fix: the model takes time to import
    )

    expanded = expand_indentation(code)
    if expanded == code:
        return code
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of the user's literals
            ast.parse(code)
    except (SyntaxError, ValueError):
        return code
    return expanded


def difference(before: SourceFile, after: SourceFile) -> str:
    """A unified diff of two texts of one file, with LF between its lines; of a notebook, one for each changed cell."""
    texts = after.parts()
    return "".join(_difference(name, text, texts.get(name, "")) for name, text in before.parts().items())


def _difference(name: str, before: str, after: str) -> str:
    return "".join(
        line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n"
        for line in difflib.unified_diff([*_lines(before)], [*_lines(after)], fromfile=name, tofile=name)
    )


def _lines(text: str) -> list[str]:
    """Lines by LF only: a CR belongs to the line that it ends, as `patch` has it."""
    lines = text.split("\n")
    return [f"{line}\n" for line in lines[:-1]] + ([lines[-1]] if lines[-1] else [])


def write(source: SourceFile, path: Path, before: bytes, done: Callable[[], object] = lambda: None) -> None:
    """Put a text in the place of a file, as `replace_file` does.

    Arguments:
        before: what the text was made of.
        done: as `replace_file` has it.

    Raises:
        FixError: somebody else has changed the file since it was read.
        OSError: the file cannot be written; it is as it was.
    """
    real = path.resolve(strict=True)  # a file that was deleted meanwhile stays deleted
    if real.read_bytes() != before:
        raise FixError("the file was changed meanwhile; run again")
    replace_file(real, source.encode(), done)
