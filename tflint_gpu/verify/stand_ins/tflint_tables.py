"""Makes up tables, and arrays of numbers, that a piece of your code reads from files which are not here.

`tflint-gpu verify` lays a copy next to a program in which something reads such data; see `tflint_files`.
"""

from __future__ import annotations

import datetime
import os
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy
import tflint_files
from tflint_archives import WORDS
from tflint_data import keras_dataset
from tflint_outcome import tell

COLUMNS: tuple[str, ...] = ()
TEXTS: tuple[str, ...] = ()  # columns that hold words
RENAMED: tuple[str, ...] = ()
"""The names that the program gives to all columns, in their order."""

DAYS: tuple[str, ...] = ()
"""The first and the last day that the program names: `2016-01`."""

HAS_WHOLE_NUMBERS = False

_ROWS, _LARGEST = 256, 10
_MOST_DAYS = 10_000
_OF_CLASSES = re.compile(r"label|class|species|category", re.IGNORECASE)


def write(place: str) -> None:
    """Write a table with the columns that the program names."""
    with open(place, "w") as file:
        file.write(",".join(COLUMNS) + "\n")
        for row in zip(*map(_column, COLUMNS)):
            file.write(",".join(value if isinstance(value, str) else f"{value:.4g}" for value in row) + "\n")
    _tell_columns(COLUMNS, place)


_TOLD: set[tuple[str, ...]] = set()


def _tell_columns(columns: Sequence[Any], path: str) -> None:
    """Say once of each kind of table that it is made up."""
    names = tuple(map(str, columns))
    if names not in _TOLD:
        _TOLD.add(names)
        tell(f"a table with the columns {', '.join(names)} ({os.path.basename(path)})")


def _column(name: Any, rows: int = _ROWS, is_of_days: bool = False) -> Any:
    """Words, the numbers of classes where the name says so, or any numbers: amounts where each row is a day's."""
    if name in TEXTS:
        return numpy.array(WORDS[:8])[tflint_files.draw.integers(0, 8, rows)]
    if HAS_WHOLE_NUMBERS and not is_of_days:
        return tflint_files.draw.integers(0, _LARGEST, rows)
    numbers, classes = tflint_files.draw.random(rows), tflint_files.CLASSES
    return (numbers * classes).astype(int) if classes > 1 and _OF_CLASSES.search(str(name)) else numbers


def _days() -> Any:
    """Each day from the first to the last that the program names."""
    first, last = (datetime.date.fromisoformat(f"{day}-01-01"[:10]) for day in DAYS or ("2020", "2021"))
    count = min((last - first).days + 1, _MOST_DAYS)
    return numpy.datetime64(first, "ns") + numpy.arange(count) * numpy.timedelta64(1, "D")


def table(function: Callable[..., Any]) -> Callable[..., Any]:
    """Stand for `pandas.read_csv` and its kin: the columns are those that the program names."""

    def read(source: Any, *args: Any, **kwargs: Any) -> Any:
        path = tflint_files.existing(source) if tflint_files.is_path(source) else source
        if path is not None:
            return function(path, *args, **kwargs)
        import pandas

        dated = kwargs.get("parse_dates")
        dated = [name for name in dated if isinstance(name, str)] if isinstance(dated, list) else []
        columns = kwargs.get("usecols") or kwargs.get("names") or _before_renaming(dated)
        if not columns:
            raise FileNotFoundError(f"{source} does not exist here, and the code does not show which columns it has")
        _tell_columns(columns, str(source))
        days = _days() if dated else ()
        rows = len(days) or _ROWS
        return pandas.DataFrame({name: days if name in dated else _column(name, rows, bool(dated)) for name in columns})

    return read


def _before_renaming(dated: Sequence[str]) -> Sequence[str]:
    """The columns of a table, as many as the program has new names for: days where the new name says so, or first."""
    if not RENAMED:
        return (*COLUMNS, *(name for name in dated if name not in COLUMNS))
    names = list(RENAMED)
    for name in dated:
        places = [place for place, new in enumerate(names) if new in name or name in new]
        names[places[0] if places else 0] = name
    return names


def array(name: str) -> Any:
    """Labels, where the name says so, else what the model of the program takes."""
    if not tflint_files.INPUT:
        raise FileNotFoundError(f"{name} does not exist here, and the code does not show what it contains")
    is_label = any(part in name.lower() for part in ("label", "target")) or name.lower().startswith("y")
    tell(f"{name} of {'labels' if is_label else 'x'.join(map(str, tflint_files.INPUT))}")
    if is_label:
        return tflint_files.draw.integers(0, tflint_files.CLASSES, (_ROWS,))
    return tflint_files.draw.random((_ROWS, *tflint_files.INPUT), dtype="float32")


def loading(function: Callable[..., Any]) -> Callable[..., Any]:
    """Stand for a function that gives arrays of a file, such as `numpy.load` and `numpy.loadtxt`."""

    def load(file: Any, *args: Any, **kwargs: Any) -> Any:
        path = tflint_files.existing(file) if tflint_files.is_path(file) else file
        if path is not None:
            return function(path, *args, **kwargs)
        name = os.path.basename(os.fsdecode(file))
        return _Archive(name) if name.endswith(".npz") else array(name)

    return load


def archive(function: Callable[..., Any]) -> Callable[..., Any]:
    """Stand for `h5py.File`: what is read from a file that is not here is made up, array by array."""

    def opened(name: Any, mode: str = "r", *args: Any, **kwargs: Any) -> Any:
        if not tflint_files.is_path(name):
            return function(name, mode, *args, **kwargs)
        path = tflint_files.existing(name) if mode.startswith("r") or mode == "a" else tflint_files.place_of(name)
        if path is None and mode == "a":
            path = tflint_files.place_of(name)
        return _Archive(os.fsdecode(name)) if path is None else function(path, mode, *args, **kwargs)

    return opened


class _Archive(dict):  # type: ignore[type-arg]  # Python 3.7 knows no `dict[str, Any]`
    """Arrays by their names, made up when asked for."""

    attrs: Mapping[str, Any] = {}

    def __init__(self, path: str) -> None:
        super().__init__()
        self._is_mnist = "mnist" in os.path.basename(path).lower()

    def __missing__(self, name: str) -> Any:
        self[name] = _of_mnist(name) if self._is_mnist else array(name)
        return self[name]

    def __enter__(self) -> _Archive:
        return self

    def __exit__(self, *_: object) -> None:
        """There is nothing to close."""

    def close(self) -> None:
        """Nor here."""


def _of_mnist(name: str) -> Any:
    """As `mnist.npz` of Keras has it, with fewer rows: https://keras.io/api/datasets/mnist."""
    train, test = keras_dataset("mnist")
    images, labels = train if "train" in name else test
    tell(f"{name} of mnist.npz, {len(labels)} rows")
    return labels if name.startswith("y") else images
