"""TFG331 predictions-out-of-order."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import libcst as cst

from tflint_gpu.lazy_dataclasses import dataclass
from tflint_gpu.model import (
    DATASET_SUBSTRINGS,
    ELEMENT,
    Expression,
    Kinds,
    Node,
    Origin,
    Pipelines,
    argument,
    computed_from,
    method_name,
    operation_named,
)
from tflint_gpu.model.library.datasets import FLOWS
from tflint_gpu.rule import Experiment, Finding, Note, Prediction, Rule, Workload

if TYPE_CHECKING:
    from tflint_gpu.model import Model

_COMPARING = ("sklearn.metrics.*", "tf.math.confusion_matrix")
_OF_FLOWS = frozenset(["classes", "labels"])
_BASIS = "of 1,000 predictions, 0 to 2 were paired with their own label, TensorFlow 2.15 and 2.21"


class PredictionsOutOfOrder(Rule):
    """Predictions of a shuffled dataset are compared with labels that another pass over it collects.

    Why: `shuffle` draws a new order for each pass, and Keras's loaders from folders shuffle unless they get
    `shuffle=False`. `predict` is one pass, and the loop that collects the labels is another. Their rows do not
    correspond: a good model looks as if it were guessing, and nothing raises. The same holds for `classes` of a
    generator that `flow_from_directory` makes: they are in the order of the files, and the predictions are not.

    Reported:
    - a metric of scikit-learn, or `confusion_matrix`, that gets both
    - an `==` that compares both, if the result is counted

    Not reported:
    - an order that is kept: `reshuffle_each_iteration=False`, or a `cache` after the shuffle
    - predictions and labels of one loop

    Measured: of 1,000 predictions, 0 to 2 were paired with their own label, with TensorFlow 2.15 and 2.21. A test shows
    it with the installed TensorFlow.

    Fix: none, because the dataset may be used for training, too, and should be shuffled there.

    Example:
        import numpy as np
        import tensorflow as tf
        from sklearn.metrics import confusion_matrix

        model = tf.keras.models.load_model("leaves.keras")
        leaves = tf.keras.utils.image_dataset_from_directory("leaves")
        guesses = model.predict(leaves).argmax(axis=-1)
        kinds = np.concatenate([kind for _, kind in leaves])
        print(confusion_matrix(kinds, guesses))

    Use instead:
        import numpy as np
        import tensorflow as tf
        from sklearn.metrics import confusion_matrix

        model = tf.keras.models.load_model("leaves.keras")
        leaves = tf.keras.utils.image_dataset_from_directory("leaves", shuffle=False)
        guesses = model.predict(leaves).argmax(axis=-1)
        kinds = np.concatenate([kind for _, kind in leaves])
        print(confusion_matrix(kinds, guesses))
    """

    code = "TFG331"
    name = "predictions-out-of-order"
    severity = "error"
    required_substrings = ((b".predict(",), (b"metrics", b"confusion_matrix", b"=="))
    nearby_substrings = (*DATASET_SUBSTRINGS, b"flow_from")
    skips_tests = True
    skips_graphs = True

    def check(self, model: Model) -> Iterator[Finding]:
        """Yield the comparisons of predictions with labels of another order."""
        called = (_shuffled(model, call) for call in model.method_calls("predict"))
        predictions = [guesses for guesses in called if guesses is not None]
        for place, values in _comparisons(model) if predictions else ():
            sources = [list(computed_from(model.inference, model.file, value)) for value in values]
            wrong = next((guesses for guesses in predictions if _is_mismatch(model, guesses, sources)), None)
            if wrong is not None:
                yield _finding(model, place, wrong)

    def experiments(self, finding: Finding, model: Model) -> Iterator[Experiment]:
        """How many of known numbers stand beside themselves."""
        yield Experiment(finding.file, finding.node, workload=_WORKLOAD, only_workload=True)


@dataclass(frozen=True, slots=True)
class _Guesses:
    """The predictions of rows that each pass has in another order.

    Arguments:
        call: of `predict`.
        shuffled: what shuffles the rows: an operation of a dataset, or the call that makes a generator.
    """

    call: cst.Call
    shuffled: Node


def _shuffled(model: Model, call: cst.Call) -> _Guesses | None:
    data = argument(call, 0, "x")
    if data is None or model.once(Kinds).receiver(model.file, call, "predict") is None:
        return None
    origins = model.inference.of(model.file, data)
    if origins and all(_is_shuffled_flow(model, origin) for origin in origins):
        return _Guesses(call, origins[0].node)
    chains = model.once(Pipelines).chains(model.file, data)
    shuffles = {chain.reshuffled_by.call if chain.certain and chain.reshuffled_by else None for chain in chains}
    shuffled = shuffles.pop() if len(shuffles) == 1 else None
    return _Guesses(call, shuffled) if shuffled is not None else None


def _is_mismatch(model: Model, guesses: _Guesses, sources: list[list[Origin]]) -> bool:
    """Whether of the values that are compared one comes from some predictions and another from labels of their rows."""
    are_guesses = [any(origin.node is guesses.call for origin in origins) for origins in sources]
    others = [origins for origins, is_guess in zip(sources, are_guesses, strict=True) if not is_guess]
    return any(are_guesses) and any(_is_label(model, origin, guesses) for origins in others for origin in origins)


def _is_shuffled_flow(model: Model, origin: Origin) -> bool:
    """Whether a value is a generator of Keras's over the files of a folder or table, in another order each time."""
    call = origin.call
    if call is None or method_name(call) not in FLOWS - {"flow"} or any(arg.star for arg in call.args):
        return False
    if origin.file.tree.attributes_set("shuffle"):
        return False
    told = argument(call, -1, "shuffle")
    return told is None or model.constants.of(origin.file, told, origin.context) is True


