"""What a dotted expression refers to: import aliases resolved to canonical names.

TensorFlow answers to many names. Here `tensorflow.*` and `tensorflow.compat.v2.*` become `tf.*`; tf.keras, tf_keras,
`tensorflow.python.keras` and keras become `keras.*`, tf.optimizers `keras.optimizers`; `tensorflow.compat.v1.*` stays
apart as `tf.compat.v1.*`, but for what is the same object in TensorFlow 2. Names of other modules stay as they are
imported, relative dots included.
"""

from __future__ import annotations

import builtins
from collections.abc import Callable, Container, Iterator
from functools import cached_property, lru_cache
from itertools import chain, count

import libcst as cst

from tflint_gpu.model.library.spellings import ENGINE, FRAGMENT_NAMES, PREFIXES, SAME_IN_V1, STAR_NAMES
from tflint_gpu.model.python.names.branches import Branches
from tflint_gpu.model.python.names.flow import Flow
from tflint_gpu.model.python.syntax.scopes import Binding, Scope
from tflint_gpu.model.python.syntax.syntax import Expression, Node, constant_of, dotted_name
from tflint_gpu.model.python.syntax.tree import Tree


@lru_cache(maxsize=4096)
def canonical(dotted: str) -> str:
    """The canonical form of a dotted name that is already free of aliases."""
    for prefix, short in PREFIXES:
        if dotted.startswith(prefix) and (len(dotted) == len(prefix) or dotted[len(prefix)] == "."):
            dotted = short + dotted[len(prefix) :]
            break
    if dotted.startswith("tf.keras"):
        dotted = dotted[3:]
    elif dotted.startswith("tf.optimizers"):
        dotted = f"keras{dotted[2:]}"
    elif dotted.startswith("tf.compat.v2."):
        dotted = canonical("tensorflow." + dotted[len("tf.compat.v2.") :])
    elif dotted.startswith("tf.compat.v1."):
        rest = dotted[len("tf.compat.v1.") :]
        part = rest.partition(".")[0]
        dotted = rest if part == "keras" else f"tf.{rest}" if part in SAME_IN_V1 else dotted
    if dotted.startswith("keras.engine."):
        dotted = ENGINE.get(dotted.rpartition(".")[2], dotted)
    return dotted


def _is_for_types(test: Expression) -> bool:
    """`TYPE_CHECKING`, `typing.TYPE_CHECKING`."""
    name = test.attr if isinstance(test, cst.Attribute) else test
    return isinstance(name, cst.Name) and name.value == "TYPE_CHECKING"


