"""How a program of `tflint-gpu verify` waits until it may go on, and writes what came of it; see `tflint_measure`."""

from __future__ import annotations

import contextlib
import gc
import importlib
import inspect
import json
import os
import random
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

RESULT = os.environ.get("TFLINT_GPU_RESULT")
# TensorFlow tells the devices of operations in its log only, and reads the level when it is imported.
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "0" if RESULT else os.environ.get("TF_CPP_MIN_LOG_LEVEL", "2")

_LIBRARIES = ("keras", "tf_keras", "tensorflow", "numpy")


def _import_libraries() -> None:
    """Import them before anything of the program, which may have a file or folder of the same name."""
    here = os.path.dirname(os.path.abspath(__file__))
    own = [path for path in sys.path if os.path.abspath(path or ".").startswith(here)]
    names = [name for name in _LIBRARIES if any(_has(path, name) for path in own)]
    if names:
        whole, sys.path[:] = list(sys.path), [path for path in sys.path if path not in own]
        for name in ("tensorflow", *names):
            with contextlib.suppress(ImportError):
                importlib.import_module(name)
        sys.path[:] = whole


def _has(folder: str, name: str) -> bool:
    return any(os.path.exists(os.path.join(folder, each)) for each in (name, f"{name}.py"))


_import_libraries()

import numpy
import tensorflow as tf

for _name in ("list_logical_devices", "list_physical_devices"):
    if not hasattr(tf.config, _name):  # before TensorFlow 2.1
        setattr(tf.config, _name, getattr(tf.config.experimental, _name))


def _function(*args: Any, reduce_retracing: bool = False, **options: Any) -> Any:
    """`tf.function`, whose option had another name before TensorFlow 2.9."""
    return _FUNCTION(*args, **options, **({"experimental_relax_shapes": True} if reduce_retracing else {}))


_FUNCTION = tf.function
if "reduce_retracing" not in inspect.signature(_FUNCTION).parameters:
    tf.function = _function

SEED = int(os.environ.get("TFLINT_GPU_SEED", "1"))
QUESTIONS = os.environ.get("TFLINT_GPU_QUESTIONS")


def ask(what: str) -> str:
    """Ask `verify` through the folder of questions, and wait for what it says."""
    number = time.monotonic_ns()
    answer = f"{QUESTIONS}/answer-{number}"
    with open(f"{answer}.new", "w") as file:
        file.write(f"{number} {what}")
    os.replace(f"{answer}.new", f"{QUESTIONS}/asked")
    while not os.path.exists(answer):
        time.sleep(0.001)
    with open(answer) as file:
        return file.read()


def _fork_rounds() -> None:
    """Return in a fork of this process for each round; this process itself ends as the last of them did."""
    assert tf.keras.layers  # Keras is imported when it is first asked for
    while ask("round") == "go":
        child = os.fork()
        if child == 0:
            return
        status = os.waitpid(child, 0)[1]
        if os.WIFSIGNALED(status):
            os.kill(os.getpid(), os.WTERMSIG(status))
        if os.WEXITSTATUS(status):
            os._exit(os.WEXITSTATUS(status))
    os._exit(0)


if RESULT:
    with contextlib.suppress(OSError):  # from now on its time counts
        open(os.path.join(os.path.dirname(RESULT), "imported"), "w").close()
if QUESTIONS:
    _fork_rounds()


def _end(*error: Any) -> NoReturn:
    """Say which error ended the program, and end it: threads of a pipeline may never come to their end."""
    sys.__excepthook__(*error)
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(1)


if RESULT:
    sys.excepthook = _end

random.seed(SEED)
numpy.random.seed(SEED)
getattr(tf.keras.utils, "set_random_seed", tf.random.set_seed)(SEED)  # before TensorFlow 2.7 without Keras'
sys.argv[1:] = []


def finish(
    times: Sequence[float] = (),
    outputs: Any = None,
    devices: Sequence[str] = (),
    blocks: Sequence[float] = (),
    **notes: Any,
) -> NoReturn:
    """Write what was measured, in seconds, and end the program: what comes after is not needed."""
    write(times, _FIRST.get("outputs") if outputs is None else outputs, devices, notes, blocks)
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)


def write(
    times: Sequence[float], outputs: Any, devices: Sequence[str], notes: dict[str, Any], blocks: Sequence[float] = ()
) -> None:
    array = None if outputs is None else numpy.asarray(outputs)
    result = {
        "steps": [float(t) for t in times],
        "blocks": [float(t) for t in blocks],
        "outputs": None if array is None else array.tolist(),
        "dtype": None if array is None else str(array.dtype),
        "devices": list(devices),
        "notes": {**notes, **_REPORTED, **_conditions()},
    }
    if RESULT:
        with open(RESULT, "w") as file:
            json.dump(result, file)
        return
    if blocks or times:
        of, what = (blocks, "blocks of steps") if blocks else (times, "steps")
        print(f"median of {len(of)} {what}: {statistics.median(of) * 1000:.4g} ms a step")
    print({key: value for key, value in result.items() if key not in ("steps", "blocks", "dtype") and value})


class EmptyData(ValueError):
    """There is nothing to run over, so nothing can be measured."""


class NeverRun(RuntimeError):
    """What is flagged does not run in what is measured, so nothing can be said of it."""


_REPORTED: dict[str, Any] = {}


def note_early(**notes: Any) -> None:
    """Write something for the result that is to be known even if the program ends with an error."""
    _REPORTED.update(notes)
    if RESULT:
        notes = {**_REPORTED, "unfinished": True}
        with open(RESULT, "w") as file:
            json.dump({"steps": [], "outputs": None, "dtype": None, "devices": [], "notes": notes}, file)


