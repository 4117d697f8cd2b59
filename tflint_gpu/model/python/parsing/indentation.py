"""Files whose indentation mixes tabs and spaces: Python reads them, libcst does not.

Such a file is parsed with its indentation expanded as Python's tokenizer counts it (a tab goes to the next multiple of
eight), and every offset is brought back to the file as it is.
"""

from __future__ import annotations

import re
from bisect import bisect_right

from tflint_gpu.lazy_patterns import regex

_INDENTATION = regex(r"^[ \t]*\t[ \t]*", re.MULTILINE)
_TAB_SIZE = 8


def expand_indentation(text: str) -> str:
    """The text with spaces for the tabs in front of its lines."""
    return _INDENTATION.sub(lambda match: match[0].expandtabs(_TAB_SIZE), text)


class OriginalOffsets:
    """Brings offsets in the expanded text back to the text as it is.

    Arguments:
        text: the file's own text, of which `expand_indentation` made the expanded one.
    """

    def __init__(self, text: str) -> None:
        self._starts = [0]  # in the expanded text: where each piece between indentations starts
        self._shifts = [0]  # how much shorter the original is up to there
        shift = 0
        for match in _INDENTATION.finditer(text):
            expanded = len(match[0].expandtabs(_TAB_SIZE))
            shift += expanded - len(match[0])
            self._starts.append(match.start() + shift - (expanded - len(match[0])) + expanded)
            self._shifts.append(shift)

    def __getitem__(self, offset: int) -> int:
        """The offset in the original text of an offset in the expanded one; never inside an indentation."""
        return offset - self._shifts[bisect_right(self._starts, offset) - 1]
