"""Which of the project's files a piece of code loads, what it takes from them, and from where they are imported."""

from __future__ import annotations

import ast
from collections.abc import Container, Iterator
from pathlib import Path

from tflint_gpu.lazy_dataclasses import dataclass
from tflint_gpu.model import Project
from tflint_gpu.model.python.project.file import File


@dataclass(frozen=True, slots=True)
class Imported:
    """A file that an import loads.

    Arguments:
        names: what is taken from it; "*" for all.
        root: the folder that must be in `sys.path` for it; None for a relative import.
    """

    file: File
    names: frozenset[str]
    root: Path | None


def imported_files(project: Project, file: File, tree: ast.Module, dropped: Container[int]) -> Iterator[Imported]:
    """The project's files that the imports of a file load.

    Arguments:
        tree: the parsed file.
        dropped: rows that count as absent.
    """
    for node in ast.walk(tree):
        if isinstance(node, ast.Import) and node.lineno not in dropped:
            for alias in node.names:
                imported = project.imported(file, alias.name)
                if imported is not None:
                    names = (
                        {imported[1]} if imported[1] else _attributes_read(tree, dropped, alias.asname or alias.name)
                    )
                    yield Imported(imported[0], frozenset(names), _root(imported[0].source.path, alias.name))
        elif isinstance(node, ast.ImportFrom) and node.lineno not in dropped:
            yield from _from_imports(project, file, tree, dropped, node)


def _from_imports(
    project: Project, file: File, tree: ast.Module, dropped: Container[int], node: ast.ImportFrom
) -> Iterator[Imported]:
    package = "." * node.level + (node.module or "")
    for alias in node.names:
        if alias.name == "*":
            dotted = package
        else:
            dotted = package + ("" if package.endswith(".") else ".") + alias.name
        imported = project.imported(file, dotted)
        if imported is None:
            continue
        names = {imported[1]} if imported[1] else _attributes_read(tree, dropped, alias.asname or alias.name)
        root = None if node.level else _root(imported[0].source.path, dotted)
        yield Imported(imported[0], frozenset({"*"} if alias.name == "*" else names), root)


def is_relative(tree: ast.Module, dropped: Container[int]) -> bool:
    """Whether a file has relative imports, which only a module of a package may have."""
    return any(isinstance(n, ast.ImportFrom) and n.level and n.lineno not in dropped for n in ast.walk(tree))


def package_root(path: Path) -> Path:
    """The folder that holds the outermost package of a file."""
    folder = path.parent
    while (folder / "__init__.py").is_file():
        folder = folder.parent
    return folder


def _root(path: Path, dotted: str) -> Path | None:
    """The folder in which the first part of a dotted name lies, given the file that the name leads to."""
    parts = dotted.split(".")
    for folder in path.parents:
        inside = path.relative_to(folder).with_suffix("").parts
        inside = inside[:-1] if inside[-1] == "__init__" else inside
        if inside and list(inside) == parts[: len(inside)] and inside[0] == parts[0]:
            return folder
    return None


def _attributes_read(tree: ast.Module, dropped: Container[int], module: str) -> set[str]:
    """What a file reads of a module that it imports: the names after the dot; "*" where it hands the module on."""
    read = [n for n in ast.walk(tree) if isinstance(n, ast.Attribute | ast.Name) and n.lineno not in dropped]
    names: set[str] = set()
    after_dots: set[int] = set()
    for node in read:
        if isinstance(node, ast.Attribute) and ast.unparse(node.value) == module:
            names.add(node.attr)
            after_dots |= {id(inner) for inner in ast.walk(node.value)}
    is_handed_on = any(isinstance(n, ast.Name) and n.id == module and id(n) not in after_dots for n in read)
    return {"*"} if is_handed_on else names
