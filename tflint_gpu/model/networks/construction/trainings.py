"""The trainings that a program starts, with what each holds in memory."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import cached_property

import libcst as cst

from tflint_gpu.bounds import RUN_STEPS
from tflint_gpu.model.interpreter.interpreter import Interpreter
from tflint_gpu.model.model import Analysis, Once
from tflint_gpu.model.networks.construction.keras import TRAINING, Keras, Training
from tflint_gpu.model.networks.construction.operations import rows
from tflint_gpu.model.networks.shapes.sizes import Estimate
from tflint_gpu.model.python.project.file import File
from tflint_gpu.model.python.syntax.syntax import argument
from tflint_gpu.model.python.value_flow.constants import UNKNOWN
from tflint_gpu.model.tensorflow.tf_data.pipelines import Pipelines

_USUAL = 32  # what Keras takes where `fit` is given arrays and no size


class Trainings(Analysis):
    """The calls of `fit` and `train_on_batch` that are met when a file is run as a program."""

    pipelines = Once(Pipelines)

    @cached_property
    def estimates(self) -> list[Estimate]:
        """For each call that trains a network of which everything is known what it holds at most."""
        largest: dict[cst.CSTNode, Estimate] = {}
        for training in self._trainings():
            estimate = self._estimate(training)
            if estimate is None:
                continue
            known = largest.get(training.site.node)
            if known is None or known.sizes.total < estimate.sizes.total:
                largest[training.site.node] = estimate
        return list(largest.values())

    def _trainings(self) -> list[Training]:
        worlds: list[Keras] = []

        def world(run: Interpreter) -> Keras:
            worlds.append(Keras(run))
            return worlds[0]

        run = Interpreter(self.inference.project, self.inference.definitions, self.file, world)
        is_whole = run.run()
        for call in self.file.method_calls(*TRAINING) if is_whole else ():
            function = self.file.tree.function(call)
            if function is not None and function not in run.entered:
                is_whole = is_whole and run.run_alone(self.inference.definitions.function(self.file, function))
        if not is_whole:
            self.inference.meet(RUN_STEPS)
        for bound in run.bounds_met:
            self.inference.meet(bound)
        return worlds[0].trainings

    def _estimate(self, training: Training) -> Estimate | None:
        size = self._batch_size(training)
        if size is None:
            return None
        sizes = replace(training.sizes, batch_size=size)
        return Estimate(training.site, sizes, training.optimizer, training.compiled, training.made)

    def _batch_size(self, training: Training) -> int | None:
        """The rows of a batch; None where that is not known."""
        size, data_rows = training.batch_size, rows(training.data)
        if data_rows is None and not self._has_labels(training):
            return self._of_dataset(training)
        if size is None:
            size = _USUAL
        if not isinstance(size, int) or isinstance(size, bool) or size < 1:
            return None
        return size if data_rows is None else min(size, data_rows)

    def _has_labels(self, training: Training) -> bool:
        """Whether data and labels are given apart, as arrays are: datasets bring their labels."""
        node = training.site.node
        if not isinstance(node, cst.Call) or training.labels is None:
            return False
        data, labels = argument(node, 0, "x"), argument(node, 1, "y")
        return labels is not None and data is not None and not self.pipelines.is_dataset(training.site.file, data)

    def _of_dataset(self, training: Training) -> int | None:
        node = training.site.node
        data = argument(node, 0, "x") if isinstance(node, cst.Call) else None
        if data is None:
            return None
        sizes = set(self._sizes(training.site.file, data))
        size = sizes.pop() if len(sizes) == 1 else None
        return size if isinstance(size, int) and size > 0 else None

    def _sizes(self, file: File, data: cst.BaseExpression) -> Iterator[object]:
        for chain in self.pipelines.chains(file, data):
            operation = chain.batching
            if not chain.certain or chain.is_distributed or operation is None:
                yield None
            else:
                yield None if operation.batch_size is UNKNOWN else operation.batch_size
