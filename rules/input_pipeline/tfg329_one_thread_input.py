"""TFG329 one-thread-input."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from tflint_gpu.lazy_dataclasses import dataclass
from tflint_gpu.model import Invocations, Kinds, argument, method_name
from tflint_gpu.model.library.datasets import FLOWS
from tflint_gpu.model.library.files import UNLOCKED
from tflint_gpu.rule import Experiment, Finding, Note, Prediction, Rule, Workload

if TYPE_CHECKING:
    import libcst as cst

    from tflint_gpu.model import Class, File, Model, Origin

_BASIS = "JPEG files against tf.data 5.4 times, ImageDataGenerator 1.3 to 1.8 times; two CPU cores"
_OF_FILES = FLOWS - {"flow"}


class OneThreadInput(Rule):
    """`fit` gets images that a single Python thread reads, decodes and transforms, one after the other.

    Why: `ImageDataGenerator` and a `Sequence` (in Keras 3: `PyDataset`) run in one thread unless `workers` says
    otherwise. That thread reads a file, decodes it, resizes it, and only then takes the next. A GPU waits for each
    batch if a training step takes less time than that. Most of this work is done outside Python's global lock, so
    several threads help. tf.data does it on all cores, in C++.

    Reported:
    - `flow_from_directory` and `flow_from_dataframe`
    - a `Sequence` of the project whose `__getitem__` reads, decodes or transforms images with OpenCV, PIL, SciPy or
      TensorFlow

    Not reported:
    - files that mention `workers`
    - `flow` of arrays in memory
    - a `__getitem__` that only slices arrays

    Measured: a `Sequence` that decodes JPEG files against tf.data: 5.4 times; `ImageDataGenerator` with rotations and
    flips: 1.3 to 1.8 times, each on two CPU cores. A `PyDataset` that waits 50 ms for each batch took 3.6, 1.35 and
    0.70 s with 1, 4 and 8 workers. TensorFlow 2.21 and Keras 3.15.

    Fix: none, because several threads would call `__getitem__` at the same time, which may not be thread-safe, and
    tf.data needs different code.

    Example:
        import keras
        from tensorflow.keras.preprocessing.image import ImageDataGenerator

        pictures = ImageDataGenerator(horizontal_flip=True)
        train = pictures.flow_from_directory("pictures", target_size=(224, 224), class_mode="sparse")
        model = keras.applications.MobileNetV2(weights=None, classes=10)
        model.compile("adam", "sparse_categorical_crossentropy")
        model.fit(train, epochs=10)

    Use instead:
        import keras

        train = keras.utils.image_dataset_from_directory("pictures", image_size=(224, 224))
        model = keras.applications.MobileNetV2(weights=None, classes=10)
        model.compile("adam", "sparse_categorical_crossentropy")
        model.fit(train, epochs=10)
    """

    code = "TFG329"
    name = "one-thread-input"
    required_substrings = ((b".fit(", b".fit_generator("),)
    nearby_substrings = (b"flow_from_", b"Sequence", b"PyDataset")
    skips_tests = True

    def check(self, model: Model) -> Iterator[Finding]:
        """Yield each `fit` whose data one thread reads."""
        if "workers" in model.file.source.text:
            return
        for call in model.method_calls("fit", "fit_generator"):
            data = argument(call, 0, "x") or argument(call, -1, "generator")
            if data is None or model.once(Kinds).receiver(model.file, call, "fit", "fit_generator") is None:
                continue
            read = [_read(model, origin) for origin in model.inference.of(model.file, data)]
            if read and (first := read[0]) is not None and all(read):
                yield _finding(model, call, data, first)

    def experiments(self, finding: Finding, model: Model) -> Iterator[Experiment]:
        """A `Sequence` that waits for each batch, as it does for a disk, read by one thread and by eight."""
        yield Experiment(finding.file, finding.node, workload=_WORKLOAD, only_workload=True, unit="seconds per epoch")


_WORKLOAD = Workload(
    before="""
        import time

        import numpy as np
        import tensorflow as tf

        class Batches(tf.keras.utils.Sequence):
            def __len__(self):
                return 40

            def __getitem__(self, index):
                time.sleep(0.03)
                return np.zeros((8, 4), "float32"), np.zeros((8, 1), "float32")

        batches = Batches()
        net = tf.keras.Sequential([tf.keras.layers.Dense(1)])
        net.compile("sgd", "mse")
        net.fit(batches, verbose=0)
        start = time.perf_counter()
        net.fit(batches, verbose=0)
        tflint_measure.finish(seconds=time.perf_counter() - start)
    """,
    changes=(("batches = Batches()", "batches = Batches(workers=8)"),),
)


@dataclass(frozen=True, slots=True)
class _Reading:
    """What reads the images: a method of Keras's generator, or a call in a `Sequence`."""

    file: File
    node: cst.CSTNode
    text: str


def _read(model: Model, origin: Origin) -> _Reading | None:
    if model.once(Kinds).of(origin) != "sequence":
        return None
    cls = model.inference.instance_class(origin)
    if cls is None:
        call = origin.call
        method = method_name(call) if call is not None else None
        if call is None or method not in _OF_FILES:
            return None
        return _Reading(origin.file, call.func, f"`{method}` reads, decodes and changes")
    return _reading_in(model, cls)


def _reading_in(model: Model, cls: Class) -> _Reading | None:
    """The first call that reads, decodes or changes images, in `__getitem__` of a class and in what it calls."""
    if "workers" in cls.file.source.text:
        return None
    method = model.inference.definitions.method(cls, "__getitem__")
    for run in model.once(Invocations).of_function(method) if method is not None else ():
        if (run.file.name(run.call.func) or "").startswith(UNLOCKED):
            return _Reading(run.file, run.call.func, f"`{cls.node.name.value}` reads, decodes or changes")
    return None


def _finding(model: Model, call: cst.Call, data: cst.BaseExpression, reading: _Reading) -> Finding:
    return Finding(
        model.file,
        data,
        f"{reading.text} one image after the other, in one Python thread, while the GPU waits",
        Prediction("slowdown", ("training",), low=1.0, high=6.0, basis=_BASIS),
        help="read with tf.data (`keras.utils.image_dataset_from_directory`, or `map` with `num_parallel_calls`), "
        "or give it `workers`",
        notes=(Note(reading.file, reading.node, "the images are prepared here"),),
    )
