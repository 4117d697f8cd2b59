"""Which module of the package imports which, and which folder so imports which: for tests and `benchmarks/arrows.py`."""

from __future__ import annotations

import ast
from collections import Counter
from pathlib import Path

Graph = dict[str, set[str]]
FACES = ("tflint_gpu.model", "tflint_gpu.run", "tflint_gpu.verify")
"""Packages whose `__init__` is what others import: a floor above their modules."""


def module_files(root: Path) -> dict[str, Path]:
    """The modules of the machine and the rules of a checkout, by the names under which they are imported."""
    files = {".".join(p.relative_to(root).with_suffix("").parts): p for p in (root / "tflint_gpu").rglob("*.py")}
    files |= {
        ".".join(("tflint_gpu", *p.relative_to(root).with_suffix("").parts)): p for p in (root / "rules").rglob("*.py")
    }
    return {name.removesuffix(".__init__"): path for name, path in files.items()}


def imports(root: Path) -> Graph:
    """For each module the modules that it imports anywhere: for types only and inside functions, too."""
    files = module_files(root)
    result: Graph = {}
    for name, path in files.items():
        imported = result[name] = set()
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Import):
                imported.update(alias.name for alias in node.names if alias.name in files)
            elif isinstance(node, ast.ImportFrom) and node.module is not None and node.module.startswith("tflint_gpu"):
                for alias in node.names:
                    inner = f"{node.module}.{alias.name}"
                    imported.add(inner if inner in files else node.module)
        imported -= {name, "tflint_gpu"}
    return result


def rooms(root: Path) -> dict[str, str]:
    """The folder of each module; a face is a room of its own, and so is each module right in `tflint_gpu`."""
    own = root / "tflint_gpu"
    return {
        name: f"{name} (face)" if name in FACES else name if path.parent == own else _folder(root, path)
        for name, path in module_files(root).items()
    }


def _folder(root: Path, path: Path) -> str:
    """The folder of a module's file, with dots."""
    return ".".join(path.parent.relative_to(root).parts)


def modules_per_room(root: Path) -> Counter[str]:
    """How many modules each folder has, without its `__init__`."""
    return Counter(_folder(root, path) for path in module_files(root).values() if path.name != "__init__.py")


def arrows_between_rooms(root: Path) -> Counter[tuple[str, str]]:
    """How many imports lead from each folder into each, also inside of one."""
    room = rooms(root)
    return Counter(
        (room[importer], room[imported])
        for importer, found in imports(root).items()
        for imported in found
        if imported in room
    )


def two_way_rooms(root: Path) -> list[tuple[str, str]]:
    """The pairs of folders that import each other."""
    arrows = arrows_between_rooms(root)
    return sorted((one, other) for one, other in arrows if one < other and (other, one) in arrows)


def graph_of_rooms(root: Path) -> Graph:
    """For each room the other rooms that it imports."""
    result: Graph = {room: set() for room in rooms(root).values()}
    for importer, imported in arrows_between_rooms(root):
        if importer != imported:
            result[importer].add(imported)
    return result


def circles(graph: Graph) -> list[str]:
    """What imports itself in a circle or leads into one, each with what it imports there."""
    left = dict(graph)
    while leaves := [name for name, found in left.items() if not found & left.keys() - {name}]:
        for name in leaves:
            del left[name]
    return [f"{name}: {' '.join(sorted(found & left.keys()))}" for name, found in left.items()]
