"""Weights that go from model to model by way of the host, as a loop of assignments from variable to variable."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from copy import deepcopy
from typing import TYPE_CHECKING

from tflint_gpu.lazy_dataclasses import dataclass
from tflint_gpu.rule import Edit, Fix

if TYPE_CHECKING:
    from tflint_gpu.model import File, Node

    from .weight_copies import WeightCopy

_MOVING = frozenset("range len zip enumerate get_weights set_weights".split())


@dataclass(frozen=True, slots=True)
class _Average:
    """What each weight becomes.

    Arguments:
        models: the model of each name that stands for a weight in `value`, in text.
        value: the new value.
        loop: over the lists of weights, where there is one.
    """

    models: dict[str, str]
    value: ast.expr
    loop: Node | None = None


def assigned(copy: WeightCopy) -> Fix | None:
    """A loop of assignments; None where a list of weights is used for more, or something else runs meanwhile.

    It is unsafe: both models must have the same variables in the same order, which `set_weights` checks.
    """
    file, call = copy.repeated.file, copy.repeated.call
    line = file.tree.statement(call)
    match file.python_statements(line):
        case [ast.Expr(ast.Call(ast.Attribute(receiver), arguments, keywords))] if len(arguments) + len(keywords) == 1:
            given = arguments[0] if arguments else keywords[0].value
        case _:
            return None
    target, lists = ast.unparse(receiver), _Lists(file, line)
    average = lists.average(given, target)
    if average is None or not lists.are_free(average):
        return None
    own = next((name for name, model in average.models.items() if model == target), "")
    mine = own or lists.unused("mine", "own_weight")
    models = average.models if own else {mine: target, **average.models}
    names, weights = ", ".join(models), ", ".join(f"{model}.weights" for model in models.values())
    at = average.loop or line
    text = f"for {names} in zip({weights}):\n{file.indentation(at)}    {mine}.assign({ast.unparse(average.value)})"
    gone = [*lists.statements, *([line] if average.loop is not None else [])]
    edit = Edit(average.loop or call, text)
    return Fix("Assign the weights one by one", "unsafe", (edit, *(Edit(node, "", "lines") for node in gone)))


class _Lists:
    """The lists of weights in the block of one `set_weights`, and which of them were asked for."""

    def __init__(self, file: File, line: Node) -> None:
        self._file, self._line = file, line
        block = file.tree.siblings(line)
        self._before = {node: file.python_statements(node) for node in block[: block.index(line)]}
        self._made: dict[str, Node] = {}

    def unused(self, *names: str) -> str:
        """The first of some names that the function around does not use; the last where it uses all."""
        tree, function = self._file.tree, self._file.tree.function(self._line)
        around = function or tree.module
        return next((name for name in names if not tree.inside(tree.uses.get(name, ()), around)), names[-1])

    @property
    def statements(self) -> list[Node]:
        """The statements that only gave the lists their names."""
        return list(dict.fromkeys(self._made.values()))

    def average(self, given: ast.expr, target: str) -> _Average | None:
        """What the given weights are; None where it cannot be said of each by itself."""
        if isinstance(given, ast.ListComp):
            return self._of_comprehension(given)
        model = self._model(given)
        if model is None:
            return None
        if model == target:
            return self._of_loop(given.id, target) if isinstance(given, ast.Name) else None
        other = self.unused("other", "other_weight")
        return _Average({other: model}, ast.Name(other))

    def _of_comprehension(self, given: ast.ListComp) -> _Average | None:
        """`[0.9 * t + 0.1 * w for t, w in zip(a.get_weights(), b.get_weights())]`."""
        match given.generators:
            case [ast.comprehension(ast.Tuple(targets), pairs, [])]:
                pairs = self._value(pairs)
            case _:
                return None
        names = [target.id for target in targets if isinstance(target, ast.Name)]
        values = pairs.args if isinstance(pairs, ast.Call) and ast.unparse(pairs.func) == "zip" else []
        models = [model for value in values if (model := self._model(value)) is not None]
        if not len(set(names)) == len(targets) == len(values) == len(models):
            return None
        if any(name in self._file.tree.scope(self._line).bindings for name in names):
            return None  # a comprehension's names are its own, those of a loop are not
        return _Average(dict(zip(names, models, strict=True)), given.elt)

    def _of_loop(self, own: str, target: str) -> _Average | None:
        """`for i in range(len(a)): b[i] = 0.9 * b[i] + 0.1 * a[i]`, or with `i, w in enumerate(a.get_weights())`."""
        setting = [(node, items) for node, made in self._before.items() if (items := _set_items(made, own)) is not None]
        if len(setting) != 1:
            return None
        loop, (names, index, counted, value) = setting[0]
        stand_ins = {name: self.unused(*words) for name, words in zip(names, _STAND_INS, strict=False)}
        models = {stand_ins[name]: self._model(ast.Name(name)) or "" for name in stand_ins}
        models.update({name: self._model(counted) or "" for name in index[1:]})
        value = _Items(stand_ins, index[0]).visit(deepcopy(value))
        read = {part.id for part in ast.walk(value) if isinstance(part, ast.Name)}
        is_whole = self._model(counted) in models.values() and len(names) <= len(_STAND_INS)
        return (
            _Average(models, value, loop)
            if is_whole and all(models.values()) and not read & {index[0], *names}
            else None
        )

    def _value(self, written: ast.expr) -> ast.expr:
        """What an expression is, or the name that it is was given in the block."""
        if not isinstance(written, ast.Name):
            return written
        bindings = self._file.tree.scope(self._line).bindings.get(written.id, ())
        for node, made in self._before.items():
            match made:
                case [ast.Assign([ast.Name(name)], value)] if name == written.id and len(bindings) == 1:
                    self._made[name] = node
                    return value
        return written

    def _model(self, weights: ast.expr) -> str | None:
        """The model whose `get_weights()` an expression is, in text."""
        match self._value(weights):
            case ast.Call(ast.Attribute(model, "get_weights"), [], []):
                return ast.unparse(model)
        return None

    def are_free(self, average: _Average) -> bool:
        """Whether the lists serve nothing else, and nothing that may change a weight runs until they are set."""
        file, own = self._file, {*self._made.values(), self._line, average.loop}
        for name in self._made:
            for use in file.tree.uses.get(name, ()):
                if file.tree.scope(use) is file.tree.scope(self._line) and not any(
                    node is not None and file.tree.within(use, node) for node in own
                ):
                    return False
        nodes = list(self._before)
        first = min((nodes.index(node) for node in own if node in nodes), default=len(nodes))
        calls = [call for node in nodes[first:] for call in _calls(self._before[node])]
        between = [call for node in nodes[first:] if node not in own for call in _calls(self._before[node])]
        receivers = {ast.unparse(call.func.value) for call in between if isinstance(call.func, ast.Attribute)}
        return {_last(call) for call in calls} <= _MOVING and receivers.isdisjoint(average.models.values())


_STAND_INS = (("mine", "own_weight"), ("other", "other_weight"))


def _set_items(made: Sequence[ast.stmt], own: str) -> tuple[list[str], list[str], ast.expr, ast.expr] | None:
    """The lists that a loop indexes, its targets, the list that it goes over, and what it makes of each item."""
    match list(made):
        case [
            ast.For(
                ast.Name(index),
                ast.Call(ast.Name("range"), [ast.Call(ast.Name("len"), [counted], [])], []),
                [ast.Assign([ast.Subscript(ast.Name(changed), ast.Name(at))], value)],
                [],
            )
        ]:
            targets = [index]
        case [
            ast.For(
                ast.Tuple([ast.Name(index), ast.Name(item)]),
                ast.Call(ast.Name("enumerate"), [counted], []),
                [ast.Assign([ast.Subscript(ast.Name(changed), ast.Name(at))], value)],
                [],
            )
        ]:
            targets = [index, item]
        case _:
            return None
    items = (part.value for part in ast.walk(value) if isinstance(part, ast.Subscript))
    names = sorted({item.id for item in items if isinstance(item, ast.Name)} - {own})
    return ([own, *names], targets, counted, value) if (changed, at) == (own, index) else None


class _Items(ast.NodeTransformer):
    """Names in place of the items of lists at an index."""

    def __init__(self, names: dict[str, str], index: str) -> None:
        self._names = {f"{name}[{index}]": stand_in for name, stand_in in names.items()}

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        stand_in = self._names.get(ast.unparse(node))
        return node if stand_in is None else ast.Name(stand_in)


def _calls(statements: Sequence[ast.stmt]) -> Iterator[ast.Call]:
    return (node for statement in statements for node in ast.walk(statement) if isinstance(node, ast.Call))


def _last(call: ast.Call) -> str:
    return ast.unparse(call.func).rpartition(".")[2]
