"""How often some code runs: the loops around it, and around the calls that lead to it."""

from __future__ import annotations

from dataclasses import dataclass

import libcst as cst

from tflint_gpu.model.model import Model
from tflint_gpu.model.python.execution.callers import RunSite, loops_around, ways
from tflint_gpu.model.python.project.file import File
from tflint_gpu.model.python.syntax.syntax import LoopNode, Node
from tflint_gpu.model.tensorflow.loops.batches import LoopData
from tflint_gpu.model.tensorflow.tracing.tracing import Tracing


@dataclass(frozen=True, slots=True)
class Frequency:
    """How often a place runs.

    Arguments:
        loops: those in whose iterations it runs, innermost first, without those of a few iterations; of several ways to
            the place, the one with most.
        is_traced: TensorFlow or Keras may trace the function that holds it: it runs with every run of the graph.
    """

    loops: tuple[tuple[File, LoopNode], ...]
    is_traced: bool


def frequency(model: Model, file: File, node: Node) -> Frequency:
    """How often a node of a file of the model runs; of a loop, how often an iteration of it."""
    data, tracing = model.once(LoopData), model.once(Tracing)
    most: tuple[tuple[File, LoopNode], ...] = ()
    for site in ways(model.inference, RunSite(file, node)):
        places = [(file, node), *((frame.file, frame.node) for frame in reversed(site.path))]
        own = [(file, node)] if isinstance(node, cst.For | cst.While) else []
        loops = (*own, *((place, loop) for place, inside in places for loop in loops_around(place, inside)))
        long = tuple((place, loop) for place, loop in loops if not data.is_short(place, loop))
        most = max(most, long, key=len)
    function = file.tree.function(node)
    return Frequency(most, function is not None and tracing.is_traced(file, function))
