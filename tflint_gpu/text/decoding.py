"""From bytes to a `SourceFile`, by the kind of file."""

from __future__ import annotations

from pathlib import Path

from tflint_gpu.text.bytesearch import NOTEBOOK_ENDING
from tflint_gpu.text.source import SourceFile


def decode_source(data: bytes, path: Path, name: str | None = None) -> SourceFile:
    """A file as text: a notebook by its ending, else Python.

    Raises:
        UnreadableSource: it cannot be decoded, or is not a notebook.
    """
    if path.suffix != NOTEBOOK_ENDING:
        return SourceFile.decode(data, path, name)
    from tflint_gpu.text.notebooks import Notebook  # only for notebooks: it takes 4 ms to import

    return Notebook.decode(data, path, name)
