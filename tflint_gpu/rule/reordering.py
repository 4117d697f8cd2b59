"""Fixes that reorder the operations of a tf.data chain, in one expression or across the statements of a block."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tflint_gpu.rule.finding import Edit

if TYPE_CHECKING:
    from collections.abc import Sequence

    import libcst as cst

    from tflint_gpu.model.python.project.file import File
    from tflint_gpu.model.tensorflow.tf_data.chains import Operation


def moved_after(operation: Operation, target: Operation, argument: Edit | None = None) -> tuple[Edit, ...]:
    """Move an operation after a later one of its chain; no edits where something else may read what is between them.

    Arguments:
        argument: what a part of one of its arguments is replaced by.
    """
    file = operation.file
    if file is not target.file or not (gone := removed(operation)):
        return ()
    if file.tree.within(operation.link, target.link):
        line_break = _line_break(_gap(operation)) or _line_break(_gap(target))
        return (*gone, Edit(target.link, f"{line_break}.{_method(operation, argument).rstrip()}", "after"))
    if not _are_successive(file, operation.link, target.link, operation.link):
        return ()
    return (*gone, Edit(target.link, f".{_method(operation, argument)}", "after"))


def moved_before(operation: Operation, target: Operation, argument: Edit | None = None) -> tuple[Edit, ...]:
    """Move an operation before an earlier one of its chain; no edits where something else may read what is between.

    Arguments:
        argument: what one of its arguments is replaced by.
    """
    file = operation.file
    if file is not target.file or target.receiver is None or not (gone := removed(operation)):
        return ()
    if file.tree.within(target.link, operation.link):
        return (*gone, Edit(target.receiver, f"{_line_break(_gap(target))}.{_method(operation, argument)}", "after"))
    if not _are_successive(file, target.link, operation.link, operation.link):
        return ()
    return (*gone, Edit(target.receiver, f".{_method(operation, argument)}", "after"))


def removed(operation: Operation) -> tuple[Edit, ...]:
    """Take an operation out of its chain, with the line of a statement that does nothing else."""
    file, call, receiver = operation.file, operation.link, operation.receiver
    if receiver is None or not file.code(call).startswith(file.code(receiver)):  # in brackets of its own
        return ()
    line = _assignment(file, call)
    is_alone = line is not None and len(file.tree.siblings(line)) == 1
    if line is not None and not is_alone and file.code(receiver) == _target(line):
        return (Edit(line, "", "lines"),)
    return (Edit(receiver, _kept_comment(operation), "tail", last=call),)


def _kept_comment(operation: Operation) -> str:
    """What is left of the text before an operation that is taken out: its comments, and the line break after them.

    Without the line break, what follows on the line of the operation would become part of the comment.
    """
    gap, source = _gap(operation), operation.file.source
    if "#" not in gap:
        return ""
    end = operation.file.span(operation.link)[1]
    return gap if source.text[end : source.end_of_line(end)].strip() else gap.rstrip()


def method_text(operation: Operation) -> str:
    """`.shuffle(1000)`, to go after another dataset."""
    return f".{_method(operation)}"


def _gap(operation: Operation) -> str:
    """The text between a receiver and the dot of the method."""
    if operation.receiver is None:
        return ""
    call, head = operation.file.code(operation.link), operation.file.code(operation.receiver)
    return call[len(head) :].partition(".")[0]


def _method(operation: Operation, argument: Edit | None = None) -> str:
    """`shuffle(1000)`, `apply(assert_cardinality(9))`."""
    from tflint_gpu.model import method_place

    file, link = operation.file, operation.link
    start, end = file.span(method_place(link))[0], file.span(link)[1]
    if argument is None:
        return file.source.text[start:end]
    given, after = argument.span_in(file)
    return f"{file.source.text[start:given]}{argument.text}{file.source.text[after:end]}"


def _line_break(gap: str) -> str:
    """The line break and indentation with which a method starts a line of its own; empty where it does not."""
    before, line_break, indentation = gap.rpartition("\n")
    continuation = " \\" if before.rstrip(" \t\r").endswith("\\") else ""
    return f"{continuation}{line_break}{indentation}" if line_break else ""


def _are_successive(file: File, first: cst.Call, last: cst.Call, moved: cst.Call) -> bool:
    """Whether each statement from one call to another makes the same name a new dataset, or has nothing to do with it.

    Nor may one of them change what the moved call is given.
    """
    from tflint_gpu.model import children, names_in

    start, end = _assignment(file, first, whole=False), _assignment(file, last, whole=False)
    if start is None or end is None or _target(start) != _target(end):
        return False
    block = file.tree.block(start)
    if block is not file.tree.block(end):
        return False
    statements: Sequence[cst.CSTNode] = list(children(block))
    between = statements[statements.index(start) + 1 : statements.index(end)]
    name = _target(start)
    given = {used for arg in moved.args for used in names_in(arg.value)}
    if name in given:
        return False
    for statement in between:
        if given & _bound_in(file, statement):
            return False
        if name in names_in(statement) and not _continues(file, statement, name):
            return False
    return _continues(file, end, name)


def _bound_in(file: File, statement: cst.CSTNode) -> set[str]:
    bindings = (binding for known in file.tree.scope(statement).bindings.values() for binding in known)
    return {binding.name for binding in bindings if file.tree.within(binding.node, statement)}


def _continues(file: File, statement: cst.CSTNode, name: str) -> bool:
    """`dataset = dataset.shuffle(9).batch(2)`."""
    import libcst as cst

    from tflint_gpu.model import names_in, walk

    line = statement if isinstance(statement, cst.SimpleStatementLine) else None
    small = line.body[0] if line is not None and len(line.body) == 1 else None
    if line is None or not isinstance(small, cst.Assign) or _target(line) != name:
        return False
    root: cst.CSTNode = small.value
    while isinstance(root, cst.Call | cst.Attribute):
        root = root.func if isinstance(root, cst.Call) else root.value
    uses = [node for node in walk(small.value) if isinstance(node, cst.Name) and node.value == name]
    return isinstance(root, cst.Name) and root.value == name and len(uses) == 1 and name in names_in(small.value)


def _assignment(file: File, call: cst.Call, *, whole: bool = True) -> cst.SimpleStatementLine | None:
    """The statement that assigns a call to a name; not `whole`: what the call is part of."""
    import libcst as cst

    line = file.tree.statement(call)
    if not isinstance(line, cst.SimpleStatementLine) or len(line.body) != 1 or not isinstance(line.body[0], cst.Assign):
        return None
    return line if _target(line) and (not whole or line.body[0].value is call) else None


def _target(line: cst.SimpleStatementLine) -> str:
    """The one name that a statement assigns to."""
    import libcst as cst

    (small,) = line.body
    target = small.targets[0].target if isinstance(small, cst.Assign) and len(small.targets) == 1 else None
    return target.value if isinstance(target, cst.Name) else ""
