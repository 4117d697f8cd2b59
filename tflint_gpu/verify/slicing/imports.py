"""Which of the project's files a piece of code loads, what it takes from them, and from where they are imported."""

from __future__ import annotations

import ast
import posixpath
import re
from collections.abc import Collection, Container, Iterable, Iterator, Sequence
from functools import lru_cache
from pathlib import Path, PurePosixPath

from tflint_gpu.lazy_dataclasses import dataclass
from tflint_gpu.model import Project
from tflint_gpu.model.python.project.file import File

_READS_FLAGS = re.compile(r"\bFLAGS\b")
_DEFINES_FLAGS = re.compile(r"\bflags\.DEFINE_")
_LOADS_LATER = re.compile(r"(?i)(?:^|\.|_)(?:lazy\w*|import_module)$")


@dataclass(frozen=True, slots=True)
class Imported:
    """A file that an import loads.

    Arguments:
        names: what is taken from it; "*" for all, "layers.Dense" for what is read of a module that it imports.
        root: the folder that must be in `sys.path` for it; None for a relative import.
    """

    file: File
    names: frozenset[str]
    root: Path | None


def imported_files(
    project: Project, file: File, tree: ast.Module, dropped: frozenset[int], wanted: Collection[str] = ()
) -> Iterator[Imported]:
    """The project's files that the imports of a file load.

    Arguments:
        tree: the parsed file.
        dropped: rows that count as absent.
        wanted: the names that others take from the file.
    """
    dropped = dropped | rows_for_types(tree)
    read = _Read(tree, dropped, wanted)
    for node in _facts(tree).imports:
        if node.lineno in dropped:
            continue
        if isinstance(node, ast.ImportFrom):
            yield from _from_imports(project, file, read, node)
            continue
        for alias in node.names:
            imported = project.imported(file, alias.name)
            if imported is not None:
                names = {imported[1]} if imported[1] else read.of(alias.asname or alias.name)
                yield Imported(imported[0], frozenset(names), _root(imported[0].source.path, alias.name))
                yield from _loaded_by_name(project, file, imported[0], alias.name, names)
    for row, name, module in _facts(tree).lazy:
        imported = project.imported(file, module)
        names = {"*"} if name in wanted else read.after(name)  # where it is assigned, it is not read
        if names and row not in dropped and imported is not None and not imported[1]:
            yield Imported(imported[0], frozenset(names), _root(imported[0].source.path, module))


def _loaded_by_name(
    project: Project, file: File, init: File, package: str, names: Collection[str]
) -> Iterator[Imported]:
    """The modules of a package that its own `__getattr__` loads when something of them is read, and that function."""
    if "__getattr__" not in init.tree.root.bindings:
        return
    for name in names:
        module, _, rest = name.partition(".")
        loaded = project.imported(file, f"{package}.{module}") if module not in init.tree.root.bindings else None
        if loaded is not None and not loaded[1] and loaded[0] is not init:
            yield Imported(init, frozenset({"__getattr__"}), _root(init.source.path, package))
            root = _root(loaded[0].source.path, f"{package}.{module}")
            yield Imported(loaded[0], frozenset({rest or "*"}), root)


def _from_imports(project: Project, file: File, read: _Read, node: ast.ImportFrom) -> Iterator[Imported]:
    package = "." * node.level + (node.module or "")
    loaded = project.imported(file, package)
    init = loaded[0] if loaded is not None and not loaded[1] and loaded[0] is not file else None
    for alias in node.names:
        if init is not None and alias.name in init.tree.root.bindings:  # it comes before a module of the same name
            after = {f"{alias.name}.{name}" for name in read.of(alias.asname or alias.name) - {"*"}}
            root = None if node.level else _root(init.source.path, package)
            yield Imported(init, frozenset(after or {alias.name}), root)
        dotted = package if alias.name == "*" else _within(package, alias.name)
        imported = project.imported(file, dotted)
        if imported is None:
            continue
        names = {imported[1]} if imported[1] else read.of(alias.asname or alias.name)
        root = None if node.level else _root(imported[0].source.path, dotted)
        yield Imported(imported[0], frozenset({"*"} if alias.name == "*" else names), root)


