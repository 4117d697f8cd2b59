"""One file: its text, its tree, and the questions that it answers by itself, without any other file."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from typing import Any, TypeVar, cast

import libcst as cst

from tflint_gpu.model.python.names.branches import Branches
from tflint_gpu.model.python.names.flow import Flow
from tflint_gpu.model.python.names.imports import Imports
from tflint_gpu.model.python.names.names import Names
from tflint_gpu.model.python.parsing.indentation import OriginalOffsets, expand_indentation
from tflint_gpu.model.python.parsing.python_trees import PythonTrees
from tflint_gpu.model.python.parsing.refusals import refusal_of
from tflint_gpu.model.python.project.declarations import KEEPERS
from tflint_gpu.model.python.syntax.quoting import within_text
from tflint_gpu.model.python.syntax.scopes import Scope
from tflint_gpu.model.python.syntax.spans import ReadStatements, Spans
from tflint_gpu.model.python.syntax.syntax import Expression, FunctionNode, Node, dotted_name, method_name, text_of
from tflint_gpu.model.python.syntax.tree import Tree
from tflint_gpu.text.nesting import check_nesting
from tflint_gpu.text.source import SourceFile, UnreadableSource

Parse = Callable[[str], cst.Module]
_N = TypeVar("_N", bound=Node)
_T = TypeVar("_T")


class File:
    """What one file says. Everything but the tree is made when first asked for."""

    def __init__(
        self,
        source: SourceFile,
        module: cst.Module,
        parsed: str,
        re_exported: Callable[[str], str],
        python: PythonTrees | None = None,
        statements: ReadStatements | None = None,
    ) -> None:
        self.source = source
        self._parsed = parsed
        self._python = python
        self._statements = statements
        self.tree = Tree(module)
        self.flow = Flow(self.tree)
        self.branches = Branches(self.tree)
        self.names = Names(self.tree, self.flow, re_exported)
        self.name = self.names.of
        """Canonical name of an expression: "tf.function", "keras.layers.Dense", "numpy.sin"."""
        self.parameters: dict[tuple[FunctionNode, bool], list[cst.Param]] = {}
        self._answers: dict[Callable[[File], Any], Any] = {}

    def once(self, analysis: Callable[[File], _T]) -> _T:
        """The result of an analysis of this file alone: run when first needed, however many checks ask for it."""
        if analysis not in self._answers:
            self._answers[analysis] = analysis(self)
        return cast("_T", self._answers[analysis])

    @classmethod
    def parse(
        cls,
        source: SourceFile,
        parse: Parse,
        re_exported: Callable[[str], str] = str,
        python: PythonTrees | None = None,
        statements: ReadStatements | None = None,
    ) -> File:
        """Parse a file. Its source is an `IPythonScript` if it can be parsed as one only.

        Arguments:
            parse: libcst's native parser, or what keeps its trees.
            re_exported: as `Names` has it.
            python: what Python's parser makes of texts.
            statements: what libcst read of some before.

        Raises:
            UnreadableSource: it does not parse, or is nested so deeply that parsing could crash.
        """
        check_nesting(source.code)
        try:
            return cls(source, parse(source.code), source.code, re_exported, python, statements)
        except Exception as error:  # ParserSyntaxError, and plain ValueError for broken literals
            refusal = refusal_of(source, error)
            if not refusal.by_libcst_only:
                return cls._parse_script(source, parse, re_exported, refusal.reason, python, statements)
            expanded = expand_indentation(source.code)
            if expanded == source.code:
                raise refusal.reason from error
        try:
            return cls(source, parse(expanded), expanded, re_exported, python, statements)
        except Exception as error:
            raise refusal.reason from error

    @classmethod
    def _parse_script(
        cls,
        source: SourceFile,
        parse: Parse,
        re_exported: Callable[[str], str],
        reason: UnreadableSource,
        python: PythonTrees | None,
        statements: ReadStatements | None,
    ) -> File:
        """Parse what is Python of a file with IPython lines; of one without them, raise why Python refused it."""
        from tflint_gpu.text.scripts import IPythonScript  # few files need it, and it takes milliseconds to import

        script = IPythonScript.of(source)
        if script is None:
            raise reason
        return cls.parse(script, parse, re_exported, python, statements)

    @cached_property
    def imports(self) -> Imports:
        """What the file imports at its top, and how a fix names more."""
        return Imports(self.tree, self.names)

    def is_new_axis(self, index: Node) -> bool:
        """Whether an index adds a dimension: `x[None]`, `x[np.newaxis]`."""
        is_none = isinstance(index, cst.Name) and index.value == "None"
        return is_none or self.name(index) in ("numpy.newaxis", "tf.newaxis")

    def indentation(self, statement: Node) -> str:
        """The whitespace in front of a statement's line."""
        start = self.span(statement)[0]
        text = self.source.line(self.source.row(start))
        return text[: len(text) - len(text.lstrip())]

    def comment_after(self, statement: Node) -> bool:
        """Whether a comment is after a statement, on its line."""
        end = self.span(statement)[1]
        return self.source.text[end : self.source.end_of_line(end)].lstrip().startswith("#")

    def comment_above(self, statement: Node) -> bool:
        """Whether the lines right above a statement, empty ones apart, are comments."""
        line_number = self.source.row(self.span(statement)[0]) - 1
        while line_number > 0 and not self.source.line(line_number).strip():
            line_number -= 1
        return line_number > 0 and self.source.line(line_number).lstrip().startswith("#")

    def code(self, node: Node) -> str:
        """The text of a node, as it is in the file."""
        start, end = self.span(node)
        return self.source.text[start:end]

    def fitted(self, node: Node, code: str) -> str | None:
        """Code with such quotes that it may replace a node or go next to it; None where none will do."""
        return within_text(self.tree, node, code)

    def span(self, node: Node) -> tuple[int, int]:
        """Character offsets of a node's own syntax: without surrounding whitespace."""
        start, end = self._spans.of(node, self.call_at(node) or node)
        if self._original is None:
            return start, end
        return self._original[start], self._original[end]

    def python_statements(self, line: Node) -> Sequence[ast.stmt]:
        """What Python's parser made of a compound statement, or of the statements of a line, for who changes nothing;
        none where it reads others than libcst."""
        return self._spans.statements(line) if self._original is None else ()

    @property
    def python_tree(self) -> ast.Module | None:
        """The tree of which these are; None for what only libcst takes for Python."""
        return (self._python or PythonTrees()).of(self._parsed)

    @cached_property
    def _spans(self) -> Spans:
        return Spans(self.tree, self._parsed, self._python, self._statements)

    @cached_property
    def _original(self) -> OriginalOffsets | None:
        """Where the text that was parsed is in the file's, if they differ."""
        return None if self._parsed is self.source.code else OriginalOffsets(self.source.code)

    @cached_property
    def _named_calls(self) -> dict[str, list[cst.Call]]:
        result: dict[str, list[cst.Call]] = {}
        for call in self.tree.calls:
            name = self.names.of(call.func)
            if name is not None:
                result.setdefault(name, []).append(call)
        return result

    @cached_property
    def _method_calls(self) -> dict[str, list[cst.Call]]:
        result: dict[str, list[cst.Call]] = {}
        for call in self.tree.calls:
            name = method_name(call)
            if name is not None:
                result.setdefault(name, []).append(call)
        return result

    def calls(self, *names: str) -> Iterator[cst.Call]:
        """All calls of functions by canonical name; "numpy.*" means everything below numpy."""
        for name in names:
            if name.endswith("*"):
                for known, calls in self._named_calls.items():
                    if known.startswith(name[:-1]):
                        yield from calls
            else:
                yield from self._named_calls.get(name, ())

    def call_at(self, node: Node) -> cst.Call | None:
        """The call whose function, or whose method's name, is at `place`; `place` itself if it is a call."""
        if isinstance(node, cst.Call):
            return node
        return self._calls_by_function.get(node)

    @cached_property
    def _calls_by_function(self) -> dict[Node, cst.Call]:
        functions: dict[Node, cst.Call] = {call.func: call for call in self.tree.calls}
        return functions | {c.func.attr: c for c in self.tree.calls if isinstance(c.func, cst.Attribute)}

    def calls_ending_with(self, name: str) -> list[cst.Call]:
        """All calls `name(...)` and `anything.name(...)`."""
        plain = self._plain_calls.get(name, [])
        return [*plain, *self._method_calls.get(name, [])]

    @cached_property
    def _plain_calls(self) -> dict[str, list[cst.Call]]:
        result: dict[str, list[cst.Call]] = {}
        for call in self.tree.calls:
            if isinstance(call.func, cst.Name):
                result.setdefault(call.func.value, []).append(call)
        return result

    def method_calls(self, *methods: str) -> Iterator[cst.Call]:
        """All calls `anything.method(...)`, whatever the receiver is."""
        for method in methods:
            yield from self._method_calls.get(method, ())

    def calls_of_method(self, method: str) -> Sequence[cst.Call]:
        """All calls `anything.method(...)`, in the order of the code."""
        return self._method_calls.get(method, ())

    @cached_property
    def calls_in(self) -> dict[Node | None, list[cst.Call]]:
        """The calls of each function's own body, inner functions apart; None: of the module."""
        return self._by_function(self.tree.calls)

    @cached_property
    def returns_of(self) -> dict[Node | None, list[cst.Return]]:
        """The return statements of each function."""
        return self._by_function(self.tree.returns)

    @cached_property
    def yields_of(self) -> dict[Node | None, list[cst.Yield]]:
        """The yields of each function: those that have some are generators."""
        return self._by_function(self.tree.yields)

    @property
    def runs_something(self) -> bool:
        """Whether running the file does more than define: it is a program, or a notebook."""
        return bool(self.calls_in.get(None))

    def _by_function(self, nodes: Iterable[_N]) -> dict[Node | None, list[_N]]:
        result: dict[Node | None, list[_N]] = {}
        for node in nodes:
            result.setdefault(self.tree.function(node), []).append(node)
        return result

    @cached_property
    def calls_below(self) -> dict[Node, list[cst.Call]]:
        """The calls lexically inside each loop, function, lambda, class and `with`; of `map` and its like itself."""
        result: dict[Node, list[cst.Call]] = {}
        around: dict[Node, tuple[list[cst.Call], ...]] = {self.tree.module: ()}  # the lists of all regions
        parents = self.tree.parents
        for call in self.tree.calls:
            path: list[Node] = []
            node = parents[call]
            while node not in around:
                path.append(node)
                node = parents[node]
            lists = around[node]
            for ancestor in reversed(path):
                if ancestor.__class__ in _REGIONS:
                    lists = (*lists, result.setdefault(ancestor, []))
                around[ancestor] = lists
            for calls in lists:
                calls.append(call)
        return result | {call: [call] for call in self.tree.calls_for_elements}

    def returned(self, function: FunctionNode) -> list[Expression]:
        """What a function may return; a lambda its body."""
        if isinstance(function, cst.Lambda):
            return [function.body]
        return [r.value for r in self.returns_of.get(function, ()) if r.value is not None]

    def calls_of_own_name(self, function: FunctionNode) -> list[cst.Call]:
        """The calls in a function that may be of itself, by the name alone."""
        name = function.name.value if isinstance(function, cst.FunctionDef) else None
        lists = (self._plain_calls.get(name, ()), self._method_calls.get(name, ())) if name is not None else ()
        calls = (call for calls in lists for call in self.tree.inside(calls, function))
        return [call for call in calls if self.name(call.func) is None]

    @cached_property
    def set_from_outside(self) -> frozenset[str]:
        """The attributes that some code sets on another object than `self`: `data.training = False`."""
        targets = (assignment.target for assignment in self.tree.attribute_assignments)
        return frozenset(
            t.attr.value for t in targets if not (isinstance(t.value, cst.Name) and t.value.value == "self")
        )

    @cached_property
    def calls_given(self) -> dict[str, list[cst.Call]]:
        """For each name or attribute among arguments, the calls that get it: `run(step)`."""
        result: dict[str, list[cst.Call]] = {}
        for call in self.tree.calls:
            for arg in call.args:
                value = arg.value
                if value.__class__ is cst.Name:
                    result.setdefault(value.value, []).append(call)
                elif value.__class__ is cst.Attribute:
                    result.setdefault(value.attr.value, []).append(call)
        return result

    @cached_property
    def attributes_named(self) -> dict[str, list[cst.Attribute]]:
        """The attributes `anything.name`, by the name."""
        result: dict[str, list[cst.Attribute]] = {}
        for node in self.tree.nodes(cst.Attribute):
            result.setdefault(node.attr.value, []).append(node)
        return result

    @cached_property
    def attributes_asked_for(self) -> dict[str, list[cst.Call]]:
        """The calls `getattr(anything, "name")`, by the name."""
        result: dict[str, list[cst.Call]] = {}
        for call in self._plain_calls.get("getattr", ()):
            name = call.args[1].value if len(call.args) > 1 else None
            if isinstance(name, cst.SimpleString):
                result.setdefault(text_of(name) or "", []).append(call)
        return result

    @cached_property
    def names_given(self) -> frozenset[str]:
        """The names that the file gives to functions, classes, variables and attributes; parameters apart."""
        scopes = self.tree.scopes.values()
        bound = (name for scope in scopes for name, known in scope.bindings.items() if known[-1].kind != "parameter")
        return self.attributes_given.union(bound)

    @cached_property
    def attributes_given(self) -> frozenset[str]:
        """The names that objects may have from the file: of methods, of variables of classes, and of attributes."""
        names = {assignment.target.attr.value for assignment in self.tree.attribute_assignments}
        kept = (arg.keyword for maker in KEEPERS for call in self.calls_ending_with(maker) for arg in call.args)
        names.update(keyword.value for keyword in kept if keyword is not None)
        return frozenset(names).union(*(scope.bindings for scope in self.tree.scopes.values() if scope.kind == "class"))

    @cached_property
    def stores(self) -> dict[str, list[tuple[cst.Subscript, Expression]]]:
        """`d[key] = value`, by the dotted name of the container: the target, and what is stored."""
        result: dict[str, list[tuple[cst.Subscript, Expression]]] = {}
        for target, value in self.tree.item_assignments:
            name = dotted_name(target.value)
            if name is not None and value is not None:
                result.setdefault(name, []).append((target, value))
        return result

    @cached_property
    def appends(self) -> dict[str, list[cst.Call]]:
        """`l.append(value)`, by the dotted name of the list, and the same of a queue's left end."""
        return self._filling("append", "appendleft")

    @cached_property
    def extends(self) -> dict[str, list[cst.Call]]:
        """`l.extend(values)` in the same way."""
        return self._filling("extend", "extendleft")

    def _filling(self, *methods: str) -> dict[str, list[cst.Call]]:
        result: dict[str, list[cst.Call]] = {}
        for call in self.method_calls(*methods):
            name = dotted_name(call.func.value) if isinstance(call.func, cst.Attribute) else None
            if name is not None and len(call.args) == 1:
                result.setdefault(name, []).append(call)
        return result

    @cached_property
    def names_in_displays(self) -> frozenset[str]:
        """The last parts of the names in dictionaries, lists, tuples and sets that are written out."""
        values = [node.value for kind in (cst.DictElement, cst.Element) for node in self.tree.nodes(kind)]
        names = (v.attr if isinstance(v, cst.Attribute) else v for v in values)
        return frozenset(name.value for name in names if isinstance(name, cst.Name))

    @cached_property
    def calls_of_items(self) -> list[cst.Call]:
        """The calls `d[key]()` and `f()` for an `f` that was an item of something: `f = d[key]`, `for f in fs`."""

        def is_item(call: cst.Call) -> bool:
            if isinstance(call.func, cst.Name):
                bound = self.flow.lookup(call.func.value, call.func)
                return any(b.kind == "for" or isinstance(b.value, cst.Subscript | cst.Call) for b in bound)
            return isinstance(call.func, cst.Subscript | cst.Call)

        return [call for call in self.tree.calls if is_item(call)]

    @cached_property
    def changed(self) -> frozenset[str]:
        """Dotted names of the containers that are changed in place somewhere in the file."""
        roots = [target.value for target, _ in self.tree.item_assignments]
        roots += [
            call.func.value for call in self.method_calls(*_MUTATING_METHODS) if isinstance(call.func, cst.Attribute)
        ]
        return frozenset(name for root in roots if (name := dotted_name(root)) is not None)

    def bound_to(self, node: Node) -> str | None:
        """The dotted name to which an expression is assigned, by itself or beside others: `rows, labels = [], []`."""
        parent = self.tree.parents.get(node)
        if isinstance(parent, cst.AnnAssign):
            return dotted_name(parent.target)
        display = self.tree.parents[parent] if isinstance(parent, cst.Element) else None
        assigned = self.tree.parents.get(display) if display is not None else parent
        if not isinstance(assigned, cst.Assign) or len(assigned.targets) != 1:
            return None
        target = assigned.targets[0].target
        if display is None:
            return dotted_name(target)
        sides = [side.elements for side in (target, display) if isinstance(side, cst.Tuple | cst.List)]
        if len(sides) < 2 or any(isinstance(e, cst.StarredElement) for side in sides for e in side):
            return None
        names = (dotted_name(name.value) for name, held in zip(*sides, strict=False) if held is parent)
        return next(names, None)

    def enclosing_functions(self, node: Node) -> Iterator[FunctionNode]:
        """The functions around a node, innermost first."""
        scope: Scope | None = self.tree.scope(node)
        while scope is not None:
            if scope.kind == "function":
                assert isinstance(scope.node, cst.FunctionDef | cst.Lambda)
                yield scope.node
            scope = scope.parent

    def close(self) -> None:
        """Drop everything, so that the tree dies now and not when the garbage collector runs."""
        self.__dict__.clear()


_LOOPS = (cst.For, cst.While, cst.ListComp, cst.SetComp, cst.DictComp, cst.GeneratorExp)
_REGIONS = frozenset((*_LOOPS, cst.FunctionDef, cst.Lambda, cst.ClassDef, cst.With))
_MUTATING_METHODS = tuple("update setdefault pop popitem clear append extend insert remove sort".split())
