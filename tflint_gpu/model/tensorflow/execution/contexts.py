"""Execution contexts: from where some code runs, inside which loops, how often, and whether eagerly."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise, starmap
from math import prod
from typing import Literal

import libcst as cst

from tflint_gpu.lazy_dataclasses import dataclass
from tflint_gpu.model.model import Analysis, Model
from tflint_gpu.model.python.execution.callers import RunSite, callers, loops_around
from tflint_gpu.model.python.execution.walks import Frame
from tflint_gpu.model.python.project.file import File
from tflint_gpu.model.python.syntax.syntax import LoopNode, Node, iterable, method_name
from tflint_gpu.model.python.value_flow.origins import Origin
from tflint_gpu.model.tensorflow.effects.blockers import Blocker
from tflint_gpu.model.tensorflow.execution.construction import Construction
from tflint_gpu.model.tensorflow.execution.repetitions import Repetitions
from tflint_gpu.model.tensorflow.loops.batches import LoopData
from tflint_gpu.model.tensorflow.loops.iterations import CountedIterations, Iterations
from tflint_gpu.model.tensorflow.loops.loop_flow import names_of
from tflint_gpu.model.tensorflow.loops.yielded_numbers import counts
from tflint_gpu.model.tensorflow.runtime.strategies import ScopeSide, Strategies
from tflint_gpu.model.tensorflow.tracing.tracing import Tracing
from tflint_gpu.model.tensorflow.training.training import Training

Iterated = Literal[
    "configuration", "requests", "episodes", "steps of an environment", "frames", "epochs", "dataset", "batches",
    "numbers", "elements", "a condition",
]  # fmt: skip
Mode = Literal["eager", "traced"]
PAYS_FROM = 24
"""Runs of a step from which on a trace pays, in all networks that were measured but a single Dense layer (26 runs).

