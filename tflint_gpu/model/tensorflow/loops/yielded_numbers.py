"""Python numbers that loops yield: of a `range`, of a list of numbers, the first ones of `enumerate`."""

from __future__ import annotations

import libcst as cst

from tflint_gpu.model.python.project.file import File
from tflint_gpu.model.python.syntax.scopes import Path
from tflint_gpu.model.python.syntax.syntax import Expression
from tflint_gpu.model.python.value_flow.inference import Inference
from tflint_gpu.model.python.value_flow.origins import Origin

_RANGES = frozenset(["itertools.count", "tqdm.trange", "tqdm.auto.trange", "tqdm.notebook.trange", "tqdm.tnrange"])


def yields_numbers(inference: Inference, file: File, data: Expression, path: Path) -> bool:
    """Whether some part of what is iterated is a new Python number in every iteration."""
    origins = inference.of(file, data)
    return bool(origins) and all(counts(inference, origin, path) for origin in origins)


def counts(inference: Inference, origin: Origin, path: Path) -> bool:
    """Whether iterating over a value gives numbers: a `range`, a list of them, what enumerates something."""
    file, node, call = origin.file, origin.node, origin.call
    if isinstance(node, cst.List | cst.Tuple) and not origin.access_path:
        written = [e.value for e in node.elements if isinstance(e.value, cst.Integer | cst.Float)]
        return not path and len(written) == len(node.elements)
    if call is None:
        return False
    if file.names.is_builtin(call.func, "range") or file.name(call.func) in _RANGES:
        return not path
    args = [arg.value for arg in call.args if arg.keyword is None and not arg.star]
    if file.names.is_builtin(call.func, "enumerate") and args:
        if path[:1] == (0,):
            return len(path) == 1
        return path[:1] == (1,) and yields_numbers(inference, file, args[0], path[1:])
    if file.names.is_builtin(call.func, "zip") and len(args) == len(call.args):
        index = path[0] if path else None
        return index is not None and index < len(args) and yields_numbers(inference, file, args[index], path[1:])
    return False
