"""Of which classes and functions of the project a Keras model is made."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import libcst as cst

from tflint_gpu.bounds import MODEL_PARTS
from tflint_gpu.model.library.classes import FUNCTIONAL, SEQUENTIAL
from tflint_gpu.model.model import Analysis, Once
from tflint_gpu.model.python.project.file import File
from tflint_gpu.model.python.project.functions import Class
from tflint_gpu.model.python.syntax.syntax import Expression, Node, argument, dotted_name
from tflint_gpu.model.tensorflow.types.kinds import Kinds


class ModelClasses(Analysis):
    """Analysis of the layers of models, seen from one file."""

    kinds = Once(Kinds)

    def of_receivers(self, calls: Iterable[cst.Call]) -> frozenset[Node]:
        """The classes of the models whose `fit` or the like is called and of their layers, and what `Lambda`s run."""
        classes, known = dict[Node, Class | None](), dict[Node, int]()
        for call in calls:
            if isinstance(call.func, cst.Attribute) and self.kinds.is_model(self.file, call.func.value):
                self._add(classes, self.file, call.func.value, known)
        return self._with_parts(classes)

    def of_called(self, calls: Iterable[tuple[File, cst.Call]]) -> frozenset[Node]:
        """The same of models and layers that are called."""
        classes, known = dict[Node, Class | None](), dict[Node, int]()
        for file, call in calls:
            if self.kinds.must_be(file, call.func, "model", "layer"):
                self._add(classes, file, call.func, known)
        return self._with_parts(classes)

    def _with_parts(self, classes: dict[Node, Class | None]) -> frozenset[Node]:
        """Some classes, and those from which they are derived, and of what they make."""
        for cls in (queue := [cls for cls in classes.values() if cls is not None]):  # grows meanwhile
            made = cls.file.calls_below.get(cls.node, ())
            inner = (self.inference.definitions.class_named(cls.file, call.func) for call in made)
            for related in (*self.inference.definitions.lineage(cls), *(c for c in inner if c is not None)):
                if related.node not in classes:
                    classes[related.node] = related
                    queue.append(related)
        return frozenset(classes)

    def _add(
        self, classes: dict[Node, Class | None], file: File, expr: Expression, known: dict[Node, int], depth: int = 0
    ) -> None:
        """The project's own classes of a layer, a model, and of the layers of which a model is made.

        Arguments:
            classes: gets them, and the functions of `Lambda` layers, which have none.
            known: what was taken apart before, and how deep it lay then.
        """
        if depth >= MODEL_PARTS.limit:
            self.inference.meet(MODEL_PARTS)
            return
        for origin in self.inference.of(file, expr):
            cls = self.inference.instance_class(origin)
            if cls is not None:
                classes[cls.node] = cls
                continue
            call, home = origin.call, origin.file
            made_by = origin.made_by if call is not None else None
            given = argument(call, 0, "function") if call is not None and made_by == "keras.layers.Lambda" else None
            if given is not None:
                run = self.inference.callables(home, given, origin.context)
                classes.update((callee.function.node, None) for callee in run)
            if call is None or made_by not in SEQUENTIAL | FUNCTIONAL:
                continue
            is_functional = made_by in FUNCTIONAL
            whole = home.tree.function(call) or home.tree.module if is_functional else call
            if known.get(whole, MODEL_PARTS.limit) > depth:
                known[whole] = depth
                for part in _functional_parts(home, call) if is_functional else _sequential_parts(home, call):
                    self._add(classes, home, part, known, depth + 1)


def _functional_parts(file: File, call: cst.Call) -> Iterator[Expression]:
    """What is called where a functional model is built."""
    yield from (other.func for other in file.calls_in.get(file.tree.function(call), ()))


def _sequential_parts(file: File, call: cst.Call) -> Iterator[Expression]:
    """The layers that a `Sequential` is given, and that are added to it."""
    layers = argument(call, 0, "layers")
    yield from (element.value for element in layers.elements) if isinstance(layers, cst.List | cst.Tuple) else ()
    bound = file.bound_to(call)
    for adding in file.method_calls("add") if bound is not None else ():
        if isinstance(adding.func, cst.Attribute) and dotted_name(adding.func.value) == bound and adding.args:
            yield adding.args[0].value
