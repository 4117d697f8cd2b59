"""marimo's notebooks: Python files whose cells are functions, which share names and run as these need each other.

A cell is a function under `@app.cell`: what it returns are the names that it defines, its parameters those of other
cells that it uses. The format: https://docs.marimo.io/guides/coming_from/jupyter/ and marimo's `_ast/codegen.py`.
"""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Iterator, Sequence

from tflint_gpu.lazy_dataclasses import dataclass
from tflint_gpu.lazy_patterns import regex
from tflint_gpu.text.lexical import end_of_logical_line

_NEWLINE = regex(r"\r\n|\r|\n")
_CELL = regex(r"^@\w+\.cell\b", re.MULTILINE)
_EXPOSED = ("function", "class_definition")


@dataclass(frozen=True, slots=True)
class _Cell:
    """A cell: where its statements are, and the names that it needs of others and gives to them."""

    span: tuple[int, int]
    needs: frozenset[str]
    gives: frozenset[str]


def is_marimo(text: str) -> bool:
    """Whether a Python file is a notebook of marimo's."""
    return "marimo" in text and _CELL.search(text) is not None


def marimo_cells(text: str) -> list[tuple[int, int]]:
    """Where the code of a notebook is, in the order in which it runs; what is outside of cells comes first.

    Where Python's parser refuses the file, it is all of the text.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return [(0, len(text))]
    starts = [0, *(newline.end() for newline in _NEWLINE.finditer(text)), len(text)]
    outside: list[tuple[int, int]] = []
    cells: list[_Cell] = []
    position = 0
    for node in tree.body:
        decorator = _decorator(node)
        if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)) or decorator is None:
            continue
        kind = _kind(decorator)
        if kind == "cell" and not isinstance(node, ast.ClassDef):
            outside.append((position, starts[decorator.lineno - 1]))
            position = starts[node.end_lineno or node.lineno]
            if not _is_disabled(decorator):
                cells.append(_cell(text, starts, node))
        elif kind in _EXPOSED:  # what is defined is what the name means
            outside.append((position, starts[decorator.lineno - 1]))
            position = starts[decorator.end_lineno or decorator.lineno]
    return [*outside, (position, len(text)), *(cell.span for cell in _ordered(cells))]


def _decorator(node: ast.stmt) -> ast.expr | None:
    """The first decorator of a definition."""
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)) and node.decorator_list:
        return node.decorator_list[0]
    return None


def _kind(decorator: ast.expr) -> str:
    """`cell` for `@app.cell` and `@app.cell(...)`; empty for what is no method's name."""
    function = decorator.func if isinstance(decorator, ast.Call) else decorator
    return function.attr if isinstance(function, ast.Attribute) and isinstance(function.value, ast.Name) else ""


def _is_disabled(decorator: ast.expr) -> bool:
    return isinstance(decorator, ast.Call) and any(
        keyword.arg == "disabled" and isinstance(keyword.value, ast.Constant) and keyword.value.value is True
        for keyword in decorator.keywords
    )


def _cell(text: str, starts: Sequence[int], node: ast.FunctionDef | ast.AsyncFunctionDef) -> _Cell:
    last = node.body[-1]
    returned = last.value if isinstance(last, ast.Return) else None
    end = starts[last.lineno - 1] if isinstance(last, ast.Return) else starts[last.end_lineno or last.lineno]
    start = end_of_logical_line(text, starts[node.lineno - 1])
    names = returned.elts if isinstance(returned, ast.Tuple) else [returned]
    needs = frozenset(parameter.arg for parameter in node.args.args)
    return _Cell((start, max(start, end)), needs, frozenset(name.id for name in names if isinstance(name, ast.Name)))


def _ordered(cells: Sequence[_Cell]) -> Iterator[_Cell]:
    """Cells after those that they need, else in the order of the file."""
    waiting = list(cells)
    while waiting:
        coming = [
            (cell, frozenset().union(*(other.gives for other in waiting if other is not cell))) for cell in waiting
        ]
        ready = next((cell for cell, later in coming if not cell.needs & later), waiting[0])
        waiting.remove(ready)
        yield ready
