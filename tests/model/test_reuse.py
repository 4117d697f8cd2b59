"""The tree of a text that is typed in: the one that a fresh parse gives, with the nodes of what stayed the same."""

from __future__ import annotations

import ast
import random
from collections.abc import Iterator
from pathlib import Path

import libcst as cst
import pytest
from trees import difference
from typing_in import edited_again

from tflint_gpu.model.python.parsing.parsing import parse_again, parse_module
from tflint_gpu.model.python.parsing.python_trees import PythonTrees, RetypedText, python_tree
from tflint_gpu.model.python.parsing.reuse import KnownText
from tflint_gpu.model.python.syntax.children import children

PROGRAM = """\
import a; import b


@decorated
class A(B):
    x = 1

    def f(self):
        return 1

    @property
    def g(self):
        class Inner:
            y = 2
        return Inner


def h(): return 1
for i in range(3): print(i); print(h())
"""
_SHARED = (cst.SimpleStatementLine, cst.BaseCompoundStatement, cst.Name, cst.Call)


def again(*texts: str) -> KnownText:
    """What is known after some texts, one after the other."""
    known = None
    for text in texts:
        known = parse_again(text, known, PythonTrees())
    assert known is not None
    return known


def nodes(module: cst.Module) -> Iterator[cst.CSTNode]:
    """All nodes that hold something of their own, as often as they are in a tree."""
    stack: list[cst.CSTNode] = [module]
    while stack:
        node = stack.pop()
        if isinstance(node, _SHARED):
            yield node
        stack.extend(children(node))


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(6))
def test_a_tree_after_any_edits_is_the_one_of_a_fresh_parse(seed: int) -> None:
    """Protects every finding of the language server."""
    fixtures = sorted((Path(__file__).parents[2] / "fixtures").rglob("*.py"))
    text = PROGRAM + fixtures[seed].read_text("utf-8")
    known, parsed = None, 0
    for changed in edited_again(text, seed, 40):
        try:
            fresh = parse_module(changed)
        except Exception:
            with pytest.raises(Exception):  # noqa: B017 - what the parser raises is its own affair
                parse_again(changed, known, PythonTrees())
            continue
        known = parse_again(changed, known, PythonTrees())
        parsed += 1
        assert difference(known.module.body, fresh.body) == ()
        assert len(found := list(nodes(known.module))) == len(set(found)), "a node is in the tree twice"
    assert parsed > 8


def test_statements_that_stay_the_same_keep_their_nodes() -> None:
    former = again(PROGRAM)
    changed = parse_again(f"z = 0\n{PROGRAM}", former, PythonTrees()).module
    assert all(ours is theirs for ours, theirs in zip(changed.body[1:], former.module.body, strict=True))


def test_of_a_class_only_the_method_that_changed_is_new() -> None:
    former = again(PROGRAM)
    changed = parse_again(PROGRAM.replace("return 1\n\n    @", "return 2\n\n    @"), former, PythonTrees()).module
    ours, theirs = changed.body[1], former.module.body[1]
    assert isinstance(ours, cst.ClassDef) and isinstance(theirs, cst.ClassDef)
    assert [a is b for a, b in zip(ours.body.body, theirs.body.body, strict=True)] == [True, False, True]


def test_the_members_of_a_class_that_stayed_are_not_given_away() -> None:
    """Protects trees of two classes with a method of the same lines."""
    method = "    def f(self):\n        return 1\n"
    text = f"class A:\n    x = 1\n{method}class B:\n{method}"
    tree = again(text, text.replace("class B:\n", "class B:\n    y = 1\n")).module
    assert len(found := list(nodes(tree))) == len(set(found))


def test_a_text_that_does_not_parse_leaves_the_former_one_known() -> None:
    former = again(PROGRAM)
    with pytest.raises(cst.ParserSyntaxError):
        parse_again(f"{PROGRAM}x = (\n", former, PythonTrees())
    changed = parse_again(f"{PROGRAM}x = ()\n", former, PythonTrees()).module
    assert changed.body[0] is former.module.body[0]


_TYPED = ["'''", "\\", "(", ")", "else:", "@later", "; x = 1", "# \\", "if x:", "    pass", "\f", "async ", "y = [", ""]


@pytest.mark.parametrize("seed", range(8))
def test_python_trees_of_a_text_that_is_retyped_are_those_of_a_fresh_parse(seed: int) -> None:
    """Protects what rests on Python's tree where only the statements around a change are parsed again."""
    chance, rows = (
        random.Random(seed),
        (PROGRAM + "x = 1; y = (\n    2)\nz = 1 \\\n\n\nlast = 1\n" + PROGRAM).split("\n"),
    )
    retyped, whole, parsed = RetypedText(), list(rows), 0
    for number in range(400):
        if number % 3 == 0:
            rows = list(whole)
        row = chance.randrange(len(rows))
        typed = chance.choice(_TYPED)
        rows[row] = chance.choice([typed, rows[row] + typed, typed + rows[row], f"    {rows[row]}", rows[row].lstrip()])
        code = "\n".join(rows)
        expected, tree = python_tree(code), retyped.tree_of(code)
        assert (tree is None) == (expected is None)
        if tree is not None and expected is not None:
            parsed += 1
            assert ast.dump(tree, include_attributes=True) == ast.dump(expected, include_attributes=True)
    assert parsed > 50


def test_of_a_text_that_is_retyped_python_parses_what_is_around_the_change() -> None:
    """Protects the time of a keystroke in a long text."""
    retyped = RetypedText()
    former = retyped.tree_of(PROGRAM)
    tree = retyped.tree_of(PROGRAM.replace("def h(): return 1", "def h(): return 22"))
    assert former is not None and tree is not None
    assert tree.body[0] is former.body[0]
    assert tree.body[-1] is not former.body[-1]
