"""Where nodes lie in the text: offsets recorded while the tree, or a statement of it, writes itself out again.

To write a whole tree costs a quarter of its parse. Python's own parser is ten times as fast and knows at which line
each statement starts, so that only the statement around a node, at the top of the file or in a class, is written; the
whole tree, where the two parsers do not agree on the statements.
"""

from __future__ import annotations

import ast
import re
import warnings
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from functools import cached_property
from itertools import accumulate

import libcst as cst
from libcst._nodes.internal import CodegenState  # what cst.Module.code itself writes to

from tflint_gpu.model.python.syntax import Node
from tflint_gpu.model.python.tree import Tree

Span = tuple[int, int]
_NEWLINE = re.compile(r"\r\n|\r|\n")


@dataclass(frozen=False)
class _RecordingState(CodegenState):
    """Counts the characters written and notes, for each node, where its own syntax starts and ends."""

    spans: dict[cst.CSTNode, Span] = field(default_factory=dict)
    offset: int = 0
    _starts: list[int] = field(default_factory=list)

    def add_token(self, value: str) -> None:
        self.tokens.append(value)
        self.offset += len(value)

    def add_indent_tokens(self) -> None:
        self.tokens.extend(self.indent_tokens)
        self.offset += sum(map(len, self.indent_tokens))

    def before_codegen(self, node: cst.CSTNode) -> None:
        self._starts.append(self.offset)

    def after_codegen(self, node: cst.CSTNode) -> None:
        start = self._starts.pop()
        if node not in self.spans:  # a node that knows its syntax better has said so itself
            self.spans[node] = (start, self.offset)

    def record_syntactic_position(  # type: ignore[override]
        self, node: cst.CSTNode, *, start_node: cst.CSTNode | None = None, end_node: cst.CSTNode | None = None
    ) -> AbstractContextManager[object]:
        return _Syntax(self, node, start_node, end_node)


class _Syntax(AbstractContextManager[object]):
    """While it is open, a node writes its own syntax; a class, because a generator costs three times as much."""

    __slots__ = ("end_node", "node", "start", "start_node", "state")

    def __init__(
        self, state: _RecordingState, node: cst.CSTNode, start_node: cst.CSTNode | None, end_node: cst.CSTNode | None
    ) -> None:
        self.state, self.node, self.start_node, self.end_node = state, node, start_node, end_node
        self.start = state.offset

    def __exit__(self, *_: object) -> None:
        spans = self.state.spans
        first = spans[self.start_node][0] if self.start_node in spans else self.start
        last = spans[self.end_node][1] if self.end_node in spans else self.state.offset
        spans[self.node] = (first, last)


class Spans:
    """Where the nodes of one file lie.

    Arguments:
        tree: of the file.
        text: of which the tree was parsed.
    """

    def __init__(self, tree: Tree, text: str) -> None:
        self._tree = tree
        self._text = text
        self._known: dict[Node, Span] = {}
        self._places: dict[Node, dict[Node, int]] = {}

    def of(self, node: Node, near: Node) -> Span:
        """Character offsets (start, end) of a node's own syntax.

        Arguments:
            near: the node itself, or one that stands in the same statement, if the traversal leaves this one out.

        Raises:
            ValueError: the tree does not write itself out as the text, so no offset can be trusted.
        """
        if node not in self._known:
            self._write_statement(near)
        if node not in self._known:
            self._known = spans_of(self._tree.module, self._text)
        return self._known[node]

    def _write_statement(self, node: Node) -> None:
        """Learn the places in the statement around a node, if it is written as it stands in the text."""
        path = [*reversed([node, *self._tree.ancestors(node)])]
        if self._python is None or path[0] is not self._tree.module or len(path) < 2:
            return
        statements, state = self._python.body, self._state()
        block: Node = self._tree.module
        for statement, inner in zip(path[1::2], [*path[2::2], None], strict=False):
            counterpart = self._counterpart(block, statement, statements)
            if counterpart is None:
                return
            if not (
                isinstance(statement, cst.ClassDef)
                and isinstance(counterpart, ast.ClassDef)
                and isinstance(inner, cst.IndentedBlock)
                and inner is statement.body
            ):
                self._learn(statement, counterpart, state)
                return
            state.increase_indent(state.default_indent if inner.indent is None else inner.indent)
            block, statements = inner, counterpart.body

    def _counterpart(self, block: Node, statement: Node, counterparts: list[ast.stmt]) -> ast.stmt | None:
        """What Python's parser made of a statement, or of the first on its line; None if the two do not agree."""
        if block not in self._places:  # once for each block: it may have thousands of statements and of findings
            self._places[block] = _places_among(_statements(block), len(counterparts))
        place = self._places[block].get(statement)
        return None if place is None else counterparts[place]

    def _learn(self, statement: Node, counterpart: ast.stmt, state: _RecordingState) -> None:
        first = min(one.lineno for one in (counterpart, *getattr(counterpart, "decorator_list", ())))
        for line in getattr(statement, "leading_lines", ()):
            line._codegen(state)
        leading = "".join(state.tokens)
        statement._codegen(state)
        written = "".join(state.tokens)[len(leading) :]
        base = self._line_starts[first - 1] - len(leading)
        found = self._text[max(base, 0) : base + len(written)]
        if written in (found, f"{found}{state.default_newline}"):  # the last line may have no end
            shift = base - len(leading)
            self._known |= {node: (start + shift, end + shift) for node, (start, end) in state.spans.items()}

    def _state(self) -> _RecordingState:
        module = self._tree.module
        return _RecordingState(default_indent=module.default_indent, default_newline=module.default_newline)

    @cached_property
    def _python(self) -> ast.Module | None:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                return ast.parse(self._text)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return None

    @cached_property
    def _line_starts(self) -> list[int]:
        return [0, *(newline.end() for newline in _NEWLINE.finditer(self._text))]


def _statements(block: Node) -> Sequence[Node]:
    assert isinstance(block, cst.Module | cst.IndentedBlock)
    return block.body


def _places_among(block: Sequence[Node], counterparts: int) -> dict[Node, int]:
    """For each line of a block the index of its first statement; none if Python's parser counts others."""
    sizes = [len(one.body) if isinstance(one, cst.SimpleStatementLine) else 1 for one in block]
    starts = [0, *accumulate(sizes)]
    return dict(zip(block, starts, strict=False)) if starts[-1] == counterparts else {}


def spans_of(module: cst.Module, text: str) -> dict[cst.CSTNode, Span]:
    """Character offsets (start, end) of every node of `module` in `text`.

    Raises:
        ValueError: the tree does not write itself out as `text`, so no offset can be trusted.
    """
    state = _RecordingState(default_indent=module.default_indent, default_newline=module.default_newline)
    module._codegen(state)
    written = "".join(state.tokens)
    if written == text:
        return state.spans
    dropped = _dropped(written, text)
    return {
        node: (start + bisect_right(dropped, start), end + bisect_left(dropped, end))
        for node, (start, end) in state.spans.items()
    }


def _dropped(written: str, text: str) -> list[int]:
    """Where libcst left a character out: offsets in `written` before which a blank or a kind of line end is missing."""
    found: list[int] = []
    place = 0
    for character in text:
        if place < len(written) and written[place] == character:
            place += 1
        elif character in "\f\r\n \t":
            found.append(place)
        else:
            raise ValueError("libcst's tree does not reproduce the file's text")
    if place != len(written):
        raise ValueError("libcst's tree does not reproduce the file's text")
    return found
