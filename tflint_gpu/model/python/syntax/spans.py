"""Where nodes lie in the text: what libcst says of the positions in a statement.

The tree of a file has no whitespace, and few files have findings. So the innermost statement around a node is parsed
once more, by libcst; where the two parsers do not agree on the statements, the file is.
"""

from __future__ import annotations

import ast
from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from functools import cached_property
from itertools import accumulate

import libcst as cst
from libcst.metadata import CodePosition, MetadataWrapper, PositionProvider

from tflint_gpu.lazy_dataclasses import dataclass
from tflint_gpu.lazy_patterns import regex
from tflint_gpu.model.python.parsing.indentation import OriginalOffsets, expand_indentation
from tflint_gpu.model.python.parsing.parsing import REFUSED
from tflint_gpu.model.python.parsing.python_trees import PythonTrees
from tflint_gpu.model.python.syntax.children import CHILD_FIELDS, IS_NODE
from tflint_gpu.model.python.syntax.syntax import Node
from tflint_gpu.model.python.syntax.tree import Tree
from tflint_gpu.text.source import UnreadableSource

Span = tuple[int, int]
_NEWLINE = regex(r"\r\n|\r|\n")


def _read(code: str) -> tuple[cst.Module, dict[cst.CSTNode, Span]]:
    module = cst.parse_module(code)
    return module, spans_of(module, code)


class ReadStatements:
    """What libcst read of single statements, by their text: kept from one check of an editor's texts to the next.

    A finding is mostly in a statement that stays the same while somebody types elsewhere.
    """

    def __init__(self) -> None:
        self._former: dict[str, tuple[cst.Module, dict[cst.CSTNode, Span]]] = {}
        self._asked: dict[str, tuple[cst.Module, dict[cst.CSTNode, Span]]] = {}

    def begin(self) -> None:
        """Start a check: what the last one did not ask for goes."""
        self._former, self._asked = self._asked, {}

    def of(self, code: str) -> tuple[cst.Module, dict[cst.CSTNode, Span]]:
        """The tree of a statement, and where its nodes lie. Raises what libcst's parser and `spans_of` do."""
        known = self._asked.get(code) or self._former.get(code)
        if known is None:
            known = _read(code)
        self._asked[code] = known
        return known


