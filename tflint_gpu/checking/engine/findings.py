"""What a rule finds in code that some program runs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tflint_gpu.model import Model
    from tflint_gpu.rule import Finding, Rule


def findings_of(rule: Rule, model: Model) -> Iterator[Finding]:
    """The findings of a rule but those in code that never runs with the target's TensorFlow, or under `if False:`."""
    from tflint_gpu.model import Guards  # late, as libcst: only a file that is read for its findings needs it

    for finding in rule.check(model):
        if not model.once(Guards).is_unreachable(finding.file, finding.node):
            yield finding
