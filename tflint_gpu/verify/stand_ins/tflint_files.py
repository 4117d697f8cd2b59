"""Makes up the files and data sets that a piece of your code asks for and that are not here.

`tflint-gpu verify` lays a copy next to a program in which something reads such data, and puts the functions below
around the calls that do. A file that is there is read, looked for in your own folders, too; only for what is missing
something is made up, below the folder in which the program runs. Nothing is fetched from anywhere. What was made up
is reported in the result.
"""

from __future__ import annotations

import functools
import os
import pathlib
import re
import string
import zipfile
from collections.abc import Callable, Sequence
from typing import Any

import numpy
import tensorflow as tf
import tflint_archives
import tflint_tables
from tflint_archives import WORDS
from tflint_outcome import tell as tell

FOLDERS: tuple[str, ...] = ()
"""Where files are looked for that are not in the working directory."""

IMAGE: tuple[int, ...] = (256, 512, 3)
INPUT: tuple[int, ...] = ()
CLASSES = 2
SEPARATOR = " "
FIELDS = 0
NUMBERS: tuple[int, ...] = ()
"""Which fields of a line are whole numbers."""

LINES = 600
BATCH = 0
HAS_FOLDERS = HAS_BOXES = False
"""Images are in folders of their classes; lines name an image and the boxes in it, `a.jpg 10,20,90,80,0`."""

ENDING = ".png"
HAS_AMOUNTS_AS_ACTIONS = False  # they are numbers of any size, not one of several

_HERE = os.getcwd()
_GIVEN = ("filename", "file", "fname", "path", "filepath", "name", "annotation_file", "model_file")
_FILES, _MOST_PIXELS = 12, 10_000_000
_DIFFERENT, _CLASSES = 600, 20  # lines of a text, and of one that names classes
_IMAGES = (".jpg", ".jpeg", ".png", ".bmp", ".gif", ".tif", ".tiff", ".webp")
_TEXTS = (".txt", ".names", ".classes", ".md", ".text", ".en", ".de", ".fr", ".vocab", ".tsv", "")
_OF_CHECKPOINTS = re.compile(r"checkpoint|ckpt", re.IGNORECASE)
_TABLES = (".csv", ".data", ".tab")

draw = numpy.random.default_rng(1)
empty_records: list[str] = []  # TFRecord files that are filled when it is known what is parsed


def existing(path: Any) -> str | None:
    """Where a file or folder is, if it is anywhere; None otherwise."""
    name = os.path.expanduser(os.fsdecode(path))
    for place in (name, os.path.join(_HERE, name.lstrip("/\\")), *(os.path.join(folder, name) for folder in FOLDERS)):
        if os.path.exists(place):
            return place
    return None


def place_of(path: Any) -> str:
    """Where a made-up file lies: below the working directory, wherever the original would be."""
    name = os.path.normpath(os.path.expanduser(os.fsdecode(path)))
    if os.path.isabs(name) and not name.startswith(_HERE + os.sep):
        name = name.lstrip("/\\")
    while name.startswith(".." + os.sep):
        name = name[3:]
    place = os.path.join(_HERE, name)
    os.makedirs(os.path.dirname(place), exist_ok=True)
    return place


def is_path(value: Any) -> bool:
    """Whether a value may name a file."""
    return isinstance(value, (str, bytes, os.PathLike))


def reading(function: Callable[..., Any], make: Callable[[Any], str | None] | None = None) -> Callable[..., Any]:
    """Stand for a function that reads a file or folder, given by its first argument.

    Arguments:
        make: writes a file that is not here; by default what its ending tells.
    """
    make = make or made

    @functools.wraps(function)
    def read(*args: Any, **kwargs: Any) -> Any:
        names = [name for name in _GIVEN if name in kwargs]
        given = args[0] if args else kwargs[names[0]] if names else None
        mode = str(kwargs.get("mode", args[1] if len(args) > 1 and isinstance(args[1], str) else "r"))
        if not is_path(given):
            return function(*args, **kwargs)
        path = place_of(given) if mode[:1] in "wax" and mode != "" and len(mode) < 4 else existing(given) or make(given)
        if path is None:
            return function(*args, **kwargs)
        if args:
            return function(path, *args[1:], **kwargs)
        return function(**{**kwargs, names[0]: path})

    return read


def reading_itself(function: Callable[..., Any]) -> Callable[..., Any]:
    """Stand for `path.read_text` and its kin, which read the file that they are of."""
    path = getattr(function, "__self__", None)
    place = (existing(path) or made(path)) if isinstance(path, pathlib.Path) else None
    read: Callable[..., Any] = function if place is None else getattr(pathlib.Path(place), function.__name__)
    return read


