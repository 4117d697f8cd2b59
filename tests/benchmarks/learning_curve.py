"""Draws recall and precision of the first run on each batch of unseen repositories, from the table in FIELD.md.

usage: learning_curve.py
"""

from __future__ import annotations

import re
from pathlib import Path

HERE = Path(__file__).parent
_ROW = re.compile(r"\| (\d+) \| [\d-]+ \| .* \| (\d+) \| (\d+) \| (\d+) \| ([\d.]+) \| ([\d.]+) \|")


_FEW = 10


def first_runs(text: str) -> list[tuple[str, float, float, int]]:
    """Each batch with its recall, its precision and the number of its true places."""
    rows = filter(None, map(_ROW.fullmatch, text.splitlines()))
    return [(row[1], float(row[5]), float(row[6]), int(row[2])) for row in rows]


def main() -> None:
    """Write the picture next to this file."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    runs = first_runs((HERE.parent / "FIELD.md").read_text("utf-8"))
    _, axes = pyplot.subplots(figsize=(8, 3.2))
    names = [run[0] for run in runs]
    few = [run for run in runs if run[3] < _FEW]
    for column, label, goal in ((1, "recall", 0.88), (2, "precision", 0.97)):
        (line,) = axes.plot(names, [run[column] for run in runs], marker="o", label=label)
        axes.plot(
            [run[0] for run in few], [run[column] for run in few], "o", color=line.get_color(), markerfacecolor="w"
        )
        axes.axhline(goal, color=line.get_color(), linestyle=":", label=f"goal {goal}")
    axes.plot([], [], "o", color="gray", markerfacecolor="w", label=f"fewer than {_FEW} true places")
    axes.set_ylim(-0.05, 1.05)
    axes.set_xlabel("batch")
    axes.set_ylabel("first run")
    axes.legend(loc="center left", bbox_to_anchor=(1.01, 0.5), fontsize=8)
    pyplot.tight_layout()
    pyplot.savefig(HERE / "learning_curve.png", dpi=120)


if __name__ == "__main__":
    main()
