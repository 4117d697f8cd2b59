"""The work of what a program runs step by step: calls of networks, and what a tape records."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cached_property
from typing import Any

import libcst as cst

from tflint_gpu.model.interpreter.interpreter import Interpreter
from tflint_gpu.model.interpreter.values import Arguments, Method, Site
from tflint_gpu.model.library.keras_methods import FORWARD_METHODS
from tflint_gpu.model.model import Analysis, Once
from tflint_gpu.model.networks.construction import operations
from tflint_gpu.model.networks.construction.keras import Keras
from tflint_gpu.model.networks.shapes.graph import Network, NotKnown, Tensor
from tflint_gpu.model.networks.shapes.work import Work, forward_work
from tflint_gpu.model.python.project.file import File
from tflint_gpu.model.python.syntax.syntax import Expression, Node
from tflint_gpu.model.python.value_flow.constants import UNKNOWN
from tflint_gpu.model.tensorflow.tf_data.pipelines import Pipelines

_TAPE = "tf.GradientTape"


class Steps(Keras):
    """The world of a program of which is asked what its steps compute.

    Attributes:
        calls: for each call that runs a network what it computes, as often as it was met; None where that is not known.
        tapes: for each `tf.GradientTape()` what was run while it recorded, as often as it was entered.
    """

    def __init__(self, run: Interpreter) -> None:
        super().__init__(run)
        self.calls: dict[Node, list[Work | None]] = {}
        self.tapes: dict[Node, list[list[Work | None]]] = {}
        self._open: list[list[Work | None]] = []

    def called(self, callee: Any, given: Arguments, site: Site) -> Any:
        """What a call gives; what it runs is noted."""
        network = callee.receiver if isinstance(callee, Method) and callee.name in FORWARD_METHODS else callee
        first = given.get(0, "x" if isinstance(callee, Method) else "inputs", UNKNOWN)
        if isinstance(network, Network) and not isinstance(first, Tensor):
            self._note(network, first, site)
        return super().called(callee, given, site)

    def entered(self, value: Any, site: Expression, file: File) -> Callable[[], None]:
        """A `with`; of a tape what it records is noted until it is left."""
        leave = super().entered(value, site, file)
        if not isinstance(site, cst.Call) or file.name(site.func) != _TAPE:
            return leave
        recorded: list[Work | None] = []
        self.tapes.setdefault(site, []).append(recorded)
        self._open.append(recorded)

        def left() -> None:
            self._open = [other for other in self._open if other is not recorded]
            leave()

        return left

    def _note(self, network: Network, data: Any, site: Site) -> None:
        try:
            self.build_for(network, data)
            work: Work | None = forward_work(network)
        except (NotKnown, ArithmeticError, LookupError, TypeError, ValueError):
            work = None
        if work is not None:
            is_name = isinstance(site.node, cst.Call) and any(isinstance(a.value, cst.Name) for a in site.node.args[:1])
            work = replace(work, rows=operations.rows(data), is_whole_batch=is_name)
        self.calls.setdefault(site.node, []).append(work)
        for recorded in self._open:
            recorded.append(work)


class StepWorks(Analysis):
    """How much the steps of a file compute that is run as a program."""

    pipelines = Once(Pipelines)

    @cached_property
    def _ran(self) -> tuple[Interpreter, Steps, bool]:
        """The program, what was met in it, and whether that is all."""
        worlds: list[Steps] = []

        def world(run: Interpreter) -> Steps:
            worlds.append(Steps(run))
            return worlds[0]

        run = Interpreter(self.inference.project, self.inference.definitions, self.file, world)
        is_whole = run.run()  # a limit that is met costs no finding: a prediction stays as wide as it was
        return run, worlds[0], is_whole

    def of_call(self, file: File, call: Node) -> tuple[Work, ...]:
        """The works of a call of a network, one for each network that it is met with; none where one is not known."""
        world = self._after(file, call)
        return () if world is None else _all_known(world.calls.get(call, []))

    def under_tape(self, file: File, tape: Node) -> tuple[Work, ...]:
        """The works of what a `tf.GradientTape()` records, one for each time that it is met; none as before.

        Of several networks the work is that of all, for the rows that they share.
        """
        world = self._after(file, tape)
        return () if world is None else _all_known([_together(works) for works in world.tapes.get(tape, [])])

    def batch_sizes(self, file: File, data: Expression) -> tuple[int, ...]:
        """The rows of a batch that a loop over datasets gets, for each that it may be; none where one is not known."""
        sizes: list[int] = []
        for chain in self.pipelines.iterated(file, data):
            size = chain.batching.batch_size if chain.certain and chain.batching is not None else None
            if not isinstance(size, int) or isinstance(size, bool) or size < 1 or chain.is_distributed:
                return ()
            sizes.append(size)
        return tuple(sizes)

    def _after(self, file: File, node: Node) -> Steps | None:
        """The world after the function that holds a node was run, alone if nothing was seen to call it."""
        run, world, is_whole = self._ran
        function = file.tree.function(node)
        if is_whole and function is not None and function not in run.entered:
            is_whole = run.run_alone(self.inference.definitions.function(file, function))
        return world if is_whole else None


def _together(works: list[Work | None]) -> Work | None:
    """The work of several networks that run one after the other on the same rows."""
    known = [work for work in works if work is not None]
    rows = {work.rows for work in known}
    if not known or len(known) < len(works) or len(rows) > 1:
        return None
    return Work(
        sum(work.multiply_adds for work in known),
        sum(work.layers for work in known),
        sum(work.weights for work in known),
        rows.pop(),
        all(work.is_whole_batch for work in known),
    )


def _all_known(works: list[Work | None]) -> tuple[Work, ...]:
    known = [work for work in works if work is not None]
    return tuple(dict.fromkeys(known)) if len(known) == len(works) else ()
