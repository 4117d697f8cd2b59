"""What changes containers and arrays in place, and which of them an expression holds, by whatever name."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

import libcst as cst

from tflint_gpu.model.library.tensor_functions import (
    ARRAY_CHANGES,
    CHANGING_FUNCTIONS,
    SHARING_FUNCTIONS,
    SHARING_METHODS,
)
from tflint_gpu.model.model import Analysis
from tflint_gpu.model.python.project.decorators import function_of
from tflint_gpu.model.python.project.file import File
from tflint_gpu.model.python.syntax.containers import CHANGES
from tflint_gpu.model.python.syntax.syntax import Expression, Node, argument, method_name
from tflint_gpu.model.python.value_flow.calls import is_library
from tflint_gpu.model.python.value_flow.origins import Origin

DISPLAYS = (cst.List, cst.Dict, cst.Set, cst.ListComp, cst.DictComp, cst.SetComp)
_CONTEXT_VARIABLE = "contextvars.ContextVar"
_VIEWS = frozenset(["T", "flat"])  # attributes of an array that change with it: its shape does not
_CONTAINERS = frozenset(["list", "dict", "set"])
_HOLDING = frozenset(["collections.deque", "collections.OrderedDict"])


class ChangesInPlace(Analysis):
    """Analysis of what changes objects that keep their names."""

    def of(self, file: File) -> Iterator[tuple[Expression, Node]]:
        """`d[k] = v`, `l.append(v)`, `a += 1`, `rng.shuffle(a)`, `np.exp(b, out=a)`: the container, and the place.

        Of `d["a"]["b"] = v` both what `d` holds and `d["a"]`, which may have another name.
        """
        for target, _ in file.tree.item_assignments:
            yield from ((container, target) for container in dict.fromkeys((_innermost(target.value), target.value)))
        for changed in file.tree.nodes(cst.AugAssign):
            if isinstance(changed.target, cst.Name | cst.Subscript):
                yield changed.target, changed
        for call in file.tree.calls:
            out = argument(call, -1, "out")
            if out is not None:
                yield _innermost(out), call
            name = file.name(call.func) or ""
            is_in_place = name in CHANGING_FUNCTIONS or (name.startswith("numpy.") and name.endswith(".at"))
            if call.args and (is_in_place or method_name(call) == "shuffle"):
                yield _innermost(call.args[0].value), call
        for call in file.method_calls(*CHANGES, *ARRAY_CHANGES):
            if (
                isinstance(call.func, cst.Attribute)
                and not is_library(file.name(call.func))
                and not self.inference.callees(file, call)
            ):
                whole = call.func.value
                yield from ((container, call) for container in dict.fromkeys((_innermost(whole), whole)))
        for owner, name in self._changing_names(file):
            yield from ((owner, call) for call in file.calls_ending_with(name) if isinstance(call.func, cst.Name))
        keeps = any(word in file.source.text for word in ("ContextVar", "singledispatch"))
        for call in file.method_calls("set", "reset", "register") if keeps else ():
            if isinstance(call.func, cst.Attribute) and self._keeps_what_is_set(file, call.func.value):
                yield call.func.value, call

    def _changing_names(self, file: File) -> Iterator[tuple[Expression, str]]:
        """`push = values.append`: the container, and the name."""
        for assigned in file.tree.nodes(cst.Assign):
            value, target = assigned.value, assigned.targets[0].target
            if isinstance(value, cst.Attribute) and isinstance(target, cst.Name) and value.attr.value in CHANGES:
                yield value.value, target.value

    def _keeps_what_is_set(self, file: File, owner: Expression) -> bool:
        """Whether it is a variable of `contextvars`, or a function of `functools.singledispatch`."""
        if any(origin.made_by == _CONTEXT_VARIABLE for origin in self.inference.of(file, owner)):
            return True
        return any(
            function.file.name(function_of(decorator)) == "functools.singledispatch"
            for function in (callee.function for callee in self.inference.callables(file, owner))
            if isinstance(function.node, cst.FunctionDef)
            for decorator in function.node.decorators
        )

    def is_mutable(self, origin: Origin) -> bool:
        """Whether it is a container or an array of NumPy, or a part of one, which can be changed in place."""
        node = origin.node
        if not isinstance(node, cst.Call):
            return isinstance(node, DISPLAYS) and not origin.access_path
        name = origin.file.name(node.func) or ""
        if name.startswith("numpy."):
            return all(part.kind != "attribute" or part.key in _VIEWS for part in origin.access_path)
        if name == _CONTEXT_VARIABLE:
            return True
        return not origin.access_path and self._is_container(origin.file, node)

    def _is_container(self, file: File, call: cst.Call) -> bool:
        """`dict(...)`, `list(...)`, `set(...)`."""
        return any(file.names.is_builtin(call.func, name) for name in _CONTAINERS)

    def is_part(self, origin: Origin, made: Mapping[Node, File]) -> bool:
        """Whether a value is one of some objects, something in one, or a view of one: `row` after `row = array[0]`."""
        shown = self.shown([origin])
        return any(o.file is file and file.tree.within(o.node, node) for o in shown for node, file in made.items())

    def shown(self, origins: Iterable[Origin]) -> list[Origin]:
        """Some objects, and those that they show: `array` in `array[0]`, `array.reshape(-1)`, `ChainMap({}, array)`."""
        shown, seen, holders = list(origins), set[Node](), set[Node]()
        for origin in shown:  # grows meanwhile
            file, node = origin.file, origin.node
            if node in seen:
                continue
            seen.add(node)
            inside = list[Expression]()
            if isinstance(node, cst.Subscript):
                inside = [_innermost(node)]
                holders.update(o.node for o in self.inference.of(file, inside[0], origin.context))
            elif isinstance(node, cst.List | cst.Tuple) and node in holders:
                inside = [element.value for element in node.elements]
            elif isinstance(node, cst.Call):
                name, func = file.name(node.func), node.func
                is_holder = node in holders and (name in _HOLDING or self._is_container(file, node))
                if is_holder or name in SHARING_FUNCTIONS:
                    inside = [arg.value for arg in node.args]
                    holders.update(inside if is_holder else ())
                elif isinstance(func, cst.Attribute) and func.attr.value in SHARING_METHODS:
                    inside = [func.value]
            for value in inside:
                shown.extend(self.inference.of(file, value, origin.context))
        return shown


def _innermost(container: Expression) -> Expression:
    """`d` of `d["a"]["b"]`."""
    while isinstance(container, cst.Subscript):
        container = container.value
    return container
