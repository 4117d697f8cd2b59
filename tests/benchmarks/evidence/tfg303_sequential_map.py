"""TFG303: the augmentation of images on one core, or on all."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import tensorflow as tf

Workload = tuple[str, Callable[[], None], Callable[[], None]]


def _augment(photo: tf.Tensor) -> tf.Tensor:
    image = tf.image.resize(tf.io.decode_jpeg(photo), (244, 244))
    return tf.image.random_crop(tf.image.random_flip_left_right(image), (224, 224, 3))


def _stateless(photo: tf.Tensor) -> tf.Tensor:
    image = tf.image.resize(tf.io.decode_jpeg(photo), (244, 244))
    return tf.image.stateless_random_crop(
        tf.image.stateless_random_flip_left_right(image, (1, 2)), (224, 224, 3), (1, 2)
    )


def _augment_small(image: tf.Tensor) -> tf.Tensor:
    image = tf.image.random_flip_left_right(tf.cast(image, tf.float32) / 255.0)
    return tf.image.random_crop(tf.image.pad_to_bounding_box(image, 4, 4, 40, 40), (32, 32, 3))


def _read(dataset: tf.data.Dataset) -> None:
    for _ in dataset:
        pass


def _pair(name: str, elements: tf.data.Dataset, function: Callable[..., object]) -> Workload:
    one, all_cores = elements.map(function), elements.map(function, num_parallel_calls=tf.data.AUTOTUNE)
    return name, lambda: _read(one.batch(32)), lambda: _read(all_cores.batch(32))


def _photos(count: int) -> tf.data.Dataset:
    noise = tf.random.stateless_uniform((320, 320, 3), (1, 2), maxval=256, dtype=tf.int32)
    photo = tf.io.encode_jpeg(tf.cast(noise, tf.uint8))
    return tf.data.Dataset.from_tensors(photo).repeat(count)


def _files(count: int) -> list[str]:
    folder = Path(tempfile.mkdtemp())
    content = tf.io.serialize_tensor(tf.random.stateless_normal((2_000,), (1, 2))).numpy()
    paths = [str(folder / f"{index}.tfrecord") for index in range(count)]
    for path in paths:
        with tf.io.TFRecordWriter(path, "GZIP") as writer:
            for _ in range(300):
                writer.write(content)
    return paths


def workloads() -> Iterator[Workload]:
    """Batches of 32, read without a consumer."""
    yield _pair("decode, resize, random flip and crop, 160 photos", _photos(160), _augment)
    yield _pair("the same with stateless draws, 160 photos", _photos(160), _stateless)
    images = tf.data.Dataset.from_tensor_slices(tf.zeros((2_000, 32, 32, 3), tf.uint8))
    yield _pair("random flip and crop, 2,000 images of 32 by 32", images, _augment_small)
    files = tf.data.Dataset.from_tensor_slices(_files(8))
    turns = files.interleave(_records, cycle_length=4)
    threads = files.interleave(_records, cycle_length=4, num_parallel_calls=tf.data.AUTOTUNE)
    yield "8 compressed TFRecord files, 4 at a time", lambda: _read(turns.batch(32)), lambda: _read(threads.batch(32))


def _records(path: tf.Tensor) -> tf.data.Dataset:
    return tf.data.TFRecordDataset(path, "GZIP")


def facts() -> Iterator[tuple[str, str]]:
    """What tf.data's optimizer makes of a map."""
    for name, function in (("with `tf.image.random_*`", _augment), ("with stateless draws", _stateless)):
        yield f"TensorFlow runs a map {name} in parallel", str(_is_made_parallel(function))


def _is_made_parallel(function: Callable[..., object]) -> bool:
    from tensorflow.python.data.experimental.ops import testing

    try:
        _read(_photos(2).apply(testing.assert_next(["ParallelMap"])).map(function))
    except tf.errors.InvalidArgumentError:
        return False
    return True