class Spans:
    """Where the nodes of one file lie.

    Arguments:
        tree: of the file.
        text: of which the tree was parsed.
        python: has perhaps what Python's parser makes of the text.
        statements: what libcst read before.
    """

    def __init__(
        self,
        tree: Tree,
        text: str,
        python: PythonTrees | None = None,
        statements: ReadStatements | None = None,
    ) -> None:
        self._tree = tree
        self._read = _read if statements is None else statements.of
        self._trees = python or PythonTrees()
        self._text = text
        self._known: dict[Node, Span] = {}
        self._places: dict[Node, dict[Node, int]] = {}

    def of(self, node: Node, near: Node) -> Span:
        """Character offsets (start, end) of a node's own syntax.

        Arguments:
            near: the node itself, or one in the same statement, if the traversal leaves this one out.

        Raises:
            UnreadableSource: libcst does not read the file, so that no offset can be trusted.
        """
        if node not in self._known:
            self._learn_statement(node, near)
        if node not in self._known:
            self._learn_file()
        return self._known[node]

    def statements(self, line: Node) -> Sequence[ast.stmt]:
        """What Python's parser made of a compound statement, or of the statements of a line; none if it reads others.

        Nothing is parsed for it, and nobody may change it.
        """
        around = self._statements_around(line)
        if not around or around[-1].node is not line:
            return ()
        return around[-1].counterparts

    def _learn_statement(self, node: Node, near: Node) -> None:
        """Learn the places in the innermost statement around a node that libcst reads by itself."""
        around = self._statements_around(near)
        if around and around[-1].node is node and isinstance(node, _COMPOUND):
            start, end = self._span_of(around[-1].counterparts[0])
            if self._text[end - 1] != ";":  # which libcst leaves out
                self._known[node] = start, end
                return
        for statement in reversed(around):
            if self._learn(statement):
                return

    def _span_of(self, statement: ast.stmt) -> Span:
        """The span that libcst gives a compound statement, too: decorators are in front of it."""
        assert statement.end_lineno is not None and statement.end_col_offset is not None
        return (
            self._offset(statement.lineno, statement.col_offset),
            self._offset(statement.end_lineno, statement.end_col_offset),
        )

    def _offset(self, line_number: int, column: int) -> int:
        """Of a column in bytes of UTF-8."""
        start, end = self._line_starts[line_number - 1 : line_number + 1]
        line = self._text[start:end]
        return start + (column if line.isascii() else len(line.encode()[:column].decode()))

    def _statements_around(self, node: Node) -> Sequence[_Statement]:
        """A node's statements, outermost first, as far as both parsers agree on them."""
        path = [*reversed([node, *self._tree.ancestors(node)])]
        if self._python is None or path[0] is not self._tree.module:
            return ()
        around: list[_Statement] = []
        depth, statements = 0, self._python.body
        while depth + 1 < len(path):
            statement = path[depth + 1]
            counterparts = self._counterparts(path[depth], statement, statements)
            if not counterparts:
                break
            around.append(_Statement(statement, counterparts))
            inner = _block_in(path, depth + 1, counterparts[0])
            if inner is None:
                break
            depth, statements = inner
        return around

    def _counterparts(self, block: Node, statement: Node, counterparts: list[ast.stmt]) -> Sequence[ast.stmt]:
        """What Python's parser made of a statement, or of those on its line; none if they disagree."""
        if block not in self._places:  # once for each block: it may have thousands of statements and of findings
            self._places[block] = _places_among(_statements(block), len(counterparts))
        position = self._places[block].get(statement)
        return () if position is None else counterparts[position : position + _size(statement)]

    def _learn(self, statement: _Statement) -> bool:
        """Learn the places in a statement: libcst parses its lines, in a block where they are indented."""
        first, last = statement.counterparts[0], statement.counterparts[-1]
        first_line = min(node.lineno for node in (first, *getattr(first, "decorator_list", ())))
        start, end = self._line_starts[first_line - 1], self._line_starts[last.end_lineno or first_line]
        head = _BLOCK if first.col_offset else ""
        code = head + self._text[start:end]
        try:
            module, spans = self._read(code)
        except Exception:  # lines that libcst does not read by themselves, or not as Python does
            return False
        wrapped: Node = module.body[0]
        if head:
            assert isinstance(wrapped, cst.If)
            wrapped = wrapped.body.body[0]
        self._pair(
            statement.node, wrapped, {node: (a - len(head), b - len(head)) for node, (a, b) in spans.items()}, start
        )
        return True

    def _learn_file(self) -> None:
        """Learn all places of the file."""
        try:
            module = cst.parse_module(self._text)
            spans = spans_of(module, self._text)
        except Exception:
            expanded = expand_indentation(self._text)
            original = OriginalOffsets(self._text)
            try:
                module = cst.parse_module(expanded)
                spans = {node: (original[a], original[b]) for node, (a, b) in spans_of(module, expanded).items()}
            except Exception as error:
                raise UnreadableSource(REFUSED) from error
        self._pair(self._tree.module, module, spans, 0)

    def _pair(self, ours: Node, theirs: Node, spans: Mapping[Node, Span], shift: int) -> None:
        """Note where the nodes of a tree lie, from another one of the same code."""
        stack = [(ours, theirs)]
        while stack:
            our, their = stack.pop()
            if our.__class__ is not their.__class__:
                raise UnreadableSource("is parsed differently by Python and by libcst, so it was not checked")
            start, end = spans[their]
            self._known[our] = start + shift, end + shift
            for name in (*CHILD_FIELDS[our.__class__], *_READ.get(our.__class__, ())):
                child, counterpart = getattr(our, name), getattr(their, name)
                if isinstance(child, tuple | list):
                    stack.extend(zip(child, counterpart, strict=True))
                elif IS_NODE[child.__class__] and IS_NODE[counterpart.__class__]:
                    stack.append((child, counterpart))

    @property
    def _python(self) -> ast.Module | None:
        return self._trees.of(self._text)

    @cached_property
    def _line_starts(self) -> list[int]:
        return _line_starts(self._text)