def _is_label(model: Model, origin: Origin, guesses: _Guesses) -> bool:
    """Whether a value is a label of the same rows: of another pass over the dataset, or `generator.classes`."""
    path = origin.access_path
    if origin.node is guesses.shuffled and path and path[0].kind == "attribute":
        return path[0].key in _OF_FLOWS
    if ELEMENT not in path:
        return False
    place = path.index(ELEMENT)
    chains = model.once(Pipelines).of_origin(Origin(origin.file, origin.node, origin.context, path[:place]))
    if not chains or any(c.reshuffled_by is None or c.reshuffled_by.call is not guesses.shuffled for c in chains):
        return False
    is_part = len(path) > place + 1 and path[place + 1].key == 1
    return is_part or all(chain.operations and chain.operations[-1].name == "map" for chain in chains)


def _comparisons(model: Model) -> Iterator[tuple[Node, list[Expression]]]:
    """What compares two values in this file."""
    for call in model.calls(*_COMPARING):
        yield call, [arg.value for arg in call.args if not arg.star]
    for comparison in model.file.tree.nodes(cst.Comparison):
        [target, *others] = comparison.comparisons
        if isinstance(target.operator, cst.Equal) and not others and _is_counted(model, comparison):
            yield comparison, [comparison.left, target.comparator]


def _is_counted(model: Model, comparison: cst.Comparison) -> bool:
    """`np.mean(labels == guesses)`, `(labels == guesses).sum()`."""
    calls = (node for node in model.file.tree.ancestors(comparison) if isinstance(node, cst.Call))
    names = (model.name(call.func) or f"numpy.{method_name(call)}" for call in calls)
    return any(operation_named(name).shape == "reduced" for name in names)


def _finding(model: Model, place: Node, guesses: _Guesses) -> Finding:
    return Finding(
        model.file,
        place,
        "these predictions and labels do not belong together: they come from two passes, and each pass is shuffled",
        Prediction("wrong-result", ("evaluation",), basis=_BASIS),
        help="create the dataset for this comparison with `shuffle=False`, "
        "or take predictions and labels from one loop",
        notes=(Note(model.file, guesses.call, "the predictions"), Note(model.file, guesses.shuffled, "shuffled here")),
    )


_WORKLOAD = Workload(
    before="""
        import numpy as np
        import tensorflow as tf

        numbers = np.arange(200, dtype="float32")[:, None]
        rows = tf.data.Dataset.from_tensor_slices((numbers, numbers)).shuffle(200).batch(20)
        same = tf.keras.Sequential([tf.keras.layers.Input((1,)), tf.keras.layers.Lambda(lambda x: x)])
        guesses = same.predict(rows, verbose=0)
        labels = np.concatenate([label for _, label in rows])
        wrong = {} if (guesses == labels).all() else {"wrong": "the labels are of other rows"}
        tflint_measure.finish(outputs=[0.0], **wrong)
    """,
    changes=((".shuffle(200)", ".shuffle(200, reshuffle_each_iteration=False)"),),
)
