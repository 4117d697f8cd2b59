"""The one traversal of a libcst tree: parents, scopes, bindings, calls and definitions.

Everything else in the model asks this. The walk follows only the fields that mean something (more
than half of a libcst tree is whitespace), and it uses a stack of its own, so that deep trees cost
memory and not recursion.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from operator import itemgetter
from typing import Any, TypeVar

import libcst as cst

from tflint_gpu.model.library.higher_order import FOR_ELEMENTS
from tflint_gpu.model.python.syntax.children import CHILD_FIELDS, IS_NODE, children, numbered
from tflint_gpu.model.python.syntax.scopes import AttributeAssignment, Binding, BindingKind, Path, Scope
from tflint_gpu.model.python.syntax.syntax import Expression, FunctionNode, LoopNode, Node, dotted_name, parameters

_N = TypeVar("_N", bound=Node)
_T = TypeVar("_T")


class Tree:
    """The facts of one traversal.

    Arguments:
        module: the parsed file.
    """

    def __init__(self, module: cst.Module) -> None:
        self.module = module
        self.parents: dict[Node, Node] = {}
        self.scopes: dict[Node, Scope] = {}
        self.calls: list[cst.Call] = []
        self.functions: list[FunctionNode] = []
        self.classes: list[cst.ClassDef] = []
        self.loops: list[LoopNode] = []
        self.subscripts: list[cst.Subscript] = []
        self.returns: list[cst.Return] = []
        self.attribute_assignments: list[AttributeAssignment] = []
        self.attributes_bound: list[cst.Attribute] = []  # by `for`, `with` and `del`
        self.item_assignments: list[tuple[cst.Subscript, Expression | None]] = []
        self.yields: list[cst.Yield] = []
        self.expression_statements: list[cst.Expr] = []
        self._places: dict[Node, Scope] = {}  # of the nodes whose scope is asked for most
        self._ends: dict[Node, int] = {}
        self._bound: dict[Scope, list[tuple[int, int, Binding]]] = {}
        self.root = Scope("module", module, None)
        self.scopes[module] = self.root
        self._walk()

    @cached_property
    def order(self) -> dict[Node, int]:
        """The place of each node in the order of the code."""
        return numbered(self.parents)

    @cached_property
    def functions_in(self) -> dict[FunctionNode, list[FunctionNode]]:
        """The functions and lambdas inside of each function, not those inside of them again."""
        functions: dict[FunctionNode, list[FunctionNode]] = {}
        for function in self.functions:
            outer = self.function(function)
            if outer is not None:
                functions.setdefault(outer, []).append(function)
        return functions

    @cached_property
    def comprehensions(self) -> list[cst.BaseComp]:
        """All comprehensions and generator expressions."""
        return [scope.node for scope in self.scopes.values() if isinstance(scope.node, cst.BaseComp)]

    @cached_property
    def calls_for_elements(self) -> list[cst.Call]:
        """The calls that may run a function for each element of something, by their names alone."""
        calls = (call for call in self.calls if call.args)
        return [call for call in calls if (dotted_name(call.func) or "").rpartition(".")[2] in FOR_ELEMENTS]

    @property
    def all_loops(self) -> list[LoopNode]:
        """The loops, then the comprehensions."""
        return [*self.loops, *self.comprehensions]

    def ancestors(self, node: Node) -> Iterator[Node]:
        """The node's parents, innermost first, the module last."""
        parents = self.parents
        while (parent := parents.get(node)) is not None:
            yield parent
            node = parent

    def child(self, outer: Node, node: Node) -> Node | None:
        """The child of a node that holds another one, or is it."""
        parents = self.parents
        while (parent := parents.get(node)) is not None and parent is not outer:
            node = parent
        return None if parent is None else node

    def statement(self, node: Node) -> Node:
        """The innermost statement that holds `node`: a small statement's line, or a compound one."""
        if node.__class__ in _STATEMENTS:
            return node
        for parent in self.ancestors(node):
            if parent.__class__ in _STATEMENTS:
                return parent
        return self.module

    def block(self, node: Node) -> Node:
        """The innermost block (module, indented block or one-line suite) that holds `node`."""
        for parent in self.ancestors(node):
            if parent.__class__ in _BLOCKS:
                return parent
        return self.module

    def siblings(self, statement: Node) -> list[Node]:
        """The statements of the block that holds one, in their order."""
        return list(children(self.block(statement)))

    def function(self, node: Node) -> FunctionNode | None:
        """The innermost function or lambda in whose body `node` lies."""
        scope: Scope | None = self.scope(node)
        while scope is not None and scope.kind == "comprehension":
            scope = scope.parent
        if scope is None or scope.kind != "function":
            return None
        assert isinstance(scope.node, cst.FunctionDef | cst.Lambda)
        return scope.node

    def class_of(self, function: FunctionNode) -> cst.ClassDef | None:
        """The class whose method this is."""
        scope = self.scopes[function].parent
        return scope.node if scope is not None and isinstance(scope.node, cst.ClassDef) else None

    def scope(self, node: Node) -> Scope:
        """The scope in which a name at `node` is looked up first."""
        known = self._places.get(node)
        if known is not None:
            return known
        child, parents, places = node, self.parents, self._places
        while (parent := parents.get(child)) is not None:
            if parent.__class__ in _SCOPED and _is_inside(parent, child):
                return self.scopes[parent]
            known = places.get(parent)
            if known is not None:
                return known
            child = parent
        return self.root

    def within(self, node: Node, outer: Node) -> bool:
        """Whether `node` is `outer` or lies in it."""
        if node is outer:
            return True
        here, start = self.order.get(node), self.order.get(outer)
        if here is None or start is None:
            return here is not None and outer is self.module
        return start < here <= self.end(outer)

    def end(self, outer: Node) -> int:
        """The place in the order of the code of the last node in another one."""
        if outer not in self._ends:
            last = outer
            while inner := children(last):
                last = inner[-1]
            self._ends[outer] = self.order[last]
        return self._ends[outer]

    def inside(self, nodes: Sequence[_N], outer: Node) -> Sequence[_N]:
        """Those of some nodes, which are in the order of the code, that lie in a node."""
        return self._inside(nodes, outer, self.order.__getitem__)

    def _inside(self, items: Sequence[_T], outer: Node, place: Callable[[_T], int]) -> Sequence[_T]:
        if outer is self.module:
            return items
        start = self.order.get(outer)
        if start is None:
            return ()
        return items[bisect_left(items, start, key=place) : bisect_right(items, self.end(outer), key=place)]

    def nodes_in(self, kind: type[_N], outer: Node) -> Sequence[_N]:
        """The nodes of one class that lie in a node, in the order of the code."""
        return self.inside(self.nodes(kind), outer)

    def loops_in(self, outer: Node) -> list[LoopNode]:
        """The loops, then the comprehensions, that lie in a node."""
        return [*self.inside(self.loops, outer), *self.inside(self.comprehensions, outer)]

    def attributes_set_in(self, outer: Node) -> Sequence[AttributeAssignment]:
        """The assignments to attributes that lie in a node."""
        return self._inside(self.attribute_assignments, outer, lambda assigned: self.order[assigned.target])

    def attributes_set(self, *names: str) -> list[AttributeAssignment]:
        """The assignments to attributes of some names, whatever they are of, name by name in the order of the code."""
        return [assigned for name in names for assigned in self._set_by_name.get(name, ())]

    @cached_property
    def _set_by_name(self) -> dict[str, list[AttributeAssignment]]:
        by_name: dict[str, list[AttributeAssignment]] = {}
        for assigned in self.attribute_assignments:
            by_name.setdefault(assigned.target.attr.value, []).append(assigned)
        return by_name

    def items_set_in(self, outer: Node) -> Sequence[tuple[cst.Subscript, Expression | None]]:
        """The assignments to items that lie in a node."""
        return self._inside(self._items_in_order, outer, lambda assigned: self.order[assigned[0]])

    def bound_in(self, scope: Scope, outer: Node) -> list[Binding]:
        """What of a scope's bindings lies in a node, in the order of the scope's names."""
        if scope not in self._bound:
            bindings = enumerate(binding for known in scope.bindings.values() for binding in known)
            self._bound[scope] = sorted((self.order.get(b.node, -1), rank, b) for rank, b in bindings)
        lying = self._inside(self._bound[scope], outer, itemgetter(0))
        return [binding for _, _, binding in sorted(lying, key=itemgetter(1))]

    @cached_property
    def _items_in_order(self) -> list[tuple[cst.Subscript, Expression | None]]:
        return sorted(self.item_assignments, key=lambda assigned: self.order[assigned[0]])

    @cached_property
    def uses(self) -> dict[str, list[cst.Name]]:
        """Where each name is, in the order of the code."""
        uses: dict[str, list[cst.Name]] = {}
        for node in self.nodes(cst.Name):
            uses.setdefault(node.value, []).append(node)
        return uses

    def nodes(self, kind: type[_N]) -> list[_N]:
        """The nodes of one class, in the order of the code."""
        return self._by_class.get(kind, [])

    @cached_property
    def _by_class(self) -> dict[type, list[Any]]:
        nodes: dict[type, list[Any]] = {}
        for node in self.parents:
            kind = node.__class__
            if kind in nodes:
                nodes[kind].append(node)
            else:
                nodes[kind] = [node]
        return nodes

    def _walk(self) -> None:
        parents, child_fields, handlers, is_node = self.parents, CHILD_FIELDS, _HANDLERS, IS_NODE
        stack: list[tuple[Node, Node, Scope]] = [
            (statement, self.module, self.root) for statement in reversed(self.module.body)
        ]
        pop, push = stack.pop, stack.append
        while stack:
            node, parent, scope = pop()
            parents[node] = parent
            kind = node.__class__
            handler = handlers.get(kind)
            if handler is not None:
                inner = handler(self, node, scope)
                if inner is not None:
                    stack.extend(_scoped_children(node, scope, inner))
                    continue
            for name in child_fields[kind]:
                child = getattr(node, name)
                its_kind = child.__class__
                if its_kind is tuple or its_kind is list:
                    for item in reversed(child):
                        push((item, node, scope))
                elif is_node[its_kind]:
                    push((child, node, scope))

    def bind(self, scope: Scope, binding: Binding) -> None:
        """Record a binding in the scope to which Python assigns the name."""
        name = binding.name
        while scope.kind == "comprehension" and binding.kind == "assign" and scope.parent is not None:
            scope = scope.parent  # a walrus in a comprehension binds outside of it
        how = scope.outer_names.get(name)
        if how is not None:
            binding.remote = True
            scope = self.root if how == "global" else self._nonlocal_scope(scope, name)
        scope.bindings.setdefault(name, []).append(binding)

    def _nonlocal_scope(self, scope: Scope, name: str) -> Scope:
        outer = scope.parent
        while outer is not None and not (outer.kind == "function" and name in outer.bindings):
            outer = outer.parent
        return outer or self.root

    def _bind_target(
        self,
        target: Node,
        scope: Scope,
        kind: BindingKind,
        node: Node,
        value: Expression | None,
        path: Path = (),
    ) -> None:
        """Bind every name in an assignment's, loop's or with's target."""
        if isinstance(target, cst.Name):
            self.bind(scope, Binding(target.value, kind, node, value, path))
        elif isinstance(target, cst.Tuple | cst.List):
            starred = False
            for index, element in enumerate(target.elements):
                starred = starred or isinstance(element, cst.StarredElement)
                self._bind_target(element.value, scope, kind, node, value, (*path, None if starred else index))
        elif isinstance(target, cst.Attribute):
            if value is not None and kind in ("assign", "augment"):
                self.attribute_assignments.append(AttributeAssignment(target, value, path, node))
            else:
                self.attributes_bound.append(target)
        elif isinstance(target, cst.Subscript):
            self.item_assignments.append((target, None if path or kind != "assign" else value))

    # One handler a node class that means more than its children; it returns the scope it opens.

    def _on_call(self, node: cst.Call, scope: Scope) -> None:
        self.calls.append(node)
        self._places[node] = scope

    def _on_function(self, node: cst.FunctionDef, scope: Scope) -> Scope:
        self.functions.append(node)
        self.bind(scope, Binding(node.name.value, "function", node))
        return self._open_function(node, scope)

    def _on_lambda(self, node: cst.Lambda, scope: Scope) -> Scope:
        self.functions.append(node)
        return self._open_function(node, scope)

    def _open_function(self, node: FunctionNode, scope: Scope) -> Scope:
        inner = self.scopes[node] = Scope("function", node, scope)
        for parameter in parameters(node):
            inner.bindings[parameter.name.value] = [
                Binding(parameter.name.value, "parameter", parameter, parameter.default)
            ]
        return inner

    def _on_class(self, node: cst.ClassDef, scope: Scope) -> Scope:
        self.classes.append(node)
        self.bind(scope, Binding(node.name.value, "class", node))
        inner = self.scopes[node] = Scope("class", node, scope)
        return inner

    def _on_comprehension(self, node: cst.BaseComp, scope: Scope) -> Scope:
        inner = self.scopes[node] = Scope("comprehension", node, scope)
        clause: cst.CompFor | None = node.for_in
        while clause is not None:
            self._bind_target(clause.target, inner, "for", clause, clause.iter)
            clause = clause.inner_for_in
        return inner

    def _on_import(self, node: cst.Import, scope: Scope) -> None:
        for alias in node.names:
            dotted = dotted_name(alias.name) or ""
            if alias.asname is not None and isinstance(alias.asname.name, cst.Name):
                self.bind(scope, Binding(alias.asname.name.value, "import", node, target=dotted))
            else:  # `import a.b` binds a
                first = dotted.partition(".")[0]
                self.bind(scope, Binding(first, "import", node, target=first))

    def _on_import_from(self, node: cst.ImportFrom, scope: Scope) -> None:
        package = "." * len(node.relative) + (dotted_name(node.module) or "" if node.module else "")
        separator = "" if package.endswith(".") or not package else "."
        if isinstance(node.names, cst.ImportStar):
            self.bind(scope, Binding("*", "star", node, target=package))
            return
        for alias in node.names:
            name = dotted_name(alias.name) or ""
            bound = alias.asname.name.value if alias.asname and isinstance(alias.asname.name, cst.Name) else name
            self.bind(scope, Binding(bound, "import", node, target=f"{package}{separator}{name}"))

    def _on_assign(self, node: cst.Assign, scope: Scope) -> None:
        for target in node.targets:
            self._bind_target(target.target, scope, "assign", node, node.value)

    def _on_ann_assign(self, node: cst.AnnAssign, scope: Scope) -> None:
        if node.value is not None:
            self._bind_target(node.target, scope, "assign", node, node.value)

    def _on_aug_assign(self, node: cst.AugAssign, scope: Scope) -> None:
        self._bind_target(node.target, scope, "augment", node, node.value)

    def _on_named_expr(self, node: cst.NamedExpr, scope: Scope) -> None:
        self._bind_target(node.target, scope, "assign", node, node.value)

    def _on_for(self, node: cst.For, scope: Scope) -> None:
        self.loops.append(node)
        self._places[node] = scope
        self._bind_target(node.target, scope, "for", node, node.iter)

    def _on_while(self, node: cst.While, scope: Scope) -> None:
        self.loops.append(node)
        self._places[node] = scope

    def _on_with(self, node: cst.With, scope: Scope) -> None:
        for item in node.items:
            if item.asname is not None:
                self._bind_target(item.asname.name, scope, "with", node, item.item)

    def _on_capture(self, node: cst.MatchAs | cst.MatchStar | cst.MatchMapping, scope: Scope) -> None:
        """A name in a pattern: what is matched, or some element of it; of an attribute nothing is known."""
        name = node.rest if isinstance(node, cst.MatchMapping) else node.name
        path: Path = ()
        is_attribute = False
        for parent in self.ancestors(node) if name is not None else ():
            if isinstance(parent, cst.MatchSequenceElement | cst.MatchMappingElement):
                path = (*path, None)
            is_attribute |= isinstance(parent, cst.MatchClass)
            match = self.parents[parent]
            if isinstance(match, cst.Match):
                assert name is not None
                self.bind(scope, Binding(name.value, "match", parent, None if is_attribute else match.subject, path))
                return

    def _on_except(self, node: cst.ExceptHandler, scope: Scope) -> None:
        if node.name is not None:
            self._bind_target(node.name.name, scope, "except", node, None)

    def _on_del(self, node: cst.Del, scope: Scope) -> None:
        self._bind_target(node.target, scope, "delete", node, None)

    def _on_global(self, node: cst.Global, scope: Scope) -> None:
        scope.outer_names.update((item.name.value, "global") for item in node.names)

    def _on_nonlocal(self, node: cst.Nonlocal, scope: Scope) -> None:
        scope.outer_names.update((item.name.value, "nonlocal") for item in node.names)

    def _on_subscript(self, node: cst.Subscript, scope: Scope) -> None:
        self.subscripts.append(node)

    def _on_return(self, node: cst.Return, scope: Scope) -> None:
        self.returns.append(node)
        self._places[node] = scope

    def _on_yield(self, node: cst.Yield, scope: Scope) -> None:
        self.yields.append(node)
        self._places[node] = scope

    def _on_line(self, node: cst.SimpleStatementLine, scope: Scope) -> None:
        self._places[node] = scope

    def _on_expression_statement(self, node: cst.Expr, scope: Scope) -> None:
        self.expression_statements.append(node)


