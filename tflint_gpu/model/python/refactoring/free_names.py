"""The names that a piece of code reads from outside of it, and those that it binds, by the order of its statements."""

from __future__ import annotations

import ast
from collections.abc import Callable, Collection, Iterable, Iterator, Set
from typing import Any

Block = list[ast.stmt]
Function = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
Comprehension = ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp
Dropped = Collection[ast.stmt]
_NOTHING: frozenset[ast.stmt] = frozenset()
_NAMELESS = frozenset(["ctx", "op", "ops", "kind", "type_comment", "type_ignores"])
_FIELDS: dict[type, tuple[str, ...]] = {
    kind: tuple(field for field in kind._fields if field not in _NAMELESS)
    for kind in vars(ast).values()
    if isinstance(kind, type) and issubclass(kind, ast.AST)
}
"""The fields of each class of nodes in which a name may be."""


def free(node: ast.AST, dropped: Dropped = _NOTHING) -> set[str]:
    """The names that `node` needs from outside: not its loop targets, parameters or what it binds before it reads.

    Arguments:
        dropped: statements that count as absent.
    """
    if dropped and node in dropped:
        return set()
    return _FREE.get(node.__class__, _of_parts)(node, dropped)


def _of_name(node: ast.Name, dropped: Dropped) -> set[str]:
    return set() if node.ctx.__class__ is ast.Store else {node.id}


def _of_for(node: ast.For | ast.AsyncFor, dropped: Dropped) -> set[str]:
    inner = free_of_block(node.body, dropped) - stored(node.target)
    return free(node.iter, dropped) | free(node.target, dropped) | inner | free_of_block(node.orelse, dropped)


def _of_with(node: ast.With | ast.AsyncWith, dropped: Dropped) -> set[str]:
    bound = {name for item in node.items if item.optional_vars for name in stored(item.optional_vars)}
    return _of_all(node.items, dropped) | (free_of_block(node.body, dropped) - bound)


def _of_class(node: ast.ClassDef, dropped: Dropped) -> set[str]:
    return _of_all(_heads_of_class(node), dropped) | _of_class_body(node.body, dropped)


def _of_augmented(node: ast.AugAssign, dropped: Dropped) -> set[str]:
    return free(node.value, dropped) | roots(node.target) | free(node.target, dropped)


def _of_handler(node: ast.ExceptHandler, dropped: Dropped) -> set[str]:
    kinds = free(node.type, dropped) if node.type else set()
    return kinds | (free_of_block(node.body, dropped) - {node.name})


def _of_case(node: ast.match_case, dropped: Dropped) -> set[str]:
    guard = free(node.guard, dropped) if node.guard else set()
    inner = guard | free_of_block(node.body, dropped)
    return free(node.pattern, dropped) | (inner - stored(node.pattern))


def _of_declaration(node: ast.Global | ast.Nonlocal, dropped: Dropped) -> set[str]:
    return set(node.names)


def free_of_block(block: Block, dropped: Dropped = _NOTHING) -> set[str]:
    """The names that statements in a row need from outside."""
    return _in_order((free(s, dropped), _certainly_bound(s)) for s in block if s not in dropped)


def _in_order(statements: Iterable[tuple[Set[str], Set[str]]]) -> set[str]:
    """What statements that run one after the other need from outside, by what each reads and certainly binds."""
    names: set[str] = set()
    defined: set[str] = set()
    for read, bound_in_it in statements:
        names |= read - defined
        defined |= bound_in_it
    return names


class StatementNames:
    """What whole statements of one tree read from outside and bind, found once for all who ask."""

    def __init__(self) -> None:
        self._free: dict[ast.stmt, frozenset[str]] = {}
        self._bound: dict[ast.stmt, frozenset[str]] = {}

    def free(self, statement: ast.stmt) -> frozenset[str]:
        """The names that a statement needs from outside."""
        if statement not in self._free:
            self._free[statement] = frozenset(free(statement))
        return self._free[statement]

    def free_of_block(self, block: Block) -> set[str]:
        """The names that statements in a row need from outside."""
        return _in_order((self.free(statement), self._certainly_bound(statement)) for statement in block)

    def _certainly_bound(self, statement: ast.stmt) -> frozenset[str]:
        if statement not in self._bound:
            self._bound[statement] = frozenset(_certainly_bound(statement))
        return self._bound[statement]


