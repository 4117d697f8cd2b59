"""Which recurrent layers cannot use the cuDNN kernel, by the arguments that they get.

The conditions are Keras's own: keras/src/layers/rnn/lstm.py and gru.py with keras/src/backend/tensorflow/rnn.py in
Keras 3, `_could_use_gpu_kernel` in the layers of Keras 2.
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from tflint_gpu.lazy_dataclasses import dataclass
from tflint_gpu.model import UNKNOWN, Analysis, Expression, File, Model, Node, Origin, argument, dotted_name
from tflint_gpu.model.library.keras_methods import CELLS
from tflint_gpu.model.library.operations import spellings_of

_SUPPORTED = {"activation": "tanh", "recurrent_activation": "sigmoid"}
_POSITIONS = {"activation": 1, "recurrent_activation": 2, "use_bias": 3}
_CELLS = {f"keras.layers.{cell}": layer for cell, layer in CELLS.items() if layer in ("LSTM", "GRU")}
_LAYERS = {"keras.layers.LSTM": "LSTM", "keras.layers.GRU": "GRU"}


@dataclass(frozen=True, slots=True)
class GenericRecurrent:
    """A recurrent layer that runs on Keras's generic implementation on a GPU too.

    Arguments:
        place: the argument that says so, the first where there are several, or the cell.
        layer: "LSTM", "GRU" or "GRU or LSTM".
        reasons: the arguments as they are written, or as the values that they have.
        is_cell: whether it is a plain cell, or are such cells, in `keras.layers.RNN`.
        arguments: the nodes of the reasons.
    """

    file: File
    call: cst.Call
    place: Node
    layer: str
    reasons: tuple[str, ...] = ()
    is_cell: bool = False
    arguments: tuple[cst.Arg, ...] = ()


class Recurrent(Analysis):
    """The recurrent layers of one file."""

    def __init__(self, model: Model) -> None:
        super().__init__(model)
        self.with_dropout = self.target.keras_release is not None and (3, 0) <= self.target.keras_release < (3, 4)

    def generic(self) -> Iterator[GenericRecurrent]:
        """The layers that certainly get an argument which the cuDNN kernel does not know, and cells in `RNN`."""
        for name, layer in _LAYERS.items():
            for call in self.file.calls(name):
                unsupported = self._unsupported(self.file, call, layer)
                if unsupported and self._is_left_to_keras(call):
                    reasons = tuple(reason for _, reason in unsupported)
                    given = tuple(arg for arg, _ in unsupported)
                    yield GenericRecurrent(self.file, call, given[0], layer, reasons, arguments=given)
        for call in self.file.calls("keras.layers.RNN"):
            cell = argument(call, 0, "cell")
            layers = self._plain_cells(cell) if cell is not None else []
            if cell is not None and layers:
                yield GenericRecurrent(self.file, call, cell, " or ".join(layers), is_cell=True)

    def is_by_default(self, file: File, call: cst.Call) -> bool:
        """Whether a call makes an LSTM or GRU with nothing said that may rule the cuDNN kernel out."""
        said = {*_SUPPORTED, "recurrent_dropout", "unroll", "use_bias", "reset_after", "use_cudnn", "go_backwards"}
        return file.name(call.func) in _LAYERS and all(self._given(file, call, name) is None for name in said)

    def _is_left_to_keras(self, call: cst.Call) -> bool:
        """Whether the program leaves it to Keras which kernel is used: `use_cudnn=False` is a choice."""
        return argument(call, -1, "use_cudnn") is None or self.constants.keyword(self.file, call, "use_cudnn") == "auto"

    def _unsupported(self, file: File, call: cst.Call, layer: str) -> list[tuple[cst.Arg, str]]:
        """The arguments that rule the kernel out, each with its text."""
        arguments: list[tuple[cst.Arg, str]] = []
        for name, supported in _SUPPORTED.items():
            given = self._given(file, call, name)
            if given is not None and self._is_other_function(file, call, given, name, spellings_of(supported)):
                arguments.append((given, self._text(file, call, given, name)))
        for name, holds in (
            ("recurrent_dropout", _is_positive),
            ("unroll", _is_true),
            ("use_bias", _is_false),
            *((("reset_after", _is_false),) if layer == "GRU" else ()),
            *((("dropout", _is_positive),) if self.with_dropout else ()),
        ):
            given = self._given(file, call, name)
            if given is not None and holds(self._value(file, call, given, name)):
                arguments.append((given, self._text(file, call, given, name)))
        order = file.tree.order
        return sorted(arguments, key=lambda pair: order[pair[0]])

    def _given(self, file: File, call: cst.Call, name: str) -> cst.Arg | None:
        """The argument that brings a parameter: by name, by position, or in a `**CFG`."""
        source = self.constants.keyword_source(file, call, name)
        if source is not None:
            return source
        value = argument(call, _POSITIONS.get(name, -1), name)
        return next((arg for arg in call.args if arg.value is value), None) if value is not None else None

    def _value(self, file: File, call: cst.Call, given: cst.Arg, name: str) -> object:
        if given.star:
            return self.constants.keyword(file, call, name)
        return self.constants.of(file, given.value)

    def _text(self, file: File, call: cst.Call, given: cst.Arg, name: str) -> str:
        value = self._value(file, call, given, name)
        return f"{name}={file.code(given.value) if value is UNKNOWN else repr(value)}"

    def _is_other_function(
        self, file: File, call: cst.Call, given: cst.Arg, name: str, supported: frozenset[str]
    ) -> bool:
        """Whether an activation is certainly known, and none that the kernel has."""
        if given.star:
            value = self.constants.keyword(file, call, name)
            return isinstance(value, str) and value not in supported
        return self._is_other(file, given.value, supported)

    def _is_other(self, file: File, expr: Expression, supported: frozenset[str]) -> bool:
        origins = self.inference.of(file, expr)
        return bool(origins) and all(self._differs(origin, supported) for origin in origins)

    def _differs(self, origin: Origin, supported: frozenset[str]) -> bool:
        if origin.is_none:
            return True  # the identity
        if origin.access_path:
            return False
        if origin.name is not None:
            return origin.name.startswith(("keras.activations.", "tf.nn.", "tf.math.")) and origin.name not in supported
        if isinstance(origin.node, cst.Lambda):
            return True
        made = origin.made_by
        if made is not None:
            return made.startswith("keras.layers.") and made.rpartition(".")[2] != "Activation"
        if not isinstance(origin.node, cst.BaseString):
            return False
        value = self.constants.of(origin.file, origin.node, origin.context)
        return isinstance(value, str) and value not in supported

    def _plain_cells(self, cell: Expression) -> list[str]:
        """The layers of which one or a stack does what a cell or a list of them does; none where more uses the cells.

        A factory may give either, or a cell that no kernel is for.
        """
        origins = [cell for origin in self.inference.of(self.file, cell) for cell in self._cells(origin)]
        made = {origin.made_by or "" for origin in origins} - {"keras.layers.SimpleRNNCell"}
        if not made <= _CELLS.keys() or (isinstance(cell, cst.Name | cst.Attribute) and self._is_called(cell)):
            return []
        for origin in origins:
            assert isinstance(origin.node, cst.Call)
            if self._unsupported(origin.file, origin.node, _CELLS.get(origin.made_by or "", "")):
                return []
        return sorted(_CELLS[name] for name in made)

    def _cells(self, origin: Origin) -> tuple[Origin, ...]:
        """What a value is a list or stack of, or the value."""
        if origin.made_by == "keras.layers.StackedRNNCells" and origin.call is not None and origin.call.args:
            given = self.inference.of(origin.file, origin.call.args[0].value, origin.context)
            return tuple(cell for cells in given for cell in self._cells(cells))
        is_list = isinstance(origin.node, cst.List | cst.Tuple | cst.ListComp) and not origin.access_path
        return self.inference.elements(origin) if is_list else (origin,)

    def _is_called(self, cell: Expression) -> bool:
        """Whether the program also runs the cell step by step."""
        last = (dotted_name(cell) or "").rpartition(".")[2]
        return not last or bool(self.file.calls_ending_with(last))


def _is_positive(value: object) -> bool:
    return isinstance(value, int | float) and value > 0


def _is_true(value: object) -> bool:
    return value is True


def _is_false(value: object) -> bool:
    return value is False
