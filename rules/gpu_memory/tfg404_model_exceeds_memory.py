"""TFG404 model-exceeds-memory."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from tflint_gpu.model import Runtime, as_bytes
from tflint_gpu.rule import Finding, NoExperiment, Note, Prediction, Rule

if TYPE_CHECKING:
    from tflint_gpu.model import Estimate, Model
    from tflint_gpu.rule import Experiment


class ModelExceedsMemory(Rule):
    """Training a model at its batch size needs more memory than the GPU has.

    Why: a training step holds the parameters, their gradients, the variables of the optimizer (Adam keeps two numbers
    for each parameter) and the outputs of the layers, from which the gradients are computed. This last part grows with
    the batch. Where the source fixes all shapes, all of it can be added up before anything runs. The setting
    `gpu-memory` says how much memory the GPU has, for example `gpu-memory = "24GiB"`; checking a file does not query
    the GPU.

    The sum is an estimate, shown as a table. It does not include the workspace of the kernels, the data and
    fragmentation. TensorFlow may overwrite or free some of the memory early, and XLA may compute some of it again
    instead of keeping it.

    Reported:
    - a model whose training needs more than `gpu-memory`, even without the memory that TensorFlow may overwrite or free
      early

    Not reported:
    - models with a layer, a shape, a batch size or an optimizer that is not known
    - models under a distribution strategy

    Measured: on a CPU, with TensorFlow 2.21 and without XLA, one training step on a batch grew the process by 0.91
    times (ResNet50) to 1.52 times (dense layers) the sum of the layers' outputs, for recurrent layers by far more, and
    for each of seven networks by more than the lower bound that the rule uses (`tests/benchmarks/training_memory.py`).
    Parameters, variables of the optimizer and outputs are compared with Keras's own in this project's tests. On a GPU
    it was not measured.

    Fix: none, because a smaller batch size changes the training, and the estimate is incomplete; the message says which
    size fits.

    Example:
        from tensorflow import keras
        from tensorflow.keras import layers

        model = keras.Sequential(
            [
                keras.Input((512, 512, 3)),
                layers.Conv2D(64, 3, padding="same", activation="relu"),
                layers.Conv2D(64, 3, padding="same", activation="relu"),
                layers.GlobalAveragePooling2D(),
                layers.Dense(10),
            ]
        )
        model.compile(optimizer="adam", loss="mse")
        model.fit(x, y, batch_size=512)

    Use instead:
        from tensorflow import keras
        from tensorflow.keras import layers

        model = keras.Sequential(
            [
                keras.Input((512, 512, 3)),
                layers.Conv2D(64, 3, padding="same", activation="relu"),
                layers.Conv2D(64, 3, padding="same", activation="relu"),
                layers.GlobalAveragePooling2D(),
                layers.Dense(10),
            ]
        )
        model.compile(optimizer="adam", loss="mse")
        model.fit(x, y, batch_size=64)
    """

    code = "TFG404"
    name = "model-exceeds-memory"
    required_substrings = ((b"tensorflow", b"keras"),)
    nearby_substrings = (b".fit(", b".train_on_batch(")
    skips_graphs = True
    skips_other_backends = True
    needs_gpu_memory = True

    def check(self, model: Model) -> Iterator[Finding]:
        """Yield the calls that train a model which does not fit."""
        from tflint_gpu.model import Trainings

        memory = model.target.gpu_memory
        if memory is None or model.once(Runtime).hides_gpus:
            return
        for estimate in model.once(Trainings).estimates:
            sizes, call = estimate.sizes, estimate.call
            if sizes.least <= memory or model.once(Runtime).is_on_cpu(estimate.file, call):
                continue
            yield Finding(
                estimate.file,
                estimate.method,
                f"training this model with batches of {sizes.batch_size} needs about {as_bytes(sizes.total)}, "
                f"more than the {as_bytes(memory)} of `gpu-memory`",
                Prediction(
                    "memory",
                    ("gpu",),
                    basis="added up from the shapes in the source; "
                    f"at least {as_bytes(sizes.least)} of it is held at the same time",
                ),
                help=f"{_advice(estimate, memory)}\n{estimate.table()}",
                notes=tuple(_notes(estimate)),
            )

    def experiments(self, finding: Finding, model: Model) -> Iterator[Experiment]:
        """None: it takes a card of this memory, and a training that fails takes the process with it."""
        raise NoExperiment("whether it fits can only be tested on a GPU with as much memory as `gpu-memory` says")


def _advice(estimate: Estimate, memory: int) -> str:
    fitting = estimate.sizes.batch_size_within(memory)
    if fitting:
        return f"by this estimate, batch sizes of up to {fitting} fit; leave room for what the estimate leaves out"
    return "by this estimate not even a batch of one fits: the model itself, or its input, has to be smaller"


def _notes(estimate: Estimate) -> Iterator[Note]:
    sizes = estimate.sizes
    yield Note(estimate.made.file, estimate.made.node, "the model")
    if estimate.compiled is not None:
        yield Note(estimate.compiled.file, estimate.compiled.node, f"the optimizer: {estimate.optimizer.name}")
    largest = sizes.largest
    place = largest.layer.site if largest is not None and largest.layer is not None else None
    if largest is not None and place is not None:
        room = as_bytes(largest.at(sizes.batch_size).size)
        text = f"the output of this layer takes {room} for one batch, more than that of any other layer"
        yield Note(place.file, place.node, text)
