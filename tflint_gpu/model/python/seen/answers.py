"""Answers to questions that rest on each other, in circles too; those that other files share, and a file's own.

A question that meets itself gets a preliminary answer. What was answered with it rests on who asked first, so it lasts
only until the outermost of these questions has its answer: an answer that is kept is the same whoever asks, and when.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeAlias, TypeVar, cast

from tflint_gpu.bounds import Bound

_Question = TypeVar("_Question")
_Answer = TypeVar("_Answer")
_MISSING: Any = object()
_NO_LEVEL = 1 << 60


class Work:
    """The questions that are being answered, one within another.

    Attributes:
        level: how many there are.
        lowest: the outermost level of those that have met themselves within the present one.
        looks: how often something of the checked file was looked at: what was answered meanwhile is no answer for
            other files.
        preliminary: the answers that last as long as an outer question is open.
        bounds_met: the bounds that cut something off.
    """

    __slots__ = ("_met", "bounds_met", "level", "looks", "lowest", "preliminary")

    def __init__(self) -> None:
        self.level = 0
        self.lowest = _NO_LEVEL
        self.looks = 0
        self.preliminary: list[tuple[dict[Any, Any], Any]] = []
        self.bounds_met: set[Bound] = set()
        self._met: list[Bound] = []

    def meet(self, *bounds: Bound) -> None:
        """Note bounds that cut something off, in whatever is being answered."""
        self.bounds_met.update(bounds)
        if self.level:
            self._met.extend(bounds)

    def met_since(self, mark: int) -> frozenset[Bound]:
        """The bounds that were met after the first times."""
        met = frozenset(self._met[mark:])
        if self.level:
            self._met[mark:] = met  # an outer question met them as well, once each
        else:
            self._met.clear()
        return met

    @property
    def times_met(self) -> int:
        """How often bounds were met within the questions that are open."""
        return len(self._met)

    def drop(self, mark: int) -> None:
        """Drop the preliminary answers after the first ones."""
        for answers, question in self.preliminary[mark:]:
            answers.pop(question, None)
        del self.preliminary[mark:]


class Answers(Generic[_Question, _Answer]):
    """The answers to one kind of question.

    Arguments:
        work: in which the questions of all kinds are.
        shared: the answers for all files that see the same ones, and the bounds that were met by some of them.
        meanwhile: the preliminary answer of a question that meets itself.
    """

    __slots__ = ("_bounded", "_in_work", "_meanwhile", "_own", "_preliminary", "_shared", "_work")

    def __init__(self, work: Work, shared: Shared[_Question, _Answer], meanwhile: _Answer) -> None:
        self._work = work
        self._shared, self._bounded = shared
        self._meanwhile = meanwhile
        self._own: dict[_Question, _Answer] = {}
        self._in_work: dict[_Question, int] = {}
        self._preliminary: dict[_Question, tuple[_Answer, int, bool]] = {}

    def is_known(self, question: _Question) -> bool:
        """Whether there is an answer, if only a preliminary one."""
        return (
            question in self._shared
            or question in self._own
            or question in self._in_work
            or question in self._preliminary
        )

    def known(self, question: _Question, default: _Answer | None = None) -> _Answer | None:
        """The answer, if only a preliminary one; else the default."""
        answer = self._shared.get(question, _MISSING)
        work = self._work
        if answer is not _MISSING:
            if question in self._bounded:
                work.meet(*self._bounded[question])
            return cast("_Answer", answer)
        answer = self._own.get(question, _MISSING)
        if answer is not _MISSING:
            work.looks += 1
            return cast("_Answer", answer)
        level = self._in_work.get(question)
        if level is not None:
            work.lowest = min(work.lowest, level)
            return self._meanwhile
        preliminary = self._preliminary.get(question)
        if preliminary is not None:
            work.lowest = min(work.lowest, preliminary[1])
            work.looks += preliminary[2]
            return preliminary[0]
        return default

    def ask(self, question: _Question, is_own: bool, find: Callable[[], _Answer]) -> _Answer:
        """The answer, found where it is not known.

        Arguments:
            is_own: the question is about something of the checked file.
        """
        answer = self.known(question, _MISSING)
        return self.find(question, is_own, find) if answer is _MISSING else cast("_Answer", answer)

    def find(self, question: _Question, is_own: bool, find: Callable[[], _Answer]) -> _Answer:
        """The same of a question that is known to have no answer. An error in it leaves none."""
        work = self._work
        looks, mark, outer, met = work.looks, len(work.preliminary), work.lowest, work.times_met
        work.level += 1
        level = self._in_work[question] = work.level
        work.lowest = _NO_LEVEL
        is_answered = False
        try:
            answer = find()
            is_answered = True
        finally:
            work.level -= 1
            del self._in_work[question]
            rests_on = work.lowest if work.lowest < level else _NO_LEVEL
            work.lowest = min(outer, rests_on)
            if not is_answered:
                work.drop(mark)
            work.looks += is_own
        if rests_on < level:
            self._preliminary[question] = answer, rests_on, work.looks != looks
            work.preliminary.append((self._preliminary, question))
            return answer
        work.drop(mark)
        if work.looks == looks:
            self._shared[question] = answer
            if work.times_met > met:
                self._bounded[question] = work.met_since(met)
        else:
            self._own[question] = answer
        return answer


Shared: TypeAlias = tuple[dict[_Question, _Answer], dict[_Question, frozenset[Bound]]]
