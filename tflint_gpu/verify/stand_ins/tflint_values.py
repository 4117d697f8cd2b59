"""Makes up values that a piece of your code takes from elsewhere: data sets of libraries, records, models, parameters.

`tflint-gpu verify` lays a copy next to a program in which it puts such a value where nothing gives one. Shapes are
those that the code names (`tflint_files.INPUT` and its neighbours); where it names none, any will do.
"""

from __future__ import annotations

import glob
import os
import pathlib
from collections.abc import Callable, Mapping
from types import SimpleNamespace
from typing import Any

import numpy
import tensorflow as tf
import tflint_archives
import tflint_files
from tflint_files import draw, existing, is_path, place_of, tell

LABELS = "sparse"
"""What the loss takes: "sparse" (class numbers), "one-hot", "binary" or "numbers"."""

VOCABULARY = 0
"""How many tokens a model's first layer knows; 0 where it takes numbers."""

_ROWS = 256
_draw = numpy.random.default_rng(1)

# Element shapes and numbers of classes, as the catalogue of TensorFlow Datasets has them.
_CATALOGUE: dict[str, tuple[tuple[int, ...], int]] = {
    "mnist": ((28, 28, 1), 10),
    "fashion_mnist": ((28, 28, 1), 10),
    "kmnist": ((28, 28, 1), 10),
    "emnist": ((28, 28, 1), 62),
    "cifar10": ((32, 32, 3), 10),
    "cifar100": ((32, 32, 3), 100),
    "svhn_cropped": ((32, 32, 3), 10),
    "stl10": ((96, 96, 3), 10),
    "celeb_a": ((218, 178, 3), 2),
    "cats_vs_dogs": ((300, 400, 3), 2),
    "tf_flowers": ((240, 320, 3), 5),
    "oxford_flowers102": ((500, 600, 3), 102),
    "horses_or_humans": ((300, 300, 3), 2),
    "rock_paper_scissors": ((300, 300, 3), 3),
    "beans": ((500, 500, 3), 3),
    "food101": ((512, 512, 3), 101),
    "malaria": ((142, 148, 3), 2),
    "imagenet2012": ((400, 500, 3), 1000),
    "imagenette": ((400, 500, 3), 10),
    "cycle_gan": ((256, 256, 3), 2),
    "stanford_dogs": ((400, 440, 3), 120),
    "caltech101": ((200, 300, 3), 102),
    "cassava": ((500, 600, 3), 5),
    "citrus_leaves": ((256, 256, 3), 4),
    "colorectal_histology": ((150, 150, 3), 8),
    "deep_weeds": ((256, 256, 3), 9),
    "eurosat": ((64, 64, 3), 10),
    "patch_camelyon": ((96, 96, 3), 2),
    "iris": ((4,), 3),
    "penguins": ((4,), 3),
    "imdb_reviews": ((), 2),
    "coco": ((480, 640, 3), 80),
    "voc": ((375, 500, 3), 20),
}
_WITH_BOXES = {"coco": "is_crowd", "voc": "is_difficult"}  # by what they say of a box besides
_BOXES = 3


_PARTS = {"iris": ("features", "label"), "penguins": ("features", "species")}
# What names the single rows, where the catalogue has that.
_NAMED = {
    "cifar10": "id",
    "cifar100": "id",
    "imagenet2012": "file_name",
    "oxford_flowers102": "file_name",
    "cats_vs_dogs": "image/filename",
}


