"""Marks the linter on labelled places of public repositories: what it finds of the true ones, which look-alikes it flags.

usage: field.py TFLINT LABELS FOLDER

LABELS is a table of `tests/field`: places that somebody noted who knew the rules' documentation and not their code, before
the linter ran on these repositories for the first time. FOLDER holds the repositories at the labelled commits, each as
OWNER+NAME. A true place counts as found by a finding of its rule, or a related place of one, within two lines; a notebook's
path ends in `:cell N`, and its line counts in the cell. "debatable" rows count neither way. Printed last are findings without
a row of the labelled rules: they are read by hand.
"""

from __future__ import annotations

import csv
import json
import subprocess
import sys
from collections import Counter
from pathlib import Path

_UNLABELLED = ("TFG000", "TFG001", "TFG401", "TFG7", "TFG9")
_REACH = 2

Place = tuple[str, int, str]


def findings(tflint: str, root: Path, codes: list[str]) -> tuple[set[Place], set[Place]]:
    """The places (path, row, code) that the linter reports in a repository, and those that are related to one."""
    command = [
        str(Path(tflint).absolute()),
        "check",
        "--no-cache",
        "--select",
        ",".join(codes),
        "--output-format",
        "json",
        ".",
    ]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True)
    if done.returncode > 1:
        sys.exit(f"{root.name}: {done.stderr.strip()}")
    reported, related = set[Place](), set[Place]()
    for finding in json.loads(done.stdout):
        reported.add((*_place(root, finding, finding["filename"]), finding["code"]))
        for note in finding.get("related") or ():
            related.add((*_place(root, note, note.get("filename") or finding["filename"]), finding["code"]))
    return reported, related


def _place(root: Path, finding: dict[str, object], filename: str) -> tuple[str, int]:
    path = str((root / filename).resolve().relative_to(root.resolve()))
    location = finding["location"]
    assert isinstance(location, dict)
    return path + (f":cell {finding['cell']}" if finding.get("cell") else ""), location["row"]


def main(tflint: str, labels: Path, folder: Path) -> None:
    """Print the marks, and each place where the linter and the label differ."""
    rows = [row for row in csv.DictReader(labels.open()) if not row["code"].startswith(_UNLABELLED)]
    listing = subprocess.run([tflint, "rule", "--all", "--output-format", "json"], capture_output=True, text=True)
    labelled_codes = {row["code"] for row in rows}
    codes = [
        rule["code"]
        for rule in json.loads(listing.stdout)
        if (not rule["opt_in"] or rule["code"] in labelled_codes) and not rule["code"].startswith(_UNLABELLED)
    ]
    counts, without_label = Counter[str](), list[str]()
    for repository in sorted({row["repo"] for row in rows}):
        reported, related = findings(tflint, folder / repository.replace("/", "+"), codes)
        labelled = set[Place]()
        for row in (row for row in rows if row["repo"] == repository):
            path, line, code, is_true = row["path"], int(row["line"]), row["code"], row["verdict"] == "true"
            reach = 0 if row["verdict"] == "false" else _REACH
            near = {p for p in reported if p[::2] == (path, code) and abs(p[1] - line) <= reach}
            labelled |= near
            is_reported = bool(near) or (
                is_true and any(p[::2] == (path, code) and abs(p[1] - line) <= reach for p in related)
            )
            if row["verdict"] in ("true", "false"):
                counts[row["verdict"]] += 1
                counts[f"{row['verdict']} reported"] += is_reported
                if is_reported != is_true:
                    print("missed" if is_true else "wrong ", repository, path, line, code, row["why"])
        without_label += [f"{repository} {path} {row} {code}" for path, row, code in sorted(reported - labelled)]
    for place in without_label:
        print("no label", place)
    print(
        f"found {counts['true reported']} of {counts['true']} true places, flagged {counts['false reported']} of "
        f"{counts['false']} look-alikes; {len(without_label)} findings without a label"
    )


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3]))
