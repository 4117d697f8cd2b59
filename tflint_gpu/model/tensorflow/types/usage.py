"""What a value must be by how it is used, where its origin is unknown."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from tflint_gpu.lazy_dataclasses import dataclass
from tflint_gpu.lazy_patterns import regex
from tflint_gpu.model.library.classes import MODEL_CLASSES
from tflint_gpu.model.library.datasets import TRANSFORMATIONS
from tflint_gpu.model.library.keras_methods import TRAINED_ATTRIBUTES
from tflint_gpu.model.python.names.branches import always_raises
from tflint_gpu.model.python.project.file import File
from tflint_gpu.model.python.syntax.syntax import Expression, Node, dotted_name, method_name

_FIT_KEYWORDS = frozenset("epochs validation_data validation_split steps_per_epoch callbacks initial_epoch".split())
# All that Keras's own ever took: 1.2's `nb_epoch` and the like, and 2.15's.
_GENERATOR_KEYWORDS = _FIT_KEYWORDS - {"validation_split"} | frozenset(
    (
        "generator verbose validation_steps validation_freq class_weight max_queue_size workers use_multiprocessing "
        "shuffle samples_per_epoch nb_epoch nb_val_samples max_q_size nb_worker pickle_safe"
    ).split()
)
_COMPILE_KEYWORDS = frozenset(["optimizer", "loss", "metrics"])
# Methods that hand `training` on: a model is called by a noun.
_VERB = regex(
    r"_*(?:(?:call|tokeni[sz]e|(?:pre|post)?process|augment|transform|encode|decode|embed|apply|forward|run|"
    r"predict|sample|generate|parse|load|read|get|make|create|build|compute|calculate)(?:_|$))"
)


@dataclass(frozen=True, slots=True)
class Usage:
    """A use of a value that only something of one kind allows: "model", "optimizer" or "dataset"."""

    kind: str
    node: Node


class Usages:
    """The uses of values in files, each file read once."""

    def __init__(self) -> None:
        self._known: dict[File, dict[str, list[Usage]]] = {}

    def usage(self, file: File, expr: Expression, kind: str, at: Node) -> Usage | None:
        """The first use of `expr` that only something of a kind allows.

        Arguments:
            at: what is used in the function around this place counts; for attributes of `self`, in the class.
        """
        dotted = dotted_name(expr)
        if dotted is None:
            return None
        if file not in self._known:
            uses = self._known[file] = {}
            for name, usage in _found(file):
                uses.setdefault(name, []).append(usage)
        for usage in self._known[file].get(dotted, ()):
            if usage.kind == kind and _sees_same(file, dotted, at, usage.node):
                return usage
        return None


def _sees_same(file: File, dotted: str, at: Node, use: Node) -> bool:
    """Whether a name means the same value at two places, as far as scopes show."""
    first = dotted.partition(".")[0]
    if first in ("self", "cls") and "." in dotted:
        return _class_around(file, at) is _class_around(file, use) is not None
    here = {id(b) for b in _all_bindings(file, first, at)}
    there = {id(b) for b in _all_bindings(file, first, use)}
    return here == there if here or there else True


def _all_bindings(file: File, name: str, at: Node) -> list[object]:
    scope = file.tree.scopes.get(at) or file.tree.scope(at)
    if isinstance(at, cst.Param):
        scope = file.tree.scopes[file.tree.parents[file.tree.parents[at]]]
    while scope is not None:
        if name in scope.bindings:
            return list(scope.bindings[name])
        scope = scope.parent  # type: ignore[assignment]
    return []


def _class_around(file: File, node: Node) -> Node | None:
    return next((parent for parent in file.tree.ancestors(node) if isinstance(parent, cst.ClassDef)), None)


def _found(file: File) -> Iterator[tuple[str, Usage]]:
    for call in file.tree.calls:
        demanded = _demanded_model(file, call)
        if demanded is not None:
            yield demanded, Usage("model", call)
        keywords = {arg.keyword.value for arg in call.args if arg.keyword is not None}
        method = method_name(call)
        receiver = dotted_name(call.func.value) if isinstance(call.func, cst.Attribute) else None
        if "training" in keywords and call.args[0].keyword is None:
            called = dotted_name(call.func)
            if called is not None and not (method is not None and _VERB.match(method)):
                yield called, Usage("model", call)
        if receiver is None:
            continue
        if (
            (method == "fit" and keywords & _FIT_KEYWORDS)
            or (method == "compile" and keywords & _COMPILE_KEYWORDS)
            or method in ("train_on_batch", "test_on_batch", "predict_on_batch")
            or (method == "fit_generator" and keywords <= _GENERATOR_KEYWORDS)
        ):
            yield receiver, Usage("model", call)
        elif method == "apply_gradients":
            yield receiver, Usage("optimizer", call)
        elif (method in TRANSFORMATIONS and keywords & {"num_parallel_calls", "drop_remainder"}) or (
            method == "prefetch" and call.args and (file.name(call.args[0].value) or "").endswith("AUTOTUNE")
        ):
            yield receiver, Usage("dataset", call)
    for node in file.tree.nodes(cst.Attribute):
        if node.attr.value in TRAINED_ATTRIBUTES:
            holder = dotted_name(node.value)
            if holder is not None and not _is_target(file, holder, node):
                yield holder, Usage("model", node)


def _demanded_model(file: File, call: cst.Call) -> str | None:
    """The name `m` in `assert isinstance(m, keras.Model)` and in `if not isinstance(m, keras.Model): raise ...`."""
    if not file.names.is_builtin(call.func, "isinstance") or len(call.args) != 2:
        return None
    if file.name(call.args[1].value) not in MODEL_CLASSES:
        return None
    parent = file.tree.parents[call]
    if isinstance(parent, cst.UnaryOperation) and isinstance(parent.operator, cst.Not):
        test = file.tree.parents[parent]
        is_demand = isinstance(test, cst.If) and test.test is parent and always_raises(test)
    else:
        is_demand = isinstance(parent, cst.Assert) and parent.test is call
    return dotted_name(call.args[0].value) if is_demand else None


def _is_target(file: File, name: str, use: Node) -> bool:
    """Whether a name stands for one part after the other, as `layer` in `for layer in model.layers`, or for `self`."""
    return name in ("self", "cls") or any(b.kind == "for" for b in file.flow.lookup(name, use))
