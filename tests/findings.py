"""Findings that are hard to write down, and the files they are in: what each format has to survive."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tflint_gpu.diagnostics import Diagnostic, Edit, Fix, Location, Prediction, Related
from tflint_gpu.reports import View

SCHEMAS = Path(__file__).parent / "reports" / "schemas"
ODD_NAME = "dir with space/50%, é:#?.py"
ODD_TEXT = "import tf\n\nx = '\U0001f600é' + f(\n    BAD,\n) + '\U00010400' + WORSE\nlast\n"
ODD_FIXED = "import new\nimport tf\n\nx = '\U0001f600é' + f(\n    GOOD,\n) + '\U00010400' + BETTER\nlast\n"


def place(text: str, offset: int) -> Location:
    """Row and column of an offset, counted the plain way."""
    before = text[:offset]
    return Location(before.count("\n") + 1, offset - (before.rfind("\n") + 1) + 1)


def edit(text: str, old: str, new: str) -> Edit:
    start = text.index(old)
    end = start + len(old)
    return Edit(start, end, place(text, start), place(text, end), new)


def finding(**attributes: Any) -> Diagnostic:
    """A plain finding, except for what is given."""
    start = Location(3, 5)
    plain: dict[str, Any] = {
        "code": "TFG101", "name": "numpy-in-call", "message": "it is slow", "filename": "a.py", "location": start,
        "end_location": Location(3, 9), "noqa_row": 3, "severity": "warning",
    }  # fmt: skip
    return Diagnostic(**plain | attributes)


@dataclass(frozen=True)
class Hard:
    """All hard findings in one list, and where they are seen from."""

    diagnostics: list[Diagnostic]
    view: View

    @property
    def odd(self) -> Diagnostic:
        """The one with everything: several rows, astral characters, two related places, a fix with three edits."""
        return self.diagnostics[0]


def odd_finding() -> Diagnostic:
    start, end = ODD_TEXT.index("'\U0001f600"), ODD_TEXT.index("WORSE")
    edits = (edit(ODD_TEXT, "", "import new\n"), edit(ODD_TEXT, "BAD", "GOOD"), edit(ODD_TEXT, "WORSE", "BETTER"))
    return finding(
        message="50% <b>slower</b>; [see] `a|b` ]]> and, more:\nréally \U0001f600 {0} \x1b[31m @tf.function a_b_c",
        filename=ODD_NAME,
        location=place(ODD_TEXT, start),
        end_location=place(ODD_TEXT, end),
        severity="error",
        help="do `x = y || z`, too",
        prediction=Prediction("slowdown", ("gpu", "tensorflow<2.11"), 1.5, 2.0, "measured on a T4 | twice"),
        related=(
            Related(ODD_NAME, Location(6, 1), Location(6, 5), "traced\nfrom here"),
            Related("/elsewhere/b c.py", Location(1, 1), Location(2, 1), "and [there](1)"),
        ),
        fix=Fix("Replace `BAD`", "safe", edits),
    )


def schema(name: str) -> Any:
    """A published JSON schema."""
    return json.loads((SCHEMAS / name).read_text("utf-8"))
