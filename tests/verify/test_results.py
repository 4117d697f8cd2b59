"""Protects verify from what a program may leave as its result: anything but a whole result is none, with a reason."""

from __future__ import annotations

import math
import os
from pathlib import Path

import pytest

from tflint_gpu.verify.execution.results import Result, read_result


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "is not JSON"),
        ("[1, 2]", "is not a JSON object"),
        ("[" * 100_000, "is not JSON"),
        ("{}", "`steps`"),
        ('{"steps": 1}', "`steps`"),
        ('{"steps": [true]}', "`steps`"),
        ('{"steps": [-1]}', "`steps`"),
        ('{"steps": [NaN]}', "`steps`"),
        ('{"steps": [], "blocks": ["1"]}', "`blocks`"),
        ('{"steps": ["1"]}', "`steps`"),
        ('{"steps": [], "outputs": "text"}', "`outputs`"),
        ('{"steps": [], "dtype": 32}', "`dtype`"),
        ('{"steps": [], "devices": "CPU:0"}', "`devices`"),
        ('{"steps": [], "devices": [0]}', "`devices`"),
        ('{"steps": [], "notes": []}', "`notes`"),
    ],
)
def test_a_broken_result(tmp_path: Path, text: str, reason: str) -> None:
    path = tmp_path / "result.json"
    path.write_text(text)
    result, said = read_result(path)
    assert result is None
    assert reason in said


def test_bytes_that_are_no_text(tmp_path: Path) -> None:
    path = tmp_path / "result.json"
    path.write_bytes(b"\xff\xfe\x80")
    assert read_result(path)[0] is None


def test_a_result_that_is_no_file(tmp_path: Path) -> None:
    """A pipe would make reading wait for ever; a link could name any file of the user."""
    pipe, link, whole = tmp_path / "pipe", tmp_path / "link", tmp_path / "whole"
    os.mkfifo(pipe)
    whole.write_text('{"steps": []}')
    link.symlink_to(whole)
    assert read_result(pipe) == (None, "its result is not a file")
    assert read_result(link)[0] is None
    assert read_result(tmp_path)[0] is None
    assert read_result(tmp_path / "missing") == (None, "it wrote no result")


def test_a_result_that_is_too_large(tmp_path: Path) -> None:
    path = tmp_path / "result.json"
    with path.open("wb") as file:
        file.truncate(65 << 20)
    assert read_result(path) == (None, "its result is larger than 64 MiB")


def test_a_whole_result(tmp_path: Path) -> None:
    """Not-a-number is a legitimate output: it is what some wrong programs compute."""
    path = tmp_path / "result.json"
    path.write_text(
        '{"steps": [1, 0.5], "outputs": [NaN], "dtype": "float32", "devices": ["GPU:0"], "notes": {"a": 1}}'
    )
    result, said = read_result(path)
    assert said == ""
    assert result is not None
    assert math.isnan(result.outputs[0])
    path.write_text('{"steps": [1, 0.5]}')
    assert read_result(path) == (Result((1.0, 0.5)), "")
