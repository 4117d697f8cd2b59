"""Suppressing what is found: each finding's code joins the `# noqa` of its line, in the files."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from tflint_gpu.checking.fixes import FixError, write
from tflint_gpu.diagnostics import Diagnostic, InternalError
from tflint_gpu.lazy_dataclasses import dataclass
from tflint_gpu.rule import UNREADABLE_FILE, UNUSED_SUPPRESSION
from tflint_gpu.text.decoding import decode_source
from tflint_gpu.text.scripts import readable
from tflint_gpu.text.source import UnreadableSource
from tflint_gpu.text.suppressions import suppressing


@dataclass(frozen=True, slots=True)
class AddedSuppressions:
    """What came of it.

    Arguments:
        suppressed: the findings that a comment suppresses now.
        left: those that no comment can suppress: of files that do not parse, and on lines that take no comment.
        failures: files that could not be written; they are as they were.
    """

    suppressed: tuple[Diagnostic, ...]
    left: tuple[Diagnostic, ...]
    failures: tuple[InternalError, ...]


def add_suppressions(diagnostics_iter: Iterable[Diagnostic], working_directory: Path) -> AddedSuppressions:
    """Add the comments that suppress findings. A file is written whole or not at all.

    Arguments:
        working_directory: what the findings' file names are relative to.
    """
    by_file: dict[str, list[Diagnostic]] = {}
    for diagnostic in diagnostics_iter:
        if diagnostic.code == UNUSED_SUPPRESSION:  # more comments are no answer to a comment too many
            continue
        by_file.setdefault(diagnostic.filename, []).append(diagnostic)
    suppressed: list[Diagnostic] = []
    left: list[Diagnostic] = []
    failures: list[InternalError] = []
    for name, diagnostics in by_file.items():
        path = working_directory / name
        try:
            data = path.read_bytes()
            source = readable(decode_source(data, path, name))
            edits, done = suppressing(
                source, [diagnostic for diagnostic in diagnostics if diagnostic.code != UNREADABLE_FILE]
            )
            if edits:
                write(source.edited(edits), path, data)
        except (FixError, OSError, UnreadableSource, UnicodeEncodeError) as error:
            failures.append(InternalError(name, "--add-noqa", f"not fixed: {error}"))
            continue
        suppressed += done
        kept = {id(diagnostic) for diagnostic in done}
        left += [diagnostic for diagnostic in diagnostics if id(diagnostic) not in kept]
    return AddedSuppressions(tuple(suppressed), tuple(left), tuple(failures))