def unparsable(project: Project, file: File, tree: ast.Module, dropped: Container[int]) -> Iterator[str]:
    """What keeps the project's files from being parsed that a file imports."""
    names: list[str] = []
    for node in _facts(tree).imports:
        if node.lineno not in dropped and node.lineno not in _facts(tree).for_types:
            package = f"{'.' * node.level}{node.module or ''}" if isinstance(node, ast.ImportFrom) else ""
            names += [_within(package, alias.name) if package else alias.name for alias in node.names]
    places = (project.locate(file, name) for name in names if not name.endswith("*"))
    for path in dict.fromkeys(place[0] for place in places if place is not None):
        if project.file_at(path) is None:
            try:
                ast.parse(path.read_bytes())
            except (SyntaxError, ValueError) as error:
                row = f":{error.lineno}" if isinstance(error, SyntaxError) else ""
                yield f"{path.name}{row} does not parse: {getattr(error, 'msg', error)}"
            except OSError:
                continue


def modules_with_flags(project: Project, file: File, tree: ast.Module) -> Iterator[str]:
    """The names that a file binds to modules of the project which define flags, where it reads flags at all.

    It may read a flag of theirs without a word about the module.
    """
    if not _READS_FLAGS.search(file.source.code):
        return
    for node in _facts(tree).imports:
        package = f"{'.' * node.level}{node.module or ''}" if isinstance(node, ast.ImportFrom) else ""
        for alias in node.names:
            imported = project.imported(file, _within(package, alias.name) if package else alias.name)
            if imported is not None and _DEFINES_FLAGS.search(imported[0].source.code):
                yield alias.asname or alias.name.partition(".")[0]


def rows_for_types(tree: ast.Module) -> frozenset[int]:
    """The rows below `if TYPE_CHECKING:`, which never run."""
    return _facts(tree).for_types


def imported_modules(tree: ast.Module, dropped: Container[int] = ()) -> Iterator[str]:
    """The first parts of the names of the modules that a file imports by their full names."""
    for node in _facts(tree).imports:
        if node.lineno in dropped:
            continue
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif not node.level and node.module:
            yield node.module.partition(".")[0]


def imported_names(tree: ast.Module, folder: Sequence[str], dropped: Container[int] = ()) -> Iterator[str]:
    """The full names of what a file imports, each with that of the module from which it is taken.

    Arguments:
        folder: the parts of the path of the file's folder; names that are relative to it begin with a dot.
    """
    for node in _facts(tree).imports:
        if node.lineno in dropped or node.lineno in _facts(tree).for_types:
            continue
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
            continue
        base = [*folder[: len(folder) - node.level + 1]] if node.level else []
        module = "." * bool(node.level) + ".".join([*base, *([node.module] if node.module else [])])
        yield module
        yield from (f"{module}.{alias.name}" for alias in node.names)


def is_relative(tree: ast.Module, dropped: Container[int]) -> bool:
    """Whether a file has relative imports, which only a module of a package may have."""
    relative_imports = (n for n in _facts(tree).imports if isinstance(n, ast.ImportFrom) and n.level)
    return any(node.lineno not in dropped for node in relative_imports)


def package_root(path: Path) -> Path:
    """The folder that holds the outermost package of a file."""
    folder = path.parent
    while (folder / "__init__.py").is_file():
        folder = folder.parent
    return folder


def relative(path: PurePosixPath, start: PurePosixPath) -> str:
    """The path as it is written in a folder."""
    return PurePosixPath(posixpath.relpath(path, start)).as_posix()


def common_root(folders: Iterable[Path]) -> Path:
    """The innermost folder that holds them all."""
    first, *others = folders
    root = first
    while not all(root == folder or root in folder.parents for folder in others):
        root = root.parent
    return root


def _within(package: str, name: str) -> str:
    """The full name of what a package holds."""
    return package + ("" if package.endswith(".") else ".") + name


