"""How many findings in public code `verify` brings to a verdict on a CPU, and why not the others.

    python tests/benchmarks/reach.py FOLDER [--run] [--budget 60] [--runs N] [--python PATH] [--repository NAME]...
                                     [--every K] [--seed N] [--records FILE] [--again] [--reasons N]

FOLDER has a folder for each repository, called `owner+name`. Without `--run` the programs are only planned, which costs
little more than a check; with it each finding gets its budget, equal programs are run once, and what came of each is
added to the records (JSON lines), so that a run that was stopped goes on where it was.

With `--every K` it is every K-th finding: those of each repository are sorted by their rule (in an order of the seed
within a rule), the first is one of the seed, and what is left over at the end of a repository counts for the next one.
So each rule and each repository has its share. With `--again` it is those findings of the records that have no verdict,
say after `verify` has learned something, and what is said of the others stays as it is.

A finding is one that a CPU can show unless its rule says that nothing is to be seen by running it, or that it takes a
GPU. It has a verdict when one of its experiments has one.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import Any

from tflint_gpu.checking.workers import with_large_stack
from tflint_gpu.cli.commands.flagged import findings
from tflint_gpu.diagnostics import Diagnostic
from tflint_gpu.settings.config import SettingsResolver
from tflint_gpu.settings.files import Discovery
from tflint_gpu.settings.options import Options
from tflint_gpu.verify.execution.sandbox import Limits
from tflint_gpu.verify.experiments.bench import verify
from tflint_gpu.verify.experiments.planning import plan
from tflint_gpu.verify.experiments.verification import Case, Setup

NOT_FOR_A_CPU = ("a GPU", "two GPUs")
NOTHING_TO_SEE = "the old name still works"
PLANNED = "planned"


def main() -> None:
    """Plan, or run, and print a table by repository and one of reasons."""
    arguments = _arguments()
    records = _known(arguments.records)
    sample = _Sample(arguments.every, arguments.seed)
    missed = _missed(list(records.values())) if arguments.again else None
    for folder in sorted(arguments.folder.iterdir()):
        name = folder.name.replace("+", "/", 1)
        if not folder.is_dir() or (arguments.repository and name not in arguments.repository):
            continue
        if missed is not None and not any(finding.startswith(f"{name} ") for finding in missed):
            continue
        planned = with_large_stack(lambda folder=folder, name=name: _cases(folder, name, missed))
        for case in sample.of(name, planned) if missed is None else planned:
            key = _key(name, case)
            if missed is not None or key not in records:
                records[key] = _record(name, case, arguments)
                _add(arguments.records, records[key])
        print(f"{name} is done", file=sys.stderr)
    _print(list(records.values()), arguments)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--run", action="store_true", help="run the programs and do not only plan them")
    parser.add_argument("--budget", type=float, default=60.0, help="seconds for each finding")
    parser.add_argument("--runs", type=int, help="rounds of each experiment; by default as many as verify takes")
    parser.add_argument("--python", default=sys.executable, help="the interpreter that has TensorFlow")
    parser.add_argument("--repository", action="append", default=[], help="owner/name; by default all")
    parser.add_argument("--every", type=int, default=1, help="of how many findings one is taken; by default all")
    parser.add_argument("--seed", type=int, default=1, help="which ones")
    parser.add_argument("--records", type=Path, help="keep what came of each experiment here")
    parser.add_argument("--again", action="store_true", help="run what has no verdict in the records")
    parser.add_argument("--reasons", type=int, default=30, help="how many reasons to print")
    return parser.parse_args()


def _cases(folder: Path, repository: str, only: Collection[str] | None) -> list[Case]:
    """All experiments on the findings of one repository, or on some of them."""
    resolver = SettingsResolver(Options(), None, True, folder)
    files = Discovery(resolver, folder).find(["."])
    flagged, others = findings(resolver, files, folder, ["."])
    if only is not None:
        flagged = [finding for finding in flagged if _finding(repository, finding[2]) in only]
    return list(plan(flagged, others))


def _missed(records: Sequence[dict[str, Any]]) -> set[str]:
    """The findings of which no experiment has a verdict."""
    reached = {record["finding"] for record in records if record["verdict"] != "not run"}
    return {record["finding"] for record in records} - reached


class _Sample:
    """Every so many of the findings that a CPU can show, evenly over repositories and rules."""

    def __init__(self, every: int, seed: int) -> None:
        self._every, self._random = every, random.Random(seed)
        self._until_next = self._random.randrange(every)

    def of(self, repository: str, cases: Sequence[Case]) -> Iterator[Case]:
        """The cases of those findings of a repository that are taken."""
        by_finding: dict[str, list[Case]] = defaultdict(list)
        for case in cases:
            if _requirement(case) not in NOT_FOR_A_CPU and case.reason != NOTHING_TO_SEE:
                by_finding[_finding(repository, case.diagnostic)].append(case)
        ranked = sorted(by_finding, key=lambda key: (key.rpartition(" ")[2], self._random.random()))
        for finding in ranked:
            self._until_next -= 1
            if self._until_next < 0:
                self._until_next = self._every - 1
                yield from by_finding[finding]


def _finding(repository: str, diagnostic: Diagnostic) -> str:
    return f"{repository} {diagnostic.filename}:{diagnostic.location} {diagnostic.code}"


def _key(repository: str, case: Case) -> str:
    return f"{_finding(repository, case.diagnostic)} {case.variant}"


def _record(repository: str, case: Case, arguments: argparse.Namespace) -> dict[str, Any]:
    requires = _requirement(case)
    verdict, reason = PLANNED if case.pair is not None else "not run", case.reason
    if arguments.run and case.pair is not None and requires not in NOT_FOR_A_CPU:
        text = json.dumps([dict(case.pair.before.files), dict(case.pair.after.files)], sort_keys=True)
        if text not in _SEEN:
            limits = Limits(seconds=arguments.budget)  # a program may take all of it
            setup = Setup(runs=arguments.runs, python=arguments.python, limits=limits)
            _SEEN[text] = list(verify(case, setup, arguments.budget))[-1].verdict
        verdict, reason = _SEEN[text].verdict, _SEEN[text].reason
    return {
        "key": _key(repository, case),
        "finding": _finding(repository, case.diagnostic),
        "repository": repository,
        "code": case.diagnostic.code,
        "requires": requires,
        "verdict": verdict,
        "reason": reason,
    }


def _requirement(case: Case) -> str:
    return case.experiment.requires if case.experiment is not None else ""


_SEEN: dict[str, Any] = {}


def _known(path: Path | None) -> dict[str, dict[str, Any]]:
    if path is None or not path.exists():
        return {}
    return {one["key"]: one for one in map(json.loads, path.read_text("utf-8").splitlines())}


def _add(path: Path | None, record: dict[str, Any]) -> None:
    if path is not None:
        with path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(record) + "\n")


def _print(records: Sequence[dict[str, Any]], arguments: argparse.Namespace) -> None:
    by_finding: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for record in records:
        if record["requires"] not in NOT_FOR_A_CPU and record["reason"] != NOTHING_TO_SEE:
            by_finding[record["finding"]].append(record)
    print(f"| repository | findings that a CPU can show | {'with a verdict' if arguments.run else 'with programs'} |")
    print("|---|---|---|")
    rows: dict[str, Counter[bool]] = defaultdict(Counter)
    for several in by_finding.values():
        rows[several[0]["repository"]][_is_reached(several)] += 1
    for repository, counts in sorted(rows.items()):
        print(f"| {repository} | {counts.total()} | {counts[True]} |")
    reached, everything = sum(c[True] for c in rows.values()), sum(c.total() for c in rows.values())
    print(f"| all | **{everything}** | **{reached}** ({reached / max(everything, 1):.0%}) |\n")
    print("| reason for `not run` | findings |\n|---|---|")
    missed = (several for several in by_finding.values() if not _is_reached(several))
    for reason, count in Counter(_kind(several[0]["reason"]) for several in missed).most_common(arguments.reasons):
        print(f"| {reason} | {count} |")


def _is_reached(several: Sequence[dict[str, Any]]) -> bool:
    return any(record["verdict"] != "not run" for record in several)


def _kind(reason: str) -> str:
    """A reason without the places and names that differ from finding to finding."""
    reason = re.sub(r"\S+\.(?:py|ipynb):(?:cell \d+:)?\d+:\d+", "...", reason.partition(": describe ")[0])
    reason = re.sub(r"`[^`]*`", "`...`", reason.partition("; ")[0])
    return re.sub(r"'[^']*'|\"[^\"]*\"|/\S+|\d+", "...", reason).replace("|", "/")[:110]


if __name__ == "__main__":
    main()
