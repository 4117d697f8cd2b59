"""Do two programs compute the same? Numbers are compared within what their dtype can keep."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TypeAlias

from tflint_gpu.lazy_dataclasses import dataclass

Nested: TypeAlias = float | str | Sequence["Nested"]

# (relative, absolute). A repair may change the order of a sum, and a GPU adds in another order each time: some tens of
# roundings are allowed for. Integers, booleans, strings and dtypes not named here must be equal.
TOLERANCES = {
    "float16": (5e-3, 5e-3),
    "bfloat16": (4e-2, 4e-2),
    "float32": (1e-4, 1e-5),
    "float64": (1e-9, 1e-12),
}


@dataclass(frozen=True, slots=True)
class Outputs:
    """What a run computed: a number or nested lists of numbers of any shape, and the name of their dtype."""

    values: Nested
    dtype: str


@dataclass(frozen=True, slots=True)
class Difference:
    """Where two outputs differ.

    Arguments:
        place: indices of the largest difference, or of the first part whose shape differs; () is the whole.
        before, after: the two numbers there, or the two shapes in words.
        count, total: how many of the compared numbers differ; both 0 where the shapes do.
    """

    place: tuple[int, ...]
    before: float | str
    after: float | str
    count: int = 0
    total: int = 0

    def __str__(self) -> str:
        where = f" at {list(self.place)}" if self.place else ""
        if not self.total:
            return f"the outputs have different shapes{where}: {self.before} before the fix, {self.after} after it"
        text = f"the outputs differ in {self.count} of {self.total} numbers"
        return f"{text}, most{where}: {self.before} before, {self.after} after"


def compare_outputs(before: Nested, after: Nested, dtype: str) -> Difference | None:
    """Return where two outputs differ by more than the dtype's tolerance, None where they agree.

    NaN agrees with NaN and an infinity with itself.

    Arguments:
        before, after: numbers or nested lists of numbers, of any shape.
        dtype: the name of the dtype both were computed in, such as `float32`.
    """
    relative, absolute = TOLERANCES.get(dtype, (0.0, 0.0))
    worst: tuple[float, Difference] | None = None
    count = total = 0
    for place, value, other in _pairs(before, after, ()):
        if _is_part(value) or _is_part(other):
            return Difference(place, _shape(value), _shape(other))
        total += 1
        distance = _distance(value, other)
        if distance == 0 or distance <= absolute + relative * _magnitude(value, other):
            continue
        count += 1
        if worst is None or distance > worst[0]:
            worst = distance, Difference(place, _leaf(value), _leaf(other))
    if worst is None:
        return None
    difference = worst[1]
    return Difference(difference.place, difference.before, difference.after, count, total)


def _pairs(nested: Nested, other: Nested, place: tuple[int, ...]) -> Iterator[tuple[tuple[int, ...], Nested, Nested]]:
    """The numbers at the same place; where the shapes differ, the two parts as they are."""
    if _is_part(nested) and _is_part(other) and len(nested) == len(other):  # type: ignore[arg-type]
        for index, (left, right) in enumerate(zip(nested, other, strict=True)):  # type: ignore[arg-type]
            yield from _pairs(left, right, (*place, index))
    else:
        yield place, nested, other


def _is_part(value: Nested) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str)


def _leaf(value: Nested) -> float | str:
    return value if isinstance(value, (int, float)) else str(value)


def _shape(value: Nested) -> str:
    return f"{len(value)} elements" if _is_part(value) else "one number"  # type: ignore[arg-type]


def _distance(nested: Nested, other: Nested) -> float:
    """0 for the same, infinity for what no tolerance covers."""
    if nested == other:
        return 0.0
    if not isinstance(nested, (int, float)) or not isinstance(other, (int, float)):
        return math.inf
    if math.isnan(nested) and math.isnan(other):
        return 0.0
    return abs(nested - other) if math.isfinite(nested) and math.isfinite(other) else math.inf


def _magnitude(nested: Nested, other: Nested) -> float:
    """What a relative tolerance is taken of; 0 where there is no such thing."""
    numbers = (abs(value) for value in (nested, other) if isinstance(value, (int, float)) and math.isfinite(value))
    return max(numbers, default=0.0)