Measured on a CPU with TensorFlow 2.21: dense networks pay after 13 to 26 steps with Adam, 5 to 8 with plain SGD and
4 to 26 forward passes, convolutions after 18, 6 and 5, an LSTM after 7, 3 and 2.
"""
_PLAIN = ("numbers", "elements", "a condition")
_WORDS = {
    "dataset": "the dataset",
    "configuration": "a configuration",
    "steps of an environment": "an environment's steps",
}
_FRAMES = ("cv2.VideoCapture", "imageio.get_reader", "imutils.video.VideoStream", "imutils.video.FileVideoStream")
_READS_FRAME = frozenset(["read", "retrieve", "grab", "get_next_data"])


@dataclass(frozen=True, slots=True)
class LoopContext:
    """A loop around some code.

    Arguments:
        iterated: what it goes over; "numbers" and "elements" where nothing tells more.
        length: how many iterations it makes; None where that is not known.
    """

    file: File
    loop: LoopNode
    iterated: Iterated
    length: int | None

    @property
    def text(self) -> str:
        """The loop in words: "the loop over epochs"."""
        return (
            f"the loop over {_WORDS.get(self.iterated, self.iterated)}" if self.iterated not in _PLAIN else "the loop"
        )


@dataclass(frozen=True, slots=True)
class ExecutionContext:
    """One way on which some code is run.

    Arguments:
        path: the calls that lead to it, outermost first.
        loops: the loops in whose iterations it runs on this way, outermost first.
        mode: whether a function on the way is under `tf.function`, or traced by Keras or tf.data.
        strategy: whether it runs inside the scope of a `tf.distribute` strategy.
    """

    path: tuple[Frame, ...]
    loops: tuple[LoopContext, ...]
    mode: Mode
    strategy: ScopeSide

    @property
    def least_runs(self) -> int:
        """How often it runs at least: the product of the lengths that are known."""
        return prod(loop.length for loop in self.loops if loop.length is not None)


class ExecutionContexts(Analysis):
    """The ways on which code is run, as far as the program shows them."""

    def __init__(self, model: Model) -> None:
        super().__init__(model)
        self.data = model.once(LoopData)
        self.counted = model.once(CountedIterations)
        self.construction = model.once(Construction)
        self.repetitions = model.once(Repetitions)
        self.tracing = model.once(Tracing)
        self.strategies = model.once(Strategies)
        self.training = model.once(Training)
        self._loops: dict[Node, LoopContext] = {}

    def of(self, file: File, node: Node) -> list[ExecutionContext]:
        """The ways on which a place is run; one of its own where nothing is seen to call its function."""
        inner = ExecutionContext((), (), "eager", "unknown" if self.strategies.are_hidden else "outside")
        return list(self._ways(RunSite(file, node), inner, frozenset()))

    def pays(self, file: File, node: Node) -> bool:
        """Whether a trace of a step may save more than it takes: not where a program runs that only a few times."""
        runs = self._most_runs(self.data.iterations, file, node)
        return runs is None or runs >= PAYS_FROM

    def too_few_runs(self, file: File, node: Node) -> Blocker | None:
        """That the program as it stands runs a step a few times, over arrays that it makes up; None where a trace may
        pay."""
        runs = self._most_runs(self.counted, file, node)
        if runs is None or runs >= PAYS_FROM:
            return None
        times = "once" if runs == 1 else f"{runs} times"
        text = f"with these synthetic arrays it runs {times}, too rarely for tracing to pay off"
        return Blocker(file, node, text)

    def _most_runs(self, iterations: Iterations, file: File, node: Node) -> int | None:
        """How often a program runs a place at most, all its loops and callers together; None where that is open."""
        runs = 0
        for way in self.of(file, node):
            places = [*((frame.file, frame.node) for frame in way.path), (file, node)]
            loops = [(where, loop) for where, place in places for loop in loops_around(where, place)]
            counts = [iterations.most(where, loop) for where, loop in loops]
            if None in counts or places[0][0].tree.function(places[0][1]) is not None:
                return None
            if not all(starmap(self._calls_itself, pairwise(places))):
                return None
            runs += prod(count for count in counts if count is not None)
        return runs

    def _calls_itself(self, caller: tuple[File, Node], place: tuple[File, Node]) -> bool:
        """Whether a call runs the function around a place once, and does not hand it to others that run it as often as
        they like.
        """
        assert isinstance(caller[1], cst.Call)
        function = place[0].tree.function(place[1])
        return any(callee.function.node is function for callee in self.inference.callees(caller[0], caller[1]))

    def _ways(self, site: RunSite, inner: ExecutionContext, seen: frozenset[Node]) -> Iterator[ExecutionContext]:
        """The ways to a place.

        Arguments:
            inner: what is known of the way from there to the code.
            seen: the functions that this way has left.
        """
        around = tuple(self.of_loop(site.file, loop) for loop in site.loops())
        mode, strategy, function = inner.mode, inner.strategy, site.function
        outer = [caller for caller in callers(self.inference, site) if caller.function not in seen]
        if strategy == "outside":
            strategy = self.strategies.within(site.file, site.node)
        if function is not None and (
            self.tracing.is_traced(site.file, function) if not outer else function in self.tracing.wrapped(site.file)
        ):
            mode = "traced"
        if function is not None and not outer and strategy == "outside":
            strategy = self.strategies.of_uncalled(site.file, function)
        way = ExecutionContext(site.path, (*reversed(around), *inner.loops), mode, strategy)
        if function is None or not outer:
            yield way
            return
        for caller in outer:
            yield from self._ways(caller, way, seen | {function})

    def of_loop(self, file: File, loop: LoopNode) -> LoopContext:
        """What a loop goes over, and how often."""
        if loop not in self._loops:
            self._loops[loop] = LoopContext(file, loop, self._iterated(file, loop), self.data.length(file, loop))
        return self._loops[loop]

    def _iterated(self, file: File, loop: LoopNode) -> Iterated:
        data = iterable(loop)
        if self.construction.builds(file, loop):
            return "configuration"
        if self.repetitions.waits(file, loop):
            return "requests"
        methods = {method_name(call) for call in file.calls_below.get(loop, ())}
        if "step" in methods and "reset" in methods:
            return "episodes"
        if self._reads_frames(file, loop):
            return "frames"
        if self.training.runs_epochs(file, loop) and self._may_count(file, loop):
            return "epochs"
        if data is not None and any(chain.certain for chain in self.data.pipelines.iterated(file, data)):
            return "dataset"
        batches = self.data.batches(file, loop)
        if batches is not None and batches.is_certain:
            return "batches"
        if "step" in methods and not self.training.takes_gradients(file, loop):
            return "steps of an environment"
        if data is None:
            return "a condition"
        return "numbers" if self.data.counts(file, data) else "elements"

    def _may_count(self, file: File, loop: LoopNode) -> bool:
        """Whether a loop may run epochs: no data goes by, but numbers, or what is called an epoch."""
        data = iterable(loop)
        if data is None or any("epoch" in name.lower() for name in names_of(loop)):
            return True
        return self.inference.must_be(file, data, self._is_counter)

    def _is_counter(self, origin: Origin) -> bool:
        """`range(n)`, `enumerate(range(n))`: no list of numbers, such as rates that are tried."""
        return origin.call is not None and any(counts(self.inference, origin, path) for path in ((), (1,)))

    def _reads_frames(self, file: File, loop: LoopNode) -> bool:
        return any(
            self.inference.is_method_of(file, call, _READS_FRAME, _FRAMES) for call in file.calls_below.get(loop, ())
        )
