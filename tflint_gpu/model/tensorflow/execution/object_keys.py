"""Objects that a `tf.function` can't tell apart: it keeps them as keys, which takes a hash and weak references."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from tflint_gpu.model.model import Analysis
from tflint_gpu.model.python.project.decorators import function_of
from tflint_gpu.model.python.project.file import File
from tflint_gpu.model.python.project.functions import Class, Function
from tflint_gpu.model.python.syntax.children import walk
from tflint_gpu.model.python.syntax.syntax import Expression, argument
from tflint_gpu.model.tensorflow.effects.blockers import Blocker

# An argument of these kinds is a structure, whose parts are looked at instead.
_STRUCTURES = frozenset(
    [
        "dict",
        "list",
        "collections.OrderedDict",
        "collections.defaultdict",
        "collections.Counter",
        "collections.UserDict",
    ]
)
_UNHASHABLE = _STRUCTURES | frozenset(
    (
        "set collections.deque collections.UserList collections.abc.Mapping collections.abc.MutableMapping "
        "collections.abc.Set collections.abc.MutableSet"
    ).split()
)
# They have slots, so that what is below them has only what it says itself.
_SLOTTED = ("object", "abc.ABC", "typing.Generic", "typing.Protocol", "collections.abc.")
_WITHOUT_REFERENCES = frozenset(["tuple", "int", "bytes", "typing.NamedTuple"])
_DATACLASSES = frozenset(["dataclasses.dataclass"])
_VALUES = frozenset(
    (
        "list dict set List Dict Set ndarray Tensor Variable bytearray DefaultDict OrderedDict Counter Deque deque"
    ).split()
)


class ObjectKeys(Analysis):
    """Analysis of the classes whose objects a traced function gets, or whose method it is."""

    def of_method(self, function: Function) -> Iterator[Blocker]:
        """What keeps a method from being a `tf.function`, which looks it up by its object."""
        if function.owner is None or not function.is_method:
            return
        for cls in (function.owner, *self.inference.subclasses(function.owner)):
            if not self._is_hashable(cls):
                text = f"`{cls.name}` is not hashable, which a method under `tf.function` requires of its object"
                yield Blocker(cls.file, cls.node, text)
            elif not self._is_referable(cls):
                text = (
                    f"`{cls.name}` takes no weak references (`__slots__`), as a method under `tf.function` needs them"
                )
                yield Blocker(cls.file, cls.node, text)

    def of_argument(self, file: File, value: Expression) -> Iterator[Blocker]:
        """What keeps an object from being an argument: it has no hash and is no structure."""
        for origin in self.inference.of(file, value):
            cls = self.inference.instance_class(origin)
            if cls is not None and not self._is_hashable(cls) and not self._bases(cls) & _STRUCTURES:
                text = f"`{cls.name}` is not hashable, which a `tf.function` requires of its arguments"
                yield Blocker(file, value, text)

    def _bases(self, cls: Class) -> set[str]:
        """The bases outside the project, Python's own too."""
        return {
            current.file.name(base.value) or current.file.code(base.value)
            for current in self.inference.definitions.lineage(cls)
            for base in current.node.bases
        }

    def _is_hashable(self, cls: Class) -> bool:
        for current in self.inference.definitions.lineage(cls):
            own = current.file.tree.scopes[current.node].bindings
            if "__hash__" in own:
                value = own["__hash__"][-1].value
                return not (isinstance(value, cst.Name) and value.value == "None")
            options = _dataclass_options(current)
            if options is not None:
                if options["frozen"] or options["unsafe_hash"]:
                    return not _has_values(current)
                if options["eq"]:
                    return False
            if "__eq__" in own:
                return False
        return not self._bases(cls) & _UNHASHABLE

    def _is_referable(self, cls: Class) -> bool:
        """Whether some class above has a place for weak references: each without `__slots__` has one."""
        bases = self._bases(cls)
        lineage = self.inference.definitions.lineage(cls)
        if bases & _WITHOUT_REFERENCES or any(base.startswith("collections.namedtuple(") for base in bases):
            return False
        known = {current.name for current in lineage}
        others = {base.partition("[")[0] for base in bases}
        if any(not base.startswith(_SLOTTED) and base.rpartition(".")[2] not in known for base in others):
            return True
        return not all(_has_slots_only(current) for current in lineage)


def _dataclass_options(cls: Class) -> dict[str, bool] | None:
    """The options of a dataclass that decide about hashes and slots; None: it is none."""
    for decorator in cls.node.decorators:
        if cls.file.name(function_of(decorator)) in _DATACLASSES:
            call = decorator.decorator if isinstance(decorator.decorator, cst.Call) else None
            options = {"eq": True, "frozen": False, "unsafe_hash": False, "slots": False, "weakref_slot": False}
            for name in options:
                value = argument(call, -1, name) if call is not None else None
                if isinstance(value, cst.Name):
                    options[name] = value.value == "True"
            return options
    return None


def _has_values(cls: Class) -> bool:
    """Whether a field of a dataclass is annotated as what has no hash itself."""
    statements = [s for line in cls.node.body.body if isinstance(line, cst.SimpleStatementLine) for s in line.body]
    annotations = (s.annotation.annotation for s in statements if isinstance(s, cst.AnnAssign))
    return any(
        (node.attr.value if isinstance(node, cst.Attribute) else node.value) in _VALUES
        for annotation in annotations
        for node in walk(annotation)
        if isinstance(node, cst.Name | cst.Attribute)
    )


def _has_slots_only(cls: Class) -> bool:
    """Whether a class has slots, and none for weak references."""
    options = _dataclass_options(cls)
    if options is not None and options["slots"]:
        return not options["weakref_slot"]
    slots = cls.file.tree.scopes[cls.node].bindings.get("__slots__", [])
    value = slots[-1].value if slots else None
    if not isinstance(value, cst.Tuple | cst.List | cst.SimpleString):
        return False
    return "__weakref__" not in cls.file.code(value)
