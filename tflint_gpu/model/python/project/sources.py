"""Where a project has its files' bytes and syntax trees from."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from tflint_gpu.dependencies import read_bytes
from tflint_gpu.model.python.parsing.python_trees import PythonTrees, python_tree
from tflint_gpu.model.python.project.module_files import ModuleFiles

if TYPE_CHECKING:
    import ast

    import libcst as cst

    from tflint_gpu.model.python.syntax.spans import ReadStatements

_T = TypeVar("_T")


class Sources:
    """Where a project has its files' bytes and syntax trees from: the disk and the parser.

    An editor has newer texts than the disk, and can keep trees from one check to the next.
    """

    statements: ReadStatements | None = None
    """What libcst read of single statements, if that is kept."""

    def keep(self, path: Path, data: bytes, what: str, make: Callable[[], _T]) -> _T:
        """What was found in the bytes of a file.

        Arguments:
            what: names it.
            make: finds it.
        """
        return make()

    def module_files(self, root: Path) -> ModuleFiles:
        """Where the files of a project lie."""
        return ModuleFiles(root)

    def read(self, path: Path) -> bytes:
        """The bytes of a file. Raises OSError if there are none."""
        return read_bytes(str(path))

    def python_tree(self, code: str) -> ast.Module | None:
        """What Python's parser makes of some code, which nobody may change; None for what only libcst takes."""
        return python_tree(code)

    def parse(self, path: Path, text: str, python: PythonTrees) -> cst.Module:
        """The tree of a file's text. Raises what libcst's parser does."""
        from tflint_gpu.model.python.parsing.parsing import parse_module  # late: many files need no tree of libcst

        return parse_module(text, python)
