"""Whether a file is a program that is run, and where it starts to train."""

from __future__ import annotations

import re
from functools import cached_property
from typing import TYPE_CHECKING

import libcst as cst

from tflint_gpu.model.python.syntax import FunctionNode, Node, method_name
from tflint_gpu.model.tensorflow.training import TAPES, UPDATES

if TYPE_CHECKING:
    from tflint_gpu.model.model import Model

_TRAINING_METHODS = ("fit", "evaluate", "predict", "train_on_batch", "test_on_batch", "predict_on_batch")


class Program:
    """Questions about one file as a program."""

    def __init__(self, model: Model) -> None:
        self.model = model

    @cached_property
    def imports_tensorflow(self) -> bool:
        """Whether the file itself imports TensorFlow (Keras alone may run on another backend)."""
        return any(
            binding.kind == "import" and (self._is_tensorflow(binding.target))
            for scope in self.model.tree.scopes.values()
            for bindings in scope.bindings.values()
            for binding in bindings
        )

    @staticmethod
    def _is_tensorflow(target: str) -> bool:
        return target == "tensorflow" or target.startswith("tensorflow.")

    @cached_property
    def uses_tpu(self) -> bool:
        """Whether the program is written for TPUs."""
        return any(
            True
            for _ in self.model.calls(
                "tf.distribute.TPUStrategy",
                "tf.distribute.cluster_resolver.*",
                "tf.tpu.*",
                "tf.distribute.experimental.TPUStrategy",
            )
        )

    @cached_property
    def uses_another_backend(self) -> bool:
        """Whether the file chooses a Keras backend that is not TensorFlow."""
        return re.search(r"KERAS_BACKEND\W+(?:torch|jax|openvino)", self.model.source.text) is not None

    @cached_property
    def first_training(self) -> Node | None:
        """The first call that trains, evaluates or predicts when the file is run; None where none surely does."""
        run = self._functions_run
        for call in self.model.tree.calls:
            function = self.model.tree.function(call)
            if function is not None and function not in run:
                continue
            if self.model.keras_models.receiver(call, *_TRAINING_METHODS) is not None:
                assert isinstance(call.func, cst.Attribute)
                return call.func.attr
            if self.model.name(call.func) in TAPES and self._updates_beside(call):
                return call.func
            if method_name(call) == "apply_gradients":
                return call.func
        return None

    def _updates_beside(self, tape: cst.Call) -> bool:
        """Whether weights are updated in the tape's loop, or without one in its function or block."""
        tree = self.model.tree
        function = tree.function(tape)
        for parent in tree.ancestors(tape):
            if isinstance(parent, cst.For | cst.While) and tree.function(parent) is function:
                return any(method_name(call) in UPDATES for call in self.model.training.calls_below(parent))
        beside = self.model.functions.calls_in.get(function, ())
        if function is not None:
            return any(method_name(call) in UPDATES for call in beside)
        block = tree.block(tree.statement(tape))
        return any(method_name(c) in ("apply_gradients", "minimize") and tree.block(c) is block for c in beside)

    @cached_property
    def _functions_run(self) -> frozenset[FunctionNode]:
        """The functions of this file that its top level calls, directly or through others."""
        found: set[FunctionNode] = set()
        queue: list[Node | None] = [None]
        while queue:
            for call in self.model.functions.calls_in.get(queue.pop(), ()):
                for function in self.model.training.functions_called(call):
                    if function.model is self.model and function.node not in found:
                        found.add(function.node)
                        queue.append(function.node)
                for arg in call.args:  # `app.run(main)`
                    given = self.model.functions.named(arg.value) if isinstance(arg.value, cst.Name) else None
                    if given is not None and given.model is self.model and given.node not in found:
                        found.add(given.node)
                        queue.append(given.node)
        return frozenset(found)

    @cached_property
    def last_import(self) -> cst.SimpleStatementLine | None:
        """The last import of the block of imports at the top of the file."""
        last = None
        for statement in self.model.tree.module.body:
            if not isinstance(statement, cst.SimpleStatementLine):
                break
            if any(isinstance(small, cst.Import | cst.ImportFrom) for small in statement.body):
                last = statement
            elif last is not None or not _is_docstring(statement):
                break
        return last


def _is_docstring(statement: cst.SimpleStatementLine) -> bool:
    small = statement.body[0]
    return isinstance(small, cst.Expr) and isinstance(small.value, cst.BaseString)
