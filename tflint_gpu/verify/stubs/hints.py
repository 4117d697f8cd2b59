"""What the code of a program says of data that is not there: shapes, classes, columns."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Any

import libcst as cst

from tflint_gpu.lazy_dataclasses import dataclass
from tflint_gpu.model import Model
from tflint_gpu.model.library.classes import INPUT_LAYERS
from tflint_gpu.model.library.keras_methods import LABELS_OF_LOSSES
from tflint_gpu.model.library.operations import RESIZES
from tflint_gpu.model.python.project.file import File
from tflint_gpu.model.python.syntax.syntax import argument
from tflint_gpu.verify.stubs.readers import ARCHIVES, FILES, NETWORKS, TABLES, VALUES, last_row_of
from tflint_gpu.verify.stubs.rows import (
    columns_of_words,
    days,
    fields,
    has_whole_numbers,
    keys,
    numbers_between,
    picked_fields,
    renamed_columns,
)

_LAST_LAYERS = ("keras.layers.Dense",)
_LARGEST_SIDE, _UNKNOWN_SIDE = 2048, 8
_FROM_ROW = re.compile(r"\[\s*(\d[\d_]{2,6})\s*:")  # `sentences[100_000:]`
_LINES_AFTER = 600
_ENDINGS = re.compile(r"""(?:['"]|\.)(jpe?g|png|bmp|tiff?)['"]""")  # `"a/*.png"`, and `name.split(".")[1] == "png"`
# `batch_size=32`, `batch(32)`, `"batch_size", 32`, `"--batch_size", type=int, default=32`
_BATCHES = re.compile(
    r"""(?:\bbatch(?:_?si?ze?)?\s*[=(]|batch_?size['"]\s*,(?:\s*type\s*=\s*int\s*,)?(?:\s*default\s*=)?)\s*(\d{1,4})\b""",
    re.IGNORECASE,
)
# `w = tf.shape(picture)[1]`, `half = w // 2`, `picture[:, :half]`, `picture[:, half:]`
_WIDTHS = re.compile(r"\b(\w+)\s*=\s*(?:[\w.]*\bshape\([\w.]+\)|[\w.]+\.shape)\[1\]")
_HALVES = r"\b(\w+)\s*=\s*(?:\w+\(\s*)?{}\s*//?\s*2\b"
_BOXES = re.compile(r"map\(\s*int\s*,\s*(\w+)\.split\(\s*['\"],['\"]\s*\)[\s)]*for\s+\1\s+in\b")
_OF_IMAGES = re.compile(r"\.input_shape\[1:(?:-1|3)\]")  # `model.input_shape[1:-1]`, height and width
_SMALL_IMAGE = (64, 64, 3)
_AMOUNTS = re.compile(r"\baction_space\.(?:shape|high|low)\b")

Shape = tuple[int, ...]
Sides = tuple[int | None, ...]  # of which some may be unknown


@dataclass(frozen=True, slots=True)
class Hints:
    """What is known of the data of a program; empty or zero where the code does not say.

    Arguments:
        inputs: the shape of one row that the model takes.
        has_any_size: images of other heights and widths do, too, and nothing asks the model for these.
        image: height, width and channels of image files.
        classes: how many numbers the model gives for a row.
        columns: of tables.
        texts: which of them hold words.
        renamed: the names that all of them get, in their order.
        days: the first and the last that the code names.
        has_whole_numbers: what tables hold goes into tensors of whole numbers.
        labels: what the loss takes, as `tflint_values.LABELS` has it.
        vocabulary: how many tokens the first layer knows.
        ending: of image files.
        separator: of the fields in a text's lines.
        fields: how many a line has.
        numbers: which of them are whole numbers.
        keys: of the JSON objects that lines hold.
        sizes: keys of the JSON object that a file holds, of a network's sizes.
        lines: how many a text has.
        batch: rows of the largest batch.
        last_row: at which the code takes data apart.
        has_boxes: lines name an image and the boxes in it.
        has_folders: folders hold one for each class, which the program asks for.
        has_amounts: actions of environments are numbers of any size, not one of several.
    """

    inputs: Shape = ()
    has_any_size: bool = False
    image: Shape = ()
    classes: int = 0
    columns: tuple[str, ...] = ()
    texts: tuple[str, ...] = ()
    renamed: tuple[str, ...] = ()
    days: tuple[str, ...] = ()
    has_whole_numbers: bool = False
    labels: str = ""
    vocabulary: int = 0
    ending: str = ""
    separator: str = ""
    fields: int = 0
    numbers: tuple[int, ...] = ()
    keys: tuple[str, ...] = ()
    sizes: tuple[str, ...] = ()
    lines: int = 0
    batch: int = 0
    last_row: int = 0
    has_boxes: bool = False
    has_folders: bool = False
    has_amounts: bool = False

    def settings(self) -> Iterator[str]:
        """The statements that tell the modules next to the program."""
        for module, name, value in (
            (FILES, "IMAGE", self.image),
            (FILES, "INPUT", self.inputs),
            (NETWORKS, "HAS_ANY_SIZE", self.has_any_size),
            (FILES, "CLASSES", self.classes),
            (TABLES, "COLUMNS", self.columns),
            (TABLES, "TEXTS", self.texts),
            (TABLES, "RENAMED", self.renamed),
            (TABLES, "DAYS", self.days),
            (TABLES, "HAS_WHOLE_NUMBERS", self.has_whole_numbers),
            (FILES, "SEPARATOR", self.separator),
            (FILES, "FIELDS", self.fields),
            (FILES, "NUMBERS", self.numbers),
            (ARCHIVES, "KEYS", self.keys),
            (ARCHIVES, "SIZES", self.sizes),
            (FILES, "LINES", self.lines),
            (FILES, "BATCH", self.batch),
            (ARCHIVES, "LAST_ROW", self.last_row),
            (FILES, "HAS_BOXES", self.has_boxes),
            (FILES, "HAS_FOLDERS", self.has_folders),
            (FILES, "ENDING", self.ending),
            (FILES, "HAS_AMOUNTS_AS_ACTIONS", self.has_amounts),
            (VALUES, "LABELS", self.labels),
            (VALUES, "VOCABULARY", self.vocabulary),
        ):
            if value:
                yield f"{module}.{name} = {value!r}"


def hints_of(entry: Model, files: Sequence[File]) -> Hints:
    """What the files of a program say, the one that is run first."""
    reader = _Reader(entry)
    dense = [units for file in files for units in reader.numbers(file, _LAST_LAYERS, "units")]
    classes = dense[-1] if dense else 0
    columns = next((names for file in files for names in reader.columns(file)), ())
    columns = columns or tuple(dict.fromkeys(name for file in files for name in reader.used_columns(file)))
    known = (field for file in files for field in fields(file))
    picked = (field for file in files if not columns for field in picked_fields(file, max(classes, 1)))
    between = (field for file in files for field in numbers_between(file))
    separator, count, numbers = next(chain(known, picked, between), ("", 0, ()))
    vocabulary = [number for file in files for number in reader.numbers(file, ("keras.layers.Embedding",), "input_dim")]
    given = next((shape for file in files for shape in reader.input_shapes(file)), ())
    inputs = tuple(_UNKNOWN_SIDE if side is None else side for side in given)
    image = next((shape for file in files for shape in reader.image_shapes(file)), ())
    if not inputs and any(_OF_IMAGES.search(file.source.code) for file in files):
        inputs = image or _SMALL_IMAGE
    image = image or (inputs if len(inputs) == 3 and inputs[2] in (1, 3, 4) else ())
    if image and any(map(_holds_two, files)):
        image = (image[0], 2 * image[1], *image[2:])
    return Hints(
        inputs=inputs,
        has_any_size=len(given) == 3
        and given[:2] == (None, None)
        and not any(".input_shape[" in file.source.code for file in files),
        image=image,
        classes=classes,
        columns=columns,
        texts=tuple(dict.fromkeys(name for file in files for name in columns_of_words(file) if name in columns)),
        renamed=next((names for file in files for names in renamed_columns(file)), ()),
        days=days(files),
        has_whole_numbers=any(map(has_whole_numbers, files)),
        labels=next((label for file in files for label in reader.labels(file)), ""),
        vocabulary=vocabulary[0] if vocabulary else 0,
        ending=_ending(files),
        separator=separator
        or ("\t" if any(f"{quote}\\t{quote}" in f.source.code for f in files for quote in "'\"") else ""),
        fields=count,
        keys=tuple(dict.fromkeys(key for file in files for key in keys(file, "json.loads"))),
        sizes=tuple(dict.fromkeys(key for file in files for key in keys(file, "json.load"))),
        numbers=numbers,
        lines=max((int(n) + _LINES_AFTER for f in files for n in _FROM_ROW.findall(f.source.code)), default=0),
        batch=max((int(n) for file in files for n in _BATCHES.findall(file.source.code)), default=0),
        last_row=max(map(last_row_of, files), default=0),
        has_boxes=any(_BOXES.search(file.source.code) for file in files),
        has_folders=any("path.isdir(os.path.join(" in file.source.code for file in files),
        has_amounts=any(_AMOUNTS.search(file.source.code) for file in files)
        and not any("action_space.n" in file.source.code for file in files),
    )


class _Reader:
    """Reads constants of a program's files."""

    def __init__(self, entry: Model) -> None:
        self._entry = entry

    def numbers(self, file: File, names: tuple[str, ...], keyword: str) -> Iterator[int]:
        """The first argument of some calls, where it is a whole number."""
        for call in file.calls(*names):
            value = self._value(file, argument(call, 0, keyword))
            if isinstance(value, int) and 0 < value <= 10**6:
                yield value

    def input_shapes(self, file: File) -> Iterator[Sides]:
        """What the first layers of models take, without the batch."""
        for call in file.calls(*sorted(INPUT_LAYERS)):
            yield from self._shape(file, argument(call, 0, "shape"))
        for call in file.tree.calls:
            for arg in call.args:
                name = arg.keyword.value if arg.keyword is not None else ""
                if name == "input_shape":
                    yield from self._shape(file, arg.value)
                elif name in ("batch_shape", "batch_input_shape"):
                    yield from (shape[1:] for shape in self._shape(file, arg.value))
                elif name == "input_dim" and file.name(call.func) == "keras.layers.Dense":
                    value = self._value(file, arg.value)
                    if isinstance(value, int) and value > 0:
                        yield (value,)

    def image_shapes(self, file: File) -> Iterator[Shape]:
        """The sizes to which images are brought."""
        for call in file.tree.calls:
            for arg in call.args:
                if arg.keyword is not None and arg.keyword.value in ("target_size", "image_size"):
                    yield from self._image(file, arg.value)
        for call in file.calls(*sorted(RESIZES)):
            yield from self._image(file, argument(call, 1, "size"))

    def _image(self, file: File, size: Any) -> Iterator[Shape]:
        for shape in self._shape(file, size):
            if len(shape) >= 2:
                yield (shape[0] or _UNKNOWN_SIDE, shape[1] or _UNKNOWN_SIDE, 3)

    def _shape(self, file: File, expr: Any) -> Iterator[Sides]:
        value = self._value(file, expr)
        if isinstance(value, int) and not isinstance(value, bool):
            value = (value,)
        sides = tuple(value) if isinstance(value, (list, tuple)) else ()
        if sides and all(side is None or (isinstance(side, int) and 0 < side <= _LARGEST_SIDE) for side in sides):
            yield sides

    def columns(self, file: File) -> Iterator[tuple[str, ...]]:
        """The names that a table is read with, all of them: `column_names=NAMES`."""
        for call in file.method_calls("make_csv_dataset", "read_csv", "read_table"):
            for arg in call.args:
                if arg.keyword is not None and arg.keyword.value in ("column_names", "names"):
                    names = self._value(file, arg.value)
                    if isinstance(names, (list, tuple)) and names and all(isinstance(name, str) for name in names):
                        yield tuple(names)

    def labels(self, file: File) -> Iterator[str]:
        """What the losses take that are named in calls of `compile` or made."""
        for call in file.method_calls("compile"):
            value = self._value(file, argument(call, 1, "loss"))
            if isinstance(value, str) and value in LABELS_OF_LOSSES:
                yield LABELS_OF_LOSSES[value]
        for call in file.calls("keras.losses.*"):
            last = (file.name(call.func) or "").rpartition(".")[2]
            if last in LABELS_OF_LOSSES:
                yield LABELS_OF_LOSSES[last]

    def used_columns(self, file: File) -> Iterator[str]:
        """The names of columns of tables: texts by which something is indexed, and those given to `pop` and `drop`.

        They may be in a list, `frame[NUMBERS]`, and come from elsewhere: `frame.pop(table.label)`, `batch[name]`.
        """
        for node in file.tree.parents:
            match node:
                case cst.Subscript(value=value, slice=[cst.SubscriptElement(slice=cst.Index(value=index))]):
                    yield from self._texts(file, index) if "environ" not in file.code(value) else ()  # of the process
        for call in file.method_calls("pop", "drop"):
            if call.args:
                yield from self._texts(file, call.args[0].value)

    def _texts(self, file: File, expr: cst.BaseExpression) -> Iterator[str]:
        for origin in self._entry.inference.of(file, expr):
            node = origin.node
            listed = [e.value for e in node.elements] if isinstance(node, cst.List | cst.Tuple) else [node]
            for part in listed if not origin.access_path else ():
                if isinstance(part, cst.BaseExpression):
                    texts = self._entry.constants.possible(origin.file, part, origin.context)
                    yield from (text for text in texts if isinstance(text, str) and text)

    def _value(self, file: File, expr: Any) -> Any:
        return None if expr is None else self._entry.value(expr, file)


def _holds_two(file: File) -> bool:
    """Whether each picture holds two of the size that is wanted, one next to the other, and is cut in the middle."""
    code = file.source.code
    halves = (half for match in _WIDTHS.finditer(code) for half in re.findall(_HALVES.format(match[1]), code))
    return any(f"[:, :{half}" in code and f"[:, {half}:" in code for half in halves)


def _ending(files: Sequence[File]) -> str:
    """Of image files: the one that the code names most often; empty where it names none."""
    named = Counter(ending for file in files for ending in _ENDINGS.findall(file.source.code))
    return f".{named.most_common(1)[0][0]}" if named else ""
