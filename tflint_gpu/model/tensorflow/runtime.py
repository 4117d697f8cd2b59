"""The start of a program: what initialises TensorFlow's runtime, and how its GPUs are set up."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import TYPE_CHECKING

import libcst as cst

from tflint_gpu.model.python.syntax import Expression, Node, argument
from tflint_gpu.model.tensorflow.datasets import is_source
from tflint_gpu.model.tensorflow.guards import GPU_QUERIES
from tflint_gpu.model.tensorflow.tensor_functions import returns_tensor

if TYPE_CHECKING:
    from tflint_gpu.model.model import Model
    from tflint_gpu.model.python.functions import Function

GROWTH = frozenset(["tf.config.experimental.set_memory_growth", "tf.config.set_memory_growth"])
LOGICAL = frozenset(
    [
        "tf.config.set_logical_device_configuration",
        "tf.config.experimental.set_virtual_device_configuration",
    ]
)
VISIBLE = frozenset(["tf.config.set_visible_devices", "tf.config.experimental.set_visible_devices"])
_INITIALISERS = frozenset(
    [
        "tf.Variable",
        "tf.device",
        "tf.config.list_logical_devices",
        "tf.config.experimental.list_logical_devices",
        "tf.distribute.MirroredStrategy",
        "tf.distribute.MultiWorkerMirroredStrategy",
        "keras.device",
    ]
)
# Any of these bytes in a program's files means that its memory or its devices are set up by hand.
_MEMORY_SETTINGS = tuple(
    b"set_memory_growth ALLOW_GROWTH allow_growth per_process_gpu_memory_fraction set_logical_device_configuration "
    b"set_virtual_device_configuration set_visible_devices CUDA_VISIBLE_DEVICES TF_GPU_ALLOCATOR GPUOptions "
    b"gpu_options device_count".split()
)
_VISIBILITY_SETTINGS = (b"set_visible_devices", b"CUDA_VISIBLE_DEVICES", b"HIP_VISIBLE_DEVICES")
_GPU_LISTS = GPU_QUERIES - frozenset(
    [
        "tf.test.is_gpu_available",
        "tf.test.gpu_device_name",
        "tf.test.is_built_with_cuda",
        "tf.test.is_built_with_gpu_support",
        "tf.compat.v1.test.is_gpu_available",
        "tf.compat.v1.test.gpu_device_name",
    ]
)
# API of TensorFlow 1 that works in graphs only.
_GRAPH_CALLS = frozenset(
    (
        "enable_eager_execution disable_eager_execution disable_v2_behavior Session InteractiveSession Graph "
        "placeholder "
        "get_variable variable_scope global_variables_initializer get_default_graph get_collection "
        "add_to_collection train.get_global_step train.get_or_create_global_step train.Saver "
        "train.AdamOptimizer train.MomentumOptimizer train.GradientDescentOptimizer train.Scaffold "
        "train.MonitoredTrainingSession losses.get_total_loss losses.softmax_cross_entropy ConfigProto app.run "
        "import_graph_def"
    ).split()
)
_EAGER_CALLS = frozenset(["compat.v1.enable_eager_execution", "compat.v1.enable_v2_behavior"])
_GRAPH_FOLDERS = ("contrib.", "layers.", "estimator.", "logging.")
_DEPTH_LIMIT = 3


class Runtime:
    """Questions about how one file sets TensorFlow up."""

    def __init__(self, model: Model) -> None:
        self.model = model

    def sets_memory(self) -> bool:
        """Whether this file, or a file of the project that it reaches, sets up GPU memory or visibility."""
        return self.model.project.program_mentions(self.model.source, _MEMORY_SETTINGS)

    @cached_property
    def is_graph_mode(self) -> bool:
        """Whether the file uses TensorFlow 1's graphs and sessions, where nothing runs eagerly."""
        names = {(self.model.name(call.func) or "")[3:] for call in self.model.calls("tf.*")}
        if names & _EAGER_CALLS:
            return False
        plain = {name.removeprefix("compat.v1.") for name in names if not name.startswith("compat.v1.logging.")}
        return any(name in _GRAPH_CALLS or name.startswith(_GRAPH_FOLDERS) for name in plain)

    @cached_property
    def narrows_visibility(self) -> bool:
        """Whether the file, or one that it reaches, chooses which GPUs are visible."""
        return self.model.project.program_mentions(self.model.source, _VISIBILITY_SETTINGS)

    @cached_property
    def has_numpy_behaviour(self) -> bool:
        """Whether the program gives tensors NumPy's methods, through which some NumPy functions work on them."""
        return self.model.project.program_mentions(self.model.source, [b"experimental_enable_numpy_behavior"])

    @cached_property
    def places_strictly(self) -> bool:
        """Whether the file turns soft placement off, so that a missing device is an error."""
        return any(
            self.model.value(argument(call, 0, "enabled")) is False
            for call in self.model.calls("tf.config.set_soft_device_placement")
        )

    def device_strings(self, *names: str) -> Iterator[tuple[cst.Call, Expression]]:
        """The device argument of each call of these functions."""
        for call in self.model.calls(*names):
            device = argument(call, 0, "device") or argument(call, -1, "device_name")
            if device is not None:
                yield call, device

    def is_gpu_list(self, expr: Expression) -> bool:
        """Whether `expr` is certainly the list of a machine's GPUs, which may be empty."""
        origins = self.model.functions.origins(expr)
        return bool(origins) and all(
            o is not None
            and isinstance(o.node, cst.Call)
            and o.model.name(o.node.func) in _GPU_LISTS
            and o.model.value(argument(o.node, 0, "device_type")) == "GPU"
            for o in origins
        )

    def initialiser_before(self, call: cst.Call) -> tuple[Node, str] | None:
        """What surely initialises the runtime before `call` in the same straight-line code: place and name."""
        tree = self.model.tree
        function = tree.function(call)
        around = {tree.module, *tree.ancestors(call)}
        here = tree.order[call]
        for other in self.model.functions.calls_in.get(function, []):
            if tree.order[other] >= here:
                break
            if other in around or self._may_not_run(other, around):
                continue
            name = self.initialises(other)
            if name is not None:
                return other, name
        return None

    def _may_not_run(self, call: cst.Call, around: set[Node]) -> bool:
        """Whether `call` stands in a branch, loop, handler or lambda that need not run before the place."""
        child: Node = call
        for parent in self.model.tree.ancestors(call):
            if parent in around:
                # the same `if` or `try`, but the other way through it
                return isinstance(parent, cst.If | cst.Try | cst.IfExp) and child is not getattr(parent, "test", None)
            if isinstance(parent, cst.If | cst.IfExp | cst.For | cst.While | cst.Try | cst.ExceptHandler | cst.Lambda):
                return not (isinstance(parent, cst.For) and child is parent.iter)
            if isinstance(parent, cst.BooleanOperation | cst.BaseComp | cst.With) and not self._plain_with(parent):
                return True
            child = parent
        return False

    def _plain_with(self, node: Node) -> bool:
        """A `with` under which TensorFlow still runs eagerly on the process's own runtime."""
        return isinstance(node, cst.With) and all(
            isinstance(item.item, cst.Call) and self.model.name(item.item.func) in ("tf.device", "tf.GradientTape")
            for item in node.items
        )

    def initialises(self, call: cst.Call, depth: int = 0) -> str | None:
        """The name of what a call does that initialises the runtime, None where it does not for certain."""
        name = self.model.name(call.func)
        if name is not None:
            last = name.rpartition(".")[2]
            if name in _INITIALISERS or (name.startswith("tf.") and returns_tensor(name)):
                return name
            if is_source(name) and name.startswith("tf.data.Dataset."):
                return name
            if (
                name.startswith(("keras.optimizers.", "keras.metrics."))
                and last[:1].isupper()
                and "schedules" not in name
            ):
                return name
            if name in ("keras.Sequential", "keras.models.Sequential") and self._has_input(call):
                return f"{name} with an Input"
            return None
        function = self.model.functions.called(call)
        if function is None or depth >= _DEPTH_LIMIT:
            return None
        return next(function.model.runtime.initialised_by(function, depth + 1), None)

    def initialised_by(self, function: Function, depth: int) -> Iterator[str]:
        """What every run of a function initialises the runtime with."""
        around: set[Node] = {function.node, function.node.body}
        for call in self.model.functions.calls_in.get(function.node, []):
            if not self._may_not_run(call, around) and not self._after_exit(function, call):
                name = self.initialises(call, depth)
                if name is not None:
                    yield name

    def _after_exit(self, function: Function, call: cst.Call) -> bool:
        """Whether the function may have returned before it comes to `call`."""
        order = self.model.tree.order
        returns = self.model.functions.returns_of.get(function.node, [])
        return any(order[r] < order[call] and not self.model.tree.within(call, r) for r in returns)

    def _has_input(self, call: cst.Call) -> bool:
        layers = argument(call, 0, "layers")
        first = layers.elements[0].value if isinstance(layers, cst.List | cst.Tuple) and layers.elements else None
        if not isinstance(first, cst.Call):
            return False
        return self.model.name(first.func) in (
            "keras.Input",
            "keras.layers.Input",
            "keras.layers.InputLayer",
        ) or any(
            a.keyword is not None and a.keyword.value in ("input_shape", "input_dim", "batch_input_shape")
            for a in first.args
        )
