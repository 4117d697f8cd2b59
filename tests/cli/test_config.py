"""Protects `tflint-gpu config`: each setting explained, a misspelt one answered with the nearest."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tflint_gpu.settings.table import SETTINGS


def test_all_settings_are_listed(tflint: Any) -> None:
    lines = tflint("config").stdout.splitlines()
    assert [line.partition(": ")[0] for line in lines] == [*SETTINGS]
    every = json.loads(tflint("config", "--output-format", "json").stdout)
    assert [entry["key"] for entry in every] == [*SETTINGS]
    assert every[[*SETTINGS].index("smallest-gain")]["default"] == 1.1


def test_a_setting_is_explained(tflint: Any) -> None:
    text = tflint("config", "fail-on").stdout
    assert text.startswith("fail-on\n=======\nExit with 1 for findings of this severity or a worse one.")
    assert '\nType: one of error, warning, advice\nDefault: "warning"\n' in text
    assert text.endswith('    [tool.tflint-gpu]\n    fail-on = "error"\n')
    assert "\nDefault: all rules but the opt-in ones\n" in tflint("config", "select").stdout
    entry = json.loads(tflint("config", "gpu-memory", "--output-format", "json").stdout)
    assert (entry["default"], entry["example"]) == (None, 'gpu-memory = "24GiB"') and entry["unset"]


def test_an_example_is_taken_as_it_is_printed(tmp_path: Path, tflint: Any) -> None:
    example = tflint("config", "per-file-ignores").stdout.partition("Example:\n")[2]
    (tmp_path / "pyproject.toml").write_text("\n".join(line.strip() for line in example.splitlines()))
    shown = tflint("check", "--show-settings", ".").stdout
    assert 'per-file-ignores = { "tests/*" = ["TFG2"] }  # ' in shown


def test_mistakes(tflint: Any) -> None:
    wrong = tflint("config", "falion")
    assert (wrong.returncode, wrong.stdout) == (2, "")
    assert wrong.stderr == "error: unknown setting `falion`; did you mean `fail-on`?\n"
    assert "`tflint-gpu config` lists them" in tflint("config", "zebra").stderr
    assert tflint("config", "fail-on", "--schema").returncode == 2


def test_the_schema_is_printed(tflint: Any) -> None:
    assert set(json.loads(tflint("config", "--schema").stdout)["properties"]) == {*SETTINGS}