def _of_parts(node: ast.AST, dropped: Dropped) -> set[str]:
    """Of a node that opens no scope: its blocks in order, and whatever else it holds."""
    names: set[str] = set()
    for field in _FIELDS[node.__class__]:
        value = getattr(node, field, None)
        if value.__class__ is not list:
            if isinstance(value, ast.AST):
                names |= free(value, dropped)
        elif value and isinstance(value[0], ast.stmt):
            names |= free_of_block(value, dropped)
        else:
            for part in value:
                if isinstance(part, ast.AST):
                    names |= free(part, dropped)
    return names


def _of_all(nodes: Iterable[ast.AST], dropped: Dropped) -> set[str]:
    names: set[str] = set()
    for node in nodes:
        names |= free(node, dropped)
    return names


def _of_function(node: Function, dropped: Dropped) -> set[str]:
    outer = _of_all(_heads_of_function(node), dropped)
    return outer | _of_function_body(node, dropped)


def _heads_of_function(node: Function) -> list[ast.expr]:
    """What is computed where the function is defined, not when it is called."""
    arguments = node.args
    heads = [*arguments.defaults, *(d for d in arguments.kw_defaults if d is not None)]
    heads += [a.annotation for a in _arguments(arguments) if a.annotation is not None]
    if isinstance(node, ast.Lambda):
        return heads
    return [*node.decorator_list, *heads, *([node.returns] if node.returns is not None else [])]


def _heads_of_class(node: ast.ClassDef) -> list[ast.AST]:
    return [*node.decorator_list, *node.bases, *node.keywords]


def parameters(arguments: ast.arguments) -> set[str]:
    """The names of all parameters."""
    return {argument.arg for argument in _arguments(arguments)}


def _arguments(arguments: ast.arguments) -> list[ast.arg]:
    several = [a for a in (arguments.vararg, arguments.kwarg) if a is not None]
    return [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, *several]


def _of_function_body(node: Function, dropped: Dropped) -> set[str]:
    names = parameters(node.args)
    if isinstance(node, ast.Lambda):
        return free(node.body, dropped) - names
    declared = declarations(node.body)
    local = {name for statement in node.body for name in bound(statement)} - declared
    inner = {name for statement in node.body for name in free(statement, dropped)} | declared
    return inner - names - local


def declarations(block: Block) -> set[str]:
    """The names that `global` and `nonlocal` say of one function, not of those within."""
    names: set[str] = set()
    for statement in block:
        if isinstance(statement, ast.Global | ast.Nonlocal):
            names.update(statement.names)
        elif not isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            names.update(name for inner in blocks(statement) for name in declarations(inner))
    return names


def _of_class_body(block: Block, dropped: Dropped) -> set[str]:
    """Like a block, but what a class binds is not seen by the bodies of its methods."""
    names: set[str] = set()
    defined: set[str] = set()
    for statement in block:
        if statement in dropped:
            continue
        if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef):
            names |= _of_all(_heads_of_function(statement), dropped) - defined
            names |= _of_function_body(statement, dropped)
        else:
            names |= free(statement, dropped) - defined
        defined |= _certainly_bound(statement)
    return names


def _of_comprehension(node: Comprehension, dropped: Dropped) -> set[str]:
    parts: list[ast.AST] = [node.key, node.value] if isinstance(node, ast.DictComp) else [node.elt]
    names = _of_all(parts, dropped)
    for clause in reversed(node.generators):
        names = (names | _of_all(clause.ifs, dropped)) - stored(clause.target)
        names |= free(clause.iter, dropped) | free(clause.target, dropped)
    return names


def stored(node: ast.AST) -> set[str]:
    """The names that an expression, a target or a pattern binds."""
    if node.__class__ is ast.Name:  # most targets
        return set(_stored_by(node))
    names: set[str] = set()
    stack = [node]
    while stack:
        child = stack.pop()
        names.update(_stored_by(child))
        stack += _parts(child)
    return names


def _stored_by(node: ast.AST) -> Iterable[str]:
    if isinstance(node, ast.Name):
        return (node.id,) if isinstance(node.ctx, ast.Store) else ()
    if isinstance(node, ast.MatchAs | ast.MatchStar):
        return (node.name,) if node.name else ()
    return (node.rest,) if isinstance(node, ast.MatchMapping) and node.rest else ()


