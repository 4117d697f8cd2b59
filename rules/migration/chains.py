"""Old operations that a dataset is given by `apply`, written as the methods that took their place.

A template says how: `{name}` is an argument that must be given, `{name|other}` has another text where it is not, a
piece `{, keyword=name}` is left out where it is not, `{|other}` is always that text, and `!name` is the opposite of a
literal `True` or `False`.
"""

from __future__ import annotations

import re

import libcst as cst

from tflint_gpu.model import Model
from tflint_gpu.rule import Edit

_PIECE = re.compile(r"\{(, \w+=)?(!?)(\w*)(?:\|([^}]*))?\}")
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
    return None if methods is None else Edit(outer, file.code(outer.func.value) + methods)


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
        pieces += [template[position : piece.start()], f"{keyword or ''}{text}" if text is not None else ""]
        position = piece.end()
    return "".join([*pieces, template[position:]]) if used.issuperset(given) else None
