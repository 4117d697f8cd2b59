"""flake8, in each version that is promised."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from checkout import needs_installation
from linting import UTF_8, Flake8, run_flake8
from warm import WITH_ALL_RULES, Warm


@pytest.fixture(scope="session")
def flake8_6(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Where flake8 6 lies, installed beside the one of this environment."""
    place = str(tmp_path_factory.mktemp("flake8_6"))
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--target", place, "flake8==6.*"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600)
    if done.returncode != 0:
        pytest.skip(f"flake8 6 cannot be installed: {done.stderr[-200:]}")
    return place


@pytest.fixture(scope="session")
def warm_flake8() -> Iterator[Warm]:
    """What `python -m flake8` imports with the plugin, in one process for all tests."""
    needs_installation()
    running = Warm(
        "from flake8.main import application, cli\n"
        "from flake8.plugins import pycodestyle, pyflakes, reporter\n"
        "from tflint_gpu.integrations import flake8, flake8_run\n"
        f"{WITH_ALL_RULES}",
        UTF_8,
    )
    yield running
    running.close()


@pytest.fixture
def flake8(tmp_path: Path, warm_flake8: Warm) -> Flake8:
    """Run flake8 in the test's own directory, or in another one."""
    return lambda *arguments, cwd=tmp_path, **options: run_flake8(warm_flake8, *arguments, cwd=cwd, **options)


@pytest.fixture(params=["installed", "6"])
def each_flake8(request: pytest.FixtureRequest, flake8: Flake8) -> Flake8:
    """`flake8` for each version that is promised."""
    if request.param == "installed":
        return flake8
    place = request.getfixturevalue("flake8_6")
    assert flake8("--version", PYTHONPATH=place).stdout.startswith("6.")
    return lambda *arguments, **options: flake8(*arguments, PYTHONPATH=place, **options)
