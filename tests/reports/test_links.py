"""Protects the way from a finding to its rule's page: in each program that shows one, and never from an old cache."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from findings import schema
from jsonschema import validate

PROGRAM = 'import tensorflow as tf\n\nwith tf.device("/GUP:0"):\n    pass\n'
URL = "https://example.org/rules/TFG502.html"


def test_where_a_team_keeps_its_pages(tmp_path: Path, tflint: Any) -> None:
    (tmp_path / "a.py").write_text(PROGRAM)
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "tflint-gpu.toml").write_text("")
    (tmp_path / "b" / "c.py").write_text(PROGRAM)
    settings = tmp_path / "tflint-gpu.toml"

    def check(output_format: str) -> Any:
        return json.loads(tflint("check", "--output-format", output_format).stdout)

    settings.write_text("")
    assert [one["url"] for one in check("json")] == [None, None]
    [rule] = check("sarif")["runs"][0]["tool"]["driver"]["rules"]
    assert "helpUri" not in rule
    settings.write_text('documentation-url = "https://example.org/rules/"\n')
    assert [one["url"] for one in check("json")] == [URL, None], "each file's own settings, and no old result"
    log = check("sarif")
    validate(log, schema("sarif-2.1.0.json"))
    [rule] = log["runs"][0]["tool"]["driver"]["rules"]
    assert rule["helpUri"] == URL
    assert [one["code"].get("url") for one in check("rdjson")["diagnostics"]] == [URL, None]
    settings.write_text('documentation-url = ""\n')
    assert [one["url"] for one in check("json")] == [None, None]
