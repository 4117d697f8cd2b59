"""Operations without a kernel of XLA, in what XLA compiles."""

from __future__ import annotations

from functools import cached_property

import libcst as cst

from tflint_gpu.lazy_dataclasses import dataclass
from tflint_gpu.model.library.xla import CHOICES, EFFECTS_WITHOUT_KERNEL, TABLES, TEXTS, WITHOUT_KERNEL
from tflint_gpu.model.model import Analysis, Once
from tflint_gpu.model.python.syntax.syntax import Node, argument
from tflint_gpu.model.tensorflow.effects.host_functions import HostFunctions
from tflint_gpu.model.tensorflow.tracing.traced_code import Traced, TracedCode
from tflint_gpu.model.tensorflow.tracing.xla_roots import XlaCompilations, XlaRoots
from tflint_gpu.model.tensorflow.types.guards import Guards


@dataclass(frozen=True, slots=True)
class MissingKernel:
    """A call that XLA cannot compile, and what has it compiled.

    Arguments:
        name: "tf.numpy_function", as its module has it.
    """

    traced: Traced
    call: cst.Call
    name: str
    compiled: XlaRoots


class MissingKernels(Analysis):
    """The calls that XLA cannot compile, seen from one file."""

    guards = Once(Guards)
    traced_code = Once(TracedCode)
    host_functions = Once(HostFunctions)
    compilations = Once(XlaCompilations)

    @cached_property
    def all(self) -> list[MissingKernel]:
        """Those that must run where XLA compiles, each once."""
        refused: dict[Node, MissingKernel] = {}
        for roots in self.compilations.roots:
            for traced in self.traced_code.reached_from(roots.functions):
                for call in traced.function.calls:
                    name = None if call in refused else self._refused(traced, call)
                    if name is not None and self._is_compiled(traced, call, roots):
                        refused[call] = MissingKernel(traced, call, name, roots)
        return list(refused.values())

    def _is_compiled(self, traced: Traced, call: cst.Call, roots: XlaRoots) -> bool:
        if self.traced_code.runs_once(traced.file, call) or self.traced_code.may_be_left_out(traced, call):
            return False
        cut = (on_gradient.host.call for on_gradient in self.host_functions.on_gradients)
        return not roots.by_itself or call not in cut

    def _refused(self, traced: Traced, call: cst.Call) -> str | None:
        """The name of an operation without a kernel, as it is called."""
        host = self.host_functions.host_call(traced, call)
        if host is not None:
            return host.name
        name = traced.file.name(call.func)
        if name in EFFECTS_WITHOUT_KERNEL:
            return name
        trace = traced.trace
        if trace is None or not trace.holds_tensor(*(arg.value for arg in call.args)):
            return None
        if self.inference.is_method_of(traced.file, call, ("lookup",), TABLES, traced.context):
            return "lookup"
        if name is None:
            return None
        if name in WITHOUT_KERNEL or name.startswith(TEXTS):
            return name
        for choice in CHOICES.get(name, ()):
            given = argument(call, choice.position, choice.keyword)
            if given is not None:
                value = self.constants.of(traced.file, given, traced.context)
                method = (traced.file.name(given) or "").removeprefix("tf.image.ResizeMethod.").lower()
                if (isinstance(value, str | bool) and value in choice.refused) or method in choice.refused:
                    return f"{name}({choice.keyword}={traced.file.code(given)})"
        return None
