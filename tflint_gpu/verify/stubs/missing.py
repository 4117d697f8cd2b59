"""Statements that make up what a file takes for granted: names that nothing defines, and the call of a function."""

from __future__ import annotations

import ast
import builtins
import re
from collections.abc import Collection, Iterator

from tflint_gpu.lazy_dataclasses import dataclass
from tflint_gpu.model.library.keras_methods import TRAINING_HOOKS
from tflint_gpu.model.python.refactoring.free_names import bound, free
from tflint_gpu.verify.stubs.readers import VALUES
from tflint_gpu.verify.stubs.roles import Stub, role

_Function = ast.FunctionDef | ast.AsyncFunctionDef
# What people leave out of the snippets that they paste.
_USUAL_IMPORTS = {
    "tf": "import tensorflow as tf",
    "tensorflow": "import tensorflow",
    "keras": "from tensorflow import keras",
    "layers": "from tensorflow.keras import layers",
    "np": "import numpy as np",
    "numpy": "import numpy",
    "os": "import os",
    "time": "import time",
    "pd": "import pandas as pd",
    "plt": "import matplotlib.pyplot as plt",
    "display": "display = print",  # notebooks have it without an import
}
_OF_MODULES = frozenset("__file__ __name__ __doc__ __builtins__ __spec__ __package__ __loader__ __path__".split())
_MAKES = re.compile(r"(?:load|build|create|make|get|define|define_the|construct)_?\w+|\w+_(?:model|network|net)")
_SHORTEST = 3  # of names that tell something


class UnknownName(Exception):
    """Nothing tells what a name is; the text is the name."""


@dataclass(frozen=True, slots=True)
class Supplement:
    """Statements to put in, and what they make up, each as part of a sentence."""

    lines: tuple[str, ...]
    made_up: tuple[str, ...]


def undefined_names(tree: ast.Module, dropped: Collection[int], replaced: Collection[str] = ()) -> Supplement:
    """What gives a value to the names that nothing defines.

    Arguments:
        tree: the parsed file.
        dropped: rows that count as absent.
        replaced: names for which something else will stand.
    """
    kept = [statement for statement in tree.body if statement.lineno not in dropped]
    if any(isinstance(node, ast.ImportFrom) and node.names[0].name == "*" for node in ast.walk(tree)):
        return Supplement((), ())
    known = (
        {name for statement in tree.body for name in bound(statement)}
        | (set(dir(builtins)) - _USUAL_IMPORTS.keys())  # IPython adds one of them to its own
        | _OF_MODULES
        | set(replaced)
    )
    known |= {name for node in ast.walk(tree) if isinstance(node, ast.Global) for name in node.names}
    missing = sorted({name for statement in kept for name in free(statement, _absent(statement, dropped))} - known)
    lines: list[str] = []
    made_up: list[str] = []
    for name in missing:
        if name in _USUAL_IMPORTS:
            lines.insert(0, _USUAL_IMPORTS[name])
            continue
        stub = role(name, kept)
        if stub is not None:
            lines.append(f"{name} = {stub.text}")
            made_up.append(f"`{name}`: {stub.what}")
    return Supplement(tuple(lines), tuple(made_up))


def _absent(statement: ast.stmt, dropped: Collection[int]) -> set[ast.stmt]:
    return {node for node in ast.walk(statement) if isinstance(node, ast.stmt) and node.lineno in dropped}


def left_open(tree: ast.Module) -> Iterator[tuple[ast.expr, Stub]]:
    """The dots in `model = ...`, each with what stands in for them."""
    for statement in tree.body:
        if isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name):
            value = statement.value
            if isinstance(value, ast.Constant) and value.value is ...:
                stub = role(statement.targets[0].id, [other for other in tree.body if other is not statement])
                if stub is not None:
                    yield value, stub


def call_of(tree: ast.Module, row: int, reached: Collection[int] = ()) -> tuple[set[str], Supplement]:
    """A call of the function whose `def` stands in a row, or of the method on an object of its class.

    Arguments:
        reached: rows that the call is to reach: it gives what the conditions around them ask for.

    Returns the names that the call needs from the module, and the statements.

    Raises:
        UnknownName: of a parameter.
    """
    for node in tree.body:
        if isinstance(node, _Function) and _row(node) == row:
            made = _Arguments(tree, reached)
            call = f"{node.name}({made.of(node)})"
            return {node.name, *made.makers}, Supplement((call,), tuple(made.made_up))
        if isinstance(node, ast.ClassDef):
            for method in node.body:
                if isinstance(method, _Function) and _row(method) == row:
                    made = _Arguments(tree, reached)
                    lines = _call_of_method(node, method, made)
                    return {node.name, *made.makers}, Supplement(lines, tuple(made.made_up))
    raise UnknownName("")


