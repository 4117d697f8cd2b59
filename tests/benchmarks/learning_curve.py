"""Draws recall and precision of the first run on each batch of unseen repositories, from the table in FIELD.md.

usage: learning_curve.py
"""

from __future__ import annotations

import re
from pathlib import Path

HERE = Path(__file__).parent
_ROW = re.compile(r"\| (\d+) \| [\d-]+ \| .* \| (\d+) \| (\d+) \| (\d+) \| ([\d.]+) \| ([\d.]+) \|")


def first_runs(text: str) -> list[tuple[str, float, float]]:
    """Each batch with its recall and precision; those with fewer than ten true places say too little."""
    rows = filter(None, map(_ROW.fullmatch, text.splitlines()))
    return [(row[1], float(row[5]), float(row[6])) for row in rows if int(row[2]) >= 10]


def main() -> None:
    """Write the picture next to this file."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    runs = first_runs((HERE.parent / "FIELD.md").read_text("utf-8"))
    _, axes = pyplot.subplots(figsize=(6, 3.2))
    names = [f"batch {number}" for number, _, _ in runs]
    for column, label, goal in ((1, "recall", 0.85), (2, "precision", 0.97)):
        (line,) = axes.plot(names, [run[column] for run in runs], marker="o", label=label)
        axes.axhline(goal, color=line.get_color(), linestyle=":", label=f"goal {goal}")
    axes.set_ylim(0, 1.05)
    axes.set_ylabel("first run")
    axes.legend(loc="lower right", fontsize=8)
    pyplot.tight_layout()
    pyplot.savefig(HERE / "learning_curve.png", dpi=120)


if __name__ == "__main__":
    main()
