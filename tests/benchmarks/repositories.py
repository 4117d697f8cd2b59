"""The repositories that are measured, apart by what they are: user code, libraries, and neither."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from speed import tensorflow_files

__all__ = ["LIBRARIES", "Field"]

LIBRARIES = frozenset(
    (
        "GoogleCloudPlatform+automl google+automl keras-team+keras keras-team+keras-cv keras-team+keras-hub "
        "tensorflow+addons tensorflow+agents tensorflow+gnn tensorflow+models tensorflow+probability "
        "tensorflow+recommenders tensorflow+similarity"
    ).split()
)
_OTHERS = frozenset("SonarSource+sonar-python DLPerf+DLPerf.github.io".split())
"""Test files of other tools: neither."""


@dataclass(frozen=True)
class Field:
    """What is measured on.

    Arguments:
        repositories: the folder that holds them.
        whole: measure some parts longer, on more files.
        repeat: how often short commands run.
        wheels: the folder with the libraries as they are installed.
    """

    repositories: Path
    whole: bool
    repeat: int
    wheels: Path | None

    def user_code(self) -> dict[Path, list[Path]]:
        """The repositories of user code, with their files that mention TensorFlow."""
        return self._chosen(lambda name: name not in LIBRARIES | _OTHERS)

    def libraries(self) -> dict[Path, list[Path]]:
        """The same of libraries."""
        return self._chosen(lambda name: name in LIBRARIES)

    def _chosen(self, wanted: Callable[[str], bool]) -> dict[Path, list[Path]]:
        folders = [folder for folder in sorted(self.repositories.iterdir()) if folder.is_dir() and wanted(folder.name)]
        return {folder: tensorflow_files(folder, 0) for folder in folders}

    def project(self) -> Path:
        """One project of 500 files or more that import each other."""
        return next(self.repositories / name for name in ("tensorflow+agents", "keras-team+keras-hub"))

    def typical(self) -> list[Path]:
        """A few files of user code of usual length."""
        files = [file for files in self.user_code().values() for file in files]
        return sorted(files, key=lambda file: abs(file.stat().st_size - 8000))[:5]