def _root(path: Path, dotted: str) -> Path | None:
    """The folder in which the first part of a dotted name lies, given the file that the name leads to.

    A module may be called like its package (`net.net`): the name says as much of the path as it can.
    """
    parts = dotted.split(".")
    root = None
    for folder in path.parents:
        inside = path.relative_to(folder).with_suffix("").parts
        inside = inside[:-1] if inside[-1] == "__init__" else inside
        if inside and list(inside) == parts[: len(inside)]:
            root = folder
    return root


class _Read:
    """What is read of the modules that a file imports: by itself, and by those that take them from it.

    Arguments:
        tree: the parsed file.
        dropped: rows that count as absent.
        wanted: the names that others take from the file, "layers.Dense" among them.
    """

    def __init__(self, tree: ast.Module, dropped: Container[int], wanted: Collection[str]) -> None:
        self._chains = {chain for row, chain in _facts(tree).chains if row not in dropped} | set(wanted)
        for other, name in _facts(tree).other_names:
            self._chains |= {name + chain[len(other) :] for chain in self._chains if chain.startswith(f"{other}.")}

    def of(self, module: str) -> set[str]:
        """The names after the dot, "*" where the module is handed on."""
        return {"*"} if module in self._chains else self.after(module)

    def after(self, module: str) -> set[str]:
        """The names after the dot."""
        return {chain[len(module) + 1 :] for chain in self._chains if chain.startswith(f"{module}.")}


@dataclass(frozen=True, slots=True)
class _Facts:
    """What is asked of a file for each program that has it, from one walk of its tree.

    Arguments:
        imports: its import statements.
        chains: names with what is read of them, `a.b.c`, and their rows.
        for_types: the rows below `if TYPE_CHECKING:`.
        lazy: the rows of modules that load when something of them is read, their names, and what they are called:
            `fonts = LazyLoader("package.fonts")`.
        other_names: what `short = fonts` says, as pairs.
    """

    imports: tuple[ast.Import | ast.ImportFrom, ...]
    chains: frozenset[tuple[int, str]]
    for_types: frozenset[int]
    lazy: frozenset[tuple[int, str, str]]
    other_names: frozenset[tuple[str, str]]


@lru_cache(maxsize=2000)
def _facts(tree: ast.Module) -> _Facts:
    imports: list[ast.Import | ast.ImportFrom] = []
    chains: set[tuple[int, str]] = set()
    for_types: set[int] = set()
    within: set[int] = set()
    lazy: set[tuple[int, str, str]] = set()
    other_names: set[tuple[str, str]] = set()
    for node in ast.walk(tree):  # outer nodes come first
        if isinstance(node, ast.Import | ast.ImportFrom):
            imports.append(node)
        elif isinstance(node, ast.If) and ast.unparse(node.test) in ("TYPE_CHECKING", "typing.TYPE_CHECKING"):
            for_types |= set(range(node.body[0].lineno, (node.body[-1].end_lineno or 0) + 1))
        elif isinstance(node, ast.Assign):
            lazy |= _lazily(node)
            if isinstance(node.value, ast.Name):
                other_names |= {(target.id, node.value.id) for target in node.targets if isinstance(target, ast.Name)}
        elif isinstance(node, ast.Attribute | ast.Name) and id(node) not in within:
            chain, inner = _chain(node)
            within |= inner
            chains |= {(node.lineno, chain)} if chain else set()
    return _Facts(tuple(imports), frozenset(chains), frozenset(for_types), frozenset(lazy), frozenset(other_names))


def _lazily(node: ast.Assign) -> set[tuple[int, str, str]]:
    """What an assignment says of a module that is loaded when it is first used."""
    match node:
        case ast.Assign(targets=[ast.Name(id=name)], value=ast.Call(func=called, args=args)):
            texts = [arg.value for arg in args if isinstance(arg, ast.Constant) and isinstance(arg.value, str)]
            return {(node.lineno, name, texts[-1])} if texts and _LOADS_LATER.search(ast.unparse(called)) else set()
    return set()


def _chain(node: ast.expr) -> tuple[str, set[int]]:
    """`a.b.c` as a text, empty where it does not begin with a name, and the nodes within."""
    parts: list[str] = []
    inner: set[int] = set()
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
        inner.add(id(node))
    return (".".join([node.id, *reversed(parts)]) if isinstance(node, ast.Name) else ""), inner
