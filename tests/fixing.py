"""`check --fix` on files of a test, with one rule of the test's own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tflint_gpu.checking.engine import Engine
from tflint_gpu.cli.check.fixing import Fixing
from tflint_gpu.settings.config import SettingsResolver
from tflint_gpu.settings.files import Discovery


def fix(tmp_path: Path, rule: Any, *paths: str, **options: Any) -> Fixing:
    resolver = SettingsResolver(working_directory=tmp_path)
    files = Discovery(resolver, tmp_path).find(paths or ["."])
    fixing = Fixing(
        lambda: Engine(resolver, tmp_path, [rule]),
        lambda diagnostics, _: list(diagnostics),
        files,
        1,
        options.get("unsafe", False),
        options.get("dry", False),
    )
    fixing.run()
    return fixing
