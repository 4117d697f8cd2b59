"""Two runnable programs from a finding: what the flagged code needs, as it stands, and the same repaired.

A program is a folder: the file that is run and the project's files that it imports, each cut down to what is needed
(`slices`), with the rule's probes put in, and `tflint_measure.py` with its parts, which the probes call.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Mapping, Sequence
from functools import cached_property
from pathlib import Path, PurePosixPath

import libcst as cst

from tflint_gpu.lazy_dataclasses import dataclass
from tflint_gpu.model import Model
from tflint_gpu.model.python.project.file import File
from tflint_gpu.rule.experiment import HARNESS as HARNESS
from tflint_gpu.rule.experiment import Change, Experiment
from tflint_gpu.text.magics import STAND_IN
from tflint_gpu.text.source import encoded
from tflint_gpu.verify import harness, stand_ins
from tflint_gpu.verify.slicing.conditional import telling
from tflint_gpu.verify.slicing.imports import (
    common_root,
    imported_files,
    imported_modules,
    is_relative,
    modules_with_flags,
    package_root,
    relative,
    unparsable,
)
from tflint_gpu.verify.slicing.inputs import InputError
from tflint_gpu.verify.slicing.old_keras import first_sign_of_keras_2, old_names_of_numpy
from tflint_gpu.verify.slicing.parts import NotExtractable as NotExtractable
from tflint_gpu.verify.slicing.parts import Part, check_sources
from tflint_gpu.verify.slicing.parts import Readings as Readings
from tflint_gpu.verify.slicing.pieces import (
    of_change,
    put_in,
    replacing,
    tidy,
    with_opening,
    without_rows,
    wrapping,
)
from tflint_gpu.verify.slicing.routes import Approach, Start, Stop, asked_of_program, starts
from tflint_gpu.verify.slicing.shortening import counted_loops, shortened_fits, shortened_loops
from tflint_gpu.verify.slicing.slices import Way, slice_file
from tflint_gpu.verify.stubs.hints import hints_of
from tflint_gpu.verify.stubs.missing import Supplement, UnknownName, call_of, undefined_names
from tflint_gpu.verify.stubs.readers import ABSENT, BARS, ENVIRONMENT, FILES, MODULES, RECORDERS

OLD_KERAS = "tflint_keras2"
MADE_UP = "synthetic:"
_MOVED = "the fix moves the step into a separate function, which receives the program's numbers as tensors"
_MAX_FILES = 400
_MEASURING = (
    HARNESS, "tflint_outcome", "tflint_clock", "tflint_data", "tflint_devices", "tflint_examine", "tflint_whole",
    "tflint_building", ABSENT,
)  # fmt: skip
_RUNNER = "tflint_run"
_NAME = re.compile(r"(?<![\w.])[^\W\d]\w*")


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
            path.write_bytes(encoded(text))
        return folder / self.entry


@dataclass(frozen=True, slots=True)
class Pair:
    """The flagged program and the repaired one.

    Arguments:
        remarks: how they differ from what the user would run, each as part of a sentence.
        approach: the file that is run and how it gets to the place; none for a rule's own workload.
    """

    before: Program
    after: Program
    remarks: tuple[str, ...] = ()
    approach: Approach | None = None


def harness_modules(*more: str) -> dict[str, str]:
    """The modules that are laid next to a program, by the names of their files.

    Arguments:
        more: modules besides those that each program measures with.
    """
    rooms = [Path(room.__path__[0]) for room in (harness, stand_ins)]
    paths = {path.stem: path for room in rooms for path in room.glob("tflint_*.py")}
    return {f"{name}.py": paths[name].read_text(encoding="utf-8") for name in (*_MEASURING, *more)}


def workload_pair(experiment: Experiment, opening: str = "") -> Pair:
    """The programs of a rule's own workload.

    Raises:
        NotExtractable: the rule has none.
    """
    if experiment.workload is None:
        raise NotExtractable("this rule has no workload")
    programs = []
    for repaired in (False, True):
        lines = (f"import {HARNESS}", opening, experiment.opening, experiment.workload.text(repaired=repaired))
        code = "\n".join(line for line in lines if line)
        programs.append(Program("workload.py", {"workload.py": code, **harness_modules()}))
    return Pair(programs[0], programs[1])


def extract(
    experiment: Experiment,
    entries: Sequence[Model],
    opening: str = "",
    readings: Readings | None = None,
    *,
    old_keras: str = "",
    trains: bool = False,
    failed: Collection[Approach] = (),
) -> Pair:
    """Cut both programs out of the project.

    Arguments:
        entries: the files that may be run, best first.
        readings: of files that were cut before.
        old_keras: why the programs are to run with Keras 2, if they are to whatever the code says.
        trains: they are to train what they use, for a few steps; by default that is left out.
        failed: the ways to the place that were tried and are not to be taken again.

    Raises:
        NotExtractable: nothing that is known runs the place, or what runs it cannot be cut out; or InputError.
    """
    refusals, readings = list[NotExtractable](), readings or Readings(trains=trains)
    try:
        for entry, start in starts(experiment.file, experiment.node, entries, failed):
            try:
                cut = _Cut(entry, start, experiment, opening, readings, old_keras)
                return cut.pair
            except NotExtractable as refusal:
                refusals.append(refusal)
    except InputError:
        raise
    except Exception as error:  # whatever this code is, the other findings are still to be looked at
        reason = f"the code cannot be extracted ({type(error).__name__}: {error})"
        raise NotExtractable(reason) from error
    if refusals:
        raise refusals[0]
    function = experiment.file.tree.function(experiment.node)
    name = getattr(getattr(experiment.node, "name", None) or getattr(function, "name", None), "value", "this code")
    raise NotExtractable(f"nothing in the checked files runs `{name}`")


class _Cut:
    """The files of one program."""

    def __init__(
        self, entry: Model, start: Start, experiment: Experiment, opening: str, readings: Readings, old_keras: str
    ) -> None:
        self.readings = readings
        self.entry, self.start, self.experiment, self.opening = entry, start, experiment, opening
        self.files: dict[Path, Part] = {}
        self.roots: set[Path] = set()
        self.called, self.call = self._call(start.function)
        self._collect()
        entry_part = self.files[entry.source.path]
        replaced = {probe.file.code(probe.node) for probe in experiment.probes if probe.where == "replace"}
        self.undefined = undefined_names(entry_part.tree, entry_part.dropped, replaced)
        for change in (*experiment.probes, *experiment.flaw, *experiment.repair):
            self._check_change(change)
        reads = any(reader.reads for part in self.files.values() for reader in part.readers)
        for part in self.files.values():
            check_sources(part, is_answered=reads)
        prediction = experiment.prediction
        is_about_keras_3 = prediction is not None and prediction.kind == "crash" and entry.target.keras >= 3
        self.old_keras = old_keras or ("" if is_about_keras_3 else first_sign_of_keras_2(self.files.values()))
        folders = [*(path.parent for path in self.files), *self.roots]
        if self._is_module:
            folders.append(package_root(entry.source.path))
        self.root = common_root(folders)

    def _call(self, function: cst.FunctionDef | None) -> tuple[set[str], Supplement]:
        """The names that the call of a function needs, and the call itself, at the end of the entry.

        Raises:
            NotExtractable: nothing tells what one of its parameters is.
        """
        if function is None:
            return set(), Supplement((), ())
        file, name = self.entry.file, function.name.value
        try:
            row = file.source.row(file.span(function.name)[0])
            reached = [self._way(stop).row for stop in self.start.route if stop.file is file]
            called, call = call_of(ast.parse(file.source.code), row, reached)
        except UnknownName as error:
            unknown = f"it is not known what its parameter `{error}` is"
            text = f"nothing in the checked files runs `{name}`, and {unknown}"
            raise NotExtractable(f"{text}: add a call with a value for it, such as `{name}({error}=...)`") from error
        return called, call

    def _collect(self) -> None:
        """Slice the entry, then the files from which it takes names, until no file needs more."""
        wanted: dict[Path, set[str]] = {}
        queue = {m.source.path: m for m in (self.entry.file, *(stop.file for stop in self.start.route))}
        while queue:
            path = next(iter(queue))
            file = queue.pop(path)
            names = wanted.setdefault(path, set(self.called if file is self.entry.file else ()))
            part = self.files[path] = self._sliced(file, names)
            for reason in unparsable(self.entry.project, file, part.tree, part.dropped):
                raise NotExtractable(reason)
            if len(self.files) > _MAX_FILES:
                raise NotExtractable(f"the program would need more than {_MAX_FILES} files")
            for imported_file in imported_files(self.entry.project, file, part.tree, part.dropped, names):
                self.roots |= {imported_file.root} if imported_file.root is not None else set()
                known = wanted.setdefault(imported_file.file.source.path, set())
                if imported_file.file.source.path not in self.files or not imported_file.names <= known:
                    known |= imported_file.names
                    queue[imported_file.file.source.path] = imported_file.file

    def _sliced(self, file: File, names: set[str]) -> Part:
        replaced, tree, effects = self.readings.of(file, is_entry=file is self.entry.file)
        if "*" in names and file is not self.entry.file:
            return Part(file, tree, frozenset(), replaced, is_whole=True)
        experiment = self.experiment
        names = {name.partition(".")[0] for name in names} | {*modules_with_flags(self.entry.project, file, tree)}
        for change in (*experiment.probes, *experiment.flaw, *experiment.repair):
            if change.file is file:
                names |= set(_NAME.findall(change.text))
        ways = [self._way(stop) for stop in self.start.route if stop.file is file]
        keeps = [file.source.row(file.span(node)[0]) for node in experiment.keeps if file is experiment.file]
        is_passed = bool(ways) or file is self.entry.file
        return Part(file, tree, slice_file(tree, ways, names, keeps, effects), replaced, is_passed=is_passed)

    def _way(self, stop: Stop) -> Way:
        start, _ = stop.file.span(stop.node)
        return Way(stop.file.source.row(start), stop.forward)

    def _check_change(self, change: Change) -> None:
        part = self.files.get(change.file.source.path)
        if not change.optional and (
            part is None or not (part.holds(change.node) or isinstance(change.node, cst.Import | cst.ImportFrom))
        ):
            row = change.file.source.locate(change.file.span(change.node)[0])
            place = f"{change.file.source.name}:{row}"
            raise NotExtractable(f"the caller of this code does not run {place}, which the experiment changes")

    @cached_property
    def _makes_up(self) -> bool:
        """Whether something of the program may have to be made up."""
        has = any(part.readers or BARS.search(part.file.source.code) for part in self.files.values())
        if has or self.call.lines or self.undefined.lines or self._recorders:
            return True
        stands = (stand for part in self.files.values() for stand in part.stands)
        return any(module in stand.text for stand in stands for module in MODULES)

    @cached_property
    def _counts(self) -> bool:
        """Whether how often the measured loop is run is the user's doing."""
        is_loop = any(f"{HARNESS}.steps(" in probe.text for probe in self.experiment.probes)
        return is_loop and self.start.function is None and not self.undefined.made_up

    @cached_property
    def _recorders(self) -> tuple[str, ...]:
        """The modules that would keep a record elsewhere."""
        parts = self.files.values()
        return tuple(sorted({name for part in parts for name in imported_modules(part.tree, part.dropped)} & RECORDERS))

    @property
    def _modules(self) -> tuple[str, ...]:
        """What is laid next to the program and imported by it."""
        more = MODULES if self._makes_up else ()
        return (HARNESS, *((OLD_KERAS,) if self.old_keras else ()), *more)

    @property
    def remarks(self) -> tuple[str, ...]:
        """How the programs differ from what the user would run."""
        old = [f"run with Keras 2 (tf_keras) because of {self.old_keras}"] if self.old_keras else []
        moved = [_MOVED] if any(f"{HARNESS}.handed(" in edit.text for edit in self.experiment.repair) else []
        made_up = [*self.call.made_up, *self.undefined.made_up]
        return (*old, *moved, *([f"{MADE_UP} {', '.join(made_up)}"] if made_up else []))

    @property
    def _is_module(self) -> bool:
        """Whether the entry must be run as a module of its package."""
        part = self.files[self.entry.source.path]
        return is_relative(part.tree, part.dropped)

    @property
    def pair(self) -> Pair:
        """Both programs."""
        approach = self.entry.source.path, self.start
        return Pair(self.program(repaired=False), self.program(repaired=True), self.remarks, approach)

    def program(self, *, repaired: bool) -> Program:
        """The files with the edits of one variant."""
        texts = harness_modules(*(name for name in self._modules if name != HARNESS))
        for path, part in self.files.items():
            name = self._name(path)
            texts[name] = self._text(part, self._opening(part.file, name, repaired=repaired), repaired=repaired)
        self._add_packages(texts)
        entry = self._name(self.entry.source.path)
        if self._is_module:
            return self._run_as_module(texts)
        return Program(entry, texts)

    def _add_packages(self, texts: dict[str, str]) -> None:
        """Folders that are packages stay packages: an installed one of the same name would come first."""
        for path in self.files:
            for folder in path.parents:
                if folder != self.root and self.root in folder.parents and (folder / "__init__.py").is_file():
                    texts.setdefault(self._name(folder / "__init__.py"), "")

    def _run_as_module(self, texts: dict[str, str]) -> Program:
        folder = package_root(self.entry.source.path)
        module = ".".join(self.entry.source.path.relative_to(folder).with_suffix("").parts)
        runner = self._name(folder / f"{_RUNNER}.py")
        texts[runner] = f'import runpy\n\nrunpy.run_module("{module}", run_name="__main__")\n'
        return Program(runner, texts)

    def _opening(self, file: File, name: str, *, repaired: bool) -> str:
        """What a file begins with: the harness is found and, in the entry, set."""
        if file is not self.entry.file:
            return "".join(f"import {module}\n" for module in self._modules if module != OLD_KERAS)
        here = PurePosixPath(name).parent
        folders = [self.root, *sorted(self.roots - {self.root})]
        paths = [relative(PurePosixPath(folder.relative_to(self.root)), here) for folder in folders]
        lines = []
        if outside := [path for path in paths if path != "."]:
            lines = ["import os", "import sys"]
            lines += [f'sys.path.insert(1, os.path.join(os.path.dirname(__file__), "{path}"))' for path in outside]
        lines += [f"import {OLD_KERAS}"] if self.old_keras else []
        lines += [f"import {HARNESS}", *self._settings_of_stand_ins, self.opening, self.experiment.opening]
        if told := [number for part in self.files.values() for number in self._told(part)]:
            lines.append(f"{HARNESS}.expect({', '.join(map(str, sorted(told)))})")
        lines += [f"{HARNESS}.whole_run()"] if self._counts else []
        if (
            repaired and self.experiment.repair and not self.experiment.user_edits
        ):  # else the users' own code must do it
            lines.append(f"{HARNESS}.build_outside()")
        lines += [self.experiment.opening_of_repair if repaired else "", *self.undefined.lines]
        if numpy_lines := [line for part in self.files.values() for line in old_names_of_numpy(part.file)]:
            lines += ["import numpy", *dict.fromkeys(numpy_lines)]
        # What a notebook's magics give is not known.
        lines += [f"{STAND_IN} = None" if STAND_IN in file.source.code else ""]
        return "".join(f"{line}\n" for line in lines if line)

    @cached_property
    def _settings_of_stand_ins(self) -> Sequence[str]:
        """What the modules that make something up get: where files may be, and what the code says of them."""
        if not self._makes_up:
            return ()
        files = [part.file for part in self.files.values()]
        folders = {str(path.parent.resolve()): None for path in self.files} | {str(Path.cwd()): None}
        lines = [f"import {', '.join(MODULES)}", f"{FILES}.FOLDERS = {tuple(folders)!r}"]
        lines += hints_of(self.entry, files).settings()
        experiment = self.experiment
        measured = tuple(Stop(probe.file, probe.node) for probe in experiment.probes if not probe.optional)
        asked = asked_of_program(self.entry, self.start.route, measured, experiment.flagged)
        lines += [f"{ENVIRONMENT}.ASKED = {asked!r}"] if asked else []
        lines += [f"{ABSENT}.plain_bars()"] if any(BARS.search(file.source.code) for file in files) else []
        names = ", ".join(map(repr, self._recorders))
        return [*lines, f"{ABSENT}.record_nothing({names})"] if names else lines

    def _told(self, part: Part) -> list[int]:
        """The numbers of the flagged statements of a file, which tells when they ran."""
        flagged = enumerate(self.experiment.flagged)
        return [number for number, (file, node) in flagged if file is part.file and part.holds(node)]

    def _text(self, part: Part, opening: str, *, repaired: bool) -> str:
        file, experiment = part.file, self.experiment
        edits = experiment.repair if repaired else experiment.flaw
        pieces = [replacing(stand.start, stand.end, stand.text) for stand in part.stands]
        # Both programs are shortened alike.
        changed = {change.node for change in (*experiment.probes, *experiment.flaw, *experiment.repair)}
        pieces += shortened_fits(self.entry, file, changed)
        flagged = (node for _, node in experiment.flagged)
        places = {*changed, *experiment.keeps, *flagged, *(stop.node for stop in self.start.route)}
        pieces += shortened_loops(file, places, experiment.node)
        if self._counts:
            pieces += counted_loops(file, [experiment.node, *(stop.node for stop in self.start.route)])
        for reader in part.readers:
            pieces += wrapping(*file.span(reader.call.func), reader.opening, ")")
        pieces = [piece for piece in pieces if file.source.row(piece.around[0]) not in part.dropped]
        pieces += [of_change(edit, measures=False) for edit in edits if edit.file is file]
        probes = [probe for probe in experiment.probes if probe.file is file]
        pieces += [of_change(probe, measures=True) for probe in probes if part.holds(probe.node) or not probe.optional]
        pieces += [telling(number, *experiment.flagged[number], edits) for number in self._told(part)]
        text = put_in(file.source.code, [*pieces, *without_rows(file.source, part.dropped)])
        if file is self.entry.file and self.call.lines:
            text = "\n".join([text.rstrip(), *self.call.lines, ""])
        try:
            is_opened = file is self.entry.file or any(module in text for module in (HARNESS, *MODULES))
            return tidy(with_opening(text, opening) if is_opened else text)
        except SyntaxError as error:
            where = f"{file.source.name}, line {error.lineno} of the extracted program"
            raise NotExtractable(f"the extracted program does not parse: {error.msg} ({where})") from error

    def _name(self, path: Path) -> str:
        """Of a file in a program's folder; a notebook's code is written as a script."""
        return str(PurePosixPath(path.relative_to(self.root)).with_suffix(".py"))