def _call_of_method(owner: ast.ClassDef, method: _Function, made: _Arguments) -> tuple[str, ...]:
    constructor = next(
        (member for member in owner.body if isinstance(member, _Function) and member.name == "__init__"), None
    )
    given = made.of(constructor, is_method=True) if constructor is not None else ""
    new = f"{owner.name}({given})"
    if method.name == "__init__":
        return (new,)
    if method.name in TRAINING_HOOKS:
        made.made_up.append("features and labels")
        compiled = f'made_up.compile(optimizer="adam", loss={VALUES}.loss())'
        return (f"made_up = {new}", compiled, f"made_up.fit({VALUES}.inputs(), {VALUES}.labels())")
    name = "" if method.name in ("call", "__call__") else f".{method.name}"
    is_static = any(isinstance(d, ast.Name) and d.id == "staticmethod" for d in method.decorator_list)
    arguments = made.of(method, is_method=not is_static)
    if constructor is None or not (prepared := list(_preparing(owner, constructor, method))):
        return (f"{new}{name}({arguments})",)
    return (f"made_up = {new}", *(f"made_up.{each}()" for each in prepared), f"made_up{name}({arguments})")


def _preparing(owner: ast.ClassDef, constructor: _Function, method: _Function) -> Iterator[str]:
    """The methods that give a value to what a method reads and the constructor leaves open: `self.model = None`."""
    missing = _attributes(method, ast.Load) & {
        target.attr
        for node in ast.walk(constructor)
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant) and node.value.value is None
        for target in node.targets
        if isinstance(target, ast.Attribute)
    }
    for other in owner.body:
        if isinstance(other, ast.FunctionDef) and other not in (constructor, method) and not other.decorator_list:
            parameters = [*other.args.posonlyargs, *other.args.args]
            takes_nothing = len(parameters) - len(other.args.defaults) == 1 and None not in other.args.kw_defaults
            if takes_nothing and missing & _attributes(other, ast.Store):
                missing -= _attributes(other, ast.Store)
                yield other.name


def _attributes(function: _Function, context: type[ast.expr_context]) -> set[str]:
    """The attributes of `self` that a method reads, or sets."""
    nodes = (node for node in ast.walk(function) if isinstance(node, ast.Attribute) and isinstance(node.ctx, context))
    return {node.attr for node in nodes if isinstance(node.value, ast.Name) and node.value.id == "self"}


class _Arguments:
    """What is passed to functions of a file.

    Arguments:
        tree: the parsed file.
        reached: rows that are to be reached.

    Attributes:
        made_up: each value, as part of a sentence.
        makers: the functions of the file that give one.
    """

    def __init__(self, tree: ast.Module, reached: Collection[int]) -> None:
        self._reached = reached
        self.made_up: list[str] = []
        self.makers: set[str] = set()
        self._functions = [node for node in tree.body if isinstance(node, ast.FunctionDef)]

    def of(self, function: _Function, *, is_method: bool = False) -> str:
        """What is passed for the parameters that have no default, or whose default keeps away from what is reached."""
        parameters = [*function.args.posonlyargs, *function.args.args]
        parameters = parameters[: len(parameters) - len(function.args.defaults)]
        parameters = parameters[1:] if is_method else parameters
        required = zip(function.args.kwonlyargs, function.args.kw_defaults, strict=True)
        parameters += [parameter_name for parameter_name, default in required if default is None]
        asked = _asked_for(function, self._reached)
        more = [p for p in (*function.args.args, *function.args.kwonlyargs) if p.arg in asked and p not in parameters]
        texts: list[str] = []
        for parameter in (*parameters, *more):
            stub = self._made_by_the_file(parameter.arg, function)
            stub = stub or role(parameter.arg, function.body, parameter.annotation)
            if stub is None and parameter in more:
                continue
            if stub is None:
                raise UnknownName(parameter.arg)
            positional = parameter in function.args.posonlyargs
            texts.append(stub.text if positional else f"{parameter.arg}={stub.text}")
            self.made_up.append(f"`{parameter.arg}` of `{function.name}`: {stub.what}")
        return ", ".join(texts)

    def _made_by_the_file(self, name: str, user: _Function) -> Stub | None:
        """What a function gives that is called like it and needs nothing: `model` of `build_model()`."""
        for function in self._functions:
            is_maker = _MAKES.fullmatch(function.name.lower()) and name.lower().strip("_") in function.name.lower()
            returns = any(isinstance(node, ast.Return) and node.value is not None for node in ast.walk(function))
            if is_maker and function is not user and returns and len(name) >= _SHORTEST and not _required(function):
                self.makers.add(function.name)
                return Stub(f"{function.name}()", f"the return value of `{function.name}`")
        return None


def _asked_for(function: _Function, reached: Collection[int]) -> set[str]:
    """The names that must have a value so that some rows of a function are reached: `if loader is not None:`."""
    return {
        name
        for node in ast.walk(function)
        if isinstance(node, ast.If)
        and any(node.body[0].lineno <= row <= (node.body[-1].end_lineno or 0) for row in reached)
        for name in _given(node.test)
    }


def _given(test: ast.expr) -> Iterator[str]:
    match test:
        case ast.BoolOp(op=ast.And(), values=values):
            for value in values:
                yield from _given(value)
        case ast.Compare(left=ast.Name(id=name), ops=[ast.IsNot()], comparators=[ast.Constant(value=None)]):
            yield name


def _required(function: ast.FunctionDef) -> bool:
    """Whether something must be passed to a function."""
    given = function.args
    return len(given.posonlyargs) + len(given.args) > len(given.defaults) or None in given.kw_defaults


def _row(node: _Function) -> int:
    return node.lineno
