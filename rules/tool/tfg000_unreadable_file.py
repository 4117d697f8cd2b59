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

    Why: tflint-gpu knows nothing about a file that it cannot read. It reports the file once, at the location where
    reading failed, and continues with the other files.

    Reported:
    - a file that does not parse or cannot be decoded; coding cookies and byte order marks are honoured
    - a file that is nested so deeply that the parser could fail on it; it is not parsed (Python itself refuses more
      than 200 nested brackets)
    - a notebook's cells that do not parse; the other cells are checked
    - the IPython lines (`!nvidia-smi`, `%matplotlib inline`) of a Python file that was exported or pasted from a
      notebook: Python cannot run such a file; the rest of it is checked

    Not reported:
    - a file that does not mention TensorFlow: it is checked only if it runs code and imports a file that mentions
      TensorFlow, directly or through other files, at most two of which define functions

    Measured: libcst 1.9.0's native parser crashes its process on 3,000 nested parentheses and on a sum of 20,000 terms;
    the tests check such files.

    Fix: none, because only the author knows what the file should say.
    """

    code = UNREADABLE_FILE
    name = "unreadable-file"
    severity = "error"

    def check(self, model: Model) -> Iterator[Finding]:
        """Yield nothing: a file that has a model was read. The engine reports the others."""
        yield from ()
