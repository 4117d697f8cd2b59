"""What must hold for every input, checked for a folder of files: no error, no endless work, and fixes and comments that do what they say."""

from __future__ import annotations

import ast
import re
import shutil
import signal
import tempfile
import time
import traceback
import types
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from tflint_gpu.checking.added_suppressions import add_suppressions
from tflint_gpu.checking.engine import Engine, FileResult
from tflint_gpu.checking.fixes import FixError, fix_source, wanted
from tflint_gpu.checking.unused_suppressions import UnusedSuppressions
from tflint_gpu.diagnostics import Diagnostic, Edit, Location
from tflint_gpu.narrowing.baselines import Baseline
from tflint_gpu.rule import UNREADABLE_FILE, NoExperiment
from tflint_gpu.settings.config import SettingsResolver
from tflint_gpu.settings.files import Discovery, FileToCheck
from tflint_gpu.settings.options import Options
from tflint_gpu.settings.selection import known_codes
from tflint_gpu.text.decoding import decode_source
from tflint_gpu.text.source import SourceFile, UnreadableSource

TARGETS = ("2.21", "2.21", "2.15", "2.10", "2.4", "2.16", "1.15")
_LIMIT = 10.0
_PLACE = re.compile(r'File "[^"]*?((?:tflint_gpu|rules|libcst)/[^"]*)", line (\d+), in (\S+)')

Program = Mapping[str, bytes]
"""Files by their names."""


@dataclass(frozen=True, slots=True)
class Failure:
    """A promise that was not kept.

    Arguments:
        kind: which one, with the place in our code or the rule: the same for the same mistake.
        text: what to look at.
    """

    kind: str
    text: str


class TooLong(KeyboardInterrupt):
    """Work went on for too long. No `Exception`, so that nothing on the way takes it for a failed rule."""


@contextmanager
def limited(seconds: float) -> Iterator[None]:
    """Stop with TooLong after so much CPU time; only in a main thread, elsewhere there is no limit."""

    def stop(_: int, frame: types.FrameType | None) -> None:
        stack = "".join(traceback.format_stack(frame, limit=60))
        raise TooLong(stack)

    try:
        before = signal.signal(signal.SIGVTALRM, stop)
    except ValueError:
        yield
        return
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


def failures(
    program: Program,
    target: str = "2.21",
    thorough: bool = True,
    limit: float = _LIMIT,
    told: Counter[str] | None = None,
) -> list[Failure]:
    """What goes wrong with some files.

    Arguments:
        thorough: ask not only for findings, but for fixes, comments, baselines and experiments too.
        told: counts the findings by code.
    """
    folder = Path(tempfile.mkdtemp(prefix="tflint-robustness-"))
    try:
        for name, data in program.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_bytes(data)
        return _Run(folder, target, limit, Counter() if told is None else told).failures(thorough)
    finally:
        shutil.rmtree(folder)


