"""Where nodes lie: what is learnt of one statement is what the whole tree says."""

from __future__ import annotations

import libcst as cst
import pytest

from tflint_gpu.model.python.parsing.parsing import parse_module
from tflint_gpu.model.python.parsing.python_trees import PythonTrees
from tflint_gpu.model.python.syntax.children import walk
from tflint_gpu.model.python.syntax.spans import Spans, spans_of
from tflint_gpu.model.python.syntax.tree import Tree

PROGRAMS = {
    "statements": "import a\n\n\n# of b\nb(1); c(2)\nif x:\n    d(e(1))\nelse:\n    f(1)\n",
    "decorators": "# first\n@a(1)\n# between\n@b.c(2)\n\ndef d(e=f(1)):\n    '''é'''\n    return g(e)\n",
    "methods": "class A(b(1)):\n    c = d(1)\n\n    # of e\n    @f(1)\n    async def e(self):\n        '''x\ny'''\n        g(1)\n\n"
    "    class H:\n        def i(self): j(1)\n",
    "a suite on the line": "class A: b(1)\nfor x in y(1): z(1)\n",
    "no newline at the end": "a(1)\nb(\n    2,\n    c(3))",
    "other line ends": "a(1)\r\nclass B:\r\n\tdef c(self):\r\n\t\td(1)\r\n\r\n\r\n\te(1)\r\n",
    "continued lines": "a = \\\n    b(1)\nif (x and\n    y(2)):\n  pass; c(1)\n",
    "blocks in blocks": "def f():\n    if a(1):\n        b(2)\n    elif c(3):\n        d(4)\n    else:\n        try:\n"
    "            e(5)\n        except G:\n            pass\n        except (H, i(6)):\n            return j(\n7)\n        else:\n"
    "            k(8)\n        finally:\n            l(9); m(10)\n    for n in o(11):\n        with p(12):\n            q(13)\n"
    "    else:\n        if r(14): s(15)\n        else:\n            t(16)\n    while u(17): v(18)\n",
    "what only a function holds": "async def f():\n    await g(1)\n    async with h(2):\n        return i(3), (yield j(4))\n"
    "    async for k in l(5):\n        break\n    nonlocal m\n    yield from n(6)\n",
    "semicolons at the end": "def a(): b(1);\nwhile c:\n    'é'; d(2);\n@e\nclass F:\n    é = g(3) ;  # of g\n",
    "form feeds": "a(1)\n\x0c\nclass B:\n\x0c\n    c = d(1)\n",
}


@pytest.mark.parametrize("text", PROGRAMS.values(), ids=PROGRAMS)
def test_one_statement_and_the_whole_tree_agree(text: str) -> None:
    """Protects every position in every report."""
    module = cst.parse_module(text)
    tree = Tree(parse_module(text))
    expected = spans_of(module, text)
    for call, other in zip(tree.calls, Tree(module).calls, strict=True):
        spans = Spans(tree, text)
        assert spans.of(call, call) == expected[other]
        assert text[slice(*spans.of(call.func, call))] == module.code_for_node(other.func)


@pytest.mark.parametrize("text", PROGRAMS.values(), ids=PROGRAMS)
def test_compound_statements_and_the_whole_tree_agree(text: str) -> None:
    """Protects the places of loops, functions and classes, which Python's parser tells: `;` and decorators are apart."""
    module, own = cst.parse_module(text), parse_module(text)
    expected, tree = spans_of(module, text), Tree(own)
    pairs = [(a, b) for a, b in zip(walk(own), walk(module), strict=True) if isinstance(a, cst.BaseCompoundStatement)]
    for node, other in pairs:
        assert Spans(tree, text).of(node, node) == expected[other]


@pytest.mark.parametrize("text", PROGRAMS.values(), ids=PROGRAMS)
def test_a_node_lies_in_what_is_above_it(text: str) -> None:
    """Protects what asks whether a call is in a loop or a function: it is told by the order of the code alone."""
    tree = Tree(parse_module(text))
    for node in (tree.module, *tree.parents):
        above = {node, *tree.ancestors(node)}
        assert [tree.within(node, outer) for outer in tree.parents] == [outer in above for outer in tree.parents]
        assert tree.within(node, tree.module)
        assert not tree.within(cst.Name("elsewhere"), node)


def test_one_statement_is_written_and_not_the_file() -> None:
    """Protects the reason for all this: a place in one function costs that function."""
    text = "class A:\n    def b(self):\n        c(1)\n\n    def d(self):\n        e(1)\n\n\nf(1)\n"
    tree = Tree(parse_module(text))
    spans = Spans(tree, text)
    first, second, third = tree.calls
    spans.of(first, first)
    assert first in spans._known
    assert second not in spans._known
    assert third not in spans._known


def test_a_node_that_the_traversal_leaves_out() -> None:
    """Protects places such as a method's name or a comma, whatever is near."""
    text = "a.b(1)\nc.d(\n    2, 3)\n"
    tree = Tree(parse_module(text))
    call = tree.calls[1]
    assert isinstance(call.func, cst.Attribute)
    assert text[slice(*Spans(tree, text).of(call.func.attr, call))] == "d"
    assert text[slice(*Spans(tree, text).of(call.func.attr, call.func.attr))] == "d"


def test_where_python_reads_other_statements() -> None:
    """Protects files that only libcst parses: the whole tree is written."""
    text = "a(1)\nprint(b(2))\n"
    tree = Tree(parse_module(text))
    python = PythonTrees()
    python.of(text)
    python._known[text] = None
    spans = Spans(tree, text, python)
    assert spans.of(tree.calls[2], tree.calls[2]) == (text.index("b(2)"), text.index("b(2)") + 4)
