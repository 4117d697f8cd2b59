"""A training step moved into a function of its own under `tf.function`: what a user would do by hand."""

from __future__ import annotations

import ast
import re
from collections.abc import Container, Iterator, Sequence
from dataclasses import replace
from itertools import takewhile

import libcst as cst

from tflint_gpu.lazy_dataclasses import dataclass
from tflint_gpu.model.python.project.file import File
from tflint_gpu.model.python.refactoring.call_sites import (
    DEFINITIONS,
    WORDS,
    bound_in,
    call_site,
    has_long_strings,
    leaving,
)
from tflint_gpu.model.python.refactoring.free_names import (
    StatementNames,
    blocks,
    bound,
    declarations,
    free,
    free_of_block,
    parameters,
    stored,
)
from tflint_gpu.model.python.syntax.scopes import Scope
from tflint_gpu.model.python.syntax.syntax import LoopNode, Node

_FIXED = ("import", "function", "class")
_STEP = ("train_step", "traced_step", "traced_train_step")


@dataclass(frozen=True, slots=True)
class Outline:
    """A function and its call.

    Arguments:
        definition: the lines of the `def` with its body, to insert above the loop, or above the outermost function or
            class.
        call: the statements that replace `first` to `last`: the call, and what stays there.
        name: of the function.
        outside: the rows of what stays at the call: it prints, lists what the host reads, or fetches data.
        arguments: of the call, as they are written in it.
    """

    definition: str
    call: str
    first: Node
    last: Node
    name: str = ""
    outside: frozenset[int] = frozenset()
    arguments: tuple[str, ...] = ()

    def renamed(self, name: str) -> Outline:
        """The same with another name of the function."""
        called = re.compile(rf"\b{re.escape(self.name)}(?=\()")
        definition, call = called.sub(name, self.definition), called.sub(name, self.call)
        return replace(self, definition=definition, call=call, name=name)

    def unlike(self, taken: Container[str], file: File) -> Outline:
        """The same with a name that none of several functions has that the file gets."""
        return self if self.name not in taken else self.renamed(file.names.free(*_STEP[1:], taken=taken))


class NotMovable(Exception):
    """A step that cannot become a function; the text says why, as part of a sentence."""


def outline(file: File, loop: LoopNode, tape: cst.Call, updates: frozenset[str], *, hoists: bool = False) -> Outline:
    """The statements from a tape to the update of the weights as a function.

    Arguments:
        updates: the methods that update weights.
        hoists: what Python and NumPy make of an argument alone (`int(done)`, `np.array(rows)`) stays with the call.

    Raises:
        NotMovable: they are not in one block, or something among them leaves it.
    """
    if not file.tree.within(file.tree.block(file.tree.statement(tape)), loop):
        raise NotMovable("the tape is in another function than the loop")
    region = _region(file, loop, tape, updates)
    local = bound_in(file.python_statements(loop)) | _changing(file, loop, region)
    return _written(file, loop, region, local, hoists=hoists)


def _changing(file: File, loop: Node, region: Sequence[Node]) -> set[str]:
    """The variables around a loop that get several values: a function that is traced would keep the first."""
    scope: Scope | None = file.tree.scope(loop)
    names = free_of_block([statement for line in region for statement in file.python_statements(line)])
    changing = set[str]()
    while scope is not None:
        for name in names & scope.bindings.keys():
            bindings = scope.bindings[name]
            if len({binding.node for binding in bindings}) > 1 and all(b.kind not in _FIXED for b in bindings):
                changing.add(name)
        names = names - scope.bindings.keys()
        scope = scope.parent
    return changing


def outline_of_function(
    file: File,
    function: cst.FunctionDef,
    tape: cst.Call,
    updates: frozenset[str],
    *,
    as_method: bool = False,
    is_short: bool = False,
) -> Outline:
    """The statements from a tape to the update of the weights as a function next to the one that holds them.

    It lies among the statements of the module, above the function or the class around it: one that is made whenever a
    method runs would be traced as often. What it reads of the functions around it are its arguments. What Python and
    NumPy make of these alone (`int(done)`, `np.array(rows)`) stays with the call.

    Arguments:
        function: the innermost around the tape.
        updates: the methods that update weights.
        as_method: what is moved out of a method is one itself, above that: each object has a `tf.function` of its own.
        is_short: end with the last update before a statement that may be passed by, or repeated.

    Raises:
        NotMovable: they are not in one block, something among them leaves it, or it only works where it is.
    """
    region = _region(file, function, tape, updates, is_short=is_short)
    functions = [function, *(n for n in file.tree.ancestors(function) if isinstance(n, cst.FunctionDef))]
    own = [made for node in functions for made in file.python_statements(node) if isinstance(made, ast.FunctionDef)]
    moved = [statement for line in region for statement in file.python_statements(line)]
    used = {name for statement in moved for node in ast.walk(statement) for name in _named(node)}
    if not own or own[0].name != function.name.value:
        raise NotMovable("only libcst can parse the file, Python cannot")
    if outer := declarations(own[0].body) & bound_in(moved):
        raise NotMovable(f"`{min(outer)}` belongs to another scope")
    as_method = as_method and file.tree.class_of(function) is not None
    if as_method and (function.decorators or not function.params.params):
        raise NotMovable("the method around it has decorators or no parameters")
    if not as_method and (
        of_class := {name for name in used if name == "super" or (name.startswith("__") and not name.endswith("__"))}
    ):
        raise NotMovable(f"`{min(of_class)}` means something else outside the class")
    names = {name for node in own for name in parameters(node.args) | bound_in(node.body)} - declarations(own[0].body)
    if as_method:
        return _written(file, function, region, names, hoists=True, owner=function.params.params[0].name.value)
    above = file.tree.child(file.tree.module, function)
    assert above is not None
    return _written(file, above, region, names, hoists=True)


