"""What keeps a function from being traced as it is."""

from __future__ import annotations

from tflint_gpu.lazy_dataclasses import dataclass
from tflint_gpu.model.python.project.file import File
from tflint_gpu.model.python.syntax.syntax import Node


@dataclass(frozen=True, slots=True)
class Blocker:
    """What keeps a function from being traced as it is.

    Arguments:
        text: what it is, in words; empty where it is only not known what it does.
        doubt: what is not known then, with `{}` for the code.
    """

    file: File
    node: Node
    text: str = ""
    doubt: str = "what `{}` does in a graph is not known"

    @property
    def reason(self) -> str:
        """Why there is no fix, as one short clause."""
        code = " ".join(self.file.code(self.node).split("\n", 1)[0].split()) if not self.text else ""
        return self.text or self.doubt.format(_shortened(code))


def _shortened(code: str) -> str:
    """The beginning of a line of code, where it is long."""
    return code if len(code) <= _LENGTH else f"{code[: _LENGTH - 3]}..."


_LENGTH = 60
