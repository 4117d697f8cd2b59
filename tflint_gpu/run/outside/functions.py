"""The rows of the function around a line, read in the source: py-spy does not tell where a function begins."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import field
from pathlib import Path

from tflint_gpu.lazy_dataclasses import dataclass

_NAMELESS = {
    ast.Lambda: "<lambda>",
    ast.ListComp: "<listcomp>",
    ast.SetComp: "<setcomp>",
    ast.DictComp: "<dictcomp>",
    ast.GeneratorExp: "<genexpr>",
}


@dataclass(slots=True)
class Functions:
    """The functions of files, each of which is read once."""

    _files: dict[str, list[tuple[int, int, str]]] = field(default_factory=dict)

    def around(self, path: str, row: int, name: str) -> tuple[int, int]:
        """First and last row of the innermost function of that name around a row; the row where there is none."""
        if path not in self._files:
            self._files[path] = list(_functions(path))
        fitting = [
            (first, last) for first, last, its_name in self._files[path] if its_name == name and first <= row <= last
        ]
        return min(fitting, key=lambda rows: rows[1] - rows[0], default=(row, row))


def _functions(path: str) -> Iterator[tuple[int, int, str]]:
    try:
        tree = ast.parse(Path(path).read_bytes())
    except (OSError, SyntaxError, ValueError, RecursionError):
        return
    if tree.body:
        yield 1, tree.body[-1].end_lineno or 1, "<module>"
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
            yield first, node.end_lineno or first, node.name
        elif isinstance(node, ast.Lambda | ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp):
            yield node.lineno, node.end_lineno or node.lineno, _NAMELESS[type(node)]
