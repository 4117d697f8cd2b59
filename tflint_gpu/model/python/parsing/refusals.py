"""Why a file does not parse, in Python's own words where Python refuses it, too."""

from __future__ import annotations

import ast
import warnings

import libcst as cst

from tflint_gpu.diagnostics import Location
from tflint_gpu.lazy_dataclasses import dataclass
from tflint_gpu.model.python.parsing.parsing import REFUSED
from tflint_gpu.text.source import SourceFile, UnreadableSource


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a file could not be parsed, and whether only libcst is to blame."""

    reason: UnreadableSource
    by_libcst_only: bool = False


def refusal_of(source: SourceFile, error: Exception) -> Refusal:
    """What is wrong with a file that libcst refuses, in Python's own words where it refuses it too."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ast.parse(source.code)
    except SyntaxError as refusal:
        location = _clamped(source, refusal.lineno or 1, refusal.offset or 1)
        return Refusal(UnreadableSource(f"does not parse: {refusal.msg}", location))
    except (ValueError, RecursionError, MemoryError) as refusal:  # null bytes; nested too deeply for Python
        return Refusal(UnreadableSource(f"does not parse: {refusal}"))
    line_number, column = (error.raw_line, error.raw_column + 1) if isinstance(error, cst.ParserSyntaxError) else (1, 1)
    return Refusal(UnreadableSource(REFUSED, _clamped(source, line_number, column)), by_libcst_only=True)


def _clamped(source: SourceFile, line_number: int, column: int) -> Location:
    line_number = min(max(line_number, 1), len(source.line_starts))
    column = min(max(column, 1), len(source.line(line_number)) + 1)
    return source.locate(source.line_starts[line_number - 1] + column - 1)
