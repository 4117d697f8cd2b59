"""TFG001 unused-suppression."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from tflint_gpu.rule import UNUSED_SUPPRESSION, Rule

if TYPE_CHECKING:
    from tflint_gpu.model import Model
    from tflint_gpu.rule import Finding


class UnusedSuppression(Rule):
    """A comment such as `# noqa: TFG101` suppresses nothing.

    Why: such a comment was right once. Now it points readers to a mistake that is not there, and hides the next one on
    its line. The rule and its fix work as ruff's RUF100: codes of other tools stay in the comment, a bare `# noqa` may
    be meant for another tool and is never reported, a comment that lists TFG001 is left alone, and comments for a whole
    file (`# tflint-gpu: noqa: TFG101`) count too. A code that belongs to no rule, or is in a comment twice, is
    reported.

    Comments for a rule that does not run on the file are not reported: select this rule together with the others
    (`--extend-select TFG001`), not alone. Some findings in a file appear only when a file that imports it is checked,
    so these files are checked too; while one of them does not parse, nothing is reported. The language server reports
    it when a file is opened or saved. In flake8, which has its own suppression, this rule reports nothing.

    Measured: the fix changes comments only; the tests compare the syntax trees before and after, which are equal.

    Fix: safe: it changes comments only.

    Example:
        import tensorflow as tf

        print(tf.sin(1.0))  # noqa: TFG101

    Use instead:
        import tensorflow as tf

        print(tf.sin(1.0))
    """

    code = UNUSED_SUPPRESSION
    name = "unused-suppression"
    opt_in = True
    fixable = "safe"

    def check(self, model: Model) -> Iterator[Finding]:
        """Yield nothing: what comments suppress is known after all files have been checked. The engine reports it."""
        yield from ()
