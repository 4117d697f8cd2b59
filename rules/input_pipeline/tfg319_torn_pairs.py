"""TFG319 torn-pairs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import libcst as cst

from tflint_gpu.model import MAPPING_METHODS, KerasInputs, argument
from tflint_gpu.model.library.datasets import ORDERED_SOURCES
from tflint_gpu.model.library.operations import FILLS
from tflint_gpu.rule import (
    Edit,
    Experiment,
    Finding,
    Fix,
    Note,
    Prediction,
    Rule,
    Workload,
    method_text,
    removed,
)

if TYPE_CHECKING:
    from tflint_gpu.model import Chain, KerasInput, Model, Operation, Origin

_CONTAINERS = ("Sequential", "Model", "Functional")


class TornPairs(Rule):
    """Inputs and targets are two datasets that are shuffled separately before they are zipped.

    Why: each `shuffle` draws its own order, so `zip` pairs an input with the target of another sample. The model learns
    nothing from these pairs, and nothing raises. `list_files` and Keras's loaders shuffle by themselves.

    Reported:
    - inputs and targets that two `shuffle` calls reorder before they are zipped
    - a `shuffle` of only one of them
    - two branches of one shuffled dataset: each branch shuffles again

    Not reported:
    - two shuffles with the same `seed` and buffer, which stay together
    - two branches of one shuffle with `reshuffle_each_iteration=False`, which stay together
    - pairs that a map changes after the zip
    - models with a custom `train_step`, which may want unpaired data
    - generators
    - targets that are all the same

    Measured: of 60 pairs, 0 to 2 still match after `zip((a.shuffle(60), b.shuffle(60)))`, and 20 if the buffers hold
    two elements; with the same seed in both, all 60 match. Two branches of one shuffled dataset: 0 to 2. Two
    `list_files` of one folder: 1 of 60. TensorFlow 2.21; a test shows it with the installed TensorFlow.

    Fix: unsafe: it changes the pairs, as intended.

    Example:
        import tensorflow as tf

        (x, y), _ = tf.keras.datasets.mnist.load_data()
        images = tf.data.Dataset.from_tensor_slices(x).shuffle(60_000)
        labels = tf.data.Dataset.from_tensor_slices(y).shuffle(60_000)
        model = tf.keras.Sequential([tf.keras.layers.Flatten(), tf.keras.layers.Dense(10)])
        model.compile("adam", tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True))
        model.fit(tf.data.Dataset.zip((images, labels)).batch(32).prefetch(tf.data.AUTOTUNE))

    Use instead:
        import tensorflow as tf

        (x, y), _ = tf.keras.datasets.mnist.load_data()
        images = tf.data.Dataset.from_tensor_slices(x)
        labels = tf.data.Dataset.from_tensor_slices(y)
        model = tf.keras.Sequential([tf.keras.layers.Flatten(), tf.keras.layers.Dense(10)])
        model.compile("adam", tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True))
        model.fit(tf.data.Dataset.zip((images, labels)).shuffle(60_000).batch(32).prefetch(tf.data.AUTOTUNE))
    """

    code = "TFG319"
    name = "torn-pairs"
    severity = "error"
    required_substrings = ((b".fit(", b".evaluate("),)
    nearby_substrings = (b".shuffle", b".zip(")
    fixable = "unsafe"
    skips_tests = True

    def check(self, model: Model) -> Iterator[Finding]:
        """Yield the zip of each `fit` and `evaluate` whose pairs are torn on every path."""
        for inputs in model.once(KerasInputs).all:
            if inputs.method == "predict" or inputs.has_own_step or not _is_plain_model(inputs, model):
                continue
            torn = [_shuffle_that_tears(chain, model) for chain in inputs.chains]
            shuffled, made = torn[0], inputs.chains[0].made
            if None not in torn and shuffled is not None and made is not None:
                yield _finding(inputs, made, shuffled)

    def experiments(self, finding: Finding, model: Model) -> Iterator[Experiment]:
        """How many pairs of known numbers are still together."""
        yield Experiment(finding.file, finding.node, workload=_WORKLOAD, only_workload=True)


_WORKLOAD = Workload(
    before="""
        import tensorflow as tf

        tf.random.set_seed(1)
        inputs, targets = tf.data.Dataset.range(60).shuffle(60), tf.data.Dataset.range(60).shuffle(60)
        together = sum(int(one) == int(other) for one, other in tf.data.Dataset.zip((inputs, targets)))
        wrong = {"wrong": "most inputs have the target of another sample"} if together < 30 else {}
        tflint_measure.finish(outputs=[0.0], **wrong)
    """,
    changes=(
        ("range(60).shuffle(60), tf.data.Dataset.range(60).shuffle(60)", "range(60), tf.data.Dataset.range(60)"),
        ("zip((inputs, targets))", "zip((inputs, targets)).shuffle(60)"),
    ),
)


def _finding(inputs: KerasInput, made: Operation, shuffled: Operation) -> Finding:
    return Finding(
        made.file,
        made.call.func,
        "inputs and targets are shuffled separately: this pairs each input with the target of another sample",
        Prediction("wrong-result", ("training",), basis="of 60 pairs, 0 to 2 still match, TensorFlow 2.21"),
        help="remove the shuffles before the zip and shuffle the pairs after it, or give both the same `seed`",
        fix=_fix(inputs.chains[0], made),
        notes=(
            Note(shuffled.file, shuffled.place, "shuffled here, in a separate order"),
            Note(inputs.file, inputs.call, f"`{inputs.method}` takes the second of each pair for the target"),
        ),
    )


def _fix(zipped: Chain, made: Operation) -> Fix | None:
    """Take out the shuffles of both, and shuffle the pairs with the first one's buffer."""
    shuffles_of_both = [o for chain in zipped.inputs for o in chain.operations if o.name == "shuffle"]
    edits = [edit for shuffle in shuffles_of_both for edit in removed(shuffle)]
    if not edits or any(shuffle.file is not made.file for shuffle in shuffles_of_both):
        return None
    if len(edits) < len(shuffles_of_both) or any(chain.is_shuffled_by_source for chain in zipped.inputs):
        return None
    shuffled = Edit(made.call, method_text(shuffles_of_both[0]), "after")
    return Fix("Shuffle the pairs", "unsafe", (*edits, shuffled))


