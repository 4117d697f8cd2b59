"""Python numbers that are another each time they are asked for: clocks and draws."""

from __future__ import annotations

from collections.abc import Callable

import libcst as cst

from tflint_gpu.model.library.nondeterminism import DRAWS, NUMBER_DRAWS, TIMERS, WHOLE_DRAWS
from tflint_gpu.model.library.operations import operation_named
from tflint_gpu.model.python.project.file import File
from tflint_gpu.model.python.syntax.syntax import Expression, argument
from tflint_gpu.model.python.value_flow.constants import Constants


def is_drawn(file: File, call: cst.Call, is_number: Callable[[Expression], bool]) -> bool:
    """Whether a call gives one Python number, another each time: a clock's or a random one, and no array."""
    name = file.name(call.func) or ""
    if name in TIMERS or name in NUMBER_DRAWS:
        return True
    operation = operation_named(name)
    is_number_of_numpy = operation.shape in ("filled", "counted") and name in DRAWS and name != "numpy.random.choice"
    most = operation.size.position if operation.size is not None else 0
    if not is_number_of_numpy or argument(call, -1, "size") is not None or len(call.args) > most:
        return False
    return all(is_number(arg.value) for arg in call.args)


def has_few_values(file: File, call: cst.Call, constants: Constants, few: int) -> bool:
    """Whether a call that draws can give no more than a few different numbers: `random.randint(0, 2)`."""
    bounds = [constants.of(file, arg.value) for arg in call.args]
    if file.name(call.func) not in WHOLE_DRAWS or not all(isinstance(bound, int) for bound in bounds) or not bounds:
        return False
    return bool(bounds[-1] - (bounds[0] if len(bounds) > 1 else 0) <= few)
