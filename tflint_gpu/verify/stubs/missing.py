"""Statements that make up what a file takes for granted: names that nothing defines, and the call of a function."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Collection, Iterator

from tflint_gpu.lazy_dataclasses import dataclass
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
}
_OF_MODULES = frozenset("__file__ __name__ __doc__ __builtins__ __spec__ __package__ __loader__ __path__".split())
_TRAINED = ("train_step", "test_step", "compute_loss")


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
        | set(dir(builtins))
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


def call_of(tree: ast.Module, row: int) -> tuple[str, Supplement]:
    """A call of the function whose `def` stands in a row, or of the method on an object of its class.

    Returns the name that the call needs from the module, and the statements.

    Raises:
        UnknownName: of a parameter.
    """
    for node in tree.body:
        if isinstance(node, _Function) and _row(node) == row:
            arguments, made_up = _arguments(node)
            return node.name, Supplement((f"{node.name}({arguments})",), tuple(made_up))
        if isinstance(node, ast.ClassDef):
            for method in node.body:
                if isinstance(method, _Function) and _row(method) == row:
                    return node.name, _call_of_method(node, method)
    raise UnknownName("")


def _call_of_method(owner: ast.ClassDef, method: _Function) -> Supplement:
    constructor = next(
        (member for member in owner.body if isinstance(member, _Function) and member.name == "__init__"), None
    )
    given, made_up = _arguments(constructor, is_method=True) if constructor is not None else ("", [])
    made = f"{owner.name}({given})"
    if method.name == "__init__":
        return Supplement((made,), tuple(made_up))
    if method.name in _TRAINED:
        compiled = f'made_up.compile(optimizer="adam", loss={VALUES}.loss())'
        fitted = f"made_up.fit({VALUES}.inputs(), {VALUES}.labels())"
        return Supplement((f"made_up = {made}", compiled, fitted), (*made_up, "features and labels"))
    name = "" if method.name in ("call", "__call__") else f".{method.name}"
    is_static = any(isinstance(d, ast.Name) and d.id == "staticmethod" for d in method.decorator_list)
    arguments, more = _arguments(method, is_method=not is_static)
    made_up += more
    if constructor is None or not (prepared := list(_preparing(owner, constructor, method))):
        return Supplement((f"{made}{name}({arguments})",), tuple(made_up))
    lines = (f"made_up = {made}", *(f"made_up.{each}()" for each in prepared), f"made_up{name}({arguments})")
    return Supplement(lines, tuple(made_up))


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


def _arguments(function: _Function, *, is_method: bool = False) -> tuple[str, list[str]]:
    """What is passed for the parameters that have no default."""
    parameters = [*function.args.posonlyargs, *function.args.args]
    parameters = parameters[: len(parameters) - len(function.args.defaults)]
    parameters = parameters[1:] if is_method else parameters
    required = zip(function.args.kwonlyargs, function.args.kw_defaults, strict=True)
    parameters += [parameter_name for parameter_name, default in required if default is None]
    texts: list[str] = []
    made_up: list[str] = []
    for parameter in parameters:
        stub = role(parameter.arg, function.body, parameter.annotation)
        if stub is None:
            raise UnknownName(parameter.arg)
        positional = parameter in function.args.posonlyargs
        texts.append(stub.text if positional else f"{parameter.arg}={stub.text}")
        made_up.append(f"`{parameter.arg}` of `{function.name}`: {stub.what}")
    return ", ".join(texts), made_up


def _row(node: _Function) -> int:
    return node.lineno
