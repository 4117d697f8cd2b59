"""What in a piece of code only Keras 2 understands."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from libcst import Arg, Attribute

from tflint_gpu.model.library.keras_methods import GONE_ARGUMENTS, GONE_METHOD_ARGUMENTS, GONE_METHODS, GONE_NAMES
from tflint_gpu.model.python.names.names import canonical
from tflint_gpu.model.python.project.file import File
from tflint_gpu.model.python.syntax.syntax import Node
from tflint_gpu.verify.slicing.parts import Part

_ARGUMENTS_ALLOWED = frozenset(["keras.layers.Embedding"])
# Keras 3 has them in `keras.losses`, and not in `tf.keras.losses`, which is `tf.losses`, too.
_LOSS = re.compile(r"kl_divergence|log_cosh|mean_(?:squared|absolute)(?:_percentage|_logarithmic)?_error")
_LOSSES = re.compile(rf"tensorflow\.(?:keras\.)?(?:losses|metrics)\.(?:{_LOSS.pattern})")
_RESHAPE = "(lambda new: lambda array, *shape, newshape=None, **more: new(array, *(shape or [newshape]), **more))"
# A table in parts, as before NumPy 2: `train, test = np.split(table.sample(frac=1), [int(0.8 * len(table))])`.
_SPLIT = (
    "(lambda split: lambda rows, at, axis=0: [rows.iloc[a:b] for a, b in zip([0, *at], [*at, len(rows)])] "
    "if hasattr(rows, 'iloc') and not isinstance(at, int) else split(rows, at, axis))"
)
_NAMES_OF_NUMPY = {"float": "float", "int": "int", "bool": "bool", "object": "object", "str": "str"}


def old_names_of_numpy(file: File) -> Iterator[str]:
    """Statements that give NumPy the names again that a file uses and NumPy removed since 1.24."""
    for old, now in _NAMES_OF_NUMPY.items():
        if re.search(rf"\b(?:np|numpy)\.{old}\b", file.source.code):
            yield f"numpy.{old} = {now}"
    if re.search(r"\b(?:np|numpy)\.reshape\([^\n]*\bnewshape=", file.source.code):
        yield f"numpy.reshape = {_RESHAPE}(numpy.reshape)"  # NumPy 2.4 calls it `shape`
    if re.search(r"\b(?:np|numpy)\.split\(\s*\w+\.sample\(", file.source.code):
        yield f"numpy.split = {_SPLIT}(numpy.split)"
    if any(binding.target == "gym" for binding in file.tree.root.bindings.get("gym", ())):
        yield "numpy.bool8 = numpy.bool_"  # the last gym asks for it, and NumPy 2 has it no more


def signs_of_keras_2(file: File) -> Iterator[tuple[Node, str]]:
    """The places at which a file uses what Keras 3 has no more, each with what is used.

    Source: the signatures of Keras 2.15 and Keras 3.15, and what Keras 3 raises for each.
    """
    for names, arguments in GONE_ARGUMENTS.items():
        for call in file.calls(names):
            if file.name(call.func) not in _ARGUMENTS_ALLOWED:
                yield from _given(call.args, arguments)
    for method in GONE_METHODS:
        for call in file.method_calls(method):
            yield call, f"{method}()"
    for method, arguments in GONE_METHOD_ARGUMENTS.items():
        for call in file.method_calls(method):
            yield from _given(call.args, arguments)
    for bindings in file.tree.root.bindings.values():
        for binding in bindings:
            name = canonical(binding.target) if binding.kind == "import" else ""
            if _LOSSES.fullmatch(binding.target) or any(
                name == old_name or (old_name.endswith(".*") and f"{name}.".startswith(old_name[:-1]))
                for old_name in sorted(GONE_NAMES)
            ):
                yield binding.node, name
    for call in file.calls(*sorted(GONE_NAMES)):
        yield call, file.code(call.func)
    for node in file.tree.nodes(Attribute) if _LOSS.search(file.source.code) else ():
        if _LOSS.fullmatch(node.attr.value):
            first, _, rest = file.code(node).partition(".")
            if any(_LOSSES.fullmatch(f"{binding.target}.{rest}") for binding in file.tree.root.bindings.get(first, ())):
                yield node, file.code(node)


def first_sign_of_keras_2(parts: Iterable[Part]) -> str:
    """The first place that only Keras 2 understands; empty where there is none."""
    for part in parts:
        for node, what in signs_of_keras_2(part.file):
            if part.holds(node):
                return f"`{what}` in {part.file.source.name}:{part.file.source.locate(part.file.span(node)[0])}"
    return ""


def _given(arguments: Sequence[Arg], names: frozenset[str]) -> Iterator[tuple[Node, str]]:
    for arg in arguments:
        if arg.keyword is not None and arg.keyword.value in names:
            yield arg, f"{arg.keyword.value}="
