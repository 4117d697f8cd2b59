"""From bytes to a `SourceFile`, by the kind of file; here are the kinds whose Python is in cells.

They are imported when such a file is read.
"""

from __future__ import annotations

from pathlib import Path

from tflint_gpu.text.bytesearch import JUPYTEXT_ENDING, NOTEBOOK_ENDING, QUARTO_ENDING, is_jupytext
from tflint_gpu.text.source import SourceFile


def decode_source(data: bytes, path: Path, name: str | None = None) -> SourceFile:
    """A file as text: notebooks and documents with code cells by their endings, else Python.

    Raises:
        UnreadableSource: it cannot be decoded, or is not a notebook.
    """
    if path.suffix != NOTEBOOK_ENDING:
        return program_of(SourceFile.decode(data, path, name))
    from tflint_gpu.text.decoding.notebooks import Notebook  # only for notebooks: it takes 4 ms to import

    return Notebook.decode(data, path, name)


def program_of(source: SourceFile) -> SourceFile:
    """The program that a text file is: its cells in the order in which they run, if it has cells."""
    text = source.text
    if source.path.suffix in (QUARTO_ENDING, JUPYTEXT_ENDING):
        from tflint_gpu.text.decoding.cells import DocumentCells
        from tflint_gpu.text.decoding.markdown import jupytext_cells, no_cells, quarto_cells

        if source.path.suffix == QUARTO_ENDING:
            return DocumentCells.of(source, quarto_cells)
        return DocumentCells.of(source, jupytext_cells if is_jupytext(text.encode("utf-8", "replace")) else no_cells)
    if "marimo" in text:
        from tflint_gpu.text.decoding.cells import DocumentCells
        from tflint_gpu.text.decoding.marimo import is_marimo, marimo_cells

        if is_marimo(text):
            return DocumentCells.of(source, marimo_cells)
    return source
