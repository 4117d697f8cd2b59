"""Old calls whose fix rewrites the statements around them."""

from __future__ import annotations

from bisect import bisect_left
from typing import TYPE_CHECKING

import libcst as cst

from tflint_gpu.model import Runtime, argument
from tflint_gpu.rule import Edit

if TYPE_CHECKING:
    from tflint_gpu.model import Model

_SESSIONS = frozenset(["tf.compat.v1.Session", "tf.compat.v1.InteractiveSession"])
_SET_SESSION = frozenset(["tf.compat.v1.keras.backend.set_session", "keras.backend.set_session"])


def in_scope(model: Model, function: cst.CSTNode) -> tuple[Edit, ...]:
    """`model = build()` under a strategy's scope, instead of `model = multi_gpu_model(model, ...)` right after it.

    Arguments:
        function: the old one, where it is called.
    """
    file, call = model.file, model.file.call_at(function)
    line = _line(model, file.tree.parents.get(call)) if call is not None else None
    before = _neighbour(model, line, -1) if line is not None else None
    if call is None or line is None or before is None or not isinstance(function, cst.BaseExpression):
        return ()
    name, built = _bound(line), _value(before)
    first = argument(call, 0, "model")
    if name is None or _value(line) is not call or _bound(before) != name or not isinstance(built, cst.Call):
        return ()
    if not isinstance(first, cst.Name) or first.value != name:
        return ()
    strategy = model.mentions.respelled(function, "tensorflow.distribute.MirroredStrategy")
    if strategy is None:
        return ()
    inner = file.indentation(before) + "    "
    return Edit(before, f"with {strategy}().scope():\n{inner}{file.code(before)}"), Edit(line, "", "lines")


def growth_of_all(model: Model, options: cst.Attribute) -> tuple[Edit, ...]:
    """The loop that turns memory growth on, instead of a session that is made for `allow_growth` alone.

    Arguments:
        options: `config.gpu_options`.
    """
    file = model.file
    line = _line(model, file.tree.parents[file.tree.parents[file.tree.parents[options]]])
    made, session = (_neighbour(model, line, step) if line is not None else None for step in (-1, 1))
    if line is None or made is None or session is None or not isinstance(options.value, cst.Name):
        return ()
    name, (statement,) = options.value.value, line.body
    if not isinstance(statement, cst.Assign) or file.code(statement) != f"{file.code(options)}.allow_growth = True":
        return ()
    config = _value(made)
    if _bound(made) != name or not isinstance(config, cst.Call) or config.args:
        return ()
    if not _only_configured(model, session, name) or _may_be_too_late(model, made):
        return ()
    tensorflow = file.names.spelled("tf", made)
    if tensorflow is None:
        return ()
    gpu = file.names.free("gpu", "physical_gpu")
    inner = file.indentation(made) + "    "
    loop = (
        f'for {gpu} in {tensorflow}.config.list_physical_devices("GPU"):\n'
        f"{inner}{tensorflow}.config.experimental.set_memory_growth({gpu}, True)"
    )
    return Edit(made, loop), Edit(line, "", "lines"), Edit(session, "", "lines")


def _may_be_too_late(model: Model, line: cst.SimpleStatementLine) -> bool:
    """Whether TensorFlow may have started before a statement, so that growth can no longer be set."""
    runtime = model.once(Runtime)
    return runtime.runs_own_code_before(model.file, line) or runtime.initialiser_before(model.file, line) is not None


def _only_configured(model: Model, line: cst.SimpleStatementLine, config: str) -> bool:
    """Whether a statement makes a session with these options, and nothing else uses either."""
    call, bound = _value(line), _bound(line)
    if isinstance(call, cst.Call) and bound is None and model.name(call.func) in _SET_SESSION and len(call.args) == 1:
        call = call.args[0].value
    if not isinstance(call, cst.Call) or model.name(call.func) not in _SESSIONS or len(call.args) != 1:
        return False
    given = argument(call, -1, "config")
    if not isinstance(given, cst.Name) or given.value != config:
        return False
    uses = model.file.tree.uses  # without keywords
    return len(uses.get(config, ())) == 3 and (bound is None or len(uses.get(bound, ())) == 1)


def _line(model: Model, node: cst.CSTNode | None) -> cst.SimpleStatementLine | None:
    """The line of a statement, if it is alone on the line and has no comment."""
    line = model.file.tree.statement(node) if node is not None else None
    if not isinstance(line, cst.SimpleStatementLine) or len(line.body) != 1 or model.file.comment_after(line):
        return None
    return line


def _neighbour(model: Model, line: cst.SimpleStatementLine, step: int) -> cst.SimpleStatementLine | None:
    """The line right before or after another one in the same block, with no comment between them."""
    tree = model.file.tree
    statements = tree.siblings(line)
    place = bisect_left(statements, tree.order[line], key=tree.order.__getitem__) + step
    if not 0 <= place < len(statements):
        return None
    neighbour = _line(model, statements[place])
    later = line if step < 0 else neighbour
    return None if later is None or model.file.comment_above(later) else neighbour


def _bound(line: cst.SimpleStatementLine) -> str | None:
    """The one name that a statement assigns to."""
    (statement,) = line.body
    if not isinstance(statement, cst.Assign) or len(statement.targets) != 1:
        return None
    target = statement.targets[0].target
    return target.value if isinstance(target, cst.Name) else None


def _value(line: cst.SimpleStatementLine) -> cst.BaseExpression | None:
    (statement,) = line.body
    return statement.value if isinstance(statement, cst.Assign | cst.Expr) else None
