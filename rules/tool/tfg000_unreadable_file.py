"""TFG000 unreadable-file."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from tflint_gpu.rule import UNREADABLE_FILE, Rule

if TYPE_CHECKING:
    from tflint_gpu.model import Model
    from tflint_gpu.rule import Finding


class UnreadableFile(Rule):
    """A file could not be checked: it does not parse, or cannot be decoded.

    Why: nothing is known about such a file, so the report says so once, at the place where reading
    failed, and goes on with the other files. Coding cookies and byte order marks are honoured. A file
    that is nested so deeply that the parser could fail on it (Python itself refuses more than 200 nested
    brackets) is reported and not parsed. A file without a word of TensorFlow is opened only where it
    runs something and imports a file that has one, itself or through files without functions.

    Of two kinds of files the report is about a part, and the others are checked: a notebook's cells that do
    not parse, and the IPython lines (`!nvidia-smi`, `%matplotlib inline`) of a Python file, which was
    exported or pasted from a notebook. Python cannot run such a file.

    Measured: libcst 1.9.0's native parser ends its process on 3,000 nested parentheses and on a sum of
    20,000 terms; tests run such files.

    Fix: none, because only its author knows what the file was to say.
    """

    code = UNREADABLE_FILE
    name = "unreadable-file"
    severity = "error"

    def check(self, model: Model) -> Iterator[Finding]:
        """Yield nothing: a file that has a model was read. The engine reports the others."""
        yield from ()
