"""Which names the body of a loop or of a function binds: a look-up, since each loop of a file asks it."""

from __future__ import annotations

import libcst as cst

from tflint_gpu.model.python.project.file import File
from tflint_gpu.model.python.syntax.scopes import Binding, Scope
from tflint_gpu.model.python.syntax.syntax import FunctionNode, LoopNode, Node

_KINDS = ("assign", "augment", "for")


class BlockBindings:
    """The assignments of a file and its loop variables, by the blocks around them."""

    def __init__(self, file: File) -> None:
        self._tree = file.tree
        self._below: dict[Node, list[tuple[Scope, Binding]]] = {}
        for scope in file.tree.scopes.values():
            for binding in (b for bindings in scope.bindings.values() for b in bindings if b.kind in _KINDS):
                self._add(scope, binding)

    def _add(self, scope: Scope, binding: Binding) -> None:
        node: Node | None = binding.node
        while node is not None:
            self._below.setdefault(node, []).append((scope, binding))
            node = None if node is scope.node else self._tree.parents.get(node)

    def of(self, block: LoopNode | FunctionNode, scope: Scope) -> list[Binding]:
        """What a body binds in a scope."""
        return [binding for where, binding in self._below.get(body_of(block), ()) if where is scope]


def body_of(block: LoopNode | FunctionNode) -> Node:
    """What runs in every iteration; a comprehension or a call as a whole."""
    return block if isinstance(block, cst.BaseComp | cst.Call) else block.body
