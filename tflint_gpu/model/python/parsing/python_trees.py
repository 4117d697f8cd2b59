"""The trees that Python's own parser makes: before anything of libcst is needed, and often instead of it."""

from __future__ import annotations

import ast
import warnings

_KEPT_CHARACTERS = 300_000


class PythonTrees:
    """What Python's parser makes of texts. The summary, the tree and the places of findings rest on the same.

    The last texts are kept while they are small enough together: these trees are larger than those made of them.
    """

    def __init__(self) -> None:
        self._known: dict[str, ast.Module | None] = {}
        self._characters = 0

    def of(self, code: str) -> ast.Module | None:
        """The tree of some code, which nobody may change; None for what only libcst takes for Python."""
        if code in self._known:
            return self._known[code]
        tree = self._known[code] = python_tree(code)
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
