"""In which dtypes Keras's layers compute and keep their weights, as the program's policies and floatx say."""

from __future__ import annotations

from functools import cached_property

import libcst as cst

from tflint_gpu.model.library.precision import COMPUTED_UNDER, FLOATX_SETTERS, POLICIES, POLICY_SETTERS
from tflint_gpu.model.model import Analysis, Model
from tflint_gpu.model.python.project.file import File
from tflint_gpu.model.python.syntax.syntax import Expression, Node, argument
from tflint_gpu.model.python.value_flow.constants import Constants
from tflint_gpu.model.python.value_flow.inference import Inference
from tflint_gpu.model.python.value_flow.origins import Context

_SETTERS = tuple(sorted(POLICY_SETTERS | FLOATX_SETTERS))
_WORDS = tuple(sorted({name.rpartition(".")[2] for name in _SETTERS}))


class Precision(Analysis):
    """The dtypes of the layers of the program that is checked."""

    is_of_values = True

    def __init__(self, model: Model) -> None:
        super().__init__(model)
        self._reaches = model.reaches

    def computing(self, file: File, node: Node) -> str:
        """In what the layers that a place makes compute floats by themselves; empty if unknown."""
        if not self._is_set:
            return "float32"
        is_before = any(self._precedes(setter, file, node) for setter in self._setters)
        return COMPUTED_UNDER.get(self._policy or "", "") if is_before else ""

    @property
    def floats(self) -> str:
        """The dtype of weights, losses and metrics; empty if something may set another one than float32."""
        return "" if self._is_set else "float32"

    @cached_property
    def _is_set(self) -> bool:
        """Whether the program may set a policy or Keras's usual dtype of floats."""
        return any(self._reaches(word.encode()) for word in _WORDS)

    @cached_property
    def _setters(self) -> list[tuple[File, cst.Call]]:
        """The calls that do so."""
        files = dict.fromkeys(file for word in _WORDS for file in self.inference.seen.with_text(word))
        return [(file, call) for file in files for call in file.calls(*_SETTERS)]

    @cached_property
    def _policy(self) -> str | None:
        """The one policy that all of them set."""
        names = {policy_name(self.inference, self.constants, *setter) for setter in self._setters}
        return names.pop() if len(names) == 1 else None

    @staticmethod
    def _precedes(setter: tuple[File, cst.Call], file: File, node: Node) -> bool:
        """Whether a policy is set at the top of a file, above a place of the same file."""
        where, call = setter
        return where is file and file.tree.function(call) is None and file.branches.precedes(call, node)


def policy_name(inference: Inference, constants: Constants, file: File, setter: cst.Call) -> str | None:
    """The name of the policy that a call sets: `set_global_policy(Policy("mixed_float16"))`; None if unknown."""
    if file.name(setter.func) in FLOATX_SETTERS:
        return None
    given = argument(setter, 0, "policy")
    return None if given is None else _named(inference, constants, file, given, None)


def _named(
    inference: Inference, constants: Constants, file: File, expr: Expression, within: Context | None
) -> str | None:
    names = set[str | None]()
    for origin in inference.of(file, expr, within):
        name = argument(origin.call, 0, "name") if origin.call is not None and origin.made_by in POLICIES else None
        if name is not None:
            names.add(_named(inference, constants, origin.file, name, origin.context))
        elif isinstance(origin.node, cst.BaseString) and not origin.access_path:
            names.add(str(constants.of(origin.file, origin.node, origin.context)))
        else:
            names.add(None)
    return names.pop() if len(names) == 1 else None
