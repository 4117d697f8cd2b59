"""How much a step can gain on a CPU at most, where its layers and its batch follow from the code.

Python takes as long to start the operations of a large step as those of a small one, while the work itself takes a time
that no tracing saves. `rules/step_sizes.toml` has the measured curve; tests/benchmarks/step_sizes.py writes it.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import libcst as cst

from tflint_gpu.lazy_dataclasses import dataclass
from tflint_gpu.model import Kinds, Rows, argument, iterable, walk
from tflint_gpu.rule import OnCpu, Prediction

if TYPE_CHECKING:
    from tflint_gpu.model import EagerStep, Expression, File, LoopNode, Model, StepWorks, Work

_TAPE = "tf.GradientTape"
Way: TypeAlias = Literal["train", "forward", "predict"]
_PASSES = {"train": 3, "forward": 1, "predict": 1}  # gradients of the inputs and of the weights take as long again
# An optimizer of few operations gains least, one of many most.
_LEAST = {"train": "train_sgd", "forward": "forward", "predict": "predict"}
_MOST = {"train": "train_adam", "forward": "forward", "predict": "predict"}


@dataclass(frozen=True, slots=True)
class Curve:
    """The measured ratios of one kind of step.

    Arguments:
        fixed, layer, weight: seconds that tracing saves of a step, of each layer and of each number that it learned.
        graph, graph_layer: seconds that a traced step and each layer take apart from their work.
        rate, stream: multiply-adds, and learned numbers, that are gone through in a second.
        above, below: how many times as much, or as little, was gained at most.
    """

    fixed: float
    layer: float
    weight: float
    graph: float
    graph_layer: float
    rate: float
    stream: float
    above: float
    below: float

    def gain(self, work: Work, passes: int) -> float:
        """By how many of its own times a traced step is faster."""
        saved = self.fixed + self.layer * work.layers + self.weight * work.weights
        return saved / (self.starting(work) + self.working(work, passes))

    def starting(self, work: Work) -> float:
        """Seconds that a traced step takes apart from its work."""
        return self.graph + self.graph_layer * work.layers

    def working(self, work: Work, passes: int) -> float:
        """Seconds of the work itself."""
        return work.of(work.rows or 1) * passes / self.rate + work.weights / self.stream


@cache
def _table() -> dict[str, Any]:
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib
    return tomllib.loads((Path(__file__).parents[1] / "step_sizes.toml").read_text("utf-8"))


def curve(name: str) -> Curve:
    """What was measured of a kind of step."""
    return Curve(**{field: _table()[name][field] for field in Curve.__dataclass_fields__})


def of_training_step(model: Model, prediction: Prediction, step: EagerStep) -> Prediction:
    """The prediction of a training step, narrowed by what its tape records."""
    if not model.predicts_by_size or not _is_plain(model, step):
        return prediction
    works = _with_batches(model, _works(model).under_tape(step.file, step.tape), step.loop_file, step.loop)
    return _narrowed(prediction, works, "train")


def of_forward_pass(
    model: Model, prediction: Prediction, file: File, call: cst.Call, loop: tuple[File, LoopNode], way: Way = "forward"
) -> Prediction:
    """The prediction of a call that runs a network once for each iteration of a loop."""
    if not model.predicts_by_size:
        return prediction
    works, data = _works(model).of_call(file, call), argument(call, 0, "x" if way == "predict" else "inputs")
    if works and data is not None and model.once(Rows).is_single_input(file, data):
        return _narrowed(prediction, [replace(work, rows=1) for work in works], way)
    return _narrowed(prediction, _with_batches(model, works, *loop), way)


def is_mostly_fixed(model: Model, file: File, call: cst.Call, rows: int) -> bool:
    """Whether a `predict` of so many rows takes at least twice as long as its work, which follows from the code."""
    works = _works(model).of_call(file, call) if model.predicts_by_size else ()
    return bool(works) and all(_least(replace(work, rows=rows), "predict") >= 2 for work in works)


def _works(model: Model) -> StepWorks:
    from tflint_gpu.model import StepWorks  # with all that runs programs, for few findings

    return model.once(StepWorks)


def _is_plain(model: Model, step: EagerStep) -> bool:
    """Whether the step starts few operations besides those of its tape's networks, all of which are known.

    A second tape, a model outside of the tape and what Python repeats would have operations that nobody counted.
    """
    block = next((parent for parent in step.file.tree.ancestors(step.tape) if isinstance(parent, cst.With)), None)
    if block is None:
        return False
    works, kinds = _works(model), model.once(Kinds)
    for file, body in _bodies(step):
        for node in walk(body):
            if isinstance(node, cst.For | cst.While | cst.BaseComp):
                return False
            if not isinstance(node, cst.Call) or node is step.tape:
                continue
            if file.name(node.func) == _TAPE:
                return False
            is_recorded = file.tree.within(node, block) and bool(works.of_call(file, node))
            if kinds.is_model(file, node.func) and not is_recorded:
                return False
    return True


def _bodies(step: EagerStep) -> Iterator[tuple[File, cst.CSTNode]]:
    """What runs in each iteration: the functions on the way to the tape, or else the loop's own statements."""
    for function in step.functions:
        yield function.file, function.node.body
    if not step.functions and isinstance(step.loop, cst.For | cst.While):
        yield step.loop_file, step.loop.body


