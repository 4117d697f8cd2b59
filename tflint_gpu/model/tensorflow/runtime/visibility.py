"""Which GPUs a program lets TensorFlow see: by an environment variable, or by its configuration."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cached_property

import libcst as cst

from tflint_gpu.lazy_dataclasses import dataclass
from tflint_gpu.lazy_patterns import regex
from tflint_gpu.model.library.devices import DEVICE_SCOPES, parse_device
from tflint_gpu.model.model import Analysis, Model, Once
from tflint_gpu.model.python.project.file import File
from tflint_gpu.model.python.syntax.children import spelling
from tflint_gpu.model.python.syntax.syntax import Expression, Node, argument
from tflint_gpu.model.tensorflow.runtime.runtime import GROWTH, LOGICAL, VISIBLE, Initialiser, Runtime
from tflint_gpu.model.tensorflow.types.guards import Guards
from tflint_gpu.text.lexical import without_comments

VARIABLE = "CUDA_VISIBLE_DEVICES"
_BYTES = VARIABLE.encode()
_HIDING = frozenset(["-1", ""])
# What starts other processes, which the variable may be meant for, and other libraries that look at it later.
_ELSEWHERE = regex(
    r"\b(?:subprocess|multiprocessing|joblib|torch|jax|cupy|ray|dask|popen|system|fork|exec\w*|Process|Pool)\b"
)
# What makes several devices of one GPU.
_DIVIDING = (b"logical_device_configuration", b"virtual_device")
_EXPLAINS = regex(r"#.*(?:cpu|gpu|cuda|device|debug)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class LateVariable:
    """An assignment to the environment variable that comes too late; `initialiser` is what came before."""

    file: File
    target: cst.Subscript
    initialiser: Initialiser


@dataclass(frozen=True, slots=True)
class HiddenGpus:
    """The place that hides all GPUs of a program which sets something up for them."""

    place: Node
    setup: Node


@dataclass(frozen=True, slots=True)
class VisibleGpus:
    """The numbers of the GPUs that an assignment to the environment variable leaves: TensorFlow counts them from 0."""

    target: cst.Subscript
    numbers: tuple[int, ...]


class Visibility(Analysis):
    """The places of one file that choose which GPUs are visible."""

    guards = Once(Guards)
    runtime = Once(Runtime)

    def __init__(self, model: Model) -> None:
        super().__init__(model)
        self._set_in_time: dict[File, dict[str, list[cst.Subscript]]] = {}

    def late(self) -> Iterator[LateVariable]:
        """The assignments to the variable after something that must initialise the GPUs of this process."""
        for file, target, value in (*self._here(), *self._elsewhere()):
            if self._reads_environment(file, value):
                continue
            before = self.runtime.initialiser_before(file, target)
            if before is not None and not self._is_repeated(file, target, value, before):
                yield LateVariable(file, target, before)

    def left_before(self, node: Node) -> VisibleGpus | None:
        """The GPUs that the program must have left visible before a place, if the one line that chooses them tells."""
        left = self._left
        if left is None or self.file.tree.order[left.target] > self.file.tree.order[node]:
            return None
        return left if self.file.tree.function(left.target) in (None, self.file.tree.function(node)) else None

    @cached_property
    def _left(self) -> VisibleGpus | None:
        assignments = list(self._here())
        if len(assignments) != 1 or without_comments(self.file.source.text).count(VARIABLE) != 1:
            return None
        file, target, value = assignments[0]
        numbers = str(self.constants.of(file, value)).split(",")
        if not all(number.strip().isdecimal() for number in numbers) or not self.guards.must_run(file, target):
            return None
        project = self.constants.inference.project
        if project.others_mention(file.source, (_BYTES,)) or self.runtime.mentions(_DIVIDING):
            return None
        is_late = self.runtime.initialiser_before(file, target) is not None
        return None if is_late else VisibleGpus(target, tuple(map(int, numbers)))

    def _here(self) -> Iterator[tuple[File, cst.Subscript, Expression]]:
        """The assignments of the file that are meant for its own process."""
        if not _ELSEWHERE.search(self.file.source.text):
            yield from ((self.file, target, value) for target, value in self._assignments(self.file))

    def _elsewhere(self) -> Iterator[tuple[File, cst.Subscript, Expression]]:
        """The assignments in functions of other files that this one calls."""
        inference = self.constants.inference
        if not inference.project.imports_mention(self.file.source.path, self.file.source.text.encode(), (_BYTES,)):
            return
        callees = (callee for call in self.file.tree.calls for callee in inference.callees(self.file, call))
        called = {
            callee.function.node: callee.function.file for callee in callees if callee.function.file is not self.file
        }
        for file in dict.fromkeys(called.values()):
            if VARIABLE in file.source.text and not _ELSEWHERE.search(file.source.text):
                for target, value in self._assignments(file):
                    if file.tree.function(target) in called:
                        yield file, target, value

    def _assignments(self, file: File) -> Iterator[tuple[cst.Subscript, Expression]]:
        """`os.environ["CUDA_VISIBLE_DEVICES"] = value`."""
        for name, stores in file.stores.items():
            for target, value in stores if name.rpartition(".")[2] == "environ" else ():
                index = target.slice[0].slice if len(target.slice) == 1 else None
                if not isinstance(index, cst.Index) or file.name(target.value) != "os.environ":
                    continue
                if self.constants.of(file, index.value) == VARIABLE:
                    yield target, value

    def _in_time(self, file: File) -> dict[str, list[cst.Subscript]]:
        """Where the variable is set before any initialiser, by its value."""
        if file not in self._set_in_time:
            targets: dict[str, list[cst.Subscript]] = {}
            for target, value in self._assignments(file):
                if self.runtime.initialiser_before(file, target) is None:
                    targets.setdefault(repr(self.constants.of(file, value)), []).append(target)
            self._set_in_time[file] = targets
        return self._set_in_time[file]

    def _reads_environment(self, file: File, value: Expression) -> bool:
        """Whether a value was kept from the environment, to be put back."""
        return any("environ" in spelling(origin.node) for origin in self.constants.inference.of(file, value))

    def _is_repeated(self, file: File, target: cst.Subscript, value: Expression, initialiser: Initialiser) -> bool:
        """Whether the variable had the same value in time."""
        tree = file.tree
        here = tree.order[initialiser.node] if initialiser.file is file else tree.order[target]
        return any(
            tree.order[other] < here and tree.function(other) in (None, tree.function(target))
            for other in self._in_time(file).get(repr(self.constants.of(file, value)), ())
            if other is not target
        )

    def hidden(self) -> HiddenGpus | None:
        """Where the program must hide all GPUs, without a word, though it sets something up for them."""
        hiding_nodes = [*self._hiding_assignments(), *self._hiding_calls()]
        setting = [target for target, _ in self._assignments(self.file)] + list(self.file.calls(*sorted(VISIBLE)))
        if len(hiding_nodes) != 1 or len(setting) != 1 or self._is_explained(hiding_nodes[0]):
            return None
        hiding_node = hiding_nodes[0]
        if not self.guards.must_run(self.file, hiding_node) or self.guards.in_try(self.file, hiding_node):
            return None
        if self.runtime.initialiser_before(self.file, hiding_node) is not None:
            return None
        setup = next(self._setups(), None)
        return HiddenGpus(hiding_node, setup) if setup is not None else None

    def _hiding_assignments(self) -> Iterator[Node]:
        for target, value in self._assignments(self.file):
            if self.constants.of(self.file, value) in _HIDING:
                yield target

    def _hiding_calls(self) -> Iterator[Node]:
        """`tf.config.set_visible_devices([], "GPU")`."""
        for call in self.file.calls(*sorted(VISIBLE)):
            devices = argument(call, 0, "devices")
            kind = self.constants.of(self.file, argument(call, 1, "device_type"))
            if isinstance(devices, cst.List) and not devices.elements and kind == "GPU":
                yield call

    def _is_explained(self, node: Node) -> bool:
        """Whether a comment at the place, or above it, speaks of devices: then it is meant."""
        line_number = self.file.source.row(self.file.span(node)[0])
        return any(
            _EXPLAINS.search(self.file.source.line(number)) for number in (line_number, line_number - 1) if number >= 1
        )

    def _setups(self) -> Iterator[Node]:
        """What the file sets up for GPUs: memory, logical devices, a device's name."""
        for call in self.file.calls(*sorted(GROWTH), *sorted(LOGICAL)):
            yield call
        for call in self.file.calls(*sorted(DEVICE_SCOPES)):
            device = self.constants.of(self.file, argument(call, 0, "device_name"))
            if isinstance(device, str) and parse_device(device).is_gpu:
                yield call
