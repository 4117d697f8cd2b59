"""Values that a traced function keeps as they were when it was traced, and that the program changes later."""

from __future__ import annotations

import builtins
import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from itertools import chain
from typing import TypeAlias, TypeGuard

import libcst as cst

from tflint_gpu.bounds import EFFECT_FUNCTIONS
from tflint_gpu.lazy_dataclasses import dataclass
from tflint_gpu.model.library.keras_methods import RUNNING_METHODS, SETTERS, TRAINED_ATTRIBUTES
from tflint_gpu.model.model import Analysis, Model
from tflint_gpu.model.python.execution.callers import CONSTRUCTORS, RunSite
from tflint_gpu.model.python.execution.run_order import RunOrder
from tflint_gpu.model.python.names.names import is_loading
from tflint_gpu.model.python.project.file import File
from tflint_gpu.model.python.project.functions import Class, Function
from tflint_gpu.model.python.syntax.children import spelling, walk
from tflint_gpu.model.python.syntax.scopes import Binding
from tflint_gpu.model.python.syntax.syntax import Expression, Node, argument, method_name
from tflint_gpu.model.python.value_flow.calls import is_library
from tflint_gpu.model.python.value_flow.origins import Origin
from tflint_gpu.model.tensorflow.effects.blockers import Blocker
from tflint_gpu.model.tensorflow.effects.changes_in_place import DISPLAYS, MODULES, ChangesInPlace
from tflint_gpu.model.tensorflow.tracing.dynamic_writes import ANY_NAME, DYNAMIC_SUBSTRINGS, DynamicWrites, Place
from tflint_gpu.model.tensorflow.tracing.reached_functions import ReachedFunctions
from tflint_gpu.model.tensorflow.types.kinds import Kinds

_OF_TRAINABLE = TRAINED_ATTRIBUTES | {"trainable"}
# Of Keras's own objects: variables, which a graph reads, and what only training loops of Keras's read.
_READ_IN_GRAPHS = frozenset(["learning_rate", "lr", "iterations", "stop_training", "name"])
_DEFAULTS = ("__defaults__", "__kwdefaults__", "__code__")
_MODAL = ("BatchNorm", "applications", "load_model")
_CONSTANTS = (cst.Integer, cst.Float, cst.SimpleString)
_FIXED = frozenset(["parameter", "import", "star"])
_ITERATED = (cst.List, cst.Tuple, cst.Set, cst.ListComp, cst.GeneratorExp)
_OWN_MODULE = ("sys.modules", "__main__", "import_module", "__import__")
_NOT_SET = frozenset(["import", "star", "function", "class"])  # by a name that is computed: that is for settings

Site: TypeAlias = tuple[File, Node]
"""Where functions are run: a call, or a place of the code that runs them."""


@dataclass(frozen=True, slots=True)
class _Change:
    """A place that gives an attribute another value, or changes what it holds.

    Arguments:
        owner: whose attribute it is.
        value: what it gets, where that is written there.
        place: what the owner is; of "module" and "anywhere" it is no object.
    """

    file: File
    node: Node
    owner: Expression
    value: Expression | None = None
    place: Place = "object"


