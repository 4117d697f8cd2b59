"""What a value is to TensorFlow and Keras: a model, a layer, an optimizer, a dataset, a tensor, a list of GPUs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Literal, TypeAlias

import libcst as cst

from tflint_gpu.lazy_patterns import regex
from tflint_gpu.model.library.classes import (
    KERAS_BASES,
    KERAS_FOLDERS,
    LOADED,
    MODELS,
    OPTIMIZERS,
    SEQUENCES,
    SEQUENTIAL,
    KerasKind,
)
from tflint_gpu.model.library.datasets import is_source
from tflint_gpu.model.library.devices import GPU_LISTS
from tflint_gpu.model.library.keras_methods import ADDING_WEIGHTS
from tflint_gpu.model.library.model_packages import OPTIMIZING_FUNCTIONS, is_model_of_package
from tflint_gpu.model.library.tensor_functions import returns_tensor
from tflint_gpu.model.model import Analysis, Model
from tflint_gpu.model.python.project.file import File
from tflint_gpu.model.python.project.functions import Attribute, Class, Function
from tflint_gpu.model.python.syntax.children import names_in, spelling, walk
from tflint_gpu.model.python.syntax.syntax import Expression, Node, argument, dotted_name, method_name
from tflint_gpu.model.python.value_flow.origins import Content, Context, Origin
from tflint_gpu.model.tensorflow.types.annotations import declared_classes
from tflint_gpu.model.tensorflow.types.receivers import lacks_method
from tflint_gpu.model.tensorflow.types.usage import Usage, Usages

Kind: TypeAlias = Literal[
    "layer",
    "model",
    "metric",
    "loss",
    "sequence",
    "optimizer",
    "module",
    "loaded",
    "strategy",
    "dataset",
    "array",
    "tensor",
    "variable",
]

# Sonnet 2's classes are modules; those that count what they see compute nothing that is trained.
_MODULE = regex(r"tf\.Module|sonnet\.(?:v2\.)?(?:nets\.)?(?!Optimizer|Metric|Mean|Sum|Exponential)[A-Z]\w*")
_TFDS = ("tensorflow_datasets.load", "tensorflow_datasets.builder")
_DECLARED: dict[str, Kind] = {"tf.data.Dataset": "dataset", "tf.distribute.Strategy": "strategy"}
_SIGNATURES = Content("attribute", "signatures")
# Libraries whose models have `fit` and `predict` of their own.
_OTHER_LIBRARIES = frozenset(
    (
        "sklearn torch torchvision lightning pytorch_lightning xgboost lightgbm catboost statsmodels jax flax "
        "scipy pandas skorch imblearn gensim spacy fastai mxnet paddle theano chainer hmmlearn pmdarima prophet numpy"
    ).split()
)


def is_of_other_framework(canonical_name: str | None) -> bool:
    """Whether a function or class is of a library that computes with arrays or tensors other than TensorFlow's."""
    library = (canonical_name or "").partition(".")[0]
    return library in _OTHER_LIBRARIES and library != "numpy"


def is_loaded(origin: Origin) -> bool:
    """Whether a value is a dataset among those of `tfds.load`: not the info of `tfds.load(..., with_info=True)[1]`."""
    call, path = origin.node, origin.access_path
    if not path or not isinstance(call, cst.Call) or origin.file.name(call.func) not in _TFDS:
        return False
    has_info = argument(call, -1, "with_info") is not None
    return all(part.kind == "item" for part in path) and not (has_info and path[0] == Content("item", 1))


def keras_kind(canonical_name: str) -> KerasKind | None:
    """What a class of Keras's own, or of a package next to it, is: "layer" for keras.layers.Dense."""
    known = KERAS_BASES.get(canonical_name)
    if known is not None:
        return known
    for folder, kind in KERAS_FOLDERS:
        if canonical_name.startswith(folder) and canonical_name.rpartition(".")[2][:1].isupper():
            return kind
    return "model" if is_model_of_package(canonical_name) else None


def _kind_of_result(name: str) -> Kind | None:
    """What a call of a function outside the project makes."""
    last = name.rpartition(".")[2]
    if name in MODELS or (name.startswith("keras.applications.") and last[:1].isupper()):
        return "model"
    if name.startswith("keras.optimizers.") and last[:1].isupper() and ".schedules." not in name:
        return "optimizer"
    if name.startswith("tf.compat.v1.train.") and last.endswith("Optimizer"):
        return "optimizer"
    if name.startswith("tf.distribute.") and last.endswith("Strategy"):
        return "strategy"
    if name in LOADED:
        return "loaded"
    if is_source(name):
        return "dataset"
    if name in SEQUENCES:
        return "sequence"
    if name == "tf.Variable":
        return "variable"
    if name.startswith("sonnet.") and _MODULE.fullmatch(name):
        return "module"
    if name.startswith("numpy."):
        return "array"
    if returns_tensor(name):
        return "tensor"
    return keras_kind(name)


