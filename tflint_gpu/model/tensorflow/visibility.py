"""Which GPUs a program lets TensorFlow see: by an environment variable, or by its configuration."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

import libcst as cst

from tflint_gpu.model.python.constants import Constants
from tflint_gpu.model.python.file import File
from tflint_gpu.model.python.syntax import Expression, Node, argument
from tflint_gpu.model.tensorflow.devices import parse_device
from tflint_gpu.model.tensorflow.guards import Guards
from tflint_gpu.model.tensorflow.runtime import DEVICES, GROWTH, LOGICAL, VISIBLE, Runtime

VARIABLE = "CUDA_VISIBLE_DEVICES"
_HIDING = frozenset(["-1", ""])
# What starts other processes, which the variable may be meant for, and other libraries that look at it later.
_ELSEWHERE = re.compile(
    r"\b(?:subprocess|multiprocessing|joblib|torch|jax|cupy|ray|dask|popen|system|fork|exec\w*|Process|Pool)\b"
)
_EXPLAINS = re.compile(r"#.*(?:cpu|gpu|cuda|device|debug)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class LateVariable:
    """An assignment to the environment variable that comes too late; `initialiser` is what came before."""

    target: cst.Subscript
    initialiser: Node
    name: str


@dataclass(frozen=True, slots=True)
class HiddenGpus:
    """The place that hides all GPUs of a program which sets something up for them."""

    place: Node
    setup: Node


class Visibility:
    """The places of one file that choose which GPUs are visible."""

    def __init__(self, file: File, constants: Constants, guards: Guards, runtime: Runtime) -> None:
        self.file = file
        self.constants = constants
        self.guards = guards
        self.runtime = runtime

    def late(self) -> Iterator[LateVariable]:
        """The assignments to the variable after something that surely initialises the GPUs of this process."""
        if _ELSEWHERE.search(self.file.source.text):
            return
        for target, value in self._assignments():
            if self._reads_environment(value):
                continue
            before = self.runtime.initialiser_before(self.file, target)
            if before is not None and not self._is_repeated(target, value, before[0]):
                yield LateVariable(target, *before)

    def _assignments(self) -> Iterator[tuple[cst.Subscript, Expression]]:
        """`os.environ["CUDA_VISIBLE_DEVICES"] = value`."""
        for name, stores in self.file.stores.items():
            for target, value in stores if name.rpartition(".")[2] == "environ" else ():
                index = target.slice[0].slice if len(target.slice) == 1 else None
                if not isinstance(index, cst.Index) or self.file.name(target.value) != "os.environ":
                    continue
                if self.constants.of(self.file, index.value) == VARIABLE:
                    yield target, value

    def _reads_environment(self, value: Expression) -> bool:
        """Whether a value was kept from the environment, to be put back."""
        return any("environ" in one.file.code(one.node) for one in self.constants.inference.of(self.file, value))

    def _is_repeated(self, target: cst.Subscript, value: Expression, initialiser: Node) -> bool:
        """Whether the variable had the same value in time."""
        text, tree = self.constants.of(self.file, value), self.file.tree
        return any(
            tree.order[other] < tree.order[initialiser]
            and tree.function(other) in (None, tree.function(target))
            and self.constants.of(self.file, earlier) == text
            and self.runtime.initialiser_before(self.file, other) is None
            for other, earlier in self._assignments()
            if other is not target
        )

    def hidden(self) -> HiddenGpus | None:
        """Where the program surely hides all GPUs, without a word, though it sets something up for them."""
        places = [*self._hiding_assignments(), *self._hiding_calls()]
        setting = [target for target, _ in self._assignments()] + list(self.file.calls(*sorted(VISIBLE)))
        if len(places) != 1 or len(setting) != 1 or self._is_explained(places[0]):
            return None
        place = places[0]
        if not self.guards.surely_runs(self.file, place) or self.guards.in_try(self.file, place):
            return None
        if self.runtime.initialiser_before(self.file, place) is not None:
            return None
        setup = next(self._setups(), None)
        return HiddenGpus(place, setup) if setup is not None else None

    def _hiding_assignments(self) -> Iterator[Node]:
        for target, value in self._assignments():
            if self.constants.of(self.file, value) in _HIDING:
                yield target

    def _hiding_calls(self) -> Iterator[Node]:
        """`tf.config.set_visible_devices([], "GPU")`."""
        for call in self.file.calls(*sorted(VISIBLE)):
            devices = argument(call, 0, "devices")
            kind = self.constants.of(self.file, argument(call, 1, "device_type"))
            if isinstance(devices, cst.List) and not devices.elements and kind == "GPU":
                yield call

    def _is_explained(self, place: Node) -> bool:
        """Whether a comment at the place, or above it, speaks of devices: then it is meant."""
        row = self.file.source.row(self.file.span(place)[0])
        return any(_EXPLAINS.search(self.file.source.line(one)) for one in (row, row - 1) if one >= 1)

    def _setups(self) -> Iterator[Node]:
        """What the file sets up for GPUs: memory, logical devices, a device's name."""
        for call in self.file.calls(*sorted(GROWTH), *sorted(LOGICAL)):
            yield call
        for call in self.file.calls(*sorted(DEVICES)):
            device = self.constants.of(self.file, argument(call, 0, "device_name"))
            if isinstance(device, str) and parse_device(device).is_gpu:
                yield call
