"""Branches: the tests that decide whether a place in a file is reached."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from tflint_gpu.model.python.names.flow import exits
from tflint_gpu.model.python.syntax.syntax import Expression, Node
from tflint_gpu.model.python.syntax.tree import Tree

# What may hold a test for what is in it; looked up, since asking each ancestor for its kind is slow.
_DECIDING = frozenset(
    [
        cst.If,
        cst.IfExp,
        cst.While,
        cst.BooleanOperation,
        cst.IndentedBlock,
        cst.Module,
        cst.CompFor,
        cst.ListComp,
        cst.SetComp,
        cst.DictComp,
        cst.GeneratorExp,
    ]
)
DEFINING = frozenset([cst.FunctionDef, cst.ClassDef])
# What may be passed without all that is in it having run, besides what holds a test.
_PASSED_BY = (cst.For, cst.Lambda, cst.BaseComp, cst.Try, cst.ExceptHandler, cst.MatchCase, *DEFINING)


class Branches:
    """Answers for one file, computed on demand."""

    def __init__(self, tree: Tree) -> None:
        self.tree = tree
        self._exits: dict[Node, _Exits] = {}

    def around(self, node: Node) -> Iterator[tuple[Expression, bool, bool]]:
        """The tests that decide whether `node` runs, what each must be for that, and whether it raises otherwise."""
        child = node
        for parent in self.tree.ancestors(node):
            if parent.__class__ in _DECIDING:
                yield from self._tests(parent, child)
            elif parent.__class__ in DEFINING:
                return
            child = parent

    def precedes(self, first: Node, node: Node) -> bool:
        """Whether one place has always run, and raised nothing, where another of the same function does."""
        tree = self.tree
        if tree.order[first] >= tree.order[node] and not tree.within(first, node):
            return False
        child = first
        for parent in tree.ancestors(first):
            if isinstance(parent, cst.FunctionDef):
                break
            is_first = isinstance(parent, cst.For) and child is parent.iter
            if isinstance(parent, _PASSED_BY) and not is_first and not tree.within(node, child):
                return False
            child = parent
        decided = {(test, holds) for test, holds, _ in self.around(node)}
        return all((test, holds) in decided for test, holds, _ in self.around(first))

    def _tests(self, parent: Node, child: Node) -> Iterator[tuple[Expression, bool, bool]]:
        """Those of `around` in one node."""
        if isinstance(parent, cst.If | cst.IfExp | cst.While):
            if child is not parent.test:
                yield parent.test, child is parent.body, False
        elif isinstance(parent, cst.BooleanOperation):
            if child is parent.right:
                yield parent.left, isinstance(parent.operator, cst.And), False
        elif isinstance(parent, cst.CompFor):
            yield from ((condition.test, True, False) for condition in parent.ifs)
        elif isinstance(parent, cst.BaseComp):
            yield from ((condition.test, True, False) for condition in _comprehension_tests(parent))
        elif isinstance(parent, cst.IndentedBlock | cst.Module):
            if parent not in self._exits:
                self._exits[parent] = _Exits(parent)
            yield from self._exits[parent].before(child)


def _comprehension_tests(comprehension: cst.BaseComp) -> Iterator[cst.CompIf]:
    clause: cst.CompFor | None = comprehension.for_in
    while clause is not None:
        yield from clause.ifs
        clause = clause.inner_for_in


class _Exits:
    """Asserts, and ifs that leave, in a block, what each must be to come past, and whether it raises otherwise."""

    def __init__(self, block: cst.IndentedBlock | cst.Module) -> None:
        self._tests: list[tuple[Expression, bool, bool]] = []
        self._before: dict[Node, int] = {}
        for statement in block.body:
            self._before[statement] = len(self._tests)
            if isinstance(statement, cst.If):
                self._tests += _passed(statement)
            elif isinstance(statement, cst.SimpleStatementLine):
                self._tests += ((small.test, True, True) for small in statement.body if isinstance(small, cst.Assert))

    def before(self, statement: Node) -> list[tuple[Expression, bool, bool]]:
        """Those before a statement of the block."""
        return self._tests[: self._before.get(statement, len(self._tests))]


def _passed(branch: cst.If) -> Iterator[tuple[Expression, bool, bool]]:
    """The tests of an `if`, and of each `elif` after branches that leave, of which the branch leaves."""
    following: Node | None = branch
    while isinstance(following, cst.If) and (exits(following.body) or _skips(following.body)):
        yield following.test, False, always_raises(following)
        following = following.orelse


def _skips(block: cst.BaseSuite) -> bool:
    """Whether a block ends with `continue` or `break`."""
    last = block.body[-1] if block.body else None
    if isinstance(last, cst.SimpleStatementLine):
        return isinstance(last.body[-1], cst.Continue | cst.Break)
    return isinstance(last, cst.Continue | cst.Break)


def always_raises(branch: cst.If) -> bool:
    """Whether a branch does nothing but fail, and no other follows: `if x: raise ...`."""
    last = branch.body.body[-1] if branch.body.body else None
    if isinstance(last, cst.SimpleStatementLine):
        last = last.body[-1]
    return isinstance(last, cst.Raise) and branch.orelse is None
