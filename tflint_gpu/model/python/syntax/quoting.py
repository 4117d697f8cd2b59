"""Code that is to stand within an f-string, whose quotes Python before 3.12 lets nothing in it use again."""

from __future__ import annotations

import libcst as cst

from tflint_gpu.model.python.syntax.syntax import Node
from tflint_gpu.model.python.syntax.tree import Tree


def within_text(tree: Tree, node: Node, code: str) -> str | None:
    """Code as it may replace a node, or go next to it.

    Returns:
        The code, with the other quotes where it comes into an f-string that has these; None where neither will do.
    """
    strings = [one for one in tree.ancestors(node) if isinstance(one, cst.FormattedString)]
    if not strings:
        return code
    if len(strings) > 1 or "\\" in code or "\n" in code:
        return None
    quote = strings[0].end
    if quote not in code:
        return code
    other = "'" if quote[0] == '"' else '"'
    return None if other in code else code.replace(quote[0], other)