def _with_batches(model: Model, works: Iterable[Work], file: File, loop: LoopNode) -> list[Work]:
    """The works with the rows of the loop's batches, where they have none of their own; none where one has none."""
    complete: list[Work] = []
    data: Expression | None = iterable(loop)
    for work in works:
        if work.rows is not None:
            complete.append(work)
            continue
        sizes = _works(model).batch_sizes(file, data) if data is not None and work.is_whole_batch else ()
        if not sizes:
            return []
        complete += [replace(work, rows=size) for size in sizes]
    return complete


def _narrowed(prediction: Prediction, works: Iterable[Work], way: Way) -> Prediction:
    """The prediction with its range on a CPU: from what the largest of some works may gain to what the smallest may."""
    sized, low, high = list(works), prediction.low, prediction.high
    if not sized or low is None or high is None:
        return prediction
    if not all(_is_large(work, way) for work in sized):
        return prediction
    most = _rounded(max(_most(work, way) for work in sized))
    if most >= high:
        return prediction
    least = min(low, _rounded(min(_least(work, way) for work in sized)))
    return replace(prediction, on_cpu=OnCpu(least, most, _table()["cores"], _basis(sized, way)))


def _is_large(work: Work, way: Way) -> bool:
    """Whether the work takes most of the time of a traced step: else what it gains depends on more than its work."""
    upper = curve(_MOST[way])
    return upper.working(work, _PASSES[way]) > upper.starting(work)


def _most(work: Work, way: Way) -> float:
    upper = curve(_MOST[way])
    return float(1 + upper.gain(work, _PASSES[way]) * upper.above + _table()["slack"])


def _least(work: Work, way: Way) -> float:
    lower = curve(_LEAST[way])
    return float(max(1.0, 1 + lower.gain(work, _PASSES[way]) / lower.below - _table()["slack"]))


def _basis(works: list[Work], way: Way) -> str:
    amounts = sorted((work.of(work.rows or 1) * _PASSES[way], work.layers) for work in works)
    adds, layers = amounts[0]
    more = " at least" if len(set(amounts)) > 1 else ""
    return (
        f"a step computes{more} {_counted(adds)} multiply-adds in {layers} layers; predicted from a curve measured "
        f"with TensorFlow {_table()['tensorflow']}"
    )


def _counted(number: int) -> str:
    """A number for people: "12 billion"."""
    for size, word in ((10**12, "trillion"), (10**9, "billion"), (10**6, "million")):
        if number >= size:
            return f"{number / size:.3g} {word}"
    return f"{number:,}"


def _rounded(factor: float) -> float:
    return float(f"{factor:.2g}")
