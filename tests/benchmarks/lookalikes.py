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
from collections import Counter, defaultdict
from pathlib import Path

from recall import checked, is_near

PLACES = Path(__file__).parents[1] / "field_lookalikes.json"


def main() -> None:
    """Check each repository and compare."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    arguments = parser.parse_args()
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for repository, places, reported, _ in checked(arguments.folder, json.loads(PLACES.read_text("utf-8"))):
        for place in places:
            counts[place["code"]][place["verdict"]] += 1
            found = is_near(reported, place, place["code"])
            counts[place["code"]]["reported"] += found
            if found is not place.get("mended", False):
                where = f"{place['file']}:{place['line']}"
                print(f"{'reported' if found else 'no longer reported'}: {repository} {where} {place['code']}")
    print("| rule | judged | rightly silent | missed | reported today |\n|---|---|---|---|---|")
    for code, count in [*sorted(counts.items()), ("all", sum(counts.values(), Counter()))]:
        silent, missed = count["silent"], count["missed"]
        print(f"| {code} | {silent + missed} | {silent} | {missed} | {count['reported']} |")


if __name__ == "__main__":
    main()