_told: list[str] = []


def tell(text: str) -> None:
    """Remember that something was made up."""
    if text not in _told:
        _told.append(text)
        note_early(made_up=_told)


def synchronize() -> None:
    """Wait until the device has done its work: fetching a number waits for all that was started before it."""
    for device in tf.config.list_logical_devices("GPU"):
        with tf.device(device.name):
            (tf.zeros(()) + 1.0).numpy()


MEASURED: dict[str, float] = {}  # since when, on the clock that all processes of a machine share


_FIRST: dict[str, Any] = {}
MOST_NUMBERS = 10_000


def keep_first(result: Any) -> Any:
    """Keep the first numbers that were computed, so that both variants can be compared; give the result back."""
    if "outputs" not in _FIRST:
        _FIRST["outputs"] = None
        for part in tf.nest.flatten(result):
            if tf.is_tensor(part) and hasattr(part, "numpy") and part.dtype.is_floating:
                _FIRST["outputs"] = part.numpy().ravel()[:MOST_NUMBERS]
                _REPORTED["compared"] = 1
                break
    return result


def keep_weights(steps: int) -> None:
    """Keep numbers of the weights as some steps have left them, where no result of the program's own is kept."""
    if _FIRST.get("outputs") is not None or not tf.executing_eagerly():  # a variable of a graph has no value by itself
        return
    kinds = (get_object for get_object in gc.get_objects() if issubclass(type(get_object), tf.Variable))
    trained = (kind for kind in kinds if kind.trainable and kind.dtype.is_floating and _has_value(kind))
    weights = sorted(trained, key=_age)
    numbers = [_first_numbers(weight, max(1, MOST_NUMBERS // len(weights))) for weight in weights]
    if numbers:
        _FIRST["outputs"] = numpy.concatenate(numbers)
        _REPORTED["compared"] = steps


def _has_value(variable: Any) -> bool:
    """Whether a variable is of no graph: a saved program holds some that are."""
    try:
        return hasattr(variable.handle, "numpy")
    except ValueError:  # it has one for each of several devices
        return True


def _age(variable: Any) -> int:
    """Variables that are made in the same order have growing numbers at the end of their names."""
    return int(variable._unique_id.rpartition("_")[2])


def _first_numbers(variable: Any, count: int) -> Any:
    return tf.cast(tf.reshape(variable, [-1])[:count], tf.float32).numpy()


@tf.autograph.experimental.do_not_convert  # type: ignore[untyped-decorator]  # a traced function may end it all
def _conditions() -> dict[str, Any]:
    """What the numbers depend on: the devices that there are and that were used, the time, versions and settings."""
    gpus = [device.name for device in tf.config.list_logical_devices("GPU")]
    build = tf.sysconfig.get_build_info() if hasattr(tf.sysconfig, "get_build_info") else {}  # since 2.3
    versions = {
        "python": sys.version.split()[0],
        "tensorflow": tf.__version__,
        "keras": getattr(tf.keras, "__version__", None) or getattr(sys.modules.get("keras"), "__version__", None),
        "numpy": numpy.__version__,
        "cuda": build.get("cuda_version"),
        "cudnn": build.get("cudnn_version"),
    }
    measured = [MEASURED["from"], time.monotonic()] if "from" in MEASURED else None
    return {
        "gpus": gpus,
        "ran_on": _used_devices(),
        "memory": {name: held for name, held in zip(gpus, map(_allocated, gpus)) if held is not None},
        "measured": measured,
        "versions": {name: str(version) for name, version in versions.items() if version},
        "settings": _settings(),
        "seed": SEED,
    }


def _used_devices() -> dict[str, int]:
    """How many of the tensors and variables that the program still has lie on which device."""
    devices: dict[str, int] = {}
    kinds: dict[type, bool] = {}
    for get_object in gc.get_objects():
        kind = type(get_object)
        if kind not in kinds:
            kinds[kind] = issubclass(kind, (tf.Tensor, tf.Variable)) and hasattr(kind, "numpy")
        if not kinds[kind]:
            continue
        try:
            name = getattr(get_object, "backing_device", None) or get_object.device
        except Exception:  # a variable of a graph, or one that is gone on the device
            continue
        if isinstance(name, str) and "device:" in name:
            short = name.rpartition("device:")[2]
            devices[short] = devices.get(short, 0) + 1
    return devices


def _allocated(name: str) -> dict[str, int] | None:
    """Bytes of a card that TensorFlow's allocator has given out, now and at most."""
    try:
        short = name.rpartition("device:")[2]
        return {key: int(held) for key, held in tf.config.experimental.get_memory_info(short).items()}
    except Exception:  # before 2.5, and for some allocators
        return None


def _settings() -> dict[str, str]:
    """What changes how fast TensorFlow computes: of the environment, and of what the program set itself."""
    names = ("XLA_FLAGS", "TF_XLA_FLAGS", "TF_ENABLE_ONEDNN_OPTS", "TF_USE_LEGACY_KERAS", "KERAS_BACKEND")
    settings = {name: os.environ[name] for name in names if name in os.environ}
    questions: dict[str, Callable[[], Any]] = {
        "XLA": tf.config.optimizer.get_jit,
        "TF32": lambda: tf.config.experimental.tensor_float_32_execution_enabled(),
        "precision": lambda: tf.keras.mixed_precision.global_policy().name,
        "threads of an operation": tf.config.threading.get_intra_op_parallelism_threads,
        "threads between operations": tf.config.threading.get_inter_op_parallelism_threads,
    }
    for name, question in questions.items():
        with contextlib.suppress(Exception):  # an older version has another name for it
            answer = question()
            if answer:
                settings[name] = "on" if answer is True else str(answer)
    return settings
