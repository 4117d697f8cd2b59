"""Weights that a callback freezes or thaws while `fit` runs, whose step is traced already."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from tflint_gpu.lazy_dataclasses import dataclass
from tflint_gpu.model import (
    Analysis,
    Class,
    Expression,
    Histories,
    Kinds,
    Once,
    TracedCode,
    method_name,
    names_in,
    own_attribute,
    walk,
)
from tflint_gpu.model.library.keras_methods import REPEATED_HOOKS

_EXCEPTIONS = ("run_eagerly", "make_train_function", "train_function", "stop_training", "initial_epoch")


@dataclass(frozen=True, slots=True)
class CallbackSetting:
    """A `trainable` that a callback sets after the first step of `fit`.

    Arguments:
        compiling: the `compile` of the model that follows in the same method, which stops `fit`.
    """

    target: cst.Attribute
    value: bool
    hook: cst.FunctionDef
    compiling: cst.Call | None


class CallbackSettings(Analysis):
    """The callbacks in the file that is checked."""

    kinds = Once(Kinds)
    code = Once(TracedCode)
    histories = Once(Histories)

    def all(self) -> Iterator[CallbackSetting]:
        """The first setting of each method; none where models run eagerly, or some code makes their steps."""
        if self.code.functions_run_eagerly or any(map(self._is_named, _EXCEPTIONS)):
            return
        seen = set()
        for assignment in self.file.tree.attributes_set("trainable"):
            target, hook = assignment.target, self.file.tree.function(assignment.target)
            if not isinstance(hook, cst.FunctionDef) or hook in seen:
                continue
            value = self.constants.of(self.file, assignment.value)
            if not isinstance(value, bool) or not self._is_late(hook, target) or not self._is_of_network(target):
                continue
            compiled = [call for call in self.file.calls_in.get(hook, ()) if method_name(call) == "compile"]
            if all(map(_is_of_own_model, compiled)) and (compiled or not self._is_set_back(hook, target, value)):
                seen.add(hook)
                yield CallbackSetting(target, value, hook, next(iter(compiled), None))

    def _is_named(self, word: str) -> bool:
        return any(word in file.source.text for file in self.inference.seen.with_text(word))

    def _is_late(self, hook: cst.FunctionDef, target: cst.Attribute) -> bool:
        """Whether `fit` calls a method of a callback, and the place is reached after a step only."""
        owner, name = self.file.tree.class_of(hook), hook.name.value
        if owner is None or name not in REPEATED_HOOKS or not self.kinds.is_callback(Class(self.file, owner)):
            return False
        if any(isinstance(node, cst.Raise) for node in walk(hook.body)):
            return False  # it may end `fit`
        if name.endswith("_end"):
            return True
        counter = [parameter.name.value for parameter in hook.params.params[1:2]]
        around = self.file.branches.around(target)
        return any(self._is_later(test, must_be, counter) for test, must_be, _ in around)

    def _is_later(self, test: Expression, must_be: bool, counter: list[str]) -> bool:
        """Whether a test is no longer or not yet passed in the first epoch: `epoch == self.at`."""
        if isinstance(test, cst.BooleanOperation):
            is_all = isinstance(test.operator, cst.And) is must_be
            return is_all and any(self._is_later(side, must_be, counter) for side in (test.left, test.right))
        if not isinstance(test, cst.Comparison) or len(test.comparisons) > 1 or names_in(test.left) != set(counter):
            return False
        (compared,) = test.comparisons
        bound = self.constants.of(self.file, compared.comparator)
        least = 0 if isinstance(compared.operator, cst.GreaterThan | cst.LessThanEqual) else 1
        passed = (cst.Equal, cst.GreaterThanEqual, cst.GreaterThan)
        is_lower = isinstance(compared.operator, passed if must_be else (cst.NotEqual, cst.LessThan, cst.LessThanEqual))
        is_counter = isinstance(test.left, cst.Name)
        return is_counter and is_lower and (not isinstance(bound, int | float) or bound >= least)

    def _is_of_network(self, target: cst.Attribute) -> bool:
        """Whether it is the model that is trained, a part of it, or what the callback was given."""
        wholes = [self.histories.whole(origin) for origin in self.inference.of(self.file, target.value)]
        is_known = all(isinstance(o.node, cst.Param) or self.kinds.of(o) in ("model", "layer") for o in wholes)
        return bool(wholes) and is_known and own_attribute(target) is None

    def _is_set_back(self, hook: cst.FunctionDef, target: cst.Attribute, value: bool) -> bool:
        """Whether the method also gives the same object the other value."""
        return any(
            self.file.tree.function(other.target) is hook
            and self.constants.of(self.file, other.value) is not value
            and self.file.code(other.target) == self.file.code(target)
            for other in self.file.tree.attributes_set("trainable")
        )


def _is_of_own_model(call: cst.Call) -> bool:
    """`self.model.compile(...)`."""
    return isinstance(call.func, cst.Attribute) and own_attribute(call.func.value) == "model"
