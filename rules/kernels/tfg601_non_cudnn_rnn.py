"""TFG601 non-cudnn-rnn."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import libcst as cst

from tflint_gpu.model import Program, Runtime
from tflint_gpu.rule import (
    Edit,
    Experiment,
    Finding,
    Fix,
    Prediction,
    Rule,
    Workload,
    leave_out,
)

if TYPE_CHECKING:
    from tflint_gpu.model import Model

    from .recurrent import GenericRecurrent


class NonCudnnRnn(Rule):
    """An LSTM or GRU layer gets an argument that keeps Keras from using the cuDNN kernel on a GPU.

    Why: on a GPU Keras runs LSTM and GRU with one cuDNN kernel, if the arguments are those that the kernel knows:
    `activation` tanh, `recurrent_activation` sigmoid, no `recurrent_dropout`, no `unroll`, a bias, and for GRU
    `reset_after=True`. These are the defaults. Otherwise Keras uses its generic implementation, a loop over the time
    steps with several operations in each. It always does so for `RNN(LSTMCell(...))`. Each of these arguments makes a
    different model, so this is a choice to know about, not a mistake by itself.

    Reported:
    - an argument that keeps Keras from using the cuDNN kernel
    - `RNN(LSTMCell(...))`
    - `dropout`, if the project pins Keras 3.0 to 3.3: a newer Keras fixes this

    Not reported:
    - `dropout` with other versions, for which it is fine
    - `use_cudnn=False`
    - cells that the program also runs step by step
    - programs for TPUs or for TensorFlow Lite
    - models under `jit_compile=True`

    Measured: read in Keras's source, 3.15 (layers/rnn/lstm.py, gru.py, backend/tensorflow/rnn.py), 3.0.5, 3.3.3 and
    3.4.0 (lstm.py, gru.py), and 2.15 (`_could_use_gpu_kernel`); a test asks Keras itself with a simulated GPU. The
    slowdown has not been measured on a GPU yet.

    Fix: unsafe: without the arguments, it is a different model. `RNN` with a cell becomes the layer, with the same
    weights. There is no fix in a program that loads or sets weights: they were made for the model as it is.

    Example:
        import tensorflow as tf

        model = tf.keras.Sequential([tf.keras.layers.LSTM(64, activation="relu"), tf.keras.layers.Dense(1)])

    Use instead:
        import tensorflow as tf

        model = tf.keras.Sequential([tf.keras.layers.LSTM(64), tf.keras.layers.Dense(1)])
    """

    code = "TFG601"
    name = "non-cudnn-rnn"
    least_tensorflow = (2, 0)
    required_substrings = ((b"LSTM", b"GRU"),)
    fixable = "unsafe"
    skips_tests = True
    skips_graphs = True
    skips_other_backends = True

    def check(self, model: Model) -> Iterator[Finding]:
        """Yield the recurrent layers of this file that run on the generic implementation."""
        from .recurrent import Recurrent

        if model.once(Program).uses_tpu:
            return
        if any(word in model.source.text for word in ("jit_compile=True", "tf.lite", "TFLite")):
            return
        has_weights = model.project.program_mentions(model.source, _LOADING)
        for layer in model.once(Recurrent).generic():
            if model.once(Runtime).is_on_cpu(layer.file, layer.call):
                continue
            yield Finding(
                layer.file,
                layer.place,
                _text(layer, model.target.keras),
                Prediction(
                    "slowdown",
                    ("gpu",),
                    basis="the conditions in Keras's source, 2.15 and 3.15; how much slower was not measured",
                ),
                help=_LOADED if has_weights else _help(layer),
                fix=None if has_weights else _fix(layer),
            )

    def experiments(self, finding: Finding, model: Model) -> Iterator[Experiment]:
        """The layer alone, with and without an argument of this kind; only a GPU has the kernel."""
        yield Experiment(finding.file, finding.node, requires="a GPU", workload=_WORKLOAD, only_workload=True)


def _text(layer: GenericRecurrent, keras: int) -> str:
    if layer.is_cell:
        article = "a" if layer.layer.startswith("GRU") else "an"
        layers = layer.layer.replace(" or ", "` and `")
        does = "do" if layers != layer.layer else "does"
        return f"`RNN` with {article} {layer.layer} cell never uses the cuDNN kernel on a GPU, which `{layers}` {does}"
    reasons = " and ".join(f"`{reason}`" for reason in layer.reasons)
    verb = "keeps" if len(layer.reasons) == 1 else "keep"
    return f"{reasons} {verb} Keras {keras} from using the cuDNN kernel for this {layer.layer} on a GPU"


_LOADING = (b".load_weights(", b".set_weights(", b".restore(", b"load_own_variables(")
_LOADED = (
    "the program loads weights that a different layer would read differently or not at all: "
    "keep the argument as long as they are used; leave it out for a model that is trained from scratch"
)


def _fix(layer: GenericRecurrent) -> Fix | None:
    return _as_layer(layer) if layer.is_cell else leave_out(layer.file, layer.call, layer.arguments, "unsafe")


def _help(layer: GenericRecurrent) -> str:
    if layer.is_cell:
        return f"use `{layer.layer.replace(' or ', '(...)` or `')}(...)` with the cell's arguments"
    return "leave it out if the model does not need it: the default is what the kernel computes"


def _as_layer(layer: GenericRecurrent) -> Fix | None:
    """`LSTM(64, return_sequences=True)` for `RNN(LSTMCell(64), return_sequences=True)`, which has the same weights."""
    file, call, cell = layer.file, layer.call, layer.place
    if not isinstance(call.func, cst.Attribute) or not isinstance(cell, cst.Call) or " or " in layer.layer:
        return None
    if not cell.args or call.args[0].value is not cell:
        return None
    given = (*cell.args, *call.args[1:])
    names = [arg.keyword.value for arg in given if arg.keyword is not None]
    if len(set(names)) < len(names) or any(arg.star or arg.keyword is None for arg in call.args[1:]):
        return None
    start, end = file.span(cell.args[0])[0], file.span(cell.args[-1])[1]
    edits = (Edit(call.func.attr, layer.layer), Edit(call.args[0], file.source.text[start:end]))
    return Fix(f"Make the layer `{layer.layer}`", "unsafe", edits)


_WORKLOAD = Workload(
    before="""
        import tensorflow as tf

        layer = tf.keras.layers.LSTM(64, activation="relu")
        x = tf.random.normal((32, 50, 16))

        @tf.function
        def step():
            return layer(x)

        for _ in tflint_measure.steps(range(8)):
            step()
    """,
    changes=((', activation="relu"', ""),),
)
