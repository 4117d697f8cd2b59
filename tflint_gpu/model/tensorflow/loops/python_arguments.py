"""Arguments that are another Python value in each call: `tf.function` traces each, as it takes them for constants."""

from __future__ import annotations

import libcst as cst

from tflint_gpu.model.model import Analysis, Model
from tflint_gpu.model.python.execution.callers import RunSite, loops_around, repeats, runs_once
from tflint_gpu.model.python.project.file import File
from tflint_gpu.model.python.syntax.syntax import Expression, Node, dotted_name, method_name
from tflint_gpu.model.python.value_flow.origins import ELEMENT, Context, Origin
from tflint_gpu.model.tensorflow.loops.loop_numbers import LoopNumbers
from tflint_gpu.model.values.values import Values

_DISPLAYS = (cst.List, cst.Tuple, cst.Set, cst.Dict)
_COMPREHENSIONS = (cst.ListComp, cst.SetComp, cst.GeneratorExp)
_LISTING = frozenset(["tolist", "split", "splitlines"])
_PLAIN_BASES = frozenset(["object", "abc.ABC", "Exception"])


class PythonArguments(Analysis):
    """Analysis of what calls hand on that is no tensor."""

    def __init__(self, model: Model) -> None:
        super().__init__(model)
        self.numbers = model.once(LoopNumbers)
        self.values = model.once(Values)
        self._in_work: set[Node] = set()

    def is_new(self, file: File, value: Expression, context: Context | None = None) -> bool:
        """Whether a value is, or holds, another number, text or object of Python's in each call that a loop makes."""
        if value in self._in_work:
            return False
        self._in_work.add(value)
        try:
            number = self.numbers.of(file, value)
            if number is not None:
                return bool(number.changed_by)
            if self.values.is_text(file, value, context):
                return any(map(self._is_new_text, self.inference.of(file, value, context)))
            return any(map(self._is_new, self.inference.of(file, value, context)))
        finally:
            self._in_work.discard(value)

    def _is_new_text(self, origin: Origin) -> bool:
        if isinstance(origin.node, cst.SimpleString):
            return False
        return ELEMENT in origin.access_path or self._repeats(origin.file, origin.node)

    def _is_new(self, origin: Origin) -> bool:
        node, file, context = origin.node, origin.file, origin.context
        if origin.access_path:
            return False
        if isinstance(node, cst.Lambda):
            return self._repeats(file, node)
        if isinstance(node, _DISPLAYS):
            return self._grows(file, node) or any(self.is_new(file, e.value, context) for e in node.elements)
        if isinstance(node, _COMPREHENSIONS):
            return self.is_new(file, node.elt, context)
        if isinstance(node, cst.DictComp):
            return self.is_new(file, node.value, context)
        if isinstance(node, cst.Call) and method_name(node) in _LISTING and file.name(node.func) is None:
            return self._repeats(file, node)
        cls = self.inference.instance_class(origin)
        is_object = cls is not None and self.inference.definitions.external_bases(cls) <= _PLAIN_BASES
        return is_object and isinstance(node, cst.Call) and not runs_once(self.inference, RunSite(file, node))

    def _grows(self, file: File, display: Node) -> bool:
        """Whether a loop that does not make a list or dictionary appends to it, or changes numbers in it."""
        name = file.bound_to(display)
        if name is None:
            return False
        stored = [(t, value) for t, value in file.tree.item_assignments if dotted_name(t.value) == name]
        for node, value in [*((call, None) for call in file.appends.get(name, ())), *stored]:
            outside = any(not file.tree.within(display, loop) for loop in loops_around(file, node))
            if outside and (value is None or self.numbers.of(file, value) is not None):
                return True
        return False

    def _repeats(self, file: File, node: Node) -> bool:
        return repeats(self.inference, RunSite(file, node))
