"""tf.data pipelines: the chains of operations that an expression may be. A view of the inference."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import libcst as cst

from tflint_gpu.bounds import JOINED_DATASETS, PIPELINE_STEPS, PIPELINE_VARIANTS
from tflint_gpu.model.library.datasets import ITERATORS, LOADERS, TRANSFORMATIONS, is_certain, is_source
from tflint_gpu.model.model import Analysis, Model
from tflint_gpu.model.python.project.file import File
from tflint_gpu.model.python.syntax.syntax import Expression, Node, argument, method_name
from tflint_gpu.model.python.value_flow.origins import ELEMENT, Content, Context, Origin
from tflint_gpu.model.tensorflow.tf_data.chains import Chain, Operation
from tflint_gpu.model.tensorflow.types.kinds import Kinds, is_loaded

_OPEN = Chain()
_OTHER = Chain()  # something else for certain, whatever is called on it
_DISTRIBUTING = frozenset(["experimental_distribute_dataset", "make_dataset_iterator"])


class Pipelines(Analysis):
    """Which datasets an expression may be."""

    def __init__(self, model: Model) -> None:
        super().__init__(model)
        self.kinds = model.once(Kinds)
        self._known: dict[tuple[Node, Context | None], list[Chain]] = {}
        self._iterated: dict[tuple[Node, Context | None], list[Chain]] = {}

    def chains(self, file: File, expr: Expression, context: Context | None = None, depth: int = 0) -> list[Chain]:
        """The datasets that `expr` may be; a chain with no source where that is unknown."""
        key = (expr, context)
        if key not in self._known:
            if depth > PIPELINE_STEPS.limit:
                self.inference.meet(PIPELINE_STEPS)
                return [_OPEN]
            self._known[key] = []  # a loop that goes on with its own dataset: the way in from before is enough
            chains = [c for origin in self.inference.of(file, expr, context) for c in self._of_origin(origin, depth)]
            if any(chain is _OPEN for chain in chains) and self.kinds.usage(file, expr, "dataset") is not None:
                chains = [Chain(certain=True) if chain is _OPEN else chain for chain in chains]
            self._known[key] = [*self.inference.first(PIPELINE_VARIANTS, chains or [_OPEN])]
        return self._known[key]

    def is_dataset(self, file: File, expr: Expression, context: Context | None = None) -> bool:
        """Whether an expression may be a tf.data dataset, and is one for certain in at least one case."""
        return any(chain.certain for chain in self.chains(file, expr, context))

    def of_origin(self, origin: Origin) -> list[Chain]:
        """The datasets that one value may be."""
        return self._of_origin(origin, 0)

    def must_be(self, origin: Origin) -> bool:
        """Whether a value is certainly a tf.data dataset, or an iterator of one."""
        chains = self.of_origin(origin)
        return bool(chains) and all(chain.certain for chain in chains)

    def must_yield(self, origin: Origin) -> bool:
        """Whether a value is certainly an element of a dataset, or a part of one: `next(iter(dataset))["image"]`."""
        path = origin.access_path
        if ELEMENT not in path or any(part.kind == "attribute" for part in path):
            return False
        return self.must_be(replace(origin, access_path=path[: path.index(ELEMENT)]))

    def _of_origin(self, origin: Origin, depth: int) -> list[Chain]:
        node = origin.node
        if not isinstance(node, cst.Call):
            if isinstance(node, cst.Param) and not origin.access_path and self.kinds.of(origin) == "dataset":
                return [Chain(certain=True)]  # as its annotation says
            return [] if origin.is_none else [_OTHER if self._is_own(origin) else _OPEN]
        if origin.access_path:
            return self._of_part(origin, depth)
        return [_OTHER] if self._is_own(origin) else self._of_call(origin.file, node, origin.context, depth)

    def _is_own(self, origin: Origin) -> bool:
        """Whether it is an object of a class of the project, whose methods may be named as those of tf.data are."""
        cls = self.inference.instance_class(origin)
        return cls is not None and self.inference.definitions.is_plain(cls)

    def _of_part(self, origin: Origin, depth: int) -> list[Chain]:
        """`tfds.load(...)[0]`, one that is unpacked, or the parts of a loader's `subset="both"`; nothing else has any.

        The second of these parts, for validation, is never shuffled.
        """
        assert isinstance(origin.node, cst.Call)
        if is_loaded(origin):
            return self._of_call(origin.file, origin.node, origin.context, depth)
        subset = argument(origin.node, -1, "subset")
        is_split = subset is not None and is_source(origin.file.name(origin.node.func))
        if not is_split or self.constants.of(origin.file, subset, origin.context) != "both":
            return [_OPEN]
        if origin.access_path == (Content("item", 0),):
            return self._of_call(origin.file, origin.node, origin.context, depth)
        return [Chain(certain=True)] if origin.access_path == (Content("item", 1),) else [_OPEN]

    def _of_call(self, file: File, call: cst.Call, context: Context | None, depth: int) -> list[Chain]:
        name = file.name(call.func)
        if name is not None:
            if not is_source(name):
                return [_OPEN]
            inputs = self._inputs(file, call, context, depth) if name.endswith((".zip", "_from_datasets")) else ()
            made = Operation(name.rpartition(".")[2], call, file, context, self.constants)
            if made.name in LOADERS and argument(call, -1, "format") and made.argument(-1, "format") != "tf":
                return [_OPEN]  # Keras 3 makes datasets of another library, too
            return [Chain(name, made, (), inputs, certain=True)]
        method = method_name(call)
        first = call.args[0].value if call.args else None
        if method in _DISTRIBUTING and first is not None:
            operation = Operation("experimental_distribute_dataset", call, file, context, self.constants)
            return [c.then(operation) for c in self.chains(file, first, context, depth + 1)]
        if method in TRANSFORMATIONS:
            return self._transformation(file, call, method, context, depth)
        if method in ITERATORS and isinstance(call.func, cst.Attribute):
            return self.chains(file, call.func.value, context, depth + 1)
        return [_OPEN]

    def _inputs(self, file: File, call: cst.Call, context: Context | None, depth: int) -> tuple[Chain, ...]:
        values = [arg.value for arg in call.args if arg.keyword is None or arg.keyword.value == "datasets"]
        inputs = tuple(c for value in values for c in self._joined_in(file, value, context, depth + 1))
        if sum(chain.width for chain in inputs) > JOINED_DATASETS.limit:
            self.inference.meet(JOINED_DATASETS)
            return (_OPEN,)
        return inputs

    def _joined_in(self, file: File, expr: Expression, context: Context | None, depth: int) -> Iterator[Chain]:
        """The datasets in a structure that `zip` joins: `(a, {"b": b, "c": (c, d)})`, as it is written or by a name."""
        origins = self.inference.of(file, expr, context)
        display = origins[0] if len(origins) == 1 and not origins[0].access_path else None
        if display is not None and isinstance(display.node, cst.Tuple | cst.List | cst.Dict):
            if depth > PIPELINE_STEPS.limit:
                self.inference.meet(PIPELINE_STEPS)
                return
            for element in display.node.elements:
                yield from self._joined_in(display.file, element.value, display.context, depth + 1)
        else:
            yield from self.chains(file, expr, context, depth)

    def _transformation(
        self, file: File, call: cst.Call, method: str, context: Context | None, depth: int
    ) -> list[Chain]:
        assert isinstance(call.func, cst.Attribute)
        heads = self.chains(file, call.func.value, context, depth + 1)
        if any(head is _OTHER for head in heads):
            heads = [*(head for head in heads if head is not _OTHER), *self._forwarded(file, call, context, depth)]
        if method == "apply" and call.args:
            applied = self._applied(file, call, heads, context, depth)
            if applied is not None:
                return applied
        keywords = [a.keyword.value for a in call.args if a.keyword is not None]
        certain = is_certain(method, keywords, [file.name(a.value) for a in call.args])
        operation = Operation(method, call, file, context, self.constants)
        return [head if head is _OTHER else head.then(operation, certain) for head in heads]

    def _forwarded(self, file: File, call: cst.Call, context: Context | None, depth: int) -> Iterator[Chain]:
        """The datasets to which an object of the project hands a method on by `__getattr__`; else `_OTHER`."""
        asked = Content("attribute", method_name(call))
        for origin in self.inference.of(file, call.func, context):
            holder = replace(origin, access_path=origin.access_path[:-1])
            is_handed_on = origin.access_path[-1:] == (asked,) and not self._is_own(holder)
            yield from self._of_origin(holder, depth + 1) if is_handed_on else [_OTHER]

    def _applied(
        self, file: File, call: cst.Call, heads: list[Chain], context: Context | None, depth: int
    ) -> list[Chain] | None:
        """`ds.apply(tf.data.experimental.map_and_batch(...))`: the operation that is applied, also by a name; what a
        function of the project makes of the dataset."""
        runs = list(self.inference.runs(file, call, context)) if all(head.certain for head in heads) else []
        if runs:
            entered = ((run.function, self.inference.enter(file, call, context, run)) for run in runs)
            return [
                chain
                for function, inner in entered
                for value in function.file.returned(function.node)
                for chain in self.chains(function.file, value, inner, depth + 1)
            ]
        origins = self.inference.of(file, call.args[0].value, context)
        made, name = origins[0], origins[0].made_by or ""
        if len(origins) > 1 or made.call is None or not name.startswith(("tf.data.", "tf.compat.v1.data.")):
            return None
        last = name.rpartition(".")[2]
        operation = Operation(last, made.call, made.file, made.context, self.constants, applied=call)
        return [head.then(operation, certain=True) for head in heads]

    def iterated(self, file: File, expr: Expression, context: Context | None = None) -> list[Chain]:
        """The datasets over whose elements something runs that iterates over `expr`: through zip and enumerate."""
        key = (expr, context)
        if key not in self._iterated:
            self._iterated[key] = []
            chains: list[Chain] = []
            for origin in self.inference.of(file, expr, context):
                args = self.joined(origin)
                if args is None:
                    chains.extend(self._of_origin(origin, 0))
                for arg in args or ():
                    chains.extend(self.iterated(origin.file, arg, origin.context))
            self._iterated[key] = chains or self.chains(file, expr, context)
        return self._iterated[key]

    def joined(self, origin: Origin) -> list[Expression] | None:
        """The arguments of `zip(...)` and `enumerate(...)`."""
        call = origin.call
        if call is None:
            return None
        if any(origin.file.names.is_builtin(call.func, name) for name in ("zip", "enumerate")):
            args = [arg.value for arg in call.args if arg.keyword is None and not arg.star]
            return args if origin.file.names.is_builtin(call.func, "zip") else args[:1]
        return None
