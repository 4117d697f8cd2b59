"""Every rule's documentation is true of the rule: its example is found, its replacement is not."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from checks import ALL_RULES as _ALL
from checks import NEWEST, findings, fixed

from tflint_gpu.rule import Rule
from tflint_gpu.targets import Target
from tflint_gpu.text.bytesearch import Mentioned

ALL_RULES = [rule for rule in _ALL if rule.code not in ("TFG000", "TFG001")]  # which the engine reports
_COMPANIONS = {"TFG401", "TFG603"}  # advice that a whole example program gets beside the rule that it is about


def _codes(code: str, folder: Path, rule: Rule) -> set[str]:
    return {r.code for r, _ in findings(code, folder, target=_target(rule))} - (_COMPANIONS - {rule.code})


def _target(rule: Rule) -> Target:
    """What the examples are for: a card of a usual size, for rules that compare with one."""
    return replace(NEWEST, gpu_memory=24 << 30) if rule.needs_gpu_memory else NEWEST


@pytest.mark.parametrize("rule", ALL_RULES, ids=lambda rule: rule.code)
def test_example_is_found_by_exactly_this_rule(rule: Rule, tmp_path: Path) -> None:
    """Protects the documentation from showing code that the rule does not speak about."""
    assert _codes(rule.example("Example"), tmp_path, rule) == {rule.code}


@pytest.mark.parametrize("rule", ALL_RULES, ids=lambda rule: rule.code)
def test_replacement_is_clean(rule: Rule, tmp_path: Path) -> None:
    """Protects users from advice that earns them the next finding."""
    assert _codes(rule.example("Use instead"), tmp_path, rule) == set()


@pytest.mark.parametrize("rule", [r for r in ALL_RULES if r.fixable], ids=lambda rule: rule.code)
def test_fixing_the_example_gives_the_replacement(rule: Rule, tmp_path: Path) -> None:
    """Protects the promise that the fix does what the documentation says."""
    assert fixed(rule.example("Example"), tmp_path, rule.code) == rule.example("Use instead")


@pytest.mark.parametrize("rule", ALL_RULES, ids=lambda rule: rule.code)
def test_documentation_has_its_sections(rule: Rule) -> None:
    """Protects the form of the catalogue: a summary, why, and what it rests on."""
    text = rule.documentation()
    assert rule.summary().endswith(".")
    assert "\nWhy: " in text
    assert "\nMeasured" in text


@pytest.mark.parametrize("rule", ALL_RULES, ids=lambda rule: rule.code)
def test_markers_choose(rule: Rule) -> None:
    """Protects the prefilter from a marker that stands in nearly every file."""
    groups = [group for group in (*rule.required_substrings, rule.nearby_substrings) if group]
    assert groups
    ordinary = b"import tensorflow as tf\n\n\ndef area(width, height):\n    return width * height\n"
    assert not all(Mentioned(ordinary).any_of(group) for group in groups)


@pytest.mark.parametrize("rule", ALL_RULES, ids=lambda rule: rule.code)
def test_markers_hold_for_the_example(rule: Rule) -> None:
    """Protects the prefilter from leaving out a file in which the rule finds something."""
    example = Mentioned(rule.example("Example").encode())
    assert all(example.any_of(group) for group in (*rule.required_substrings, rule.nearby_substrings) if group)
