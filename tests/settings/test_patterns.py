"""Protects file patterns: a wrong match silences a file or reports one that was excluded."""

from __future__ import annotations

from pathlib import Path

import pytest

from tflint_gpu.settings.patterns import FilePattern


@pytest.mark.parametrize(
    ("pattern", "path", "expected"),
    [
        ("a.py", "/p/x/a.py", True),
        ("a.py", "/p/x/ba.py", False),
        ("test_*.py", "/p/q/test_x.py", True),
        ("x/*.py", "/p/x/a.py", True),
        ("x/*.py", "/p/x/y/a.py", True),
        ("x/*.py", "/p/y/x/a.py", False),
        ("**/x/*.py", "/p/y/x/a.py", True),
        ("**/x/*.py", "/p/x/a.py", True),
        ("x/**/a.py", "/p/x/a.py", True),
        ("x/", "/p/x", True),
        ("/p/x", "/p/x", True),
        ("{a,b}.py", "/p/b.py", True),
        ("[!a].py", "/p/a.py", False),
        ("[ab]?.py", "/p/bz.py", True),
        ("a+(b.py", "/p/a+(b.py", True),
        ("[", "/p/[", True),
        ("[z-a].py", "/p/a.py", False),
    ],
)
def test_matches(pattern: str, path: str, expected: bool) -> None:
    assert FilePattern(pattern, Path("/p")).matches(Path(path)) is expected


def test_the_base_is_taken_literally() -> None:
    assert FilePattern("x/*.py", Path("/p[1]{a}")).matches(Path("/p[1]{a}/x/a.py"))
