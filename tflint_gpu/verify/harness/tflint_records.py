"""Makes up the TFRecord files that a piece of your code asks for and that are not here: with what it parses of them.

`tflint-gpu verify` lays a copy next to a program in which something reads such data; see `tflint_files`.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import Any

import numpy
import tensorflow as tf
import tflint_files
from tflint_files import draw, existing, is_path, place_of, tell


def records(function: Callable[..., Any]) -> Callable[..., Any]:
    """Stand for `tf.data.TFRecordDataset`: files that are not here are written when it is known what is parsed."""

    def read(filenames: Any, *args: Any, **kwargs: Any) -> Any:
        names = [filenames] if is_path(filenames) else filenames
        if isinstance(names, (list, tuple)) and all(is_path(name) for name in names):
            places = [existing(name) for name in names]
            if not names or None in places:
                _MISSING.append(place_of("made_up.tfrecord"))
                return function(_MISSING[-1], *args, **kwargs)
            return function(places, *args, **kwargs)
        return function(filenames, *args, **kwargs)

    return read


_MISSING: list[str] = []


def parsed(function: Callable[..., Any]) -> Callable[..., Any]:
    """Stand for `tf.io.parse_single_example`: missing records get the features that it is asked for."""

    def parse(serialized: Any, features: Mapping[str, Any], *args: Any, **kwargs: Any) -> Any:
        for place in _MISSING:
            if not os.path.exists(place):
                with tf.init_scope():  # `map` traces this, and a file is written now
                    _write_records(place, features)
        return function(serialized, features, *args, **kwargs)

    converted: Callable[..., Any] = tf.autograph.experimental.do_not_convert(parse)
    return converted


def _write_records(place: str, features: Mapping[str, Any]) -> None:
    with tf.io.TFRecordWriter(place) as writer:
        for _ in range(64):
            made = {name: _feature(name, feature) for name, feature in features.items()}
            writer.write(tf.train.Example(features=tf.train.Features(feature=made)).SerializeToString())
    tell(f"records with the features {', '.join(features)}")


def _feature(name: str, feature: Any) -> Any:
    shape = getattr(feature, "shape", None)
    count = int(numpy.prod(shape)) if shape is not None else 3
    dtype = tf.as_dtype(feature.dtype)
    if dtype == tf.string:
        image = draw.integers(0, 256, tflint_files.IMAGE).astype("uint8")
        is_image = any(part in name.lower() for part in ("image", "img", "encoded", "jpeg", "png"))
        value = tf.io.encode_jpeg(tf.constant(image)).numpy() if is_image else b"text"
        return tf.train.Feature(bytes_list=tf.train.BytesList(value=[value] * count))
    if dtype.is_floating:
        return tf.train.Feature(float_list=tf.train.FloatList(value=draw.random(count).tolist()))
    whole = draw.integers(0, tflint_files.CLASSES, count).tolist()
    return tf.train.Feature(int64_list=tf.train.Int64List(value=whole))
