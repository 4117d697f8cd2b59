"""What the linter says today of the places in public code that look like mistakes.

    python tests/benchmarks/lookalikes.py FOLDER

`tests/field_lookalikes.json` has the places, one a line: each was found by a search, opened in its source and judged.
`silent` says that nothing is to be reported there, and why; `missed` that something is, and by which mechanism it was
not; `mended` that it is since then. FOLDER has a folder for each repository, called `owner+name`; places in
repositories that are not there are left out. A finding of the same rule within three lines counts as the place's.

It prints a table by rule, and each place of which the linter says something else.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

PLACES = Path(__file__).parents[1] / "field_lookalikes.json"
NEAR = 3


def main() -> None:
    """Check each repository and compare."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    arguments = parser.parse_args()
    by_repository: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for place in json.loads(PLACES.read_text("utf-8")):
        by_repository[place["repository"]].append(place)
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for repository, places in sorted(by_repository.items()):
        folder = arguments.folder / repository.replace("/", "+")
        if not folder.is_dir():
            print(f"{repository} is not in {arguments.folder}: {len(places)} places are left out")
            continue
        reported = _reported(folder)
        for place in places:
            counts[place["code"]][place["verdict"]] += 1
            found = any(
                (place["file"], place.get("cell"), place["line"] + by, place["code"]) in reported
                for by in range(-NEAR, NEAR + 1)
            )
            counts[place["code"]]["reported"] += found
            if found is not place.get("mended", False):
                where = f"{place['file']}:{place['line']}"
                print(f"{'reported' if found else 'no longer reported'}: {repository} {where} {place['code']}")
    print("| rule | judged | rightly silent | missed | reported today |\n|---|---|---|---|---|")
    for code, count in [*sorted(counts.items()), ("all", sum(counts.values(), Counter()))]:
        silent, missed = count["silent"], count["missed"]
        print(f"| {code} | {silent + missed} | {silent} | {missed} | {count['reported']} |")


def _reported(folder: Path) -> set[tuple[str, int | None, int, str]]:
    """Where the findings of a repository are."""
    command = [sys.executable, "-m", "tflint_gpu", "check", "--isolated", "--no-cache", "--output-format", "json", "."]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    return {
        (
            Path(one["filename"]).relative_to(folder.resolve()).as_posix(),
            one["cell"],
            one["location"]["row"],
            one["code"],
        )
        for one in json.loads(done.stdout)
    }


if __name__ == "__main__":
    main()