def picture(function: Callable[..., Any]) -> Callable[..., Any]:
    """Stand for a function that reads an image: it is one whatever the name ends with."""
    return reading(function, _made_image)


def _made_image(path: Any) -> str:
    ending = os.path.splitext(os.fsdecode(path))[1].lower()
    place = place_of(path)
    write_image(place, ending)
    tell(f"{ending or ENDING} images of {'x'.join(map(str, IMAGE))}")
    return place


def writing(function: Callable[..., Any]) -> Callable[..., Any]:
    """Stand for a function that writes to its first argument: below the working directory, where folders are made."""

    @functools.wraps(function)
    def write(path: Any = None, *args: Any, **kwargs: Any) -> Any:
        if path is None:
            return function(*args, **kwargs)
        return function(place_of(path) if is_path(path) else path, *args, **kwargs)

    return write


def writing_to(function: Callable[..., Any]) -> Callable[..., Any]:
    """Stand for a method that writes what it is of, or what it is given: below the working directory, as `writing`."""

    def write(*args: Any, **kwargs: Any) -> Any:
        number = next((number for number, value in enumerate(args) if is_path(value)), None)
        if number is None:
            return function(*args, **kwargs)
        place = place_of(args[number])  # it makes the folder
        if os.path.abspath(os.fsdecode(args[number])) != place:
            args = (*args[:number], place, *args[number + 1 :])
        return function(*args, **kwargs)

    return write


def read_bytes(function: Callable[..., Any]) -> Callable[..., Any]:
    """Stand for `tf.io.read_file`; in a graph, where no value is known, it is what it was."""

    def read(filename: Any, *args: Any, **kwargs: Any) -> Any:
        name = filename.numpy() if hasattr(filename, "numpy") else filename
        if is_path(name) and existing(name) is None:
            filename = made(name) or filename
        return function(filename, *args, **kwargs)

    converted: Callable[..., Any] = tf.autograph.experimental.do_not_convert(read)
    return converted


def made(path: Any) -> str | None:
    """A file of the kind that its ending tells; None where nothing can be made up."""
    ending = os.path.splitext(os.fsdecode(path))[1].lower()
    place = place_of(path)
    if ending in _IMAGES:
        return _made_image(path)
    known = tflint_archives.written(place)
    if known:
        tell(known)
    elif ending in _TABLES and tflint_tables.COLUMNS and not FIELDS:
        tflint_tables.write(place)
    elif ending in _TEXTS or (ending in _TABLES and FIELDS):
        tell(f"a text of {_write_text(place)} lines ({os.path.basename(place)})")
    elif ending == ".npy":
        numpy.save(place, tflint_tables.array(os.path.basename(place)))
    elif ending == ".zip":
        count = _write_text(place + ".txt")
        with zipfile.ZipFile(place, "w") as archive:
            archive.write(place + ".txt", os.path.basename(place)[:-4])
        tell(f"a text of {count} lines ({os.path.basename(place)})")
    else:
        return None
    return place


def sized(function: Callable[..., Any]) -> Callable[..., Any]:
    """Stand for `os.stat` and `os.path.getsize`: a made-up file has whatever size it is compared with."""

    def size(path: Any, *args: Any, **kwargs: Any) -> Any:
        place = (existing(path) or made(path)) if is_path(path) else None
        known = function(place or path, *args, **kwargs)
        is_made_up = place is not None and os.path.abspath(place).startswith(_HERE + os.sep)
        return tflint_archives.of_any_size(known) if is_made_up else known

    return size


def write_image(place: str, ending: str) -> None:
    image = draw.integers(0, 256, IMAGE).astype("uint8")
    encode = tf.image.encode_jpeg if ending in (".jpg", ".jpeg") else tf.image.encode_png  # in `tf.io` since 2.1
    with open(place, "wb") as file, tf.init_scope():  # what asks for it may be traced
        if tf.executing_eagerly():
            file.write(encode(tf.constant(image)).numpy())
        else:
            with tf.Graph().as_default(), tf.compat.v1.Session() as session:
                file.write(session.run(encode(tf.constant(image))))