def _stateful_among(calls: Iterable[cst.Call]) -> Iterator[cst.Call]:
    for call in calls:
        for arg in call.args:
            is_off = isinstance(arg.value, cst.Name) and arg.value.value == "False"
            if arg.keyword is not None and arg.keyword.value == "stateful" and not is_off:
                yield call


def _is_weight(origin: Origin) -> bool:
    """What a layer of the project makes by `self.add_weight(...)`."""
    return origin.call is not None and method_name(origin.call) in ADDING_WEIGHTS


def _is_optional(origin: Origin) -> bool:
    """Whether a value is a parameter that may be None, for which its function asks to make something else then."""
    node, file = origin.node, origin.file
    if not isinstance(node, cst.Param) or origin.access_path or node.default is None:
        return False
    function = file.tree.parents[file.tree.parents[node]]
    tests = [part.test for part in walk(function) if isinstance(part, cst.If | cst.IfExp)]
    return spelling(node.default) == "None" and any(node.name.value in names_in(test) for test in tests)


class Kinds(Analysis):
    """What values are, by their origins, and where nothing else is known by how they are used."""

    is_of_values = True

    def __init__(self, model: Model) -> None:
        super().__init__(model)
        self._usages = Usages()
        self._classes: dict[Node, frozenset[KerasKind]] = {}
        self._stateful: dict[File, tuple[cst.Call, ...]] = {}
        self._models: dict[tuple[Node, Context | None], bool] = {}
        self._declared: dict[cst.Param, Kind | None] = {}

    def of_class(self, cls: Class) -> frozenset[KerasKind]:
        """What a class of the project is to Keras, through all its bases: {"layer"}, {"model"}, ..., or nothing."""
        known = self._classes.get(cls.node)
        if known is None:
            kinds = {keras_kind(name) for name in self.inference.definitions.external_bases(cls)}
            known = self._classes[cls.node] = frozenset(kind for kind in kinds if kind is not None)
        return known

    def of(self, origin: Origin) -> Kind | None:
        """What a value is; None where that is not known."""
        name = origin.made_by
        if name is not None:
            known = _kind_of_result(name) or self._of_optimized(name, origin)
            if known is not None:
                return known
        cls = self.inference.instance_class(origin)
        if cls is not None:
            kinds = self.of_class(cls)
            for kind in ("model", "layer", "metric", "loss"):
                if kind in kinds:
                    return kind
            return self._of_other_class(cls)
        if self._is_image_flow(origin):
            return "sequence"
        if _SIGNATURES in origin.access_path and isinstance(origin.node, cst.Call):
            return "loaded" if origin.file.name(origin.node.func) in LOADED else None  # a traced function
        if origin.access_path[-1:] == (Content("attribute", "model"),) and self._is_of_callback(origin):
            return "model"
        if origin.access_path[-1:] == (Content("attribute", "optimizer"),):
            owner = replace(origin, access_path=origin.access_path[:-1])
            return "optimizer" if self.of(owner) == "model" else None
        if origin.access_path[-2:-1] == (Content("attribute", "layers"),):
            return self._of_part(replace(origin, access_path=origin.access_path[:-2]), origin.access_path[-1])
        if isinstance(origin.node, cst.Param) and not origin.access_path:
            return self._of_parameter(origin.file, origin.node)
        return "dataset" if is_loaded(origin) else None

    def _of_part(self, owner: Origin, content: Content) -> Kind | None:
        """What one of a network's layers is, where the code lists them: `g, c = keras.Sequential([g, c]).layers`."""
        call = owner.call
        parts = call.args[0].value if call is not None and owner.made_by in SEQUENTIAL and call.args else None
        if not isinstance(parts, cst.List) or any(isinstance(e, cst.StarredElement) for e in parts.elements):
            return None
        chosen = parts.elements[content.key : content.key + 1] if type(content.key) is int else parts.elements
        kinds = {self.of(o) for part in chosen for o in self.inference.of(owner.file, part.value, owner.context)}
        return kinds.pop() if len(kinds) == 1 else None

    def _is_image_flow(self, origin: Origin) -> bool:
        """`ImageDataGenerator().flow_from_directory(...)`."""
        func = origin.call.func if origin.call is not None else None
        if not isinstance(func, cst.Attribute) or not func.attr.value.startswith("flow"):
            return False
        makers = self.inference.of(origin.file, func.value, origin.context)
        return bool(makers) and all((maker.made_by or "").endswith(".ImageDataGenerator") for maker in makers)

    def _of_optimized(self, name: str, origin: Origin) -> Kind | None:
        call = origin.call
        if call is None or name not in OPTIMIZING_FUNCTIONS or not call.args:
            return None
        return "model" if self.is_model(origin.file, call.args[0].value, origin.context) else None

    def _of_parameter(self, file: File, parameter: cst.Param) -> Kind | None:
        """What a parameter that nothing is seen to fill is by its annotation."""
        if parameter not in self._declared:
            kinds = {self._of_declared(file, name) for name in declared_classes(file, parameter)}
            self._declared[parameter] = kinds.pop() if len(kinds) == 1 else None
        return self._declared[parameter]

    def _of_declared(self, file: File, class_name: Expression) -> Kind | None:
        canonical_name = file.name(class_name) or ""
        cls = self.inference.definitions.class_named(file, class_name)
        if cls is not None:
            return "model" if "model" in self.of_class(cls) else None
        declared: Kind | None = "optimizer" if canonical_name in OPTIMIZERS else _DECLARED.get(canonical_name)
        return declared or keras_kind(canonical_name)

    def _of_other_class(self, cls: Class) -> Kind | None:
        bases = self.inference.definitions.external_bases(cls)
        if any(map(_MODULE.fullmatch, bases)):
            return "module"
        if self.is_sequence(cls):
            return "sequence"
        return "optimizer" if any(base.startswith("keras.optimizers.") for base in bases) else None

    def is_sequence(self, cls: Class) -> bool:
        """Whether a class gives Keras batches by their index, which several threads may ask for."""
        return not SEQUENCES.isdisjoint(self.inference.definitions.external_bases(cls))

    def holds_variables(self, cls: Class) -> bool:
        """Whether instances of a class get variables, layers or the like: else it computes nothing that is trained."""
        names = {name for current in self.inference.definitions.lineage(cls) for name in self._assigned(current)}
        return any(
            self.of(origin) in ("variable", "layer", "model", "module") or _is_weight(origin)
            for name in names
            for attribute in self.inference.definitions.attributes(cls, name)
            for origin in self._values(attribute)
        )

    def _assigned(self, cls: Class) -> Iterator[str]:
        for assignment in cls.file.tree.attributes_set_in(cls.node):
            yield assignment.target.attr.value

    def _values(self, attribute: Attribute) -> Iterator[Origin]:
        for origin in self.inference.of(attribute.file, attribute.value):
            yield origin
            yield from self.inference.elements(origin)

    def _is_of_callback(self, origin: Origin) -> bool:
        """`self.model` in a Keras callback: the model that is being fitted."""
        if len(origin.access_path) != 1 or not isinstance(origin.node, cst.Param):
            return False
        cls = self.inference.definitions.class_of_self(origin.file, origin.node)
        return cls is not None and self.is_callback(cls)

    def is_callback(self, cls: Class) -> bool:
        """Whether a class is a callback of Keras."""
        bases = self.inference.definitions.external_bases(cls)
        return any(base.startswith("keras.callbacks.") for base in bases)

    def must_be(self, file: File, expr: Expression, *kinds: Kind, context: Context | None = None) -> bool:
        """Whether an expression can be nothing but one of some kinds."""
        origins = self.inference.followed(file, expr, context)
        return bool(origins) and all(self.of(origin) in kinds for origin in origins)

    def is_model(self, file: File, expr: Expression, context: Context | None = None) -> bool:
        """Whether an expression is certainly a Keras model: built as one on every way, or used as only one is."""
        key = (expr, context)
        if key not in self._models:
            self._models[key] = False
            self._models[key] = self._is_model(file, expr, context)
        return self._models[key]

    def _is_model(self, file: File, expr: Expression, context: Context | None) -> bool:
        origins = self.inference.followed(file, expr, context)
        unknown = [origin for origin in origins if self.of(origin) != "model"]
        if not origins:
            return False
        if not unknown:
            return True
        if not all(self._may_be_anything(origin) for origin in unknown):
            return False
        is_made = len(unknown) < len(origins)
        return self.usage(file, expr, "model") is not None or all(
            (is_made and _is_optional(origin)) or self._usage_at(origin, "model") is not None for origin in unknown
        )

    def _may_be_anything(self, origin: Origin) -> bool:
        """Whether nothing that is known of a value forbids that it is a model."""
        if self.of(origin) is not None:
            return False
        cls = self.inference.instance_class(origin)
        if cls is not None:  # derived from something that cannot be looked into
            bases = self.inference.definitions.external_bases(cls) - {"object"}
            return any(base.partition(".")[0] not in (*_OTHER_LIBRARIES, "tf", "keras", "abc") for base in bases)
        if isinstance(origin.node, cst.Ellipsis):  # `model = ...`, as in a question
            return True
        if isinstance(origin.node, cst.Call):
            name = origin.file.name(origin.node.func)
            return name is None or name.partition(".")[0] not in (*_OTHER_LIBRARIES, "tf", "keras")
        if isinstance(origin.node, cst.Name | cst.Attribute) and origin.file.name(origin.node) is not None:
            return not (origin.file.name(origin.node) or "").startswith(("tf.", "keras.", "numpy."))
        return origin.is_open or bool(origin.access_path)

    def _is_model_where_it_runs(self, file: File, expr: Expression, context: Context | None) -> bool:
        """Whether an expression is a model by all calls that are seen to run: nothing is seen to make the others."""
        origins = [o for o in self.inference.of(file, expr, context) if not o.is_none]
        seen = [origin for origin in origins if not self._is_uncalled(origin)]
        return 0 < len(seen) < len(origins) and all(self.of(origin) == "model" for origin in seen)

    def _is_model_where_it_works(self, file: File, func: cst.Attribute, context: Context | None) -> bool:
        """Whether of all values that may arrive only models have the method."""
        values = [o for o in self.inference.of(file, func.value, context) if not o.is_none]
        able = [o for o in values if not lacks_method(self.inference, o, func.attr.value)]
        return 0 < len(able) < len(values) and all(self.of(origin) == "model" for origin in able)

    def _is_uncalled(self, origin: Origin) -> bool:
        """Whether a value is a parameter of a function that nothing is seen to call."""
        node, file = origin.node, origin.file
        if not isinstance(node, cst.Param) or origin.access_path:
            return False
        function = file.tree.parents[file.tree.parents[node]]
        return isinstance(function, cst.FunctionDef) and not self.inference.call_sites(
            self.inference.definitions.function(file, function)
        )

    def _usage_at(self, origin: Origin, kind: str) -> Usage | None:
        """The use that tells what a value is: of the name or parameter that holds it, or of what gets it by a call."""
        node, file = origin.node, origin.file
        if origin.access_path:
            return None
        if isinstance(node, cst.Param):
            function = file.tree.parents[file.tree.parents[node]]
            known = self._usages.usage(file, node.name, kind, node)
            return known or self._usage_where_passed(file, node.name.value, node, function, kind)
        if isinstance(node, cst.Name):
            return self._usages.usage(file, node, kind, node)
        name = file.bound_to(node) if isinstance(node, cst.Call) else None
        if name is None or "." in name:
            return None
        return self._usage_where_passed(file, name, node, file.tree.function(node), kind)

    def _usage_where_passed(self, file: File, name: str, made: Node, function: Node | None, kind: str) -> Usage | None:
        """The use of what a name holds in a function, by that name or by what is called with it.

        A parameter of that which is declared to be of the kind is such a use.
        """
        for call in file.calls_in.get(function, ()):
            for arg in call.args:
                if not (isinstance(arg.value, cst.Name) and arg.value.value == name):
                    continue
                if isinstance(made, cst.Param) and [b.node for b in file.flow.lookup(name, arg.value)] != [made]:
                    continue
                known = self._usages.usage(file, arg.value, kind, arg.value)
                for called in self._called_by(file, call) if known is None else ():
                    for parameter, value in self.inference.definitions.passed(file, call, called):
                        if known is None and value is arg.value:
                            is_declared = self._of_parameter(called.file, parameter) == kind
                            used = self._usages.usage(called.file, parameter.name, kind, parameter)
                            known = Usage(kind, parameter) if is_declared else used
                if known is not None:
                    return known
        return None

    def _called_by(self, file: File, call: cst.Call) -> Iterator[Function]:
        """The functions that a call runs by itself, or the constructor of the object that it makes."""
        yield from (callee.function for callee in self.inference.callees(file, call))
        cls = self.inference.class_called(file, call)
        constructor = self.inference.definitions.method(cls, "__init__") if cls is not None else None
        if constructor is not None:
            yield constructor

    def usage(self, file: File, expr: Expression, kind: str) -> Usage | None:
        """The use of a value that only something of a kind allows, in the function that has the expression."""
        return self._usages.usage(file, expr, kind, expr)

    def has_method(self, file: File, func: cst.Attribute, context: Context | None = None) -> bool:
        """Whether `m.fit` is certainly a Keras model's: `m` is one, or forwards to one by `__getattr__`.

        What has no such method is not what a call means: `m` may also be an interpreter of TensorFlow Lite.
        """
        method = Content("attribute", func.attr.value)

        def is_forwarded(origin: Origin) -> bool:
            owner = replace(origin, access_path=origin.access_path[:-1])
            return origin.access_path[-1:] == (method,) and self.of(owner) == "model"

        if self.is_model(file, func.value, context) or self._is_model_where_it_runs(file, func.value, context):
            return True
        if self._is_model_where_it_works(file, func, context):
            return True
        methods = [origin for origin in self.inference.of(file, func, context) if _SIGNATURES not in origin.access_path]
        return bool(methods) and all(origin.is_none or is_forwarded(origin) for origin in methods)

    def has_own_method(self, file: File, model: Expression, *names: str) -> bool:
        """Whether a model may be one of a class of the project that has one of these methods."""
        classes = {self.inference.instance_class(origin) for origin in self.inference.of(file, model)} - {None}
        return any(
            cls is not None and self.inference.definitions.method(cls, name) is not None
            for cls in classes
            for name in names
        )

    def receiver(self, file: File, call: cst.Call, *methods: str) -> Expression | None:
        """For `m.fit(...)` the expression `m` when it is a Keras model and the method is one of these."""
        if method_name(call) not in methods or not isinstance(call.func, cst.Attribute):
            return None
        return call.func.value if self.has_method(file, call.func) else None

    def is_stateful(self, file: File, expr: Expression) -> bool:
        """Whether a model has, or may have, an RNN whose state goes on from batch to batch."""
        return any(self._has_stateful(origin) for origin in self.inference.of(file, expr))

    def _has_stateful(self, origin: Origin) -> bool:
        cls = self.inference.instance_class(origin)
        if cls is not None:
            return bool(cls.file.tree.inside(self._stateful_calls(cls.file), cls.node))
        call, file = origin.call, origin.file
        if call is None:
            return bool(self._stateful_calls(file))
        regions = [call]
        if file.name(call.func) in SEQUENTIAL:
            regions += [c for c in file.method_calls("add") if self._may_be_of(c, file, call)]
            return any(file.tree.inside(self._stateful_calls(file), region) for region in regions)
        function = file.tree.function(call)
        return any(file.tree.function(layer) is function for layer in self._stateful_calls(file))

    def _may_be_of(self, add: cst.Call, file: File, made: cst.Call) -> bool:
        """Whether a method is one of what a call makes, and not of another object of the same name."""
        if not isinstance(add.func, cst.Attribute):
            return False
        origins = self.inference.of(file, add.func.value)
        if any(origin.node is made for origin in origins):
            return True
        is_known = bool(origins) and all(origin.call is not None for origin in origins)
        return not is_known and dotted_name(add.func.value) == file.bound_to(made)

    def _stateful_calls(self, file: File) -> tuple[cst.Call, ...]:
        if file not in self._stateful:
            self._stateful[file] = tuple(_stateful_among(file.tree.calls))
        return self._stateful[file]

    def is_gpu_list(self, file: File, expr: Expression, context: Context | None = None) -> bool:
        """Whether `expr` is certainly the list of a machine's GPUs, which may be empty."""
        return self.inference.must_be(file, expr, self._lists_gpus, context)

    def is_one_gpu(self, file: File, expr: Expression) -> bool:
        """Whether `expr` is certainly what is at one index of the list of a machine's GPUs."""

        def is_item(origin: Origin) -> bool:
            parts = origin.access_path
            if len(parts) != 1 or parts[0].kind != "item" or not isinstance(parts[0].key, int):
                return False
            return self._lists_gpus(origin.whole)

        return self.inference.must_be(file, expr, is_item)

    def _lists_gpus(self, origin: Origin) -> bool:
        call = origin.call
        if call is None or origin.made_by not in GPU_LISTS:
            return False
        kind = self.constants.of(origin.file, argument(call, 0, "device_type"), origin.context)
        return isinstance(kind, str) and kind == "GPU"
