"""Which share of the true places that are found in public code carries a fix.

    python tests/benchmarks/fixable.py LABELS FOLDER [--missing]

LABELS is a CSV file with the columns `repo`, `path`, `line`, `code` and `verdict`: places that readers judged. Those with
the verdict "true" count. The path of a notebook ends with ":cell N", and its line counts within the cell; TFG7xx is any
rule about old names. FOLDER has a folder for each repository, called `owner+name`; repositories that are not there are
left out. A finding of the same rule within two lines is the place, or one that has it as a related place.
"""

from __future__ import annotations

import argparse
import csv
import json
import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

NEAR = 2
COMPANION = "TFG401"
"""One finding a program, whatever else is in it: the shares are printed without it, too."""
_Place = tuple[str, int, str]


@dataclass
class Shares:
    """What became of the true places, by rule."""

    there: Counter[str] = field(default_factory=Counter)
    found: Counter[str] = field(default_factory=Counter)
    safe: Counter[str] = field(default_factory=Counter)
    unsafe: Counter[str] = field(default_factory=Counter)

    def add(self, place: _Place, findings: Iterable[dict[str, Any]], folder: Path) -> bool:
        """Count one place; returns whether it is found and has no fix."""
        code = place[2]
        near = [finding for finding in findings if _is_at(finding, place, folder)]
        fixes = [finding["fix"] for finding in near if finding.get("fix")]
        kinds = {fix["applicability"] for fix in fixes}
        self.there[code] += 1
        self.found[code] += bool(near)
        self.safe[code] += "safe" in kinds
        self.unsafe[code] += bool(kinds) and "safe" not in kinds
        return bool(near) and not kinds


def main() -> None:
    """Check each repository, compare, and print a table by rule."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("labels", type=Path)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--missing", action="store_true", help="list the places that are found and have no fix")
    arguments = parser.parse_args()
    shares = Shares()
    for repository, places in sorted(_true_places(arguments.labels).items()):
        folder = (arguments.folder / repository.replace("/", "+")).resolve()
        if not folder.is_dir():
            print(f"{repository} is not in {arguments.folder}: {len(places)} places are left out")
            continue
        findings = _findings(folder)
        for place in places:
            if shares.add(place, findings, folder) and arguments.missing:
                print(f"no fix: {repository}/{place[0]}:{place[1]} {place[2]}")
    _print(shares)


def _true_places(labels: Path) -> dict[str, list[_Place]]:
    by_repository: dict[str, list[_Place]] = defaultdict(list)
    with labels.open(encoding="utf-8", newline="") as lines:
        for label in csv.DictReader(lines):
            if label["verdict"] == "true":
                by_repository[label["repo"]].append((label["path"], int(label["line"]), label["code"]))
    return by_repository


def _findings(folder: Path) -> list[dict[str, Any]]:
    """What all rules find below a folder."""
    program = [sys.executable, "-m", "tflint_gpu"]
    rules = json.loads(_output([*program, "rule", "--all", "--output-format", "json"], folder))
    codes = ",".join(rule["code"] for rule in rules if not rule["code"].startswith("TFG9"))
    command = [*program, "check", "--isolated", "--no-cache", "--select", codes, "--output-format", "json", "."]
    findings: list[dict[str, Any]] = json.loads(_output(command, folder) or "[]")
    return findings


def _output(command: list[str], folder: Path) -> str:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode > 1:
        sys.exit(f"{folder}: exit status {done.returncode}: {done.stderr.strip()[-300:]}")
    return done.stdout


def _is_at(finding: dict[str, Any], place: _Place, folder: Path) -> bool:
    path, line, code = place
    if (finding["code"][:4] + "xx" if code.endswith("xx") else finding["code"]) != code:
        return False
    at, row = _place_of(finding, folder)
    if at == path and abs(row - line) <= NEAR:
        return True
    return (path, line) in _related_places(finding, folder)


def _related_places(finding: dict[str, Any], folder: Path) -> Iterator[tuple[str, int]]:
    for related in finding.get("related") or ():
        yield _place_of({"filename": finding["filename"], **related}, folder)


def _place_of(finding: dict[str, Any], folder: Path) -> tuple[str, int]:
    name = (folder / finding["filename"]).resolve().relative_to(folder).as_posix()
    return name + (f":cell {finding['cell']}" if finding.get("cell") else ""), finding["location"]["row"]


def _print(shares: Shares) -> None:
    print("| rule | true places | found | with a safe fix | with an unsafe fix |")
    print("|---|---|---|---|---|")
    counters = (shares.there, shares.found, shares.safe, shares.unsafe)
    for code in sorted(shares.there):
        print(f"| {code} | " + " | ".join(str(counter[code]) for counter in counters) + " |")
    for name, without in (("all", ""), (f"without {COMPANION}", COMPANION)):
        there, found, safe, unsafe = (counter.total() - counter[without] for counter in counters)
        print(f"| {name} | {there} | {found} | {safe} | {unsafe} |")
        if found:
            print(f"{name}: {safe + unsafe} of {found} found places carry a fix: {(safe + unsafe) / found:.0%}")


if __name__ == "__main__":
    main()