def _write_text(place: str) -> int:
    """Write lines, and return how many there are."""
    name = os.path.basename(place)
    count = _CLASSES if "class" in name or name.endswith(".names") else LINES
    if HAS_BOXES and count == LINES:
        lines = [_line_of_boxes(os.path.dirname(place), row) for row in range(_FILES)]
    else:
        same = numpy.random.default_rng(1)  # all texts alike: what is trained with has the words of what is tested with
        words = same.choice(WORDS, (min(LINES, _DIFFERENT), FIELDS or 3, 8))
        lines = [_line([" ".join(field) for field in fields], row) for row, fields in enumerate(words)]
        lines[0] = _line([string.printable[:95]] * (FIELDS or 2), 0)
    with open(place, "w") as file:
        file.writelines(lines[row % len(lines)] for row in range(count))
    return count


def _line_of_boxes(folder: str, row: int) -> str:
    """An image, which is made up, and two boxes in it, each with the number of its class."""
    name = os.path.join(folder, f"boxes_{row:03d}{ENDING}")
    write_image(name, ENDING)
    corners = draw.integers(0, min(IMAGE[:2]) // 2, (2, 2))
    sides = draw.integers(min(IMAGE[:2]) // 8, min(IMAGE[:2]) // 2, (2, 2))
    boxes = [[*corner, *(corner + side), row % max(CLASSES, 1)] for corner, side in zip(corners, sides)]
    return " ".join([name, *(",".join(map(str, box)) for box in boxes)]) + "\n"


def _line(fields: Sequence[str], row: int) -> str:
    """One line of fields; where the program takes lines apart, none of them holds what stands between them."""
    if FIELDS:
        texts = (field.replace(SEPARATOR, "_") for field in fields)
        fields = [str(row % max(CLASSES, 1)) if index in NUMBERS else text for index, text in enumerate(texts)]
    return SEPARATOR.join(fields) + "\n"


def listing(function: Callable[..., Any]) -> Callable[..., Any]:
    """Stand for what lists the files of a folder or of a pattern: where there are none, images are made up."""

    @functools.wraps(function)
    def listed(pattern: Any, *args: Any, **kwargs: Any) -> Any:
        patterns = [pattern] if is_path(pattern) else pattern
        if not isinstance(patterns, (list, tuple)) or not all(is_path(pattern) for pattern in patterns):
            return function(pattern, *args, **kwargs)
        places = [_filled(os.fsdecode(pattern)) for pattern in patterns]
        return function(places[0] if is_path(pattern) else places, *args, **kwargs)

    return listed


def _filled(pattern: str) -> str:
    """The same pattern or folder where it has files."""
    import glob

    has_wildcards = any(mark in pattern for mark in "*?[")
    for place in (pattern, os.path.join(_HERE, pattern), *(os.path.join(folder, pattern) for folder in FOLDERS)):
        if glob.glob(place) if has_wildcards else os.path.exists(place):
            return place
    place = place_of(os.path.join(pattern, "x"))[:-2] if not has_wildcards else place_of(pattern)
    if _OF_CHECKPOINTS.search(pattern) and os.path.splitext(pattern)[1] in ("", ".index"):
        tell(tflint_archives.checkpoints(os.path.dirname(re.split(r"[*?[]", place)[0]) if has_wildcards else place))
        return place
    count = count_of_images()
    paths = [_listed(place, number, has_wildcards) for number in range(count)]
    if "tfrecord" in os.path.basename(pattern).lower():
        empty_records.extend(paths)
        return place
    for path in paths:
        ending = os.path.splitext(path)[1].lower()
        if ending in _IMAGES:
            write_image(path, ending)
        elif made(path) is None:
            raise FileNotFoundError(f"{pattern} does not exist here, and the code does not show what it contains")
    if ending in _IMAGES:
        named = pattern.replace(_HERE + os.sep, "", 1)
        tell(f"{count} {ending} images of {'x'.join(map(str, IMAGE))} ({named})")
    return place


def _listed(place: str, number: int, has_wildcards: bool) -> str:
    within = ("*", f"*{ENDING}") if HAS_FOLDERS else (f"*{ENDING}",)
    name = place.replace("**", "part").replace("?", "a") if has_wildcards else os.path.join(place, *within)
    folder, last = os.path.split(name)
    path = os.path.join(folder.replace("*", f"class_{number % CLASSES}"), re.sub(r"(\.\w+)\*$", r"\1", last))
    path = path.replace("*", f"{number:03d}")
    path += "" if os.path.splitext(path)[1] else ENDING
    os.makedirs(os.path.dirname(path), exist_ok=True)
    open(path, "a").close()
    return path


def count_of_images() -> int:
    """How many images there are: two whole batches, if that is not too much to write."""
    return max(_FILES, min(2 * BATCH, _MOST_PIXELS // (IMAGE[0] * IMAGE[1])))
