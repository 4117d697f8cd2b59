"""TFG406 array-on-gpu."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING

import libcst as cst

from tflint_gpu.model import Kinds, NumpyArrays, Runtime, argument, as_bytes, method_name
from tflint_gpu.model.library.keras_methods import BATCH_SIZE_POSITIONS
from tflint_gpu.model.library.precision import BYTES
from tflint_gpu.rule import Finding, NoExperiment, Note, Prediction, Rule

if TYPE_CHECKING:
    from tflint_gpu.model import Expression, File, Model, NumpyArray
    from tflint_gpu.rule import Experiment

_MUCH = 8 << 30
_METHODS = tuple(BATCH_SIZE_POSITIONS)
_FLOATX = "float32"


class ArrayOnGpu(Rule):
    """`fit`, `evaluate`, `predict` or a model call gets an array of gigabytes, which is copied to the GPU as a whole.

    Why: Keras makes one tensor from each array before it splits off batches, and TensorFlow places a tensor that is
    made from a NumPy array on the GPU. The array has to fit into the GPU's memory next to the model, whatever the batch
    size is: "Failed copying input tensor from CPU:0 to GPU:0 ... Dst tensor is not initialized" appears at a batch size
    of one too. `model(x)` also passes all rows through the model at once, so the outputs of its layers have to fit as
    well. A dataset over a generator, or one that reads files, provides one batch at a time.

    Reported:
    - an array of 8 GiB or more, or of more than the setting `gpu-memory` says, where the shape of the array follows
      from the code; `float64` counts as `float32`, to which Keras casts it

    Not reported:
    - arrays whose shape does not follow from the code

    Measured: not on a GPU. A test shows that the first layer gets all rows in `model(x)`.
    `tf.data.Dataset.from_tensors` in Keras's adapter of arrays (keras/src/trainers/data_adapters/array_data_adapter.py)
    converts the array without naming a device, and many reports mention the error.

    Fix: none, because copying one batch at a time to the GPU requires different code.

    Example:
        import numpy as np
        import tensorflow as tf

        x, y = np.zeros((20_000, 384, 384, 3), "float32"), np.zeros((20_000,), "int32")
        model = tf.keras.applications.MobileNetV2(weights=None, input_shape=(384, 384, 3))
        model.compile("adam", "sparse_categorical_crossentropy")
        model.fit(x, y, batch_size=16)

    Use instead:
        import numpy as np
        import tensorflow as tf

        x, y = np.zeros((20_000, 384, 384, 3), "float32"), np.zeros((20_000,), "int32")


        def rows():
            for start in range(0, len(x), 16):
                yield x[start : start + 16], y[start : start + 16]


        signature = (tf.TensorSpec((None, 384, 384, 3), tf.float32), tf.TensorSpec((None,), tf.int32))
        model = tf.keras.applications.MobileNetV2(weights=None, input_shape=(384, 384, 3))
        model.compile("adam", "sparse_categorical_crossentropy")
        model.fit(tf.data.Dataset.from_generator(rows, output_signature=signature))
    """

    code = "TFG406"
    name = "array-on-gpu"
    required_substrings = ((b".fit(", b".evaluate(", b".predict("),)
    nearby_substrings = (b"numpy",)
    skips_tests = True
    skips_graphs = True
    skips_other_backends = True

    def check(self, model: Model) -> Iterator[Finding]:
        """Yield each array that takes more than a GPU's memory."""
        memory = model.target.gpu_memory or _MUCH
        for call, data in _given(model):
            array = model.once(NumpyArrays).of(model.file, data)
            held = _held(array) if array is not None else 0
            if array is None or held < memory or _runs_elsewhere(model, model.file, call):
                continue
            yield Finding(
                model.file,
                data,
                f"{as_bytes(held)} are copied onto the GPU before the first batch, whatever the batch size is"
                if method_name(call) in _METHODS
                else f"{as_bytes(held)} are copied onto the GPU at once, and all rows go through the model together",
                Prediction("memory", ("gpu",), basis="keras/src/trainers/data_adapters/array_data_adapter.py"),
                help="pass it in batches: a `tf.data.Dataset` over files or a generator, or a `keras.utils.PyDataset`",
                notes=(Note(array.origin.file, array.origin.node, f"the array is made here: {array.shape}"),),
            )

    def experiments(self, finding: Finding, model: Model) -> Iterator[Experiment]:
        """None: the host's memory may not suffice, either."""
        raise NoExperiment("an array of several gigabytes may not fit into this machine's memory")


def _given(model: Model) -> Iterator[tuple[cst.Call, Expression]]:
    """What models get as a whole: by `fit` and its like, or in a call."""
    kinds = model.once(Kinds)
    for call in model.file.tree.calls:
        is_method = method_name(call) in _METHODS
        data = argument(call, 0, "x" if is_method else "inputs")
        if not isinstance(data, cst.Name | cst.Attribute | cst.Subscript):
            continue
        if is_method:
            if kinds.receiver(model.file, call, *_METHODS) is not None:
                yield call, data
        elif isinstance(call.func, cst.Name | cst.Attribute) and kinds.is_model(model.file, call.func):
            yield call, data


def _held(array: NumpyArray) -> int:
    dtype = _FLOATX if array.dtype == "float64" else array.dtype
    return math.prod(array.shape) * BYTES.get(dtype, 1)


def _runs_elsewhere(model: Model, file: File, call: cst.Call) -> bool:
    return model.once(Runtime).hides_gpus or model.once(Runtime).is_on_cpu(file, call)
