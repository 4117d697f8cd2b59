"""Two runnable programs from a finding: what the flagged code needs, as it stands, and the same repaired.

A program is a folder: the file that is run and the project's files that it imports, each cut down to what is needed
(`slices`), with the rule's probes put in, and `tflint_measure.py`, which the probes call.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from tflint_gpu.experiment import Change, Experiment
from tflint_gpu.model import Model
from tflint_gpu.model.syntax import Node
from tflint_gpu.verify.inputs import stands
from tflint_gpu.verify.routes import Route, Stop, find_route
from tflint_gpu.verify.slices import Slice, Way, slice_file

HARNESS = "tflint_measure"
_MAX_FILES = 60


class NotExtractable(Exception):
    """No program can be made of the finding; the text says why, as a sentence without a full stop."""


@dataclass(frozen=True, slots=True)
class Program:
    """The files of one program by their paths, and the one that is run."""

    entry: str
    files: Mapping[str, str]

    def write(self, folder: Path) -> Path:
        """Write the files below a folder and return the path of the one to run.

        Raises:
            OSError: the folder cannot be written to.
        """
        for name, text in self.files.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        return folder / self.entry


@dataclass(frozen=True, slots=True)
class Pair:
    """The flagged program and the repaired one."""

    before: Program
    after: Program


def harness_text() -> str:
    """The source of `tflint_measure`."""
    return (Path(__file__).parent / f"{HARNESS}.py").read_text(encoding="utf-8")


def workload_pair(experiment: Experiment, opening: str = "") -> Pair:
    """The programs of a rule's own workload.

    Raises:
        NotExtractable: the rule has none.
    """
    if experiment.workload is None:
        raise NotExtractable("this rule has no workload of its own")
    programs = []
    for repaired in (False, True):
        lines = (f"import {HARNESS}", opening, experiment.opening, experiment.workload.text(repaired=repaired))
        code = "\n".join(line for line in lines if line)
        programs.append(Program("workload.py", {"workload.py": code, f"{HARNESS}.py": harness_text()}))
    return Pair(*programs)


def extract(experiment: Experiment, entries: Sequence[Model], opening: str = "") -> Pair:
    """Cut both programs out of the project.

    Arguments:
        entries: the files that may be run, best first.

    Raises:
        NotExtractable: nothing that is known runs the place.
    """
    for entry in entries:
        route = find_route(experiment.model, experiment.node, entry)
        if route is not None:
            cut = _Cut(entry, route, experiment, opening)
            return Pair(cut.program(repaired=False), cut.program(repaired=True))
    function = experiment.model.tree.function(experiment.node)
    name = getattr(getattr(experiment.node, "name", None) or getattr(function, "name", None), "value", "this code")
    raise NotExtractable(f"nothing in the checked files runs `{name}`")


class _Cut:
    """The files of one program while they are being collected."""

    def __init__(self, entry: Model, route: Route, experiment: Experiment, opening: str) -> None:
        self.entry, self.route, self.experiment, self.opening = entry, route, experiment, opening
        self.models: dict[Path, Model] = {}
        self.slices: dict[Path, Slice] = {}
        self.exported: dict[Path, set[str]] = {}
        self._collect()

    def _collect(self) -> None:
        """Slice the entry, then the files from which it takes names, until no file needs more."""
        changed = [self.entry, *(stop.model for stop in self.route)]
        queue = list({m.source.path: m for m in changed}.values())
        while queue:
            model = queue.pop(0)
            path = model.source.path
            self.models[path] = model
            if len(self.models) > _MAX_FILES:
                raise NotExtractable(f"the program would need more than {_MAX_FILES} files")
            tree = ast.parse(model.source.code)
            ways = [self._way(stop) for stop in self.route if stop.model is model]
            whole = "*" in self.exported.get(path, ())
            if whole:
                self.slices[path] = Slice()
            else:
                self.slices[path] = slice_file(tree, ways, self.exported.get(path, ()))
            if model is self.entry and any(isinstance(n, ast.ImportFrom) and n.level for n in ast.walk(tree)):
                raise NotExtractable(f"{model.source.name} has relative imports, so it is not run as a program")
            for imported, names in _imports(model, tree, self.slices[path]):
                known = self.exported.setdefault(imported.source.path, set())
                if imported.source.path not in self.models or not names <= known:
                    known |= names
                    queue.append(imported)

    def _way(self, stop: Stop) -> Way:
        start, _ = stop.model.span(stop.node)
        return Way(stop.model.source.row(start), stop.forward)

    def program(self, *, repaired: bool) -> Program:
        """The files with the edits of one variant."""
        experiment = self.experiment
        changes = [*experiment.probes, *(experiment.repair if repaired else experiment.flaw)]
        root = _common_root(self.models)
        files = {f"{HARNESS}.py": harness_text()}
        for path, model in self.models.items():
            name = _name(path, root)
            files[name] = self._text(model, changes, self._opening(model, name, repaired=repaired))
        return Program(_name(self.entry.source.path, root), files)

    def _opening(self, model: Model, name: str, *, repaired: bool) -> str:
        """What a file begins with: the harness is found and, in the entry, set."""
        lines = [f"import {HARNESS}"]
        if model is self.entry:
            if depth := name.count("/"):
                lines = ["import sys", f"sys.path.insert(1, __file__.rsplit('/', {depth + 1})[0])", *lines]
            lines += [self.opening, self.experiment.opening]
            lines += [self.experiment.opening_of_repair if repaired else ""]
        return "".join(f"{line}\n" for line in lines if line)

    def _text(self, model: Model, changes: Sequence[Change], opening: str) -> str:
        source, cut = model.source, self.slices[model.source.path]
        pieces = [p for change in changes if change.model is model for p in _pieces(change)]
        pieces += [Piece(one.start, one.end, one.text, 1 << 30) for one in stands(model, HARNESS)]
        pieces += _shortened_fits(model, {change.node for change in changes})
        if cut.dropped:
            pieces = [p for p in pieces if source.row(p.start) not in cut.dropped]
        starts = source.line_starts
        for row in cut.dropped:
            end = starts[row] if row < len(starts) else len(source.code)
            pieces.append(Piece(starts[row - 1], end, "", 0))
        text = _put_in(source.code, pieces)
        return _tidy(_with_opening(text, opening) if model is self.entry or HARNESS in text else text)


@dataclass(frozen=True, slots=True)
class Piece:
    """Replace `start` to `end` by `text`; where several begin at one place, lower ranks come first."""

    start: int
    end: int
    text: str
    rank: int


def _pieces(change: Change) -> Iterator[Piece]:
    model, text = change.model, change.text
    start, end = model.span(change.node)
    if change.where == "below":
        statement = model.tree.statement(change.node)
        place = model.source.end_of_line(max(end, model.span(statement)[1]))
        gap = "" if model.source.code[:place].endswith("\n") else "\n"
        yield Piece(place, place, f"{gap}{model.indentation(statement)}{text}\n", 0)
    elif change.where == "after":
        yield Piece(end, end, text, end - start)  # what closes a smaller node comes first
    elif change.where == "before":
        yield Piece(start, start, text, start - end)  # what opens a larger node comes first
    else:
        yield Piece(start, end, text, 1 << 30)


def _put_in(text: str, pieces: Iterable[Piece]) -> str:
    """Apply the pieces; one that lies in a replaced stretch is left out."""
    result, position = [], 0
    for piece in sorted(pieces, key=lambda p: (p.start, p.rank)):
        if piece.start >= position:
            result += [text[position : piece.start], piece.text]
            position = piece.end
    return "".join([*result, text[position:]])


def _with_opening(text: str, opening: str) -> str:
    """The text with statements before its first one that is neither a docstring nor a `__future__` import."""
    try:
        tree = ast.parse(text)
    except SyntaxError as error:
        raise NotExtractable(f"what was cut out does not parse: {error.msg} (line {error.lineno})") from error
    row = 1
    for statement in tree.body:
        is_docstring = isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
        is_future = isinstance(statement, ast.ImportFrom) and statement.module == "__future__"
        if not (is_docstring or is_future):
            row = statement.lineno - len(getattr(statement, "decorator_list", ()))
            break
        row = (statement.end_lineno or row) + 1
    lines = text.splitlines(keepends=True)
    return "".join([*lines[: row - 1], opening, *lines[row - 1 :]])


def _tidy(text: str) -> str:
    """Never more than two empty lines in a row."""
    return re.sub(r"\n[ \t]*(?:\n[ \t]*){3,}\n", "\n\n\n", text)


def _imports(model: Model, tree: ast.Module, cut: Slice) -> Iterator[tuple[Model, set[str]]]:
    """The project's files that the kept imports of a file load, and the names taken from each; "*" for all."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.Import | ast.ImportFrom) or node.lineno in cut.dropped:
            continue
        for alias in node.names:
            name = alias.name
            if isinstance(node, ast.ImportFrom):
                package = "." * node.level + (node.module or "")
                name = package + ("" if package.endswith(".") or not package else ".") + alias.name.replace("*", "")
            found = model.project.imported(model, name.rstrip(".") if alias.name == "*" else name)
            if found is not None and alias.name == "*":
                yield found[0], {"*"}
            elif found is not None:
                yield found[0], {found[1]} if found[1] else _attributes_read(tree, alias.asname or alias.name)


def _attributes_read(tree: ast.Module, module: str) -> set[str]:
    """What a file reads of a module that it imports: the names behind the dot; "*" where it hands the module on."""
    found: set[str] = set()
    behind: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and ast.unparse(node.value) == module:
            found.add(node.attr)
            behind |= {id(one) for one in ast.walk(node.value)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and node.id == module and id(node) not in behind:
            return {"*"}
    return found


def _name(path: Path, root: Path) -> str:
    """Of a file in a program's folder; a notebook's code is written as a script."""
    return str(PurePosixPath(path.relative_to(root)).with_suffix(".py"))


def _shortened_fits(model: Model, changed: Container[Node]) -> Iterator[Piece]:
    """A training that only lies on the way to what is looked at is kept short."""
    for call in model.method_calls("fit"):
        if call.func not in changed and model.keras_models.receiver(call, "fit") is not None:
            start, end = model.span(call.func)
            yield Piece(start, start, f"{HARNESS}.brief(", start - end)
            yield Piece(end, end, ")", end - start)


def _common_root(models: Iterable[Path]) -> Path:
    folders = [path.parent for path in models]
    root = folders[0]
    while not all(root == folder or root in folder.parents for folder in folders):
        root = root.parent
    return root
