"""Of which classes of the project a Keras model is made."""

from __future__ import annotations

from collections.abc import Iterable

import libcst as cst

from tflint_gpu.bounds import MODEL_PARTS
from tflint_gpu.model.model import Analysis, Model
from tflint_gpu.model.python.project.file import File
from tflint_gpu.model.python.project.functions import Class
from tflint_gpu.model.python.syntax.syntax import Expression, Node, argument, dotted_name
from tflint_gpu.model.tensorflow.types.kinds import Kinds

_SEQUENTIAL = frozenset(["keras.Sequential", "keras.models.Sequential"])
_FUNCTIONAL = frozenset(["keras.Model", "keras.models.Model"])


class ModelClasses(Analysis):
    """Questions about the layers of models, seen from one file."""

    def __init__(self, model: Model) -> None:
        super().__init__(model)
        self.kinds = model.once(Kinds)

    def of_receivers(self, calls: Iterable[cst.Call]) -> frozenset[Node]:
        """The classes of the models whose methods are called, such as `fit`, and of their layers."""
        classes: dict[Node, Class] = {}
        for call in calls:
            if isinstance(call.func, cst.Attribute) and self.kinds.is_model(self.file, call.func.value):
                self._add(classes, self.file, call.func.value, 0)
        return self._with_parts(classes)

    def of_called(self, calls: Iterable[tuple[File, cst.Call]]) -> frozenset[Node]:
        """The classes of the models and layers that are called, and of their layers."""
        classes: dict[Node, Class] = {}
        for file, call in calls:
            if self.kinds.must_be(file, call.func, "model", "layer"):
                self._add(classes, file, call.func, 0)
        return self._with_parts(classes)

    def _with_parts(self, classes: dict[Node, Class]) -> frozenset[Node]:
        """Some classes, and those from which they are derived, and of what they make."""
        for cls in (queue := list(classes.values())):  # grows meanwhile
            made = cls.file.calls_below.get(cls.node, ())
            inner = (self.inference.definitions.class_named(cls.file, call.func) for call in made)
            for related in (*self.inference.definitions.lineage(cls), *(c for c in inner if c is not None)):
                if related.node not in classes:
                    classes[related.node] = related
                    queue.append(related)
        return frozenset(classes)

    def _add(self, classes: dict[Node, Class], file: File, expr: Expression, depth: int) -> None:
        """The project's own classes of a layer, a model, and of the layers of which a model is made."""
        if depth >= MODEL_PARTS.limit:
            self.inference.meet(MODEL_PARTS)
            return
        for origin in self.inference.of(file, expr):
            cls, home = self.inference.instance_class(origin), origin.file
            if cls is not None:
                classes[cls.node] = cls
            elif origin.call is not None and origin.made_by in _SEQUENTIAL:
                layers = argument(origin.call, 0, "layers")
                for element in layers.elements if isinstance(layers, cst.List | cst.Tuple) else ():
                    self._add(classes, home, element.value, depth + 1)
                bound = home.bound_to(origin.call)
                for call in home.method_calls("add") if bound is not None else ():
                    if isinstance(call.func, cst.Attribute) and dotted_name(call.func.value) == bound and call.args:
                        self._add(classes, home, call.args[0].value, depth + 1)
            elif origin.call is not None and origin.made_by in _FUNCTIONAL:
                for call in home.calls_in.get(home.tree.function(origin.call), ()):
                    self._add(classes, home, call.func, depth + 1)
