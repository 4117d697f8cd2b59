"""TFG608 left-padded-mask."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import libcst as cst

from tflint_gpu.lazy_dataclasses import dataclass
from tflint_gpu.model import Compilations, Expression, File, LayerValue, Origin, Runtime, TracedCode, Values, argument
from tflint_gpu.model.library.keras_methods import MASKING, PADDERS, PASSING_MASKS
from tflint_gpu.rule import Experiment, Finding, Fix, Note, Prediction, Rule, Workload, with_keyword

from .recurrent import Recurrent

if TYPE_CHECKING:
    from tflint_gpu.model import Model

_SPLITTING = "sklearn.model_selection.train_test_split"
_ARRAYS = ("numpy.array", "numpy.asarray")


@dataclass(frozen=True, slots=True)
class _Padder:
    """What pads one of the inputs that a model is trained on; place: which, where it gets several."""

    file: File
    call: cst.Call
    place: int | None


class LeftPaddedMask(Rule):
    """Sequences that are padded at the front are masked and reach an LSTM or GRU: the cuDNN kernel refuses them.

    Why: cuDNN takes only masks of sequences that are padded at the end. `pad_sequences` pads at the front unless it
    gets `padding="post"`, and `Embedding(mask_zero=True)` or `Masking()` make a mask from that. If Keras 3.2 or later
    finds a GPU, it uses the cuDNN kernel and adds an assertion on the mask to the graph. Training stops at the first
    sequence that is shorter than the longest, while the same program runs on a CPU. Keras 2 does not use the kernel for
    such a batch, and computes step by step.

    Reported:
    - a model whose masking layer passes its mask to an LSTM or GRU that cuDNN computes, and that is trained on the
      result of `pad_sequences`, a part of it, or batches of such rows

    Not reported:
    - sequences with `padding="post"`
    - LSTM and GRU layers that cuDNN does not compute

    Measured: with Keras 3.15 the assertion refuses the mask that `Embedding` makes from `pad_sequences`' result, and
    accepts it with `padding="post"`: a test repeats it. It follows from Keras's source that training then fails.

    Fix: unsafe: the model gets different inputs, and models that were saved before expect the old ones. There is no fix
    where the program also pads other data that the model may get.

    Example:
        import tensorflow as tf

        x = tf.keras.utils.pad_sequences(sentences, maxlen=80)
        model = tf.keras.Sequential(
            [tf.keras.layers.Embedding(5000, 64, mask_zero=True), tf.keras.layers.LSTM(32), tf.keras.layers.Dense(1)]
        )
        model.compile("adam", "mse")
        model.fit(x, labels, epochs=5)

    Use instead:
        import tensorflow as tf

        x = tf.keras.utils.pad_sequences(sentences, maxlen=80, padding="post")
        model = tf.keras.Sequential(
            [tf.keras.layers.Embedding(5000, 64, mask_zero=True), tf.keras.layers.LSTM(32), tf.keras.layers.Dense(1)]
        )
        model.compile("adam", "mse")
        model.fit(x, labels, epochs=5)
    """

    code = "TFG608"
    name = "left-padded-mask"
    severity = "error"
    least_tensorflow = (2, 0)
    required_substrings = ((b"fit", b"train"),)
    nearby_substrings = (b"pad_sequences",)
    fixable = "unsafe"
    skips_tests = True
    skips_graphs = True
    skips_other_backends = True

    def check(self, model: Model) -> Iterator[Finding]:
        """Yield what pads the data of a model at the front whose mask reaches the cuDNN kernel."""
        release = model.target.keras_release
        if model.target.keras < 3 or (release is not None and release < (3, 2)):
            return
        for file, fit, made in model.once(Compilations).trained():
            padder = _padder(model, file, argument(fit, 0, "x"))
            layers = _masked(model, made, padder.place) if padder is not None else None
            if padder is None or layers is None or not _reaches_gpu(model, file, fit):
                continue
            at, call = padder.file, padder.call
            masking, recurrent = layers
            yield Finding(
                at,
                call,
                "this pads sequences at the front, and their mask reaches a layer that uses cuDNN: on a GPU, Keras 3 "
                "raises InvalidArgumentError (a mask that does not correspond to right-padded sequences)",
                Prediction("crash", ("gpu",), basis="the mask that Keras 3.15 refuses; the kernel is in its source"),
                help='pad at the end, `padding="post"`, or give the layer `use_cudnn=False`, which is slower',
                fix=_fix(model, at, call),
                notes=(
                    Note(masking.origin.file, masking.origin.node, "this masks the padding"),
                    Note(recurrent.origin.file, recurrent.origin.node, "this gets the mask"),
                ),
            )

    def experiments(self, finding: Finding, model: Model) -> Iterator[Experiment]:
        """A layer on a batch of two sequences that are masked so; only a GPU has the kernel."""
        yield Experiment(finding.file, finding.node, requires="a GPU", workload=_WORKLOAD, only_workload=True)


def _reaches_gpu(model: Model, file: File, fit: cst.Call) -> bool:
    """Whether a model is trained in a graph, and may be on a GPU: run eagerly, Keras takes its own loop instead."""
    code, runtime = model.once(TracedCode), model.once(Runtime)
    is_eager = code.runs_eagerly or code.functions_run_eagerly
    return not (is_eager or runtime.hides_gpus or runtime.is_on_cpu(file, fit))


def _padder(model: Model, file: File, data: Expression | None) -> _Padder | None:
    """The call that certainly pads what a model is trained on at the front."""
    while isinstance(data, cst.Subscript):
        data = data.value
    origins = model.inference.of(file, data) if data is not None else ()
    padders = {padder for origin in origins for padder in _padders(model, origin)}
    if len(origins) != 1 or len(padders) != 1:
        return None
    [padder] = padders
    told = argument(padder.call, 3, "padding")
    if any(arg.star for arg in padder.call.args) or argument(padder.call, 5, "value") is not None:
        return None
    return padder if told is None or model.value(told, padder.file) == "pre" else None


def _padders(model: Model, origin: Origin) -> Iterator[_Padder]:
    """The calls that pad a value, or the batches that a generator or an object of the project gives."""
    inference = model.inference
    pairs = [] if _is_display(origin) else filter(_is_display, inference.elements(origin))
    for given in [inputs for pair in pairs for inputs in inference.item(pair, 0)] or [origin]:
        for place, value in enumerate(inference.elements(given)) if _is_display(given) else [(None, given)]:
            for padded in _padded(model, value):
                assert isinstance(padded.node, cst.Call)
                yield _Padder(padded.file, padded.node, place)


def _is_display(origin: Origin) -> bool:
    return isinstance(origin.node, cst.List | cst.Tuple) and not origin.access_path


def _padded(model: Model, origin: Origin) -> Iterator[Origin]:
    """The padding that a value is the result of: as a whole, as a part of one that is split, or row by row."""
    node, inference = origin.node, model.inference
    if not isinstance(node, cst.Call):
        return
    name = origin.file.name(node.func)
    if name in PADDERS and not origin.access_path:
        yield origin
    elif name == _SPLITTING and len(origin.access_path) == 1:
        place = origin.access_path[0].key
        if isinstance(place, int) and 0 <= place < 2 * len(node.args) and node.args[place // 2].keyword is None:
            for given in inference.of(origin.file, node.args[place // 2].value, origin.context):
                yield from _padded(model, given)
    elif name in _ARRAYS and node.args and not origin.access_path:
        for rows in inference.of(origin.file, node.args[0].value, origin.context):
            for row in inference.elements(rows):
                if len(row.access_path) != 1 or not isinstance(row.node, cst.Call):
                    continue
                if row.file.name(row.node.func) in PADDERS:
                    yield row
                elif row.file.name(row.node.func) in _ARRAYS:  # a list that was extended by other rows
                    yield from _padded(model, Origin(row.file, row.node, row.context))


def _masked(model: Model, made: Origin, place: int | None) -> tuple[LayerValue, LayerValue] | None:
    """The layer of a model that masks one of its inputs, and the one behind it that hands the mask to cuDNN."""
    values = model.once(Values)
    value = values.at(made)
    for start, layers in values.layers.chains(value) if isinstance(value, LayerValue) else ():
        pair = _masked_in(model, layers)
        if pair is not None and (place is None or _is_input(model, made, place, start)):
            return pair
    return None


def _is_input(model: Model, made: Origin, place: int, start: Origin | None) -> bool:
    """Whether a value is a certain one of the inputs that a model is made of."""
    inputs = argument(made.call, 0, "inputs") if made.call is not None else None
    held = model.inference.of(made.file, inputs, made.context) if inputs is not None else ()
    listed = [model.inference.elements(origin) for origin in held if _is_display(origin)]
    return (
        start is not None
        and len(held) == len(listed) == 1
        and [index for index, origin in enumerate(listed[0]) if origin.node is start.node] == [place]
    )


def _masked_in(model: Model, layers: list[LayerValue]) -> tuple[LayerValue, LayerValue] | None:
    kinds = [layer.name.rpartition(".")[2] for layer in layers]
    masking = next((place for place, kind in enumerate(kinds) if kind in MASKING), None)
    if masking is None or not _masks(model, layers[masking]):
        return None
    for layer, kind in zip(layers[masking + 1 :], kinds[masking + 1 :], strict=True):
        if _is_by_cudnn(model, layer):
            return layers[masking], layer
        if kind not in PASSING_MASKS:
            return None
    return None


def _masks(model: Model, layer: LayerValue) -> bool:
    """Whether a layer masks zeros."""
    call = layer.origin.call
    if call is None or any(arg.star for arg in call.args):
        return False
    if layer.name.endswith("Masking"):
        value = argument(call, 0, "mask_value")
        return value is None or model.value(value, layer.origin.file) == 0
    return model.value(argument(call, -1, "mask_zero"), layer.origin.file) is True


def _is_by_cudnn(model: Model, layer: LayerValue) -> bool:
    """Whether Keras certainly computes a layer, or the one that it runs in both directions, by cuDNN on a GPU."""
    call, origin = layer.origin.call, layer.origin
    if call is not None and layer.name.endswith("Bidirectional"):
        inner = argument(call, 0, "layer")
        value = None if inner is None else model.once(Values).of(origin.file, inner, origin.context)
        return isinstance(value, LayerValue) and not value.name.endswith("al") and _is_by_cudnn(model, value)
    return call is not None and model.once(Recurrent).is_by_default(origin.file, call)


def _fix(model: Model, file: File, call: cst.Call) -> Fix | None:
    """Pad at the end, where nothing else is padded that the model may get, too."""
    others = [c for other in model.inference.seen.using("pad_sequences", file) for c in other.calls(*PADDERS)]
    edits = with_keyword(call, 'padding="post"') if others == [call] else ()
    return Fix("Pad at the end", "unsafe", edits) if edits and argument(call, 3, "padding") is None else None


_WORKLOAD = Workload(
    before="""
        import tensorflow as tf

        rows = tf.keras.utils.pad_sequences([[1, 2], [1, 2, 3, 4]])
        model = tf.keras.Sequential([tf.keras.layers.Embedding(9, 4, mask_zero=True), tf.keras.layers.LSTM(4)])
        model.compile("sgd", "mse")
        model.fit(rows, tf.zeros((2, 4)), verbose=0)
        tflint_measure.finish(outputs=[0.0])
    """,
    changes=(("[1, 2, 3, 4]])", '[1, 2, 3, 4]], padding="post")'),),
)
