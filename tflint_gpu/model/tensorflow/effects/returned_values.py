"""What a function returns, or leaves in a model, that is another thing for its caller if the function is traced."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator
from dataclasses import replace

import libcst as cst

from tflint_gpu.model.library.keras_methods import WEIGHT_ATTRIBUTES
from tflint_gpu.model.library.precision import WITHOUT_POLICY
from tflint_gpu.model.model import Analysis, Model
from tflint_gpu.model.python.execution.callers import RunSite, loops_around, ways
from tflint_gpu.model.python.project.file import File
from tflint_gpu.model.python.project.functions import Function
from tflint_gpu.model.python.syntax.syntax import Expression, Node, method_name, text_of
from tflint_gpu.model.python.value_flow.inference import written_key
from tflint_gpu.model.python.value_flow.origins import Key, Origin, Part
from tflint_gpu.model.tensorflow.effects.blockers import Blocker
from tflint_gpu.model.tensorflow.tracing.traced_code import Traced
from tflint_gpu.model.tensorflow.tracing.traces import Trace
from tflint_gpu.model.tensorflow.training.model_outputs import ModelOutputs
from tflint_gpu.model.tensorflow.types.kinds import Kinds
from tflint_gpu.model.tensorflow.types.tensors import Carry

_OBJECTS = frozenset(["model", "layer", "optimizer", "metric", "loss", "dataset", "strategy", "module"])
_PYTHON_ONLY = (cst.Lambda, cst.FunctionDef, cst.ClassDef, cst.GeneratorExp, cst.Set, cst.SetComp)
_TOLD = frozenset("name path trainable built stateful __name__".split())
_ITERATORS = ("zip", "enumerate", "map", "filter", "set", "frozenset", "object")
_NAMED_TUPLES = ("collections.namedtuple", "typing.NamedTuple")
_ROWS = (cst.Tuple, cst.List)
_CONTAINERS = ("dict", "list", "tuple")
_STRUCTURES = ("NamedTuple", "ExtensionType", "BatchableExtensionType")
_PROBABILITY = "tensorflow_probability.layers."
_TENSOR_LAYERS = ("Dense", "Conv", "Weighted", "Variational", "Autoregressive")
_MASKING = (b"mask_zero", b"Masking(", b"compute_mask")
_ADDING_LOSSES = (b"add_loss", b"activity_regularizer", b"ActivityRegularization", b"tensorflow_probability")
_REFUSED = "which a traced function cannot return"

Path = tuple[Key, ...]
"""Where a part lies in a result: `(1, "n")` in `loss, {"n": 3}`."""


class ReturnedValues(Analysis):
    """Analysis of results that are no tensors."""

    def __init__(self, model: Model) -> None:
        super().__init__(model)
        self.kinds = model.once(Kinds)
        self.outputs = ModelOutputs(self.inference)

    def of(self, trace: Trace, sites: Iterable[tuple[File, cst.Call]]) -> Iterator[Blocker]:
        """What a function cannot return if it is traced, or what its callers use and would get as a tensor.

        Arguments:
            sites: the calls of the function.
        """
        sites = tuple(sites)
        for value in trace.file.returned(trace.function.node):
            for part in self._parts(Part(trace.file, value, trace.context)):
                text = self._changed(trace, part)
                is_used = not sites or any(_is_used(file, call, part.path) for file, call in sites)
                if text is not None and (is_used or text == _REFUSED):
                    yield Blocker(part.file, part.expr, f"the code returns `{part.file.code(part.expr)}`, {text}")

    def _parts(self, whole: Part, layers: frozenset[Node] = frozenset()) -> Iterator[Part]:
        """The values in a result, also in those of the program's own layers.

        Arguments:
            layers: the classes of the layers of whose results it is a part.
        """
        for part in self.inference.parts(whole.file, whole.expr, whole.context, self._held):
            part = replace(part, path=(*whole.path, *part.path))
            yield part
            for origin in self.inference.of(part.file, part.expr, part.context):
                for method in self._forward(origin) if origin.call is not None else ():
                    if method.node not in layers:
                        for value in method.file.returned(method.node):
                            inner = Part(method.file, value, None, part.path)
                            yield from self._parts(inner, layers | {method.node})

    def _forward(self, result: Origin) -> Iterator[Function]:
        """The `call` of the layers whose result a value is."""
        assert result.call is not None
        for layer in self.inference.of(result.file, result.call.func, result.context):
            cls = self.inference.instance_class(layer)
            method = self.inference.definitions.method(cls, "call") if cls is not None else None
            if method is not None:
                yield method

    def _held(self, origin: Origin) -> Iterable[tuple[Path, Expression]] | None:
        """What a display, named tuple, sum of lists or `dict(...)` holds, with what is put there later; else None."""
        return _held(origin.file, origin.node) if self._is_container(origin) else None

    def _is_container(self, origin: Origin) -> bool:
        node, file = origin.node, origin.file
        if isinstance(node, cst.BinaryOperation):
            return isinstance(node.operator, cst.Add) and any(isinstance(s, _ROWS) for s in (node.left, node.right))
        if not isinstance(node, cst.Call):
            return isinstance(node, (*_ROWS, cst.Dict, cst.ListComp))
        cls = self.inference.instance_class(origin)
        bases = self.inference.definitions.external_bases(cls) if cls is not None else ()
        makers = self.inference.of(file, node.func, origin.context)
        return (
            any(file.names.is_builtin(node.func, name) for name in _CONTAINERS)
            or any(base.endswith("NamedTuple") for base in bases)
            or any(maker.made_by in _NAMED_TUPLES for maker in makers)
        )

    def lost(
        self, file: File, sites: Iterable[tuple[File, cst.Call]], functions: Iterable[Traced]
    ) -> Iterator[Blocker]:
        """What the code around a function reads of a model, or of its results, that a traced call does not leave there.

        Arguments:
            sites: the calls that would be traced.
            functions: what is traced then.
        """
        mentions = self.inference.project.program_mentions
        has_losses = mentions(file.source, _ADDING_LOSSES)
        masked = [site for site in sites if mentions(site[0].source, _MASKING)]
        traced = {function.function.node for function in functions} if has_losses or masked else set()
        if has_losses:
            yield from self._losses_read(file, traced)
        yield from self._masks_lost(masked, traced)

    def _losses_read(self, file: File, traced: Container[Node | None]) -> Iterator[Blocker]:
        """Where a file reads what layers added to the losses of a model, outside of functions that are traced.

        After a traced call they are tensors of its graph: `InaccessibleTensorError`. Those of weights are not.
        """
        for read in file.attributes_named.get("losses", ()):
            is_inside = any(function in traced for function in file.enclosing_functions(read))
            if not is_inside and self.kinds.must_be(file, read.value, "model", "layer"):
                text = f"`{file.code(read)}` is read outside the traced code, and would hold tensors of its graph"
                yield Blocker(file, read, text)

    def _masks_lost(self, sites: Iterable[tuple[File, cst.Call]], traced: Container[Node | None]) -> Iterator[Blocker]:
        """The layers, losses and metrics beside a call that is traced, where layers of the program make masks.

        A mask is an attribute of an eager tensor (`_keras_mask`), which a `tf.function` neither takes nor returns.
        """
        for site in sites:
            for place in ways(self.inference, RunSite(*site)):
                file, loops = place.file, list(loops_around(place.file, place.node))
                around = loops[-1] if loops else None if place.path else place.function
                for other in file.tree.inside(file.tree.calls, around) if around is not None else ():
                    is_inside = any(function in traced for function in file.enclosing_functions(other))
                    if other is not site[1] and not is_inside and self._takes_mask(file, other):
                        text = f"`{file.code(other.func)}` is outside the traced code, where Keras masks would be lost"
                        yield Blocker(file, other.func, text)

    def _takes_mask(self, file: File, call: cst.Call) -> bool:
        func = call.func
        if method_name(call) == "update_state" and isinstance(func, cst.Attribute):
            return self.kinds.must_be(file, func.value, "metric")
        makers = {(origin.made_by or "").rpartition(".")[2] for origin in self.inference.of(file, func)}
        if makers and makers <= WITHOUT_POLICY:  # layers of texts and categories, which neither make nor read masks
            return False
        return self.kinds.is_model(file, func) or self.kinds.must_be(file, func, "layer", "loss", "metric")

    def of_call(self, file: File, call: cst.Call, model: Origin) -> bool:
        """Whether a call of a model gives its caller a distribution, which a traced function hands on as a tensor."""
        return self._gives_distribution(model) and _is_used(file, call, ())

    def _changed(self, trace: Trace, part: Part) -> str | None:
        """What becomes of a value; None of a tensor and what is not known."""
        origins = [o for o in self.inference.of(part.file, part.expr, part.context) if not o.is_none]
        if any(map(self._is_python_only, origins)):
            return _REFUSED
        if any(map(self._is_variable, origins)):
            return "a variable, which its caller would get as a tensor"
        if any(origin.call is not None and self._is_distribution(origin) for origin in origins):
            return "a distribution, which its caller would get as a tensor"
        if any(map(_is_told, origins)) or (
            origins and trace.tensors.of(part.file, part.expr, part.context) is Carry.HOST
        ):
            return "which is not a tensor, but the caller would get it as one"
        return None

    def _is_python_only(self, origin: Origin) -> bool:
        node, path = origin.node, origin.access_path
        if path:
            return path[-1].kind == "attribute" and path[-1].key == "dtype"
        if isinstance(node, _PYTHON_ONLY) or self.kinds.of(origin) in _OBJECTS:
            return True
        cls = self.inference.instance_class(origin)
        if cls is not None:
            bases = self.inference.definitions.external_bases(cls)
            return not any(base.rpartition(".")[2] in _STRUCTURES for base in bases)
        return origin.call is not None and any(origin.file.names.is_builtin(origin.call.func, n) for n in _ITERATORS)

    def _is_variable(self, origin: Origin) -> bool:
        path = origin.access_path
        if any(part.kind == "attribute" and part.key in WEIGHT_ATTRIBUTES for part in path):
            return all(part.kind != "attribute" or part.key in WEIGHT_ATTRIBUTES for part in path)
        return self.kinds.of(origin) == "variable"

    def _is_distribution(self, origin: Origin) -> bool:
        """Whether a value is what a layer or model of TensorFlow Probability gives: a distribution that is a tensor."""
        assert origin.call is not None
        models = self.inference.of(origin.file, origin.call.func, origin.context)
        return bool(origin.call.args) and any(map(self._gives_distribution, models))

    def _gives_distribution(self, model: Origin) -> bool:
        layers = [model]
        if self.kinds.of(model) == "model" and model.call is not None:
            layers = self.outputs.layers(model)
        own = [name for layer in layers if (name := layer.made_by or "").startswith(_PROBABILITY)]
        return any(not name.removeprefix(_PROBABILITY).startswith(_TENSOR_LAYERS) for name in own)


def _held(file: File, node: Node) -> Iterator[tuple[Path, Expression]]:
    """What a container holds, and under which key; with none what it takes all elements of: `**logs`, `tuple(rows)`."""
    if isinstance(node, cst.BinaryOperation):
        yield from (((), side) for side in (node.left, node.right))
    elif isinstance(node, cst.Call):
        is_copy = any(file.names.is_builtin(node.func, name) for name in _CONTAINERS)
        for index, arg in enumerate(node.args):
            key: Key = arg.keyword.value if arg.keyword is not None else index
            yield () if arg.star or (is_copy and arg.keyword is None) else (key,), arg.value
    elif isinstance(node, cst.ListComp):
        yield (None,), node.elt
    elif isinstance(node, (*_ROWS, cst.Dict)):
        for index, element in enumerate(node.elements):
            if isinstance(element, cst.StarredElement | cst.StarredDictElement):
                yield (), element.value
            else:
                key = written_key(element.key) if isinstance(element, cst.DictElement) else index
                yield (key,), element.value
    name = file.bound_to(node) or ""
    for target, value in file.stores.get(name, ()):
        index_of = target.slice[0].slice
        yield (written_key(index_of.value) if isinstance(index_of, cst.Index) else None,), value
    yield from (((None,), call.args[0].value) for call in file.appends.get(name, ()))
    yield from (((), call.args[0].value) for call in file.extends.get(name, ()))


def _is_told(origin: Origin) -> bool:
    """Whether a value is what an object says of itself in Python's values: `model.name`."""
    path = origin.access_path
    return bool(path) and path[-1].kind == "attribute" and path[-1].key in _TOLD


