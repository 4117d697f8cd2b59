"""Device strings as TensorFlow reads them (`DeviceSpecV2.from_string`, tensorflow/python/framework/device_spec.py)."""

from __future__ import annotations

import re

from tflint_gpu.lazy_dataclasses import dataclass
from tflint_gpu.lazy_patterns import regex
from tflint_gpu.model.library.spellings import spelled

_TYPES = frozenset(["CPU", "GPU", "TPU", "TPU_SYSTEM", "XLA_CPU", "XLA_GPU", "XLA_CPU_JIT", "XLA_GPU_JIT", "CUSTOM"])
# Types that plug-ins register: valid where the plug-in is installed.
_PLUGGABLE = regex(r"[xnhimdv]pu|dml|mps|mlu|gcu|sycl|ve|metal|my_device|.*custom.*|opencl", re.IGNORECASE)
_KEYS = frozenset(["job", "replica", "task"])

DEVICE_SCOPES = spelled("tf.{,compat.v1.}device keras.device")
GPU_LISTS = spelled("tf.config.{,experimental.}{list_physical_devices,list_logical_devices,get_visible_devices}")
EMPTY_LIST_ERRORS = ("IndexError", "LookupError", "Exception")
"""What handles the error of an index into such a list on a machine without a GPU."""
GPU_QUERIES = GPU_LISTS | spelled(
    """
    tf.{,compat.v1.}test.{is_gpu_available,gpu_device_name} tf.test.{is_built_with_cuda,is_built_with_gpu_support}
    tf.python.client.device_lib.list_local_devices keras.backend.tensorflow_backend._get_available_gpus
    keras.distribution.list_devices
    """
)
"""Functions that tell whether there is a GPU."""
MULTI_WORKER = spelled("tf.distribute.{,experimental.}MultiWorkerMirroredStrategy")
SEVERAL_DEVICES = MULTI_WORKER | spelled("tf.distribute.{,experimental.}{MirroredStrategy,CentralStorageStrategy}")
"""Strategies that train on all GPUs of a machine unless they are told otherwise."""
STRATEGIES = SEVERAL_DEVICES | spelled(
    """
    tf.distribute.{,experimental.}{OneDeviceStrategy,TPUStrategy,ParameterServerStrategy}
    tf.compat.v1.distribute.{MirroredStrategy,MultiWorkerMirroredStrategy,CentralStorageStrategy}
    tf.compat.v1.distribute.{OneDeviceStrategy,TPUStrategy,ParameterServerStrategy}
    """
)
STRATEGY_METHODS = frozenset(["run", "reduce", "gather"])
"""Those that a traced function may call."""
TPU_SETUP = {
    **dict.fromkeys(
        spelled(
            """
            tf.distribute.cluster_resolver.TPUClusterResolver tf.config.experimental_connect_to_cluster
            tf.tpu.experimental.initialize_tpu_system
            """
        ),
        "no_cluster",
    ),
    **dict.fromkeys(spelled("tf.distribute.{,experimental.}TPUStrategy"), "default_strategy"),
}
"""What looks for TPUs, and what a program uses where there are none."""
INITIALISERS = spelled(
    """
    tf.Variable {tf,keras}.device tf.config.{,experimental.}list_logical_devices
    tf.distribute.{MirroredStrategy,MultiWorkerMirroredStrategy} tensorflow_datasets.load
    """
)
"""What initialises the GPUs, besides operations on tensors."""
SCOPES_OF_OTHERS = spelled(
    """
    open {tf,keras}.{device,name_scope} tf.{GradientTape,init_scope,summary.create_file_writer}
    warnings.catch_warnings tempfile.TemporaryDirectory contextlib.suppress {,tqdm.}tqdm
    """
)
"""What a with statement enters that is certainly no strategy's scope."""


@dataclass(frozen=True, slots=True)
class DeviceSpec:
    """What a device string names. `unknown` is the attribute that TensorFlow stumbles over, if any."""

    kind: str | None = None
    index: int | None = None
    unknown: str | None = None
    bad_number: str | None = None

    @property
    def is_gpu(self) -> bool:
        """Whether a GPU is asked for."""
        return self.kind == "GPU" and self.unknown is None and self.bad_number is None


def parse_device(text: str) -> DeviceSpec:
    """Read a device string: "/GPU:0", "/job:worker/task:1/device:GPU:0", "gpu:1"."""
    kind: str | None = None
    index: int | None = None
    for part in text.split("/"):
        pieces = part.split(":")
        if len(pieces) == 2 and pieces[0] in _KEYS:
            if pieces[0] != "job" and not pieces[1].isdigit():
                return DeviceSpec(bad_number=pieces[1])
            continue
        if len(pieces) <= 2 and pieces[0].upper() in _TYPES:
            kind, number = pieces[0].upper(), pieces[1] if len(pieces) == 2 else "*"
        elif len(pieces) == 3 and pieces[0] == "device":
            kind, number = pieces[1].upper(), pieces[2]
        elif pieces[0] == "":
            continue
        else:
            return DeviceSpec(unknown=pieces[0])
        if number != "*":
            if not re.fullmatch(r"[+-]?\d+", number):
                return DeviceSpec(bad_number=number)
            index = int(number)
    return DeviceSpec(kind, index)


def is_pluggable(kind: str) -> bool:
    """Whether a device plug-in may have registered a type of this name."""
    return _PLUGGABLE.fullmatch(kind) is not None


def device_problem(text: str) -> tuple[str, str] | None:
    """A device string and why it does not parse, None where it does or where a plug-in may know it."""
    spec = parse_device(text)
    if spec.bad_number is not None:
        return text, f"`{spec.bad_number}` is not a number"
    if spec.unknown is not None and not is_pluggable(spec.unknown):
        return text, f"unknown attribute `{spec.unknown}`"
    return None
