"""How a fix names a part of a library: with what the file imports, or with one more import in the file's own way."""

from __future__ import annotations

from functools import cached_property

import libcst as cst

from tflint_gpu.lazy_dataclasses import dataclass
from tflint_gpu.model.python.names.names import Names
from tflint_gpu.model.python.syntax.syntax import Node, dotted_name
from tflint_gpu.model.python.syntax.tree import Tree

_SETTINGS = ("os.environ.", "os.putenv", "sys.path.", "warnings.", "logging.")
_KERAS = ("keras", "tensorflow.keras", "tf_keras")


@dataclass(frozen=True, slots=True)
class Spelling:
    """What to write for a name of a library.

    Arguments:
        text: "tf.data.AUTOTUNE".
        statement: the import that this needs, if the file has none.
        after: the line below which it goes.
    """

    text: str
    statement: str = ""
    after: cst.SimpleStatementLine | None = None


class Imports:
    """The imports at the top of one file."""

    def __init__(self, tree: Tree, names: Names) -> None:
        self.tree = tree
        self.names = names

    @cached_property
    def last(self) -> cst.SimpleStatementLine | None:
        """The last import at the top of the file; settings of the process may be among the imports."""
        last = None
        for statement in self.tree.module.body:
            if not isinstance(statement, cst.SimpleStatementLine):
                break
            if _is_import(statement):
                last = statement
            elif not (_is_docstring(statement) or self._is_setting(statement)):
                break
        return last

    def spelling(self, dotted: str, at: Node) -> Spelling | None:
        """How a canonical name ("tf.data.AUTOTUNE", "keras.ops.sin") is written at a place.

        None where the file imports nothing of that library at its top, or uses the new name for something else.
        """
        spelled = self.names.spelled(dotted, at)
        if spelled is not None:
            return Spelling(spelled)
        if self.last is None or not self._is_after(at):
            return None
        first, _, rest = dotted.partition(".")
        if first == "tf":
            statement, name, text = "import tensorflow as tf", "tf", dotted
            fits = any(module.partition(".")[0] == "tensorflow" for module in self._modules)
        else:
            home = next(
                (package for package in _KERAS if any(f"{m}.".startswith(f"{package}.") for m in self._modules)), None
            )
            name = rest.partition(".")[0]
            statement, text = f"from {home} import {name}", rest
            fits = first == "keras" and home is not None and bool(name)
        if not fits or name in self.tree.uses:
            return None
        return Spelling(text, statement, self.last)

    def _is_after(self, at: Node) -> bool:
        """Whether what is imported last at the top is there when a place is reached."""
        order = self.tree.order
        if self.last is None or at not in order:
            return False
        return self.tree.function(at) is not None or order[at] > order[self.last]

    @cached_property
    def _modules(self) -> frozenset[str]:
        """The modules from which the file imports at its top, or which it imports."""
        modules: set[str] = set()
        for line in self.tree.module.body:
            for small in line.body if isinstance(line, cst.SimpleStatementLine) else ():
                if isinstance(small, cst.ImportFrom) and not small.relative:
                    modules.add(dotted_name(small.module) or "")
                elif isinstance(small, cst.Import):
                    modules.update(dotted_name(alias.name) or "" for alias in small.names)
        return frozenset(modules)

    def _is_setting(self, statement: cst.SimpleStatementLine) -> bool:
        """`os.environ["TF_CPP_MIN_LOG_LEVEL"] = "2"`, `sys.path.append(...)`, `warnings.filterwarnings("ignore")`."""
        small = statement.body[0]
        if len(statement.body) > 1:
            return False
        if isinstance(small, cst.Assign) and isinstance(small.targets[0].target, cst.Subscript):
            return self.names.of(small.targets[0].target.value) == "os.environ"
        if isinstance(small, cst.Expr) and isinstance(small.value, cst.Call):
            return (self.names.of(small.value.func) or "").startswith(_SETTINGS)
        return isinstance(small, cst.Pass)


def _is_import(statement: cst.SimpleStatementLine) -> bool:
    return any(isinstance(small, cst.Import | cst.ImportFrom) for small in statement.body)


def _is_docstring(statement: cst.SimpleStatementLine) -> bool:
    small = statement.body[0]
    return isinstance(small, cst.Expr) and isinstance(small.value, cst.BaseString)
