"""Looks for fixes that break programs: generates programs, applies every fix, runs both with TensorFlow, and compares.

    python tests/benchmarks/fix_fuzz.py --minutes 60 --seed 1 [--workers 2] [--rules TFG202 TFG207] [--found FILE]

`fix_fuzz_programs.py` has the grammar, `fix_fuzz_runs.py` runs. Each fix that `check` offers is applied alone, and all of
them together. From the same seeds, both runs must leave the same weights, outputs, batches and texts, raise the
same, and trace about as often; the fixed run, tracing included, takes at most 1.1 times as long, in loops and trainings
of the length for which rules speak, and beyond what the program differs from itself. A rule that is to change something
has it in `CHANGES`. What differs is made small, first by plainer choices of the grammar, then by leaving out statements, and printed with both texts. The end, or a signal
to stop, is a table of the rules. Exits with 1 if something differed.
"""

from __future__ import annotations

import argparse
import contextlib
import difflib
import multiprocessing
import platform
import re
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

TESTS = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(TESTS.parent), str(TESTS), str(TESTS / "benchmarks")]

from fix_fuzz_choices import Choices  # noqa: E402
from fix_fuzz_programs import generated  # noqa: E402
from fix_fuzz_runs import (  # noqa: E402
    Difference,
    Forks,
    Program,
    Run,
    differences,
    is_keras_2,
    looks_slower,
    slower,
)
from fuzz import shorter  # noqa: E402

from tflint_gpu.checking.engine import Engine  # noqa: E402
from tflint_gpu.checking.fixes import FixError, apply, fix_source, wanted  # noqa: E402
from tflint_gpu.diagnostics import Diagnostic  # noqa: E402
from tflint_gpu.rule import load  # noqa: E402
from tflint_gpu.settings.config import SettingsResolver  # noqa: E402
from tflint_gpu.settings.files import Discovery, FileToCheck  # noqa: E402
from tflint_gpu.settings.options import Options  # noqa: E402
from tflint_gpu.settings.selection import known_codes  # noqa: E402
from tflint_gpu.text.decoding import decode_source  # noqa: E402
from tflint_gpu.text.source import SourceFile  # noqa: E402

_NUMBERS, _RAISED = frozenset(["numbers"]), frozenset(["raised"])
_ANYTHING = frozenset(["numbers", "shapes", "printed", "raised"])
CHANGES: dict[str, frozenset[str]] = {
    "TFG101": _NUMBERS | {"raised"},  # NumPy on a symbolic tensor raises, and ends the gradient of one that has a value
    "TFG102": _NUMBERS | {"raised"},  # drawn in every step, not once
    "TFG106": _ANYTHING,  # a layer keeps its weights, which it did not
    "TFG201": _NUMBERS | {"shapes"},  # other batches, and fewer
    "TFG203": frozenset(["printed"]),  # a print in what is traced runs once, as the rule says
    "TFG209": frozenset(["printed"]),  # every hundredth step
    "TFG303": _NUMBERS,  # drawn in another order
    "TFG304": _RAISED,
    "TFG306": _NUMBERS,  # other samples in each epoch
    "TFG307": _NUMBERS | {"shapes"},  # other batches, the smallest one last
    "TFG308": _ANYTHING,  # the pipeline does what it did not
    "TFG309": _NUMBERS | {"printed", "raised"},
    "TFG316": _ANYTHING,  # samples become batches
    "TFG317": _NUMBERS,
    "TFG319": _NUMBERS,
    "TFG320": _NUMBERS,
    "TFG402": _RAISED,
    "TFG403": _RAISED,
    "TFG501": _RAISED,
    "TFG505": _NUMBERS | {"raised"},
    "TFG506": _RAISED,
    "TFG601": _NUMBERS | {"shapes"},  # another model: a GRU with `reset_after` has two biases
    "TFG602": _NUMBERS | {"printed"},  # weights are drawn in another dtype, which may be shown
    "TFG604": _NUMBERS,
    **{f"TFG7{number:02}": _RAISED for number in range(1, 16)},
    "TFG709": _RAISED | _NUMBERS,  # a pass that ends early leaves the seeds of later ones in another state
}
"""What fixes are to change. All others leave everything as it is."""
_DRAWS = re.compile(r"Dropout|GaussianNoise|Random[A-Z]\w*\(|tf\.random\.(?:normal|uniform)")
"""What draws other numbers when it is traced than eagerly, with Keras 2: from the graph's seed, not from a variable."""
_UNTIMED = frozenset(
    [
        "TFG306",  # draws again in each pass what was cached
        "TFG308",  # the pipeline does work that it did not
        "TFG601",  # pays on a GPU only: a CPU shows what it costs to trace cuDNN's function beside the other
    ]
)
"""Rules whose fixes may take time."""
_SLOWER = "slower"
_EACH = 2  # differences of a kind that are made small


