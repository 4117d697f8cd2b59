"""A program many times in one file: the names that it binds get numbers, and its imports stand once at the top."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from checks import notebook

TRAINING_LOOP = """
import tensorflow as tf
net = tf.keras.Sequential([tf.keras.layers.Dense(3)])
optimizer = tf.keras.optimizers.Adam()
for epoch in range(30):
    for x, y in tf.data.Dataset.from_tensor_slices((xs, ys)).batch(32):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((net(x) - y) ** 2)
        gradients = tape.gradient(loss, net.trainable_variables)
        optimizer.apply_gradients(zip(gradients, net.trainable_variables))
    print(epoch, float(loss))
"""


def repeated(program: str, times: int) -> str:
    """A file that has a program several times, each time with other names."""
    head, parts = _parts(program, times)
    return "\n\n".join((head, *parts)) + "\n"


def cells(program: str, times: int) -> str:
    """A notebook with a cell for each of them."""
    head, parts = _parts(program, times)
    return notebook(head, *parts)


def _parts(program: str, times: int) -> tuple[str, Iterator[str]]:
    tree = ast.parse(program)
    imports = [node for node in tree.body if isinstance(node, ast.Import | ast.ImportFrom)]
    body = [node for node in tree.body if node not in imports]
    bound = {name for node in body for name in _bound(node)}
    head = "\n".join(map(ast.unparse, imports))
    return head, (_numbered(body, bound, number) for number in range(times))


def _bound(statement: ast.stmt) -> Iterator[str]:
    """The names that a statement of a module binds."""
    left: list[ast.AST] = [statement]
    while left:
        node = left.pop()
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
        elif isinstance(node, ast.Global):
            yield from node.names
        if not isinstance(node, ast.FunctionDef | ast.ClassDef | ast.Lambda):
            left += ast.iter_child_nodes(node)


def _numbered(body: Iterable[ast.stmt], bound: set[str], number: int) -> str:
    copy = ast.parse("\n".join(map(ast.unparse, body)))
    return ast.unparse(_Numbering(bound, number).visit(copy))


class _Numbering(ast.NodeTransformer):
    def __init__(self, names: set[str], number: int) -> None:
        self.names, self.number = names, number

    def visit_Name(self, node: ast.Name) -> ast.Name:
        node.id = self._new(node.id)
        return node

    def visit_Global(self, node: ast.Global) -> ast.Global:
        node.names = [*map(self._new, node.names)]
        return node

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        node.name = self._new(node.name) if node.col_offset == 0 else node.name
        return self.generic_visit(node)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        node.name = self._new(node.name) if node.col_offset == 0 else node.name
        given = {argument.arg for argument in ast.walk(node.args) if isinstance(argument, ast.arg)}
        outer, self.names = self.names, self.names - given
        self.generic_visit(node)
        self.names = outer
        return node

    def _new(self, name: str) -> str:
        return f"{name}_{self.number}" if name in self.names else name
