"""What changes containers and arrays in place, and which of them an expression holds, by whatever name."""

from __future__ import annotations

import builtins
from collections.abc import Iterable, Iterator, Mapping

import libcst as cst

from tflint_gpu.model.library.operations import operation_named
from tflint_gpu.model.library.tensor_functions import (
    ARRAY_CHANGES,
    ARRAY_METHODS,
    CHANGING_FUNCTIONS,
    HOLDING_BUILTINS,
    HOST_READS,
    OUT_METHODS,
    REDUCING_METHODS,
    SHARING_FUNCTIONS,
    SHARING_METHODS,
    STATIC_ATTRIBUTES,
)
from tflint_gpu.model.model import Analysis
from tflint_gpu.model.python.project.decorators import function_of
from tflint_gpu.model.python.project.file import File
from tflint_gpu.model.python.syntax.containers import CHANGES
from tflint_gpu.model.python.syntax.syntax import Expression, Node, method_name
from tflint_gpu.model.python.value_flow.calls import is_library
from tflint_gpu.model.python.value_flow.origins import Origin

DISPLAYS = (cst.List, cst.Dict, cst.Set, cst.ListComp, cst.DictComp, cst.SetComp)
_CONTEXT_VARIABLE = "contextvars.ContextVar"
_VIEWS = frozenset(["T", "flat"])  # attributes of an array that change with it: its shape does not
_CONTAINERS = frozenset(["list", "dict", "set"])
_HOLDING = frozenset(["collections.deque"])
_METHODS = CHANGES.union(ARRAY_CHANGES)
_FRESH = ARRAY_METHODS | REDUCING_METHODS | HOST_READS
_NAMESPACES = ("globals", "vars", "locals")
_BY_NAME = (*_NAMESPACES, "getattr", "eval")
MODULES = frozenset(["sys.modules", "__main__"])


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
            name = file.name(call.func) or ""
            yield from ((_innermost(result), call) for result in self._written_by(call, name))
            is_in_place = name in CHANGING_FUNCTIONS or (name.startswith("numpy.") and name.endswith(".at"))
            if call.args and (is_in_place or method_name(call) == "shuffle"):
                yield _innermost(call.args[0].value), call
            if name == "functools.partial" and call.args and file.name(call.args[0].value) in CHANGING_FUNCTIONS:
                yield from ((_innermost(arg.value), file.tree.module) for arg in call.args[1:2])
        for assigned in file.tree.attributes_set("shape", "dtype"):
            yield assigned.target.value, assigned.target
        for reference in file.tree.nodes(cst.Attribute):
            if (
                reference.attr.value in _METHODS
                and not is_library(file.name(reference))
                and not self.inference.callables(file, reference)
            ):
                whole = reference.value
                for place in self._places_of(file, reference):
                    yield from ((container, place) for container in dict.fromkeys((_innermost(whole), whole)))
        keeps = any(word in file.source.text for word in ("ContextVar", "singledispatch"))
        for call in file.method_calls("set", "reset", "register") if keeps else ():
            if isinstance(call.func, cst.Attribute) and self._keeps_what_is_set(file, call.func.value):
                yield call.func.value, call

    def _written_by(self, call: cst.Call, name: str) -> Iterator[Expression]:
        """The arguments into which NumPy may write: `out`, and what stands behind the others."""
        if name.startswith("numpy."):
            operation = operation_named(name)
            start = operation.tensors if operation.each == "element" else 2
        else:
            start = 1 if not name and method_name(call) in OUT_METHODS else len(call.args)
        for index, arg in enumerate(call.args):
            if arg.keyword.value == "out" if arg.keyword is not None else index >= start:
                yield arg.value

    def _places_of(self, file: File, method: cst.Attribute) -> Iterator[Node]:
        """Where a method is called: the module, where that may be at any time, since something else gets it."""
        parent = file.tree.parents[method]
        if isinstance(parent, cst.Arg):
            parent = file.tree.parents[parent]
            is_run = isinstance(parent, cst.Call) and self.inference.handing(file, parent) is not None
            yield parent if is_run else file.tree.module
        elif isinstance(parent, cst.Call) and parent.func is method:
            yield parent
        elif isinstance(parent, cst.Assign) and isinstance(name := parent.targets[0].target, cst.Name):
            yield from (call for call in file.calls_ending_with(name.value) if isinstance(call.func, cst.Name))
        elif not isinstance(parent, cst.AssignTarget | cst.AnnAssign | cst.AugAssign | cst.Attribute):
            yield file.tree.module

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
        if origin.access_path or is_library(name):
            return False
        return _builtin(origin.file, node) in ("", "bytearray", *_CONTAINERS)

    def is_part(self, origin: Origin, made: Mapping[Node, File]) -> bool:
        """Whether a value may be one of some objects, something in one, or a view of one: `row = array[0]`."""
        if origin.call is not None and _builtin(origin.file, origin.call) in _NAMESPACES:
            return False  # what it holds is another matter: `globals()["a"] = 1`
        shown = self.shown([origin])
        return any(
            self.may_be_any(o) or any(o.file is file and file.tree.within(o.node, node) for node, file in made.items())
            for o in shown
        )

    def shown(self, origins: Iterable[Origin], *, whole: bool = False) -> list[Origin]:
        """Some objects, and those that they show: `array` in `array[0]`, `array.reshape(-1)`, `ChainMap({}, array)`.

        Arguments:
            whole: whether all counts that containers hold, not what is asked of them only.
        """
        shown, seen, holders = list(origins), set[Node](), set[Node]()
        for origin in shown:  # grows meanwhile
            file, node = origin.file, origin.node
            if node in seen or any(
                part.kind == "attribute" and part.key in STATIC_ATTRIBUTES for part in origin.access_path
            ):
                continue
            seen.add(node)
            inside = list[Expression]()
            is_holder = whole or bool(origin.access_path) or node in holders
            if isinstance(node, cst.Subscript):
                inside = [_innermost(node)]
                holders.update(o.node for o in self.inference.of(file, inside[0], origin.context))
            elif isinstance(node, cst.List | cst.Tuple | cst.Set | cst.Dict) and is_holder:
                inside = [element.value for element in node.elements]
            elif isinstance(node, cst.ListComp | cst.SetComp | cst.GeneratorExp) and is_holder:
                inside = [node.elt]
            elif isinstance(node, cst.Call):
                inside = list(self._shown_by(file, node, is_holder=is_holder))
                holders.update(inside)
            for value in inside:
                inner = self.inference.of(file, value, origin.context)
                holders.update(o.node for o in inner if is_holder)
                shown.extend(inner)
        return shown

    def _shown_by(self, file: File, call: cst.Call, *, is_holder: bool) -> Iterator[Expression]:
        """What the result of a call may be, or show: all that a function gets of which nothing is known."""
        name, func = file.name(call.func) or "", call.func
        if isinstance(func, cst.Attribute) and (
            func.attr.value in SHARING_METHODS or not (name or func.attr.value in _FRESH)
        ):
            yield func.value
        elif not name and not isinstance(func, cst.Attribute):
            yield func  # of `type("Settings", (), {"rates": rates})()` the class
        if is_library(name) or self.inference.class_called(file, call) is not None:
            is_shown = name in SHARING_FUNCTIONS
        elif name.rpartition(".")[2][:1].isupper() or name in _HOLDING:
            is_shown = is_holder
        elif builtin := _builtin(file, call):
            is_shown = builtin in HOLDING_BUILTINS and (is_holder or builtin not in _CONTAINERS)
        else:
            is_shown = method_name(call) not in _FRESH
        yield from (arg.value for arg in call.args if is_shown)

    def may_be_any(self, origin: Origin) -> bool:
        """Whether a value is one that a program asks for by a name: `globals()["a"]`, or that a library passes."""
        node, file = origin.node, origin.file
        if any(content.key == "__dict__" for content in origin.access_path):
            return True
        if isinstance(node, cst.Param):
            function = file.tree.parents[file.tree.parents[node]]
            assert isinstance(function, cst.FunctionDef | cst.Lambda)
            sites = self.inference.call_sites(self.inference.definitions.function(file, function))
            return node.star != "" or (bool(sites) and self.inference.instance_class(origin) is None)
        if isinstance(node, cst.Call):
            return _builtin(file, node) in _BY_NAME
        name = file.name(node) if isinstance(node, cst.Name | cst.Attribute) else None
        is_unknown = isinstance(node, cst.Name) and name is None and not hasattr(builtins, node.value)
        return name in MODULES or is_unknown


def _builtin(file: File, call: cst.Call) -> str:
    """The name of Python's own function that a call runs; empty for others."""
    func = call.func
    if not isinstance(func, cst.Name) or not hasattr(builtins, func.value) or file.flow.lookup(func.value, func):
        return ""
    return func.value


def _innermost(container: Expression) -> Expression:
    """`d` of `d["a"]["b"]`."""
    while isinstance(container, cst.Subscript):
        container = container.value
    return container
