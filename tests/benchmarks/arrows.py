"""How many imports lead from module to module, inside of rooms and between them, and how many modules each room has.

    python tests/benchmarks/arrows.py [CHECKOUT] [--pairs]

A room is a folder, or a module right in `tflint_gpu`. CHECKOUT is the root of a checkout, this one if none is named; it
is read and not imported.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from import_graph import arrows_between_rooms, module_files, modules_per_room, two_way_rooms

__all__: list[str] = []


def main() -> int:
    """Count and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("checkout", nargs="?", type=Path, default=Path(__file__).resolve().parents[2])
    parser.add_argument("--pairs", action="store_true", help="print also the arrows from each room to each other one")
    given = parser.parse_args()
    arrows = arrows_between_rooms(given.checkout)
    inside = sum(count for (importer, imported), count in arrows.items() if importer == imported)
    two_way = two_way_rooms(given.checkout)
    print(f"{len(module_files(given.checkout))} modules, packages included")
    print(f"{arrows.total()} arrows: {inside} inside of rooms, {arrows.total() - inside} between rooms")
    print(f"{len(two_way)} pairs of rooms import each other")
    for one, other in two_way:
        print(f"  {one} -> {other} {arrows[one, other]}, back {arrows[other, one]}")
    print("modules of each room:")
    for room, count in sorted(modules_per_room(given.checkout).items()):
        print(f"  {count:3} {room}")
    if given.pairs:
        print("arrows between rooms:")
        for (importer, imported), count in sorted(arrows.items()):
            if importer != imported:
                print(f"  {count:3} {importer} -> {imported}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
