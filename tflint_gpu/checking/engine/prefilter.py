"""Which rules a file is worth: read from its bytes, then from its summary, before libcst parses anything."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from tflint_gpu.text.bytesearch import Mentioned, runs_something
from tflint_gpu.text.source import SourceFile, is_test

if TYPE_CHECKING:
    from tflint_gpu.model import Model, Project
    from tflint_gpu.model.python.prefilter.prefilters import Prefilter, PrefilterScope
    from tflint_gpu.requirements import Requirements
    from tflint_gpu.rule import Rule

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
    from tflint_gpu.model.tensorflow.runtime.graph_programs import may_run_in_graphs, must_run_in_graphs

    mentions, holds_tests = Mentioned(data), is_test(source.path, data)
    steps = NEARBY if runs_something(data) else 1
    passing = [
        rule
        for rule in rules
        if not (holds_tests and rule.skips_tests) and _may_fire(rule, mentions, source.path, project, steps)
    ]
    is_in_doubt = not source.refusals and may_run_in_graphs(source.code)
    # A summary pays where it may spare the parse: not where a rule without a prefilter needs it anyway.
    if not passing or not (is_in_doubt or all(rule.prefilters for rule in passing)):
        return passing
    scope = project.prefilter_scope(source)
    if scope is None:
        return passing
    try:
        if is_in_doubt and must_run_in_graphs(scope.own):
            passing = [rule for rule in passing if not rule.skips_graphs]
        return _passing(passing, scope)
    finally:
        scope.close()


def rules_that_apply(rules: Iterable[Rule], model: Model) -> list[Rule]:
    """The rules whose words hold for a program, as far as that is the same question for many of them."""
    from tflint_gpu.model import Runtime

    if model.once(Runtime).uses_another_backend:
        return [rule for rule in rules if not rule.skips_other_backends]
    return list(rules)


def _passing(rules: list[_Required], scope: PrefilterScope) -> list[_Required]:
    """The rules whose prefilters all hold for the file."""
    answers: dict[Prefilter, bool] = {}
    passing = []
    for rule in rules:
        for prefilter in rule.prefilters:
            if prefilter not in answers:
                answers[prefilter] = prefilter(scope)
            if not answers[prefilter]:
                break
        else:
            passing.append(rule)
    return passing


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
    wanted = rule.nearby_substrings
    if not wanted or mentions.any_of(wanted):
        return True
    return project.mentions_nearby(path, mentions.data, wanted, steps)