class Names:
    """Canonical names of one file's expressions.

    Arguments:
        re_exported: what an imported name is outside the project, where a file of the project only hands it on.
    """

    def __init__(self, tree: Tree, flow: Flow, re_exported: Callable[[str], str] = str) -> None:
        self.tree = tree
        self.flow = flow
        self._re_exported = re_exported
        self._known: dict[Node, str | None] = {}
        self._written: dict[Node, str | None] = {}
        self._imported: dict[Scope, list[tuple[str, str]]] = {}
        self._canonicals: dict[str, str] = {}
        self._simple = self._fixed_names()
        self._unbound: str | None = "" if "*" in tree.root.bindings else None

    def of(self, node: Node | None) -> str | None:
        """The canonical name, such as "keras.layers.Dense"; None for anything that is not a fixed name."""
        if node.__class__ is cst.Attribute:  # asking an abstract base class is slow, and this is asked most
            known = self._known.get(node, "")
            if known == "":
                base = self.of(node.value)
                known = self._known[node] = None if base is None else self._canonical(f"{base}.{node.attr.value}")
            return known
        if node.__class__ is not cst.Name:
            module = module_loaded(node) if node.__class__ is cst.Call else None
            return None if module is None else self._canonical(module)
        simple = self._simple.get(node.value, self._unbound)
        if simple != "":
            return simple
        known = self._known.get(node, "")
        if known == "":
            self._known[node] = None  # an alias of itself ends here
            known = self._known[node] = self._resolve(node)
        return known

    def written(self, node: Node | None) -> str | None:
        """The name as the library has it, nothing made canonical: "tensorflow.compat.v1.keras.layers.Dense"."""
        if isinstance(node, cst.Attribute):
            base = self.written(node.value)
            return None if base is None else f"{base}.{node.attr.value}"
        if not isinstance(node, cst.Name):
            return None
        if node not in self._written:
            self._written[node] = None  # an alias of itself ends here
            self._written[node] = self._resolve_written(node)
        return self._written[node]

    def _resolve_written(self, node: cst.Name) -> str | None:
        targets: set[str | None] = set()
        for binding in self.flow.lookup(node.value, node):
            if binding.kind == "import":
                targets.add(self._re_exported(binding.target).replace("tensorflow.compat.v2", "tensorflow"))
            elif not _is_none(binding):
                targets.add(self.written(binding.value) if _is_alias(binding) else None)
        return targets.pop() if len(targets) == 1 else None

    def spelled(self, dotted: str, at: Node) -> str | None:
        """How a canonical name is written at a place with what the file imports; None where it imports nothing fit."""
        spellings: list[str] = []
        for name, module in self._modules(self.tree.scope(at)):
            if not (dotted == module or dotted.startswith(f"{module}.")):
                continue
            here = self.flow.lookup(name, at)
            if (
                here
                and all(b.kind == "import" and canonical(b.target) == module for b in here)
                and self._is_there(here, at)
            ):
                spellings.append(name + dotted[len(module) :])
        return min(spellings, key=len, default=None)

    def _modules(self, scope: Scope | None) -> Iterator[tuple[str, str]]:
        """The names that imports bind last in a scope, and in those around it, each with what it is."""
        while scope is not None:
            if scope not in self._imported:
                last = ((name, bindings[-1]) for name, bindings in scope.bindings.items())
                imported = [(name, canonical(b.target)) for name, b in last if b.kind == "import" and b.target]
                self._imported[scope] = imported
            yield from self._imported[scope]
            scope = scope.parent

    @cached_property
    def _branches(self) -> Branches:
        return Branches(self.tree)

    def _is_there(self, imports: list[Binding], at: Node) -> bool:
        """Whether imports have run when a place is: a function may be called below those that follow it."""
        order, function = self.tree.order, at
        imports = [
            b for b in imports if not self._is_for_types(b) and (self._must_run(b) or self._is_used_by(b.name, at))
        ]
        if not imports or at not in order:
            return bool(imports)
        while (outer := self.tree.function(function)) is not None:
            function = outer
        return any(
            order[b.node] <= order[function] if b in self.tree.root.bindings.get(b.name, ()) else function is not at
            for b in imports
        )

    def _must_run(self, binding: Binding) -> bool:
        """Whether an import is under no condition, and in no other function, which may not run."""
        tests = (test for test, holds, _ in self._branches.around(binding.node) if holds or not _is_for_types(test))
        return not binding.remote and next(tests, None) is None

    def _is_used_by(self, name: str, at: Node) -> bool:
        """Whether the function of a place reads a name, so that something has bound it."""
        function, bound = self.tree.function(at), {b.node for b in self.tree.root.bindings.get(name, ())}
        uses = (use for use in self.tree.uses.get(name, ()) if self.tree.function(use) is function)
        return any(not any(self.tree.within(use, node) for node in bound) for use in uses)

    def _is_for_types(self, binding: Binding) -> bool:
        """Whether only type checkers run an import: it is under `if TYPE_CHECKING:`."""
        return any(must_hold and _is_for_types(test) for test, must_hold, _ in self._branches.around(binding.node))

    def free(self, *candidates: str, taken: Container[str] = ()) -> str:
        """The first of some names that the file does not use; the last with a number where it uses all.

        Arguments:
            taken: other names that it may not be.
        """
        numbered = (f"{candidates[-1]}_{number}" for number in count(2))
        return next(name for name in chain(candidates, numbered) if name not in self.tree.uses and name not in taken)

    def is_builtin(self, node: Node | None, name: str) -> bool:
        """Whether an expression is Python's own `name` (`len`, `zip`, `print`), not shadowed."""
        return isinstance(node, cst.Name) and node.value == name and not self.flow.lookup(name, node)

    def _fixed_names(self) -> dict[str, str | None]:
        """What names mean wherever they are: one import, or nothing; "" for those that have to be looked up."""
        bound: dict[str, list[Binding]] = {}
        for scope in self.tree.scopes.values():
            for name, bindings in scope.bindings.items():
                bound.setdefault(name, []).extend(bindings)
        fixed: dict[str, str | None] = {}
        starred = "*" in self.tree.root.bindings
        for name, bindings in bound.items():
            if not any(b.kind == "import" or _is_alias(b) for b in bindings):
                fixed[name] = "" if starred else None
                continue
            here = self.tree.root.bindings.get(name, ())
            targets = {self._canonical(b.target) for b in here if b.kind == "import"}
            is_one = len(here) == len(bindings) and all(b.kind == "import" for b in here) and len(targets) == 1
            fixed[name] = targets.pop() if is_one else ""
        if not any(b.kind == "import" for bindings in bound.values() for b in bindings):
            return FRAGMENT_NAMES | fixed
        return fixed

    def _resolve(self, node: cst.Name) -> str | None:
        bindings = self.flow.lookup(node.value, node)
        if not bindings:
            return self._from_star(node.value)
        targets: set[str] = set()
        for binding in bindings:
            if _is_none(binding):
                continue  # `try: import numpy as np` / `except ImportError: np = None`
            target = self._target(binding)
            if target is None:
                return None
            targets.add(target)
        return targets.pop() if len(targets) == 1 else None

    def _canonical(self, target: str) -> str:
        """The canonical name of an import, also of one by which a file of the project hands a library on."""
        known = self._canonicals.get(target)
        if known is None:
            known = self._canonicals[target] = canonical(self._re_exported(target))
        return known

    def _target(self, binding: Binding) -> str | None:
        if binding.kind == "import":
            return self._canonical(binding.target)
        if _is_alias(binding):
            return self.of(binding.value)
        return None

    @cached_property
    def _starred(self) -> list[tuple[Binding, str, Container[str]]]:
        """The star imports, first the last one, which holds; the module of each, and the names that it is to bring."""
        from tflint_gpu.model.library.star_imports import names_brought_by  # for few files

        starred = [(b, canonical(b.target)) for b in reversed(self.tree.root.bindings.get("*", ()))]
        known = [names for _, module in starred if (names := names_brought_by(module)) is not None]
        if len(known) < len(starred):  # another module may bring any name, so that only some are told
            return [(binding, module, STAR_NAMES.get(module, ())) for binding, module in starred]
        return [(binding, module, names) for (binding, module), names in zip(starred, known, strict=True)]

    def _from_star(self, name: str) -> str | None:
        if hasattr(builtins, name) and name not in ("abs", "sum"):
            return None
        for binding, module, names in self._starred:
            if name in names:
                return canonical(f"{module}.{name}")
            dotted = binding.target + ("" if binding.target.endswith(".") else ".") + name
            library = self._re_exported(dotted)
            if library != dotted:
                return canonical(library)
        return None


def _is_alias(binding: Binding) -> bool:
    """`layers = tf.keras.layers`, `steps = importlib.import_module("project.steps")`."""
    if binding.kind != "assign" or binding.path:
        return False
    value = binding.value
    return value.__class__ in (cst.Name, cst.Attribute) or (
        value.__class__ is cst.Call and module_loaded(value) is not None
    )


def module_loaded(call: Node | None) -> str | None:
    """The module that a call loads by a name that is written there: `importlib.import_module("project.steps")`."""
    assert isinstance(call, cst.Call)
    if not is_loading(call):
        return None
    module = call.args[0].value
    name = constant_of(module) if isinstance(module, cst.SimpleString) else None
    return name if isinstance(name, str) and not name.startswith(".") else None


def is_loading(call: cst.Call) -> bool:
    """Whether a call is `import_module(name)`, of an absolute name."""
    return dotted_name(call.func) in ("importlib.import_module", "import_module") and len(call.args) == 1


def _is_none(binding: Binding) -> bool:
    value: Expression | None = binding.value
    return binding.kind == "assign" and isinstance(value, cst.Name) and value.value == "None"