class KeptValues(Analysis):
    """Analysis of what functions read that may be another value in a later call: the graph has the first one."""

    def __init__(self, model: Model) -> None:
        super().__init__(model)
        self.kinds = model.once(Kinds)
        self.reached = model.once(ReachedFunctions)
        self.dynamic = model.once(DynamicWrites)
        self.in_place = model.once(ChangesInPlace)
        self._changes: dict[File, dict[str, list[_Change]]] = {}

    def of(
        self, functions: Sequence[Function], sites: Sequence[Site] = (), *, by_keras: bool = False
    ) -> Iterator[Blocker]:
        """The names and attributes that functions read, and all that they call, and that change between two calls.

        Arguments:
            sites: where the functions are run; none: where they are called.
            by_keras: Keras traces the functions, and makes a new trace after each `compile`.
        """
        yield from self._seen_here(functions, sites, by_keras=by_keras)
        yield from self.by_importers(functions, sites, by_keras=by_keras)

    def by_importers(
        self, functions: Sequence[Function], sites: Sequence[Site] = (), *, by_keras: bool = False
    ) -> Iterator[Blocker]:
        """The same, as far as only files show it that import the one in which the functions are."""
        file = functions[0].file
        if file is not self.file:
            return
        nodes = [node for function in self._all_reached(functions) for node in walk(function.node.body)]
        read = {node.attr.value if isinstance(node, cst.Attribute) else node.value for node in nodes if _is_named(node)}
        if read & _OF_TRAINABLE:
            read.add("trainable")
        names = "|".join(sorted(map(re.escape, read)))
        changing = re.compile(rf"\.(?:{names})\s*(?:[-+*/%&|]*=(?!=)|\[|\.\w+\()|setattr|__dict__|\bvars\(".encode())
        for model in self.importers(file, changing):
            yield from model.once(KeptValues)._seen_here(functions, sites, by_keras=by_keras)

    def read_too_early(self, file: File, region: Node) -> Iterator[Blocker]:
        """What a loop or function reads of the weights of a model that it has not called yet, and that Keras 2 makes
        only then."""
        order = RunOrder(self.inference, [RunSite(file, region)])
        for node in walk(region):
            if isinstance(node, cst.Attribute) and node.attr.value in _OF_TRAINABLE:
                yield from self._empty_at_first(file, node, order)

    def _seen_here(self, functions: Sequence[Function], sites: Sequence[Site], *, by_keras: bool) -> Iterator[Blocker]:
        kind = _OrderByKeras if by_keras else RunOrder
        order = kind(self.inference, [RunSite(*site) for site in sites or self._calls(functions)])
        reached = self._all_reached(functions)
        for function in reached:
            yield from self._in_function(function, order)
        yield from self._of_keras(reached, order)

    def _all_reached(self, functions: Sequence[Function]) -> list[Function]:
        queue, seen = list(functions), set[Node](function.node for function in functions)
        for reached in queue:  # grows meanwhile
            if len(queue) <= EFFECT_FUNCTIONS.limit:
                called = {f.node: f for f in self.reached.called(reached) if f.node not in seen}
                seen.update(called)
                queue += called.values()
        return queue

    def _calls(self, functions: Iterable[Function]) -> Iterator[Site]:
        """The calls of functions; of what Keras calls those of `fit` and the like; else the functions themselves."""
        for function in functions:
            sites: Sequence[Site] = self.inference.call_sites(function)
            if not sites and function.owner is not None and self.kinds.of_class(function.owner):
                sites = [(self.file, call) for call in self.file.method_calls(*sorted(RUNNING_METHODS))]
            yield from sites or [(function.file, function.node.body)]

    def _in_function(self, function: Function, order: RunOrder) -> Iterator[Blocker]:
        yield from self._of_defaults(function, order)
        read: set[str] = set()
        for node in walk(function.node.body):
            if isinstance(node, cst.Name):
                if node.value not in read and self._is_read(function, node):
                    read.add(node.value)
                    yield from self._of_name(function, node, order)
            elif isinstance(node, cst.Attribute) and spelling(node) not in read:
                read.add(spelling(node))
                yield from self._of_attribute(function.file, node, order)
            elif isinstance(node, cst.Call) and self._takes_next(function, node):
                text = f"`{function.file.code(node)}` in the code would run only during tracing"
                yield Blocker(function.file, node, text)

    def _of_defaults(self, function: Function, order: RunOrder) -> Iterator[Blocker]:
        """What of a function itself changes: a default in place, or all by `f.__defaults__ = ...`, or the code."""
        file = function.file
        for param in walk(function.node.params):
            default = param.default if isinstance(param, cst.Param) else None
            if default is not None and any(
                _comes_between(change, order) for change in self._changes_in_place(file, default)
            ):
                yield Blocker(file, default, _is_kept(file.code(default)))
        for change in chain.from_iterable(self._writes(name, file) for name in _DEFAULTS):
            callables = self.inference.callables(change.file, change.owner)
            if any(c.function.node is function.node for c in callables) and self._matters(change, order):
                yield Blocker(change.file, change.node, _is_kept(change.file.code(change.node)))

    def _takes_next(self, function: Function, call: cst.Call) -> bool:
        """Whether a call takes an element of an iterator that was made before: `next(self.paces)`."""
        file = function.file
        if not call.args or not file.names.is_builtin(call.func, "next"):
            return False
        origins = self.inference.of(file, call.args[0].value)
        older = (o for o in origins if o.file is not file or not file.tree.within(o.node, function.node))
        return any(map(self._iterates_in_python, older))

    def _iterates_in_python(self, origin: Origin) -> bool:
        """Whether a value is an iterator of `itertools`, or of a display or a generator."""
        if isinstance(origin.node, _ITERATED) or (origin.made_by or "").startswith("itertools."):
            return not origin.access_path
        callees = self.inference.callees(origin.file, origin.call, origin.context) if origin.call is not None else ()
        return any(callee.function.file.yields_of.get(callee.function.node) for callee in callees)

    # Names of outer functions and of the module.

    def _is_read(self, function: Function, name: cst.Name) -> bool:
        parent = function.file.tree.parents.get(name)
        return name in function.file.tree.order and not (isinstance(parent, cst.Arg) and parent.keyword is name)

    def _of_name(self, function: Function, name: cst.Name, order: RunOrder) -> Iterator[Blocker]:
        file = function.file
        bindings = file.flow.lookup(name.value, name)
        outer = [b for b in bindings if not _is_in(file, b.node, function)]
        if not outer and (bindings or hasattr(builtins, name.value)):
            return
        scope = file.tree.scope(outer[0].node) if outer else file.tree.root
        bound = scope.bindings.get(name.value, outer)
        if function.owner is not None and any(binding.node is function.owner.node for binding in bound):
            return  # a later class of this name, as in a notebook, has other methods
        is_of_module = scope is file.tree.root
        if (
            any(self._is_bound_again(file, binding, order) for binding in bound)
            or (is_of_module and next(self._sets_of_module(name.value, file, order), None) is not None)
            or any(
                _comes_between(change, order)
                for change in chain(self._changes_in_place(file, name, outer), self._changes_in_arguments(file, name))
            )
        ):
            yield Blocker(file, name, _is_kept(name.value))
        elif is_of_module and not any(binding.kind in _NOT_SET for binding in bound):
            for change in self._sets_of_module(ANY_NAME, file, order):
                yield Blocker(file, name, _may_be_kept(name.value, change))

    def _sets_of_module(self, name: str, file: File, order: RunOrder) -> Iterator[_Change]:
        """What gives a name of a module another value between two runs, but for statements of the module."""
        for change in self._writes(name, file):
            if self._is_module(change, file) and self._matters(change, order):
                yield change

    def _is_module(self, change: _Change, file: File) -> bool:
        """Whether it is the module of a file of which something is set: `settings.rate = 0.1`."""
        if change.place != "object":
            return change.file is file
        dotted = change.file.name(change.owner)
        if dotted is not None and self.inference.project.locate(change.file, dotted) == (file.source.path, ""):
            return True
        is_asked_for = any(word in change.file.source.text for word in _OWN_MODULE)
        return is_asked_for and any(map(_is_own_module, self.inference.of(change.file, change.owner)))

    def _is_bound_again(self, file: File, binding: Binding, order: RunOrder) -> bool:
        if binding.kind in _FIXED or (binding.kind in ("function", "class") and binding.node not in file.tree.parents):
            return False
        if binding.remote:
            return order.lies_between(file, binding.node)
        return order.lies_between_in(file, file.tree.function(binding.node), binding.node)

    def _changes_in_arguments(self, file: File, function: Expression) -> Iterator[_Change]:
        """What changes the containers that a `functools.partial` hands to its function."""
        for origin in self.inference.of(file, function):
            if origin.call is not None and origin.made_by == "functools.partial":
                for arg in origin.call.args[1:]:
                    yield from self._changes_in_place(origin.file, arg.value)

    def _changes_in_place(self, file: File, read: Expression, outer: Sequence[Binding] = ()) -> Iterator[_Change]:
        """What changes the container or array that an expression holds, by this name or another one.

        Arguments:
            outer: what binds it, where it is a name.
        """
        shown = self.in_place.shown(self.inference.of(file, read), whole=True)
        made = {origin.node: origin.file for origin in shown if self.in_place.is_mutable(origin)}
        for other in dict.fromkeys((file, self.file, *made.values())):
            for change in self._in_file(other).get("", ()):
                is_it = other is file and outer and self._is_same_name(file, change.owner, read, outer)
                if is_it or (
                    made and any(self.in_place.is_part(o, made) for o in self.inference.of(other, change.owner))
                ):
                    yield change

    def _is_same_name(self, file: File, owner: Expression, read: Expression, bindings: Sequence[Binding]) -> bool:
        """Whether a container that changes is the name that is read, which one of some bindings binds."""
        if not isinstance(owner, cst.Name) or not isinstance(read, cst.Name) or owner.value != read.value:
            return False
        return not {*bindings}.isdisjoint(file.flow.lookup(owner.value, owner))

    # Attributes.

    def _of_attribute(self, file: File, node: cst.Attribute, order: RunOrder) -> Iterator[Blocker]:
        name = node.attr.value
        if name in _OF_TRAINABLE:
            yield from self._empty_at_first(file, node, order)
            if any(self._matters(change, order) for change in self._writes("trainable", file)):
                text = f"`trainable` is set later, but the graph would keep the first value of `{file.code(node)}`"
                yield Blocker(file, node, text)
            return
        named = [(change, change.place == "object") for change in self._writes(name, file)]
        others = [(c, False) for c in self._writes(ANY_NAME, file) if not self._is_of_unknown(c)]
        for change, is_certain in (*named, *others):
            if self._may_be_same(file, node.value, change) and self._matters(change, order):
                text = file.code(node)
                yield Blocker(file, node, _is_kept(text) if is_certain else _may_be_kept(text, change))
                return
        if any(_comes_between(change, order) for change in self._changes_in_place(file, node)):
            yield Blocker(file, node, _is_kept(file.code(node)))

    def _empty_at_first(self, file: File, read: cst.Attribute, order: RunOrder) -> Iterator[Blocker]:
        """The variables that a model of Keras 2 makes in a call that comes after they have been read."""
        if self.target.keras < 3 and read.attr.value != "trainable" and self._is_read_too_early(file, read, order):
            text = (
                f"`{file.code(read)}` has no variables before the model is called, and the graph would keep that state"
            )
            yield Blocker(file, read, text)

    def _is_read_too_early(self, file: File, read: cst.Attribute, order: RunOrder) -> bool:
        models = {
            origin.node
            for origin in self.inference.of(file, read.value)
            if (cls := self.inference.instance_class(origin)) is not None and "model" in self.kinds.of_class(cls)
        }
        calls = [call for call in file.tree.calls if models and self._builds(file, call, models)]
        function, place = file.tree.function(read), file.tree.order[read]
        own = [call for call in calls if file.tree.function(call) is function]
        if not own or any(file.tree.order[call] < place for call in own):
            return False
        return not any(order.comes_after(file, call) for call in calls if call not in own)

    def _builds(self, file: File, call: cst.Call, models: set[Node]) -> bool:
        func = call.func
        model = func.value if isinstance(func, cst.Attribute) and func.attr.value == "build" else func
        return any(origin.node in models for origin in self.inference.of(file, model))

    def _writes(self, name: str, file: File) -> Iterator[_Change]:
        """What may set an attribute of this name in the files that are seen."""
        texts = DYNAMIC_SUBSTRINGS if name == ANY_NAME else (name,)
        for other in dict.fromkeys(other for text in texts for other in self.inference.seen.with_text(text, file)):
            yield from self._in_file(other).get(name, ())

    def _is_of_unknown(self, change: _Change) -> bool:
        """Whether the object is given to a function that nothing calls: `def __call__(self, parser, namespace)`."""
        function = change.file.tree.function(change.node)
        origins = self.inference.of(change.file, change.owner) if change.place == "object" else ()
        return (
            function is not None
            and bool(origins)
            and all(
                isinstance(origin.node, cst.Param)
                and change.file.tree.parents.get(origin.node) is function.params
                and self.inference.instance_class(origin) is None
                for origin in origins
            )
        )

    def _matters(self, change: _Change, order: RunOrder) -> bool:
        """Whether a change may come between two runs, and is none of an object that is being made."""
        file = change.file
        is_object = change.place == "object"
        if is_object and self._is_made_there(file, change.owner) and not order.leads_through(file, change.node):
            return False
        is_same = change.value is not None and self._is_constant(change.value)
        return order.lies_between(file, change.node, is_the_same_each_time=is_same)

    def _is_constant(self, value: Expression) -> bool:
        return isinstance(value, _CONSTANTS) or (isinstance(value, cst.Name) and value.value in ("True", "False"))

    def _is_made_there(self, file: File, owner: Expression, inside: frozenset[Node] = frozenset()) -> bool:
        """Whether an object, or what it is a part of, is made in the function that changes it, or being made there.

        Arguments:
            inside: the expressions that it is the value of.
        """
        root: Node = owner
        while isinstance(root, cst.Attribute | cst.Subscript | cst.Call):
            root = root.func if isinstance(root, cst.Call) else root.value
        function = file.tree.function(owner)
        if not isinstance(root, cst.Name) or not isinstance(function, cst.FunctionDef) or owner in inside:
            return False
        if self.inference.definitions.self_class(file, root) is not None:
            return function.name.value in CONSTRUCTORS and root is owner
        bindings, inside = file.flow.lookup(root.value, root), inside | {owner}
        if not bindings:
            return False
        if len(inside) > 1 and all(binding.kind in ("import", "function", "class") for binding in bindings):
            return True  # `layer = tf.keras.layers.Dense(1)`, `base = make_base()`
        return all(
            binding.kind in ("assign", "for")
            and file.tree.function(binding.node) is function
            and binding.value is not None
            and (_allocates(binding.value) or self._is_made_there(file, binding.value, inside))
            for binding in bindings
        )

    def _may_be_same(self, file: File, owner: Expression, change: _Change) -> bool:
        """Whether the object that is read may be the one that is changed."""
        if change.place != "object":
            is_module = self.inference.project.locate(file, file.name(owner) or "") == (change.file.source.path, "")
            return is_module or change.place == "anywhere"
        read, changed = self.inference.of(file, owner), self.inference.of(change.file, change.owner)
        if not read or not changed or any(self._may_be_one(origin, other) for origin in read for other in changed):
            return True
        made = [{o.node for o in self.in_place.shown(all_of) if o.call is not None} for all_of in (read, changed)]
        return not made[0].isdisjoint(made[1])

    def _may_be_one(self, read: Origin, changed: Origin) -> bool:
        if read.call is not None and changed.call is not None and read.node is not changed.node:
            return False
        classes = [self.inference.instance_class(origin) for origin in (read, changed)]
        if (classes[1] is not None and self._is_foreign(read)) or (
            classes[0] is not None and self._is_foreign(changed)
        ):
            return False
        if classes[0] is not None and classes[1] is not None:
            return self._are_related(classes[0], classes[1])
        kinds = [self.kinds.of(origin) for origin in (read, changed)]
        return None in kinds or kinds[0] == kinds[1]

    def _is_foreign(self, origin: Origin) -> bool:
        """Whether it is no instance of the project's own classes: a list, a module, an object of a library."""
        if isinstance(origin.node, (*DISPLAYS, *_CONSTANTS)):
            return not origin.access_path
        if origin.call is not None:
            return is_library(origin.made_by) and (origin.made_by or "").rpartition(".")[2][:1].isupper()
        name = origin.file.name(origin.node) if isinstance(origin.node, cst.Name | cst.Attribute) else None
        if name is None or any(content.kind != "attribute" for content in origin.access_path):
            return False
        name = ".".join((name, *(str(content.key) for content in origin.access_path)))
        located = self.inference.project.locate(origin.file, name)
        return is_library(name) or (located is not None and not located[1])

    def _are_related(self, cls: Class, other: Class) -> bool:
        lineage = self.inference.definitions.lineage
        above, below = {c.node for c in lineage(cls)}, {c.node for c in lineage(other)}
        return cls.node in below or other.node in above

    def _in_file(self, file: File) -> dict[str, list[_Change]]:
        """The attributes that a file sets or changes in place, by their names; by "" containers that have names."""
        if file not in self._changes:
            changes: dict[str, list[_Change]] = {}
            for assignment in file.tree.attribute_assignments:
                target = assignment.target
                change = _Change(file, target, target.value, assignment.value)
                changes.setdefault(target.attr.value, []).append(change)
            for container, node in self.in_place.of(file):
                if isinstance(container, cst.Attribute):
                    changes.setdefault(container.attr.value, []).append(_Change(file, node, container.value))
                changes.setdefault("", []).append(_Change(file, node, container))
            for write in self.dynamic.of(file):
                change = _Change(file, write.node, write.owner, write.value, write.place)
                changes.setdefault(write.name, []).append(change)
            self._changes[file] = changes
        return self._changes[file]

    # What Keras's own objects read of themselves.

    def of_calls(self, calls: Sequence[tuple[File, cst.Call]]) -> Iterator[Blocker]:
        """What Keras's own objects read while a model is called, and that changes between two such calls."""
        yield from self._of_calls(calls, (), RunOrder(self.inference, [RunSite(*site) for site in calls]))

    def _of_keras(self, functions: Sequence[Function], order: RunOrder) -> Iterator[Blocker]:
        """The same of what functions call."""
        calls = [(f.file, node) for f in functions for node in walk(f.node.body) if isinstance(node, cst.Call)]
        yield from self._of_calls(calls, functions, order)

    @cached_property
    def _run_by_layers(self) -> list[Function]:
        """What layers run, and all that this calls; once, as each call of a model may run any of it."""
        return self._all_reached([*self.reached.of_layers()])

    def _of_calls(
        self, calls: Sequence[tuple[File, cst.Call]], functions: Sequence[Function], order: RunOrder
    ) -> Iterator[Blocker]:
        """Attributes of Keras's layers, losses and optimizers that change, and of the layers of Keras's models.

        Arguments:
            functions: whose own code is known.
        """
        for file, setter in self._setters:
            is_same = bool(setter.args) and self._is_constant(setter.args[0].value)
            if order.lies_between(file, setter, is_the_same_each_time=is_same):
                text = f"`{file.code(setter)}` is called later, but the graph would keep what was set before"
                yield Blocker(file, setter, text)
        used = {kind for file, call in calls for kind in self._kinds_used(file, call)}
        if "model" in used:
            for function in self._run_by_layers:
                if function not in functions:
                    yield from self._in_function(function, order)
            for file, value in self.reached.given_to_layers():
                for change in self._changes_in_arguments(file, value):
                    if _comes_between(change, order):
                        yield Blocker(change.file, change.node, _is_kept(change.file.code(change.owner)))
        for file in self.inference.seen.with_text("keras", calls[0][0]) if used else ():
            for name, changes in self._in_file(file).items():
                for change in changes if name and name not in _READ_IN_GRAPHS else ():
                    kinds = {"mode"} if name == "trainable" else self._keras_kinds(change)
                    if not used.isdisjoint(kinds) and self._matters(change, order):
                        text = _is_kept(f"{file.code(change.owner)}.{name}")
                        yield Blocker(file, change.node, text)

    @cached_property
    def _setters(self) -> list[tuple[File, cst.Call]]:
        """The calls that set something of Keras's own."""
        words = {name.rpartition(".")[2] for name in SETTERS}
        files = dict.fromkeys(file for word in sorted(words) for file in self.inference.seen.with_text(word))
        return [(file, call) for file in files for call in file.calls(*SETTERS)]

    def _kinds_used(self, file: File, call: cst.Call) -> Iterator[str]:
        func = call.func
        owner = func.value if isinstance(func, cst.Attribute) else func
        if method_name(call) == "apply_gradients" or self.kinds.must_be(file, owner, "optimizer"):
            yield "optimizer"
        elif self.kinds.is_model(file, func):
            yield "model"
            yield "layer"
            training = argument(call, -1, "training")
            if training is not None and self.constants.of(file, training) is not False and self._has_modes(file):
                yield "mode"
        else:
            yield from (kind for kind in ("layer", "loss") if self.kinds.must_be(file, func, kind))

    def _has_modes(self, file: File) -> bool:
        """Whether models may have layers that do another thing in training while they are frozen."""
        return any(text in other.source.text for text in _MODAL for other in self.inference.seen.with_text(text, file))

    def _keras_kinds(self, change: _Change) -> set[str | None]:
        """Which of Keras's own objects a change may be one of: "optimizer", "layer", "loss"."""
        if change.place != "object":
            return set()
        owners = self.in_place.shown(self.inference.of(change.file, change.owner))
        if any(map(self.in_place.may_be_any, owners)):
            return {"optimizer", "layer", "loss"}
        return {self._kind_of_part(origin) for origin in owners} & {"optimizer", "layer", "loss"}

    def _kind_of_part(self, origin: Origin) -> str | None:
        """The same of one object, also of what Keras's models and layers hold: `model.layers[1].kernel_regularizer`."""
        if origin.access_path:
            whole = self.kinds.of(origin.whole)
            first = origin.access_path[0].key
            if whole == "model" and first in ("layers", "optimizer", "loss"):
                return "optimizer" if first == "optimizer" else "layer"
        call = origin.call
        if call is not None and isinstance(call.func, cst.Attribute) and call.func.attr.value == "get_layer":
            return "layer" if self.kinds.is_model(origin.file, call.func.value, origin.context) else None
        return self.kinds.of(origin) if self.inference.instance_class(origin) is None else None


