"""Fixes that take longer than the check: made where somebody asks for fixes, and else said to be possible."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from repeated import TRAINING_LOOP

from tflint_gpu.checking.engine import Engine
from tflint_gpu.model.model import Model
from tflint_gpu.settings.config import SettingsResolver
from tflint_gpu.settings.files import Discovery

MOVED = "Move the step into `train_step`, under `tf.function`"
WITHHELD = "import numpy as np" + TRAINING_LOOP.replace("net(x) - y", "net(x) - y + np.random.rand()")


@pytest.fixture(autouse=True)
def program(tmp_path: Path) -> Path:
    path = tmp_path / "train.py"
    path.write_text(TRAINING_LOOP)
    return path


def test_a_report_says_that_there_may_be_a_fix(tflint: Any) -> None:
    for output_format in ("full", "concise"):
        done = tflint("check", "--select", "TFG202", "--output-format", output_format, "train.py")
        assert "[ ] this training step runs eagerly" in done.stdout
        assert "[ ] 1 may have an unsafe fix: the options --diff --unsafe-fixes show it." in done.stdout
        assert "hidden fix" not in done.stdout


def test_what_the_report_names_shows_the_fix(tflint: Any) -> None:
    done = tflint("check", "--select", "TFG202", "--diff", "--unsafe-fixes", "train.py")
    assert "+@tf.function" in done.stdout


def test_who_asks_for_unsafe_fixes_is_told_which_there_are(tflint: Any, program: Path) -> None:
    done = tflint("check", "--select", "TFG202", "--unsafe-fixes", "train.py")
    assert "[*] this training step" in done.stdout
    assert "[*] 1 fixable with the --fix option." in done.stdout
    program.write_text(WITHHELD)
    done = tflint("check", "--select", "TFG202", "--unsafe-fixes", "train.py")
    assert "no fix: " in done.stdout
    assert "[ ]" not in done.stdout


def test_a_document_for_programs_holds_the_fix(tflint: Any) -> None:
    (found,) = json.loads(tflint("check", "--select", "TFG202", "--output-format", "json", "train.py").stdout)
    assert found["fix"]["message"] == MOVED
    assert found["fix"]["edits"]


def test_what_is_kept_without_fixes_is_not_taken_for_a_check_with_them(tflint: Any) -> None:
    """Protects the cache: a check that made no fixes says nothing of them."""
    assert "[ ] 1 may have" in tflint("check", "--select", "TFG202", "train.py").stdout
    assert "[*] 1 fixable" in tflint("check", "--select", "TFG202", "--unsafe-fixes", "train.py").stdout
    assert "[ ] 1 may have" in tflint("check", "--select", "TFG202", "train.py").stdout


def test_a_setting_that_makes_the_fix_safe_has_it_made(tflint: Any, tmp_path: Path) -> None:
    (tmp_path / "tflint-gpu.toml").write_text('extend-safe-fixes = ["TFG202"]\n')
    assert "[*] 1 fixable" in tflint("check", "--select", "TFG202", "train.py").stdout
    tflint("check", "--select", "TFG202", "--fix", "train.py")
    assert "@tf.function" in (tmp_path / "train.py").read_text()


def test_a_rule_that_may_not_fix_promises_none(tflint: Any) -> None:
    assert "[ ]" not in tflint("check", "--select", "TFG202", "--unfixable", "TFG202", "train.py").stdout


def test_no_check_analyses_code_that_is_not_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Protects the time of a check: each finding would have a file analysed once more."""
    supposed: list[str] = []
    suppose = Model.supposing

    def counted(model: Model, text: str) -> Model | None:
        supposed.append(text)
        return suppose(model, text)

    monkeypatch.setattr(Model, "supposing", counted)
    resolver = SettingsResolver(working_directory=tmp_path)
    (file,) = Discovery(resolver, tmp_path).find([str(tmp_path / "train.py")])
    Engine(resolver, tmp_path, tries_fixes=False).check(file)
    assert supposed == []
    Engine(resolver, tmp_path).check(file)
    assert len(supposed) == 1
