"""What a name stands for, as shown by how a piece of code uses it: what a stub for it is made of.

A stub may be a guess, since it never becomes a wrong verdict: a program that cannot use it is not run, and nothing
is refuted with one.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence

from tflint_gpu.lazy_dataclasses import dataclass
from tflint_gpu.model.library.datasets import DATASET_PARTS
from tflint_gpu.model.library.keras_methods import LABELLED_METHODS, MODEL_PARTS
from tflint_gpu.verify.stubs.readers import VALUES


@dataclass(frozen=True, slots=True)
class Stub:
    """An expression that is put where a value is missing, and what it is."""

    text: str
    what: str


def _made(function: str, what: str) -> Stub:
    return Stub(f"{VALUES}.{function}", what)


_MODEL = _made("model()", "a small model")
_OPTIMIZER = _made("optimizer()", "Adam")
_LOSS = _made("loss()", "a loss")
_STRATEGY = _made("strategy()", "the default strategy")
_INPUTS = _made("inputs()", "rows of features")
_LABELS = _made("labels()", "labels")
_TENSOR = _made("tensor()", "a batch of features")
_TARGETS = _made("targets()", "a batch of labels")
_PATH = Stub('"made_up"', "a path")
_TEXT = Stub('"made up"', "a text")
_ONCE = Stub("1", "1")
_BATCH = Stub("32", "32")
_RATE = Stub("0.001", "0.001")
_FALSE = Stub("False", "False")
_NOTHING = Stub("None", "None")
_ROWS = tuple(_made(f"rows({parts})", "a dataset of rows") for parts in (1, 2))
_BATCHES = tuple(_made(f"batches({parts})", "a dataset of batches") for parts in (1, 2))

_KEYWORDS = {
    "optimizer": _OPTIMIZER,
    "loss": _LOSS,
    "batch_size": _BATCH,
    "epochs": _ONCE,
    "steps_per_epoch": _ONCE,
    "learning_rate": _RATE,
    "validation_data": _BATCHES[1],
    "validation_batch_size": _BATCH,
    "x": _INPUTS,
    "y": _LABELS,
    "buffer_size": Stub("256", "256"),
    "callbacks": _NOTHING,
    "class_weight": _NOTHING,
    "sample_weight": _NOTHING,
    "verbose": _FALSE,
}
_ANNOTATIONS = (
    (r"Dataset$", _BATCHES[1]),
    (r"Model$|Sequential$|Layer$", _MODEL),
    (r"Optimizer$", _OPTIMIZER),
    (r"Strategy$", _STRATEGY),
    (r"Loss$", _LOSS),
    (r"Tensor$|ndarray$|ArrayLike$", _TENSOR),
    (r"^int$", _ONCE),
    (r"^float$", _RATE),
    (r"^bool$", _FALSE),
    (r"^str$|Path$|PathLike", _PATH),
)
# Names as people choose them, the most telling first.
_NAMES = (
    (r"batch_?size|^bs$", _BATCH),
    (r"epoch|step|iter|^n$|^num|^count|seed|^k$|size$", _ONCE),
    (r"^lr$|rate$|alpha|beta|gamma|temperature", _RATE),
    (r"path|dir$|folder|file|^name$|root", _PATH),
    (r"optim|^opt$", _OPTIMIZER),
    (r"loss|criterion", _LOSS),
    (r"strategy", _STRATEGY),
    (
        r"(^|_)(ds|dataset|loader|pipeline|data_?set|batches)\d?$|^(train|test|val|valid)(ing)?(_data|_gen)?$",
        _BATCHES[1],
    ),
    (r"model|^net$|network|encoder|decoder|generator|discriminator|classifier|^critic$|^actor$", _MODEL),
    (r"^y($|_|[A-Z\d])|label|target|truth|^(y_)?true$", _TARGETS),
    (r"^[xX]($|_|\d)|feature|input|image|img|sample|^data$|tensor|^batch$|observation|state", _TENSOR),
    (r"training|verbose|debug|^is_|^use_", _FALSE),
    (r"prompt|text$|sentence|question|word$|title|message|_name$", _TEXT),
)


def role(name: str, places: Sequence[ast.AST], annotation: ast.expr | None = None) -> Stub | None:
    """The stub for a name; None where nothing tells what it is.

    Arguments:
        places: the statements that use it.
        annotation: of a parameter.
    """
    if annotation is not None:
        written = ast.unparse(annotation).strip("'\"")
        for pattern, stub in _ANNOTATIONS:
            if re.search(pattern, written):
                return stub
    uses = _Uses(name, places)
    return next(uses.surely(), None) or _by_name(name, uses.is_array) or next(uses.perhaps(), None)


def _by_name(name: str, is_array: bool) -> Stub | None:
    named = next((stub for pattern, stub in _NAMES if re.search(pattern, name)), None)
    if is_array and named in (_TENSOR, _TARGETS):
        return _INPUTS if named is _TENSOR else _LABELS
    return named


class _Uses:
    """The uses of one name."""

    def __init__(self, name: str, places: Sequence[ast.AST]) -> None:
        self._name = name
        self._nodes = [node for place in places for node in ast.walk(place)]
        self._calls = [node for node in self._nodes if isinstance(node, ast.Call)]

    @property
    def is_array(self) -> bool:
        """Whether it is handled as rows that lie in memory, not as one batch."""
        return any(
            self._is(node.value) and isinstance(node.slice, ast.Slice)
            for node in self._nodes
            if isinstance(node, ast.Subscript)
        ) or any(_last(call.func) in ("len", "shuffle") and self._is_argument(call) for call in self._calls)

    def surely(self) -> Iterator[Stub]:
        """What uses tell that only something of one kind allows."""
        for call in self._calls:
            yield from self._as_argument(call)
        for node in self._nodes:
            if isinstance(node, ast.Attribute) and self._is(node.value):
                yield from self._by_part(node.attr)
            elif isinstance(node, ast.For | ast.comprehension) and self._iterates(node.iter):
                yield _BATCHES[_parts(node.target, node.iter) - 1]

    def perhaps(self) -> Iterator[Stub]:
        """What uses suggest."""
        for call in self._calls:
            if self._is(call.func):
                yield _LOSS if len(call.args) == 2 else _MODEL
            elif self._is_argument(call) and ast.unparse(call.func).startswith(("tf.", "keras.")):
                yield _TENSOR
        if any(map(self._is_in_text, self._nodes)):
            yield _TEXT

    def _is_in_text(self, node: ast.AST) -> bool:
        """Whether a text is made of it: `f"{name}"`, `"{}".format(name)`, `str(name)`, `name + "_"`."""
        match node:
            case ast.FormattedValue(value=value):
                return self._is(value)
            case ast.Call(func=ast.Name("str") | ast.Attribute(ast.Constant(str()), "format")):
                return self._is_argument(node)
            case ast.BinOp(left, ast.Add(), ast.Constant(str())):
                return self._is(left)
        return False

    def _as_argument(self, call: ast.Call) -> Iterator[Stub]:
        called = _last(call.func)
        for keyword in call.keywords:
            if self._is(keyword.value) and keyword.arg in _KEYWORDS:
                yield _KEYWORDS[keyword.arg]
            elif keyword.arg == "validation_data" and isinstance(keyword.value, ast.Tuple):
                yield from self._of_pair(keyword.value)
        first, second = ([*call.args, None, None])[:2]
        if called in LABELLED_METHODS and isinstance(call.func, ast.Attribute):
            has_labels = second is not None or any(keyword.arg == "y" for keyword in call.keywords)
            if self._is(first):
                yield _INPUTS if has_labels else _BATCHES[1]
            elif self._is(second):
                yield _LABELS
        elif called == "predict" and self._is(first):
            yield _INPUTS
        elif called == "from_tensor_slices":
            if isinstance(first, ast.Tuple):
                yield from self._of_pair(first)
            elif self._is(first):
                yield _INPUTS
        elif called in ("range", "repeat", "take") and self._is(first):
            yield _ONCE
        elif called in ("batch", "padded_batch") and self._is(first):
            yield _BATCH
        elif (called == "open" or ast.unparse(call.func).endswith("path.join")) and self._is(first):
            yield _PATH

    def _of_pair(self, pair: ast.Tuple) -> Iterator[Stub]:
        for part, stub in zip(pair.elts, (_INPUTS, _LABELS), strict=False):
            if self._is(part):
                yield stub

    def _by_part(self, part: str) -> Iterator[Stub]:
        if part in MODEL_PARTS:
            yield _MODEL
        elif part == "apply_gradients":
            yield _OPTIMIZER
        elif part in ("scope", "experimental_distribute_dataset", "num_replicas_in_sync"):
            yield _STRATEGY
        elif part in DATASET_PARTS:
            yield (_ROWS if self._is_batched() else _BATCHES)[1]

    def _is_batched(self) -> bool:
        return any(
            _last(call.func) in ("batch", "padded_batch") and self._name in ast.unparse(call.func)
            for call in self._calls
        )

    def _iterates(self, iterated: ast.expr) -> bool:
        while isinstance(iterated, ast.Call):
            if isinstance(iterated.func, ast.Attribute):
                iterated = iterated.func.value if not self._is_argument(iterated) else iterated.args[0]
            elif iterated.args and _last(iterated.func) in ("enumerate", "tqdm", "iter"):
                iterated = iterated.args[0]
            else:
                return False
        return self._is(iterated)

    def _is_argument(self, call: ast.Call) -> bool:
        return any(self._is(arg) for arg in call.args)

    def _is(self, node: ast.AST | None) -> bool:
        return isinstance(node, ast.Name) and node.id == self._name


def _parts(target: ast.expr, iterated: ast.expr) -> int:
    """Of how many parts the elements are: two for `x, y` and for `step, (x, y)` of an `enumerate`."""
    if isinstance(iterated, ast.Call) and _last(iterated.func) == "enumerate" and isinstance(target, ast.Tuple):
        target = target.elts[-1]
    return 2 if isinstance(target, ast.Tuple) and len(target.elts) == 2 else 1


def _last(called: ast.expr) -> str:
    if isinstance(called, ast.Attribute):
        return called.attr
    return called.id if isinstance(called, ast.Name) else ""
