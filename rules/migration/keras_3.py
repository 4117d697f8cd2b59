"""TFG7: what Keras 3 took away of Keras 2, one rule for each table of `keras_3.toml`."""

from __future__ import annotations

from collections.abc import Iterator
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import libcst as cst

from tflint_gpu.model import Class, Kinds, argument, own_attribute, without_arguments
from tflint_gpu.model.library.classes import LOSS_SCALING
from tflint_gpu.rule import Edit, Fix

from .renames import Renamed, Use, rules_of
from .table import KERAS_3, Rename

if TYPE_CHECKING:
    from tflint_gpu.model import Expression, Model

_OWNERS: dict[str, tuple[Literal["model", "layer", "metric", "optimizer"], ...]] = {
    "": ("model",),
    "layer": ("layer", "model"),
    "metric": ("metric",),
    "optimizer": ("optimizer",),
}
_OTHER_KERAS = ("tf_keras", "tensorflow.python.", "tensorflow.compat.v1.")


class RemovedFromKeras(Renamed):
    """What the rules have in common: names as in any table, arguments, and the parts of Keras's objects."""

    least_tensorflow = (2, 16)

    def uses(self, model: Model) -> Iterator[Use]:
        """What the file uses of Keras 2."""
        yield from self.names(model)
        for rename in self.renames:
            if rename.old or rename.state(model) is None:
                continue
            if rename.attribute:
                yield from _read_only(model, rename) if rename.kind == "callback" else _attributes(model, rename)
                continue
            for call in _calls(model, rename):
                use = _use(model, rename, call)
                if use is not None:
                    yield use


def _calls(model: Model, rename: Rename) -> Iterator[cst.Call]:
    """The calls of the functions or methods that a row is about."""
    if rename.method:
        for call in model.method_calls(rename.method):
            func = call.func
            if not isinstance(func, cst.Attribute) or model.inference.called(model.file, call) is not None:
                continue
            if _is_kind(model, rename, call, func.value):
                yield call
        return
    for call in model.calls(*rename.calls):
        name, written = model.name(call.func) or "", model.file.names.written(call.func) or ""
        if not any(fnmatchcase(name, other) for other in rename.no) and not written.startswith(_OTHER_KERAS):
            yield call


def _is_kind(model: Model, rename: Rename, call: cst.Call, owner: Expression) -> bool:
    """Whether the owner of a method or an attribute is certainly what the row says."""
    kinds = model.once(Kinds)
    if rename.kind == "scaler":
        makers = [(origin.made_by, kinds.of(origin)) for origin in model.inference.of(model.file, owner)]
        return all(name in LOSS_SCALING or (name is None and kind in (None, "optimizer")) for name, kind in makers)
    if not rename.kind and rename.method:
        return kinds.receiver(model.file, call, rename.method) is not None
    if not kinds.must_be(model.file, owner, *_OWNERS[rename.kind]):
        return False
    origins = model.inference.followed(model.file, owner)
    return not any((origin.made_by or "").startswith("tf.compat.v1.") for origin in origins)


def _use(model: Model, rename: Rename, call: cst.Call) -> Use | None:
    """What a call has of Keras 2."""
    last = call.func.attr if isinstance(call.func, cst.Attribute) else call.func
    if rename.first:
        return _first(model, rename, call)
    if rename.missing:
        if any(arg.star for arg in call.args) or argument(call, 0, rename.missing) is not None:
            return None
        fix = Fix(f"Set `{rename.missing}` to its Keras 2 default", "safe", (_given(model, call, rename),))
        told = f"pass the default of Keras 2: `{rename.missing}={rename.value}`"
        return Use(rename, call, last, rename.missing, rename.raises or "TypeError", fix, model.file.code(last), told)
    if not rename.keywords:
        fixed = Edit(last, rename.new) if rename.new and rename.takes(call) else None
        renamed = Fix(f"Write `{rename.new}`", rename.fix or "unsafe", (fixed,)) if fixed else None
        return Use(rename, call, last, rename.method, rename.raises or "AttributeError", renamed, help=_help(rename))
    gone = [arg for arg in rename.gone(call) if not rename.values or model.value(arg.value) in rename.values]
    if not gone or gone[0].keyword is None:
        return None
    name = "`, `".join(arg.keyword.value for arg in gone if arg.keyword is not None)
    error = rename.raises or "TypeError"
    if rename.ignored:
        if all(model.value(arg.value) in (0, None) for arg in gone):
            return None
        error = ""
    fix_of_arguments, owner = _argument_fix(model, rename, call, gone), model.file.code(last)
    return Use(rename, call, gone[0].keyword, name, error, fix_of_arguments, owner, _help(rename))


def _given(model: Model, call: cst.Call, rename: Rename) -> Edit:
    text = f"{rename.missing}={rename.value}"
    return (
        Edit(call.args[0], f"{text}, ", "before") if call.args else Edit(call, f"{model.file.code(call.func)}({text})")
    )


