"""How many of the true places that readers found in public code the rules find.

    python tests/benchmarks/recall.py FOLDER [--missed]

`tests/recall/*.toml` has the places: each was written down by somebody who read the code before the linter ran.
FOLDER has a folder for each repository, called `owner+name`; places in repositories that are not there are left out.
A finding of the same rule, or of the one in `found_as`, within three lines counts as the place. What has one finding
with another place, `told_with` its line, must stand in that finding's related places. Places with `unsettled` say why
it is not known whether anything costs time there; they are counted apart.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

PLACES = Path(__file__).parents[1] / "recall"
NEAR = 3
_Place = tuple[str, int | None, int, str | None]


def main() -> None:
    """Check each repository, compare, and print a table by rule."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--missed", action="store_true", help="list the places that are not found")
    arguments = parser.parse_args()
    places = [
        place for path in sorted(PLACES.glob("*.toml")) for place in tomllib.loads(path.read_text("utf-8"))["place"]
    ]
    counts: dict[bool, dict[str, Counter[bool]]] = {doubt: defaultdict(Counter) for doubt in (False, True)}
    unsettled: Counter[str] = Counter()
    for repository, its, reported, told in checked(arguments.folder, places):
        for place in its:
            there = told if "told_with" in place else reported
            found = any(is_near(there, place, code) for code in (place["code"], place.get("found_as")))
            if "unsettled" in place:
                unsettled[place["code"]] += 1
                continue
            counts[place.get("in_doubt", False)][place["code"]][found] += 1
            if arguments.missed and not found and not place.get("in_doubt", False):
                print(f"{repository} {place['file']}:{place['line']} {place['code']} {place['why']}")
    _print(counts)
    print(f"counted apart: {', '.join(f'{n} of {code}' for code, n in unsettled.items()) or 'none'}")


def checked(
    folder: Path, places: Iterable[dict[str, Any]]
) -> Iterator[tuple[str, list[dict[str, Any]], set[_Place], set[_Place]]]:
    """Each repository below a folder with its places, where its findings are, and where their related places are."""
    by_repository: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for place in places:
        by_repository[place["repository"]].append(place)
    for repository, its in sorted(by_repository.items()):
        checkout = folder / repository.replace("/", "+")
        if checkout.is_dir():
            yield repository, its, *_reported(checkout)
        else:
            print(f"{repository} is not in {folder}: {len(its)} places are left out")


def is_near(found: set[_Place], place: dict[str, Any], code: str | None) -> bool:
    """Whether something of a code was found at a place, or a few lines from it."""
    rows = range(place["line"] - NEAR, place["line"] + NEAR + 1)
    return any((place["file"], place.get("cell"), row, code) in found for row in rows)


def _reported(folder: Path) -> tuple[set[_Place], set[_Place]]:
    """Where the findings of a repository are, and where their related places are."""
    command = [sys.executable, "-m", "tflint_gpu", "check", "--isolated", "--no-cache", "--output-format", "json", "."]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    findings = json.loads(done.stdout)
    return (
        {_place(folder, one, one["code"]) for one in findings},
        {_place(folder, related, one["code"]) for one in findings for related in one["related"]},
    )


def _place(folder: Path, one: dict[str, Any], code: str) -> _Place:
    name = Path(one["filename"]).relative_to(folder.resolve()).as_posix()
    return name, one["cell"], one["location"]["row"], code


def _print(counts: dict[bool, dict[str, Counter[bool]]]) -> None:
    print("| rule | true places | found | in doubt | found |\n|---|---|---|---|---|")
    for code in sorted({*counts[False], *counts[True]}):
        certain, doubt = counts[False][code], counts[True][code]
        print(f"| {code} | {certain.total()} | {certain[True]} | {doubt.total()} | {doubt[True]} |")
    certain = sum(counts[False].values(), Counter())
    doubt = sum(counts[True].values(), Counter())
    print(f"| all | {certain.total()} | {certain[True]} | {doubt.total()} | {doubt[True]} |")


if __name__ == "__main__":
    main()
