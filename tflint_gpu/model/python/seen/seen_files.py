"""The files that a check sees, and the answers that it shares with the checks of other files that see the same."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator
from functools import cached_property
from pathlib import Path
from typing import Any

from tflint_gpu.lazy_patterns import regex
from tflint_gpu.model.python.project.file import File
from tflint_gpu.model.python.project.functions import Class
from tflint_gpu.model.python.project.project import Project
from tflint_gpu.model.python.seen.answers import Answers, Work

_WORD = regex(r"\w+")
_MOST_SHARED = 4
"""Of so many closures the answers are held: those of a large package take tens of megabytes."""


class SeenFiles:
    """The file that is checked, and those that its imports reach.

    Arguments:
        entry: the file that is checked.

    Attributes:
        work: the questions that are being answered.
        is_inside: whether the checked file is one of those that it reaches: then nothing is its own.
    """

    def __init__(self, project: Project, entry: File) -> None:
        self.project = project
        self.entry = entry
        self.closure: frozenset[Path] = project.closure(entry.source)
        self.is_inside = entry.source.path in self.closure and project.is_open(entry)
        self._shared = self._shared_answers()
        self._words: Container[str] = _Words("" if self.is_inside else entry.source.text)
        self.work = Work(self.shared("words"), self._words)

    def shared(self, what: str) -> dict[Any, Any]:
        """What was found out of the files apart from the checked one, by what it is."""
        return self._shared.setdefault(what, {})

    def answers(self, what: str, meanwhile: Any) -> Answers[Any, Any]:
        """The answers to one kind of question.

        Arguments:
            what: names it.
            meanwhile: the preliminary answer of a question that meets itself.
        """
        return Answers(self.work, self.shared(what), meanwhile)

    def _shared_answers(self) -> dict[str, dict[Any, Any]]:
        is_another_text = self.entry.source.path in self.closure and not self.is_inside
        if is_another_text or not self.closure:
            return {}
        kept = self.project.kept("shared answers")
        # A file outside of them may call what they hold: of that those inside know nothing.
        key = self.closure, self._names_of_its_own, self.is_inside
        shared: dict[str, dict[Any, Any]] = kept.pop(key, {})
        while len(kept) >= _MOST_SHARED:
            del kept[next(iter(kept))]
        kept[key] = shared  # the last one that was used comes last
        return shared

    @cached_property
    def callable_names(self) -> frozenset[str]:
        """The names that some of the files give to a function, a class or an attribute."""
        together = self.project.names_given(self.closure)
        return together if self.entry.names_given <= together else together | self.entry.names_given

    @property
    def _names_of_its_own(self) -> frozenset[str]:
        """The attributes that the checked file alone gives, and others read: there they may mean something of it."""
        own = self.entry.attributes_given - self.project.names_given(self.closure)
        return self.project.attributes_read(self.closure, own)

    def look(self) -> None:
        """Note that an answer rests on the checked file, or on what was being asked when it was found."""
        self.work.looks += 1

    def with_text(self, text: str, *files: File) -> Iterable[File]:
        """Some files, the checked one, and those that it reaches, as far as a text is in them."""
        return self._with_entry(files, self.project.having(self.closure, text), None)

    def using(self, name: str, *files: File) -> Iterable[File]:
        """The same of code that calls a name, reads it or hands it on; a dotted name is in the text as it is."""
        return self._with_entry(files, self.project.using(self.closure, name), None)

    def users(self, used_in: File, name: str) -> Iterable[File]:
        """The file of a function or class, the checked one, and those that import its file and may use its name."""
        return self._with_entry((used_in,), self.project.using(self.closure, name, used_in.source.path), name)

    def deriving(self, cls: Class) -> Iterable[File]:
        """Those of the users of a class that may have classes below it."""
        home = cls.file.source.path
        return self._with_entry((cls.file,), self.project.deriving(self.closure, cls.name, home), cls.name)

    def _with_entry(self, first: tuple[File, ...], others: Iterator[File], word: str | None) -> Iterable[File]:
        """Files without repetition: the checked one among the others where it is reached, and before them if not."""
        if self.is_inside:
            return dict.fromkeys((*first, *others, self.entry))
        if word is not None and word not in self._words:
            self.work.miss(word)
            return dict.fromkeys((*first, *others))
        self.look()
        return dict.fromkeys((*first, self.entry, *others))


class _Words:
    """The words of a text, looked for when one is asked for."""

    def __init__(self, text: str) -> None:
        self._text = text

    def __contains__(self, word: object, /) -> bool:
        return word in self._all

    @cached_property
    def _all(self) -> frozenset[str]:
        return frozenset(_WORD.findall(self._text))