class _OrderByKeras(RunOrder):
    """What may run between two runs of one trace, where `compile` has Keras trace again."""

    def lies_between(self, file: File, node: Node, *, is_the_same_each_time: bool = False) -> bool:
        """Whether a place may run between two of the runs, and no `compile` follows before the next of them."""
        is_between = super().lies_between(file, node, is_the_same_each_time=is_the_same_each_time)
        return is_between and not any(self._is_compiled(file, node, call) for call in file.method_calls("compile"))

    def _is_compiled(self, file: File, node: Node, compiling: cst.Call) -> bool:
        """Whether a call of `compile` certainly comes after a place, before any run, and for every model that runs."""
        tree = file.tree
        if tree.function(compiling) is not tree.function(node) or tree.order[compiling] < tree.order[node]:
            return False
        if not tree.within(node, tree.block(tree.statement(compiling))):
            return False
        sites = self._bodies.get((file, tree.function(node)), ())
        if any(tree.order[node] < tree.order[site] < tree.order[compiling] for site in sites):
            return False
        own, models = (
            self._models(file, compiling),
            [self._models(file, run) for run in file.method_calls(*sorted(RUNNING_METHODS))],
        )
        return bool(own) and all(run == own for run in models)

    def _models(self, file: File, call: cst.Call) -> set[Node]:
        """Where the model may be made of which a call is a method."""
        assert isinstance(call.func, cst.Attribute)
        return {origin.node for origin in self._inference.of(file, call.func.value)}


