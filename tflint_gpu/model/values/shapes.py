"""The algebra of shapes: what operations make of the shapes of their operands; None for an unknown rank."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Literal, TypeAlias

from tflint_gpu.model.values.value import Dimension, Shape

Index: TypeAlias = int | slice | Literal["new", "all", "one", "some"] | None
"""A part of a subscript: a number, a slice with numbers or None, `newaxis`, `...`, some number, a slice with bounds
that are not known; None for anything else."""


def broadcast(first: Shape | None, second: Shape | None) -> Shape | None:
    """Of an element-wise operation; None for shapes that do not go together."""
    if first is None or second is None:
        return None
    rank = max(len(first), len(second))
    left, right = ((1,) * (rank - len(shape)) + shape for shape in (first, second))
    pairs = list(zip(left, right, strict=True))
    if any(None not in pair and 1 not in pair and pair[0] != pair[1] for pair in pairs):
        return None
    return tuple(_common(*lengths) for lengths in pairs)


def _common(first: Dimension, second: Dimension) -> Dimension:
    if first == second or second == 1:
        return first
    if first == 1:
        return second
    return second if first is None else first


def product(first: Shape | None, second: Shape | None) -> Shape | None:
    """Of `first @ second`."""
    if first is None or second is None or not first or not second:
        return None
    if len(first) == 1 or len(second) == 1:
        return (*first[:-1], *(second[:-2] if len(second) > 1 else ()), *(second[-1:] if len(second) > 1 else ()))
    around = broadcast(first[:-2], second[:-2])
    return None if around is None else (*around, first[-2], second[-1])


def reshaped(shape: Shape | None, target: Shape | None) -> Shape | None:
    """With the length that -1 means."""
    if target is None or -1 not in target:
        return target
    rest = None
    others = [length for length in target if length != -1]
    if shape is not None and None not in shape and None not in others and len(others) == len(target) - 1:
        fixed = math.prod(length for length in others if length is not None)
        count = math.prod(length for length in shape if length is not None)
        rest = count // fixed if fixed and count % fixed == 0 else None
    return tuple(rest if length == -1 else length for length in target)


def expanded(shape: Shape | None, axis: int | None) -> Shape | None:
    """With an axis of length one more."""
    if shape is None or axis is None or not -len(shape) - 1 <= axis <= len(shape):
        return None if shape is None or axis is not None else (None,) * (len(shape) + 1)
    place = axis if axis >= 0 else axis + len(shape) + 1
    return (*shape[:place], 1, *shape[place:])


def squeezed(shape: Shape | None, axes: tuple[int, ...] | None) -> Shape | None:
    """Without some axes; without arguments, without all of length one."""
    if shape is None:
        return None
    if axes is None:
        return None if None in shape else tuple(length for length in shape if length != 1)
    dropped = {axis % len(shape) for axis in axes if shape}
    return tuple(length for place, length in enumerate(shape) if place not in dropped)


def reduced(shape: Shape | None, axes: tuple[int, ...] | None, keeps: bool) -> Shape | None:
    """Over some axes; None for all."""
    if shape is None:
        return () if axes is None and not keeps else None
    dropped = set(range(len(shape))) if axes is None else {axis % len(shape) for axis in axes if shape}
    if keeps:
        return tuple(1 if place in dropped else length for place, length in enumerate(shape))
    return tuple(length for place, length in enumerate(shape) if place not in dropped)


def concatenated(shapes: Sequence[Shape | None], axis: int | None) -> Shape | None:
    """Of tensors one after the other along an axis; all others of their lengths are the same."""
    known = _of_one_rank(shapes)
    if not known or not known[0]:
        return None
    if axis is None:
        return (None,) * len(known[0])
    place = axis % len(known[0])
    return tuple(
        total([shape[i] for shape in known]) if i == place else merged([shape[i] for shape in known])
        for i in range(len(known[0]))
    )


def stacked(shapes: Sequence[Shape | None], axis: int | None) -> Shape | None:
    """Of tensors along a new axis; all have the same shape."""
    known = _of_one_rank(shapes)
    if not known:
        return None
    inner = tuple(merged([shape[i] for shape in known]) for i in range(len(known[0])))
    if axis is None:
        return (None,) * (len(inner) + 1)
    place = axis if axis >= 0 else axis + len(inner) + 1
    return (*inner[:place], len(shapes), *inner[place:])


def _of_one_rank(shapes: Sequence[Shape | None]) -> list[Shape]:
    """The shapes of tensors of one rank, which is all that is known of some; none where no rank is known."""
    ranks = {len(shape) for shape in shapes if shape is not None}
    if len(ranks) != 1:
        return []
    unknown: Shape = (None,) * ranks.pop()
    return [unknown if shape is None else shape for shape in shapes]


def total(lengths: Iterable[Dimension]) -> Dimension:
    """Their sum; None where one is not known."""
    known = list(lengths)
    return None if None in known else sum(length for length in known if length is not None)


def merged(lengths: Iterable[Dimension]) -> Dimension:
    """The length that tensors have together which must have the same one."""
    known = {length for length in lengths if length is not None}
    return known.pop() if len(known) == 1 else None


def indexed(shape: Shape | None, keys: Sequence[Index]) -> Shape | None:
    """What a subscript takes."""
    if None in keys or shape is None:
        return None
    taking = [key for key in keys if key not in ("new", "all")]
    if len(taking) > len(shape):
        return None
    if "all" in keys:
        place = keys.index("all")
        keys = [*keys[:place], *([slice(None)] * (len(shape) - len(taking))), *keys[place + 1 :]]
    result: list[Dimension] = []
    rest = list(shape)
    for key in keys:
        if key == "new":
            result.append(1)
            continue
        length = rest.pop(0)
        if isinstance(key, slice):
            result.append(_sliced(length, key))
        elif key == "some":
            result.append(None)
    return (*result, *rest)


def _sliced(length: Dimension, key: slice) -> Dimension:
    if length is not None:
        return len(range(*key.indices(length)))
    return length if key == slice(None) else None


def transposed(shape: Shape | None, order: tuple[int, ...] | None) -> Shape | None:
    """With its axes in another order; without one, in the opposite."""
    if shape is None:
        return None
    if order is None:
        return shape[::-1]
    return tuple(shape[axis] for axis in order) if sorted(order) == list(range(len(shape))) else (None,) * len(shape)


def tiled(shape: Shape | None, times: Shape | None) -> Shape | None:
    """Repeated along each axis; where numbers or axes are missing, NumPy puts ones before them."""
    if shape is None or times is None:
        return None
    rank = max(len(shape), len(times))
    shape, times = (1,) * (rank - len(shape)) + shape, (1,) * (rank - len(times)) + times
    return tuple(None if n is None or t is None else n * t for n, t in zip(shape, times, strict=True))


def gathered(shape: Shape | None, indices: Shape | None, axis: int | None) -> Shape | None:
    """Of slices by their indices along an axis."""
    if shape is None or indices is None or axis is None or not -len(shape) <= axis < len(shape):
        return None
    place = axis % len(shape)
    return (*shape[:place], *indices, *shape[place + 1 :])


def padded(shape: Shape | None, paddings: Sequence[tuple[Dimension, Dimension]] | None) -> Shape | None:
    """With more before and after along each axis."""
    if shape is None or paddings is None or len(shape) != len(paddings):
        return None if shape is None else (None,) * len(shape)
    return tuple(total((length, *more)) for length, more in zip(shape, paddings, strict=True))


def summed(equation: str, operands: Sequence[Shape | None]) -> Shape | None:
    """Of an Einstein sum: "bij,bjk->bik"."""
    left, arrow, right = equation.replace(" ", "").partition("->")
    terms = left.split(",")
    if "." in equation or len(terms) != len(operands):
        return None
    if not arrow:
        letters = left.replace(",", "")
        right = "".join(sorted({letter for letter in letters if letters.count(letter) == 1}))
    lengths: dict[str, list[Dimension]] = {}
    for term, shape in zip(terms, operands, strict=True):
        for place, letter in enumerate(term):
            lengths.setdefault(letter, []).append(
                shape[place] if shape is not None and len(shape) == len(term) else None
            )
    return tuple(merged(lengths.get(letter, ())) for letter in right)
