"""The trees that Python's own parser makes: before anything of libcst is needed, and often instead of it."""

from __future__ import annotations

import ast
import warnings
from bisect import bisect_left, bisect_right
from collections.abc import Callable

_KEPT_CHARACTERS = 300_000


class PythonTrees:
    """What Python's parser makes of texts. The summary, the tree and the places of findings rest on the same.

    The last texts are kept while they are small enough together: these trees are larger than those made of them.

    Arguments:
        parse: gives the tree of some code; None for what only libcst takes for Python.
    """

    def __init__(self, parse: Callable[[str], ast.Module | None] | None = None) -> None:
        self._parse = parse or python_tree
        self._known: dict[str, ast.Module | None] = {}
        self._characters = 0

    def of(self, code: str) -> ast.Module | None:
        """The tree of some code, which nobody may change; None for what only libcst takes for Python."""
        if code in self._known:
            return self._known[code]
        tree = self._known[code] = self._parse(code)
        self._characters += len(code)
        while self._characters > _KEPT_CHARACTERS and len(self._known) > 1:
            oldest = next(iter(self._known))
            del self._known[oldest]
            self._characters -= len(oldest)
        return tree

    def forget(self) -> None:
        """Let all trees go."""
        self._known.clear()
        self._characters = 0


def python_tree(code: str) -> ast.Module | None:
    """What Python's own parser makes of some code; None for what only libcst takes for Python."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(code)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


class RetypedText:
    """The text of which a tree was made last: where the next one has most of it, too, only the rest is parsed."""

    def __init__(self) -> None:
        self._rows: list[str] = []
        self._tree = ast.Module([], [])

    def tree_of(self, code: str) -> ast.Module | None:
        """The tree of some code, which shares statements with the former one; None for what is no Python."""
        rows = [] if "\r" in code else code.split("\n")
        tree = self._with_former(rows) or python_tree(code)
        if tree is not None:
            self._rows, self._tree = rows, tree
        return tree

    def _with_former(self, rows: list[str]) -> ast.Module | None:
        """The former statements but those that changed, each with its place; None where others may read otherwise.

        What is parsed begins with a whole statement before the first change and ends with one after the last, so what
        is around it begins and ends where it did.
        """
        if not rows or len(rows) != len(self._rows):
            return None
        changed = [row for row, (now, before) in enumerate(zip(rows, self._rows, strict=True), 1) if now != before]
        if not changed:
            return self._tree
        statements = self._tree.body
        first = bisect_left(statements, changed[0], key=_last_row) - 1
        end = bisect_right(statements, changed[-1], key=_first_row) + 1
        while 0 < first < len(statements) and _share_a_row(statements[first - 1], statements[first]):
            first -= 1
        while end < len(statements) and _share_a_row(statements[end - 1], statements[end]):
            end += 1
        first = max(first, 0)
        start = _first_row(statements[first]) - 1 if first else 0
        stop = _first_row(statements[end]) - 1 if end < len(statements) else len(rows)
        ending = "\n" if stop < len(rows) else ""
        between = python_tree("\n" * start + "\n".join(rows[start:stop]) + ending)
        return between and ast.Module([*statements[:first], *between.body, *statements[end:]], [])


def _first_row(statement: ast.stmt) -> int:
    decorators: list[ast.expr] = getattr(statement, "decorator_list", [])
    return min(statement.lineno, *(node.lineno for node in decorators)) if decorators else statement.lineno


def _last_row(statement: ast.stmt) -> int:
    return statement.end_lineno or statement.lineno


def _share_a_row(former: ast.stmt, later: ast.stmt) -> bool:
    return _first_row(later) <= _last_row(former)
