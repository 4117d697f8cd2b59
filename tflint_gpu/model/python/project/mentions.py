"""Where a file names something of a library by its full name: in an import, or after one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

import libcst as cst

from tflint_gpu.lazy_dataclasses import dataclass
from tflint_gpu.model.python.project.file import File
from tflint_gpu.model.python.syntax.syntax import Expression, Node, dotted_name

Import = cst.Import | cst.ImportFrom
Replacement = tuple[Node, str]


@dataclass(frozen=True, slots=True)
class Mention:
    """A place that names something.

    Arguments:
        name: which of the names that were asked for, without aliases: "tensorflow.keras.layers.CuDNNLSTM".
        node: an expression, or what an import statement says of it.
        statement: of an import.
    """

    name: str
    node: Node
    statement: Import | None = None


class Mentions:
    """The places of one file that name parts of libraries."""

    def __init__(self, file: File) -> None:
        self.file = file
        self._attributes: dict[str, list[cst.Attribute]] | None = None

    def of(self, *names: str) -> Iterator[Mention]:
        """Where the file names one of these or what is below one; what an import brings is told at the import only."""
        known = frozenset(names)
        yield from self._imported(known)
        for name in names:
            for node in self.attributes(name.rpartition(".")[2]):
                root = self.file.names.written(_root(node))
                if root is None or _below(root, known) or self.file.names.written(node) != name:
                    continue
                parent = self.file.tree.parents[node]
                if not isinstance(parent, cst.Attribute) or f"{name}.{parent.attr.value}" not in known:
                    yield Mention(name, node)

    def _imported(self, names: frozenset[str]) -> Iterator[Mention]:
        for statement in self._imports():
            if isinstance(statement, cst.ImportFrom):
                module = dotted_name(statement.module) or ""
                if statement.relative:
                    continue
                if isinstance(statement.names, cst.ImportStar):
                    parts: list[tuple[Node, str]] = [(statement, f"{module}.*")]
                else:
                    parts = [(alias.name, f"{module}.{dotted_name(alias.name)}") for alias in statement.names]
            else:
                parts = [(alias.name, dotted_name(alias.name) or "") for alias in statement.names]
            for node, imported in parts:
                name = _below(imported.replace("tensorflow.compat.v2", "tensorflow"), names)
                if name is not None:
                    yield Mention(name, node, statement)

    def _imports(self) -> Iterator[Import]:
        nodes: dict[Node, None] = {}
        for scope in self.file.tree.scopes.values():
            for bindings in scope.bindings.values():
                nodes.update((b.node, None) for b in bindings if isinstance(b.node, Import))
        yield from (node for node in nodes if isinstance(node, Import))

    def attributes(self, last: str) -> list[cst.Attribute]:
        """Expressions `anything.last`, outside of imports."""
        if self._attributes is None:
            self._attributes = {}
            parents = self.file.tree.parents
            for node in self.file.tree.nodes(cst.Attribute):
                if parents[node].__class__ not in (cst.ImportFrom, cst.ImportAlias):
                    self._attributes.setdefault(node.attr.value, []).append(node)
        return self._attributes.get(last, [])

    def respelled(self, node: Expression, new: str) -> str | None:
        """How an expression is written when it is to name another thing; None where no import leads to that."""
        root = _root(node)
        start = self.file.names.written(root)
        if start is not None and isinstance(root, cst.Name) and new.startswith(f"{start}."):
            return root.value + new[len(start) :]
        short = new.replace("tensorflow.", "tf.", 1) if new.startswith("tensorflow.") else new
        spellings = [self.file.names.spelled(name, node) for name in (short, short.removeprefix("tf."))]
        return next(filter(None, spellings), None)

    def reimported(self, mention: Mention, renamed: Mapping[str, str]) -> tuple[Replacement, ...]:
        """A `from` import of a renamed thing and all uses of its name, as they are to be; nothing where that fails.

        Arguments:
            renamed: new names by old ones, of the thing itself and of what may be below it.
        """
        statement = mention.statement
        if not isinstance(statement, cst.ImportFrom) or isinstance(statement.names, cst.ImportStar):
            return ()
        if statement.module is None or all(alias.name is not mention.node for alias in statement.names):
            return ()
        module = self.file.code(statement.module)
        moved = [renamed.get(f"{module}.{dotted_name(alias.name)}", "").rpartition(".")[0] for alias in statement.names]
        new_module = renamed.get(mention.name, "").rpartition(".")[0]
        if new_module != module and set(moved) == {new_module}:
            aliases = list(statement.names)  # all of them are there now
        else:
            aliases = [alias for alias in statement.names if alias.name is mention.node]
            if new_module != module and len(statement.names) > 1:
                return ()
        edits: list[Replacement] = [] if new_module == module else [(statement.module, new_module)]
        for alias in aliases:
            changed = self._alias_renamed(alias, f"{module}.{dotted_name(alias.name)}", renamed)
            if changed is None:
                return ()
            edits += changed
        return tuple(edits)

    def _alias_renamed(self, alias: cst.ImportAlias, name: str, renamed: Mapping[str, str]) -> list[Replacement] | None:
        """What an import brings and all its uses, as they are to be; None where that fails."""
        old, new = name.rpartition(".")[2], renamed.get(name, "").rpartition(".")[2]
        if dotted_name(alias.name) != old or not new:
            return None
        bound = alias.asname.name.value if alias.asname and isinstance(alias.asname.name, cst.Name) else old
        rebound = new if bound == old and alias.asname is None else bound
        if rebound != bound and rebound in self.file.names_given:
            return None
        edits: list[Replacement] = [(alias.name, new)]
        for use in self._uses(bound, name):
            edit = self._use_renamed(use, rebound, renamed, name)
            if edit is None:
                return None
            edits.append(edit)
        return edits

    def _uses(self, name: str, written: str) -> Iterable[cst.Name]:
        for node in self.file.tree.uses.get(name, ()):
            is_import = isinstance(self.file.tree.parents[node], cst.ImportAlias | cst.AsName)
            if not is_import and self.file.names.written(node) == written:
                yield node

    def _use_renamed(
        self, use: cst.Name, rebound: str, renamed: Mapping[str, str], imported: str
    ) -> Replacement | None:
        """The name, or what is named below it where that has another name, too."""
        parent = self.file.tree.parents[use]
        if isinstance(parent, cst.Attribute) and parent.value is use:
            below = f"{imported}.{parent.attr.value}"
            if below in renamed:
                head = renamed[imported]
                new = renamed[below]
                return (parent, rebound + new[len(head) :]) if new.startswith(f"{head}.") else None
            if any(name.startswith(f"{imported}.") for name in renamed):
                return None  # of its parts some are elsewhere now, and of this one nothing is known
        return use, rebound


def _root(node: Node) -> Node:
    while isinstance(node, cst.Attribute):
        node = node.value
    return node


def _below(name: str, names: frozenset[str]) -> str | None:
    """Which of some names a name is, or has at its beginning; the longest."""
    while name and name not in names:
        name = name.rpartition(".")[0]
    return name or None
