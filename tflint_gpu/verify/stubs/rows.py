"""What the code of a program says of rows: the columns of tables, the fields of lines, the keys of objects."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import libcst as cst

from tflint_gpu.model.library.files import TEXT_SPLITS
from tflint_gpu.model.python.project.file import File
from tflint_gpu.model.python.syntax.syntax import argument
from tflint_gpu.verify.stubs.readers import text_of

_BETWEEN = (",", ";", "\t", "|", " ")  # fields, and not the parts of a path
# `words[0]`, `float(words[1])`, `tf.strings.to_number(words[2:], tf.float32)`
_PICK = r"(\b(?:int|float|to_number)\(\s*|\bmap\((?:int|float),\s*)?\b{}\[(\d+)(:?)\]"
_OF_WORDS = re.compile(r"""\[(['"])(\w+)\1\]\s*(?:[=!]=\s*['"]|\.str\.)""")
_DAY = re.compile(r"""(['"])((?:19|20)\d\d(?:-[01]\d)?(?:-[0-3]\d)?)\1""")
# `tf.constant(chords, dtype=tf.int64)`
_WHOLE = re.compile(r"\btf\.(?:constant|convert_to_tensor|ragged\.constant)\(\s*[a-z_]\w*\s*,\s*dtype\s*=\s*tf\.u?int")
_TABLES = ("numpy.genfromtxt", "numpy.loadtxt")
_OF_TABLE = 8  # fields of a line where nothing says how many there are


def columns_of_words(file: File) -> Iterator[str]:
    """The columns that hold words: compared with a text, or with one in a row that also has numbers.

    `table["kind"] == "cat"`, `table["kind"].str.lower()`, `{"kind": "cat", "age": 3}`.
    """
    yield from (match[2] for match in _OF_WORDS.finditer(file.source.code))
    for node in file.tree.parents:
        if isinstance(node, cst.Dict):
            pairs = [(text_of(e.key), e.value) for e in node.elements if isinstance(e, cst.DictElement)]
            has_numbers = any(isinstance(value, cst.Integer | cst.Float) for _, value in pairs)
            yield from (name for name, value in pairs if name and has_numbers and text_of(value) is not None)


def fields(file: File) -> Iterator[tuple[str, int, tuple[int, ...]]]:
    """What stands between the fields of a line, how many there are, and which are numbers: `a, b = line.split(";")`.

    Or those of all lines: `pairs = [line.split(";") for line in lines]`, and then `a, b = zip(*pairs)`.
    """
    for call in file.method_calls("split"):
        given = argument(call, 0, "sep")
        between = text_of(given)
        parent = file.tree.parents[call]
        target = _target(parent)
        if isinstance(parent, cst.ListComp) and isinstance(target := _target(file.tree.parents[parent]), cst.Name):
            target = _taken_apart(file, target.value)
        if isinstance(between, str) and isinstance(target, cst.Tuple):
            parts = (rf"\b(?:int|float)\({re.escape(file.code(element.value))}\)" for element in target.elements)
            numbers = (index for index, number in enumerate(parts) if re.search(number, file.source.code))
            yield between, len(target.elements), tuple(numbers)


def picked_fields(file: File, rest: int) -> Iterator[tuple[str, int, tuple[int, ...]]]:
    """The same where fields are picked one by one: `row = tf.strings.split(line, ",")`, then `row[0]` and `row[2:]`.

    Arguments:
        rest: how many fields `row[2:]` has.
    """
    for call in (*file.method_calls("split"), *file.calls(*sorted(TEXT_SPLITS))):
        given = argument(call, 1 if file.name(call.func) in sorted(TEXT_SPLITS) else 0, "sep")
        between = text_of(given)
        parent = file.tree.parents[call]
        while isinstance(parent, cst.Attribute | cst.Call):  # `.values`, `.to_tensor()`
            parent = file.tree.parents[parent]
        target = _target(parent)
        if between in _BETWEEN and isinstance(target, cst.Name):
            function = file.tree.function(call)
            code = file.source.code if function is None else file.code(function)
            picks = [
                (range(int(first), int(first) + (rest if is_open else 1)), is_number)
                for is_number, first, is_open in re.findall(_PICK.format(target.value), code)
            ]
            count = max((span.stop for span, _ in picks), default=0)
            numbers = tuple(sorted({n for span, is_number in picks if is_number for n in span}))
            if count > 1 and (numbers or between != " "):  # any text has words
                yield between, count, numbers


def keys(file: File, reader: str) -> Iterator[str]:
    """The keys of what is read of single lines, or of a file: `row = json.loads(line)`, and then `row["text"]`."""
    for call in file.calls(reader):
        target = _target(file.tree.parents[call])
        if isinstance(target, cst.Name) and len(call.args) == 1 and isinstance(call.args[0].value, cst.Name):
            taken = rf"\b{re.escape(target.value)}(?:\[|\.get\()(['\"])(\w+)\1"
            yield from (match[2] for match in re.finditer(taken, file.source.code))


def _target(node: cst.CSTNode) -> cst.BaseExpression | None:
    return node.targets[0].target if isinstance(node, cst.Assign) else None


def _taken_apart(file: File, rows: str) -> cst.BaseExpression | None:
    """What the columns of some rows are assigned to."""
    for call in file.tree.calls:
        match call:
            case cst.Call(func=cst.Name(value="zip"), args=[cst.Arg(star="*", value=cst.Name(value=name))]):
                if name == rows:
                    return _target(file.tree.parents[call])
    return None


def numbers_between(file: File) -> Iterator[tuple[str, int, tuple[int, ...]]]:
    """The same where NumPy reads whole numbers: `np.genfromtxt(file, dtype=int, delimiter=",")`."""
    for call in file.calls(*_TABLES):
        between, dtype = text_of(argument(call, 9, "delimiter")), argument(call, 1, "dtype")
        if between and isinstance(dtype, cst.Name) and dtype.value == "int":
            yield between, _OF_TABLE, tuple(range(_OF_TABLE))


def renamed_columns(file: File) -> Iterator[tuple[str, ...]]:
    """The names that a table's columns get, all of them: `table.columns = ["day", "rain"]`."""
    for node in file.tree.parents:
        match node:
            case cst.Assign(
                targets=[cst.AssignTarget(target=cst.Attribute(attr=cst.Name(value="columns")))],
                value=cst.List() | cst.Tuple() as value,
            ):
                names = [text_of(element.value) for element in value.elements]
                if names and all(names):
                    yield tuple(name for name in names if name)


def days(files: Sequence[File]) -> tuple[str, ...]:
    """The first and the last day, month or year that a text names; nothing where there is no such text."""
    named = sorted(match[2] for file in files for match in _DAY.finditer(file.source.code))
    return (named[0], named[-1]) if named else ()


def has_whole_numbers(file: File) -> bool:
    """Whether what the program has goes into a tensor of whole numbers as it is, which no fraction does."""
    return _WHOLE.search(file.source.code) is not None
