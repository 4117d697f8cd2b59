"""At which line of the user's own a program failed: its rows are others than those of the files it is cut from."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

from tflint_gpu.diagnostics import Diagnostic
from tflint_gpu.rule.experiment import HARNESS_PREFIX
from tflint_gpu.text.source import SourceFile

_FRAME = re.compile(r'File "(?P<file>[^"\n]+)", line \d+[^\n]*\n[ |]*(?P<code>\S[^\n]*)')


def crash_place(stderr: str, folder: Path, sources: Iterable[SourceFile], flagged: Diagnostic) -> str:
    """The innermost line of the user's in a traceback, as `at train.py:7: `x = load()``; only its code where two lines
    have the same; nothing where it is the flagged line.

    Arguments:
        stderr: with the traceback.
        folder: holds the programs' own folders.
        sources: the files of which programs were made.
    """
    path, code = crash_line(stderr, folder)
    if not code:
        return ""
    for source in sources:
        if source.path.with_suffix(".py").parts[-len(path.parts) :] != path.parts:
            continue
        starts = [start for row, start in enumerate(source.line_starts, 1) if source.line(row).strip() == code]
        if len(starts) != 1:
            break
        at = source.locate(starts[0])
        if (at.cell, at.row) == (flagged.location.cell, flagged.location.row):
            return ""
        return f"at {source.name}:{f'cell {at.cell}:' if at.cell else ''}{at.row}: `{code}`"
    return f"at `{code}`"


def crash_line(stderr: str, folder: Path) -> tuple[Path, str]:
    """The file below its program's folder, and the code of the user's innermost line; no code where there is none."""
    innermost = Path(), ""
    for match in _FRAME.finditer(stderr):
        path = Path(match["file"])
        if folder in path.parents and not path.name.startswith(HARNESS_PREFIX):
            innermost = Path(*path.relative_to(folder).parts[1:]), match["code"].rstrip()
    return innermost
