"""Images of sizes of their own, which a loop gives a model one after the other: `tf.function` traces each size."""

from __future__ import annotations

import libcst as cst

from tflint_gpu.lazy_patterns import regex
from tflint_gpu.model import (
    File,
    Function,
    FunctionNode,
    Inference,
    Invocation,
    IterationFlow,
    LoopNode,
    Node,
    argument,
    changed_in,
    method_name,
    names_in,
    names_of,
)

_RESIZING = regex(r"resiz|resampl|rescale|crop|pad|thumbnail|letterbox|preprocess")
_SCALING = regex(r"resiz|resampl|rescale")
_READING = (
    "cv2.imread cv2.imdecode PIL.Image.open imageio. skimage.io.imread matplotlib.image.imread "
    "matplotlib.pyplot.imread tf.image.decode_ tf.io.decode_image tf.io.decode_jpeg tf.io.decode_png "
    "keras.utils.load_img keras.preprocessing.image.load_img"
).split()


def has_size_of_file(inference: Inference, run: Invocation) -> bool:
    """Whether the model gets an image as it was read from a file, which nothing brings to one size."""
    regions = [(run.root_file, run.loop), *((function.file, function.node) for function in run.functions)]
    calls = [*(frame.node for frame in run.path), run.call]
    names = frozenset[str]()
    for index, ((file, region), call) in enumerate(zip(regions, calls, strict=True)):
        assert isinstance(call, cst.Call)
        flow = _images(inference, file, region, call, names)
        if call is run.call:
            return any(flow.holds(arg.value) for arg in call.args)
        passed = inference.definitions.passed(file, call, run.functions[index])
        names = frozenset(parameter.name.value for parameter, value in passed if flow.holds(value))
    return False


def _images(
    inference: Inference, file: File, region: LoopNode | FunctionNode, taking: cst.Call, names: frozenset[str]
) -> IterationFlow:
    """What holds images as they were read, in a loop or a function whose parameters of these names get such."""
    calls = [call for call in file.calls_below.get(region, ()) if call is not taking]
    given = {use for name in names for use in file.tree.uses.get(name, ()) if _is_given(file, region, use)}
    sources = frozenset(call for call in calls if _reads(inference, file, call)) | given
    return IterationFlow(file, region, sources, frozenset(call for call in calls if _resizes(call)))


def _is_given(file: File, region: Node, use: cst.Name) -> bool:
    """Whether a name is a parameter where it is used, and nothing that was made of it."""
    return file.tree.within(use, region) and all(b.kind == "parameter" for b in file.flow.lookup(use.value, use))


def _resizes(call: cst.Call) -> bool:
    return _RESIZING.search(_last_name(call).lower()) is not None


def _reads(inference: Inference, file: File, call: cst.Call) -> bool:
    """Whether a call reads an image, itself or in a function of the project that brings it to no size."""
    if (file.name(call.func) or "").startswith(tuple(_READING)):
        return argument(call, -1, "target_size") is None
    functions = [callee.function for callee in inference.callees(file, call)]
    return bool(functions) and all(_only_reads(function) for function in functions)


def _only_reads(function: Function) -> bool:
    names = [function.file.name(call.func) or "" for call in function.calls]
    sized = any(_resizes(call) or argument(call, -1, "target_size") is not None for call in function.calls)
    return not sized and any(name.startswith(tuple(_READING)) for name in names)


def has_size_of_iteration(file: File, loop: LoopNode, entry: cst.Call) -> bool:
    """Whether a call gets what each iteration resizes to another size: scales of an image, each traced for itself."""
    calls = [call for call in file.calls_below.get(loop, ()) if _SCALING.search(_last_name(call).lower())]
    if not calls:
        return False
    names = names_of(loop) | _counted(file, loop)
    uses = [node for name in names for node in file.tree.uses.get(name, ()) if file.tree.within(node, loop)]
    sizes = IterationFlow(file, loop, frozenset(uses))
    resized = frozenset(
        call
        for call in calls
        for arg in call.args[1:]
        if isinstance(arg.value, cst.Tuple | cst.List)
        if sizes.holds(arg.value)
    )
    return any(IterationFlow(file, loop, resized).holds(arg.value) for arg in entry.args)


def _last_name(call: cst.Call) -> str:
    return method_name(call) or (call.func.value if isinstance(call.func, cst.Name) else "")


def _counted(file: File, loop: LoopNode) -> frozenset[str]:
    """The names in the condition of a `while` that its iterations change."""
    if not isinstance(loop, cst.While):
        return frozenset()
    asked = names_in(loop.test)
    return frozenset(asked & changed_in(file, loop))