def _certainly_bound(statement: ast.stmt) -> set[str]:
    if isinstance(statement, ast.With | ast.AsyncWith):
        within = {name for inner in statement.body for name in _certainly_bound(inner)}
        return within | {name for item in statement.items for name in stored(item)}
    if isinstance(statement, ast.If):
        branches = (statement.body, statement.orelse)
        return set.intersection(*({name for inner in block for name in _certainly_bound(inner)} for block in branches))
    is_definition = isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
    return bound(statement) if is_definition or not any(blocks(statement)) else set()


def bound(statement: ast.stmt) -> set[str]:
    """The names that a statement may give a value in its own scope."""
    if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return {statement.name}
    if isinstance(statement, ast.Import):
        return {(alias.asname or alias.name).partition(".")[0] for alias in statement.names}
    if isinstance(statement, ast.ImportFrom):
        return {alias.asname or alias.name for alias in statement.names}
    names = _bound_by_heads(statement)
    return names.union(*(bound(inner) for block in blocks(statement) for inner in block))


def blocks(statement: ast.stmt) -> Iterator[Block]:
    """The blocks of a compound statement that belong to its own scope or, for functions and classes, their bodies."""
    for name in ("body", "orelse", "finalbody"):
        inner = getattr(statement, name, None)
        if inner:
            yield inner
    for handler in getattr(statement, "handlers", ()):
        yield handler.body
    for case in getattr(statement, "cases", ()):
        yield case.body


def _bound_by_heads(statement: ast.stmt) -> set[str]:
    """The names of a statement's own scope that it binds outside of its blocks.

    Of comprehensions only the `:=`, since their other names are their own; nothing of lambdas.
    """
    names: set[str] = set()
    stack = [part for part in _parts(statement) if not isinstance(part, ast.stmt | ast.ExceptHandler)]
    stack = [part.pattern if isinstance(part, ast.match_case) else part for part in stack]
    while stack:
        node = stack.pop()
        kind = node.__class__
        if kind in _COMPREHENSIONS:
            names |= {
                n for walrus in ast.walk(node) if isinstance(walrus, ast.NamedExpr) for n in stored(walrus.target)
            }
        elif kind is not ast.Lambda:
            names.update(_stored_by(node))
            stack += _parts(node)
    return names


def _parts(node: ast.AST) -> list[ast.AST]:
    """The nodes in a node's fields."""
    parts: list[ast.AST] = []
    for field in _FIELDS[node.__class__]:
        value = getattr(node, field, None)
        if value.__class__ is list:
            parts += [part for part in value if isinstance(part, ast.AST)]
        elif isinstance(value, ast.AST):
            parts.append(value)
    return parts


def free_of_head(statement: ast.stmt) -> set[str]:
    """The names that a compound statement itself reads: its condition, its iterable, its context managers."""
    inner = {inner_statement for block in blocks(statement) for inner_statement in block}
    children = (child for child in ast.iter_child_nodes(statement) if child not in inner)
    return _of_all((child for child in children if not isinstance(child, ast.ExceptHandler)), _NOTHING)


def roots(node: ast.expr) -> set[str]:
    """`x` for `x`, `x.a`, `x[0].b` and `x.f().g`."""
    while isinstance(node, ast.Attribute | ast.Subscript | ast.Call):
        node = node.func if isinstance(node, ast.Call) else node.value
    return {node.id} if isinstance(node, ast.Name) else set()


_COMPREHENSIONS = frozenset([ast.ListComp, ast.SetComp, ast.GeneratorExp, ast.DictComp])
_FREE: dict[type, Callable[[Any, Dropped], set[str]]] = {
    ast.Name: _of_name,
    ast.FunctionDef: _of_function,
    ast.AsyncFunctionDef: _of_function,
    ast.Lambda: _of_function,
    **dict.fromkeys(_COMPREHENSIONS, _of_comprehension),
    ast.For: _of_for,
    ast.AsyncFor: _of_for,
    ast.With: _of_with,
    ast.AsyncWith: _of_with,
    ast.ClassDef: _of_class,
    ast.AugAssign: _of_augmented,
    ast.ExceptHandler: _of_handler,
    ast.match_case: _of_case,
    ast.Global: _of_declaration,
    ast.Nonlocal: _of_declaration,
}
