"""What the code means: the model that rules ask. The only place that walks a libcst tree."""

from tflint_gpu.model.model import Model
from tflint_gpu.model.python.project.project import Project, Sources

__all__ = ["Model", "Project", "Sources"]