def _is_named(node: Node) -> TypeGuard[cst.Name | cst.Attribute]:
    return isinstance(node, cst.Name | cst.Attribute)


def _is_own_module(origin: Origin) -> bool:
    """Whether it may be the module that holds it: `sys.modules[name]`, `importlib.import_module(__name__)`."""
    node, file = origin.node, origin.file
    if isinstance(node, cst.Call):
        return is_loading(node) and bool(node.args) and file.code(node.args[0]) == "__name__"
    return isinstance(node, cst.Name | cst.Attribute) and file.name(node) in MODULES


def _comes_between(change: _Change, order: RunOrder) -> bool:
    """Whether something changes in place between two runs; where a method is handed on, that may be at any time."""
    return change.node is change.file.tree.module or order.lies_between(change.file, change.node)


def _is_kept(text: str) -> str:
    return f"`{text}` may change, but the graph would keep its first value"


def _may_be_kept(text: str, change: _Change) -> str:
    setter = change.file.code(change.node)
    return f"`{setter}` may set `{text}`, but the graph would keep its first value"


def _allocates(value: Expression) -> bool:
    """`Settings.__new__(Settings)`, `self.__class__.__new__(self.__class__)`."""
    return isinstance(value, cst.Call) and method_name(value) == "__new__"


def _is_in(file: File, node: Node, function: Function) -> bool:
    return file is function.file and (node is function.node or file.tree.within(node, function.node))