@dataclass(frozen=True)
class Fixed:
    """A program with fixes.

    Arguments:
        codes: the rules that have one in it, as often as they have.
        is_whole: whether it has all of them, so that nothing is left that raises as before.
    """

    program: Program
    codes: tuple[str, ...]
    is_whole: bool = False

    @property
    def rules(self) -> str:
        """The rules, each once."""
        return "+".join(sorted(set(self.codes)))


@dataclass
class Tally:
    """What a campaign did."""

    programs: int = 0
    raised: Counter[str] = field(default_factory=Counter)
    fixed: int = 0
    fixes: Counter[str] = field(default_factory=Counter)
    differences: Counter[tuple[str, str]] = field(default_factory=Counter)
    reports: list[str] = field(default_factory=list)

    def add(self, other: Tally) -> None:
        """Add another worker's."""
        self.programs += other.programs
        self.fixed += other.fixed
        self.raised.update(other.raised)
        self.fixes.update(other.fixes)
        self.differences.update(other.differences)
        self.reports += other.reports


def fixed_programs(program: Program, version: str, rules: Iterable[str] = ()) -> Iterator[Fixed]:
    """A program with each fix that `check` offers, one at a time, and with all of them."""
    with tempfile.TemporaryDirectory(prefix="fix-fuzz-") as name:
        folder = Path(name)
        for file_name, text in program.items():
            (folder / file_name).write_text(text, "utf-8")
        options = Options(select=tuple(rules) or ("ALL", *known_codes()), target_tensorflow=version, gpu_memory="16GiB")
        resolver = SettingsResolver(options, isolated=True, working_directory=folder)
        files = {file.name: file for file in Discovery(resolver, folder).find(["."])}
        engine = Engine(resolver, folder)
        found = {
            one: None for file in files.values() for one in engine.check(file).diagnostics if _is_tried(one, program)
        }
        by_file: dict[str, list[Diagnostic]] = {}
        for one in found:
            by_file.setdefault(one.filename, []).append(one)
            source, applied = apply(_source(files[one.filename]), [one])
            if applied:
                yield Fixed({**program, one.filename: source.text}, (one.code,))
        if len(found) > 1 or by_file:
            yield _all_fixed(program, files, by_file, resolver, folder)


def _is_tried(one: Diagnostic, program: Program) -> bool:
    """Whether a fix is applied; advice on memory, which nearly every program gets, only to programs about devices."""
    return wanted(one, True) and (one.code != "TFG401" or any("tf.config" in text for text in program.values()))


def _all_fixed(
    program: Program,
    files: dict[str, FileToCheck],
    by_file: dict[str, list[Diagnostic]],
    resolver: SettingsResolver,
    folder: Path,
) -> Fixed:
    after, codes = dict(program), []
    for name, diagnostics in by_file.items():
        file = files[name]

        def recheck(source: SourceFile, file: FileToCheck = file) -> list[Diagnostic]:
            again = Engine(resolver, folder).check(replace(file, content=source.encode()))
            return [one for one in again.diagnostics if one.filename == file.name and _is_tried(one, program)]

        outcome = fix_source(_source(file), diagnostics, recheck, unsafe=True)
        file.path.write_text(outcome.source.text, "utf-8")
        after[name] = outcome.source.text
        codes += [one.code for one in outcome.fixed]
    return Fixed(after, tuple(codes), is_whole=True)


def _source(file: FileToCheck) -> SourceFile:
    return decode_source(file.read(), file.path, file.name)


def compared(forks: Forks, before: Program, old: Run, fixed: Fixed, *, sure: bool, timed: bool) -> Iterator[Difference]:
    """What differs between a program, of whose run this is the record, and the same with fixes.

    Arguments:
        sure: run both again in a new process where they differ, and often where the fixed one looks slower.
        timed: whether that matters.
    """
    new = forks.run(fixed.program)
    allowed = _allowed(before, fixed)
    found = list(differences(old, new, allowed, _tolerance(before)))
    if found and sure:  # not what other programs have left behind
        forks.close()
        again, new = forks.run(before), forks.run(fixed.program)
        found = list(differences(again, new, allowed, _tolerance(before)))
    yield from found
    if (
        timed
        and not _UNTIMED & {*fixed.codes}
        and not found
        and not old.raised
        and not new.raised
        and looks_slower(old, new)
    ):
        ratio = slower(forks, before, fixed.program, 5 if sure else 2)
        if ratio > 1.1:
            yield Difference(_SLOWER, f"{ratio:.2f} times as long")


