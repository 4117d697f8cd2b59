"""The start of a program: what initialises TensorFlow's runtime, and how its GPUs are set up."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator
from functools import cached_property

import libcst as cst

from tflint_gpu.bounds import INITIALISER_CALLS
from tflint_gpu.lazy_dataclasses import dataclass
from tflint_gpu.lazy_patterns import regex
from tflint_gpu.model.library.classes import INPUT_LAYERS, INPUT_SHAPES, SEQUENTIAL
from tflint_gpu.model.library.datasets import is_source
from tflint_gpu.model.library.devices import DEVICE_SCOPES, INITIALISERS, parse_device
from tflint_gpu.model.library.spellings import spelled
from tflint_gpu.model.library.tensor_functions import returns_tensor
from tflint_gpu.model.library.tensorflow_1 import GRAPH_BUILDERS, GRAPH_SCOPES
from tflint_gpu.model.model import Analysis, Model
from tflint_gpu.model.python.execution.callers import RunSite, callers, is_in_main_block
from tflint_gpu.model.python.project.file import File
from tflint_gpu.model.python.project.functions import Function
from tflint_gpu.model.python.syntax.scopes import Binding
from tflint_gpu.model.python.syntax.syntax import Expression, Node, argument, dotted_name
from tflint_gpu.model.python.value_flow.calls import is_library
from tflint_gpu.model.tensorflow.runtime.graph_programs import GRAPH_FOLDERS, is_switch, runs_in_graphs, shows_graphs
from tflint_gpu.model.tensorflow.types.guards import Guards
from tflint_gpu.text.lexical import without_comments

GROWTH = frozenset(["tf.config.experimental.set_memory_growth", "tf.config.set_memory_growth"])
LOGICAL = spelled("tf.config.{set_logical_device_configuration,experimental.set_virtual_device_configuration}")
VISIBLE = frozenset(["tf.config.set_visible_devices", "tf.config.experimental.set_visible_devices"])
INTRA_THREADS = "tf.config.threading.set_intra_op_parallelism_threads"
INTER_THREADS = "tf.config.threading.set_inter_op_parallelism_threads"
"""With the three above all setters of `tf.config` that raise later: the others reach a runtime that has started."""
# Any of these bytes in a program's files means that its memory or its devices are set up by hand.
_MEMORY_SETTINGS = tuple(
    b"set_memory_growth ALLOW_GROWTH allow_growth per_process_gpu_memory_fraction set_logical_device_configuration "
    b"set_virtual_device_configuration set_visible_devices CUDA_VISIBLE_DEVICES TF_GPU_ALLOCATOR GPUOptions "
    b"gpu_options device_count".split()
)
# A verb for setting up, and what is set up, in a name: `setup_gpus`, `limit_gpu_memory`, `set_gpu_options`.
_SETS_UP_GPUS = regex(
    r"(?:config\w*|set|set_?up|init\w*|limit|select|choose|pick|allow|enable|prepare|reserve)_?\w*(?:gpu|cuda|memory_growth)\w*"
    r"|gpu_?\w*(?:setup|config|limit|growth)\w*",
    re.IGNORECASE,
)
_VISIBILITY_SETTINGS = (b"set_visible_devices", b"CUDA_VISIBLE_DEVICES", b"HIP_VISIBLE_DEVICES")
_NO_GPUS = regex(
    r"""CUDA_VISIBLE_DEVICES["']\]?\s*[=,:]\s*["'](?:-1)?["']|set_visible_devices\(\s*(?:devices=)?\[\s*\]"""
)
_OTHER_BACKEND = regex(r"KERAS_BACKEND\W+(?:torch|jax|openvino)")


@dataclass(frozen=True, slots=True)
class Initialiser:
    """What initialises the runtime: a call, or an import of such a module, and the name of what does it.

    Arguments:
        within: the call in the module that is imported.
    """

    file: File
    node: Node
    name: str
    within: Initialiser | None = None

    @property
    def text(self) -> str:
        """Its name, and where it is in a module that is imported: "`tf.constant` (line 4 of data.py)"."""
        if self.within is None:
            return f"`{self.name}`"
        file = self.within.file
        return f"`{self.name}` (line {file.source.row(file.span(self.within.node)[0])} of {file.source.path.name})"


_GRAPH_WRITERS = (
    b"saved_model", b"save_model", b".save(", b".export(", b"as_graph_def", b"write_graph", b"get_concrete_function",
    b"TFLiteConverter",
)  # fmt: skip
_CHOICES = (
    cst.If, cst.IfExp, cst.For, cst.While, cst.Try, cst.ExceptHandler, cst.Lambda,
    cst.BooleanOperation, cst.BaseComp, cst.With,
)  # fmt: skip
"""What need not run all that is in it."""


class Runtime(Analysis):
    """Analysis of how programs set TensorFlow up, seen from the file that is checked."""

    def __init__(self, model: Model) -> None:
        super().__init__(model)
        self.guards = model.once(Guards)
        self._graph_files: dict[File, bool] = {}
        self._initialising: dict[Node, str | None] = {}
        self._calls_of: dict[tuple[File, Node | None], list[cst.Call]] = {}
        self._own_calls: dict[tuple[File, Node | None], cst.Call | None] = {}
        self._initialised_by: dict[File, Initialiser | None] = {}
        self._choices: dict[Node, tuple[Node, Node] | None] = {}
        self._graphs: dict[File, tuple[frozenset[Node], frozenset[Node | None]]] = {}

    @property
    def _file(self) -> File:
        return self.inference.entry

    def mentions(self, substrings: tuple[bytes, ...]) -> bool:
        """Whether any of these bytes are in the file or in one of the project that it reaches."""
        return self.inference.project.program_mentions(self._file.source, substrings)

    def may_write_graphs(self) -> bool:
        """Whether the program, or one that imports the file, may write graphs, or models that hold them."""
        writing = re.compile(b"|".join(map(re.escape, _GRAPH_WRITERS)))
        return self.mentions(_GRAPH_WRITERS) or any(self.inference.project.importing(self._file, writing))

    def sets_memory(self) -> bool:
        """Whether the file, or a file of the project that it reaches, sets up GPU memory or visibility.

        A function from elsewhere that is called as if it did may do so, too: `limit_gpu_memory(4096)`.
        """
        if self.mentions(_MEMORY_SETTINGS):
            return True
        calls = (
            call
            for call in self._file.tree.calls
            if _SETS_UP_GPUS.fullmatch((dotted_name(call.func) or "").rpartition(".")[2])
        )
        return any(not self.inference.callees(self._file, call) for call in calls)

    def narrows_visibility(self) -> bool:
        """Whether the file, or one that it reaches, chooses which GPUs are visible."""
        return self.mentions(_VISIBILITY_SETTINGS)

    @cached_property
    def hides_gpus(self) -> bool:
        """Whether the file itself hides all GPUs."""
        return _NO_GPUS.search(without_comments(self._file.source.text)) is not None

    def has_numpy_behaviour(self) -> bool:
        """Whether the program gives tensors NumPy's methods, through which some NumPy functions work on them."""
        return self.mentions((b"experimental_enable_numpy_behavior",))

    @cached_property
    def uses_another_backend(self) -> bool:
        """Whether the file chooses a Keras backend that is not TensorFlow."""
        return _OTHER_BACKEND.search(self._file.source.text) is not None

    def soft_placement(self, node: Node) -> bool | None:
        """Whether a missing device gives way to the CPU at a place of the file, as it does by default.

        None where the file has a switch that may or may not have come before.
        """
        return self._soft_placement(RunSite(self._file, node))

    def _soft_placement(self, site: RunSite) -> bool | None:
        file, order, node, function = site.file, site.file.tree.order, site.node, site.function
        around = {file.tree.module, *file.tree.ancestors(node)}
        switches = list(file.calls("tf.config.set_soft_device_placement"))
        before = [call for call in switches if file.tree.function(call) is function and order[call] < order[node]]
        if before:
            is_on = self.constants.of(file, argument(before[-1], 0, "enabled"))
            return is_on if isinstance(is_on, bool) and not self._may_not_run(file, before[-1], around) else None
        if not isinstance(function, cst.FunctionDef):
            return None if any(file.tree.function(call) is not function for call in switches) else True
        sites = [caller for caller in callers(self.inference, site) if caller.file is file]
        known = {self._soft_placement(caller) for caller in sites or [RunSite(file, file.tree.module.body[-1])]}
        return known.pop() if len(known) == 1 else None

    def is_graph_program(self, file: File) -> bool:
        """Whether a file is one for TensorFlow 1 as a whole, or turns eager execution off: nothing runs eagerly."""
        known = self._graph_files.get(file)
        if known is None:
            named = [(call, (file.name(call.func) or "")[3:]) for call in file.calls("tf.*")]
            called = {name for _, name in named}
            called.update((file.name(node.decorator) or "")[3:] for node in file.tree.nodes(cst.Decorator))
            showing = {name for name in called if shows_graphs(name)}
            reached = {
                name
                for call, name in named
                if name in showing
                and not self.guards.is_for_graphs(file, call)
                and not (is_switch(name) and self._is_switched_off(file, call))
            }
            known = runs_in_graphs(called, reached, file.source.text)
            self._graph_files[file] = known
        return known

    def _is_switched_off(self, file: File, call: cst.Call) -> bool:
        """Whether a constant of the program keeps it from a call: `if mode == "graph":` below `mode = "eager"`."""
        return any(self.constants.of(file, test) is (not holds) for test, holds in self.guards.branches(file, call))

    def is_graph_code(self, file: File, node: Node) -> bool:
        """Whether a place runs in a graph of TensorFlow 1: in a session's or graph's scope, or among such code."""
        if self.is_graph_program(file):
            return True
        scopes, builders = self._graph_places(file)
        if scopes and any(parent in scopes for parent in file.tree.ancestors(node)):
            return True
        return bool(builders) and file.tree.function(node) in builders

    def is_on_cpu(self, file: File, node: Node) -> bool:
        """Whether a place lies in a `with tf.device("/CPU:0")`, in a file that names no other device."""
        devices = {call: self._is_cpu(file, call) for call in file.calls(*DEVICE_SCOPES)}
        if not devices or not all(devices.values()):
            return False
        return any(
            isinstance(block, cst.With) and any(item.item in devices for item in block.items)
            for block in file.tree.ancestors(node)
        )

    def _is_cpu(self, file: File, call: cst.Call) -> bool:
        device = self.constants.of(file, argument(call, 0, "device_name"))
        return isinstance(device, str) and parse_device(device).kind == "CPU"

    def _graph_places(self, file: File) -> tuple[frozenset[Node], frozenset[Node | None]]:
        """The with statements of a file that open a graph or session, and the functions that build graphs."""
        known = self._graphs.get(file)
        if known is None:
            named = [(call, file.name(call.func) or "") for call in file.calls("tf.*")]
            scopes = {_entering(file, call) for call, name in named if _is_of(name, GRAPH_SCOPES)}
            building = [call for call, name in named if _is_of(name, GRAPH_BUILDERS)]
            builders = {
                file.tree.function(call)
                for call in building
                if not (self.guards.is_for_graphs(file, call) or self._is_switched_off(file, call))
            }
            known = self._graphs[file] = frozenset(scope for scope in scopes if scope is not None), frozenset(builders)
        return known

    def device_strings(self, *names: str) -> Iterator[tuple[cst.Call, Expression]]:
        """The device argument of each call of these functions, where TensorFlow is what gets it."""
        for call in self._file.calls(*names):
            if self.uses_another_backend and self._file.name(call.func) == "keras.device":
                continue
            device = argument(call, 0, "device") or argument(call, -1, "device_name")
            if device is not None:
                yield call, device

    def startup_settings(self) -> Iterator[tuple[File, cst.Call]]:
        """The calls that set devices or threads up: in this file, and in functions of other files of the program."""
        names = sorted({*GROWTH, *LOGICAL, *VISIBLE, INTRA_THREADS, INTER_THREADS})
        words = dict.fromkeys(name.rpartition(".")[2] for name in names)
        for file in dict.fromkeys(file for word in words for file in self.inference.seen.using(word)):
            for call in file.calls(*names):
                if file is self._file or file.tree.function(call) is not None:
                    yield file, call

    def initialiser_before(self, file: File, node: Node) -> Initialiser | None:
        """What must initialise the runtime before a place: a call there, or before each call of its code."""
        return self._initialiser(RunSite(file, node))

    def initialiser_after(self, file: File, node: Node, loop: cst.For) -> Initialiser | None:
        """What must initialise the runtime after a place in a loop's body, and so before its second iteration."""
        order, below = file.tree.order, file.calls_below.get(loop, ())
        function = file.tree.function(node)
        later = (c for c in below if order[c] > order[node] and file.tree.function(c) is function)
        return self._first_of(file, node, later)

    def _initialiser(self, site: RunSite) -> Initialiser | None:
        first = self._first_of(site.file, site.node, self._calls_before(site))
        return first or self._initialising_import(site.file, site.node) or self._initialiser_at_callers(site)

    def _calls_before(self, site: RunSite) -> list[cst.Call]:
        """The calls of a function before a place in it, without those that are known to initialise nothing.

        They are taken out for all other places of the function, too, so that many places are no square of calls.
        """
        order, function = site.file.tree.order, (site.file, site.function)
        if function not in self._calls_of:
            self._calls_of[function] = list(site.file.calls_in.get(site.function, []))
        calls = self._calls_of[function]
        end = bisect_left(calls, order[site.node], key=order.__getitem__)
        calls[:end] = before = [call for call in calls[:end] if self._initialising.get(call, "") is not None]
        return before

    def runs_own_code_before(self, file: File, node: Node) -> bool:
        """Whether a call before a place, in the same function, runs code of the project."""
        order, function = file.tree.order, (file, file.tree.function(node))
        if function not in self._own_calls:
            inference, calls = self.inference, file.calls_in.get(function[1], ())
            own = (call for call in calls if inference.callees(file, call) or inference.class_called(file, call))
            self._own_calls[function] = next(own, None)
        first = self._own_calls[function]
        return first is not None and order[first] < order[node]

    def _first_of(self, file: File, node: Node, calls: Iterable[cst.Call]) -> Initialiser | None:
        """The first of some calls that initialises the runtime whenever a place of their function is reached."""
        around = {file.tree.module, *file.tree.ancestors(node)}
        for other in calls:
            if other in around or self._initialising.get(other, "") is None or self._may_not_run(file, other, around):
                continue
            name = self._initialising[other] = self.initialises(file, other)
            if name is not None:
                return Initialiser(file, other, name)
        return None

    def _initialiser_at_callers(self, site: RunSite) -> Initialiser | None:
        """What comes before each of the calls of a function, in its own file and in those that import it.

        What the file does as a program by itself, under `__name__`, does not count if there are other callers.
        """
        sites = list(callers(self.inference, site))
        if any(caller.file is not site.file for caller in sites):
            sites = [c for c in sites if c.file is not site.file or not is_in_main_block(c.file, c.node)]
        initialiser = None
        for caller in sites:
            initialiser = self._initialiser(caller)
            if initialiser is None:
                return None
        return initialiser

    def _initialising_import(self, file: File, node: Node) -> Initialiser | None:
        """An import at the top of the file of a module that initialises the runtime while it is imported."""
        initialising = next(self._of_imports(file, frozenset([file]), file.tree.order[node]), None)
        if initialising is None:
            return None
        statement, initialiser = initialising
        return Initialiser(file, statement, initialiser.name, initialiser)

    def _initialised_on_import(self, file: File, seen: frozenset[File]) -> Initialiser | None:
        """The code at the top of a module, or of one that it imports, that must initialise the runtime."""
        if file in seen or self.is_graph_program(file):
            return None
        if file not in self._initialised_by:
            of_imports = (inner for _, inner in self._of_imports(file, seen | {file}))
            self._initialised_by[file] = self._first_at_top(file) or next(of_imports, None)
        return self._initialised_by[file]

    def _first_at_top(self, file: File) -> Initialiser | None:
        around: set[Node] = {file.tree.module}
        for call in file.calls_in.get(None, []):
            if not self._may_not_run(file, call, around):
                name = self.initialises(file, call)
                if name is not None:
                    return Initialiser(file, call, name)
        return None

    def _of_imports(
        self, file: File, seen: frozenset[File], until: int | None = None
    ) -> Iterator[tuple[Node, Initialiser]]:
        """The imports at the top of a file, up to a place in its order, that lead to such code."""
        for binding in file.once(_imports_at_top):
            if until is not None and file.tree.order[binding.node] > until:
                continue
            imported = self.inference.project.imported(file, binding.target)
            inner = None if imported is None else self._initialised_on_import(imported[0], seen)
            if inner is not None:
                yield binding.node, inner

    def _may_not_run(self, file: File, call: cst.Call, around: set[Node]) -> bool:
        """Whether `call` is in a branch, loop, handler or lambda that need not run before the place.

        Arguments:
            around: the nodes around the place.
        """
        if call not in self._choices:
            self._choices[call] = self._choice_around(file, call)
        choice = self._choices[call]
        if choice is None:
            return False
        parent, child = choice
        if parent not in around:
            return True
        # The same `if` or `try`, but perhaps the other way through it.
        is_branch = isinstance(parent, cst.If | cst.Try | cst.IfExp) and child is not getattr(parent, "test", None)
        return is_branch and child not in around

    def _choice_around(self, file: File, call: cst.Call) -> tuple[Node, Node] | None:
        """The innermost branch, loop, handler or lambda around a call, and the part of it that holds the call."""
        child: Node = call
        for parent in file.tree.ancestors(call):
            is_iterated = isinstance(parent, cst.For) and child is parent.iter
            if isinstance(parent, _CHOICES) and not is_iterated and not self._plain_with(file, parent):
                return parent, child
            child = parent
        return None

    def _plain_with(self, file: File, node: Node) -> bool:
        """A `with` under which TensorFlow still runs eagerly on the process's own runtime."""
        return isinstance(node, cst.With) and all(
            isinstance(item.item, cst.Call) and file.name(item.item.func) in ("tf.device", "tf.GradientTape")
            for item in node.items
        )

    def initialises(self, file: File, call: cst.Call, depth: int = 0) -> str | None:
        """The name of what a call does that initialises the runtime, None where it does not for certain."""
        name = file.name(call.func)
        if name in INITIALISERS:
            return name
        if name is not None and is_library(name):
            last = name.rpartition(".")[2]
            if name.startswith("tf.") and returns_tensor(name):
                return name
            if is_source(name) and name.startswith("tf.data.Dataset."):
                return name
            if (
                name.startswith(("keras.optimizers.", "keras.metrics."))
                and last[:1].isupper()
                and "schedules" not in name
            ):
                return name
            if name in SEQUENTIAL and self._has_input(file, call):
                return f"{name} with an Input"
            return None
        cls = self.inference.class_called(file, call)
        made = self.inference.definitions.method(cls, "__init__") if cls is not None else None
        function = made or self.inference.called(file, call)
        if function is None:
            return None
        if depth >= INITIALISER_CALLS.limit:
            if function.calls:
                self.inference.meet(INITIALISER_CALLS)
            return None
        return next(self.initialised_by(function, depth + 1), None)

    def initialised_by(self, function: Function, depth: int) -> Iterator[str]:
        """What every run of a function initialises the runtime with."""
        around: set[Node] = {function.node, function.node.body}
        for call in function.calls:
            if not self._may_not_run(function.file, call, around) and not self._after_exit(function, call):
                name = self.initialises(function.file, call, depth)
                if name is not None:
                    yield name

    def _after_exit(self, function: Function, call: cst.Call) -> bool:
        """Whether the function may have returned before it comes to `call`."""
        tree = function.file.tree
        returns = function.file.returns_of.get(function.node, [])
        return any(tree.order[r] < tree.order[call] and not tree.within(call, r) for r in returns)

    def _has_input(self, file: File, call: cst.Call) -> bool:
        layers = argument(call, 0, "layers")
        first = layers.elements[0].value if isinstance(layers, cst.List | cst.Tuple) and layers.elements else None
        if not isinstance(first, cst.Call):
            return False
        return file.name(first.func) in INPUT_LAYERS or any(
            a.keyword is not None and a.keyword.value in INPUT_SHAPES for a in first.args
        )


def _is_of(name: str, names: frozenset[str]) -> bool:
    """Whether a canonical name is one of TensorFlow 1's."""
    short = name.removeprefix("tf.").removeprefix("compat.v1.")
    return short in names or short.startswith(GRAPH_FOLDERS)


def _entering(file: File, call: cst.Call) -> Node | None:
    """The with statement that enters what a call makes."""
    item = next(
        (ancestor for ancestor in file.tree.ancestors(call) if isinstance(ancestor, cst.WithItem | cst.BaseSuite)), None
    )
    return file.tree.parents[item] if isinstance(item, cst.WithItem) else None


def _imports_at_top(file: File) -> list[Binding]:
    """What the statements of a module import that are in no block."""
    parents = file.tree.parents
    bindings = (binding for bindings in file.tree.root.bindings.values() for binding in bindings)
    return [b for b in bindings if b.kind == "import" and parents.get(parents.get(b.node, b.node)) is file.tree.module]
