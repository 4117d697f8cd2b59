"""Which rules a file is worth: read from its bytes, before libcst or a rule is imported.

A start is mostly imports: a check of a file in which no rule can find anything takes 0.25 s of CPU, one where all
rules look 1.1 s; in a project of 44,000 lines the words save 7%. A second look by Python's own parser, at functions and
calls, saved less than 1% and is not there.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from tflint_gpu.text.bytesearch import Mentioned, runs_something
from tflint_gpu.text.source import SourceFile, is_test

if TYPE_CHECKING:
    from tflint_gpu.model import Model, Project
    from tflint_gpu.requirements import Requirements
    from tflint_gpu.rule import Rule

_LOOPS = (b"for ", b"while ", b"map(", b"filter(", b"key=", b"def ", b"lambda")
_Required = TypeVar("_Required", bound="Requirements | Rule")


def rules_that_may_fire(
    rules: Iterable[_Required], source: SourceFile, data: bytes, project: Project
) -> list[_Required]:
    """The rules for which a file is worth a parse.

    Arguments:
        rules: themselves, or what is known of them.
        data: the file's code, in which the rules' byte strings are looked for.
    """
    from tflint_gpu.model.python.project.project import NEARBY

    mentions, holds_tests = Mentioned(data), is_test(source.path, data)
    steps = NEARBY if runs_something(data) else 1
    return [
        rule
        for rule in rules
        if not (holds_tests and rule.skips_tests) and _may_fire(rule, mentions, source.path, project, steps)
    ]


def rules_that_apply(rules: Iterable[Rule], model: Model) -> list[Rule]:
    """The rules whose words hold for a program, as far as that is the same question for many of them."""
    from tflint_gpu.model import Runtime

    runtime = model.once(Runtime)
    if runtime.uses_another_backend:
        rules = [rule for rule in rules if not rule.skips_other_backends]
    if runtime.is_graph_program(model.file):
        rules = [rule for rule in rules if not rule.skips_graphs]
    return list(rules)


def _may_fire(rule: Requirements | Rule, mentions: Mentioned, path: Path, project: Project, steps: int) -> bool:
    """Whether the target and the file are the rule's, and each group of its byte strings has a member there or near.

    Arguments:
        steps: how many imports away is near.
    """
    if project.target.tensorflow < rule.least_tensorflow:
        return False
    if rule.needs_gpu_memory and project.target.gpu_memory is None:
        return False
    for group in rule.required_substrings:
        if not mentions.any_of(group):
            return False
    nearby = (rule.nearby_substrings, _LOOPS if rule.loops_nearby else ())
    return all(
        not group or mentions.any_of(group) or project.mentions_nearby(path, mentions.data, group, steps)
        for group in nearby
    )
