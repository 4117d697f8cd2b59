"""Makes up trained models, and what loads the weights of one, where there is no file of them.

`tflint-gpu verify` lays a copy next to a program that asks for such a file; see `tflint_files`.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Sequence
from typing import Any

import tensorflow as tf
import tflint_files
from tflint_files import existing, is_path, tell

HAS_ANY_SIZE = False  # the model takes images of any height and width


def weights(function: Callable[..., Any]) -> Callable[..., Any]:
    """Stand for `model.load_weights` and its kin: without the file the weights stay as they are, at the same speed."""

    def load(*args: Any, **kwargs: Any) -> Any:
        paths = [value for value in (*args, *kwargs.values()) if is_path(value)]
        if not paths:  # a method that knows where they are may make the model, too, and what it reads is made up in it
            with contextlib.suppress(Exception):  # each library has its own for what is not there
                return function(*args, **kwargs)
        if not any(existing(path) for path in paths):
            tell("the model's initial weights in place of trained ones")
            return None
        given = [existing(value) or value if is_path(value) else value for value in args]
        return function(*given, **kwargs)

    return load


def loaded(function: Callable[..., Any]) -> Callable[..., Any]:
    """Stand for `keras.models.load_model`: a small model where there is no file of one."""

    def load(path: Any, *args: Any, **kwargs: Any) -> Any:
        shape, classes = tflint_files.INPUT, tflint_files.CLASSES
        place = existing(path) if is_path(path) else path
        if place is not None:
            return function(place, *args, **kwargs)
        tell(f"a small model for {os.path.basename(os.fsdecode(path))}")
        return _small_model(shape, classes)

    return load


def _small_model(shape: Sequence[int], classes: int) -> Any:
    """Of convolutions for images, or for rows of any shape. It has any layer that is asked for by its name."""
    layers = tf.keras.layers
    first: Any = layers.Dense(16, activation="relu")
    if not shape:
        made = tf.keras.Sequential([first, layers.Dense(classes, activation="sigmoid")])
    else:
        is_image = len(shape) == 3
        first = layers.Conv2D(16, 3, padding="same", activation="relu") if is_image else layers.Flatten()
        given = tf.keras.Input((None, None, shape[2]) if is_image and HAS_ANY_SIZE else shape)
        features = layers.GlobalAveragePooling2D()(first(given)) if is_image else first(given)
        made = tf.keras.Model(given, layers.Dense(classes, "softmax")(features))
    known = made.get_layer

    def get_layer(name: Any = None, index: Any = None) -> Any:
        try:
            return known(name, index)
        except ValueError:
            tell(f"a layer for {name}")
            return first

    made.get_layer = get_layer
    return made
