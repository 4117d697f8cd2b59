"""What the names of imports are defined as, in the files of a project to which they lead."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from tflint_gpu.bounds import REEXPORTS, Meet
from tflint_gpu.lazy_dataclasses import dataclass

if TYPE_CHECKING:
    from tflint_gpu.model.python.project.file import File
    from tflint_gpu.model.python.project.project import Project
    from tflint_gpu.model.python.syntax.scopes import Binding


@dataclass(frozen=True, slots=True)
class Definition:
    """A name of some file of the project.

    Arguments:
        bindings: those that may hold when the file has been imported, the last first.
    """

    file: File
    bindings: tuple[Binding, ...]

    @property
    def binding(self) -> Binding:
        """The last one."""
        return self.bindings[0]


def definition_of(project: Project, file: File, dotted: str, meet: Meet | None = None) -> Definition | None:
    """What a dotted import name such as ".layers.Block" or "utils.setup" is defined as in the project.

    Arguments:
        meet: is told of a bound that cuts the search off.
    """
    known, question = project.kept("definitions"), (file, dotted)
    if question not in known:
        definition, is_cut = _followed(project, file, dotted)
        if is_cut and meet is not None:
            meet(REEXPORTS)
        if is_cut:
            return None
        known[question] = definition
    return cast("Definition | None", known[question])


def _followed(project: Project, file: File, dotted: str) -> tuple[Definition | None, bool]:
    """The same, and whether a bound cut the search off."""
    for _ in range(REEXPORTS.limit):
        located = project.locate(file, dotted)
        if located is None:
            return None, False
        path, rest = located
        package = path.with_name("__init__.py")
        if not rest and package not in (path, file.source.path) and project.mentioned(package)[path.stem.encode()]:
            path, rest = package, path.stem  # `from .resnet import resnet`: the function, not the module
        if not rest:
            return None, False
        other = project.file_at(path)
        if other is None:
            return None, False
        name, _, tail = rest.partition(".")
        bindings = other.flow.when_imported(name)
        if not bindings:
            return None, False
        if bindings[0].kind == "import":
            file, dotted = other, bindings[0].target + ("." + tail if tail else "")
            continue
        own = tuple(binding for binding in bindings if binding.kind != "import")
        return (None if tail else Definition(other, own)), False
    return None, project.locate(file, dotted) is not None


def starred_definition(project: Project, file: File, name: str, meet: Meet | None = None) -> Definition | None:
    """What `from module import *` of a file of the project brings under a name."""
    for binding in file.tree.root.bindings.get("*", ()):
        dotted = f"{binding.target}{'' if binding.target.endswith('.') else '.'}{name}"
        definition = definition_of(project, file, dotted, meet=meet)
        if definition is not None:
            return definition
    return None
