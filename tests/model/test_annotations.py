"""What a parameter's annotation, and what a function demands of it, say where nobody is seen to call the function."""

from __future__ import annotations

from pathlib import Path

import pytest
from checks import found

PROGRAM = """\
import typing
from typing import Annotated, List, Optional, Union

import tensorflow as tf
from tensorflow import keras


class Regressor(keras.Model):
    def call(self, rows):
        return rows


class Table:
    pass


def error_of(net: {annotation}, batches: tf.data.Dataset):
    mean = keras.metrics.Mean()
    for features, labels in batches:
        mean.update_state(abs(net(features) - labels))
    return mean.result()
"""


def is_told(code: str, folder: Path) -> bool:
    return any(code == "TFG207" for code, _ in found(code, folder))


@pytest.mark.parametrize(
    "annotation",
    [
        "keras.Model",
        "tf.keras.Sequential",
        "Regressor",
        "Optional[keras.Model]",
        "typing.Optional[Regressor]",
        "Union[keras.Sequential, Regressor]",
        "Union[keras.Model, None]",
        "keras.Model | None",
        'Annotated[keras.Model, "trained"]',
        '"keras.Model"',
        '"Regressor | None"',
        'Optional["Regressor"]',
        "'typing.Optional[keras.Model]'",
    ],
)
def test_annotation_says_model(annotation: str, tmp_path: Path) -> None:
    """Protects that a library's function is understood though nothing in the project calls it."""
    assert is_told(PROGRAM.format(annotation=annotation), tmp_path)


@pytest.mark.parametrize(
    "annotation",
    [
        "Table",
        "keras.layers.Dense | Table",
        "List[keras.Model]",
        "Optional[Table]",
        "'keras.Model and'",
        "int",
        "'Net'",
    ],
)
def test_annotation_says_something_else(annotation: str, tmp_path: Path) -> None:
    """Protects that what may be something else is no model, a list of models neither."""
    assert not is_told(PROGRAM.format(annotation=annotation), tmp_path)


DEMAND = """\
import tensorflow as tf
from tensorflow import keras


def error_of(net, batches: tf.data.Dataset):
    {demand}
    mean = keras.metrics.Mean()
    for features, labels in batches:
        mean.update_state(abs(net(features) - labels))
    return mean.result()
"""


@pytest.mark.parametrize(
    "demand",
    [
        "assert isinstance(net, keras.Model)",
        "assert isinstance(net, tf.keras.Sequential), net",
        "if not isinstance(net, keras.Model): raise TypeError(net)",
    ],
)
def test_function_demands_a_model(demand: str, tmp_path: Path) -> None:
    """Protects that a check of the type, which ends the function for all else, is read as one."""
    assert is_told(DEMAND.format(demand=demand), tmp_path)


@pytest.mark.parametrize(
    "demand",
    [
        "assert not isinstance(net, keras.Model)",
        "if not isinstance(net, keras.Model): print(net)",
        "if isinstance(net, keras.Model): raise TypeError(net)",
        "assert isinstance(net, (keras.Model, dict))",
    ],
)
def test_function_demands_no_model(demand: str, tmp_path: Path) -> None:
    """Protects that a check which lets others through says nothing."""
    assert not is_told(DEMAND.format(demand=demand), tmp_path)
