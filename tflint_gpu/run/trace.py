"""TensorFlow's own profile of some steps, and which operation in the code each stage of its input pipelines is.

TensorFlow numbers datasets as they are made, and names them by their kind: a stage that it made of two of them names
both (`fused(MapDataset:2,BatchDatasetV2:3)`). So the stages of a pipeline, from its source on, are the operations of a
dataset in the code, between which TensorFlow may have put others. A stage with a higher number than the one that asks
it was made later, by the function of that one.
"""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import replace
from difflib import SequenceMatcher
from pathlib import Path
from typing import Any

from tflint_gpu.lazy_dataclasses import dataclass
from tflint_gpu.run.charges import Doing, Spent
from tflint_gpu.run.datasets import WORKING, Dataset, Step
from tflint_gpu.run.samples import Place, Profiled

READER = Path(__file__).resolve().with_name("inside") / "tflint_xplane.py"
_MADE = re.compile(r"(\w+?)Dataset(?:V\d+)?:(\d+)")
_SOURCE = re.compile(r"^from|(?<=slice)s$|(?<=tensor)s$|dataset$")
_LEAST_ALIKE = 0.5


@dataclass(frozen=True, slots=True)
class Stage:
    """A stage of an input pipeline.

    Arguments:
        path: of the stages from the consumer to this one, as TensorFlow names them.
        datasets: the name of what TensorFlow made it of.
        waited: seconds in which the training waited for it.
        worked: seconds that it computed, in all threads.
        elements: for how many.
        settings: parallelism, sizes of buffers, whether TensorFlow chooses them.
        steps: the operations in the code that it is.
        is_inner: whether a function of the last of these made it.
    """

    path: tuple[str, ...]
    datasets: str
    waited: float
    worked: float
    elements: int
    settings: Mapping[str, Any]
    steps: tuple[Step, ...] = ()
    is_inner: bool = False

    @property
    def chain(self) -> str:
        """Its name, after those of the stages that wait for it."""
        return "::".join(self.path[1:] or self.path)

    @property
    def step(self) -> Step | None:
        """The operation that computes; None where the code has none that it is."""
        return next((step for step in self.steps if step.name in WORKING), next(iter(self.steps), None))

    @property
    def place(self) -> Place | None:
        """The line of that."""
        step = self.step
        return None if step is None else Place(step.file, step.first, "<module>", step.first, step.last)

    @property
    def made(self) -> list[tuple[str, int]]:
        """What it was made of: kinds of datasets, with TensorFlow's numbers."""
        return [(name.removeprefix("Parallel").lower(), int(number)) for name, number in _MADE.findall(self.datasets)]


@dataclass(frozen=True, slots=True)
class Pipeline:
    """An input pipeline.

    Arguments:
        waited: seconds in which the training waited for its next element.
        stages: what was waited for most first.
        dataset: that in the code.
        likeness: of its operations to the stages.
    """

    waited: float
    stages: tuple[Stage, ...]
    dataset: Dataset | None = None
    likeness: float = 0.0

    def joined(self, datasets: Sequence[Dataset]) -> Pipeline:
        """This pipeline with the dataset that is most like it."""
        outer = self._outer()
        made = list(dict.fromkeys(made for stage in outer for made in stage.made))
        matches = [(dataset, _match(made, dataset)) for dataset in datasets]
        dataset, match = max(matches, key=lambda item: item[1].ratio(), default=(None, None))
        if dataset is None or match is None or match.ratio() < _LEAST_ALIKE:
            return self
        operations: dict[tuple[str, int], Step] = {}
        for _, begin, end, first, last in match.get_opcodes():
            if last > first:
                operations.update(
                    (made[at], dataset.steps[min(first + at - begin, last - 1)]) for at in range(begin, end)
                )
        steps = {stage.path: tuple(operations[made] for made in stage.made if made in operations) for stage in outer}
        stages = (
            replace(stage, steps=_nearest(stage, steps), is_inner=stage.path not in steps) for stage in self.stages
        )
        return replace(self, stages=tuple(stages), dataset=dataset, likeness=match.ratio())

    def _outer(self) -> list[Stage]:
        """The stages that no function made, the source first."""
        by_path = {stage.path: stage for stage in self.stages if len(stage.path) > 1}
        outer = []
        for stage in sorted(by_path.values(), key=lambda stage: _from_the_source(stage.path)):
            above = [number for path in _above(stage.path) if path in by_path for _, number in by_path[path].made]
            if stage.made and max(number for _, number in stage.made) <= min(above, default=stage.made[-1][1]):
                outer.append(stage)
        return outer