def _is_plain_model(inputs: KerasInput, model: Model) -> bool:
    """Whether it is certainly a model that Keras trains in its own way: pairs are inputs and targets to it."""

    def is_known(origin: Origin) -> bool:
        made_by = (origin.made_by or "").rpartition(".")[2]
        return made_by in _CONTAINERS or model.inference.instance_class(origin) is not None

    func = inputs.call.func
    return isinstance(func, cst.Attribute) and model.inference.must_be(inputs.file, func.value, is_known)


def _shuffle_that_tears(zipped: Chain, model: Model) -> Operation | None:
    """The shuffle that tears the pairs of a zip; None where they may be together."""
    if not (zipped.source or "").endswith(".zip") or len(zipped.inputs) != 2:
        return None
    if any(operation.name in MAPPING_METHODS for operation in zipped.operations):  # which may join other pairs
        return None
    if not all(_has_order(chain, model) for chain in zipped.inputs):
        return None
    first, second = zipped.inputs
    return _own_shuffle(first, second) or _own_shuffle(second, first)


def _has_order(chain: Chain, model: Model) -> bool:
    """Whether a dataset has a sample at each position, which is another one than that at the next."""
    made = chain.made
    if made is None or made.name not in ORDERED_SOURCES or chain.inputs or not made.call.args:
        return False
    origins = model.inference.of(made.file, made.call.args[0].value, made.context)
    return not any((origin.made_by or "").rpartition(".")[2] in FILLS for origin in origins)


def _own_shuffle(chain: Chain, other: Chain) -> Operation | None:
    """What shuffles a dataset in an order that the other one certainly does not have."""
    if chain.made is not None and chain.is_shuffled_by_source and chain.made.is_unseeded:
        return chain.made
    shared = {operation.call for operation in other.operations}
    for operation in chain.operations:
        if operation.name != "shuffle" or operation.argument(0, "buffer_size") == 1 or not operation.is_unseeded:
            continue
        if operation.call not in shared or argument(operation.call, 2, "reshuffle_each_iteration") is None:
            return operation
    return None