class _Run:
    """One program in a folder."""

    def __init__(self, folder: Path, target: str, limit: float, told: Counter[str]) -> None:
        self.folder = folder
        self.limit = limit
        self.told = told
        options = Options(select=("ALL", *known_codes()), target_tensorflow=target, gpu_memory="16GiB")
        self.resolver = SettingsResolver(options, isolated=True, working_directory=folder)
        self.engine = self.fresh()
        self.found: list[Failure] = []

    def fresh(self, ignore_noqa: bool = False) -> Engine:
        return Engine(self.resolver, self.folder, ignore_noqa=ignore_noqa)

    def files(self) -> list[FileToCheck]:
        return Discovery(self.resolver, self.folder).find(["."])

    def failures(self, thorough: bool) -> list[Failure]:
        results = self.check(self.engine)
        if thorough and not self.found:
            for name in ("again", "fixes", "experiments", "baseline", "silencing"):
                way: Callable[[list[FileResult]], None] = getattr(self, f"_{name}")
                try:
                    with limited(6 * self.limit):
                        way(results)
                except TooLong as error:
                    self.tell(f"too long: {name}, {_place(str(error))}", str(error))
                except Exception as error:
                    text = traceback.format_exc()
                    self.tell(f"{name}: {type(error).__name__} at {_place(text)}", text)
        return self.found

    def tell(self, kind: str, text: str) -> None:
        self.found.append(Failure(kind, text))

    def check(self, engine: Engine) -> list[FileResult]:
        """Check all files, and what is told of each."""
        results = []
        for file in self.files():
            began = time.thread_time()
            try:
                with limited(self.limit):
                    result = engine.check(file)
            except TooLong as error:
                self.tell(f"too long: {_place(str(error))}", str(error))
                continue
            if (took := time.thread_time() - began) > self.limit:
                self.tell("too long", f"{file.name}: {took:.1f} s")
            results.append(result)
            for wrong in result.errors:
                self.tell(f"error: {wrong.rule} at {_place(wrong.detail)}", wrong.detail)
            for one in result.diagnostics:
                self.told[one.code] += 1
                self._position(one)
                if one.code == UNREADABLE_FILE:
                    self._refusal(file, one)
        return results

    def _refusal(self, file: FileToCheck, one: Diagnostic) -> None:
        """A file that Python compiles is not refused, except for its nesting."""
        if file.path.suffix != ".py" or "more than" in one.message or "null" in one.message:
            return
        try:
            ast.parse(file.read())
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return
        self.tell(
            f"refused: {re.sub(r'[0-9]+', 'N', one.message)[:60]}", f"{one.filename}:{one.location} {one.message}"
        )

    # Places

    def _position(self, one: Diagnostic) -> None:
        places = [(one.filename, one.location, one.end_location)]
        places += [(note.filename, note.location, note.end_location) for note in one.related]
        for name, start, end in places:
            source = self.source(name)
            if source is None:
                self.tell(f"place: {one.code} in no file of the program", name)
            elif not (self._lies_in(source, start) and self._lies_in(source, end)) or _order(end) < _order(start):
                self.tell(f"place: {one.code} outside of the file", f"{name}: {start} to {end}: {one.message}")
        if one.fix is not None:
            source = self.source(one.filename)
            length = len(source.text) if source is not None else 0
            if any(not 0 <= edit.start <= edit.end <= length for edit in one.fix.edits):
                self.tell(f"place: {one.code} an edit outside of the file", repr(one.fix))

    def source(self, name: str) -> SourceFile | None:
        path = self.folder / name
        try:
            return decode_source(path.read_bytes(), path, name)
        except OSError:
            return None
        except UnreadableSource:
            return SourceFile.decode(b"", path, name)

    def _lies_in(self, source: SourceFile, location: Location) -> bool:
        if location.cell:
            return location.row >= 1 and location.column >= 1
        return 1 <= location.row <= max(1, len(source.line_starts)) and location.column >= 1

    # What is done with findings

    def _again(self, results: list[FileResult]) -> None:
        """A second check, of all files in another order, says the same."""
        engine = self.fresh()
        expected = {result.file.path: result.diagnostics for result in results}
        for file in reversed(self.files()):
            if (again := engine.check(file).diagnostics) != expected.get(file.path, ()):
                differing = set(again) ^ set(expected.get(file.path, ()))
                codes = " ".join(sorted({one.code for one in differing}))
                self.tell(f"again: {codes} differs", "\n".join(f"{d.filename}:{d.location} {d}" for d in differing))

    def _fixes(self, results: list[FileResult]) -> None:
        for result in results:
            file = result.file
            own = [one for one in result.diagnostics if one.filename == file.name and one.fix is not None]
            before = self.source(file.name)
            if not own or before is None:
                continue

            def recheck(source: SourceFile, file: FileToCheck = file) -> list[Diagnostic]:
                again = self.fresh().check(replace(file, content=source.encode()))
                for wrong in again.errors:
                    self.tell(f"error after fixes: {wrong.rule} at {_place(wrong.detail)}", wrong.detail)
                return [one for one in again.diagnostics if one.filename == file.name]

            for unsafe in (False, True):
                self._mended(before, own, recheck, unsafe)
            for one in own:
                self._alone(before, one)

    def _mended(
        self, before: SourceFile, own: list[Diagnostic], recheck: Callable[..., list[Diagnostic]], unsafe: bool
    ) -> None:
        codes = " ".join(sorted({one.code for one in own if wanted(one, unsafe)}))
        try:
            mended = fix_source(before, own, recheck, unsafe)
        except FixError as error:
            self.tell(f"fix: {codes} {str(error)[:50]}", str(error))
            return
        left = sorted({one.code for one in mended.remaining if wanted(one, unsafe)})
        if left:
            self.tell(f"fix: {' '.join(left)} does not settle", mended.source.text)

    def _alone(self, before: SourceFile, one: Diagnostic) -> None:
        """Each fix for itself leaves code that parses."""
        if one.fix is None or not one.fix.edits or not _parses(before):
            return
        edits: tuple[Edit, ...] = one.fix.edits
        after = before.edited(edits)
        if not _parses(after):
            self.tell(f"fix: {one.code} alone does not parse", after.text)

    def _experiments(self, results: list[FileResult]) -> None:
        for result in results:
            try:
                found = self.engine.findings(result.file)
            except UnreadableSource:
                continue
            for rule, finding, _, model in found:
                try:
                    list(rule.experiments(finding, model))
                except NoExperiment:
                    continue
                except Exception as error:
                    text = traceback.format_exc()
                    self.tell(f"experiment: {rule.code} {type(error).__name__} at {_place(text)}", text)

    def _baseline(self, results: list[FileResult]) -> None:
        """What a baseline knows is not told again."""
        found = list({one.sort_key: one for result in results for one in result.diagnostics}.values())
        path = self.folder / "baseline.json"

        def line_of(name: str, row: int, cell: int) -> str | None:
            source = self.source(name)
            return None if source is None else source.shown_line(Location(row, 1, cell=cell))

        Baseline(path).renewed(found, self.folder, line_of, lambda entry: False).write()
        matched = Baseline.read(path).match(found, self.folder, line_of)
        path.unlink()
        if matched.new or matched.unmet:
            self.tell("baseline: does not know what it was written from", repr((matched.new, matched.unmet)))

    def _silencing(self, results: list[FileResult]) -> None:
        """Comments silence what they were written for, and none of them is useless."""
        found = list({one.sort_key: one for result in results for one in result.diagnostics}.values())
        written = any("noqa" in text for text in self._texts())
        done = add_suppressions(found, self.folder)
        for failure in done.failures:
            if "not fixed" not in failure.detail:
                self.tell("silencing: error", failure.detail)
        left = {one.code for one in done.left} | {UNREADABLE_FILE}
        engine = self.fresh()
        again = self.check(engine)
        told = {one.code for result in again for one in result.diagnostics} - left
        if told and not done.failures:
            self.tell(f"silencing: {' '.join(sorted(told))} still told", "".join(self._texts()))
        if written or done.failures or len(again) != len(self.files()):
            return
        added = UnusedSuppressions(engine, self.files(), again).added()
        useless = [one for result in added for one in result.diagnostics if one.code == "TFG001"]
        if useless:
            text = "\n".join([*(one.message for one in useless), *self._texts()])
            self.tell("silencing: a comment is called useless", text)

    def _texts(self) -> list[str]:
        return [file.path.read_text("utf-8", "replace") for file in self.files()]


def _order(location: Location) -> tuple[int, int, int]:
    return location.cell or 0, location.row, location.column


def _parses(source: SourceFile) -> bool:
    try:
        ast.parse(source.code)
    except (SyntaxError, ValueError, RecursionError, MemoryError, UnreadableSource):
        return False
    return True


def _place(text: str) -> str:
    """The innermost place in our code, and how a traceback ends."""
    places = _PLACE.findall(text)
    last = text.strip().splitlines()[-1][:80] if text.strip() else ""
    if "RecursionError" in last or "stack" in last:
        return f"{last} {max((p[0] + ':' + p[2] for p in places), key=lambda p: text.count(p.partition(':')[0]), default='')}"
    ours = [place for place in places if not place[0].startswith("libcst")] or places
    return f"{ours[-1][0]}:{ours[-1][2]} {'' if 'File' in last else last}" if ours else last
