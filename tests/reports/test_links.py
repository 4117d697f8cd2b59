"""Protects the way from a finding to its rule's page: in each program that shows one, and never from an old cache."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from findings import finding, schema
from jsonschema import validate

from tflint_gpu.reports import View
from tflint_gpu.reports.formats import renderer

PROGRAM = 'import tensorflow as tf\n\nwith tf.device("/GUP:0"):\n    pass\n'
URL = "https://example.org/rules/TFG502.html"


@pytest.mark.slow
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


@pytest.mark.parametrize("output_format", ["full", "concise"])
def test_a_code_on_a_terminal_is_a_link(output_format: str, tmp_path: Path) -> None:
    """To the page of the settings, else to the documentation that is installed, else to nothing."""
    findings = [finding(url=URL), finding(code="TFG502"), finding(code="ABC101")]
    text = renderer(output_format)(findings, View(tmp_path, links=True))
    links = re.findall(r"\x1b]8;;([^\x1b]+)\x1b\\(\w+)\x1b]8;;\x1b\\", text)
    assert [code for _, code in links] == ["TFG101", "TFG502"]
    assert links[0][0] == URL and re.fullmatch(r"file:///.*rules/README\.md#L\d+", links[1][0])
    assert "\x1b" not in renderer(output_format)(findings, View(tmp_path))
