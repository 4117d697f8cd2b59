"""Scales of an image: a loop resizes it to another size in each of a few iterations."""

from __future__ import annotations

import libcst as cst

from tflint_gpu.lazy_patterns import regex
from tflint_gpu.model import Expression, File, IterationFlow, LoopNode, changed_in, method_name, names_in, names_of

_SCALING = regex(r"resiz|resampl|rescale")


def has_size_of_iteration(file: File, loop: LoopNode, given: list[Expression]) -> bool:
    """Whether a call gets what each iteration resizes to another size: scales of an image, each traced for itself."""
    calls = [call for call in file.calls_below.get(loop, ()) if _SCALING.search(_last_name(call).lower())]
    if not calls:
        return False
    names = names_of(loop) | _counted(file, loop)
    uses = [node for name in names for node in file.tree.inside(file.tree.uses.get(name, ()), loop)]
    sizes = IterationFlow(file, loop, frozenset(uses))
    resized = frozenset(
        call
        for call in calls
        for arg in call.args[1:]
        if isinstance(arg.value, cst.Tuple | cst.List)
        if sizes.holds(arg.value)
    )
    return any(map(IterationFlow(file, loop, resized).holds, given))


def _last_name(call: cst.Call) -> str:
    return method_name(call) or (call.func.value if isinstance(call.func, cst.Name) else "")


def _counted(file: File, loop: LoopNode) -> frozenset[str]:
    """The names in the condition of a `while` that its iterations change."""
    if not isinstance(loop, cst.While):
        return frozenset()
    asked = names_in(loop.test)
    return frozenset(asked & changed_in(file, loop))
