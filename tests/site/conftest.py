"""The documentation site, built once for all tests that read it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from checkout import ROOT


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site as `mkdocs build --strict` writes it: a link that leads nowhere inside of it is an error there."""
    pytest.importorskip("mkdocs", reason="MkDocs is not installed (the extra `docs`)")
    pytest.importorskip("material", reason="Material for MkDocs is not installed (the extra `docs`)")
    folder = tmp_path_factory.mktemp("work") / "a b" / "site"
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)],
        cwd=ROOT, capture_output=True, text=True, timeout=600, env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return folder