_STATEMENTS = frozenset([cst.SimpleStatementLine, *cst.BaseCompoundStatement.__subclasses__()])
_BLOCKS = frozenset([cst.IndentedBlock, cst.SimpleStatementSuite, cst.Module])
_BODIED = frozenset([cst.FunctionDef, cst.Lambda, cst.ClassDef])
_SCOPED = _BODIED | {cst.ListComp, cst.SetComp, cst.DictComp, cst.GeneratorExp}
_HANDLERS: dict[type, Callable[[Tree, Any, Scope], Scope | None]] = {
    cst.Call: Tree._on_call,
    cst.FunctionDef: Tree._on_function,
    cst.Lambda: Tree._on_lambda,
    cst.ClassDef: Tree._on_class,
    cst.ListComp: Tree._on_comprehension,
    cst.SetComp: Tree._on_comprehension,
    cst.DictComp: Tree._on_comprehension,
    cst.GeneratorExp: Tree._on_comprehension,
    cst.Import: Tree._on_import,
    cst.ImportFrom: Tree._on_import_from,
    cst.Assign: Tree._on_assign,
    cst.AnnAssign: Tree._on_ann_assign,
    cst.AugAssign: Tree._on_aug_assign,
    cst.NamedExpr: Tree._on_named_expr,
    cst.For: Tree._on_for,
    cst.While: Tree._on_while,
    cst.With: Tree._on_with,
    cst.MatchAs: Tree._on_capture,
    cst.MatchStar: Tree._on_capture,
    cst.MatchMapping: Tree._on_capture,
    cst.ExceptHandler: Tree._on_except,
    cst.Del: Tree._on_del,
    cst.Global: Tree._on_global,
    cst.Nonlocal: Tree._on_nonlocal,
    cst.Subscript: Tree._on_subscript,
    cst.Return: Tree._on_return,
    cst.Yield: Tree._on_yield,
    cst.Expr: Tree._on_expression_statement,
    cst.SimpleStatementLine: Tree._on_line,
}


def _scoped_children(node: Node, outer: Scope, inner: Scope) -> Iterator[tuple[Node, Node, Scope]]:
    """Children of a node that opens a scope: decorators, bases and defaults belong outside."""
    for name in CHILD_FIELDS[node.__class__]:
        child = getattr(node, name)
        for item in reversed(child) if isinstance(child, tuple | list) else (child,):
            if isinstance(item, Node):
                yield item, node, inner if _is_inside(node, item) else outer


def _is_inside(scope_node: Node, child: Node) -> bool:
    """Whether a direct child of a scope's node is evaluated inside that scope."""
    if scope_node.__class__ in _BODIED:
        return child is scope_node.body
    return True