def catalogued(name: str, split: Any = None, **options: Any) -> Any:
    """What `tensorflow_datasets.load` gives, with made-up rows: a twentieth, to validate with, is a batch."""
    known = name.partition(":")[0].partition("/")[0].replace("_corrupted", "")  # of the same shape
    known = "cifar10" if known == "made up" else known  # the name was, too
    if known not in _CATALOGUE:
        what = f"the dataset {name} of TensorFlow Datasets"
        raise FileNotFoundError(f"{what} is not available here, and its shape is unknown")
    shape, classes = _CATALOGUE[known]
    tell(f"the dataset {name}, of {'x'.join(map(str, shape)) or 'texts'} in {classes} classes")
    rows = _whole_batches(24 * min(max(tflint_files.BATCH, 64), 512) if numpy.prod(shape) < 4000 else 64)
    if options.get("batch_size") == -1 and numpy.prod(shape) < 4000:  # the code may take each class apart
        rows = min(60_000, max(rows, classes * (tflint_archives.LAST_ROW + 100)))

    def read(_: Any) -> Any:
        data: Any = numpy.array(["a synthetic text"] * rows)
        if len(shape) == 1:
            data = _draw.random((rows, *shape), dtype="float32")
        elif shape:
            data = _draw.integers(0, 256, (rows, *shape)).astype("uint8")
        label = _draw.integers(0, classes, (rows,))
        if name.startswith("celeb_a"):
            return tf.data.Dataset.from_tensor_slices({"image": data})
        names = _PARTS.get(known, ("image" if shape else "text", "label"))
        parts: Any = (data, label) if options.get("as_supervised") else dict(zip(names, (data, label)))
        if known in _NAMED and not options.get("as_supervised"):
            parts[_NAMED[known]] = numpy.array([f"{known}_{row:05d}" for row in range(rows)])
        if known in _WITH_BOXES:
            parts = {"image": data, "objects": _boxes(rows, classes, _WITH_BOXES[known])}
        if options.get("batch_size") == -1:
            return tf.nest.map_structure(tf.constant, parts)
        dataset = tf.data.Dataset.from_tensor_slices(parts)
        return dataset.batch(options["batch_size"]) if options.get("batch_size") else dataset

    if split is None:
        result: Any = _Splits(read)
    elif isinstance(split, (list, tuple)):
        result = [read(part) for part in split]
    else:
        result = read(split)
    if not options.get("with_info"):
        return result
    names = [str(number) for number in range(classes)]
    label = SimpleNamespace(num_classes=classes, names=names, int2str=str, str2int=int)
    image = SimpleNamespace(shape=shape, dtype=tf.uint8 if len(shape) > 1 else tf.float32)
    return result, SimpleNamespace(
        name=known,
        features={"label": label, "image": image, "objects": {"label": label}},
        splits=_Splits(lambda _: SimpleNamespace(num_examples=rows)),
    )


def _boxes(rows: int, classes: int, besides: str) -> Mapping[str, Any]:
    """Boxes in each picture, as the least and the largest of y and x, in parts of its sides."""
    corners = _draw.random((rows, _BOXES, 2, 2), dtype="float32")
    labels = _draw.integers(0, classes, (rows, _BOXES))
    sides = numpy.sort(corners, axis=2).reshape((rows, _BOXES, 4))
    return {"bbox": sides, "label": labels, besides: numpy.zeros((rows, _BOXES), bool)}


