"""Answers to questions that rest on each other, in circles too; those that other files share, and a file's own.

A question that meets itself gets a preliminary answer. What was answered with it rests on who asked first, so it lasts
only until the outermost of these questions has its answer: an answer that is kept is the same whoever asks, and when.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable
from itertools import islice
from typing import Any, Generic, TypeVar, cast

from tflint_gpu.bounds import Bound

_Question = TypeVar("_Question")
_Answer = TypeVar("_Answer")
_MISSING: Any = object()
_NO_LEVEL = 1 << 60


class Work:
    """The questions that are being answered, one within another.

    Arguments:
        words: a bit for each word that was ever looked for in a checked file that did not have it.
        present: the words of the present one.

    Attributes:
        level: how many there are.
        lowest: the outermost level of those that have met themselves within the present one.
        looks: how often something of the checked file was looked at: what was answered meanwhile is no answer for
            other files.
        preliminary: the answers that last as long as an outer question is open.
        bounds_met: the bounds that cut something off.
        missed: the words that were looked for in the checked file, and are not in it, within the present question; a
            bit for each.
    """

    __slots__ = (
        "_known",
        "_met",
        "_present",
        "_words",
        "bounds_met",
        "level",
        "looks",
        "lowest",
        "missed",
        "preliminary",
    )

    def __init__(self, words: dict[str, int], present: Container[str]) -> None:
        self.level = 0
        self.lowest = _NO_LEVEL
        self.looks = 0
        self.preliminary: list[tuple[dict[Any, Any], Any]] = []
        self.bounds_met: set[Bound] = set()
        self.missed = 0
        self._met: list[Bound] = []
        self._words = words
        self._present = present
        self._known = 0, 0

    def miss(self, word: str) -> None:
        """Note that a word was looked for in the checked file, which does not have it."""
        self.missed |= self._words.setdefault(word, 1 << len(self._words))

    def may_share(self, missed: int) -> bool:
        """Whether the checked file has none of some words; others may have looked for more since it was asked last."""
        number, bits = self._known
        if number < len(self._words):
            new = islice(self._words.items(), number, None)
            bits |= sum(bit for word, bit in new if word in self._present)
            self._known = len(self._words), bits
        return not missed & bits

    def meet(self, *bounds: Bound) -> None:
        """Note bounds that cut something off, in whatever is being answered."""
        self.bounds_met.update(bounds)
        if self.level:
            self._met.extend(bounds)

    def met_since(self, mark: int) -> frozenset[Bound]:
        """The bounds that were met after the first times."""
        met = frozenset(self._met[mark:])
        self._met[mark:] = met  # an outer question met them as well, once each
        return met

    @property
    def times_met(self) -> int:
        """How often bounds were met within the questions that are open."""
        return len(self._met)

    def drop_times(self) -> None:
        """Drop the count of the questions before, of which none is open."""
        self._met.clear()

    def drop(self, mark: int) -> None:
        """Drop the preliminary answers after the first ones."""
        for answers, question in self.preliminary[mark:]:
            answers.pop(question, None)
        del self.preliminary[mark:]


class _Open(Generic[_Answer]):
    """The answer of a question that is being answered, or rests on one that is.

    Arguments:
        level: of that question.
        has_looked: whether something of the checked file was looked at.
        missed: the words that were not in it.
    """

    __slots__ = ("answer", "has_looked", "level", "missed")

    def __init__(self, answer: _Answer, level: int, has_looked: bool, missed: int) -> None:
        self.answer = answer
        self.level = level
        self.has_looked = has_looked
        self.missed = missed


class _Conditional(Generic[_Answer]):
    """An answer that other files share.

    Arguments:
        missed: the words of which none may be in a file that shares it.
        bounds: the bounds that it met.
    """

    __slots__ = ("answer", "bounds", "missed")

    def __init__(self, answer: _Answer, missed: int, bounds: frozenset[Bound]) -> None:
        self.answer = answer
        self.missed = missed
        self.bounds = bounds


class Answers(Generic[_Question, _Answer]):
    """The answers to one kind of question.

    Arguments:
        work: in which the questions of all kinds are.
        shared: the answers for all files that see the same ones.
        meanwhile: the preliminary answer of a question that meets itself.
    """

    __slots__ = ("_meanwhile", "_own", "_shared", "_work")

    def __init__(
        self, work: Work, shared: dict[_Question, _Answer | _Conditional[_Answer]], meanwhile: _Answer
    ) -> None:
        self._work = work
        self._shared = shared
        self._meanwhile = meanwhile
        self._own: dict[_Question, _Answer | _Open[_Answer]] = {}

    def is_known(self, question: _Question) -> bool:
        """Whether there is an answer, if only a preliminary one."""
        return self.known(question, _MISSING) is not _MISSING

    def known(self, question: _Question, default: Any = None) -> Any:
        """The answer, if only a preliminary one; else the default."""
        answer: Any = self._shared.get(question, _MISSING)
        work = self._work
        if answer is not _MISSING:
            if answer.__class__ is not _Conditional:
                return answer
            if work.may_share(answer.missed):
                work.missed |= answer.missed
                if answer.bounds:
                    work.meet(*answer.bounds)
                return answer.answer
        answer = self._own.get(question, _MISSING)
        if answer is _MISSING:
            return default
        if answer.__class__ is _Open:
            work.lowest = min(work.lowest, answer.level)
            work.looks += answer.has_looked
            work.missed |= answer.missed
            return answer.answer
        work.looks += 1
        return answer

    def ask(self, question: _Question, is_own: bool, find: Callable[[], _Answer]) -> _Answer:
        """The answer, found where it is not known.

        Arguments:
            is_own: the question is about something of the checked file.
        """
        answer = self.known(question, _MISSING)
        return self.find(question, is_own, find) if answer is _MISSING else cast("_Answer", answer)

    def note(self, questions: Iterable[tuple[_Question, bool]], answer: _Answer, since: int) -> None:
        """Note what the answer to one question, which is being found, says of others; nothing where it is preliminary.

        Arguments:
            questions: each with whether it is about something of the checked file.
            since: how often the checked file had been looked at before.
        """
        work = self._work
        if work.lowest < _NO_LEVEL:
            return
        has_looked = work.looks != since
        conditional = _Conditional(answer, work.missed, frozenset())
        for question, is_own in questions:
            if question in self._own:
                continue
            if has_looked or is_own:
                self._own[question] = answer
            elif question not in self._shared:
                self._shared[question] = conditional

    def find(self, question: _Question, is_own: bool, find: Callable[[], _Answer]) -> _Answer:
        """The same of a question that is known to have no answer. An error in it leaves none."""
        work = self._work
        if not work.level:
            work.drop_times()
        looks, outer, mark, met = work.looks, work.lowest, len(work.preliminary), work.times_met
        missed_outside, work.missed = work.missed, 0
        level = work.level = work.level + 1
        work.lowest = _NO_LEVEL
        self._own[question] = _Open(self._meanwhile, level, has_looked=False, missed=0)
        try:
            answer = find()
        except BaseException:
            del self._own[question]
            work.drop(mark)
            work.lowest = min(outer, work.lowest) if work.lowest < level else outer
            work.looks += is_own
            raise
        finally:
            work.level -= 1
            missed = work.missed
            work.missed |= missed_outside
        work.looks += is_own
        has_looked = work.looks != looks
        if work.lowest < level:
            self._own[question] = _Open(answer, work.lowest, has_looked, missed)
            work.preliminary.append((self._own, question))
            work.lowest = min(outer, work.lowest)
            return answer
        work.lowest = outer
        if len(work.preliminary) > mark:
            work.drop(mark)
        if has_looked:
            self._own[question] = answer
        else:
            del self._own[question]
            bounds = work.met_since(met)
            self._shared[question] = _Conditional(answer, missed, bounds) if missed or bounds else answer
        return answer