@dataclass(frozen=True, slots=True)
class _Statement:
    """A compound statement or the statements of a line, and what Python's parser made of them."""

    node: Node
    counterparts: Sequence[ast.stmt]


_BLOCK = "if 1:\n"
_COMPOUND = (cst.For, cst.While, cst.If, cst.With, cst.Try, cst.TryStar, cst.FunctionDef, cst.ClassDef)
_CLAUSES = frozenset([cst.Else, cst.Finally, cst.ExceptHandler, cst.ExceptStarHandler])
# What has a place, though no traversal visits it.
_READ: dict[type, tuple[str, ...]] = {
    cst.Attribute: ("attr",),
    cst.Arg: ("keyword",),
    cst.Annotation: ("annotation",),
    cst.Param: ("annotation",),
    cst.AnnAssign: ("annotation",),
}


def _block_in(path: Sequence[Node], depth: int, counterpart: ast.stmt) -> tuple[int, list[ast.stmt]] | None:
    """Where on a path the next block of statements lies, and its counterpart; None if the path ends before.

    Arguments:
        depth: on the path, of a statement.
    """
    statement, following = path[depth], path[depth + 1 : depth + 3]
    if not following:
        return None
    inner = following[0]
    if inner.__class__ is cst.IndentedBlock:
        return depth + 1, counterpart.body  # type: ignore[attr-defined]
    if inner.__class__ is cst.If and isinstance(counterpart, ast.If):  # `elif`
        return _block_in(path, depth + 1, counterpart.orelse[0])
    if inner.__class__ not in _CLAUSES or following[-1].__class__ is not cst.IndentedBlock:
        return None
    if isinstance(inner, cst.Else | cst.Finally):
        return depth + 2, getattr(counterpart, "orelse" if isinstance(inner, cst.Else) else "finalbody")
    assert isinstance(statement, cst.Try | cst.TryStar)
    handlers = [number for number, handler in enumerate(statement.handlers) if handler is inner]
    return depth + 2, counterpart.handlers[handlers[0]].body


def _size(statement: Node) -> int:
    return len(statement.body) if isinstance(statement, cst.SimpleStatementLine) else 1


def _statements(block: Node) -> Sequence[Node]:
    assert isinstance(block, cst.Module | cst.IndentedBlock)
    return block.body


def _places_among(block: Sequence[Node], counterparts: int) -> dict[Node, int]:
    """For each line of a block the index of its first statement; none if Python's parser counts others."""
    sizes = [_size(statement) for statement in block]
    starts = [0, *accumulate(sizes)]
    return dict(zip(block, starts, strict=False)) if starts[-1] == counterparts else {}


def spans_of(module: cst.Module, text: str) -> dict[cst.CSTNode, Span]:
    """Character offsets (start, end) of every node of `module` in `text`.

    Raises:
        ValueError: the tree does not write itself out as `text`, so no offset can be trusted.
    """
    written = module.code
    starts = _line_starts(written)

    def offset(position: CodePosition) -> int:
        return starts[position.line - 1] + position.column

    ranges = MetadataWrapper(module, unsafe_skip_copy=True).resolve(PositionProvider)
    spans = {node: (offset(place.start), offset(place.end)) for node, place in ranges.items()}
    if written == text:
        return spans
    dropped = _dropped(written, text)
    return {
        node: (start + bisect_right(dropped, start), end + bisect_left(dropped, end))
        for node, (start, end) in spans.items()
    }


def _line_starts(text: str) -> list[int]:
    """The offset of each line, and of the end: the last line may have no end."""
    return [0, *(newline.end() for newline in _NEWLINE.finditer(text)), len(text)]


def _dropped(written: str, text: str) -> list[int]:
    """Where libcst left a character out: offsets in `written` before which a blank or a kind of line end is missing."""
    dropped: list[int] = []
    position = 0
    for character in text:
        if position < len(written) and written[position] == character:
            position += 1
        elif character in "\f\r\n \t":
            dropped.append(position)
        else:
            raise ValueError("libcst's tree does not reproduce the file's text")
    if position != len(written):
        raise ValueError("libcst's tree does not reproduce the file's text")
    return dropped