def _argument_fix(model: Model, rename: Rename, call: cst.Call, gone: list[cst.Arg]) -> Fix | None:
    given = {arg.keyword.value for arg in call.args if arg.keyword is not None}
    if rename.new and rename.fix and rename.new not in given:
        return Fix(f"Write `{rename.new}`", rename.fix, tuple(Edit(a.keyword, rename.new) for a in gone if a.keyword))
    if rename.drops and rename.fix and ("any" in rename.drops or all(_is_one(model, arg, rename) for arg in gone)):
        left = without_arguments(model.file, call, gone)
        words = "the argument, which has" if len(gone) == 1 else "the arguments, which have"
        return Fix(f"Remove {words} no effect", rename.fix, (Edit(call, left),))
    return None


def _is_one(model: Model, arg: cst.Arg, rename: Rename) -> bool:
    return model.file.code(arg.value) in rename.drops


def _first(model: Model, rename: Rename, call: cst.Call) -> Use | None:
    """A call whose first argument means another thing in Keras 3."""
    first = call.args[0] if call.args else None
    if first is None or first.keyword is not None or first.star:
        return None
    if rename.first == "text":
        if not isinstance(model.value(first.value), str):
            return None
        named = [(arg, keyword) for arg, keyword in zip(call.args, rename.parameters, strict=False) if not arg.keyword]
        is_plain = not any(arg.star for arg in call.args) and sum(not a.keyword for a in call.args) == len(named)
        edits = tuple(Edit(arg, f"{keyword}=", "before") for arg, keyword in named)
        fix = Fix("Name the arguments", "safe", edits) if is_plain and edits else None
        return Use(rename, call, first.value, model.file.code(first.value), rename.raises, fix, rename.method)
    rate = first.value
    if not isinstance(rate, cst.Attribute) or rate.attr.value not in rename.keywords:
        return None
    if (model.file.names.written(call.func) or "").startswith("keras."):
        return None  # that name itself is gone
    if not model.once(Kinds).must_be(model.file, rate.value, "optimizer"):
        return None
    value = argument(call, 1, "value")
    text = f"{model.file.code(rate.value)}.{rename.new}({model.file.code(value)})" if value is not None else ""
    fixed = Fix(f"Write `{rename.new}`", "safe", (Edit(call, text),)) if len(call.args) == 2 and text else None
    return Use(rename, call, call.func, model.file.code(call.func), rename.raises, fixed)


def _attributes(model: Model, rename: Rename) -> Iterator[Use]:
    """The reads of a part that is gone, or the assignments to it, which Keras 3 lets pass."""
    parents, kinds = model.file.tree.parents, model.once(Kinds)
    nodes = [
        node
        for node in model.mentions.attributes(rename.attribute)
        if kinds.must_be(model.file, node.value, *_OWNERS[rename.kind]) and not _is_own(model, node)
    ]
    given = [node for node in nodes if isinstance(parents[node], cst.AssignTarget)]
    named = "an optimizer" if rename.kind == "optimizer" else "a model"
    is_whole = not rename.ignored or len(nodes) == len(model.mentions.attributes(rename.attribute))

    def written(renamed: list[cst.Attribute]) -> Fix | None:
        edits = tuple(Edit(owned.attr, rename.new) for owned in renamed)
        return Fix(f"Write `{rename.new}`", rename.fix, edits) if rename.fix and is_whole else None

    of_all = written(nodes) if rename.ignored else None
    for node in given if rename.ignored else () if given else nodes:  # what was assigned can be read
        fix = of_all if rename.ignored else written([node])
        error = "" if rename.ignored else "AttributeError"
        yield Use(rename, node, node.attr, rename.attribute, error, fix, named, _help(rename))


def _is_own(model: Model, read: cst.Attribute) -> bool:
    """Whether an object may have an attribute by its class in the project: a property, or what `__init__` sets."""
    classes = (model.inference.instance_class(origin) for origin in model.inference.of(model.file, read.value))
    return any(cls is not None and read.attr.value in cls.file.attributes_given for cls in classes)


def _read_only(model: Model, rename: Rename) -> Iterator[Use]:
    """The assignments of callbacks to an attribute of their own that is a property in Keras 3."""
    for assigned in model.file.tree.attributes_set(rename.attribute):
        target, function = assigned.target, model.file.tree.function(assigned.target)
        owner = model.file.tree.class_of(function) if function is not None else None
        if own_attribute(target) is None or owner is None:
            continue
        cls, kinds = Class(model.file, owner), model.once(Kinds)
        if kinds.is_callback(cls) and model.inference.definitions.method(cls, rename.attribute) is None:
            yield Use(rename, target, target.attr, rename.attribute, "AttributeError", None, "a callback", rename.help)


def _help(rename: Rename) -> str:
    return rename.help or (f"write `{rename.new}`" if rename.new else "")


RULES = rules_of(Path(__file__).with_suffix(".toml"), RemovedFromKeras, removed=KERAS_3)
