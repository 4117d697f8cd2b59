"""In which floating point numbers layers and operations compute."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, TypeAlias

import libcst as cst

from tflint_gpu.lazy_dataclasses import dataclass
from tflint_gpu.model import (
    CASTS,
    DOUBLE_SPELLINGS,
    DOUBLES,
    FLOATX_SETTERS,
    POLICIES,
    POLICY_SETTERS,
    WEIGHTED,
    Analysis,
    Class,
    Context,
    Expression,
    File,
    Guards,
    Kinds,
    Node,
    Once,
    Origin,
    Trace,
    TracedFunctions,
    argument,
    keras_kind,
    spelling,
    walk,
)
from tflint_gpu.model.library.operations import PRODUCTS

DoubleKind: TypeAlias = Literal["default", "layer", "product"]

# Libraries whose methods (second-order optimizers, likelihoods, physics) are known to need float64.
_NEEDS_DOUBLE = (
    "tensorflow_probability",
    "gpflow",
    "deepxde",
    "tensorflow_quantum",
    "scipy.optimize",
    "scipy.integrate",
)


@dataclass(frozen=True, slots=True)
class Double:
    """A place that makes something compute in float64.

    Arguments:
        kind: the default of all layers, one layer, or an operation on what a cast gives.
        place: what the user must change.
        subject: what computes in float64, in words: "`Dense`".
        notes: other places, with what they are.
    """

    kind: DoubleKind
    file: File
    place: Node
    subject: str
    notes: tuple[tuple[File, Node, str], ...] = ()


class Precision(Analysis):
    """The places of one file that choose float64."""

    kinds = Once(Kinds)
    guards = Once(Guards)
    execution = Once(TracedFunctions)

    def doubles(self) -> Iterator[Double]:
        """What certainly computes in float64, where the code does not show that it has to."""
        if self._needs_double():
            return
        yield from self._defaults()
        yield from self._layers()
        yield from self._products()

    def is_double(self, file: File, expr: Expression | None, context: Context | None = None) -> bool:
        """Whether a dtype, a dtype's name or a policy is certainly float64."""
        return expr is not None and self.inference.must_be(file, expr, self._is_double, context)

    def _is_double(self, origin: Origin) -> bool:
        if origin.name is not None:
            return origin.name in DOUBLES
        if origin.made_by in POLICIES and isinstance(origin.node, cst.Call):
            return self.is_double(origin.file, argument(origin.node, 0, "name"), origin.context)
        if origin.access_path or not isinstance(origin.node, cst.BaseString):
            return False
        return self.constants.of(origin.file, origin.node, origin.context) in DOUBLE_SPELLINGS

    def _needs_double(self) -> bool:
        """Whether the file uses a library whose methods need float64, or compares gradients with differences."""
        targets = (
            binding.target
            for scope in self.file.tree.scopes.values()
            for bindings in scope.bindings.values()
            for binding in bindings
            if binding.kind in ("import", "star")
        )
        if any(f"{target}.".startswith(f"{library}.") for target in targets for library in _NEEDS_DOUBLE):
            return True
        return any(True for _ in self.file.calls("tf.test.compute_gradient"))

    # The default of all layers.

    def _defaults(self) -> Iterator[Double]:
        for names, word in ((FLOATX_SETTERS, "floatx"), (POLICY_SETTERS, "policy")):
            calls = list(self.file.calls(*sorted(names)))
            chosen = [(call, _first(call)) for call in calls]
            if not all(self.is_double(self.file, dtype) for _, dtype in chosen):
                continue  # the default changes for a while, or the program's user chooses it
            for call, dtype in chosen[:1]:
                if dtype is not None and not self._is_choice(call) and not self._comes_too_late(call, word):
                    yield Double("default", self.file, dtype, word)

    def _is_choice(self, call: cst.Call) -> bool:
        """Whether the call is under a condition, other than that the file is run as a program with a model."""
        tests = [spelling(test) for test, _ in self.guards.choices(self.file, call)]
        return any("__name__" not in test for test in tests) or (bool(tests) and not self._has_model())

    def _has_model(self) -> bool:
        """Whether the file makes layers or trains: else running it tries out something else."""
        if any(True for _ in self.file.method_calls("fit", "compile", "predict", "train_on_batch")):
            return True
        return any(
            self.inference.must_be(self.file, call, lambda origin: self.kinds.of(origin) in ("layer", "model"))
            for call in self.file.tree.calls
        )

    def _comes_too_late(self, call: cst.Call, word: str) -> bool:
        """Whether a layer was made before: Keras 3 makes its default policy of floatx with the first layer."""
        if word != "floatx" or self.inference.project.target.keras < 3:
            return False
        order, function = self.file.tree.order, self.file.tree.function(call)
        before = (earlier for earlier in self.file.calls_in.get(function, ()) if order[earlier] < order[call])
        return any(keras_kind(self.file.name(earlier.func) or "") in ("layer", "model") for earlier in before)

    # One layer.

    def _layers(self) -> Iterator[Double]:
        for call in self.file.calls("keras.layers.*"):
            last = (self.file.name(call.func) or "").rpartition(".")[2]
            if last in WEIGHTED:
                yield from self._given_double(call, f"`{last}`")
        for call in self.file.method_calls("__init__"):
            owner = self._initialised(call)
            if owner is not None and "layer" in self.kinds.of_class(owner) and self._has_weights(owner):
                yield from self._given_double(call, f"`{owner.name}`")

    def _given_double(self, call: cst.Call, subject: str) -> Iterator[Double]:
        given = self.constants.keyword_source(self.file, call, "dtype")
        if given is None or self._is_choice(call):
            return
        by_name = given.keyword is not None
        value = None if by_name else self.constants.keyword(self.file, call, "dtype")
        if self.is_double(self.file, given.value) if by_name else value in DOUBLE_SPELLINGS:
            yield Double("layer", self.file, given, subject)

    def _initialised(self, call: cst.Call) -> Class | None:
        """The class in whose `__init__` the call is `super().__init__(...)`."""
        receiver = call.func.value if isinstance(call.func, cst.Attribute) else None
        if isinstance(receiver, cst.Call) and self.file.names.is_builtin(receiver.func, "super"):
            return self.inference.definitions.enclosing(self.file, call)
        return None

    def _has_weights(self, cls: Class) -> bool:
        methods = ("add_weight", "add_variable")
        return any(self.file.tree.inside(self.file.calls_of_method(method), cls.node) for method in methods)

    # Operations on what a cast gives.

    def _products(self) -> Iterator[Double]:
        if not any(True for _ in self.file.calls(*sorted(CASTS))):
            return
        seen: set[Node] = set()
        for trace in self.execution.traces:
            if not trace.passes_gradients or trace.file is not self.file:
                continue
            for product, name, operands in self._products_in(trace):
                casts = [cast for operand in operands if (cast := self._cast_of(trace, operand)) is not None]
                if not casts or casts[0] in seen or self._is_choice_within(trace, casts[0]):
                    continue
                seen.update(casts)
                notes = [(self.file, product, "this operation")]
                notes += [(self.file, cast, "the other operand's cast") for cast in casts[1:]]
                yield Double("product", self.file, casts[0].func, name, tuple(notes))

    def _is_choice_within(self, trace: Trace, cast: cst.Call) -> bool:
        return self.guards.keeps_tensors_out(trace.file, cast) or any(
            True for _ in self.guards.conditions(trace.file, cast)
        )

    def _products_in(self, trace: Trace) -> Iterator[tuple[Expression, str, list[Expression]]]:
        for call in trace.function.calls:
            name = trace.file.name(call.func)
            if name in PRODUCTS:
                yield call, f"`{name}`", [arg.value for arg in call.args]
        for node in walk(trace.function.node):
            if isinstance(node, cst.BinaryOperation) and isinstance(node.operator, cst.MatrixMultiply):
                yield node, "`@`", [node.left, node.right]

    def _cast_of(self, trace: Trace, operand: Expression) -> cst.Call | None:
        """The cast to float64 whose result an operand certainly is."""
        origins = self.inference.of(trace.file, operand, trace.context)
        call = origins[0].call if len(origins) == 1 else None
        if call is None or origins[0].file is not self.file or self.file.name(call.func) not in CASTS:
            return None
        tensor, dtype = argument(call, 0, "x"), argument(call, 1, "dtype")
        is_double = self.is_double(self.file, dtype, trace.context) or "double" in (self.file.name(call.func) or "")
        if tensor is None or not is_double or not trace.holds_tensor(tensor):
            return None
        return call


def _first(call: cst.Call) -> Expression | None:
    return call.args[0].value if len(call.args) == 1 and not call.args[0].star else None
