"""Which names the body of a loop or of a function binds."""

from __future__ import annotations

import libcst as cst

from tflint_gpu.model.python.project.file import File
from tflint_gpu.model.python.syntax.scopes import Binding, Scope
from tflint_gpu.model.python.syntax.syntax import FunctionNode, LoopNode, Node

_KINDS = ("assign", "augment", "for")


def bound_by(file: File, block: LoopNode | FunctionNode, scope: Scope) -> list[Binding]:
    """What the body of a loop or function binds in a scope: assignments and loop variables."""
    return [binding for binding in file.tree.bound_in(scope, body_of(block)) if binding.kind in _KINDS]


def body_of(block: LoopNode | FunctionNode) -> Node:
    """What runs in every iteration; a comprehension or a call as a whole."""
    return block if isinstance(block, cst.BaseComp | cst.Call) else block.body
