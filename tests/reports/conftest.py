"""The findings of `tests/findings.py`, with the files they are in on the disk."""

from __future__ import annotations

from pathlib import Path, PureWindowsPath
from typing import Any

import pytest
from findings import ODD_NAME, ODD_TEXT, Hard, finding, odd_finding

from tflint_gpu.diagnostics import Location, Prediction, Related
from tflint_gpu.reports import View
from tflint_gpu.text.source import SourceFile


@pytest.fixture
def hard(tmp_path: Path) -> Hard:
    path = tmp_path / ODD_NAME
    path.parent.mkdir()
    path.write_text(ODD_TEXT, "utf-8")
    (tmp_path / "latin.py").write_bytes(b"import tensorflow\nx = '\xe9'\n")
    piped = SourceFile(Path("-"), "-", "import tensorflow\n\n    \u65e5\u672c = 1\n")
    beginning = Location(2, 6)
    unreadable = finding(
        code="TFG000", name="unreadable-file", message="cannot be decoded", filename="latin.py",
        location=beginning, end_location=beginning, severity="error",
    )  # fmt: skip
    diagnostics = [
        odd_finding(),
        unreadable,
        finding(filename="-", code="TFG401", severity="advice", prediction=Prediction("memory")),
        finding(filename=str(tmp_path.parent / "out side.py")),
        finding(filename="a\udcff.py"),
        finding(code="ABC999", name="of-somebody-else", filename="gone.py", url="https://example.org/ABC999"),
    ]
    return Hard(diagnostics, View(tmp_path, sources={"-": piped}))


@pytest.fixture
def windows() -> Hard:
    """The same odd finding where names have drives and backslashes."""
    home: Any = PureWindowsPath(r"C:\my project")
    odd = finding(filename=r"sub dir\é.py", related=(Related(r"D:\x\y.py", Location(1, 1), Location(1, 2), "there"),))
    sources = {
        name: SourceFile(Path("x.py"), name, "one\ntwo\n    three\n") for name in (r"sub dir\é.py", r"D:\x\y.py")
    }
    return Hard([odd], View(home, sources=sources))
