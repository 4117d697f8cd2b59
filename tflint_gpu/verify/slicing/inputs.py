"""Data that is not there when a program runs elsewhere: what stands in for it.

`# tflint-gpu: input=(32, 128) float32` on or above an assignment says what the assigned value is like; several are
separated by commas, for a tuple. Where the assigned value is a tf.data pipeline, it becomes one over such arrays.
Keras' own data sets have known shapes.
"""

from __future__ import annotations

import io
import re
import tokenize
from collections.abc import Iterator

import libcst as cst

from tflint_gpu.lazy_dataclasses import dataclass
from tflint_gpu.model.library.keras_datasets import KERAS_IMAGES
from tflint_gpu.model.python.project.file import File
from tflint_gpu.text.source import SourceFile
from tflint_gpu.verify.stubs.readers import cut_of, replaced_functions

_COMMENT = re.compile(r"#\s*tflint-gpu:\s*input\s*=\s*(?P<specs>.*\S)")
_SPEC = re.compile(r"(?P<shape>\((?:\s*\d+\s*(?:,\s*\d+\s*)*,?)?\s*\))\s*(?P<dtype>[a-z]+\d*)?\s*(?:,|$)")
_DATASETS = ("tf.data.", "tensorflow_datasets.")


class InputError(Exception):
    """A comment on an input that cannot be read; the text names the file, the row and what it should look like."""


@dataclass(frozen=True, slots=True)
class Stand:
    """An expression of the user's file (offsets into the text), or nothing at one place, and what stands in for it."""

    start: int
    end: int
    text: str


def stands(file: File, harness: str) -> Iterator[Stand]:
    """What is to be replaced in a file.

    Raises:
        InputError: a comment says nothing that can be read.
    """
    said = list(_commented(file, harness)) if "tflint-gpu:" in file.source.text else []
    yield from said
    replaced = (Stand(*file.span(call.func), text) for call, text in replaced_functions(file))
    for stub in (*_datasets(file, harness), *replaced, *_weights(file), *_bytes_of_arrays(file)):
        if not any(other.start <= stub.start and stub.end <= other.end for other in said):
            yield stub


def _datasets(file: File, harness: str) -> Iterator[Stand]:
    for name in sorted(KERAS_IMAGES):
        for call in file.calls(f"keras.datasets.{name}.load_data"):
            yield Stand(*file.span(call), f'{harness}.keras_dataset("{name}"{cut_of(file)})')


def _commented(file: File, harness: str) -> Iterator[Stand]:
    """The values of the assignments that have a comment: after them, or in a row of its own above."""
    source = file.source
    values = [n.value for n in file.tree.parents if isinstance(n, cst.Assign | cst.AnnAssign) and n.value is not None]
    spans = [(*file.span(value), value) for value in values]
    for row, is_alone, match in _comments(source):
        rows = (row, row + 1) if is_alone else (row,)
        at_row = [span for span in spans if source.row(span[0]) in rows or source.row(span[1]) == row]
        if not at_row:
            raise InputError(f"{source.name}:{row}: `{match[0]}` is not on a line with an assignment: move it to one")
        start, end, value = max(at_row, key=lambda comment: comment[0])
        arrays = f"{harness}.synthetic({_specs(match['specs'], source.name, row)})"
        yield Stand(start, end, _dataset_of(arrays, harness) if _is_dataset(file, value) else arrays)


def _comments(source: SourceFile) -> Iterator[tuple[int, bool, re.Match[str]]]:
    """The rows of comments on inputs, and whether nothing else stands there."""
    tokens = tokenize.generate_tokens(io.StringIO(source.code, newline=None).readline)
    try:
        for token in tokens:
            match = _COMMENT.match(token.string) if token.type == tokenize.COMMENT else None
            if match is not None:
                yield token.start[0], token.line.lstrip().startswith("#"), match
    except (tokenize.TokenError, SyntaxError):  # who parses the file says so
        return


def _weights(file: File) -> Iterator[Stand]:
    """Models come without their trained weights, which would be downloaded and do not change how long a step takes."""
    for call in file.calls("keras.applications.*"):
        if not (file.name(call.func) or "").rpartition(".")[2][:1].isupper() or any(arg.star for arg in call.args):
            continue
        given = next(
            (arg.value for arg in call.args if arg.keyword is not None and arg.keyword.value == "weights"), None
        )
        if given is not None:
            yield Stand(*file.span(given), "None")
        elif len(call.args) < 2 or call.args[1].keyword is not None:
            end = file.span(call)[1] - 1
            is_separated = not call.args or _ends_with_comma(file.source.text[file.span(call.args[-1])[1] : end])
            yield Stand(end, end, "weights=None" if is_separated else ", weights=None")
        else:
            yield Stand(*file.span(call.args[1].value), "None")


def _bytes_of_arrays(file: File) -> Iterator[Stand]:
    """`array.tostring()`, which newer versions of NumPy only know as `tobytes`."""
    for call in file.method_calls("tostring"):
        if not call.args and isinstance(call.func, cst.Attribute):
            yield Stand(*file.span(call.func), f"{file.code(call.func.value)}.tobytes")


def _ends_with_comma(text: str) -> bool:
    """Whether what stands between a last argument and the closing bracket, comments apart, has a comma."""
    return any("," in line.partition("#")[0] for line in text.splitlines())


def _is_dataset(file: File, value: cst.BaseExpression) -> bool:
    name = file.name(value.func) if isinstance(value, cst.Call) else None
    return (name or "").startswith(_DATASETS)


def _dataset_of(arrays: str, harness: str) -> str:
    return f"{harness}.tf.data.Dataset.from_tensor_slices({arrays})"


def _specs(text: str, filename: str, row: int) -> str:
    """The arguments of `synthetic` for what the comment says."""
    specs, position = [], 0
    while match := _SPEC.match(text, position):
        shape = tuple(int(side) for side in re.findall(r"\d+", match["shape"]))
        specs.append(f'({shape}, "{match["dtype"] or "float32"}")')
        position = match.end() + len(text[match.end() :]) - len(text[match.end() :].lstrip())
    if not specs or position < len(text):
        raise InputError(f"{filename}:{row}: cannot read `input={text}`: write it as `input=(32, 128) float32`")
    return ", ".join(specs)
