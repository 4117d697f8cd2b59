"""What `verify` and `run` say of a GPU that was not used: doctor's codes, with no more looks than are needed."""

from __future__ import annotations

from typing import Any

import pytest

from tflint_gpu.doctor import absence
from tflint_gpu.doctor.absence import why_unused
from tflint_gpu.doctor.facts import Environment, Facts, Installation, Setting, TensorFlow
from tflint_gpu.gpu.cards import Gpu, Survey

CARD = Survey("ready", (Gpu(0, "NVIDIA H100", "GPU-aaa", "580.65.06", 80 << 30, 79 << 30),))
NONE = Survey("no library", note="NVML does not start")
INSTALLED = Facts(
    installation=Installation("/venv/bin/python", "3.11", {"tensorflow-cpu": "2.21.0"}), tensorflow=TensorFlow("2.21.0")
)


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """What the installation was asked, each time."""
    calls: list[dict[str, Any]] = []

    def examine(*_: Any, **given: Any) -> Facts:
        calls.append(given)
        return INSTALLED

    monkeypatch.setattr(absence, "examine", examine)
    monkeypatch.setattr(absence.environment, "look", lambda: Environment(kernel_driver="580.65.06"))
    return calls


def test_where_the_machine_has_no_card_nothing_is_imported(
    asked: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(absence.environment, "look", Environment)
    assert why_unused(NONE, "python").sentence.endswith("; NVML does not start")
    assert asked == []


def test_where_the_program_hides_the_card_its_line_is_named(asked: list[dict[str, Any]]) -> None:
    found = why_unused(CARD, "python", [Setting("CUDA_VISIBLE_DEVICES", "-1", "train.py", 3)])
    assert found.sentence.startswith("TFG922 hidden-by-program: train.py:3: CUDA_VISIBLE_DEVICES is set to -1. Next")
    assert asked == []


def test_a_machine_that_is_right_leads_to_the_installation(asked: list[dict[str, Any]]) -> None:
    found = why_unused(CARD, "python").sentence
    assert found.startswith("TFG907 tensorflow-without-cuda: ") and 'install "tensorflow[and-cuda]==2.21.*"' in found
    assert asked == [{"tries_operations": False}], "the card may be in use"