def _allowed(before: Program, fixed: Fixed) -> frozenset[str]:
    """What the fixes of a program may change."""
    allowed = frozenset[str]().union(*(CHANGES.get(code, frozenset()) for code in fixed.codes))
    if "raised" in allowed and not fixed.is_whole:
        allowed |= {"raised otherwise"}
    draws_otherwise = is_keras_2() and any(map(_DRAWS.search, before.values()))
    return allowed | {"numbers", "shapes"} if draws_otherwise else allowed


def _tolerance(program: Program) -> float:
    return 5e-2 if any("float16" in text for text in program.values()) else 1e-3


class Campaign:
    """Generates, fixes, runs, compares, and makes small what differs.

    Arguments:
        version: of TensorFlow, for which the fixes are.
        rules: to have fixes of; of all, if empty.
        tell: gets a report of each difference.
        fixing: gives a program with its fixes.
        shrinking: seconds for making one difference small.
        timed: whether a program may not take longer with its fixes.
    """

    def __init__(
        self,
        version: str,
        rules: tuple[str, ...] = (),
        tell: Callable[[str], None] = print,
        fixing: Callable[[Program, str, tuple[str, ...]], Iterable[Fixed]] = fixed_programs,
        shrinking: float = 150.0,
        timed: bool = True,
    ) -> None:
        self.forks = Forks()
        self.version, self.rules, self.tell, self.fixing = version, rules, tell, fixing
        self.shrinking, self.timed = shrinking, timed
        self.tally = Tally()
        self._made_small: Counter[tuple[str, str]] = Counter()
        self._known: set[tuple[str, str, tuple[tuple[str, str], ...]]] = set()

    def run(self, minutes: float, seed: str) -> Tally:
        """Try programs for some time, or until a signal."""
        end, number = time.monotonic() + 60 * minutes, 0
        with contextlib.suppress(KeyboardInterrupt):
            while time.monotonic() < end:
                number += 1
                self.one(Choices(f"{seed}-{number}", self.version))
        self.forks.close()
        return self.tally

    def one(self, choices: Choices) -> None:
        """Try one program."""
        program = generated(choices)
        self.tally.programs += 1
        try:
            variants = self._distinct(program)
        except FixError as error:
            self._report(choices, program, Fixed(program, ("fix",)), Difference("does not parse", str(error)))
            return
        if not variants:
            return
        self.tally.fixed += 1
        old = self.forks.run(program)
        if old.raised:
            self.tally.raised[old.raised[:100]] += 1
        alone = set[str]()
        for fixed in variants:
            if len(fixed.codes) == 1:
                self.tally.fixes.update(fixed.codes)
            if len(fixed.codes) > 1 and alone & {*fixed.codes}:
                continue  # the same as with one of them alone
            for difference in compared(self.forks, program, old, fixed, sure=True, timed=self.timed):
                alone.update(fixed.codes)
                self.tally.differences[fixed.rules, difference.what] += 1
                self._report(choices, program, fixed, difference)

    def _distinct(self, program: Program) -> list[Fixed]:
        found: dict[tuple[str, ...], Fixed] = {}
        for fixed in self.fixing(program, self.version, self.rules):
            text = tuple(fixed.program.values())
            found[text] = replace(found.get(text, fixed), is_whole=fixed.is_whole)
        found.pop(tuple(program.values()), None)
        return list(found.values())

    def _report(self, choices: Choices, program: Program, fixed: Fixed, difference: Difference) -> None:
        """Make a difference small and tell it, unless the same choices led to it before, or it is one of many."""
        kind = (fixed.rules, difference.what)
        if self._made_small[kind] >= _EACH or difference.what == "does not parse" or not self.shrinking:
            self._tell(choices, program, fixed, difference, _shown(program, fixed.program))
            return
        end = time.monotonic() + self.shrinking
        plain = self._plainest(choices, kind, difference.cause, end)
        key = (*kind, tuple(sorted(plain.special().items())))
        if key in self._known:
            self._tell(choices, program, fixed, difference, "as one before")
            return
        self._known.add(key)
        self._made_small[kind] += 1
        small = self._smallest(generated(plain), kind, difference.cause, end)
        again = self._still(small, kind, difference.cause)
        if again is None:
            again = fixed, difference
            small = program
        self._tell(plain, small, *again, text=_shown(small, again[0].program))

    def _tell(self, choices: Choices, program: Program, fixed: Fixed, difference: Difference, text: str) -> None:
        special = ", ".join(f"{label}={value}" for label, value in sorted(choices.special().items()))
        report = f"=== {fixed.rules}: {difference.what} (seed {choices.seed}; {special})\n{difference.text}\n{text}"
        self.tally.reports.append(report)
        self.tell(report)

    def _still(self, program: Program, kind: tuple[str, str], cause: str) -> tuple[Fixed, Difference] | None:
        """The fix and the difference of a kind and cause that a program still has."""
        try:
            variants = [fixed for fixed in self._distinct(program) if fixed.rules == kind[0]]
        except FixError:
            return None
        old = None
        for fixed in variants:
            old = old or self.forks.run(program)
            for difference in compared(self.forks, program, old, fixed, sure=False, timed=kind[1] == _SLOWER):
                if difference.what == kind[1] and difference.cause == cause:
                    return fixed, difference
        return None

    def _plainest(self, choices: Choices, kind: tuple[str, str], cause: str, end: float) -> Choices:
        """The choices with as many as possible at their plainest."""
        for label in list(choices.special()):
            plainer = choices.plain(label)
            if time.monotonic() < end and self._still(generated(plainer), kind, cause):
                choices = plainer
        return choices

    def _smallest(self, program: Program, kind: tuple[str, str], cause: str, end: float) -> Program:
        """The program with fewer and fewer statements."""
        changed = True
        while changed:
            changed = False
            for name, text in program.items():
                for less in shorter(text.encode(), ("body", "orelse", "decorator_list")):
                    if time.monotonic() > end:
                        return program
                    candidate = {**program, name: less.decode()}
                    if self._still(candidate, kind, cause):
                        program, changed = candidate, True
                        break
                if changed:
                    break
        return program


