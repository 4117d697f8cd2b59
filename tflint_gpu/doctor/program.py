"""What a program sets by itself before its first operation, read in its code and not run."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import libcst as cst

from tflint_gpu.checking.engine import Engine
from tflint_gpu.checking.stack import with_large_stack
from tflint_gpu.doctor.facts import Setting
from tflint_gpu.model import Model, Runtime
from tflint_gpu.settings.config import SettingsResolver
from tflint_gpu.settings.files import Discovery
from tflint_gpu.settings.options import Options

_NAMES = frozenset(
    (
        "CUDA_VISIBLE_DEVICES CUDA_DEVICE_ORDER LD_LIBRARY_PATH XLA_FLAGS TF_XLA_FLAGS TF_FORCE_GPU_ALLOW_GROWTH "
        "TF_USE_LEGACY_KERAS KERAS_BACKEND"
    ).split()
)
_BRANCHES = (cst.If, cst.Try, cst.For, cst.While, cst.FunctionDef, cst.Lambda, cst.Match)


def read_settings(program: Path, here: Path) -> list[Setting]:
    """What a program sets, without reading any settings of ours.

    Arguments:
        here: what a relative path starts from.

    Raises:
        NoSuchPath: there is no such file.
    """
    resolver = SettingsResolver(Options(), None, True, here)
    files = Discovery(resolver, here).find([str(program)])

    def read() -> list[Setting]:
        model = Engine(resolver, here).model_of(files[0]) if files else None
        return [] if model is None else settings_of(model)

    return with_large_stack(read)


def settings_of(model: Model) -> list[Setting]:
    """The variables and devices that a program certainly sets; what stands in a branch or a function is left out."""
    settings = [*_variables(model), *_devices(model)]
    order = model.file.tree.order
    return [setting for node, setting in sorted(settings, key=lambda pair: order[pair[0]])]


def _variables(model: Model) -> Iterator[tuple[cst.CSTNode, Setting]]:
    """`os.environ["NAME"] = "value"`, and `os.environ.setdefault`, `os.environ.update(NAME=...)`."""
    file = model.file
    for target, value in file.tree.item_assignments:
        index = target.slice[0].slice if len(target.slice) == 1 else None
        if file.name(target.value) == "os.environ" and isinstance(index, cst.Index) and value is not None:
            yield from _variable(model, target, index.value, value)
    for call in model.calls("os.environ.setdefault", "os.putenv"):
        if len(call.args) == 2:
            yield from _variable(model, call, call.args[0].value, call.args[1].value)
    for call in model.calls("os.environ.update"):
        for arg in call.args:
            if arg.keyword is not None and arg.keyword.value in _NAMES and _surely_runs(model, call):
                value = model.value(arg.value)
                if isinstance(value, str):
                    yield call, _setting(model, call, arg.keyword.value, value)


def _variable(
    model: Model, place: cst.CSTNode, name: cst.BaseExpression, value: cst.BaseExpression
) -> Iterator[tuple[cst.CSTNode, Setting]]:
    known, text = model.value(name), model.value(value)
    if known in _NAMES and isinstance(text, str) and _surely_runs(model, place):
        yield place, _setting(model, place, known, text)


def _devices(model: Model) -> Iterator[tuple[cst.CSTNode, Setting]]:
    """`tf.config.set_visible_devices([], "GPU")`."""
    for call in model.calls("tf.config.set_visible_devices", "tf.config.experimental.set_visible_devices"):
        first = call.args[0].value if call.args else None
        kind = model.value(call.args[1].value) if len(call.args) > 1 else "GPU"
        is_empty = isinstance(first, cst.List | cst.Tuple) and not first.elements
        if kind != "GPU" or not is_empty or not _surely_runs(model, call):
            continue
        if model.once(Runtime).initialiser_before(model.file, call) is None:
            yield call, _setting(model, call, "tf.config.set_visible_devices", "[]")


def _surely_runs(model: Model, place: cst.CSTNode) -> bool:
    return not any(isinstance(parent, _BRANCHES) for parent in model.file.tree.ancestors(place))


def _setting(model: Model, place: cst.CSTNode, name: str, value: str) -> Setting:
    source = model.file.source
    return Setting(name, value, source.name, source.locate(model.file.span(place)[0]).row)