def _named(node: ast.AST) -> tuple[str, ...]:
    return (node.id,) if isinstance(node, ast.Name) else (node.attr,) if isinstance(node, ast.Attribute) else ()


def _region(
    file: File, around: Node, tape: cst.Call, updates: frozenset[str], *, is_short: bool = False
) -> Sequence[Node]:
    region = step_region(file, around, tape, updates, is_short=is_short)
    if not region:
        names = ", ".join(f"`{name}`" for name in sorted(updates))
        raise NotMovable(f"none of {names} comes after the tape in the same block")
    return region


def step_region(
    file: File, around: Node, tape: cst.Call, updates: frozenset[str], *, is_short: bool = False
) -> Sequence[Node]:
    """The statements from a tape to the update of the weights; none where they are not in one block.

    Arguments:
        around: the loop or the function that the block must be in.
        is_short: see `outline_of_function`.
    """
    block = file.tree.block(file.tree.statement(tape))
    first = file.tree.child(block, tape)
    if not isinstance(block, cst.IndentedBlock) or first is None or not file.tree.within(block, around):
        return ()
    after = list(block.body)[list(block.body).index(first) :]  # type: ignore[arg-type]
    if is_short:
        after = list(takewhile(lambda line: isinstance(line, cst.SimpleStatementLine | cst.With), after))
    last = next((i for i in reversed(range(len(after))) if _calls(file, after[i], updates)), None)
    return () if last is None else after[: last + 1]


def _calls(file: File, statement: Node, methods: frozenset[str]) -> bool:
    return any(file.tree.inside(file.calls_of_method(method), statement) for method in methods)


def _written(
    file: File, above: Node, region: Sequence[Node], local: set[str], *, hoists: bool = False, owner: str = ""
) -> Outline:
    """A region as a function above a statement.

    Arguments:
        local: the names that only the code around the region knows: what it reads of them are its arguments.
        hoists: what Python and NumPy make of an argument is one itself.
        owner: what a method calls its object, if it becomes one above the method.
    """
    tree = file.python_tree
    moved = [statement for line in region for statement in file.python_statements(line)]
    if tree is None or not local or not moved:
        raise NotMovable("only libcst can parse the file, Python cannot")
    first, last = moved[0].lineno, _end(moved)
    site = call_site(file, moved)
    outside = site.statements
    if (word := next((node for statement in moved for node in leaving(statement, outside)), None)) is not None:
        raise NotMovable(f"the `{WORDS[type(word)]}` in row {word.lineno} would leave that function")
    made = _made(moved) - bound_in(site.before)
    inside = frozenset(node for statement in moved for node in ast.walk(statement) if isinstance(node, ast.stmt))
    names_of = file.once(_names_of)
    read = _read_after(tree, first, last, inside, names_of)
    for node in tree.body:  # functions and classes may run later
        if isinstance(node, DEFINITIONS):
            is_around = node.lineno <= first <= (node.end_lineno or first)
            read |= free(node, inside) if is_around else names_of.free(node)
    moved = [statement for statement in moved if statement not in outside]
    read |= free_of_block([*site.before, *site.after])
    names = free_of_block(moved, outside) & local
    returned = ", ".join(sorted(made & read))
    outer, inner = file.indentation(above), file.indentation(region[0])
    spelled = file.names.spelled("tf.function", above) or "tflint_measure.tf.function"
    text = inner + file.source.code[file.span(region[0])[0] : file.span(region[-1])[1]]
    text = _without(text, first, site.rows)
    body, inner = _moved_out(text, inner, outer, moved)
    numbers: dict[str, str] = {}
    if hoists:
        body, numbers = _hoisted(file, body, moved, names - bound_in(moved))
        names = free_of_block(ast.parse(f"def _():\n{body}").body[0].body) & local  # type: ignore[attr-defined]
    end = f"\n{inner}return {returned}" if returned else ""
    name = file.names.free(*_STEP[bool(owner) :])  # Keras has methods called `train_step`
    names |= {owner} if owner else set()
    given = sorted(names, key=lambda name: (name != owner, name))
    head = f"def {name}({', '.join([*given, *numbers])}):"
    definition = set_apart(file, above, f"{outer}@{spelled}\n{outer}{head}\n{body}{end}\n", outer)
    arguments = (*given, *numbers.values())
    written = f"{owner}.{name}({', '.join(arguments[1:])})" if owner else f"{name}({', '.join(arguments)})"
    call = f"{f'{returned} = ' if returned else ''}{written}"
    call = site.around(file, call, file.indentation(region[0]))
    return Outline(definition, call, region[0], region[-1], name, site.rows, arguments)


