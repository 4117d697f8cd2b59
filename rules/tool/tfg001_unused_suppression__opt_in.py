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

    Why: such a comment was needed once. Now it points readers to a mistake that does not exist, and it hides the next
    mistake on its line. The rule and its fix work like ruff's RUF100: codes of other tools stay in the comment. Some
    findings in a file appear only when a file that imports it is checked, so the importing files are checked too. The
    language server reports unused suppressions when a file is opened or saved.

    Reported:
    - a code that suppresses no finding, in a comment for a line or for a whole file (`# tflint-gpu: noqa: TFG101`)
    - a code that belongs to no rule
    - a code that is in a comment twice

    Not reported:
    - a bare `# noqa`, which may be meant for another tool
    - a comment that lists TFG001
    - a comment for a rule that does not run on the file: select this rule together with the others (`--extend-select
      TFG001`), not alone
    - any comment in a file while a file that imports it does not parse
    - anything in flake8, which has its own suppression

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
    unnecessary = True
    fixable = "safe"

    def check(self, model: Model) -> Iterator[Finding]:
        """Yield nothing: what comments suppress is known after all files have been checked. The engine reports it."""
        yield from ()
