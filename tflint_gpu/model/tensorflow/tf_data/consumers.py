"""Who consumes a pipeline: `fit`, a loop, or nothing."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cached_property
from typing import Any, Literal

import libcst as cst

from tflint_gpu.bounds import ITERATOR_STEPS
from tflint_gpu.lazy_dataclasses import dataclass
from tflint_gpu.lazy_patterns import regex
from tflint_gpu.model.library.datasets import TRANSFORMATIONS, is_source
from tflint_gpu.model.library.files import RECORD_WRITERS, ROW_WRITERS
from tflint_gpu.model.library.keras_methods import CONSUMING_METHODS
from tflint_gpu.model.model import Analysis, Once
from tflint_gpu.model.python.execution.callers import RunSite
from tflint_gpu.model.python.project.file import File
from tflint_gpu.model.python.syntax.syntax import Expression, LoopNode, Node, argument, iterable, method_name
from tflint_gpu.model.tensorflow.tf_data.chains import Chain, Operation
from tflint_gpu.model.tensorflow.tf_data.pipelines import Pipelines
from tflint_gpu.model.tensorflow.training.training import Training, iterator_of, takes_next

ConsumerKind = Literal["train", "validate", "predict", "write", "iterate", "unused"]
_PASSING = ("enumerate", "iter", "list", "next")
# A batch size that is one, or not written out.
_PERHAPS_ONE = regex(rb"batch\(\s*(?:batch_size\s*=\s*)?(?:1\b|[A-Za-z_*])|batch_size\s*=\s*(?:1\b|[A-Za-z_])")


@dataclass(frozen=True, slots=True)
class Consumption:
    """A chain and what consumes it: a `fit` call, a loop, or nothing.

    Arguments:
        data: the dataset as it is written there.
        loop: whose iterations consume it, with the calls from there to the consumer.
    """

    kind: ConsumerKind
    chain: Chain
    node: Node
    file: File
    data: Expression
    loop: RunSite | None = None

    @property
    def is_glance(self) -> bool:
        """Whether only a few elements are looked at: one `next(...)` outside a loop, or a small `take`."""
        if isinstance(self.node, cst.Call) and self.kind == "iterate":
            return self.loop is None
        return self.kind != "train" and self.chain.is_short


class Consumers(Analysis):
    """The consumers of pipelines that are seen from one file.

    Attributes:
        file: the one that is checked; functions and classes of others count where it passes them datasets.
    """

    pipelines = Once(Pipelines)
    training = Once(Training)

    @cached_property
    def consumptions(self) -> list[Consumption]:
        """Every chain that some code consumes and that is certainly tf.data."""
        return list(self._consumed(only_trainings=False))

    @cached_property
    def trainings(self) -> list[Consumption]:
        """Those whose consumer trains: what other loops go over is not followed."""
        return list(self._consumed(only_trainings=True))

    def _consumed(self, only_trainings: bool) -> Iterable[Consumption]:
        consumptions: dict[tuple[Any, ...], Consumption] = {}
        for file, given_kind, expr, node in self._all_consumers():
            is_loop = isinstance(node, cst.For | cst.BaseComp)
            if only_trainings and not (self.training.takes_gradients(file, node) if is_loop else given_kind == "train"):
                continue
            chains = self.pipelines.iterated(file, expr) if is_loop else self.pipelines.chains(file, expr)
            if not any(chain.certain for chain in chains):
                continue
            kind = self._kind_of_loop(file, node) if isinstance(node, cst.For | cst.BaseComp) else given_kind
            loop = self.training.loop_of(file, node)
            for chain in chains:
                if chain.certain:
                    key = (kind, node, tuple(o.call for o in chain.operations))
                    consumptions.setdefault(key, Consumption(kind, chain, node, file, expr, loop))
        return consumptions.values()

    def _kind_of_loop(self, file: File, loop: LoopNode) -> ConsumerKind:
        kind = self.training.loop_kind(file, loop)
        return kind if kind != "other" else "write" if self._writes(file, loop) else "iterate"

    def _writes(self, file: File, loop: LoopNode) -> bool:
        """Whether a loop writes what it gets into files: a data set is made, which is done once."""
        return any(
            file.name(call.func) in ROW_WRITERS or self.inference.is_method_of(file, call, ("write",), RECORD_WRITERS)
            for call in file.calls_below.get(loop, ())
        )

    @cached_property
    def may_batch_one(self) -> bool:
        """Whether something that this file reaches may make batches of one: else no pipeline need be followed."""
        if self.inference.project.reached_mention(self.file.source, _PERHAPS_ONE):
            return True
        return any(self._may_be_one(self.file, call) for call in self.file.tree.calls)

    def _may_be_one(self, file: File, call: cst.Call) -> bool:
        name = file.name(call.func)
        operation = name.rpartition(".")[2] if name is not None and is_source(name) else method_name(call)
        size = Operation(operation or "", call, file).given_batch_size
        if size is None:
            return False
        if isinstance(size, cst.Integer):
            return size.value == "1"
        return 1 in self.constants.possible(file, size) or not self.constants.possible(file, size)

    def _all_consumers(self) -> Iterator[tuple[File, ConsumerKind, Expression, Node]]:
        yield from self._consumers(self.file)
        if not self.inference.project.leads_elsewhere(self.file):
            return
        for file, region in self._given_datasets():
            for consumer in self._consumers(file):
                if file.tree.within(consumer[3], region):
                    yield consumer

    def _given_datasets(self) -> Iterator[tuple[File, Node]]:
        """Functions and classes of other files that this file calls with a dataset."""
        seen: set[Node] = set()
        for call in self.file.tree.calls:
            name = self.file.name(call.func)
            if not call.args or (name is not None and name.startswith(("tf.", "keras.", "numpy."))):
                continue
            args = [arg.value for arg in call.args if isinstance(arg.value, cst.Name | cst.Attribute | cst.Call)]
            if not args:
                continue
            targets: list[tuple[File, Node]] = [
                (c.function.file, c.function.node) for c in self.inference.callees(self.file, call)
            ]
            if not targets:
                cls = self.inference.class_called(self.file, call)
                targets = [(cls.file, cls.node)] if cls is not None else []
            if not any(file is not self.file and node not in seen for file, node in targets):
                continue
            if any(self.pipelines.is_dataset(self.file, arg) for arg in args):
                for file, node in targets:
                    if node not in seen:
                        seen.add(node)
                        yield file, node

    def _consumers(self, file: File) -> Iterator[tuple[File, ConsumerKind, Expression, Node]]:
        """(kind, the dataset's expression, the consumer) for all that may consume a dataset in a file."""
        for call in file.method_calls(*CONSUMING_METHODS):
            method = method_name(call) or ""
            data = argument(call, 0, "x")
            if data is not None:
                yield file, CONSUMING_METHODS[method], data, call
            validation = argument(call, -1, "validation_data") if method.startswith("fit") else None
            if validation is not None:
                yield file, "validate", validation, call
        for loop in file.tree.all_loops:
            data = iterable(loop)
            if data is not None:
                yield file, "iterate", data, loop
        for call in self._nexts(file):
            around = self.training.loop_of(file, call)
            trains = around is not None and self.training.runs_step(around.file, around.loop)
            yield file, "train" if trains else "iterate", iterator_of(call), call
        yield from self._unused(file)

    def _nexts(self, file: File) -> Iterator[cst.Call]:
        calls = [*file.calls_ending_with("next"), *file.method_calls("get_next")]
        return (call for call in calls if takes_next(file, call))

    def _unused(self, file: File) -> Iterator[tuple[File, ConsumerKind, Expression, Node]]:
        """Chains that end in a variable that this file never reads."""
        assigned: list[tuple[str, cst.Assign]] = []
        for call in file.method_calls(*TRANSFORMATIONS):
            statement = file.tree.parents[call]
            if isinstance(statement, cst.Assign) and len(statement.targets) == 1:
                target = statement.targets[0].target
                if isinstance(target, cst.Name):
                    assigned.append((target.value, statement))
        for name, statement in assigned:
            uses = (file.tree.parents[use] for use in file.tree.uses[name])
            if all(isinstance(use, cst.AssignTarget | cst.AnnAssign) for use in uses):
                yield file, "unused", statement.value, statement

    def iterated_by_next(self, file: File, loop: Node) -> Iterator[tuple[File, Expression]]:
        """What a loop reads by `next(iterator)`: the argument of the `iter(...)` that made each iterator."""
        for call in file.calls_below.get(loop, ()):
            if takes_next(file, call):
                yield from self._made_iterators(file, iterator_of(call))

    def _made_iterators(self, file: File, expr: Expression) -> Iterator[tuple[File, Expression]]:
        for binding in file.flow.lookup(expr.value, expr) if isinstance(expr, cst.Name) else ():
            made = binding.value
            if isinstance(made, cst.Call) and made.args and file.names.is_builtin(made.func, "iter"):
                yield file, made.args[0].value
        if isinstance(expr, cst.Attribute):
            cls = self.inference.definitions.self_class(file, expr.value)
            for attribute in self.inference.definitions.attributes(cls, expr.attr.value) if cls is not None else ():
                if (
                    isinstance(attribute.value, cst.Call)
                    and attribute.value.args
                    and attribute.file.names.is_builtin(attribute.value.func, "iter")
                ):
                    yield attribute.file, attribute.value.args[0].value

    def dataset_of(self, item: Consumption) -> tuple[File, Expression]:
        """The dataset itself, with its file: after `enumerate`, `tqdm` and the iterator that `iter` made of it."""
        file, expr = item.file, item.data
        for _ in range(ITERATOR_STEPS.limit):
            inner = self._unwrapped(file, expr)
            if inner is None:
                return file, expr
            file, expr = inner
        if self._unwrapped(file, expr) is not None:
            self.inference.meet(ITERATOR_STEPS)
        return file, expr

    def _unwrapped(self, file: File, expr: Expression) -> tuple[File, Expression] | None:
        made = next(self._made_iterators(file, expr), None)
        if made is not None:
            return made
        if not isinstance(expr, cst.Call) or not expr.args or method_name(expr) in TRANSFORMATIONS:
            return None
        if file.name(expr.func) not in self.inference.library.passing and not any(
            file.names.is_builtin(expr.func, name) for name in _PASSING
        ):
            return None
        return file, expr.args[0].value
