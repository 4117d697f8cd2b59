"""The values of displays and comprehensions: tuples, lists, sets and dictionaries that are written out."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Any

import libcst as cst

from tflint_gpu.model.interpreter.values import PLAIN, DictValue, Frame, ListValue
from tflint_gpu.model.python.syntax.syntax import Expression
from tflint_gpu.model.python.value_flow.constants import UNKNOWN

_LOST = object()


class Displays(ABC):
    """Computes displays; a class derived from this one computes what they hold."""

    @abstractmethod
    def evaluate(self, frame: Frame, expr: Expression) -> Any:
        """The value of an expression, or `UNKNOWN`."""

    @abstractmethod
    def truth(self, value: Any) -> bool | None:
        """Whether a value counts as true; None where that is not known."""

    @abstractmethod
    def iterated(self, value: Any) -> list[Any] | None:
        """What iterating over a value yields; None where that is not known."""

    @abstractmethod
    def bind(self, frame: Frame, target: cst.CSTNode, value: Any) -> None:
        """Assign to a name, a tuple of names, an attribute or an item."""

    def _tuple(self, frame: Frame, expr: cst.Tuple | cst.Set) -> Any:
        values = self._displayed(frame, expr)
        return UNKNOWN if values is None else tuple(values)

    def _list(self, frame: Frame, expr: cst.List) -> Any:
        values = self._displayed(frame, expr)
        return UNKNOWN if values is None else ListValue(values)

    def _displayed(self, frame: Frame, expr: cst.Tuple | cst.List | cst.Set) -> list[Any] | None:
        values: list[Any] = []
        for element in expr.elements:
            value = self.evaluate(frame, element.value)
            if isinstance(element, cst.StarredElement):
                inner = self.iterated(value)
                if inner is None:
                    return None
                values.extend(inner)
            else:
                values.append(value)
        return values

    def _dict(self, frame: Frame, expr: cst.Dict) -> Any:
        items: dict[Any, Any] = {}
        for element in expr.elements:
            value = self.evaluate(frame, element.value)
            if isinstance(element, cst.StarredDictElement):
                if not isinstance(value, DictValue) or value.is_lost:
                    return UNKNOWN
                items.update(value.items)
                continue
            assert isinstance(element, cst.DictElement)
            key = self.evaluate(frame, element.key)
            if not isinstance(key, PLAIN):
                return UNKNOWN
            items[key] = value
        return DictValue(items)

    def _comprehension(self, frame: Frame, expr: cst.ListComp | cst.GeneratorExp | cst.SetComp) -> Any:
        inner = Frame(frame.file, {}, frame, receiver=None)
        values: list[Any] = []
        for _ in self._iterations(inner, expr.for_in, values):
            values.append(self.evaluate(inner, expr.elt))
        return UNKNOWN if values[:1] == [_LOST] else ListValue(values)

    def _dict_comprehension(self, frame: Frame, expr: cst.DictComp) -> Any:
        inner = Frame(frame.file, {}, frame, receiver=None)
        lost: list[Any] = []
        items: dict[Any, Any] = {}
        for _ in self._iterations(inner, expr.for_in, lost):
            key = self.evaluate(inner, expr.key)
            if not isinstance(key, PLAIN):
                return UNKNOWN
            items[key] = self.evaluate(inner, expr.value)
        return UNKNOWN if lost else DictValue(items)

    def _iterations(self, frame: Frame, clause: cst.CompFor, lost: list[Any]) -> Iterator[None]:
        """The iterations of a comprehension; where they are not known, `lost` begins with `_LOST`."""
        values = self.iterated(self.evaluate(frame, clause.iter))
        if values is None:
            lost.insert(0, _LOST)
            return
        for value in values:
            self.bind(frame, clause.target, value)
            tests = [self.truth(self.evaluate(frame, test.test)) for test in clause.ifs]
            if None in tests:
                lost.insert(0, _LOST)
                return
            if all(tests):
                if clause.inner_for_in is None:
                    yield
                else:
                    yield from self._iterations(frame, clause.inner_for_in, lost)
