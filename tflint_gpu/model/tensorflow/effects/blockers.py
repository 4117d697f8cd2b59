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
    """

    file: File
    node: Node
    text: str = ""
