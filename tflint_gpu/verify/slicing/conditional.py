"""Whether the measured loop may pass the flagged code by, so that its iterations would say nothing of it."""

from __future__ import annotations

from collections.abc import Sequence

import libcst as cst

from tflint_gpu.model.python.project.file import File
from tflint_gpu.model.python.syntax.syntax import Node
from tflint_gpu.rule.experiment import Change, Experiment
from tflint_gpu.verify.slicing.pieces import Piece, standing_before

_CONDITIONS = (cst.If, cst.Match, cst.Try, cst.For, cst.While)
_FUNCTIONS = (cst.FunctionDef, cst.Lambda, cst.ClassDef)
_CLOCKED = ("tflint_measure.steps(", "tflint_measure.iterates(")


def flagged_statement(experiment: Experiment, file: File, node: Node) -> Node | None:
    """The statement that must run in the loop that is measured; None where each iteration runs it, or no loop is.

    Arguments:
        file: of `node`.
        node: on which the finding is.
    """
    if node not in file.tree.parents:  # the name of a method, which the tree does not have by itself
        node = next((n for n in file.tree.parents if isinstance(n, cst.Attribute) and n.attr is node), node)
    is_clocked = any(probe.text.startswith(_CLOCKED) for probe in experiment.probes)
    if not is_clocked or node not in file.tree.parents or not _is_passed_by(experiment, file, node):
        return None
    statement = node
    while not isinstance(parents := file.tree.parents.get(statement), cst.IndentedBlock | cst.Module):
        if parents is None:
            return None
        statement = parents
    return None if isinstance(statement, _FUNCTIONS) else statement


def _is_passed_by(experiment: Experiment, file: File, node: Node) -> bool:
    if node is experiment.node:
        return False
    for parent in file.tree.ancestors(node):
        if parent is experiment.node:
            return False
        if isinstance(parent, (*_CONDITIONS, *_FUNCTIONS)):
            return True
    return not any(parent is node for parent in experiment.file.tree.ancestors(experiment.node))


def telling(number: int, file: File, statement: Node, edits: Sequence[Change]) -> Piece:
    """What tells in a program that a statement ran, or what replaces it there.

    Arguments:
        number: of the statement among those that are flagged.
        edits: those of the program.
    """
    place = file.source.line_starts[file.source.row(file.span(statement)[0]) - 1]
    for edit in edits:
        start, end = edit.span
        if edit.file is file and edit.where in ("replace", "lines", "commented lines") and start < place < end:
            place = file.source.line_starts[file.source.row(start) - 1]
    line = file.source.line(file.source.row(place))
    return standing_before(place, f"{line[: len(line) - len(line.lstrip())]}tflint_measure.passed({number})\n")
