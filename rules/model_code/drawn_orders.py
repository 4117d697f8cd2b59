"""Functions that Python shuffles while TensorFlow traces: the graph draws which one comes next."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import libcst as cst

from tflint_gpu.model import operation_named
from tflint_gpu.rule import Edit, Fix

if TYPE_CHECKING:
    from tflint_gpu.model import File, Model, Node, Origin

_SHUFFLES = ("random.shuffle", "numpy.random.shuffle")


def drawn_order(model: Model, file: File, call: cst.Call, name: str) -> Fix | None:
    """Have the graph draw the order in which a loop applies the functions of a list; None where they may give images of
    several kinds, which a graph cannot choose from, or where the list is used otherwise.

    Arguments:
        name: the canonical name of what shuffles the list today.
    """
    used_by_fix = ("tf.unstack", "tf.random.shuffle", "tf.range", "tf.switch_case")
    statement, words = file.tree.statement(call), [file.names.spelled(used, call) for used in used_by_fix]
    shuffled = call.args[0].value if len(call.args) == 1 else None
    loop = _next_loop(file, statement)
    is_alone = isinstance(statement, cst.SimpleStatementLine) and len(statement.body) == 1
    if name not in _SHUFFLES or not is_alone or loop is None or file.comment_after(statement) or None in words:
        return None
    applied = _applied(loop)
    if applied is None or not isinstance(shuffled, cst.Name) or not isinstance(loop.target, cst.Name):
        return None
    function, functions = loop.target.value, shuffled.value
    is_list = isinstance(loop.iter, cst.Name) and loop.iter.value == functions
    if not is_list or not _ends_with(file, loop, functions) or not _ends_with(file, loop, function):
        return None
    if not _keep_images(model, file, loop.iter):
        return None
    index = file.names.free("index", f"{function}_index", "index_")
    unstack, shuffle, count, choose = words
    branches = f"[lambda {function}={function}: {file.code(applied)} for {function} in {functions}]"
    edits = (
        Edit(statement, "", "lines"),
        Edit(loop.target, index),
        Edit(loop.iter, f"{unstack}({shuffle}({count}(len({functions}))))"),
        Edit(applied, f"{choose}({index}, {branches})"),
    )
    return Fix(f"Draw the order with `{shuffle}`", "unsafe", edits)


def _next_loop(file: File, statement: Node) -> cst.For | None:
    """The loop right after a statement."""
    block = file.tree.siblings(statement)
    after = next((other for last, other in pairwise(block) if last is statement), None)
    return after if isinstance(after, cst.For) and after.orelse is None and after.asynchronous is None else None


def _applied(loop: cst.For) -> cst.Call | None:
    """`function(x)` of a loop that does nothing but `x = function(x)`."""
    line = loop.body.body[0] if len(loop.body.body) == 1 else None
    assigned = line.body[0] if isinstance(line, cst.SimpleStatementLine) and len(line.body) == 1 else None
    if not isinstance(assigned, cst.Assign) or len(assigned.targets) > 1:
        return None
    call, target = assigned.value, assigned.targets[0].target
    if not isinstance(call, cst.Call) or len(call.args) != 1 or not call.func.deep_equals(loop.target):
        return None
    is_same = isinstance(target, cst.Name) and call.args[0].value.deep_equals(target)
    return call if is_same and call.args[0].keyword is None and not call.args[0].star else None


def _ends_with(file: File, loop: cst.For, name: str) -> bool:
    """Whether a name is of the loop's function only, and nothing reads it after the loop."""
    function = file.tree.function(loop)
    uses = [use for use in file.tree.uses.get(name, ()) if use in file.tree.order]
    if function is None or any(file.tree.function(use) is not function for use in uses):
        return False
    bindings = file.tree.scopes[function].bindings.get(name, ())
    order = file.tree.order
    read_later = (order[use] > order[loop] and not file.tree.within(use, loop) for use in uses)
    return bool(bindings) and all(binding.kind != "parameter" for binding in bindings) and not any(read_later)


def _keep_images(model: Model, file: File, functions: cst.BaseExpression) -> bool:
    inference = model.inference
    elements = [element for origin in inference.of(file, functions) for element in inference.elements(origin)]
    return bool(elements) and all(_keeps_image(element) for element in elements)


def _keeps_image(function: Origin) -> bool:
    node, file = function.node, function.file
    if not isinstance(node, cst.Lambda):
        return _is_of_image(function.name)
    called, given = node.body, node.params.params
    if not isinstance(called, cst.Call) or not called.args or not given:
        return False
    return _is_of_image(file.name(called.func)) and called.args[0].value.deep_equals(given[0].name)


def _is_of_image(name: str | None) -> bool:
    """Whether a function gives an image of the dtype and the shape of that which it gets."""
    return (name or "").startswith("tf.image.") and operation_named(name).is_alike
