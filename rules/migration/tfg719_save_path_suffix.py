"""TFG719 save-path-suffix."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import libcst as cst

from tflint_gpu.model import Guards, Kinds, argument, is_for_tensorflow_1, is_keras_3, names_in
from tflint_gpu.rule import Finding, Prediction, Rule

if TYPE_CHECKING:
    from tflint_gpu.model import Expression, Model

_WHOLE = (".keras", ".h5", ".hdf5")
_KEPT = (".keras", ".h5")
_ENDING = "endswith"
_WEIGHTS = (".weights.h5",)
_KEEPS_H5 = (3, 8)


class SavePathSuffix(Rule):
    """A model is saved to, or loaded from, a path whose extension Keras 3 refuses.

    Why: Keras 2 saved a folder if the path had no extension, and weights under any name. Keras 3, which comes with
    TensorFlow 2.16, raises ValueError when a `ModelCheckpoint` is created, and in `save` and `save_weights`. Those two
    come after training, so the trained weights are lost. Keras 3 wants `.keras` (or `.h5`) for models and `.weights.h5`
    for weights.

    Reported:
    - a model that is saved to, or loaded from, a path with another extension
    - weights that are saved to a path with another extension

    Not reported:
    - extensions that the code does not show
    - paths under a condition on the version or on the path's extension

    Measured: each form raises with Keras 3.15 in the tests, and none did with Keras 2.15. `ModelCheckpoint` has
    accepted `.h5` for a model since Keras 3.8.

    Fix: none, because the code that reads the file needs the new name too, and may be in another program.

    Example:
        import tensorflow as tf

        model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
        model.save("exported/1")

    Use instead:
        import tensorflow as tf

        model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
        model.save("exported/1.keras")
    """

    code = "TFG719"
    name = "save-path-suffix"
    severity = "error"
    least_tensorflow = (2, 16)
    skips_graphs = True
    required_substrings = ((b"ModelCheckpoint", b".save", b"save_model", b"load_model"),)

    def check(self, model: Model) -> Iterator[Finding]:
        """Yield the paths with endings that are refused."""
        if model.once(is_for_tensorflow_1) or not model.once(is_keras_3) or model.reaches(b"rbax"):
            return
        for call, path, endings, who in _paths(model):
            if not _is_refused(model, path, endings) or _is_chosen(model, call, path):
                continue
            wanted = " or ".join(f"`{ending}`" for ending in endings)
            yield Finding(
                model.file,
                path,
                f"`{who}` of Keras 3 raises ValueError for a path that does not end in {wanted}",
                Prediction("crash", ("tensorflow>=2.16",), basis="Keras's own check of the path"),
                help="use that extension" + ("" if who != "save" else ", or call `export` for a SavedModel"),
            )


def _paths(model: Model) -> Iterator[tuple[cst.Call, Expression, tuple[str, ...], str]]:
    """The calls that take a path, the path, which endings it may have, and who refuses others."""
    release = model.target.keras_release
    for call in model.calls("keras.callbacks.ModelCheckpoint"):
        path, only_weights = argument(call, 0, "filepath"), argument(call, 4, "save_weights_only")
        is_weights = only_weights is not None and model.value(only_weights)
        if path is not None and is_weights in (True, False):
            kept = _KEPT if release is None or release >= _KEEPS_H5 else _KEPT[:1]
            yield call, path, _WEIGHTS if is_weights else kept, "ModelCheckpoint"
    functions = {"keras.models.save_model": 1, "keras.models.load_model": 0}
    for name, place in functions.items():
        for call in model.calls(name):
            path = argument(call, place, "filepath")
            if path is not None:
                yield call, path, _WHOLE, name.rpartition(".")[2]
    for method, endings in (("save", _WHOLE), ("save_weights", _WEIGHTS)):
        for call in model.method_calls(method):
            path = argument(call, 0, "filepath")
            if path is None or model.inference.called(model.file, call) is not None:
                continue
            if model.once(Kinds).receiver(model.file, call, method) is not None:
                yield call, path, endings, method


def _is_chosen(model: Model, call: cst.Call, path: Expression) -> bool:
    """Whether a condition around a call asks for the version, or how the path ends: `if path.endswith(".json")`."""
    guards = model.once(Guards)
    tests = (test for test, _ in guards.choices(model.file, call) if not names_in(path).isdisjoint(names_in(test)))
    return guards.depends_on_version(model.file, call) or any(_ENDING in model.file.code(test) for test in tests)


def _is_refused(model: Model, path: Expression, endings: tuple[str, ...]) -> bool:
    """Whether a path certainly has none of some endings."""
    parent = model.file.tree.parents[model.file.tree.parents[path]]
    if isinstance(parent, cst.Call) and any(
        a.keyword and a.keyword.value in ("zipped", "max_shard_size") for a in parent.args
    ):
        return False
    whole = model.value(path)
    if isinstance(whole, str):
        return not whole.endswith(endings) and not whole.startswith("hf://")
    tail = _tail(model, path)
    return bool(tail) and not tail.endswith(endings) and not any(ending.endswith(tail) for ending in endings)


def _tail(model: Model, path: Expression) -> str:
    """How a path ends that is put together; empty where that is not known."""
    value = model.value(path)
    if isinstance(value, str):
        return value
    if isinstance(path, cst.FormattedString):
        last = path.parts[-1] if path.parts else None
        return last.value if isinstance(last, cst.FormattedStringText) else ""
    if isinstance(path, cst.BinaryOperation) and isinstance(path.operator, cst.Add | cst.Divide):
        return _tail(model, path.right)
    if isinstance(path, cst.Call) and model.name(path.func) == "os.path.join" and path.args:
        return "" if path.args[-1].star else _tail(model, path.args[-1].value)
    return ""