@dataclass(frozen=True, slots=True)
class Trace:
    """TensorFlow's profile of some steps.

    Arguments:
        asked: for how many steps.
        steps: how many it has, of `finished` that the program ran by then.
        profile: the file; empty where there is none.
        why: there are fewer steps, or none, in words.
        operations, gpus, memory: as `inside/tflint_devices.py` tells them.
    """

    asked: int
    steps: int = 0
    finished: int = 0
    seconds: float = 0.0
    profile: str = ""
    why: str = ""
    pipelines: tuple[Pipeline, ...] = ()
    operations: tuple[Mapping[str, Any], ...] = ()
    gpus: tuple[Mapping[str, Any], ...] = ()
    memory: tuple[Mapping[str, Any], ...] = ()

    @property
    def waited(self) -> float:
        """Seconds in which the training waited for its input."""
        return min(self.seconds, sum(pipeline.waited for pipeline in self.pipelines))

    @property
    def stages(self) -> list[Stage]:
        """Of all pipelines, what was waited for most first."""
        stages = [stage for pipeline in self.pipelines for stage in pipeline.stages]
        return sorted(stages, key=lambda stage: -stage.waited)

    def joined(self, datasets: Sequence[Dataset]) -> Trace:
        """The trace with the operations in the code."""
        joined = [pipeline.joined(datasets) for pipeline in self.pipelines]
        # A pipeline that the code is not known of may be like the dataset of another one.
        best = {
            each.dataset: max(other.likeness for other in joined if other.dataset == each.dataset) for each in joined
        }
        pipelines = zip(joined, self.pipelines, strict=True)
        return replace(
            self,
            pipelines=tuple(each if each.likeness >= best[each.dataset] else plain for each, plain in pipelines),
        )

    def charged(self, entries: Mapping[Doing, Spent]) -> dict[Doing, Spent]:
        """An account in which what waits for the next batch is charged to the stages that are waited for."""
        charged: dict[Doing, Spent] = {}
        known = {(place.file, place.row): place for doing in entries for place in doing.stack}
        for doing, spent in entries.items():
            pipeline = self._feeding(doing) if doing.waits == "data" else None
            rest = 1.0
            for stage in pipeline.stages if pipeline is not None and pipeline.waited > 0 else ():
                share = 0.0 if pipeline is None else stage.waited / pipeline.waited
                if (place := stage.place) is not None and share > 0:
                    rest -= share
                    at = known.get((place.file, place.row), place)
                    to = Doing((at, *doing.stack), doing.phase, "stage")
                    charged.setdefault(to, Spent()).add(Spent(spent.seconds * share, spent.idle * share))
            if rest > 1e-9:
                charged.setdefault(doing, Spent()).add(Spent(spent.seconds * rest, spent.idle * rest))
        return charged

    def share(self, doing: Doing) -> float | None:
        """How much of what is executed there waits for input; None where that is not known."""
        pipeline = self._feeding(doing)
        return None if pipeline is None or not self.seconds else min(1.0, pipeline.waited / self.seconds)

    def _feeding(self, doing: Doing) -> Pipeline | None:
        known = (pipeline for pipeline in self.pipelines if pipeline.dataset is not None)
        return next((pipeline for pipeline in known if pipeline.dataset and pipeline.dataset.feeds(doing)), None)


def read_trace(python: str, asked: int, profiled: Profiled | None) -> Trace:
    """What the profile says, read by the program's interpreter; the file for Perfetto is written beside it."""
    if profiled is None:
        return Trace(asked, why="nothing was recorded: the program ended at once, or was ended by a signal")
    if not profiled.profile:
        return Trace(asked, finished=profiled.finished, why=profiled.why)
    trace = Trace(asked, profiled.steps, profiled.finished, profiled.seconds, profiled.profile, profiled.why)
    events = profiled.profile.removesuffix(".xplane.pb") + ".trace.json.gz"
    done = subprocess.run([python, str(READER), profiled.profile, events], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        reason = (done.stderr.strip().splitlines() or ["no reason given"])[-1]
        return replace(trace, why=f"it cannot be read: {reason}")
    told = json.loads(done.stdout)
    return replace(
        trace,
        pipelines=tuple(_pipeline(each, trace.seconds) for each in told["pipelines"]),
        operations=tuple(told["operations"]),
        gpus=tuple(told["gpus"]),
        memory=tuple(told["memory"]),
    )


def _pipeline(told: Mapping[str, Any], seconds: float) -> Pipeline:
    """A pipeline, with what was waited in the span that is known, and as much in the calls before and after it."""
    calls = told["calls"]
    scale = min(seconds / told["span"], (calls + 1) / (calls - 1)) if told["span"] else 1.0
    stages = (
        Stage(**{**stage, "path": tuple(stage["path"]), "waited": stage["waited"] * scale}) for stage in told["stages"]
    )
    return Pipeline(min(seconds, told["waited"] * scale), tuple(stages))


def _match(made: Sequence[tuple[str, int]], dataset: Dataset) -> SequenceMatcher[str]:
    """Which kinds are which operations; names of sources differ: TensorSlice is `from_tensor_slices`."""
    names = [_SOURCE.sub("", step.name.replace("_", "").lower()) for step in dataset.steps]
    return SequenceMatcher(None, [kind for kind, _ in made], names, autojunk=False)


def _above(path: tuple[str, ...]) -> list[tuple[str, ...]]:
    """The paths of the stages that wait for one, the nearest first."""
    return [(*path[: end - 1], path[end - 1].partition("[")[0]) for end in range(len(path) - 1, 0, -1)]


def _from_the_source(path: tuple[str, ...]) -> list[tuple[str, int]]:
    """What sorts a stage behind those that it asks, and these by their number."""
    order = [(name.partition("[")[0], int(name[name.index("[") + 1 : -1]) if "[" in name else -1) for name in path]
    return [*order[:-1], (order[-1][0], 1 << 30)]


def _nearest(stage: Stage, steps: Mapping[tuple[str, ...], tuple[Step, ...]]) -> tuple[Step, ...]:
    """Its own operations, or those of the stage whose function made it."""
    return next((steps[path] for path in [stage.path, *_above(stage.path)] if path in steps), ())
