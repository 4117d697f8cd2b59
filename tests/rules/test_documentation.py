"""Every rule's documentation is true of the rule: its example is found, its replacement is not."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from checks import ALL_RULES as _ALL
from checks import NEWEST, findings, fixed

from tflint_gpu.rule import UNUSED_SUPPRESSION, Rule
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


@pytest.mark.parametrize("rule", _ALL, ids=lambda rule: rule.code)
def test_documentation_has_its_sections(rule: Rule) -> None:
    """Protects the form of the catalogue: a summary, why, what is reported and what is not, and what it rests on."""
    text = rule.documentation()
    assert rule.summary().endswith(".")
    assert "\n\nWhy: " in text
    if "\n\nReported:" in text:
        assert "\n\nReported:\n- " in text
        assert "\n\nNot reported:\n- " in text
    assert "\n\nMeasured" in text
    assert ("\n\nOpt-in: " in text) == rule.opt_in


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


@pytest.mark.parametrize("rule", _ALL, ids=lambda rule: rule.code)
def test_a_rule_has_a_fix_or_says_why_there_is_none(rule: Rule) -> None:
    """Protects users from looking for a fix in vain, and the catalogue from promising one that no finding has."""
    note = rule.fix_note()
    fixable = "safe" if rule.code == UNUSED_SUPPRESSION else rule.fixable
    assert note.startswith(fixable or "none, because "), note
    assert note.endswith(".")


@pytest.mark.parametrize("rule", ALL_RULES, ids=lambda rule: rule.code)
def test_the_example_has_the_fix_that_the_catalogue_promises(rule: Rule, tmp_path: Path) -> None:
    """Protects the column of fixes: a safe fix of the example is called safe, and none is promised without one."""
    found = [
        finding for own, finding in findings(rule.example("Example"), tmp_path, target=_target(rule)) if own is rule
    ]
    kinds = {finding.fix.applicability for finding in found if finding.fix is not None}
    assert bool(kinds) == bool(rule.fixable)


def test_what_a_rules_attributes_leave_out_is_in_its_list() -> None:
    """Protects the list from saying less than the rule leaves out."""

    class Sized(Rule):
        """A number is large.

        Why: it is.

        Not reported:
        - small ones

        Measured: never.
        """

        code = "ACM102"
        least_tensorflow = (2, 11)
        skips_tests = skips_graphs = skips_other_backends = needs_gpu_memory = opt_in = True

    assert (
        Sized.documentation()
        == """\
A number is large.

Opt-in: runs only where `select` or `extend-select` has `ACM102`, its name or `ALL`.

Why: it is.

Not reported:
- small ones
- test files
- programs for TensorFlow 1: they use its names without `tf.function` or `tf.GradientTape`, or turn eager execution off
- projects whose target version is before TensorFlow 2.11
- programs that choose a Keras backend other than TensorFlow
- projects without the setting `gpu-memory`, which says how much memory the GPU has

Measured: never."""
    )
