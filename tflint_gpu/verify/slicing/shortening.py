"""Keeps short what a program only does on the way to what is looked at: trainings whose result is needed."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator

import libcst as cst

from tflint_gpu.model import Kinds, Model
from tflint_gpu.model.python.project.file import File
from tflint_gpu.model.python.syntax.syntax import Node, method_name
from tflint_gpu.rule.experiment import HARNESS
from tflint_gpu.verify.slicing.pieces import Piece, wrapping


def shortened_fits(entry: Model, file: File, changed: Container[Node]) -> Iterator[Piece]:
    """Calls of `fit`, but for those that are measured or repaired."""
    for call in file.method_calls("fit"):
        if call.func not in changed and entry.once(Kinds).receiver(file, call, "fit") is not None:
            yield from wrapping(*file.span(call.func), f"{HARNESS}.brief(", ")")


def shortened_loops(file: File, places: Iterable[Node], measured: Node) -> Iterator[Piece]:
    """Loops that train, but for those that hold one of some places: few iterations give weights, too.

    Neither is a loop shortened within the one that is measured, nor one over networks that are listed there.
    """
    within = file.tree.within
    known = [place for place in places if place in file.tree.parents]
    updates = list(file.method_calls("apply_gradients", "minimize", "train_on_batch"))
    functions = {file.tree.function(call) for call in updates}
    named = {function.name.value for function in functions if isinstance(function, cst.FunctionDef)}
    updates += [call for call in file.tree.calls if _called(call) in named]
    for loop in dict.fromkeys(parent for call in updates for parent in file.tree.ancestors(call)):
        if within(loop, measured) or any(within(place, loop) for place in known):
            continue
        if isinstance(loop, cst.For) and not isinstance(loop.iter, cst.Tuple | cst.List):
            yield from wrapping(*file.span(loop.iter), f"{HARNESS}.few(", ")")
        elif isinstance(loop, cst.While):
            yield from wrapping(*file.span(loop.test), f"{HARNESS}.again(", ")")


def counted_loops(file: File, places: Iterable[Node]) -> Iterator[Piece]:
    """The loops around some places tell how often they are run; the innermost place is measured and no loop around."""
    known = [place for place in places if place in file.tree.parents]
    loops = dict.fromkeys(parent for place in known for parent in _around(file, place))
    for loop in loops:
        if isinstance(loop, cst.For) and loop not in known:
            yield from wrapping(*file.span(loop.iter), f"{HARNESS}.around(", ")")
        elif isinstance(loop, cst.While) and loop not in known:
            yield from wrapping(*file.span(loop.test), f"{HARNESS}.around(", ", False)")


def _around(file: File, place: Node) -> Iterator[Node]:
    """The loops around a place, in its function."""
    function = file.tree.function(place)
    loops = (parent for parent in file.tree.ancestors(place) if isinstance(parent, cst.For | cst.While))
    return (loop for loop in loops if file.tree.function(loop) is function)


def _called(call: cst.Call) -> str | None:
    return call.func.value if isinstance(call.func, cst.Name) else method_name(call)
