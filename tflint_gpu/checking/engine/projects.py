"""The projects that the files of a run belong to: made when they are asked for, forgotten when others need the room."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import field
from pathlib import Path
from typing import TYPE_CHECKING

from tflint_gpu.dependencies import Dependencies
from tflint_gpu.lazy_dataclasses import dataclass
from tflint_gpu.targets import Target

if TYPE_CHECKING:
    from tflint_gpu.model import Project, Sources

MOST_HELD = 300_000
"""Characters of the projects that are not worked at."""


@dataclass(slots=True)
class Projects:
    """The projects of one run, by their roots and targets; the one used last is the last.

    Arguments:
        sources: gives the bytes and trees of their files, if not the disk and the parser.
        keeps_files: no file's tree is let go.
        use_cache: what results rest on is wanted, also of projects that are forgotten meanwhile.
    """

    sources: Sources | None = None
    keeps_files: bool = False
    use_cache: bool = False
    _known: dict[tuple[Path, Target], Project] = field(default_factory=dict)
    _left: list[Dependencies] = field(default_factory=list)

    def of(self, root: Path, target: Target) -> Project:
        """The project below a root, meant for one TensorFlow."""
        project = self._known.pop((root, target), None)
        if project is None:
            from tflint_gpu.model import Project

            self._make_room()
            project = Project(root, target, self.sources, keeps_all=self.keeps_files)
        self._known[root, target] = project
        return project

    def new_dependencies(self) -> Iterator[Dependencies]:
        """What results rest on, as far as that was not reported before."""
        left, self._left = self._left, []
        yield from left
        yield from (project.new_dependencies() for project in self._known.values())

    def forget(self) -> None:
        """Drop what is known of the files, which may have changed."""
        for project in self._known.values():
            project.let_go()
        self._known.clear()

    def _make_room(self) -> None:
        """Forget the projects that were used longest ago, as many as hold too much: memory must not grow with them."""
        while not self.keeps_files and sum(project.held_characters for project in self._known.values()) > MOST_HELD:
            project = self._known.pop(next(iter(self._known)))
            if self.use_cache:
                self._left.append(project.new_dependencies())
            project.let_go()
