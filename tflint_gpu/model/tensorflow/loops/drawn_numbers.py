"""Python numbers that are another each time they are asked for: clocks and draws."""

from __future__ import annotations

from collections.abc import Callable

import libcst as cst

from tflint_gpu.model.library.nondeterminism import TIMERS
from tflint_gpu.model.library.operations import operation_named
from tflint_gpu.model.python.project.file import File
from tflint_gpu.model.python.syntax.syntax import Expression, argument
from tflint_gpu.model.python.value_flow.constants import Constants

_NEW_EACH_TIME = TIMERS | frozenset(
    (
        "random.random random.uniform random.randint random.randrange random.gauss random.normalvariate "
        "random.betavariate random.expovariate random.triangular"
    ).split()
)
_DRAWN = frozenset(  # without a size these give Python's own numbers, not NumPy's
    "numpy.random.rand numpy.random.randn numpy.random.random numpy.random.uniform numpy.random.normal "
    "numpy.random.randint".split()
)
_WHOLE = frozenset(["random.randint", "random.randrange", "numpy.random.randint"])


def is_drawn(file: File, call: cst.Call, is_number: Callable[[Expression], bool]) -> bool:
    """Whether a call gives one Python number, another each time: a clock's or a random one, and no array."""
    name = file.name(call.func) or ""
    if name in _NEW_EACH_TIME:
        return True
    size = operation_named(name).size
    most = size.position if size is not None else 0
    if name not in _DRAWN or argument(call, -1, "size") is not None or len(call.args) > most:
        return False
    return all(is_number(arg.value) for arg in call.args)


def has_few_values(file: File, call: cst.Call, constants: Constants, few: int) -> bool:
    """Whether a call that draws can give no more than a few different numbers: `random.randint(0, 2)`."""
    bounds = [constants.of(file, arg.value) for arg in call.args]
    if file.name(call.func) not in _WHOLE or not all(isinstance(bound, int) for bound in bounds) or not bounds:
        return False
    return bool(bounds[-1] - (bounds[0] if len(bounds) > 1 else 0) <= few)
