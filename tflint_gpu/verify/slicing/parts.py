"""The files of a program as they are cut: what stays of each, what stands in for something, what it must not load."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cached_property

import libcst as cst

from tflint_gpu.lazy_dataclasses import dataclass
from tflint_gpu.model.python.project.file import File
from tflint_gpu.model.python.syntax.syntax import Node
from tflint_gpu.rule.experiment import HARNESS
from tflint_gpu.verify.slicing.effects import Effects
from tflint_gpu.verify.slicing.inputs import Stand, stands
from tflint_gpu.verify.slicing.pieces import masked
from tflint_gpu.verify.stubs.missing import left_open
from tflint_gpu.verify.stubs.readers import Around, read_elsewhere

_ADDRESS = re.compile(r"(?:https?|ftp|gs|s3)://\S+")
_STARTING = ("subprocess.", "os.popen")
_DOWNLOADS = (
    "keras.datasets.*",
    "tensorflow_datasets.*",
    "tensorflow_hub.*",
    "urllib.request.*",
    "requests.*",
    "wget.*",
    "gdown.*",
    "subprocess.*",
    "os.popen",
)
# Of what is named there, what only describes or shows.
_DESCRIBING = re.compile(
    r"tensorflow_datasets\.(?:core\.|features\.|decode\.|testing\.|as_|show_|visualization\.|disable_|enable_|even_splits|"
    r"Split|ReadConfig)|urllib\.request\.(?:Request|quote|pathname2url|url2pathname|build_opener|install_opener)"
)


class NotExtractable(Exception):
    """No program can be made of the finding; the text says why, as a sentence without a full stop."""


class Readings:
    """Files as they are cut: what stands in for something in them, their syntax, and what their statements change.

    Kept for the experiments of one run, since many need the same files.

    Arguments:
        trains: what learns is among what is needed; see `Effects`.
    """

    def __init__(self, *, trains: bool = False) -> None:
        self._trains = trains
        self._known: dict[tuple[File, bool], tuple[tuple[Stand, ...], ast.Module, Effects]] = {}

    def of(self, file: File, *, is_entry: bool) -> tuple[tuple[Stand, ...], ast.Module, Effects]:
        """Of one file.

        Raises:
            InputError: a comment on an input cannot be read.
        """
        if (file, is_entry) not in self._known:
            replaced = tuple(stands(file, HARNESS))
            if is_entry and "..." in file.source.code:
                replaced += tuple(_filled_in(file))
            tree = ast.parse(
                masked(file.source, [(edit.start, edit.end) for edit in replaced if edit.end > edit.start])
            )
            self._known[file, is_entry] = replaced, tree, Effects(tree, trains=self._trains)
        return self._known[file, is_entry]


@dataclass(frozen=True)
class Part:
    """One file of a program: the rows that go, and the expressions for which something else stands.

    Arguments:
        is_whole: it is imported with all that it has, so much of it may never be called.
        is_passed: the way to the place leads through it.
    """

    file: File
    tree: ast.Module
    dropped: frozenset[int]
    stands: tuple[Stand, ...]
    is_whole: bool = False
    is_passed: bool = True

    def holds(self, node: Node) -> bool:
        """Whether the row in which a node begins stays."""
        return self.file.source.row(self.file.span(node)[0]) not in self.dropped

    @cached_property
    def readers(self) -> tuple[Around, ...]:
        """The calls that stay and read what may not be here."""
        readers: dict[cst.Call, Around] = {}
        for reader in read_elsewhere(self.file):  # a known function comes before a method that is called like it
            readers.setdefault(reader.call, reader)
        if self.is_whole or not self.is_passed:  # whether it is called shows when the program runs
            within = (call for call in _loading(self.file) if self.file.tree.function(call) is not None)
            readers |= {call: Around(call, "refused") for call in within if call not in readers}
        return tuple(reader for call, reader in readers.items() if self.holds(call) and not self.stood_for(call))

    def stood_for(self, node: Node) -> bool:
        """Whether something stands for an expression, or for the function that it calls."""
        start, end = self.file.span(node)
        inner = self.file.span(node.func) if isinstance(node, cst.Call) else (start, end)
        return any(
            (stand.start <= start and end <= stand.end) or (stand.start, stand.end) == inner for stand in self.stands
        )


def check_sources(part: Part, *, is_answered: bool) -> None:
    """Refuse what loads something from the network, or starts other programs.

    Arguments:
        is_answered: something in the program stands for what reads an address.

    Raises:
        NotExtractable: naming the place and the remedy.
    """
    file = part.file
    for call in _loading(file):
        has_stand_in = part.stood_for(call) or any(reader.call is call for reader in part.readers)
        if part.holds(call) and not has_stand_in:
            if (file.name(call.func) or "").startswith(_STARTING):
                what = f"starts another program (`{file.code(call.func)}`), which verify does not allow"
                raise _asking(file, file.span(call)[0], what, "its result")
            raise _loads_data(file, file.span(call)[0], file.code(call.func))
    if is_answered or part.is_whole:  # what reads an address gets the answer that there is nothing
        return
    for node in ast.walk(part.tree):
        text = node.value if isinstance(node, ast.Constant) and node.lineno not in part.dropped else None
        if isinstance(text, str) and _ADDRESS.fullmatch(text) and isinstance(node, ast.expr):
            raise _loads_data(file, file.source.line_starts[node.lineno - 1], text)


def _loading(file: File) -> Iterator[cst.Call]:
    """The calls that load something from the network, or start other programs."""
    return (call for call in file.calls(*_DOWNLOADS) if not _DESCRIBING.match(file.name(call.func) or ""))


def _loads_data(file: File, offset: int, what: str) -> NotExtractable:
    return _asking(file, offset, f"loads data (`{what}`)", "the data")


def _asking(file: File, offset: int, what: str, unknown: str) -> NotExtractable:
    return NotExtractable(
        f"{file.source.name}:{file.source.locate(offset)} {what}: describe {unknown} with "
        "`# tflint-gpu: input=(32, 128) float32` on the line that assigns it"
    )


def _filled_in(file: File) -> Iterator[Stand]:
    """What stands for the dots in `model = ...`."""
    for dots, stub in left_open(ast.parse(file.source.code)):
        start = file.source.line_starts[dots.lineno - 1]
        line = file.source.code[start:].encode()
        begin = start + len(line[: dots.col_offset].decode())
        yield Stand(begin, begin + len("..."), stub.text)
