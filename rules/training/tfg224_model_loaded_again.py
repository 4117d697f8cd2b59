"""TFG224 model-loaded-again."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import libcst as cst

from tflint_gpu.model import UNKNOWN, Invocations, Kinds, Repetitions, RequestHandlers, argument, method_name
from tflint_gpu.model.library.classes import MODEL_LOADERS
from tflint_gpu.model.library.keras_methods import FITTING_METHODS
from tflint_gpu.rule import Experiment, Finding, Note, Prediction, Rule, Workload, notes_on

if TYPE_CHECKING:
    from tflint_gpu.model import File, Invocation, Model, Node, Origin

_MAKING = (*FITTING_METHODS, "save", "clear_session")


_BASIS = (
    "`load_model` and `predict` of one row took 1.6 (two dense layers) to 17 times (MobileNetV2) as long as `predict` "
    "alone, on a CPU"
)


class ModelLoadedAgain(Rule):
    """A loop, or a function that answers web requests, loads the same model again for each `predict`.

    Why: `load_model` reads the file, builds each layer and copies its weights, and the first `predict` of the new model
    traces its graph. A model that is loaded once, beforehand, needs all that only once.

    Reported:
    - a loop that loads the same file in each iteration for a `predict`
    - a function that answers web requests (a Flask or FastAPI route) and loads the same file each time

    Not reported:
    - loads under a condition (`if model is None:`)
    - functions whose results a decorator caches
    - programs that train or save a model, because the file may then have changed

    Measured: with TensorFlow 2.21 on two CPU cores, `load_model` and `predict` of one row took 17 times as long as
    `predict` alone with a MobileNetV2 of 224 x 224 pixels (4.8 against 0.28 s), and 1.6 times with two dense layers.

    Fix: none, because only the author knows where the model should be kept, and whether threads share it.

    Example:
        import numpy as np
        from tensorflow import keras

        for name in names:
            model = keras.models.load_model("scores.keras")
            print(name, model.predict(np.load(name)))

    Use instead:
        import numpy as np
        from tensorflow import keras

        model = keras.models.load_model("scores.keras")
        for name in names:
            print(name, model.predict(np.load(name)))
    """

    code = "TFG224"
    name = "model-loaded-again"
    least_tensorflow = (2, 0)
    nearby_substrings = (b"load_model(",)
    skips_tests = True
    skips_graphs = True
    skips_other_backends = True

    def check(self, model: Model) -> Iterator[Finding]:
        """Yield each load of a model that is repeated with its `predict`."""
        seen: set[Node] = set()
        for invocation, text in _predictions(model):
            for load in _loads(model, invocation):
                if load.node not in seen:
                    seen.add(load.node)
                    yield _finding(load, invocation, text)

    def experiments(self, finding: Finding, model: Model) -> Iterator[Experiment]:
        """A model that is made again with its weights, as loading it does, but for the file."""
        yield Experiment(model.file, finding.node, workload=_WORKLOAD, only_workload=True, same_outputs=False)


_WORKLOAD = Workload(
    before="""
        import tensorflow as tf

        layers = [tf.keras.layers.Dense(64, activation="relu") for _ in range(4)]
        kept = tf.keras.Sequential([tf.keras.Input((20,)), *layers])
        text, weights = kept.to_json(), kept.get_weights()

        def loaded():
            model = tf.keras.models.model_from_json(text)
            model.set_weights(weights)
            return model

        row = tf.ones((1, 20))
        for _ in tflint_measure.steps(range(8)):
            loaded().predict(row, verbose=0)
    """,
    changes=(("loaded().predict", "kept.predict"),),
)


def _predictions(model: Model) -> Iterator[tuple[Invocation, str]]:
    """Each `predict` that is repeated, and what repeats it."""
    for invocation in model.once(Repetitions).of_methods("predict"):
        yield invocation, "in every iteration of this loop"
    for handler in model.once(RequestHandlers).all():
        for invocation in model.once(Invocations).of_function(handler):
            if method_name(invocation.call) == "predict":
                yield invocation, "for each request"


def _loads(model: Model, invocation: Invocation) -> Iterator[Origin]:
    """The calls that load the model of a `predict`, where each run of it is certain to load the same file."""
    called = invocation.call.func
    if not isinstance(called, cst.Attribute) or _may_change(model, invocation.file):
        return
    if not model.once(Kinds).has_method(invocation.file, called, invocation.context):
        return
    loads = model.inference.of(invocation.file, called.value, invocation.context)
    if all(_is_repeated(model, load, invocation) for load in loads):
        yield from loads


def _is_repeated(model: Model, load: Origin, invocation: Invocation) -> bool:
    call = load.call
    if call is None or load.made_by not in MODEL_LOADERS or _may_change(model, load.file):
        return False
    path = argument(call, 0, "filepath")
    if path is None or model.constants.of(load.file, path) is UNKNOWN:
        return False
    if any(_is_decorated(file.tree.function(node), invocation) for file, node in load.places):
        return False
    return any(
        file is place and file.tree.within(node, root) and not _is_conditional(file, node, invocation.call)
        for file, root in _runs(invocation)
        for place, node in load.places
    ) and not _is_conditional(load.file, call, invocation.call)


def _may_change(model: Model, file: File) -> bool:
    """Whether a file may train or save a model: what another library made, a `LabelEncoder`, is none."""
    return any(
        not isinstance(call.func, cst.Attribute)
        or not model.inference.must_be(file, call.func.value, lambda origin: _is_of_another_library(origin.made_by))
        for call in file.method_calls(*_MAKING)
    )


def _is_of_another_library(maker: str | None) -> bool:
    return maker is not None and not maker.startswith(("tf.", "keras."))


def _is_decorated(function: Node | None, invocation: Invocation) -> bool:
    """Whether a decorator may keep what a function returned: `lru_cache`, `st.cache_resource`; a route does not."""
    return isinstance(function, cst.FunctionDef) and bool(function.decorators) and function is not invocation.root


def _runs(invocation: Invocation) -> Iterator[tuple[File, Node]]:
    """The code that is repeated: the loop or the handler, and the functions that lead to the call."""
    if invocation.root is not None:
        yield invocation.root_file, invocation.root
    for function in invocation.functions:
        yield function.file, function.node


def _is_conditional(file: File, call: Node, predict: cst.Call) -> bool:
    """Whether a test decides if the model is loaded, and not if it predicts as well."""
    for parent in file.tree.ancestors(call):
        if isinstance(parent, cst.FunctionDef):
            return False
        if isinstance(parent, cst.If | cst.IfExp | cst.Try) and not file.tree.within(predict, parent):
            return True
    return False


def _finding(load: Origin, invocation: Invocation, text: str) -> Finding:
    assert load.call is not None and isinstance(invocation.call.func, cst.Attribute) and invocation.root is not None
    return Finding(
        load.file,
        load.call,
        "the same model is loaded again for each `predict`: each time its layers are built and its graph is traced",
        Prediction("slowdown", ("inference",), low=1.2, high=100.0, basis=_BASIS),
        help="load it once, before the loop or the requests",
        notes=(
            Note(invocation.root_file, invocation.root, text),
            Note(invocation.file, invocation.call.func.attr, "its `predict` is here"),
            *notes_on(invocation.path),
        ),
    )
