"""Which expressions are Keras models, so that `fit` is Keras's and not another library's."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from tflint_gpu.model.python.functions import Origin
from tflint_gpu.model.python.syntax import Expression, Node, dotted_name, method_name

if TYPE_CHECKING:
    from tflint_gpu.model.model import Model

_CONSTRUCTORS = frozenset(
    (
        "keras.Sequential keras.models.Sequential keras.Model keras.models.Model keras.models.load_model "
        "keras.models.clone_model keras.models.model_from_json keras.models.model_from_config "
        "keras.saving.load_model"
    ).split()
)
_COMPILE_KEYWORDS = frozenset(["optimizer", "loss", "metrics"])
_DEPTH_LIMIT = 6


class KerasModels:
    """Questions about the Keras models of one file."""

    def __init__(self, model: Model) -> None:
        self.model = model
        self._known: dict[tuple[Node, Model | None], bool] = {}

    def is_model(self, expr: Expression, depth: int = 0) -> bool:
        """Whether `expr` is certainly a Keras model: built as one on every way, or compiled as one."""
        key = (expr, self.model.project.current)  # what callers pass depends on the file that is checked
        if key not in self._known:
            self._known[key] = False
            self._known[key] = self._built(expr, depth) or self._compiled(expr) or self._of_callback(expr)
        return self._known[key]

    def _built(self, expr: Expression, depth: int) -> bool:
        if depth > _DEPTH_LIMIT:
            return False
        owner = self.model.classes.self_class(expr)
        if owner is not None:
            return "model" in owner.model.classes.keras_kinds(owner)
        origins = self.model.functions.origins(expr)
        return bool(origins) and all(o is not None and self._builds(o, depth) for o in origins)

    def _builds(self, origin: Origin, depth: int) -> bool:
        call = origin.node
        if not isinstance(call, cst.Call):
            return False
        name = origin.model.name(call.func)
        if name is not None:
            last = name.rpartition(".")[2]
            if name in _CONSTRUCTORS or (name.startswith("keras.applications.") and last[:1].isupper()):
                return True
        cls = origin.model.classes.named(call.func)
        if cls is not None:
            return "model" in cls.model.classes.keras_kinds(cls)
        function = origin.model.functions.called(call)
        if function is None:
            return False
        returned = function.model.functions.returned(function.node)
        return bool(returned) and all(function.model.keras_models.is_model(r, depth + 1) for r in returned)

    def _compiled(self, expr: Expression) -> bool:
        """`m.compile(optimizer=..., loss=...)` in the same function makes `m` a Keras model."""
        dotted = dotted_name(expr)
        if dotted is None:
            return False
        function = self.model.tree.function(expr)
        for call in self.model.method_calls("compile"):
            assert isinstance(call.func, cst.Attribute)
            keywords = {a.keyword.value for a in call.args if a.keyword is not None}
            if (
                keywords & _COMPILE_KEYWORDS
                and dotted_name(call.func.value) == dotted
                and self.model.tree.function(call) is function
            ):
                return True
        return False

    def _of_callback(self, expr: Expression) -> bool:
        """`self.model` in a Keras callback: the model that is being fitted."""
        found = self.model.classes.self_attribute(expr)
        return (
            found is not None
            and found[1] == "model"
            and any(b.startswith("keras.callbacks.") for b in found[0].model.classes.external_bases(found[0]))
        )

    def receiver(self, call: cst.Call, *methods: str) -> Expression | None:
        """For `m.fit(...)` the expression `m` when it is a Keras model and the method is one of these."""
        if method_name(call) not in methods or not isinstance(call.func, cst.Attribute):
            return None
        return call.func.value if self.is_model(call.func.value) else None
