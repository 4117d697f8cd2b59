"""What a rule finds in code that some program runs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tflint_gpu.model import Model
    from tflint_gpu.rule import Finding, Rule


def findings_of(rule: Rule, model: Model) -> Iterator[Finding]:
    """The findings of a rule, each once, but those in code that never runs with the target's TensorFlow."""
    from tflint_gpu.model import Guards  # late, as libcst: only a file that is read for its findings needs it

    said = set()
    for finding in rule.check(model):
        statement = finding.node, finding.message
        if statement not in said and not model.once(Guards).is_unreachable(finding.file, finding.node):
            said.add(statement)
            yield finding
