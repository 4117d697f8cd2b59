"""What the names of imports are defined as, in the files of a project to which they lead."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, cast

from tflint_gpu.bounds import REEXPORTS, Meet
from tflint_gpu.lazy_dataclasses import dataclass

if TYPE_CHECKING:
    from pathlib import Path

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
        definition, is_cut = _followed(project, file, dotted, REEXPORTS.limit, set())
        if is_cut and meet is not None:
            meet(REEXPORTS)
        if is_cut:
            return None
        known[question] = definition
    return cast("Definition | None", known[question])


def _followed(
    project: Project, file: File, dotted: str, files: int, seen: set[tuple[Path, str]]
) -> tuple[Definition | None, bool]:
    """The same, and whether a bound cut the search off.

    Arguments:
        files: through which it may still be handed on.
        seen: the names for which the stars of a file were asked.
    """
    located = project.locate(file, dotted)
    if located is None or not files:
        return None, located is not None
    path, rest = located
    package = path.with_name("__init__.py")
    if not rest and package not in (path, file.source.path) and project.mentioned(package)[path.stem.encode()]:
        path, rest = package, path.stem  # `from .resnet import resnet`: the function, not the module
    other = project.file_at(path) if rest else None
    if other is None:
        return None, False
    name, _, tail = rest.partition(".")
    bindings = other.flow.when_imported(name)
    if not bindings and (path, rest) not in seen:
        seen.add((path, rest))
        return _brought_by_stars(project, other, rest, files - 1, seen)
    if bindings and bindings[0].kind == "import":
        return _followed(project, other, bindings[0].target + ("." + tail if tail else ""), files - 1, seen)
    own = tuple(binding for binding in bindings if binding.kind != "import")
    return (Definition(other, own) if own and not tail else None), False


def _brought_by_stars(
    project: Project, file: File, name: str, files: int, seen: set[tuple[Path, str]]
) -> tuple[Definition | None, bool]:
    """What the `from module import *` of a file bring under a name, the last first."""
    cut = False
    for dotted in _behind_stars(file, name):
        definition, is_cut = _followed(project, file, dotted, files, seen)
        if definition is not None:
            return definition, False
        cut |= is_cut
    return None, cut


def _behind_stars(file: File, name: str) -> Iterator[str]:
    """Where a name of a file may come from that only a star can bring: the last one wins."""
    for binding in reversed(file.tree.root.bindings.get("*", ())):
        yield f"{binding.target}{'' if binding.target.endswith('.') else '.'}{name}"


def starred_definition(project: Project, file: File, name: str, meet: Meet | None = None) -> Definition | None:
    """What `from module import *` of a file of the project brings under a name."""
    known = (definition_of(project, file, dotted, meet=meet) for dotted in _behind_stars(file, name))
    return next((definition for definition in known if definition is not None), None)
