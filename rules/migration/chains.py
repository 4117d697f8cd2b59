"""Old calls, written as the calls or the methods of a dataset that took their place.

A template says how: `{name}` is an argument that must be given, `{name|other}` has another text where it is not, a
piece `{, keyword=name}` is left out where it is not, `{|other}` is always that text, and `!name` is the opposite of a
literal `True` or `False`. A text before an operator gets parentheses where it needs some.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from tflint_gpu.lazy_patterns import regex
from tflint_gpu.rule import Edit

if TYPE_CHECKING:
    from tflint_gpu.model import Model

_PIECE = regex(r"\{(, \w+=)?(!?)(\w*)(?:\|([^}]*))?\}")
_ATOM = regex(r"[\w.]+")
_FIRST_WITH_ALL = (2, 4)  # `tf.data.AUTOTUNE` and `deterministic`
_OPPOSITE = {"True": "False", "False": "True"}


def rewritten(model: Model, function: cst.CSTNode, parameters: tuple[str, ...], template: str) -> Edit | None:
    """`dataset.apply(old(...))` with methods instead; None for other uses, and for arguments without a counterpart.

    Arguments:
        function: the old function, where it is called.
        parameters: its own, in their order.
        template: of the methods.
    """
    file = model.file
    call = file.call_at(function)
    if call is None or model.target.tensorflow < _FIRST_WITH_ALL:
        return None
    outer = file.tree.parents.get(file.tree.parents[call])
    if not (
        isinstance(outer, cst.Call)
        and isinstance(outer.func, cst.Attribute)
        and outer.func.attr.value == "apply"
        and len(outer.args) == 1
        and outer.args[0].value is call
    ):
        return None
    given = _given(model, call, parameters)
    methods = None if given is None else _filled(model, function, template, given)
    dataset = file.source.text[file.span(outer)[0] : file.span(outer.func.attr)[0]]  # with its parentheses
    # With what is before the dot, too: behind a comment the methods would be part of it.
    return None if methods is None else Edit(outer, dataset[: dataset.rindex(".")] + methods)


def called(model: Model, function: cst.CSTNode, parameters: tuple[str, ...], template: str) -> Edit | None:
    """`old(...)` as another call; None for other uses, and for arguments without a counterpart.

    Arguments:
        function, parameters: as above.
        template: of the new call, which begins with the full name of the new function.
    """
    call = model.file.call_at(function)
    name, bracket, rest = template.partition("(")
    new = model.mentions.respelled(call.func, name) if call is not None else None
    if call is None or new is None or model.target.tensorflow < _FIRST_WITH_ALL:
        return None
    given = _given(model, call, parameters)
    text = None if given is None else _filled(model, function, bracket + rest, given)
    return None if text is None else Edit(call, new + text)


def _given(model: Model, call: cst.Call, parameters: tuple[str, ...]) -> dict[str, str] | None:
    """The texts of a call's arguments by parameter."""
    given: dict[str, str] = {}
    for index, arg in enumerate(call.args):
        if arg.star or (arg.keyword is None and index >= len(parameters)):
            return None
        given[parameters[index] if arg.keyword is None else arg.keyword.value] = model.file.code(arg.value)
    return given


def _filled(model: Model, place: cst.CSTNode, template: str, given: dict[str, str]) -> str | None:
    pieces: list[str] = []
    position = 0
    used: set[str] = set()
    for piece in _PIECE.finditer(template):
        keyword, negated, name, otherwise = piece.groups()
        used.add(name)
        text = given.get(name)
        if text is not None and negated:
            text = _OPPOSITE.get(text)
            if text is None:
                return None
        elif text is None and otherwise is not None:
            text = model.mentions.respelled(place, otherwise) if "." in otherwise else otherwise  # type: ignore[arg-type]
        if text is None and (keyword is None or name in given):
            return None
        if text is not None and template[piece.end() :].startswith(" ") and not _ATOM.fullmatch(text):
            text = f"({text})"
        pieces += [template[position : piece.start()], f"{keyword or ''}{text}" if text is not None else ""]
        position = piece.end()
    return "".join([*pieces, template[position:]]) if used.issuperset(given) else None