def _hoisted(file: File, body: str, moved: list[ast.stmt], known: set[str]) -> tuple[str, dict[str, str]]:
    """A body with parameters for what the host makes of names that are known before, and what they are."""
    texts: dict[str, str] = {}
    for statement in moved:
        for call in _on_host(file, statement, known):
            text = ast.get_source_segment(file.source.code, call)
            if text is not None:
                texts.setdefault(text, ast.unparse(call.func).rpartition(".")[2])
    parameters: dict[str, str] = {}
    for number, (text, made_by) in enumerate(sorted(texts.items(), key=lambda item: -len(item[0])), start=1):
        name = file.names.free(f"{made_by}_{number}", f"{made_by}_{number}_before")
        parameters[name] = text
        body = re.sub(rf"(?<![\w.]){re.escape(text)}", name, body)
    return body, parameters


def _on_host(file: File, node: ast.AST, known: set[str]) -> Iterator[ast.Call]:
    """The calls that surely run, and that Python or NumPy make of known names alone."""
    if isinstance(node, ast.Call):
        called = ast.unparse(node.func)
        root, _, last = called.partition(".")
        is_numpy = any(binding.target == "numpy" for binding in file.tree.root.bindings.get(root, ()))
        is_host = called in _OF_PYTHON or (is_numpy and last) or called.rpartition(".")[2] in _OF_LISTS
        if is_host and node.args and {name for arg in node.args for name in free(arg)} <= known:
            yield node
            return
    if not isinstance(node, _SOMETIMES):
        for child in ast.iter_child_nodes(node):
            yield from _on_host(file, child, known)


def _without(text: str, first: int, rows: frozenset[int]) -> str:
    """A text that begins in a row without some rows."""
    return "\n".join(line for line_number, line in enumerate(text.split("\n"), first) if line_number not in rows)


def _moved_out(text: str, inner: str, outer: str, block: list[ast.stmt]) -> tuple[str, str]:
    """A block's text with a function body's indentation, and that; as it is where a string has lines of its own."""
    usual = f"{outer}    "
    if "\t" in inner or has_long_strings(block) or not inner.startswith(usual):
        return text, inner
    lines = (line.removeprefix(inner[len(usual) :]) if line.startswith(inner) else line for line in text.split("\n"))
    return "\n".join(lines), usual


def set_apart(file: File, statement: Node, definition: str, indentation: str) -> str:
    """A function's lines with empty ones around them, as many as usual."""
    usual = 1 if indentation else 2
    first_line = file.source.row(file.source.above(file.span(statement)[0]))
    gap = next((i for i in range(usual) if file.source.line(first_line - 1 - i).strip()), usual)
    opens_a_block = indentation and file.source.line(first_line - 1).rstrip().endswith(":")
    return ("" if opens_a_block else "\n" * (usual - gap)) + definition + "\n" * usual


def _names_of(file: File) -> StatementNames:
    """What the statements of a file read and bind."""
    return StatementNames()


def _made(block: list[ast.stmt]) -> set[str]:
    """The names that a block binds, without those of its context managers: a tape does not leave the function."""
    managers = {
        name
        for statement in block
        for node in ast.walk(statement)
        if isinstance(node, ast.withitem) and node.optional_vars is not None
        for name in stored(node.optional_vars)
    }
    return {name for statement in block for name in bound(statement)} - managers


def _read_after(
    tree: ast.Module, first: int, last: int, region: frozenset[ast.stmt], names_of: StatementNames
) -> set[str]:
    """The names whose values are read after some rows: further down, or in the next iteration of a loop around them."""
    names: set[str] = set()
    block, is_repeated = tree.body, False
    while True:
        names |= names_of.free_of_block([statement for statement in block if statement.lineno > last])
        if is_repeated:
            names |= names_of.free_of_block(block)
        path = next(
            (statement for statement in block if statement.lineno <= first and last <= (statement.end_lineno or 0)),
            None,
        )
        inner = next((b for b in blocks(path) if b[0].lineno <= first and last <= _end(b)), None) if path else None
        if path is None or inner is None or path in region:
            return names
        if isinstance(path, ast.While):
            names |= free(path.test)
        is_repeated = (is_repeated or isinstance(path, _LOOPS)) and not isinstance(path, DEFINITIONS)
        block = inner


def _end(block: list[ast.stmt]) -> int:
    return block[-1].end_lineno or block[-1].lineno


_OF_PYTHON = ("int", "float", "bool")
_OF_LISTS = ("pad_sequences",)
_SOMETIMES = (
    ast.If, ast.IfExp, ast.BoolOp, ast.For, ast.While, ast.Try, ast.Lambda, ast.FunctionDef, ast.ListComp,
    ast.GeneratorExp, ast.DictComp, ast.SetComp,
)  # fmt: skip
_LOOPS = (ast.For, ast.AsyncFor, ast.While)