def _shown(before: Program, after: Program) -> str:
    texts = []
    for name, text in before.items():
        diff = difflib.unified_diff(text.splitlines(True), after[name].splitlines(True), name, name, n=1000)
        texts.append("".join(diff) or f"--- {name}\n{text}")
    return "\n".join(texts)


def _work(given: argparse.Namespace, version: str, number: int) -> Tally:
    def tell(report: str) -> None:
        print(report, flush=True)
        if given.found:
            with given.found.open("a", encoding="utf-8") as file:
                file.write(report + "\n")

    return Campaign(version, tuple(given.rules), tell, shrinking=given.shrinking, timed=not given.untimed).run(
        given.minutes, f"{given.seed}.{number}"
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=5)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--rules", nargs="*", default=[], help="whose fixes; of all by default")
    parser.add_argument("--untimed", action="store_true", help="do not compare times: for a busy machine")
    parser.add_argument("--shrinking", type=float, default=150, metavar="SECONDS", help="for each difference")
    parser.add_argument("--found", type=Path, help="a file to which the reports are appended")
    parser.add_argument("--show", metavar="SEED", help="print one program, as `1.0-20`, try it, and end")
    given = parser.parse_args()
    for number in (signal.SIGINT, signal.SIGTERM):  # a shell has what it runs in the background ignore Ctrl-C
        signal.signal(number, signal.default_int_handler)
    import tensorflow as tf

    version = ".".join(tf.__version__.split(".")[:2])
    if given.show:
        campaign = Campaign(version, tuple(given.rules))
        for name, text in generated(Choices(given.show, version)).items():
            print(f"# {name}\n{text}")
        campaign.one(Choices(given.show, version))
        campaign.forks.close()
        return 0
    began = time.monotonic()
    with multiprocessing.get_context("fork").Pool(given.workers) if given.workers > 1 else _Here() as pool:
        tally = Tally()
        for one in pool.starmap(_work, [(given, version, number) for number in range(given.workers)]):
            tally.add(one)
    _print(tally, version, f"seed {given.seed}, {(time.monotonic() - began) / 60:.0f} minutes")
    return 1 if tally.differences else 0


class _Here:
    """As a pool of one process."""

    starmap = staticmethod(lambda function, arguments: [function(*each) for each in arguments])

    def __enter__(self) -> _Here:
        return self

    def __exit__(self, *_: object) -> None:
        pass


def _print(tally: Tally, version: str, run: str) -> None:
    print(f"\nTensorFlow {version}, Python {platform.python_version()}, {run}")
    print(
        f"{tally.programs} programs, {tally.fixed} with fixes, {tally.raised.total()} of them raise before; "
        f"{tally.fixes.total()} fixes, {tally.differences.total()} differences"
    )
    print("| rule | fixes | differences |\n|---|---:|---|")
    for rule in sorted({*tally.fixes, *(rules for rules, _ in tally.differences)}):
        kinds = [f"{count} {what}" for (rules, what), count in tally.differences.most_common() if rules == rule]
        print(f"| {rule} | {tally.fixes[rule]} | {', '.join(kinds)} |")
    fixable = [rule.code for rule in load(known_codes()) if rule.fixable]
    print(f"rules without a fix in these programs: {' '.join(sorted({*fixable} - {*tally.fixes})) or 'none'}")
    for raised, count in tally.raised.most_common(8):
        print(f"raised before, {count}: {raised}")


if __name__ == "__main__":
    sys.exit(main())