def _is_used(file: File, call: cst.Call, path: Path) -> bool:
    """Whether a caller reads a part of a result."""
    parent = file.tree.parents.get(call)
    if isinstance(parent, cst.Expr):
        return False
    if isinstance(parent, cst.Assign) and len(parent.targets) == 1:
        return _is_target_used(file, parent.targets[0].target, path)
    return _takes(file, call, path)


def _is_target_used(file: File, target: Expression, path: Path) -> bool:
    if isinstance(target, cst.Tuple | cst.List) and path and isinstance(path[0], int):
        if path[0] >= len(target.elements) or any(isinstance(e, cst.StarredElement) for e in target.elements):
            return True
        return _is_target_used(file, target.elements[path[0]].value, path[1:])
    if not isinstance(target, cst.Name):
        return True
    function = file.tree.function(target)
    uses = file.tree.inside(file.tree.uses.get(target.value, ()), function or file.tree.module)
    return any(_takes(file, use, path) for use in uses if not _is_set(file, use))


def _is_set(file: File, name: Node) -> bool:
    """Whether a name stands where it gets a value, alone or among others."""
    node: Node = name
    while isinstance(parent := file.tree.parents.get(node), cst.Element | cst.Tuple | cst.List):
        node = parent
    return isinstance(parent, cst.AssignTarget) or (isinstance(parent, cst.For | cst.CompFor) and parent.target is node)


def _takes(file: File, value: Node, path: Path) -> bool:
    """Whether a use of a result reads one of its parts: `out[0]` does not read the second."""
    parent = file.tree.parents.get(value)
    if isinstance(parent, cst.Assign) and len(parent.targets) == 1 and parent.value is value:
        return _is_target_used(file, parent.targets[0].target, path)
    if not path or not isinstance(parent, cst.Subscript) or parent.value is not value:
        return True
    index = parent.slice[0].slice
    if not isinstance(index, cst.Index):
        return True
    if isinstance(index.value, cst.Integer):
        key: Key = index.value.evaluated_value
    elif isinstance(index.value, cst.SimpleString):
        key = text_of(index.value)
    else:
        return True
    if path[0] is not None and key != path[0]:
        return False
    return not path[1:] or _takes(file, parent, path[1:])
