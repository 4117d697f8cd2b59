"""The names that a piece of code reads from outside of it, and those that it binds, by the order of its statements."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterable, Iterator

Block = list[ast.stmt]
Function = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
_NOTHING: frozenset[ast.stmt] = frozenset()


def free(node: ast.AST, dropped: Collection[ast.stmt] = _NOTHING) -> set[str]:
    """The names that `node` needs from outside: not its loop targets, parameters or what it binds before it reads.

    Arguments:
        dropped: statements that count as absent.
    """
    if node in dropped:
        return set()
    if isinstance(node, ast.Name):
        return set() if isinstance(node.ctx, ast.Store) else {node.id}
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
        return _of_function(node, dropped)
    if isinstance(node, ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp):
        return _of_comprehension(node, dropped)
    if isinstance(node, ast.For | ast.AsyncFor):
        inner = free_of_block(node.body, dropped) - stored(node.target)
        return free(node.iter, dropped) | free(node.target, dropped) | inner | free_of_block(node.orelse, dropped)
    if isinstance(node, ast.With | ast.AsyncWith):
        bound = {name for item in node.items if item.optional_vars for name in stored(item.optional_vars)}
        return _of_all(node.items, dropped) | (free_of_block(node.body, dropped) - bound)
    if isinstance(node, ast.ClassDef):
        return _of_all(_heads_of_class(node), dropped) | _of_class_body(node.body, dropped)
    if isinstance(node, ast.AugAssign):
        return free(node.value, dropped) | roots(node.target) | free(node.target, dropped)
    if isinstance(node, ast.ExceptHandler):
        kinds = free(node.type, dropped) if node.type else set()
        return kinds | (free_of_block(node.body, dropped) - {node.name})
    if isinstance(node, ast.match_case):
        guard = free(node.guard, dropped) if node.guard else set()
        inner = guard | free_of_block(node.body, dropped)
        return free(node.pattern, dropped) | (inner - stored(node.pattern))
    if isinstance(node, ast.Global | ast.Nonlocal):
        return set(node.names)
    return _of_parts(node, dropped)


def free_of_block(block: Block, dropped: Collection[ast.stmt] = _NOTHING) -> set[str]:
    """The names that statements in a row need from outside."""
    names: set[str] = set()
    defined: set[str] = set()
    for statement in block:
        if statement not in dropped:
            names |= free(statement, dropped) - defined
            defined |= _certainly_bound(statement)
    return names


def _of_parts(node: ast.AST, dropped: Collection[ast.stmt]) -> set[str]:
    """Of a node that opens no scope: its blocks in order, and whatever else it holds."""
    names: set[str] = set()
    for _, value in ast.iter_fields(node):
        if isinstance(value, list) and value and isinstance(value[0], ast.stmt):
            names |= free_of_block(value, dropped)
        elif isinstance(value, list):
            names |= _of_all((part for part in value if isinstance(part, ast.AST)), dropped)
        elif isinstance(value, ast.AST):
            names |= free(value, dropped)
    return names


def _of_all(nodes: Iterable[ast.AST], dropped: Collection[ast.stmt]) -> set[str]:
    return {name for node in nodes for name in free(node, dropped)}


def _of_function(node: Function, dropped: Collection[ast.stmt]) -> set[str]:
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


def _of_function_body(node: Function, dropped: Collection[ast.stmt]) -> set[str]:
    names = parameters(node.args)
    if isinstance(node, ast.Lambda):
        return free(node.body, dropped) - names
    declared = _declared(node.body)
    local = {name for statement in node.body for name in bound(statement)} - declared
    inner = {name for statement in node.body for name in free(statement, dropped)} | declared
    return inner - names - local


def _declared(block: Block) -> set[str]:
    """The names that `global` and `nonlocal` say of one function, not of those within."""
    names: set[str] = set()
    for statement in block:
        if isinstance(statement, ast.Global | ast.Nonlocal):
            names.update(statement.names)
        elif not isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            names.update(name for inner in blocks(statement) for name in _declared(inner))
    return names


def _of_class_body(block: Block, dropped: Collection[ast.stmt]) -> set[str]:
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


def _of_comprehension(
    node: ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp, dropped: Collection[ast.stmt]
) -> set[str]:
    parts: list[ast.AST] = [node.key, node.value] if isinstance(node, ast.DictComp) else [node.elt]
    names = _of_all(parts, dropped)
    for clause in reversed(node.generators):
        names = (names | _of_all(clause.ifs, dropped)) - stored(clause.target)
        names |= free(clause.iter, dropped) | free(clause.target, dropped)
    return names


def stored(node: ast.AST) -> set[str]:
    """The names that an expression, a target or a pattern binds."""
    return {name for child in ast.walk(node) for name in _stored_by(child)}


def _stored_by(node: ast.AST) -> set[str]:
    if isinstance(node, ast.Name):
        return {node.id} if isinstance(node.ctx, ast.Store) else set()
    if isinstance(node, ast.MatchAs | ast.MatchStar):
        return {node.name} if node.name else set()
    return {node.rest} if isinstance(node, ast.MatchMapping) and node.rest else set()


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
    names = {name for part in _heads(statement) for name in _stored_by(part)}
    return names | {name for block in blocks(statement) for inner in block for name in bound(inner)}


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


def _heads(statement: ast.stmt) -> Iterator[ast.AST]:
    """The nodes of a statement outside of its blocks that may bind a name of its own scope.

    Of comprehensions only the `:=`, since their other names are their own; nothing of lambdas.
    """
    stack = [child for child in ast.iter_child_nodes(statement) if not isinstance(child, ast.stmt | ast.ExceptHandler)]
    stack = [child.pattern if isinstance(child, ast.match_case) else child for child in stack]
    for node in stack:
        if isinstance(node, ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp):
            yield from (walrus.target for walrus in ast.walk(node) if isinstance(walrus, ast.NamedExpr))
        elif not isinstance(node, ast.Lambda):
            yield node
            stack.extend(ast.iter_child_nodes(node))


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