def _whole_batches(rows: int) -> int:
    """About as many rows, so that no batch is smaller than those of a program, which mostly are whole."""
    batch = min(tflint_files.BATCH or 1, 2 * rows)
    return max(rows // batch, 1) * batch


class _Splits(dict):  # type: ignore[type-arg]  # Python 3.7 knows no `dict[str, Any]`
    """The parts of a data set, whatever their names are; `train` and `test` there are in any case."""

    def __init__(self, read: Callable[[str], Any]) -> None:
        super().__init__(train=read("train"), test=read("test"))
        self._read = read

    def __missing__(self, name: str) -> Any:
        self[name] = self._read(name)
        return self[name]


def builder(name: str, *args: Any, **kwargs: Any) -> Any:
    """What `tensorflow_datasets.builder` gives: it prepares nothing, and its rows are made up."""
    _, info = catalogued(name, with_info=True)

    def as_dataset(split: Any = None, **options: Any) -> Any:
        return catalogued(name, split, **options)

    return SimpleNamespace(
        name=info.name, info=info, as_dataset=as_dataset, download_and_prepare=lambda *args, **kwargs: None
    )


def keras_numbers(name: str, cut: int = 0) -> Callable[..., Any]:
    """What `load_data` of Keras' data sets of texts and tables gives, with their shapes and fewer rows.

    Arguments:
        cut: see `tflint_data.keras_dataset`.
    """

    def load_data(num_words: Any = None, maxlen: Any = None, **options: Any) -> Any:
        tell(f"the dataset keras.datasets.{name}")
        columns = {"boston_housing": 13, "california_housing": 8}.get(name)

        def part(rows: int) -> Any:
            if columns:
                return _draw.random((rows, columns)), _draw.random(rows) * 50
            texts = numpy.empty(rows, dtype=object)
            for row in range(rows):
                length = int(_draw.integers(20, 300))
                texts[row] = _draw.integers(1, num_words or 10_000, length).tolist()
            return texts, _draw.integers(0, 2 if name == "imdb" else 46, rows)

        return (part(25_000), part(25_000)) if cut > 512 and not columns else (part(1024), part(512))

    return load_data


def old_array(function: Callable[..., Any]) -> Callable[..., Any]:
    """Stand for `numpy.array`: of rows of unequal length it makes an array of objects, as before NumPy 1.24."""

    def array(rows: Any) -> Any:
        try:
            return function(rows)
        except ValueError as error:
            if "inhomogeneous" not in str(error):
                raise
            tell("arrays of rows of unequal length (NumPy before 1.24)")
            return function(rows, dtype=object)

    return array


def decoded(function: Callable[..., Any]) -> Callable[..., Any]:
    """Stand for `decode_predictions`, which would fetch the names of ImageNet's classes: they are numbers."""

    def decode(predictions: Any, top: int = 5) -> Any:
        tell("the names of ImageNet's classes")
        best = numpy.argsort(predictions, axis=1)[:, ::-1][:, :top]
        return [
            [(f"n{number:08d}", f"class_{number}", float(row[number])) for number in numbers]
            for row, numbers in zip(predictions, best)
        ]

    return decode


def records(function: Callable[..., Any]) -> Callable[..., Any]:
    """Stand for `tf.data.TFRecordDataset`: files that are not here are written when it is known what is parsed."""

    def read(filenames: Any, *args: Any, **kwargs: Any) -> Any:
        names = [filenames] if is_path(filenames) else filenames
        if isinstance(names, (list, tuple)) and all(is_path(name) for name in names):
            places = [existing(name) for name in names]
            if not names or None in places:
                tflint_files.empty_records.append(place_of("made_up.tfrecord"))
                return function(tflint_files.empty_records[-1], *args, **kwargs)
            return function(places, *args, **kwargs)
        return function(filenames, *args, **kwargs)

    return read


def image_folder(function: Callable[..., Any]) -> Callable[..., Any]:
    """Stand for what reads images from a folder with a folder for each class."""
    classes = max(tflint_files.CLASSES, 1)

    def write(place: str) -> None:
        tflint_files.write_image(place + ".png", ".png")

    what = f"images of {'x'.join(map(str, tflint_files.IMAGE))}"
    return _reading_folder(function, what, classes, max(tflint_files.count_of_images(), 4 * classes), write)


def text_folder(function: Callable[..., Any]) -> Callable[..., Any]:
    """Stand for what reads texts from a folder with a folder for each class."""
    classes = 2 if LABELS == "binary" else max(tflint_files.CLASSES, 1)

    def write(place: str) -> None:
        with open(place + ".txt", "w") as file:
            file.write(f"a synthetic text with the name {os.path.basename(place)}")

    return _reading_folder(function, "texts", classes, max(_ROWS, 4 * classes), write)


def _reading_folder(
    function: Callable[..., Any], what: str, classes: int, count: int, write: Callable[[str], None]
) -> Callable[..., Any]:
    def read(directory: Any, *args: Any, **kwargs: Any) -> Any:
        place = existing(directory) if is_path(directory) else directory
        if place is None:
            place = os.path.dirname(place_of(os.path.join(os.fsdecode(directory), "x")))
            for number in range(count):
                write(place_of(os.path.join(place, f"class_{number % classes:02d}", f"{number:03d}")))
            tell(f"{what} in {classes} classes ({os.path.basename(place)})")
        return function(place, *args, **kwargs)

    return read


def listing_itself(function: Callable[..., Any]) -> Callable[..., Any]:
    """Stand for `path.glob` and its kin: where the folder has no such files, they are made up."""
    path = getattr(function, "__self__", None)
    if not isinstance(path, pathlib.Path):
        return function

    def listed(pattern: str) -> Any:
        if next(iter(function(pattern)), None) is not None:
            return function(pattern)
        place = tflint_files.listing(str)(os.path.join(str(path), "**" * (function.__name__ == "rglob"), pattern))
        return iter(sorted(pathlib.Path(file) for file in glob.glob(place, recursive=True)))

    return listed


def parsed(function: Callable[..., Any]) -> Callable[..., Any]:
    """Stand for `tf.io.parse_single_example`: missing records get the features that it is asked for."""

    def parse(serialized: Any, features: Mapping[str, Any], *args: Any, **kwargs: Any) -> Any:
        for place in tflint_files.empty_records:
            if not os.path.exists(place) or not os.path.getsize(place):
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


def inputs(rows: int = _ROWS) -> Any:
    """Rows for a model: of the shape that the code names."""
    shape = tflint_files.INPUT or (16,)
    if VOCABULARY:
        return _draw.integers(0, VOCABULARY, (rows, *shape)).astype("int32")
    return _draw.random((rows, *shape), dtype="float32")


def labels(rows: int = _ROWS) -> Any:
    """What belongs to `inputs`: what the loss takes."""
    classes = max(tflint_files.CLASSES, 1)
    numbers = _draw.integers(0, classes, rows)
    if LABELS == "one-hot":
        return numpy.eye(classes, dtype="float32")[numbers]
    if LABELS == "binary":
        return _draw.integers(0, 2, (rows, 1)).astype("float32")
    if LABELS == "numbers":
        return _draw.random((rows, classes), dtype="float32")
    return numbers


def loss() -> Any:
    """A loss that fits the labels."""
    losses = tf.keras.losses
    if LABELS == "one-hot":
        return losses.CategoricalCrossentropy(from_logits=True)
    if LABELS == "binary":
        return losses.BinaryCrossentropy(from_logits=True)
    return losses.MeanSquaredError() if LABELS == "numbers" else losses.SparseCategoricalCrossentropy(from_logits=True)


def model() -> Any:
    """A small model, compiled, that takes `inputs` and gives what fits `labels`."""
    units = 1 if LABELS == "binary" else max(tflint_files.CLASSES, 2 if LABELS != "numbers" else 1)
    shape = tflint_files.INPUT or (16,)
    layers = [tf.keras.layers.Embedding(VOCABULARY, 16)] if VOCABULARY else []
    layers += [tf.keras.layers.Flatten(), tf.keras.layers.Dense(64, activation="relu"), tf.keras.layers.Dense(units)]
    made = tf.keras.Sequential([tf.keras.layers.InputLayer(shape), *layers])
    made.compile(optimizer="adam", loss=loss())
    return made


def optimizer() -> Any:
    """Any optimizer."""
    return tf.keras.optimizers.Adam()


def strategy() -> Any:
    """The strategy of a program that has none."""
    return tf.distribute.get_strategy()


def rows(parts: int = 2) -> Any:
    """A dataset of single rows, or of rows with their labels."""
    return tf.data.Dataset.from_tensor_slices(inputs() if parts == 1 else (inputs(), labels()))


def batches(parts: int = 2) -> Any:
    """A dataset of batches."""
    return rows(parts).batch(32)


def tensor() -> Any:
    """A batch of inputs on TensorFlow's side."""
    return tf.constant(inputs(32))


def targets() -> Any:
    """The labels of `tensor`."""
    return tf.constant(labels(32))
