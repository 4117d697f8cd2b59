"""Where strings are in a JSON text, character by character: one can be changed, and all else stays as it is."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable
from dataclasses import field

from tflint_gpu.lazy_dataclasses import dataclass
from tflint_gpu.lazy_patterns import regex

Place = tuple[str | int, ...]
"""The keys and indices that lead from the whole document to a value."""

_TOKEN = regex(r'"[^"\\]*(?:\\.[^"\\]*)*"|[{}\[\],:]|[^\s{}\[\],:"]+')
_CHARACTER = regex(r"\\u[dD][89abAB]..\\u[dD][c-fC-F]..|\\u....|\\.|[^\\]", re.DOTALL)


@dataclass(slots=True)
class WrittenText:
    """A text as a document has it: one string, or a list of strings that belong together.

    Arguments:
        document: the JSON text.
        list_start: where the list starts; None for a single string.
        literals: (start, end) of each string, with its quotes.
    """

    document: str
    list_start: int | None = None
    literals: list[tuple[int, int]] = field(default_factory=list)
    _characters: list[tuple[int, int]] = field(default_factory=list)

    @property
    def characters(self) -> list[tuple[int, int]]:
        """(start, end) of each character of the text: an escape has several in the document."""
        if not self._characters:
            self._characters = [
                match.span()
                for start, end in self.literals
                for match in _CHARACTER.finditer(self.document, start + 1, end - 1)
            ]
        return self._characters

    def offset(self, index: int) -> int:
        """Where a character of the text starts in the document; for the one after the last, the end of the text."""
        if index < len(self.characters):
            return self.characters[index][0]
        return self.literals[-1][1] - 1 if self.literals else 0

    def change(self, start: int, end: int, content: str) -> tuple[int, int, str]:
        """What to change in the document so that the text has `content` between two indices.

        In a list, each line stays a string of its own.
        """
        first, last = self.offset(start), self.offset(start)
        if end > start:
            last = self.characters[end - 1][1]
        at_end = end == len(self.characters)
        divided_here = end > start and not at_end and self.offset(end) != last
        ends_line = content.endswith("\n")
        if divided_here and not ends_line:
            last = self.offset(end)
        before = self.characters[start - 1][1] if start else first
        lead = ""
        if at_end and start and not content and before != first:
            first = before  # the last strings go, and the comma before them
        elif at_end and content and start and before == first and self._is_newline(start - 1):
            lead = self._division
        lines = [self._escaped(line) for line in content.split("\n")]
        written = (r"\n" + self._division).join(lines)
        if ends_line and (at_end or divided_here):
            written = written[: len(written) - len(self._division)]
        return first, last, lead + written

    def _is_newline(self, index: int) -> bool:
        start, end = self.characters[index]
        return self.document[start:end] == r"\n"

    def _escaped(self, text: str) -> str:
        return json.dumps(text, ensure_ascii=self.document.isascii())[1:-1]

    @property
    def _division(self) -> str:
        """The text between the contents of two strings of the list."""
        if self.list_start is None:
            return ""
        if len(self.literals) > 1:
            return self.document[self.literals[0][1] - 1 : self.literals[1][0] + 1]
        return f'",{self.document[self.list_start + 1 : self.literals[0][0]]}"'


def find_texts(document: str, keys: Collection[str]) -> dict[Place, WrittenText]:
    """The strings and lists of strings that are values of some keys, by their places.

    Arguments:
        document: valid JSON.
        keys: of the objects that hold the texts.
    """
    texts: dict[Place, WrittenText] = {}
    place: list[str | int | None] = []  # None: an object's next key is awaited
    for token in _TOKEN.finditer(document):
        word = token[0]
        if word in "{[":
            if word == "[" and place and place[-1] in keys:
                texts[_fixed(place)] = WrittenText(document, token.start())
            place.append(0 if word == "[" else None)
        elif word in "}]":
            place.pop()
        elif word == ",":
            last = place[-1]
            place[-1] = last + 1 if isinstance(last, int) else None
        elif word[0] == '"':
            if place and place[-1] is None:
                place[-1] = json.loads(word)
            elif place and place[-1] in keys:
                texts[_fixed(place)] = WrittenText(document, None, [token.span()])
            elif len(place) > 1 and place[-2] in keys and _fixed(place[:-1]) in texts:
                texts[_fixed(place[:-1])].literals.append(token.span())
    return texts


def _fixed(place: Iterable[str | int | None]) -> Place:
    return tuple(step for step in place if step is not None)
