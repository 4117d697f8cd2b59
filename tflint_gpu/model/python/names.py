"""What a dotted expression refers to: import aliases resolved to canonical names.

TensorFlow answers to many names. Here `tensorflow.*` and `tensorflow.compat.v2.*` become `tf.*`; tf.keras, tf_keras,
`tensorflow.python.keras` and keras become `keras.*`; `tensorflow.compat.v1.*` stays apart as
`tf.compat.v1.*`. Names of other modules stay as they are imported, relative dots included.
"""

from __future__ import annotations

import builtins
from collections.abc import Callable

import libcst as cst

from tflint_gpu.model.python.flow import Flow
from tflint_gpu.model.python.syntax import Expression, Node
from tflint_gpu.model.python.tree import Binding, Scope, Tree

_PREFIXES = (
    ("tensorflow.compat.v2.keras", "keras"),
    ("tensorflow.compat.v1.keras", "keras"),
    ("tensorflow.keras", "keras"),
    ("tensorflow.python.keras", "keras"),
    ("tensorflow.compat.v2", "tf"),
    ("tensorflow.compat.v1", "tf.compat.v1"),
    ("tensorflow", "tf"),
    ("tf_keras", "keras"),
    ("keras.src", "keras"),
    ("keras.api", "keras"),
    ("numpy.core", "numpy"),
)
# The names that a star import of a known module can bring and that the rules ask about.
_STAR_NAMES = {
    "keras.layers": frozenset(["Layer", "Dense", "Lambda", "Input", "LSTM", "GRU", "Conv2D"]),
    "keras.models": frozenset(["Model", "Sequential", "load_model", "clone_model"]),
    "keras": frozenset("Model Sequential Input layers models backend ops losses metrics utils".split()),
    "numpy": frozenset(
        "sin cos tan exp log sqrt tanh abs square maximum minimum mean sum dot concatenate clip where array".split()
    ),
    "tf": frozenset("GradientTape function device config data keras Variable constant reduce_mean".split()),
}


def canonical(dotted: str) -> str:
    """The canonical form of a dotted name that is already free of aliases."""
    for prefix, short in _PREFIXES:
        if dotted.startswith(prefix) and (len(dotted) == len(prefix) or dotted[len(prefix)] == "."):
            dotted = short + dotted[len(prefix) :]
            break
    if dotted.startswith("tf.keras"):
        dotted = dotted[3:]
    elif dotted.startswith("tf.compat.v2."):
        dotted = canonical("tensorflow." + dotted[len("tf.compat.v2.") :])
    elif dotted.startswith("tf.compat.v1.keras"):
        dotted = dotted[len("tf.compat.v1.") :]
    return dotted


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
        self._simple = self._unshadowed_imports()

    def of(self, node: Node | None) -> str | None:
        """The canonical name, such as "keras.layers.Dense"; None for anything that is not a fixed name."""
        if node.__class__ is cst.Attribute:  # asking an abstract base class is slow, and this is asked most
            if node not in self._known:
                base = self.of(node.value)
                self._known[node] = None if base is None else canonical(f"{base}.{node.attr.value}")
            return self._known[node]
        if node.__class__ is not cst.Name:
            return None
        simple = self._simple.get(node.value, "")
        if simple != "":
            return simple
        if node not in self._known:
            self._known[node] = None  # an alias of itself ends here
            self._known[node] = self._resolve(node)
        return self._known[node]

    def spelled(self, dotted: str, at: Node) -> str | None:
        """How a canonical name is written at a place with what the file imports; None where it imports nothing fit."""
        found: list[str] = []
        for name, bindings in self.tree.root.bindings.items():
            module = canonical(bindings[-1].target) if bindings[-1].kind == "import" else ""
            if not module or not (dotted == module or dotted.startswith(f"{module}.")):
                continue
            here = self.flow.lookup(name, at)
            if here and all(b.kind == "import" and canonical(b.target) == module for b in here):
                found.append(name + dotted[len(module) :])
        return min(found, key=len, default=None)

    def free(self, *candidates: str) -> str:
        """The first of some names that the file does not use; the last where it uses all."""
        used = {node.value for node in self.tree.parents if node.__class__ is cst.Name}
        return next((name for name in candidates if name not in used), candidates[-1])

    def is_builtin(self, node: Node | None, name: str) -> bool:
        """Whether an expression is Python's own `name` (`len`, `zip`, `print`), not shadowed."""
        return isinstance(node, cst.Name) and node.value == name and not self.flow.lookup(name, node)

    def _unshadowed_imports(self) -> dict[str, str | None]:
        """Names that mean one import wherever they stand; None for names bound in no scope at all."""
        bound: dict[str, list[tuple[Scope, Binding]]] = {}
        for scope in self.tree.scopes.values():
            for name, bindings in scope.bindings.items():
                bound.setdefault(name, []).extend((scope, binding) for binding in bindings)
        simple: dict[str, str | None] = {}
        for name, found in bound.items():
            if all(scope is self.tree.root and b.kind == "import" for scope, b in found):
                targets = {self._canonical(b.target) for _, b in found}
                if len(targets) == 1:
                    simple[name] = targets.pop()
        return simple

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
        return canonical(self._re_exported(target))

    def _target(self, binding: Binding) -> str | None:
        if binding.kind == "import":
            return self._canonical(binding.target)
        if binding.kind == "assign" and binding.path == () and isinstance(binding.value, cst.Name | cst.Attribute):
            return self.of(binding.value)
        return None

    def _from_star(self, name: str) -> str | None:
        if hasattr(builtins, name) and name not in ("abs", "sum"):
            return None
        for binding in self.tree.root.bindings.get("*", ()):
            module = canonical(binding.target)
            if name in _STAR_NAMES.get(module, ()):
                return f"{module}.{name}"
        return None


def _is_none(binding: Binding) -> bool:
    value: Expression | None = binding.value
    return binding.kind == "assign" and isinstance(value, cst.Name) and value.value == "None"
