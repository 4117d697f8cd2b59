"""Whole statements moved with their comments, where what is read and bound on the way allows it."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterable, Iterator, Sequence
from textwrap import dedent

import libcst as cst

from tflint_gpu.model.python.project.file import File
from tflint_gpu.model.python.refactoring.free_names import bound, free, roots
from tflint_gpu.model.python.syntax.syntax import Node

_FIXED = ("import", "function", "class")


def _code(file: File, statement: Node) -> str:
    start, end = file.span(head(statement))[0], file.span(statement)[1]
    return dedent(file.indentation(statement) + file.source.code[start:end])


class Names:
    """The names that a statement reads from outside, and those that it binds or whose content it changes.

    Attributes:
        needed: what must be bound before the statement; `read` is what of it may have another value elsewhere.

    Arguments:
        statements: what Python's parser makes of it.
        unchanging: the names that mean the same wherever a statement is.
    """

    def __init__(self, statements: Sequence[ast.stmt], unchanging: frozenset[str]) -> None:
        self.needed = {name for node in statements for name in free(node)}
        self.read = self.needed - unchanging
        self.bound = {name for node in statements for name in bound(node)}
        self.touched = self.read | self.bound | {name for node in statements for name in _changed(node)}

    def may_swap(self, other: Names) -> bool:
        """Whether a statement that shares no value with another may as well run before it."""
        return self.touched.isdisjoint(other.touched)


class StatementNames:
    """The names of a file's statements: many questions are asked of the same ones."""

    def __init__(self, file: File) -> None:
        self._file = file
        self._unchanging = frozenset(_unchanging(file))
        self._known: dict[Node, Names] = {}

    def of(self, statement: Node) -> Names:
        """The names of a statement.

        Raises:
            SyntaxError: it does not parse by itself.
            ValueError: the same.
        """
        if statement not in self._known:
            statements = self._file.python_statements(statement) or ast.parse(_code(self._file, statement)).body
            self._known[statement] = Names(statements, self._unchanging)
        return self._known[statement]


def in_one_block(file: File, first: Node, second: Node) -> tuple[Node, Node] | None:
    """The different statements around two nodes of one function that are in one block; None where there are none."""
    tree = file.tree
    if tree.function(first) is not tree.function(second):
        return None
    for statement in (second, *tree.ancestors(second)):
        block = tree.parents.get(statement)
        if isinstance(block, cst.Module | cst.IndentedBlock) and tree.within(first, block):
            other = tree.child(block, first)
            return None if other is None or other is statement else (other, statement)
    return None


def needed_before(file: File, statement: Node, target: Node) -> list[Node] | None:
    """What of one block must go above `target`, in its order, for `statement` to run there; None where it cannot."""
    block = file.tree.siblings(statement)
    if target not in block or block.index(target) >= block.index(statement):
        return None
    moved = _needed(file, statement, block[block.index(target) : block.index(statement)])
    return None if moved is None or target in moved else moved


def needed_behind(file: File, statement: Node, earlier: Node) -> list[Node] | None:
    """What of one block must go right behind `earlier`, in its order, for `statement` to run there."""
    block = file.tree.siblings(statement)
    if earlier not in block or block.index(earlier) >= block.index(statement):
        return None
    return _needed(file, statement, block[block.index(earlier) + 1 : block.index(statement)])


def _needed(file: File, statement: Node, passed: Sequence[Node]) -> list[Node] | None:
    """A statement that moves above those before it, with what of these must move along.

    One moves along if it binds what is needed: a variable, a function, an import. It stays if it has nothing to do with
    what moves. None where neither is sure.
    """
    names_of = file.once(StatementNames).of
    try:
        moved = [(statement, names_of(statement))]
        for between in reversed(passed):
            names = names_of(between)
            if not all(names.bound.isdisjoint(later.needed) for _, later in moved):
                moved.append((between, names))
            elif not all(later.may_swap(names) for _, later in moved):
                return None
    except (SyntaxError, ValueError):
        return None
    return [node for node, _ in reversed(moved)]


def may_move_down(file: File, statement: Node, target: Node) -> bool:
    """Whether a statement may as well run right before a later one of its block."""
    block = file.tree.siblings(statement)
    if target not in block or block.index(target) <= block.index(statement):
        return False
    names_of = file.once(StatementNames).of
    try:
        names = names_of(statement)
        between = block[block.index(statement) + 1 : block.index(target)]
        return all(names.may_swap(other) and names.bound.isdisjoint(other.needed) for other in map(names_of, between))
    except (SyntaxError, ValueError):
        return False


def text_at(file: File, statement: Node, indentation: str) -> str | None:
    """The lines of a statement and of the comments above it as they are at another depth; None in a doubtful case."""
    source, own = file.source, file.indentation(statement)
    start, end = file.span(head(statement))[0], file.span(statement)[1]
    text = source.text[source.with_comments(start) : source.end_of_line(end)]
    text = text if text.endswith("\n") else f"{text}\n"
    if own == indentation:
        return text
    if "\r" in text or '"""' in text or "'''" in text or "\\\n" in text:
        return None
    lines = text.splitlines(keepends=True)
    if any(line.strip() and not line.startswith(own) for line in lines):
        return None
    return "".join(indentation + line[len(own) :] if line.strip() else line for line in lines)


def _changed(statement: ast.stmt) -> Iterator[str]:
    """The names of what gets an attribute or an item, or loses one."""
    for node in ast.walk(statement):
        if isinstance(node, ast.Attribute | ast.Subscript) and isinstance(node.ctx, ast.Store | ast.Del):
            yield from roots(node)


def _unchanging(file: File) -> set[str]:
    """Names that mean the same wherever a statement is: Python's own, imports, definitions outside of loops."""
    scopes = file.tree.scopes.values()
    changing = {
        name
        for scope in scopes
        for name, bindings in scope.bindings.items()
        if scope is not file.tree.root
        or any(binding.kind not in _FIXED or _is_in_loop(file, binding.node) for binding in bindings)
    }
    return {*file.tree.root.bindings, *dir(builtins)} - changing


def _is_in_loop(file: File, node: Node) -> bool:
    return any(isinstance(around, cst.For | cst.While) for around in file.tree.ancestors(node))


def reads_any(file: File, statement: Node, names: Iterable[str]) -> bool:
    """Whether a statement may read one of some names from outside; also where it does not parse by itself."""
    try:
        return not file.once(StatementNames).of(statement).read.isdisjoint(names)
    except (SyntaxError, ValueError):
        return True


def head(statement: Node) -> Node:
    """Where a statement begins: of a function, its first decorator."""
    decorators = statement.decorators if isinstance(statement, cst.FunctionDef | cst.ClassDef) else ()
    return decorators[0] if decorators else statement
