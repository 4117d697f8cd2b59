"""What of a program comes by only after the steps in which both programs were compared: an epoch's end, a condition."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import libcst as cst

from tflint_gpu.model.python.project.file import File
from tflint_gpu.model.python.syntax.syntax import Node
from tflint_gpu.verify.experiments.verification import Case

_LOOPS = (cst.For, cst.While)
_SHOWS = ("print", "tf.print", "tqdm.write", "logging.info", "logger.info")


def comes_later(case: Case) -> str:
    """The first place that may change what the repaired code computes after those steps; empty where there is none.

    That is what stands beside the measured loop in a loop around it, and what stands under a condition in it.
    """
    experiment, pair = case.experiment, case.pair
    if experiment is None or experiment.file is None:
        return ""
    route = pair.approach[1].route if pair is not None and pair.approach is not None else ()
    ways = [(experiment.file, experiment.node), *((stop.file, stop.node) for stop in reversed(route))]
    for file, node in dict.fromkeys(ways):
        for statement in _later(file, node):
            if not _shows(file, statement):
                return f"{file.source.name}:{file.source.locate(file.span(statement)[0]).row}"
    return ""


def _later(file: File, node: Node) -> Iterator[Node]:
    if isinstance(node, _LOOPS) and isinstance(node.body, cst.IndentedBlock):
        yield from (statement for statement in node.body.body if isinstance(statement, cst.If))
    for parent in file.tree.ancestors(node):
        if isinstance(parent, cst.FunctionDef | cst.Lambda | cst.ClassDef):
            return
        if isinstance(parent, _LOOPS):
            yield from (statement for statement in _statements(parent) if not file.tree.within(node, statement))


def _statements(compound: Node) -> Sequence[Node]:
    body = getattr(compound, "body", None)
    return body.body if isinstance(body, cst.IndentedBlock) else ()


def _shows(file: File, statement: Node) -> bool:
    """Whether a statement only tells how far the program is."""
    match statement:
        case cst.SimpleStatementLine(body=[cst.Expr(value=cst.Call(func=func))]):
            return file.code(func) in _SHOWS
        case cst.If(orelse=None):
            return all(_shows(file, inner) for inner in _statements(statement))
    return False
